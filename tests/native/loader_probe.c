/* An app that goes through the Khronos loader to a host of ours, registers a tool
 * and has the host call it, on any platform:
 *
 *     loader_probe LOADER_LIBRARY HOST_LIBRARY
 *
 * XR_RUNTIME_JSON selects the mock runtime, and XR_API_LAYER_PATH and
 * XR_ENABLE_API_LAYERS the API layer over it. */
#include <openxr_agentic/channel.h>
#include <openxr_agentic/host_control.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <windows.h>
static void* library(const char* path) { return (void*)LoadLibraryA(path); }
static void give_back(void* library) { FreeLibrary((HMODULE)library); }
static void (*symbol(void* library, const char* name))(void) {
    return (void (*)(void))GetProcAddress((HMODULE)library, name);
}
#else
#include <dlfcn.h>
static void* library(const char* path) { return dlopen(path, RTLD_NOW); }
static void give_back(void* library) { dlclose(library); }
static void (*symbol(void* library, const char* name))(void) {
    void (*function)(void);
    *(void**)&function = dlsym(library, name);
    return function;
}
#endif

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "line %d: not true: %s\n", __LINE__, #condition); \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

static PFN_xrGetInstanceProcAddr get_function;

static PFN_xrVoidFunction look_up(XrInstance instance, const char* name) {
    PFN_xrVoidFunction function = NULL;
    XrResult result = get_function(instance, name, &function);
    if (XR_FAILED(result) || function == NULL) {
        fprintf(stderr, "%s: XrResult %d\n", name, (int)result);
        exit(1);
    }
    return function;
}

static XrResult XRAPI_CALL echo(char* buffer, uint32_t capacity, uint32_t* count, const char* parameters,
                                void* user_data) {
    uint32_t bytes = (uint32_t)strlen(parameters) + 1;
    *count = bytes;
    ++*(int*)user_data;
    if (buffer == NULL || capacity == 0) return XR_SUCCESS;
    if (capacity < bytes) return XR_ERROR_SIZE_INSUFFICIENT;
    memcpy(buffer, parameters, bytes);
    return XR_SUCCESS;
}

int main(int argument_count, char** arguments) {
    CHECK(argument_count == 3);
    void* loader = library(arguments[1]);
    CHECK(loader != NULL);
    get_function = (PFN_xrGetInstanceProcAddr)symbol(loader, "xrGetInstanceProcAddr");
    CHECK(get_function != NULL);

    const char* const extensions[] = {OXA_EXTENSION_NAME};
    XrInstanceCreateInfo info;
    XrInstance instance = XR_NULL_HANDLE;
    memset(&info, 0, sizeof info);
    info.type = XR_TYPE_INSTANCE_CREATE_INFO;
    strcpy(info.applicationInfo.applicationName, "loader probe");
    info.applicationInfo.apiVersion = XR_MAKE_VERSION(1, 0, 0);
    info.enabledExtensionCount = 1;
    info.enabledExtensionNames = extensions;
    XrResult made = ((PFN_xrCreateInstance)look_up(XR_NULL_HANDLE, "xrCreateInstance"))(&info, &instance);
    if (XR_FAILED(made)) fprintf(stderr, "xrCreateInstance: XrResult %d\n", (int)made);
    CHECK(made == XR_SUCCESS);

    int runs = 0;
    OxaToolRegisterInfo tool;
    memset(&tool, 0, sizeof tool);
    tool.type = XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1;
    strcpy(tool.toolName, "echo");
    strcpy(tool.toolDescription, "Gives back its arguments.");
    tool.toolCallback = echo;
    tool.toolCallbackInfoFlags = XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1;
    tool.toolUserData = &runs;
    PFN_xrAgenticRegisterExternalToolMETAX1 register_tool =
        (PFN_xrAgenticRegisterExternalToolMETAX1)look_up(instance, OXA_REGISTER_FUNCTION_NAME);
    CHECK(register_tool(instance, &tool) == XR_SUCCESS);
    CHECK(register_tool(instance, &tool) == XR_ERROR_VALIDATION_FAILURE);

    /* The library that the loader has loaded, once more. */
    void* host = library(arguments[2]);
    CHECK(host != NULL);
    PFN_oxaGetHostControl get_control = (PFN_oxaGetHostControl)symbol(host, "oxaGetHostControl");
    CHECK(get_control != NULL);
    const OxaHostControl* control = get_control(OXA_HOST_CONTROL_VERSION);
    uint32_t tools = 0;
    CHECK(control->instances(NULL, 0) == 1);
    CHECK(control->tool_count(XR_NULL_HANDLE, &tools) == XR_SUCCESS && tools == 1);
    OxaAgentCall call;
    memset(&call, 0, sizeof call);
    call.tool = "echo";
    call.arguments = "{\"input\":\"hi\"}";
    call.timeout_ns = 10000000000;
    CHECK(control->call(XR_NULL_HANDLE, &call) == XR_SUCCESS);
    CHECK(call.status == OXA_CALL_DONE && call.c_calls == 2 && runs == 2);
    CHECK(strcmp(call.text, call.arguments) == 0);
    control->free_text(call.text);

    CHECK(((PFN_xrDestroyInstance)look_up(instance, "xrDestroyInstance"))(instance) == XR_SUCCESS);
    /* The loader has given the library back, and so do we: it stays, for threads that are still in it. */
    give_back(host);
    CHECK(control->instances(NULL, 0) == 0);
    puts("echo answered");
    return 0;
}
