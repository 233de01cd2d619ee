/* The layer's door: negotiation with the loader, and look-up of functions. */
#include "layer.h"

#include "platform.h"

#include <string.h>

/* NULL: the app gets what is below. */
static PFN_xrVoidFunction our_function(const OxaLayerInstance* instance, const char* name) {
    if (strcmp(name, "xrGetInstanceProcAddr") == 0) return (PFN_xrVoidFunction)oxa_layer_xrGetInstanceProcAddr;
    if (!instance->serves && strcmp(name, "xrDestroyInstance") != 0) return NULL;
#define ANSWER(known) \
    if (strcmp(name, #known) == 0 && instance->next.known != NULL) return (PFN_xrVoidFunction)oxa_layer_##known;
    OXA_LAYER_FUNCTIONS(ANSWER)
#undef ANSWER
    return oxa_agentic_function(name);
}

XrResult XRAPI_CALL oxa_layer_xrGetInstanceProcAddr(XrInstance handle, const char* name, PFN_xrVoidFunction* function) {
    XrResult fault;
    if (name == NULL || function == NULL) return XR_ERROR_VALIDATION_FAILURE;
    OxaLayerInstance* instance = oxa_layer_find(handle);
    if (instance == NULL) {
        /* Before there is an instance, the loader answers for all layers. */
        *function = NULL;
        return XR_ERROR_HANDLE_INVALID;
    }
    if (oxa_fault_lookup(name, &fault)) {
        if (XR_SUCCEEDED(fault)) *function = NULL;
        return fault;
    }
    *function = our_function(instance, name);
    return *function != NULL ? XR_SUCCESS : instance->get_instance_proc_addr(handle, name, function);
}

/* Declared here since not every Khronos header does it. */
OXA_EXPORT XrResult XRAPI_CALL xrNegotiateLoaderApiLayerInterface(const XrNegotiateLoaderInfo* loaderInfo,
                                                                  const char* layerName,
                                                                  XrNegotiateApiLayerRequest* apiLayerRequest);

static int speaks_to(const XrNegotiateLoaderInfo* loader, XrVersion api_version) {
    return loader != NULL && loader->structType == XR_LOADER_INTERFACE_STRUCT_LOADER_INFO &&
           loader->structVersion == XR_LOADER_INFO_STRUCT_VERSION && loader->structSize == sizeof *loader &&
           loader->minInterfaceVersion <= XR_CURRENT_LOADER_API_LAYER_VERSION &&
           loader->maxInterfaceVersion >= XR_CURRENT_LOADER_API_LAYER_VERSION && loader->minApiVersion <= api_version &&
           loader->maxApiVersion >= api_version;
}

XrResult XRAPI_CALL xrNegotiateLoaderApiLayerInterface(const XrNegotiateLoaderInfo* loaderInfo, const char* layerName,
                                                       XrNegotiateApiLayerRequest* apiLayerRequest) {
    /* What is used of OpenXR here is as old as 1.0, whatever the app and the runtime speak. */
    const XrVersion api_version = XR_MAKE_VERSION(1, 0, 0);
    XrNegotiateApiLayerRequest* request = apiLayerRequest;
    if (!speaks_to(loaderInfo, api_version) || request == NULL ||
        request->structType != XR_LOADER_INTERFACE_STRUCT_API_LAYER_REQUEST ||
        request->structVersion != XR_API_LAYER_INFO_STRUCT_VERSION || request->structSize != sizeof *request) {
        return XR_ERROR_INITIALIZATION_FAILED;
    }
    if (layerName != NULL && strcmp(layerName, OXA_LAYER_NAME) != 0) return XR_ERROR_INITIALIZATION_FAILED;

    oxa_stay_loaded();
    oxa_agentic_functions_know();
    request->layerInterfaceVersion = XR_CURRENT_LOADER_API_LAYER_VERSION;
    request->layerApiVersion = api_version;
    request->getInstanceProcAddr = oxa_layer_xrGetInstanceProcAddr;
    request->createApiLayerInstance = oxa_layer_create_instance;
    return XR_SUCCESS;
}
