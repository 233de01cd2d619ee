/* Each instance's queue of events, which xrPollEvent empties. */
#include "runtime.h"

void oxa_events_push(OxaSession* session, XrSessionState state) {
    OxaEventQueue* queue = &OXA_SESSION_INSTANCE(session)->events;
    session->state = state;
    XrEventDataSessionStateChanged* event = &queue->events[(queue->first + queue->count++) % OXA_MAX_QUEUED_EVENTS];
    event->type = XR_TYPE_EVENT_DATA_SESSION_STATE_CHANGED;
    event->next = NULL;
    event->session = OXA_HANDLE(XrSession, session->object.handle);
    event->state = state;
    event->time = oxa_now_ns();
}

void oxa_events_forget(OxaInstance* instance) { instance->events.count = 0; }

XrResult oxa_xrPollEvent(XrInstance handle, XrEventDataBuffer* eventData) {
    OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(OXA_IS(eventData, XR_TYPE_EVENT_DATA_BUFFER), XR_ERROR_VALIDATION_FAILURE);

    oxa_runtime_call_host(instance, oxa_host_poll_event);
    instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL, XR_ERROR_HANDLE_INVALID);

    OxaEventQueue* queue = &instance->events;
    OXA_REQUIRE(queue->count > 0, XR_EVENT_UNAVAILABLE);
    memcpy(eventData, &queue->events[queue->first], sizeof queue->events[0]);
    queue->first = (queue->first + 1) % OXA_MAX_QUEUED_EVENTS;
    queue->count--;
    return XR_SUCCESS;
}
