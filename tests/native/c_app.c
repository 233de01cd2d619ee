/* An OpenXR app in plain C, without Python and without a loader: it loads the
 * mock runtime's library itself, does what the Khronos loader would do, offers
 * tools, and plays the agent through the host's control table.
 *
 *     c_app <path of the library>
 *
 * Exits with 0 only when everything went as it should. */
#include <openxr_agentic/channel.h>
#include <openxr_agentic/host_control.h>
#include <openxr_agentic/loader_negotiation.h>
#include <openxr_agentic/openxr_lists.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: this should hold: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

/* ---- the OpenXR functions, as a loader's dispatch table holds them ---- */

static PFN_xrGetInstanceProcAddr get_instance_proc_addr;

#define MEMBER(name, parameters, arguments) PFN_##name name;
static struct {
    OXA_CORE_FUNCTIONS(MEMBER)
    OxaRegisterTool register_tool;
} openxr;
#undef MEMBER

static PFN_xrVoidFunction look_up(XrInstance instance, const char* name) {
    PFN_xrVoidFunction function = NULL;
    CHECK(get_instance_proc_addr(instance, name, &function) == XR_SUCCESS);
    CHECK(function != NULL);
    return function;
}

static void look_up_all(XrInstance instance) {
#define FILL(name, parameters, arguments) openxr.name = (PFN_##name)look_up(instance, #name);
    OXA_CORE_FUNCTIONS(FILL)
#undef FILL
    openxr.register_tool = (OxaRegisterTool)look_up(instance, OXA_REGISTER_FUNCTION_NAME);
}

/* POSIX gives functions as data pointers; ISO C converts only by way of memory. */
static PFN_xrVoidFunction symbol(void* library, const char* name) {
    PFN_xrVoidFunction function = NULL;
    void* address = dlsym(library, name);
    CHECK(address != NULL);
    memcpy(&function, &address, sizeof function);
    return function;
}

static const OxaHostControl* load(const char* path) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);

    PFN_xrNegotiateLoaderRuntimeInterface negotiate =
        (PFN_xrNegotiateLoaderRuntimeInterface)symbol(library, "xrNegotiateLoaderRuntimeInterface");
    XrNegotiateLoaderInfo loader = {.structType = XR_LOADER_INTERFACE_STRUCT_LOADER_INFO,
                                    .structVersion = XR_LOADER_INFO_STRUCT_VERSION,
                                    .structSize = sizeof loader,
                                    .minInterfaceVersion = 1,
                                    .maxInterfaceVersion = XR_CURRENT_LOADER_RUNTIME_VERSION,
                                    .minApiVersion = XR_MAKE_VERSION(1, 0, 0),
                                    .maxApiVersion = XR_MAKE_VERSION(1, 0x3ff, 0xfff)};
    XrNegotiateRuntimeRequest request = {.structType = XR_LOADER_INTERFACE_STRUCT_RUNTIME_REQUEST,
                                         .structVersion = XR_RUNTIME_INFO_STRUCT_VERSION,
                                         .structSize = sizeof request};
    CHECK(negotiate(&loader, &request) == XR_SUCCESS);
    CHECK(request.runtimeInterfaceVersion == 1 && XR_VERSION_MAJOR(request.runtimeApiVersion) == 1);
    get_instance_proc_addr = request.getInstanceProcAddr;

    loader.structSize--;
    CHECK(negotiate(&loader, &request) == XR_ERROR_INITIALIZATION_FAILED);

    const OxaHostControl* control =
        ((PFN_oxaGetHostControl)symbol(library, "oxaGetHostControl"))(OXA_HOST_CONTROL_VERSION);
    CHECK(control != NULL && control->size >= sizeof *control);
    return control;
}

/* ---- the app's tools ---- */

typedef struct Tool {
    atomic_uint runs;
    pthread_t last_thread;
} Tool;

/* The documented idiom: a NULL buffer or no capacity asks for the size; the
 * count includes the NUL; what does not fit is not written. */
static XrResult XRAPI_CALL echo(char* buffer, uint32_t capacity, uint32_t* count, const char* parameters,
                                void* user_data) {
    Tool* tool = user_data;
    const char* arguments = parameters == NULL ? "{}" : parameters;
    char text[256];
    const int length = snprintf(text, sizeof text, "{\"echo\":%s}", arguments);
    const uint32_t needed = (uint32_t)length + 1;
    *count = needed;
    if (buffer == NULL || capacity == 0) return XR_SUCCESS;
    if (capacity < needed) return XR_ERROR_SIZE_INSUFFICIENT;
    memcpy(buffer, text, needed);
    tool->last_thread = pthread_self();
    atomic_fetch_add(&tool->runs, 1);
    return XR_SUCCESS;
}

