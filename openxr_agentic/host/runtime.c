/* The runtime's door: negotiation with the loader, look-up of functions, and
 * what happens around every call: the fault that a test asked for, and the lock. */
#include "runtime.h"

#include "platform.h"

#include <openxr_agentic/loader_negotiation.h>

static OxaMutex lock = OXA_MUTEX_INIT;
static OxaCondition changed;
static int ready; /* the condition is initialised and the core knows our functions */

void oxa_runtime_lock(void) { oxa_lock(&lock); }
void oxa_runtime_unlock(void) { oxa_unlock(&lock); }
int oxa_runtime_wait(int64_t until_ns) { return oxa_wait(&changed, &lock, until_ns); }
void oxa_runtime_wake(void) { oxa_signal_all(&changed); }

/* What the loader gets: entry_xrCreateInstance and so on. */
#define OXA_DEFINE_ENTRY(name, parameters, arguments)    \
    static XrResult XRAPI_CALL entry_##name parameters { \
        XrResult result;                                 \
        if (oxa_fault(#name, &result)) return result;    \
        oxa_runtime_lock();                              \
        result = oxa_##name arguments;                   \
        oxa_runtime_unlock();                            \
        return result;                                   \
    }
OXA_CORE_FUNCTIONS(OXA_DEFINE_ENTRY)
#undef OXA_DEFINE_ENTRY

typedef struct OxaFunction {
    const char* name;
    PFN_xrVoidFunction address;
} OxaFunction;

#define OXA_TABLE_ROW(name, parameters, arguments) {#name, (PFN_xrVoidFunction)entry_##name},
static const OxaFunction core_functions[] = {OXA_CORE_FUNCTIONS(OXA_TABLE_ROW)};
#undef OXA_TABLE_ROW

#define OXA_NAME(name, parameters, arguments) #name,
static const char* const function_names[] = {OXA_CORE_FUNCTIONS(OXA_NAME)};
#undef OXA_NAME

static PFN_xrVoidFunction core_function(const char* name) {
    for (size_t i = 0; i < sizeof core_functions / sizeof *core_functions; i++) {
        if (strcmp(core_functions[i].name, name) == 0) return core_functions[i].address;
    }
    return NULL;
}

/* The specification's list of what can be had before there is an instance. */
static int needs_no_instance(const char* name) {
    return strcmp(name, "xrEnumerateApiLayerProperties") == 0 ||
           strcmp(name, "xrEnumerateInstanceExtensionProperties") == 0 || strcmp(name, "xrCreateInstance") == 0;
}

XrResult oxa_xrGetInstanceProcAddr(XrInstance handle, const char* name, PFN_xrVoidFunction* function) {
    OXA_REQUIRE(name != NULL && function != NULL, XR_ERROR_VALIDATION_FAILURE);

    XrResult fault;
    oxa_runtime_unlock();
    int failed = oxa_fault_lookup(name, &fault);
    oxa_runtime_lock();
    if (failed) {
        if (XR_SUCCEEDED(fault)) *function = NULL;
        return fault;
    }

    *function = NULL;
    const OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    if (instance == NULL) {
        OXA_REQUIRE(handle == XR_NULL_HANDLE && needs_no_instance(name), XR_ERROR_HANDLE_INVALID);
    } else if (instance->agentic) {
        *function = oxa_agentic_function(name);
    }
    if (*function == NULL) *function = core_function(name);
    return *function != NULL ? XR_SUCCESS : XR_ERROR_FUNCTION_UNSUPPORTED;
}

static void make_ready(void) {
    oxa_runtime_lock();
    int first = !ready;
    if (first) oxa_condition_init(&changed);
    ready = 1;
    oxa_runtime_unlock();
    if (!first) return;
    oxa_faults_know(function_names, (uint32_t)(sizeof function_names / sizeof *function_names));
    oxa_agentic_functions_know();
}

/* Declared here since not every Khronos header does it. */
OXA_EXPORT XrResult XRAPI_CALL xrNegotiateLoaderRuntimeInterface(const XrNegotiateLoaderInfo* loaderInfo,
                                                                 XrNegotiateRuntimeRequest* runtimeRequest);

XrResult XRAPI_CALL xrNegotiateLoaderRuntimeInterface(const XrNegotiateLoaderInfo* loaderInfo,
                                                      XrNegotiateRuntimeRequest* runtimeRequest) {
    const XrVersion api_version = XR_MAKE_VERSION(1, 0, 0);
    OXA_REQUIRE(loaderInfo != NULL && runtimeRequest != NULL, XR_ERROR_INITIALIZATION_FAILED);
    OXA_REQUIRE(loaderInfo->structType == XR_LOADER_INTERFACE_STRUCT_LOADER_INFO &&
                    loaderInfo->structVersion == XR_LOADER_INFO_STRUCT_VERSION &&
                    loaderInfo->structSize == sizeof *loaderInfo,
                XR_ERROR_INITIALIZATION_FAILED);
    OXA_REQUIRE(runtimeRequest->structType == XR_LOADER_INTERFACE_STRUCT_RUNTIME_REQUEST &&
                    runtimeRequest->structVersion == XR_RUNTIME_INFO_STRUCT_VERSION &&
                    runtimeRequest->structSize == sizeof *runtimeRequest,
                XR_ERROR_INITIALIZATION_FAILED);
    OXA_REQUIRE(loaderInfo->minInterfaceVersion <= XR_CURRENT_LOADER_RUNTIME_VERSION &&
                    loaderInfo->maxInterfaceVersion >= XR_CURRENT_LOADER_RUNTIME_VERSION,
                XR_ERROR_INITIALIZATION_FAILED);
    OXA_REQUIRE(loaderInfo->minApiVersion <= api_version && loaderInfo->maxApiVersion >= api_version,
                XR_ERROR_INITIALIZATION_FAILED);

    oxa_stay_loaded();
    make_ready();
    runtimeRequest->runtimeInterfaceVersion = XR_CURRENT_LOADER_RUNTIME_VERSION;
    runtimeRequest->runtimeApiVersion = api_version;
    runtimeRequest->getInstanceProcAddr = entry_xrGetInstanceProcAddr;
    return XR_SUCCESS;
}
