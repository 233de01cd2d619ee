/* What the C tests of the API layer share: a runtime that records what reaches
 * it, and a loader's part in creating an instance. */
#ifndef LAYER_UNIT_H_
#define LAYER_UNIT_H_ 1

#include "host_unit.h"
#include "layer.h"

XrResult XRAPI_CALL xrNegotiateLoaderApiLayerInterface(const XrNegotiateLoaderInfo* loaderInfo, const char* layerName,
                                                       XrNegotiateApiLayerRequest* apiLayerRequest);

#define MOST_NAMES 8

/* The runtime below: how it behaves, and what it saw. */
typedef struct Below {
    int lists;             /* it lists the extension */
    int takes_any;         /* it creates an instance whatever is enabled */
    int provides;          /* it has the extension's function */
    XrResult fails_create; /* each time; 0: no */
    XrResult fails_destroy;
    int64_t period;

    int creations;
    const XrInstanceCreateInfo* info; /* of the last creation, its address; */
    XrInstanceCreateInfo copy;        /* its contents; */
    char names[MOST_NAMES][XR_MAX_EXTENSION_NAME_SIZE];
    const XrApiLayerNextInfo* rest; /* and what was below the runtime's caller */
    int entry_was_null;             /* the handle's variable was empty */
    uintptr_t last_handle;
    atomic_int polls;
    atomic_int waits;
    int sessions;
    int destroyed;
} Below;
static Below below;

static inline XrResult XRAPI_CALL below_poll(XrInstance instance, XrEventDataBuffer* event) {
    (void)instance;
    (void)event;
    atomic_fetch_add_explicit(&below.polls, 1, memory_order_relaxed);
    return XR_EVENT_UNAVAILABLE;
}
static inline XrResult XRAPI_CALL below_wait(XrSession session, const XrFrameWaitInfo* info, XrFrameState* state) {
    (void)session;
    (void)info;
    atomic_fetch_add_explicit(&below.waits, 1, memory_order_relaxed);
    if (state != NULL) state->predictedDisplayPeriod = below.period;
    return XR_SUCCESS;
}
static inline XrResult XRAPI_CALL below_create_session(XrInstance instance, const XrSessionCreateInfo* info,
                                                       XrSession* session) {
    (void)instance;
    (void)info;
    ++below.sessions;
    *session = OXA_HANDLE(XrSession, below.last_handle += 0x10);
    return XR_SUCCESS;
}
static inline XrResult XRAPI_CALL below_destroy_session(XrSession session) {
    (void)session;
    --below.sessions;
    return XR_SUCCESS;
}
static inline XrResult XRAPI_CALL below_begin(XrSession session, const XrSessionBeginInfo* info) {
    (void)session;
    (void)info;
    return XR_SUCCESS;
}
static inline XrResult XRAPI_CALL below_end(XrSession session) {
    (void)session;
    return XR_SUCCESS;
}
static inline XrResult XRAPI_CALL below_destroy(XrInstance instance) {
    (void)instance;
    if (below.fails_destroy != XR_SUCCESS) return below.fails_destroy;
    ++below.destroyed;
    return XR_SUCCESS;
}
static inline XrResult XRAPI_CALL below_other(void) { return XR_SUCCESS; }
static inline XrResult XRAPI_CALL below_register(XrInstance instance, const OxaToolRegisterInfo* info) {
    (void)instance;
    (void)info;
    return XR_SUCCESS;
}

static inline XrResult XRAPI_CALL below_enumerate(const char* layer, uint32_t capacity, uint32_t* count,
                                                  XrExtensionProperties* properties) {
    CHECK(layer == NULL);
    *count = below.lists ? 2 : 1;
    if (capacity == 0) return XR_SUCCESS;
    CHECK(capacity >= *count);
    for (uint32_t i = 0; i < *count; ++i) CHECK(properties[i].type == XR_TYPE_EXTENSION_PROPERTIES);
    strcpy(properties[0].extensionName, "XR_SOMETHING_else");
    if (below.lists) strcpy(properties[1].extensionName, OXA_EXTENSION_NAME);
    return XR_SUCCESS;
}

static inline XrResult XRAPI_CALL below_look_up(XrInstance instance, const char* name, PFN_xrVoidFunction* function) {
    static const struct {
        const char* name;
        PFN_xrVoidFunction address;
    } functions[] = {
        {"xrPollEvent", (PFN_xrVoidFunction)below_poll},
        {"xrWaitFrame", (PFN_xrVoidFunction)below_wait},
        {"xrCreateSession", (PFN_xrVoidFunction)below_create_session},
        {"xrDestroySession", (PFN_xrVoidFunction)below_destroy_session},
        {"xrBeginSession", (PFN_xrVoidFunction)below_begin},
        {"xrEndSession", (PFN_xrVoidFunction)below_end},
        {"xrDestroyInstance", (PFN_xrVoidFunction)below_destroy},
        {"xrLocateViews", (PFN_xrVoidFunction)below_other},
        {"xrEnumerateInstanceExtensionProperties", (PFN_xrVoidFunction)below_enumerate},
    };
    *function = NULL;
    if (strcmp(name, OXA_REGISTER_FUNCTION_NAME) == 0 && below.provides) *function = (PFN_xrVoidFunction)below_register;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; ++i) {
        if (strcmp(functions[i].name, name) == 0) *function = functions[i].address;
    }
    CHECK(instance != XR_NULL_HANDLE || *function == (PFN_xrVoidFunction)below_enumerate);
    return *function != NULL ? XR_SUCCESS : XR_ERROR_FUNCTION_UNSUPPORTED;
}

