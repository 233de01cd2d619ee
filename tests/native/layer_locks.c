/* Counts the locks that the layer and the host core take: the linker puts
 * __wrap_pthread_mutex_lock in the place of every call in this program. */
#include "layer_unit.h"

static atomic_int locks;

int __real_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t* mutex) {
    atomic_fetch_add(&locks, 1);
    return __real_pthread_mutex_lock(mutex);
}

int main(void) {
    Probe probe = {.name = "tool"};
    XrFrameState state = {XR_TYPE_FRAME_STATE, NULL, 0, 0, 0};
    Answer answer = {0};
    XrSession session;
    reset_below();
    CHECK(negotiate() == XR_SUCCESS);
    XrInstance instance = serve();
    OxaHost* host = oxa_host_find(instance);
    add_probe(host, &probe, 1);
    CHECK(oxa_layer_xrCreateSession(instance, NULL, &session) == XR_SUCCESS);
    CHECK(oxa_layer_xrBeginSession(session, NULL) == XR_SUCCESS);
    CHECK(atomic_load(&locks) > 0); /* they are counted */

    atomic_store(&locks, 0);
    for (int i = 0; i < 1000; ++i) {
        below.period = 1000000 + i % 2; /* it changes at every frame */
        CHECK(oxa_layer_xrWaitFrame(session, NULL, &state) == XR_SUCCESS);
        CHECK(oxa_layer_xrPollEvent(instance, NULL) == XR_EVENT_UNAVAILABLE);
    }
    printf("%d locks with an empty queue\n", atomic_load(&locks));

    submit_and_forget(host, "tool", &answer);
    atomic_store(&locks, 0);
    CHECK(oxa_layer_xrWaitFrame(session, NULL, &state) == XR_SUCCESS);
    CHECK(atomic_load(&probe.runs) == 1);
    printf("%s with a call\n", atomic_load(&locks) > 0 ? "some" : "none");
    oxa_host_release(host);
    return destroy(instance) == XR_SUCCESS ? 0 : 1;
}