static XrResult register_echo(XrInstance instance, const char* name, XrFlags64 flags, Tool* tool) {
    OxaToolParameter parameter;
    memset(&parameter, 0, sizeof parameter);
    parameter.type = OXA_TYPE_TOOL_PARAMETER;
    strcpy(parameter.paramName, "input");
    strcpy(parameter.paramDescription, "Text to echo");
    parameter.paramType = OXA_PARAMETER_TYPE_STRING;
    parameter.isRequired = XR_TRUE;

    OxaToolRegisterInfo info;
    memset(&info, 0, sizeof info);
    info.type = OXA_TYPE_TOOL_REGISTER_INFO;
    strcpy(info.toolName, name);
    strcpy(info.toolDescription, "Echoes its arguments.");
    info.toolParameterCount = 1;
    info.toolParameters = &parameter;
    info.toolCallback = echo;
    info.toolCallbackInfoFlags = flags;
    info.toolUserData = tool;
    return openxr.register_tool(instance, &info);
}

/* ---- the app ---- */

static XrInstance create_instance(void) {
    const char* const extensions[] = {"XR_MND_headless", OXA_EXTENSION_NAME};
    XrInstanceCreateInfo info = {
        .type = XR_TYPE_INSTANCE_CREATE_INFO, .enabledExtensionCount = 2, .enabledExtensionNames = extensions};
    strcpy(info.applicationInfo.applicationName, "c_app");
    info.applicationInfo.apiVersion = XR_MAKE_VERSION(1, 0, 0);
    XrInstance instance = XR_NULL_HANDLE;
    CHECK(((PFN_xrCreateInstance)look_up(XR_NULL_HANDLE, "xrCreateInstance"))(&info, &instance) == XR_SUCCESS);
    look_up_all(instance);

    XrInstanceProperties properties = {.type = XR_TYPE_INSTANCE_PROPERTIES};
    CHECK(openxr.xrGetInstanceProperties(instance, &properties) == XR_SUCCESS);
    printf("instance of %s\n", properties.runtimeName);
    return instance;
}

static XrSession create_session(XrInstance instance) {
    const XrSystemGetInfo get_info = {.type = XR_TYPE_SYSTEM_GET_INFO,
                                      .formFactor = XR_FORM_FACTOR_HEAD_MOUNTED_DISPLAY};
    XrSessionCreateInfo create_info = {.type = XR_TYPE_SESSION_CREATE_INFO};
    CHECK(openxr.xrGetSystem(instance, &get_info, &create_info.systemId) == XR_SUCCESS);
    XrSession session = XR_NULL_HANDLE;
    CHECK(openxr.xrCreateSession(instance, &create_info, &session) == XR_SUCCESS);
    return session;
}

/* The next state that an event tells; XR_SESSION_STATE_UNKNOWN when there is none. */
static XrSessionState next_state(XrInstance instance) {
    static const char* const names[] = {"UNKNOWN", "IDLE",     "READY",        "SYNCHRONIZED", "VISIBLE",
                                        "FOCUSED", "STOPPING", "LOSS_PENDING", "EXITING"};
    XrEventDataBuffer buffer = {.type = XR_TYPE_EVENT_DATA_BUFFER};
    const XrResult result = openxr.xrPollEvent(instance, &buffer);
    if (result == XR_EVENT_UNAVAILABLE) return XR_SESSION_STATE_UNKNOWN;
    CHECK(result == XR_SUCCESS && buffer.type == XR_TYPE_EVENT_DATA_SESSION_STATE_CHANGED);
    XrEventDataSessionStateChanged event;
    memcpy(&event, &buffer, sizeof event);
    printf("session is %s\n", names[event.state]);
    return event.state;
}

static void run_frame(XrSession session) {
    XrFrameState state = {.type = XR_TYPE_FRAME_STATE};
    CHECK(openxr.xrWaitFrame(session, NULL, &state) == XR_SUCCESS);
    CHECK(openxr.xrBeginFrame(session, NULL) == XR_SUCCESS);
    const XrFrameEndInfo end_info = {.type = XR_TYPE_FRAME_END_INFO,
                                     .displayTime = state.predictedDisplayTime,
                                     .environmentBlendMode = XR_ENVIRONMENT_BLEND_MODE_OPAQUE};
    CHECK(openxr.xrEndFrame(session, &end_info) == XR_SUCCESS);
}

/* ---- the agent ---- */

typedef struct Agent {
    const OxaHostControl* control;
    XrInstance instance;
    const char* tool;
    atomic_int answered;
} Agent;

static void call_echo(const OxaHostControl* control, XrInstance instance, const char* tool) {
    OxaAgentCall call = {.tool = tool, .arguments = "{\"input\":\"hi\"}", .timeout_ns = INT64_C(30000000000)};
    CHECK(control->call(instance, &call) == XR_SUCCESS);
    printf("agent called %s: %s\n", tool, call.text);
    CHECK(call.status == OXA_CALL_DONE && call.result == XR_SUCCESS && call.c_calls == 2);
    CHECK(strcmp(call.text, "{\"echo\":{\"input\":\"hi\"}}") == 0);
    CHECK(call.text_bytes == strlen(call.text));
    control->free_text(call.text);
}

