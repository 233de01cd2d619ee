/* Instances, the host behind each, and the extensions that they can enable. */
#include "runtime.h"

#define HEADLESS_NAME "XR_MND_headless"
#define HEADLESS_VERSION 2

typedef struct OxaExtension {
    const char* name;
    uint32_t version;
} OxaExtension;

static const OxaExtension extensions[] = {{HEADLESS_NAME, HEADLESS_VERSION}, {OXA_EXTENSION_NAME, 1}};

/* The agentic one comes last, so that it can be left off. */
static uint32_t offered_extensions(void) { return oxa_runtime_option("offer_extension") != 0 ? 2 : 1; }

/* ---- calls into the host core ---- */

void oxa_runtime_call_host(OxaInstance* instance, void (*hook)(OxaHost* host)) {
    OxaHost* host = instance->host;
    if (host == NULL) return;
    oxa_host_retain(host); /* another thread may destroy the instance */
    oxa_runtime_unlock();
    hook(host);
    oxa_host_release(host);
    oxa_runtime_lock();
}

int64_t oxa_runtime_option(const char* name) {
    oxa_runtime_unlock();
    int64_t value = oxa_option(name);
    oxa_runtime_lock();
    return value;
}

/* ---- before there is an instance ---- */

XrResult oxa_xrEnumerateApiLayerProperties(uint32_t capacity, uint32_t* count, XrApiLayerProperties* properties) {
    return oxa_two_call(capacity, count, properties, 0);
}

XrResult oxa_xrEnumerateInstanceExtensionProperties(const char* layerName, uint32_t capacity, uint32_t* count,
                                                    XrExtensionProperties* properties) {
    OXA_REQUIRE(layerName == NULL, XR_ERROR_API_LAYER_NOT_PRESENT);
    uint32_t offered = offered_extensions();
    XrResult result = oxa_two_call(capacity, count, properties, offered);
    if (result != XR_SUCCESS || capacity == 0) return result;
    for (uint32_t i = 0; i < offered; i++) {
        OXA_REQUIRE(properties[i].type == XR_TYPE_EXTENSION_PROPERTIES, XR_ERROR_VALIDATION_FAILURE);
        memset(properties[i].extensionName, 0, sizeof properties[i].extensionName);
        memcpy(properties[i].extensionName, extensions[i].name, strlen(extensions[i].name));
        properties[i].extensionVersion = extensions[i].version;
    }
    return XR_SUCCESS;
}

static XrResult check_application(const XrApplicationInfo* application) {
    OXA_REQUIRE(OXA_TERMINATED(application->applicationName) && application->applicationName[0] != 0,
                XR_ERROR_NAME_INVALID);
    OXA_REQUIRE(OXA_TERMINATED(application->engineName), XR_ERROR_NAME_INVALID);
    /* A 1.0 runtime: 1.1 only adds, and the loader itself refuses what is newer. */
    OXA_REQUIRE(XR_VERSION_MAJOR(application->apiVersion) == 1 && XR_VERSION_MINOR(application->apiVersion) <= 1,
                XR_ERROR_API_VERSION_UNSUPPORTED);
    return XR_SUCCESS;
}

static XrResult enable_extensions(const XrInstanceCreateInfo* info, uint32_t offered, int* enabled) {
    OXA_REQUIRE(info->enabledExtensionCount == 0 || info->enabledExtensionNames != NULL, XR_ERROR_VALIDATION_FAILURE);
    for (uint32_t i = 0; i < info->enabledExtensionCount; i++) {
        const char* name = info->enabledExtensionNames[i];
        OXA_REQUIRE(name != NULL, XR_ERROR_VALIDATION_FAILURE);
        uint32_t which = 0;
        while (which < offered && strcmp(extensions[which].name, name) != 0) which++;
        OXA_REQUIRE(which < offered, XR_ERROR_EXTENSION_NOT_PRESENT);
        enabled[which] = 1;
    }
    return XR_SUCCESS;
}

/* API layers are the loader's affair: a list of them is not looked at. */
XrResult oxa_xrCreateInstance(const XrInstanceCreateInfo* createInfo, XrInstance* result_handle) {
    OXA_REQUIRE(OXA_IS(createInfo, XR_TYPE_INSTANCE_CREATE_INFO) && result_handle != NULL, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(createInfo->createFlags == 0, XR_ERROR_VALIDATION_FAILURE);
    XrResult result = check_application(&createInfo->applicationInfo);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    int enabled[sizeof extensions / sizeof *extensions] = {0};
    const uint32_t offered = offered_extensions();
    result = enable_extensions(createInfo, offered, enabled);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    int64_t display_period_ns = oxa_runtime_option("display_period_ns");

    OxaInstance* instance = oxa_object_create(OXA_INSTANCE, sizeof *instance, NULL);
    OXA_REQUIRE(instance != NULL, XR_ERROR_OUT_OF_MEMORY);
    instance->headless = enabled[0];
    instance->agentic = enabled[1];
    instance->display_period_ns = display_period_ns;

    /* Nobody knows the handle yet, so the object stays while the lock is released. */
    const OxaHostInfo info = {.instance = OXA_HANDLE(XrInstance, instance->object.handle),
                              .application_name = createInfo->applicationInfo.applicationName,
                              .front = OXA_RUNTIME_FRONT,
                              .serves = instance->agentic,
                              .without_channel = offered < 2}; /* it is for a layer above */
    oxa_runtime_unlock();
    OxaHost* host = oxa_host_create(&info);
    oxa_runtime_lock();
    if (host == NULL) {
        oxa_object_destroy(instance);
        return XR_ERROR_OUT_OF_MEMORY;
    }
    instance->host = host;
    *result_handle = info.instance;
    return XR_SUCCESS;
}

/* The host goes first: tools that still run may call OpenXR until they return. */
XrResult oxa_xrDestroyInstance(XrInstance handle) {
    OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL && instance->host != NULL, XR_ERROR_HANDLE_INVALID);
    OxaHost* host = instance->host;
    instance->host = NULL;
    oxa_runtime_unlock();
    oxa_host_destroy(host);
    oxa_runtime_lock();

    oxa_paths_free(&instance->paths);
    oxa_object_destroy(instance);
    oxa_runtime_wake(); /* an xrWaitFrame of its sessions ends */
    return XR_SUCCESS;
}

XrResult oxa_xrGetInstanceProperties(XrInstance handle, XrInstanceProperties* properties) {
    OXA_REQUIRE(OXA_FIND_INSTANCE(handle) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(properties, XR_TYPE_INSTANCE_PROPERTIES), XR_ERROR_VALIDATION_FAILURE);
    properties->runtimeVersion = OXA_RUNTIME_VERSION;
    memset(properties->runtimeName, 0, sizeof properties->runtimeName);
    memcpy(properties->runtimeName, OXA_RUNTIME_NAME, sizeof OXA_RUNTIME_NAME);
    return XR_SUCCESS;
}