static inline XrResult XRAPI_CALL below_create(const XrInstanceCreateInfo* info, const XrApiLayerCreateInfo* layer_info,
                                               XrInstance* instance) {
    int enabled = 0;
    ++below.creations;
    below.info = info;
    below.copy = *info;
    below.rest = layer_info->nextInfo;
    below.entry_was_null = *instance == XR_NULL_HANDLE;
    CHECK(info->enabledExtensionCount <= MOST_NAMES);
    for (uint32_t i = 0; i < info->enabledExtensionCount; ++i) {
        snprintf(below.names[i], sizeof below.names[i], "%s", info->enabledExtensionNames[i]);
        enabled |= strcmp(info->enabledExtensionNames[i], OXA_EXTENSION_NAME) == 0;
    }
    *instance = OXA_HANDLE(XrInstance, 0xBAD); /* as a careless one does before it fails */
    if (below.fails_create != XR_SUCCESS) return below.fails_create;
    if (enabled && !below.takes_any && !below.provides) return XR_ERROR_EXTENSION_NOT_PRESENT;
    *instance = OXA_HANDLE(XrInstance, below.last_handle += 0x10);
    return XR_SUCCESS;
}

/* ---- the loader */

static XrNegotiateApiLayerRequest layer;

static inline XrNegotiateLoaderInfo loader_info(void) {
    const XrNegotiateLoaderInfo info = {XR_LOADER_INTERFACE_STRUCT_LOADER_INFO,
                                        XR_LOADER_INFO_STRUCT_VERSION,
                                        sizeof info,
                                        1,
                                        1,
                                        XR_MAKE_VERSION(1, 0, 0),
                                        XR_MAKE_VERSION(1, 0x3ff, 0xfff)};
    return info;
}

static inline XrResult negotiate(void) {
    const XrNegotiateLoaderInfo info = loader_info();
    memset(&layer, 0, sizeof layer);
    layer.structType = XR_LOADER_INTERFACE_STRUCT_API_LAYER_REQUEST;
    layer.structVersion = XR_API_LAYER_INFO_STRUCT_VERSION;
    layer.structSize = sizeof layer;
    return xrNegotiateLoaderApiLayerInterface(&info, OXA_LAYER_NAME, &layer);
}

static inline XrApiLayerNextInfo next_info(const char* name, XrApiLayerNextInfo* next) {
    XrApiLayerNextInfo info = {XR_LOADER_INTERFACE_STRUCT_API_LAYER_NEXT_INFO,
                               XR_API_LAYER_NEXT_INFO_STRUCT_VERSION,
                               sizeof info,
                               "",
                               below_look_up,
                               below_create,
                               next};
    snprintf(info.layerName, sizeof info.layerName, "%s", name);
    return info;
}

/* With a layer of that name between ours and the runtime, if it is not NULL. */
static inline XrResult create_over(const char* lower_layer, const XrInstanceCreateInfo* info, XrInstance* instance) {
    XrApiLayerNextInfo lower = next_info(lower_layer == NULL ? "" : lower_layer, NULL);
    XrApiLayerNextInfo ours = next_info(OXA_LAYER_NAME, lower_layer == NULL ? NULL : &lower);
    XrApiLayerCreateInfo create_info;
    memset(&create_info, 0, sizeof create_info);
    create_info.structType = XR_LOADER_INTERFACE_STRUCT_API_LAYER_CREATE_INFO;
    create_info.structVersion = XR_API_LAYER_CREATE_INFO_STRUCT_VERSION;
    create_info.structSize = sizeof create_info;
    create_info.nextInfo = &ours;
    XrResult result = layer.createApiLayerInstance(info, &create_info, instance);
    CHECK(create_info.nextInfo == &ours);
    if (below.creations > 0) CHECK(below.rest == ours.next);
    return result;
}

/* ---- the app */

static const char* const app_names[] = {"XR_FIRST_one", OXA_EXTENSION_NAME, "XR_LAST_one"};

static inline XrInstanceCreateInfo app_info(uint32_t count) {
    XrInstanceCreateInfo info;
    memset(&info, 0, sizeof info);
    info.type = XR_TYPE_INSTANCE_CREATE_INFO;
    strcpy(info.applicationInfo.applicationName, "unit test");
    info.enabledExtensionCount = count;
    info.enabledExtensionNames = app_names;
    return info;
}

static inline PFN_xrVoidFunction look_up(XrInstance instance, const char* name) {
    PFN_xrVoidFunction function = NULL;
    XrResult result = layer.getInstanceProcAddr(instance, name, &function);
    CHECK((result == XR_SUCCESS) == (function != NULL));
    return function;
}

/* An instance that the layer serves. */
static inline XrInstance serve(void) {
    const XrInstanceCreateInfo info = app_info(3);
    XrInstance instance = XR_NULL_HANDLE;
    CHECK(create_over(NULL, &info, &instance) == XR_SUCCESS);
    CHECK(look_up(instance, OXA_REGISTER_FUNCTION_NAME) != NULL);
    return instance;
}

static inline XrResult destroy(XrInstance instance) {
    return ((PFN_xrDestroyInstance)look_up(instance, "xrDestroyInstance"))(instance);
}

static inline void reset_below(void) {
    uintptr_t last = below.last_handle;
    memset(&below, 0, sizeof below);
    below.last_handle = last == 0 ? 0x10000 : last;
    below.period = 1000000;
}

#endif
