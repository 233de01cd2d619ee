/* The API layer: the other of the host's two fronts, over any runtime.
 *
 * It provides the extension to instances that enable it, and is not there for
 * any other: an instance without the extension, or one whose runtime or lower
 * layer provides it, gets the next layer's functions as they are.
 *
 *     layer.c           negotiation, look-up of functions
 *     layer_instance.c  instances: who provides the extension, and the table of them
 *     layer_calls.c     the calls that the host needs to see
 *
 * The functions in OXA_LAYER_FUNCTIONS are the only ones that it comes in
 * between; of all others the app gets the next layer's own pointers, and such a
 * call costs nothing. The two that a frame loop makes, xrPollEvent and
 * xrWaitFrame, take no lock while no call waits for the main thread: the table
 * of instances is one of atomics. */
#ifndef OPENXR_AGENTIC_LAYER_H_
#define OPENXR_AGENTIC_LAYER_H_ 1

#include "host.h"

#include <openxr_agentic/loader_negotiation.h>
#include <stddef.h>

#define OXA_LAYER_NAME "XR_APILAYER_NOVENDOR_openxr_agentic"
#define OXA_LAYER_FRONT "API layer 0.1.0"

/* The loader has one instance at a time, but a process may have several loaders. */
#define OXA_LAYER_MOST_INSTANCES 8
#define OXA_LAYER_MOST_SESSIONS 32

/* The most frequent first: they share a cache line with the handle. */
#define OXA_LAYER_FUNCTIONS(entry)                                                                             \
    entry(xrPollEvent) entry(xrWaitFrame) entry(xrCreateSession) entry(xrDestroySession) entry(xrBeginSession) \
        entry(xrEndSession) entry(xrDestroyInstance)

/* Never freed, but used again: whoever comes too late finds another handle in it.
 * What a poll needs is in one cache line. */
typedef struct OxaLayerInstance {
    _Alignas(64) atomic_ullong handle; /* 0: cannot be found */
    atomic_uint main_waiting;          /* the host's, of its calls */
    /* What is below; NULL where it is missing. */
    struct {
#define OXA_DECLARE_NEXT(name) PFN_##name name;
        OXA_LAYER_FUNCTIONS(OXA_DECLARE_NEXT)
#undef OXA_DECLARE_NEXT
    } next;
    PFN_xrGetInstanceProcAddr get_instance_proc_addr;
    atomic_llong display_period_ns; /* 0: not known yet */
    OxaFrames frames;
    uint64_t main_thread;
    OxaHost* host;    /* NULL: somebody below provides the extension, or nobody wants it */
    int serves;       /* there was a host, at least */
    atomic_int taken; /* the place is in use */
    atomic_int destroying;
} OxaLayerInstance;
_Static_assert(offsetof(OxaLayerInstance, next.xrWaitFrame) < 64, "a poll and a frame touch one cache line");

extern OxaLayerInstance oxa_layer_instances[OXA_LAYER_MOST_INSTANCES];

/* In the places behind the first. */
OxaLayerInstance* oxa_layer_find_further(XrInstance handle);

/* NULL: no living instance has that handle. */
static inline OxaLayerInstance* oxa_layer_find(XrInstance handle) {
    OxaLayerInstance* first = &oxa_layer_instances[0]; /* with one loader, it is in no other place */
    const uint64_t number = atomic_load_explicit(&first->handle, memory_order_acquire);
    return number != 0 && number == OXA_HANDLE_NUMBER(handle) ? first : oxa_layer_find_further(handle);
}

/* The sessions of an instance that is gone. */
void oxa_layer_forget_sessions(const OxaLayerInstance* instance);

XrResult XRAPI_CALL oxa_layer_xrGetInstanceProcAddr(XrInstance instance, const char* name,
                                                    PFN_xrVoidFunction* function);
XrResult XRAPI_CALL oxa_layer_create_instance(const XrInstanceCreateInfo* info, const XrApiLayerCreateInfo* layer_info,
                                              XrInstance* instance);

XrResult XRAPI_CALL oxa_layer_xrDestroyInstance(XrInstance instance);
XrResult XRAPI_CALL oxa_layer_xrPollEvent(XrInstance instance, XrEventDataBuffer* event);
XrResult XRAPI_CALL oxa_layer_xrCreateSession(XrInstance instance, const XrSessionCreateInfo* info, XrSession* session);
XrResult XRAPI_CALL oxa_layer_xrDestroySession(XrSession session);
XrResult XRAPI_CALL oxa_layer_xrBeginSession(XrSession session, const XrSessionBeginInfo* info);
XrResult XRAPI_CALL oxa_layer_xrEndSession(XrSession session);
XrResult XRAPI_CALL oxa_layer_xrWaitFrame(XrSession session, const XrFrameWaitInfo* info, XrFrameState* state);

#endif
