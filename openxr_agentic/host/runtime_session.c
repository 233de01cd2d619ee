/* Sessions and their states.
 *
 *     xrCreateSession       IDLE, READY
 *     xrBeginSession        SYNCHRONIZED, VISIBLE, FOCUSED
 *     xrRequestExitSession  VISIBLE, SYNCHRONIZED, STOPPING
 *     xrEndSession          IDLE, EXITING
 *
 * XR_MND_headless lets a session become focused without submitting frames, so
 * every state is reached by a call and none has to be waited for. A session
 * counts as being in a state as soon as the event is queued. */
#include "runtime.h"

XrResult oxa_xrCreateSession(XrInstance handle, const XrSessionCreateInfo* createInfo, XrSession* result_handle) {
    OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(createInfo, XR_TYPE_SESSION_CREATE_INFO) && result_handle != NULL, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(createInfo->createFlags == 0, XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(createInfo->systemId == OXA_SYSTEM_ID, XR_ERROR_SYSTEM_INVALID);
    /* Without headless a graphics binding is needed; and none is accepted, for
     * this runtime offers no graphics extension whose binding it could be. */
    OXA_REQUIRE(instance->headless && createInfo->next == NULL, XR_ERROR_GRAPHICS_DEVICE_INVALID);
    /* One at a time, as on headsets. */
    OXA_REQUIRE(oxa_object_next(OXA_SESSION, instance, NULL) == NULL, XR_ERROR_LIMIT_REACHED);

    OxaSession* session = oxa_object_create(OXA_SESSION, sizeof *session, instance);
    OXA_REQUIRE(session != NULL, XR_ERROR_OUT_OF_MEMORY);
    oxa_events_push(session, XR_SESSION_STATE_IDLE);
    oxa_events_push(session, XR_SESSION_STATE_READY);
    *result_handle = OXA_HANDLE(XrSession, session->object.handle);
    return XR_SUCCESS;
}

static void tell_host_running(OxaHost* host) { oxa_host_session_running(host, 1); }
static void tell_host_stopped(OxaHost* host) { oxa_host_session_running(host, 0); }

static void stop_running(OxaSession* session) {
    session->running = 0;
    session->frame_phase = OXA_FRAME_NONE;
    session->frame_begun = 0;
    oxa_runtime_wake(); /* an xrWaitFrame of it ends */
}

XrResult oxa_xrDestroySession(XrSession handle) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OxaInstance* instance = OXA_SESSION_INSTANCE(session);
    int was_running = session->running;
    stop_running(session);
    oxa_events_forget(instance);
    oxa_object_destroy(session);
    if (was_running) oxa_runtime_call_host(instance, tell_host_stopped);
    return XR_SUCCESS;
}

XrResult oxa_xrBeginSession(XrSession handle, const XrSessionBeginInfo* beginInfo) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(beginInfo, XR_TYPE_SESSION_BEGIN_INFO), XR_ERROR_VALIDATION_FAILURE);
    OXA_REQUIRE(!session->running, XR_ERROR_SESSION_RUNNING);
    OXA_REQUIRE(session->state == XR_SESSION_STATE_READY, XR_ERROR_SESSION_NOT_READY);
    OXA_REQUIRE(beginInfo->primaryViewConfigurationType == XR_VIEW_CONFIGURATION_TYPE_PRIMARY_STEREO,
                XR_ERROR_VIEW_CONFIGURATION_TYPE_UNSUPPORTED);
    session->running = 1;
    oxa_events_push(session, XR_SESSION_STATE_SYNCHRONIZED);
    oxa_events_push(session, XR_SESSION_STATE_VISIBLE);
    oxa_events_push(session, XR_SESSION_STATE_FOCUSED);
    oxa_runtime_call_host(OXA_SESSION_INSTANCE(session), tell_host_running);
    return XR_SUCCESS;
}

XrResult oxa_xrRequestExitSession(XrSession handle) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(session->running, XR_ERROR_SESSION_NOT_RUNNING);
    if (session->state == XR_SESSION_STATE_STOPPING) return XR_SUCCESS; /* it was asked for before */
    oxa_events_push(session, XR_SESSION_STATE_VISIBLE);
    oxa_events_push(session, XR_SESSION_STATE_SYNCHRONIZED);
    oxa_events_push(session, XR_SESSION_STATE_STOPPING);
    return XR_SUCCESS;
}

XrResult oxa_xrEndSession(XrSession handle) {
    OxaSession* session = OXA_FIND_SESSION(handle);
    OXA_REQUIRE(session != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(session->running, XR_ERROR_SESSION_NOT_RUNNING);
    OXA_REQUIRE(session->state == XR_SESSION_STATE_STOPPING, XR_ERROR_SESSION_NOT_STOPPING);
    stop_running(session);
    oxa_events_push(session, XR_SESSION_STATE_IDLE);
    oxa_events_push(session, XR_SESSION_STATE_EXITING);
    oxa_runtime_call_host(OXA_SESSION_INSTANCE(session), tell_host_stopped);
    return XR_SUCCESS;
}
