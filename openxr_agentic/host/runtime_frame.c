/* Frames: xrWaitFrame keeps the pace, the others the order of calls. */
#include "runtime.h"

#include <stdio.h>

/* The specification has xrWaitFrame wait for the xrBeginFrame of the frame
 * before. An app that never begins would hang, and tell nobody why. */
#define BEGIN_LIMIT_NS INT64_C(5000000000)

static XrResult find_running(XrSession handle, OxaSession** session) {
    *session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(*session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE((*session)->running, XR_ERROR_SESSION_NOT_RUNNING);
    return XR_SUCCESS;
}

/* Waits until the frame before has begun, and takes the turn. */
static XrResult take_turn(XrSession handle, OxaSession** session) {
    const int64_t until_ns = oxa_now_ns() + BEGIN_LIMIT_NS;
    int over = 0;
    for (;;) {
        XrResult result = find_running(handle, session);
        OXA_REQUIRE(result == XR_SUCCESS, result);
        if ((*session)->frame_phase == OXA_FRAME_NONE) break;
        if (over) {
            fprintf(stderr, "openxr-agentic: xrWaitFrame gave up waiting for xrBeginFrame of the frame before\n");
            return XR_ERROR_RUNTIME_FAILURE;
        }
        over = oxa_runtime_wait(until_ns);
    }
    (*session)->frame_phase = OXA_FRAME_WAITING;
    return XR_SUCCESS;
}

/* The periods of a session lie on a grid that its first frame starts. */
static XrTime next_period_start(const OxaSession* session, int64_t period_ns) {
    const XrTime now = oxa_now_ns();
    if (session->period_start == 0) return now;
    const XrTime next = session->period_start + period_ns;
    if (next >= now) return next;
    return next + (now - next + period_ns - 1) / period_ns * period_ns;
}

/* Sleeps until the frame's period begins. */
static XrResult wait_for_turn(XrSession handle, OxaSession** session) {
    XrResult result = take_turn(handle, session);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    const XrTime start = next_period_start(*session, OXA_SESSION_INSTANCE(*session)->display_period_ns);
    while (oxa_now_ns() < start) {
        oxa_runtime_wait(start);
        result = find_running(handle, session);
        OXA_REQUIRE(result == XR_SUCCESS, result);
    }
    (*session)->period_start = start;
    return XR_SUCCESS;
}

XrResult oxa_xrWaitFrame(XrSession handle, const XrFrameWaitInfo* waitInfo, XrFrameState* frameState) {
    OxaSession* session;
    XrResult result = find_running(handle, &session);
    OXA_REQUIRE(result != XR_ERROR_HANDLE_INVALID, result);
    OXA_REQUIRE(waitInfo == NULL || waitInfo->type == XR_TYPE_FRAME_WAIT_INFO, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(OXA_IS(frameState, XR_TYPE_FRAME_STATE), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(result == XR_SUCCESS, result);

    oxa_runtime_call_host(OXA_SESSION_INSTANCE(session), oxa_host_wait_frame);
    result = find_running(handle, &session); /* a tool may have ended or destroyed it */
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OxaHost* host = OXA_SESSION_INSTANCE(session)->host;
    OXA_REQUIRE(host != NULL, XR_ERROR_HANDLE_INVALID); /* another thread is destroying the instance */
    oxa_host_retain(host);
    oxa_host_frame_begins_to_wait(host);
    result = wait_for_turn(handle, &session);
    oxa_host_frame_waited(host);
    oxa_host_release(host);
    OXA_REQUIRE(result == XR_SUCCESS, result);

    const int64_t period_ns = OXA_SESSION_INSTANCE(session)->display_period_ns;
    session->frame_phase = OXA_FRAME_WAITED;
    frameState->predictedDisplayTime = session->period_start + period_ns;
    frameState->predictedDisplayPeriod = period_ns;
    frameState->shouldRender = XR_FALSE; /* as XR_MND_headless has it: nothing will be seen */
    return XR_SUCCESS;
}

XrResult oxa_xrBeginFrame(XrSession handle, const XrFrameBeginInfo* beginInfo) {
    OxaSession* session;
    XrResult result = find_running(handle, &session);
    OXA_REQUIRE(result != XR_ERROR_HANDLE_INVALID, result);
    OXA_REQUIRE(beginInfo == NULL || beginInfo->type == XR_TYPE_FRAME_BEGIN_INFO, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(session->frame_phase == OXA_FRAME_WAITED, XR_ERROR_CALL_ORDER_INVALID);
    int discarded = session->frame_begun;
    session->frame_phase = OXA_FRAME_NONE;
    session->frame_begun = 1;
    oxa_runtime_wake(); /* the next xrWaitFrame may go on */
    return discarded ? XR_FRAME_DISCARDED : XR_SUCCESS;
}

/* No session here has a swapchain, and every layer of core OpenXR names one. */
static XrResult check_layer(const XrCompositionLayerBaseHeader* layer) {
    OXA_REQUIRE(layer != NULL, XR_ERROR_LAYER_INVALID);
    OXA_REQUIRE(layer->type == XR_TYPE_COMPOSITION_LAYER_PROJECTION || layer->type == XR_TYPE_COMPOSITION_LAYER_QUAD,
                XR_ERROR_LAYER_INVALID);
    return XR_ERROR_HANDLE_INVALID;
}

XrResult oxa_xrEndFrame(XrSession handle, const XrFrameEndInfo* endInfo) {
    OxaSession* session;
    XrResult result = find_running(handle, &session);
    OXA_REQUIRE(result != XR_ERROR_HANDLE_INVALID, result);
    OXA_REQUIRE(OXA_IS(endInfo, XR_TYPE_FRAME_END_INFO), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(result == XR_SUCCESS, result);
    OXA_REQUIRE(session->frame_begun, XR_ERROR_CALL_ORDER_INVALID);
    OXA_REQUIRE(endInfo->displayTime > 0, XR_ERROR_TIME_INVALID);
    OXA_REQUIRE(endInfo->environmentBlendMode == XR_ENVIRONMENT_BLEND_MODE_OPAQUE,
                XR_ERROR_ENVIRONMENT_BLEND_MODE_UNSUPPORTED);
    OXA_REQUIRE(endInfo->layerCount <= XR_MIN_COMPOSITION_LAYERS_SUPPORTED, XR_ERROR_LAYER_LIMIT_EXCEEDED);
    OXA_REQUIRE(endInfo->layerCount == 0 || endInfo->layers != NULL, XR_ERROR_VALIDATION_FAILURE);
    for (uint32_t i = 0; i < endInfo->layerCount; i++) {
        result = check_layer(endInfo->layers[i]);
        OXA_REQUIRE(result == XR_SUCCESS, result);
    }
    session->frame_begun = 0;
    return XR_SUCCESS;
}
