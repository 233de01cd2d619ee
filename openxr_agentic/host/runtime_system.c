/* The one system: a head-mounted display with two views, opaque, 6 degrees of freedom. */
#include "runtime.h"

#define SYSTEM_NAME "openxr-agentic mock headset"
#define VIEW_WIDTH 1024u
#define VIEW_HEIGHT 1024u
#define MAX_VIEW_SIZE 4096u

XrResult oxa_xrGetSystem(XrInstance instance, const XrSystemGetInfo* getInfo, XrSystemId* systemId) {
    OXA_REQUIRE(OXA_FIND_INSTANCE(instance) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(getInfo, XR_TYPE_SYSTEM_GET_INFO) && systemId != NULL, XR_ERROR_VALIDATION_FAILURE);
    switch (getInfo->formFactor) {
        case XR_FORM_FACTOR_HEAD_MOUNTED_DISPLAY:
            *systemId = OXA_SYSTEM_ID;
            return XR_SUCCESS;
        case XR_FORM_FACTOR_HANDHELD_DISPLAY:
            return XR_ERROR_FORM_FACTOR_UNSUPPORTED;
        default:
            return XR_ERROR_VALIDATION_FAILURE;
    }
}

XrResult oxa_xrGetSystemProperties(XrInstance instance, XrSystemId systemId, XrSystemProperties* properties) {
    OXA_REQUIRE(OXA_FIND_INSTANCE(instance) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(properties, XR_TYPE_SYSTEM_PROPERTIES), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(systemId == OXA_SYSTEM_ID, XR_ERROR_SYSTEM_INVALID);
    properties->systemId = OXA_SYSTEM_ID;
    properties->vendorId = 0;
    memset(properties->systemName, 0, sizeof properties->systemName);
    memcpy(properties->systemName, SYSTEM_NAME, sizeof SYSTEM_NAME);
    properties->graphicsProperties.maxSwapchainImageHeight = MAX_VIEW_SIZE;
    properties->graphicsProperties.maxSwapchainImageWidth = MAX_VIEW_SIZE;
    properties->graphicsProperties.maxLayerCount = XR_MIN_COMPOSITION_LAYERS_SUPPORTED;
    properties->trackingProperties.orientationTracking = XR_TRUE;
    properties->trackingProperties.positionTracking = XR_TRUE;
    return XR_SUCCESS;
}

XrResult oxa_xrEnumerateViewConfigurations(XrInstance instance, XrSystemId systemId, uint32_t capacity, uint32_t* count,
                                           XrViewConfigurationType* types) {
    OXA_REQUIRE(OXA_FIND_INSTANCE(instance) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(systemId == OXA_SYSTEM_ID, XR_ERROR_SYSTEM_INVALID);
    XrResult result = oxa_two_call(capacity, count, types, 1);
    if (result == XR_SUCCESS && capacity > 0) types[0] = XR_VIEW_CONFIGURATION_TYPE_PRIMARY_STEREO;
    return result;
}

static XrResult check_view_configuration(XrInstance instance, XrSystemId systemId, XrViewConfigurationType type) {
    OXA_REQUIRE(OXA_FIND_INSTANCE(instance) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(systemId == OXA_SYSTEM_ID, XR_ERROR_SYSTEM_INVALID);
    OXA_REQUIRE(type == XR_VIEW_CONFIGURATION_TYPE_PRIMARY_STEREO, XR_ERROR_VIEW_CONFIGURATION_TYPE_UNSUPPORTED);
    return XR_SUCCESS;
}

XrResult oxa_xrGetViewConfigurationProperties(XrInstance instance, XrSystemId systemId, XrViewConfigurationType type,
                                              XrViewConfigurationProperties* properties) {
    XrResult result = check_view_configuration(instance, systemId, type);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(OXA_IS(properties, XR_TYPE_VIEW_CONFIGURATION_PROPERTIES), XR_ERROR_VALIDATION_FAILURE);
    properties->viewConfigurationType = type;
    properties->fovMutable = XR_FALSE;
    return XR_SUCCESS;
}

XrResult oxa_xrEnumerateViewConfigurationViews(XrInstance instance, XrSystemId systemId, XrViewConfigurationType type,
                                               uint32_t capacity, uint32_t* count, XrViewConfigurationView* views) {
    XrResult result = check_view_configuration(instance, systemId, type);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    result = oxa_two_call(capacity, count, views, OXA_VIEW_COUNT);
    if (result != XR_SUCCESS || capacity == 0) return result;
    for (uint32_t i = 0; i < OXA_VIEW_COUNT; i++) {
        OXA_REQUIRE(views[i].type == XR_TYPE_VIEW_CONFIGURATION_VIEW, XR_ERROR_VALIDATION_FAILURE);
        views[i].recommendedImageRectWidth = VIEW_WIDTH;
        views[i].maxImageRectWidth = MAX_VIEW_SIZE;
        views[i].recommendedImageRectHeight = VIEW_HEIGHT;
        views[i].maxImageRectHeight = MAX_VIEW_SIZE;
        views[i].recommendedSwapchainSampleCount = 1;
        views[i].maxSwapchainSampleCount = 1;
    }
    return XR_SUCCESS;
}

XrResult oxa_xrEnumerateEnvironmentBlendModes(XrInstance instance, XrSystemId systemId, XrViewConfigurationType type,
                                              uint32_t capacity, uint32_t* count, XrEnvironmentBlendMode* modes) {
    XrResult result = check_view_configuration(instance, systemId, type);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    result = oxa_two_call(capacity, count, modes, 1);
    if (result == XR_SUCCESS && capacity > 0) modes[0] = XR_ENVIRONMENT_BLEND_MODE_OPAQUE;
    return result;
}
