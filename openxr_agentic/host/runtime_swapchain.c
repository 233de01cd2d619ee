/* Swapchains. A headless session has no image formats, so none can be created,
 * and every swapchain handle is invalid. */
#include "runtime.h"

XrResult oxa_xrEnumerateSwapchainFormats(XrSession session, uint32_t capacity, uint32_t* count, int64_t* formats) {
    OXA_REQUIRE(OXA_FIND_SESSION(session) != NULL, XR_ERROR_HANDLE_INVALID);
    return oxa_two_call(capacity, count, formats, 0);
}

XrResult oxa_xrCreateSwapchain(XrSession session, const XrSwapchainCreateInfo* createInfo, XrSwapchain* swapchain) {
    OXA_REQUIRE(OXA_FIND_SESSION(session) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(createInfo, XR_TYPE_SWAPCHAIN_CREATE_INFO) && swapchain != NULL, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(createInfo->width > 0 && createInfo->height > 0 && createInfo->sampleCount > 0 &&
                    createInfo->arraySize > 0 && createInfo->mipCount > 0,
                XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(createInfo->faceCount == 1 || createInfo->faceCount == 6, XR_ERROR_VALIDATION_FAILURE);
    return XR_ERROR_SWAPCHAIN_FORMAT_UNSUPPORTED;
}

XrResult oxa_xrDestroySwapchain(XrSwapchain swapchain) {
    (void)swapchain;
    return XR_ERROR_HANDLE_INVALID;
}

XrResult oxa_xrEnumerateSwapchainImages(XrSwapchain swapchain, uint32_t capacity, uint32_t* count,
                                        XrSwapchainImageBaseHeader* images) {
    (void)swapchain, (void)capacity, (void)count, (void)images;
    return XR_ERROR_HANDLE_INVALID;
}

XrResult oxa_xrAcquireSwapchainImage(XrSwapchain swapchain, const XrSwapchainImageAcquireInfo* acquireInfo,
                                     uint32_t* index) {
    (void)swapchain, (void)acquireInfo, (void)index;
    return XR_ERROR_HANDLE_INVALID;
}

XrResult oxa_xrWaitSwapchainImage(XrSwapchain swapchain, const XrSwapchainImageWaitInfo* waitInfo) {
    (void)swapchain, (void)waitInfo;
    return XR_ERROR_HANDLE_INVALID;
}

XrResult oxa_xrReleaseSwapchainImage(XrSwapchain swapchain, const XrSwapchainImageReleaseInfo* releaseInfo) {
    (void)swapchain, (void)releaseInfo;
    return XR_ERROR_HANDLE_INVALID;
}
