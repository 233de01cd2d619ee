/* How the OpenXR loader, a runtime and an API layer meet.
 *
 * Khronos publishes these structures in a header of their own, which older
 * packages lack; it is taken where it is installed. A struct's type, version
 * and size come first in each, so that both sides can refuse what they don't
 * know. */
#ifndef OPENXR_AGENTIC_LOADER_NEGOTIATION_H_
#define OPENXR_AGENTIC_LOADER_NEGOTIATION_H_ 1

#include "openxr_core.h"

#if !defined(OXA_USE_OWN_OPENXR_DECLARATIONS) && defined(__has_include)
#if __has_include(<openxr/openxr_loader_negotiation.h>)
#include <openxr/openxr_loader_negotiation.h>
#endif
#endif

#if !defined(XR_LOADER_VERSION_1_0)
#define XR_LOADER_VERSION_1_0 1

#ifdef __cplusplus
extern "C" {
#endif

#define XR_CURRENT_LOADER_API_LAYER_VERSION 1
#define XR_CURRENT_LOADER_RUNTIME_VERSION 1
#define XR_LOADER_INFO_STRUCT_VERSION 1
#define XR_RUNTIME_INFO_STRUCT_VERSION 1
#define XR_API_LAYER_INFO_STRUCT_VERSION 1
#define XR_API_LAYER_NEXT_INFO_STRUCT_VERSION 1
#define XR_API_LAYER_CREATE_INFO_STRUCT_VERSION 1
#define XR_API_LAYER_MAX_SETTINGS_PATH_SIZE 512

typedef enum XrLoaderInterfaceStructs {
    XR_LOADER_INTERFACE_STRUCT_UNINTIALIZED = 0, /* spelt so in the standard */
    XR_LOADER_INTERFACE_STRUCT_LOADER_INFO = 1,
    XR_LOADER_INTERFACE_STRUCT_API_LAYER_REQUEST = 2,
    XR_LOADER_INTERFACE_STRUCT_RUNTIME_REQUEST = 3,
    XR_LOADER_INTERFACE_STRUCT_API_LAYER_CREATE_INFO = 4,
    XR_LOADER_INTERFACE_STRUCT_API_LAYER_NEXT_INFO = 5,
    XR_LOADER_INTERFACE_STRUCTS_MAX_ENUM = 0x7FFFFFFF
} XrLoaderInterfaceStructs;

#define OXA_INTERFACE_HEAD               \
    XrLoaderInterfaceStructs structType; \
    uint32_t structVersion;              \
    size_t structSize;

/* What the loader speaks. */
typedef struct XrNegotiateLoaderInfo {
    OXA_INTERFACE_HEAD
    uint32_t minInterfaceVersion;
    uint32_t maxInterfaceVersion;
    XrVersion minApiVersion;
    XrVersion maxApiVersion;
} XrNegotiateLoaderInfo;

/* What the runtime chose and offers. */
typedef struct XrNegotiateRuntimeRequest {
    OXA_INTERFACE_HEAD
    uint32_t runtimeInterfaceVersion;
    XrVersion runtimeApiVersion;
    PFN_xrGetInstanceProcAddr getInstanceProcAddr;
} XrNegotiateRuntimeRequest;

typedef struct XrApiLayerCreateInfo XrApiLayerCreateInfo;

typedef XrResult(XRAPI_PTR* PFN_xrCreateApiLayerInstance)(const XrInstanceCreateInfo* info,
                                                          const XrApiLayerCreateInfo* apiLayerInfo,
                                                          XrInstance* instance);

/* What the API layer chose and offers. */
typedef struct XrNegotiateApiLayerRequest {
    OXA_INTERFACE_HEAD
    uint32_t layerInterfaceVersion;
    XrVersion layerApiVersion;
    PFN_xrGetInstanceProcAddr getInstanceProcAddr;
    PFN_xrCreateApiLayerInstance createApiLayerInstance;
} XrNegotiateApiLayerRequest;

/* The layers and the runtime below a layer: it calls the first, and hands on
 * the rest. */
typedef struct XrApiLayerNextInfo {
    OXA_INTERFACE_HEAD
    char layerName[XR_MAX_API_LAYER_NAME_SIZE];
    PFN_xrGetInstanceProcAddr nextGetInstanceProcAddr;
    PFN_xrCreateApiLayerInstance nextCreateApiLayerInstance;
    struct XrApiLayerNextInfo* next;
} XrApiLayerNextInfo;

struct XrApiLayerCreateInfo {
    OXA_INTERFACE_HEAD
    void* loaderInstance;
    char settings_file_location[XR_API_LAYER_MAX_SETTINGS_PATH_SIZE];
    XrApiLayerNextInfo* nextInfo;
};

#undef OXA_INTERFACE_HEAD

typedef XrResult(XRAPI_PTR* PFN_xrNegotiateLoaderRuntimeInterface)(const XrNegotiateLoaderInfo* loaderInfo,
                                                                   XrNegotiateRuntimeRequest* runtimeRequest);
typedef XrResult(XRAPI_PTR* PFN_xrNegotiateLoaderApiLayerInterface)(const XrNegotiateLoaderInfo* loaderInfo,
                                                                    const char* layerName,
                                                                    XrNegotiateApiLayerRequest* apiLayerRequest);

#ifdef __cplusplus
}
#endif

#endif

#endif
