/* The calls that tell the host whether a session runs, and those from which it
 * runs the tools that want the app's main thread. Each goes down unchanged. */
#include "layer.h"

/* Hints: for what is seldom needed, and for what should touch one cache line. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#define ALIGNED __attribute__((aligned(64)))
#else
#define APART
#define ALIGNED
#endif

/* ---- sessions: whose they are, and whether they run */

typedef struct Session {
    atomic_ullong handle; /* 0: cannot be found */
    atomic_int taken;
    _Atomic(OxaLayerInstance*) instance;
    atomic_int running;
} Session;

static Session sessions[OXA_LAYER_MOST_SESSIONS];

/* NULL: no living session has that handle. */
static Session* find(XrSession handle, OxaLayerInstance** instance) {
    const uint64_t number = OXA_HANDLE_NUMBER(handle);
    for (size_t i = 0; number != 0 && i < OXA_LAYER_MOST_SESSIONS; ++i) {
        if (atomic_load_explicit(&sessions[i].handle, memory_order_acquire) != number) continue;
        *instance = atomic_load(&sessions[i].instance);
        return *instance == NULL ? NULL : &sessions[i]; /* it may have gone since */
    }
    return NULL;
}

static int add(OxaLayerInstance* instance, XrSession handle) {
    for (size_t i = 0; i < OXA_LAYER_MOST_SESSIONS; ++i) {
        if (atomic_exchange(&sessions[i].taken, 1)) continue;
        atomic_store(&sessions[i].instance, instance);
        atomic_store(&sessions[i].running, 0);
        atomic_store_explicit(&sessions[i].handle, OXA_HANDLE_NUMBER(handle), memory_order_release);
        return 1;
    }
    return 0;
}

static void remove_session(Session* session) {
    atomic_store(&session->instance, NULL);
    atomic_store(&session->handle, 0);
    atomic_store(&session->taken, 0);
}

void oxa_layer_forget_sessions(const OxaLayerInstance* instance) {
    for (size_t i = 0; i < OXA_LAYER_MOST_SESSIONS; ++i) {
        if (atomic_load(&sessions[i].instance) == instance) remove_session(&sessions[i]);
    }
}

/* ---- into the host */

static XrInstance handle_of(const OxaLayerInstance* instance) {
    return OXA_HANDLE(XrInstance, atomic_load(&instance->handle));
}

static void tell_running(Session* session, const OxaLayerInstance* instance, int running) {
    OxaHost* host = oxa_host_find(handle_of(instance));
    atomic_store(&session->running, running);
    if (host == NULL) return;
    oxa_host_session_running(host, running);
    oxa_host_release(host);
}

static int calls_wait(const OxaLayerInstance* instance) {
    return atomic_load_explicit(&instance->main_waiting, memory_order_acquire) != 0;
}

/* The instance may be gone afterwards, with all its sessions. */
static void pump(OxaLayerInstance* instance, void (*hook)(OxaHost* host)) {
    OxaHost* host = oxa_host_find(handle_of(instance));
    if (host == NULL) return;
    oxa_host_display_period(host, atomic_load(&instance->display_period_ns));
    hook(host);
    oxa_host_release(host);
}

APART static XrResult pump_and_poll(OxaLayerInstance* instance, XrInstance handle, XrEventDataBuffer* event) {
    pump(instance, oxa_host_poll_event);
    instance = oxa_layer_find(handle);
    return instance == NULL ? XR_ERROR_HANDLE_INVALID : instance->next.xrPollEvent(handle, event);
}

/* Apart from the pump, so that the poll of every frame is a few instructions: they
 * are seldom in a cache when it comes. */
ALIGNED XrResult XRAPI_CALL oxa_layer_xrPollEvent(XrInstance handle, XrEventDataBuffer* event) {
    OxaLayerInstance* instance = oxa_layer_find(handle);
    if (instance == NULL) return XR_ERROR_HANDLE_INVALID;
    if (calls_wait(instance)) return pump_and_poll(instance, handle, event);
    return instance->next.xrPollEvent(handle, event);
}

XrResult XRAPI_CALL oxa_layer_xrWaitFrame(XrSession handle, const XrFrameWaitInfo* info, XrFrameState* state) {
    OxaLayerInstance* instance;
    Session* session = find(handle, &instance);
    if (session != NULL && calls_wait(instance) && atomic_load(&session->running)) {
        pump(instance, oxa_host_wait_frame);
        session = find(handle, &instance);
    }
    if (session == NULL) return XR_ERROR_HANDLE_INVALID;
    const int running = atomic_load(&session->running);
    if (running) oxa_frames_enter(&instance->frames, instance->main_thread);
    XrResult result = instance->next.xrWaitFrame(handle, info, state);
    if (running) oxa_frames_leave(&instance->frames, instance->main_thread);
    if (XR_FAILED(result) || state == NULL) return result;
    /* Written when it changes: the line stays shared between threads. */
    if (atomic_load(&instance->display_period_ns) != state->predictedDisplayPeriod) {
        atomic_store(&instance->display_period_ns, state->predictedDisplayPeriod);
    }
    return result;
}

XrResult XRAPI_CALL oxa_layer_xrCreateSession(XrInstance handle, const XrSessionCreateInfo* info, XrSession* session) {
    OxaLayerInstance* instance = oxa_layer_find(handle);
    if (instance == NULL) return XR_ERROR_HANDLE_INVALID;
    XrResult result = instance->next.xrCreateSession(handle, info, session);
    if (XR_FAILED(result) || add(instance, *session)) return result;
    if (instance->next.xrDestroySession != NULL) instance->next.xrDestroySession(*session);
    *session = XR_NULL_HANDLE;
    return XR_ERROR_LIMIT_REACHED;
}

XrResult XRAPI_CALL oxa_layer_xrDestroySession(XrSession handle) {
    OxaLayerInstance* instance;
    Session* session = find(handle, &instance);
    if (session == NULL) return XR_ERROR_HANDLE_INVALID;
    /* Not to be found from here on: as soon as it is destroyed, its handle may be another's. */
    atomic_store(&session->handle, 0);
    XrResult result = instance->next.xrDestroySession(handle);
    if (XR_FAILED(result)) {
        atomic_store(&session->handle, OXA_HANDLE_NUMBER(handle));
        return result;
    }
    if (atomic_load(&session->running)) tell_running(session, instance, 0);
    remove_session(session);
    return result;
}

XrResult XRAPI_CALL oxa_layer_xrBeginSession(XrSession handle, const XrSessionBeginInfo* info) {
    OxaLayerInstance* instance;
    Session* session = find(handle, &instance);
    if (session == NULL) return XR_ERROR_HANDLE_INVALID;
    XrResult result = instance->next.xrBeginSession(handle, info);
    if (XR_SUCCEEDED(result)) tell_running(session, instance, 1);
    return result;
}

XrResult XRAPI_CALL oxa_layer_xrEndSession(XrSession handle) {
    OxaLayerInstance* instance;
    Session* session = find(handle, &instance);
    if (session == NULL) return XR_ERROR_HANDLE_INVALID;
    XrResult result = instance->next.xrEndSession(handle);
    if (XR_SUCCEEDED(result)) tell_running(session, instance, 0);
    return result;
}
