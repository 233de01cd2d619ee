/* An OpenXR app in C that offers two tools to AI agents.
 *
 * It knows nothing of openxr-agentic but Meta's extension: it runs the same
 * under Meta's layer, on the mock runtime and under our API layer. Build it with
 * the OpenXR loader (Debian, Ubuntu: libopenxr-dev), and with Meta's header or the
 * one of this package:
 *
 *     cc c_app.c -I ../../native_headers -l openxr_loader -o c_app
 *
 *     openxr-agentic run -- ./c_app             without a headset
 *     openxr-agentic run --layer -- ./c_app     over the runtime that is active
 *
 * It has no session, so xrPollEvent is the call from which its tools run. The
 * tool CApp_quit ends it. */
#include <meta_openxr_preview/metax1_agentic_external_tool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The one function that is needed of the loader's library; it finds the others. */
extern XRAPI_ATTR XrResult XRAPI_CALL xrGetInstanceProcAddr(XrInstance instance, const char* name,
                                                            PFN_xrVoidFunction* function);

#define MOST_BYTES 128 /* of any of our results, with its NUL */

static int lamp_is_on; /* tools run on the main thread, so nothing has to be locked */
static int quit;

static void check(XrResult result, const char* what) {
    if (XR_SUCCEEDED(result)) return;
    fprintf(stderr, "%s failed: XrResult %d\n", what, (int)result);
    exit(1);
}

static PFN_xrVoidFunction look_up(XrInstance instance, const char* name) {
    PFN_xrVoidFunction function = NULL;
    check(xrGetInstanceProcAddr(instance, name, &function), name);
    return function;
}

/* ---- the tools, by OpenXR's two-call idiom: asked for the size first, a tool
 * answers the most that it can need, and runs only when it gets a buffer */

static int is_size_query(char* buffer, uint32_t capacity, uint32_t* count) {
    *count = MOST_BYTES;
    return buffer == NULL || capacity < MOST_BYTES;
}

static XrResult query_result(uint32_t capacity) { return capacity == 0 ? XR_SUCCESS : XR_ERROR_SIZE_INSUFFICIENT; }

static XrResult XRAPI_CALL set_lamp(char* buffer, uint32_t capacity, uint32_t* count, const char* parameters,
                                    void* user_data) {
    (void)user_data;
    if (is_size_query(buffer, capacity, count)) return query_result(capacity);
    /* A JSON object such as {"on": true}. An app with more to read takes a JSON library. */
    lamp_is_on = parameters != NULL && strstr(parameters, "true") != NULL;
    printf("the lamp is %s\n", lamp_is_on ? "on" : "off");
    fflush(stdout);
    *count = (uint32_t)snprintf(buffer, capacity, "{\"lamp\": %s}", lamp_is_on ? "true" : "false") + 1;
    return XR_SUCCESS;
}

static XrResult XRAPI_CALL end_app(char* buffer, uint32_t capacity, uint32_t* count, const char* parameters,
                                   void* user_data) {
    (void)parameters;
    (void)user_data;
    if (is_size_query(buffer, capacity, count)) return query_result(capacity);
    quit = 1;
    *count = (uint32_t)snprintf(buffer, capacity, "goodbye") + 1;
    return XR_SUCCESS;
}

/* Structures are zeroed before they are filled, so that the bytes between the fields are too. */
static void register_tools(XrInstance instance) {
    PFN_xrAgenticRegisterExternalToolMETAX1 register_tool =
        (PFN_xrAgenticRegisterExternalToolMETAX1)look_up(instance, "xrAgenticRegisterExternalToolMETAX1");
    XrAgenticExternalToolParameterMETAX1 on;
    memset(&on, 0, sizeof on);
    on.type = XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1;
    strcpy(on.paramName, "on");
    strcpy(on.paramDescription, "Whether the lamp shines");
    on.paramType = XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_BOOLEAN_METAX1;
    on.isRequired = XR_TRUE;

    XrAgenticExternalToolRegisterInfoMETAX1 info;
    memset(&info, 0, sizeof info);
    info.type = XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1;
    info.toolCallbackInfoFlags = XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1;
    strcpy(info.toolName, "CApp_set_lamp");
    strcpy(info.toolDescription, "Switch the lamp on or off");
    info.toolParameterCount = 1;
    info.toolParameters = &on;
    info.toolCallback = set_lamp;
    check(register_tool(instance, &info), "registering CApp_set_lamp");

    strcpy(info.toolName, "CApp_quit");
    strcpy(info.toolDescription, "End the app");
    info.toolParameterCount = 0;
    info.toolParameters = NULL;
    info.toolCallback = end_app;
    check(register_tool(instance, &info), "registering CApp_quit");
}

int main(void) {
    const char* const extensions[] = {XR_METAX1_AGENTIC_EXTERNAL_TOOL_EXTENSION_NAME};
    XrInstanceCreateInfo info;
    XrInstance instance = XR_NULL_HANDLE;
    memset(&info, 0, sizeof info);
    info.type = XR_TYPE_INSTANCE_CREATE_INFO;
    strcpy(info.applicationInfo.applicationName, "C app");
    info.applicationInfo.apiVersion = XR_MAKE_VERSION(1, 0, 0);
    info.enabledExtensionCount = 1;
    info.enabledExtensionNames = extensions;
    PFN_xrCreateInstance create = (PFN_xrCreateInstance)look_up(XR_NULL_HANDLE, "xrCreateInstance");
    check(create(&info, &instance), "xrCreateInstance");
    register_tools(instance);

    PFN_xrPollEvent poll_event = (PFN_xrPollEvent)look_up(instance, "xrPollEvent");
    while (!quit) {
        XrEventDataBuffer event;
        memset(&event, 0, sizeof event);
        event.type = XR_TYPE_EVENT_DATA_BUFFER;
        check(poll_event(instance, &event), "xrPollEvent"); /* XR_EVENT_UNAVAILABLE is a success too */
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    check(((PFN_xrDestroyInstance)look_up(instance, "xrDestroyInstance"))(instance), "xrDestroyInstance");
    return 0;
}