static void* run_agent(void* argument) {
    Agent* agent = argument;
    call_echo(agent->control, agent->instance, agent->tool);
    atomic_store(&agent->answered, 1);
    return NULL;
}

static void play_raw_calls(const OxaHostControl* control, XrInstance instance) {
    OxaToolDescription tool;
    CHECK(control->tool(instance, 0, &tool) == XR_SUCCESS);
    OxaRawCall raw = {.callback = tool.callback, .user_data = tool.user_data, .arguments = NULL, .null_buffer = 1};
    CHECK(control->raw_call(instance, &raw) == XR_SUCCESS);
    CHECK(raw.result == XR_SUCCESS && raw.count == sizeof "{\"echo\":{}}");
    if (raw.buffer != NULL) control->free_text(raw.buffer);

    raw.null_buffer = 0;
    raw.capacity = 4; /* too small: nothing may be written */
    CHECK(control->raw_call(instance, &raw) == XR_SUCCESS);
    CHECK(raw.result == XR_ERROR_SIZE_INSUFFICIENT && raw.written == 0 && !raw.beyond);
    control->free_text(raw.buffer);
    printf("raw calls keep to the two-call idiom\n");
}

/* ---- an app's life, with an agent in it ---- */

static void run_session(const OxaHostControl* control, XrInstance instance, Tool* tool) {
    XrSession session = create_session(instance);
    Agent agent = {.control = control, .instance = instance, .tool = "App_OnMainThread"};
    pthread_t thread;
    int frames = 0, exit_requested = 0;
    XrSessionState state = XR_SESSION_STATE_UNKNOWN;
    while (state != XR_SESSION_STATE_EXITING) {
        const XrSessionState next = next_state(instance);
        if (next != XR_SESSION_STATE_UNKNOWN) state = next;
        if (next == XR_SESSION_STATE_READY) {
            const XrSessionBeginInfo info = {.type = XR_TYPE_SESSION_BEGIN_INFO,
                                             .primaryViewConfigurationType = XR_VIEW_CONFIGURATION_TYPE_PRIMARY_STEREO};
            CHECK(openxr.xrBeginSession(session, &info) == XR_SUCCESS);
        } else if (next == XR_SESSION_STATE_FOCUSED) {
            CHECK(pthread_create(&thread, NULL, run_agent, &agent) == 0);
        } else if (next == XR_SESSION_STATE_STOPPING) {
            CHECK(openxr.xrEndSession(session) == XR_SUCCESS);
        } else if (next == XR_SESSION_STATE_UNKNOWN) {
            run_frame(session);
            frames++;
            if (atomic_load(&agent.answered) && !exit_requested) {
                CHECK(openxr.xrRequestExitSession(session) == XR_SUCCESS);
                exit_requested = 1;
            }
        }
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(frames > 0);
    printf("ran frames, with the agent's call between them\n");
    CHECK(pthread_equal(tool->last_thread, pthread_self()));
    CHECK(openxr.xrDestroySession(session) == XR_SUCCESS);
    CHECK(openxr.xrDestroySession(session) == XR_ERROR_HANDLE_INVALID);
}

static void run_app(const OxaHostControl* control) {
    Tool anywhere = {.runs = 0};
    Tool on_main_thread = {.runs = 0};
    XrInstance instance = create_instance();
    CHECK(register_echo(instance, "App_Anywhere", 0, &anywhere) == XR_SUCCESS);
    CHECK(register_echo(instance, "App_OnMainThread", OXA_MAIN_THREAD_BIT, &on_main_thread) == XR_SUCCESS);
    CHECK(register_echo(instance, "App_Anywhere", 0, &anywhere) == XR_ERROR_VALIDATION_FAILURE);
    uint32_t count = 0;
    CHECK(control->tool_count(instance, &count) == XR_SUCCESS && count == 2);
    printf("two tools are registered\n");

    call_echo(control, instance, "App_Anywhere");
    CHECK(atomic_load(&anywhere.runs) == 1);
    CHECK(!pthread_equal(anywhere.last_thread, pthread_self()));
    play_raw_calls(control, instance);
    run_session(control, instance, &on_main_thread);

    CHECK(openxr.xrDestroyInstance(instance) == XR_SUCCESS);
    CHECK(openxr.xrDestroyInstance(instance) == XR_ERROR_HANDLE_INVALID);
    CHECK(register_echo(instance, "App_Late", 0, &anywhere) == XR_ERROR_HANDLE_INVALID);
    CHECK(control->instances(NULL, 0) == 0);
    printf("instance is destroyed\n");
}

int main(int argc, char** argv) {
    CHECK(argc == 2);
    const OxaHostControl* control = load(argv[1]);
    run_app(control);
    run_app(control); /* a second instance starts afresh */
    printf("all right\n");
    return 0;
}
