/* The host core: what stands behind either front (mock runtime, API layer).
 *
 * One OxaHost for each XrInstance. It keeps the registered tools, runs agent
 * calls on the right thread, and opens the control channel when it is asked
 * for. It never touches Python. The path of an agent call:
 *
 *     channel.c or control.c -> queue.c (main-thread tools wait here for a pump)
 *                            or workers.c (other tools: native threads of our own)
 *                            -> invoke.c (the two-call idiom) -> the app's callback
 */
#ifndef OPENXR_AGENTIC_HOST_H_
#define OPENXR_AGENTIC_HOST_H_ 1

/* With -std=c11 the C library hides POSIX. Has to come before the first system
 * header: a file that includes this one includes it first. */
#if !defined(_WIN32) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE 1
#endif

#include <openxr_agentic/channel.h>
#include <openxr_agentic/extension_names.h>
#include <openxr_agentic/host_control.h>
#include <openxr_agentic/metadata.h>
#include <openxr_agentic/platform.h>
#include <stdatomic.h>

/* A handle as a number, on either width of pointer. */
#if XR_PTR_SIZE == 8
#define OXA_HANDLE_NUMBER(handle) ((uint64_t)(uintptr_t)(handle))
#define OXA_HANDLE(type, number) ((type)(uintptr_t)(number))
#else
#define OXA_HANDLE_NUMBER(handle) ((uint64_t)(handle))
#define OXA_HANDLE(type, number) ((type)(number))
#endif

typedef struct OxaHost OxaHost;

/* What is known of the running session's xrWaitFrame. A session without graphics may do
 * without it, from its beginning or later. */
typedef struct OxaFrames {
    atomic_llong on_main_ns; /* when the main thread was last seen in it; 0: not yet */
    atomic_int inside;       /* the main thread is in it now */
    atomic_int elsewhere;    /* another thread calls it */
} OxaFrames;

typedef struct OxaHostInfo {
    XrInstance instance;
    const char* application_name; /* UTF-8; copied */
    const char* front;            /* "mock runtime 0.1.0"; a literal */
    int serves;                   /* the instance enabled the extension, and this host is who provides it */
    int without_channel;          /* another host of the process may want it */
    /* Where the host counts the calls that wait for its main thread, so that a front
     * sees without the host whether a hook has work. For as long as the process lives,
     * but no more written to once the host is destroyed. NULL: the front does not care. */
    atomic_uint* main_waiting;
    /* The same for what it sees of xrWaitFrame, so that it need not look for the host in each frame. */
    OxaFrames* frames;
} OxaHostInfo;

/* Around the sleep in each xrWaitFrame of a session that is running. */
static inline void oxa_frames_enter(OxaFrames* frames, uint64_t main_thread) {
    if (oxa_thread_number() == main_thread) {
        atomic_store(&frames->on_main_ns, oxa_now_ns());
        atomic_store(&frames->inside, 1);
    } else if (!atomic_load(&frames->elsewhere)) {
        atomic_store(&frames->elsewhere, 1);
    }
}
static inline void oxa_frames_leave(OxaFrames* frames, uint64_t main_thread) {
    if (oxa_thread_number() != main_thread) return;
    atomic_store(&frames->on_main_ns, oxa_now_ns());
    atomic_store(&frames->inside, 0);
}

/* The calling thread becomes the main thread. Never NULL but out of memory. A
 * channel that was asked for and cannot be opened is reported on stderr, and
 * the app goes on without one. */
OxaHost* oxa_host_create(const OxaHostInfo* info);

/* No new call starts, waiting ones are answered OXA_CALL_CLOSING, running ones
 * are waited for (option "destroy_waits"), threads are joined, the channel is
 * closed and its socket removed. May be called from inside a tool: the call
 * that is running on this thread is not waited for, and memory it still needs
 * is freed when it returns. */
void oxa_host_destroy(OxaHost* host);

/* A front that calls into a host on one thread while another may destroy it
 * keeps the host's memory with these. They keep nothing else: a host that is
 * being destroyed refuses. */
void oxa_host_retain(OxaHost* host);
void oxa_host_release(OxaHost* host);
/* The living host of an instance, to be released; NULL: there is none. */
OxaHost* oxa_host_find(XrInstance instance);

/* What an app finds through xrGetInstanceProcAddr on an instance that a host
 * serves, by name: xrAgenticRegisterExternalToolMETAX1 and the metadata function.
 * NULL: no such function. They look for the host by the instance they are given. */
PFN_xrVoidFunction oxa_agentic_function(const char* name);
/* Makes them known to `fail` and `function_calls`. */
void oxa_agentic_functions_know(void);

/* xrAgenticRegisterExternalToolMETAX1. XR_ERROR_VALIDATION_FAILURE for anything
 * that a strict host can refuse: wrong structure types, a NULL pointer, text
 * without a NUL or not valid UTF-8, an empty tool or parameter name, an enum out
 * of range (item type only read for ARRAY, object properties only for OBJECT),
 * isRequired neither 0 nor 1, unknown flag bits, two parameters of one name, a
 * tool name that is taken, more than OXA_MAX_PARAMETERS parameters, a next
 * pointer that is not NULL. The reason goes to stderr when
 * OPENXR_AGENTIC_HOST_LOG is set. */
XrResult oxa_host_register_tool(OxaHost* host, const OxaToolRegisterInfo* info);
#define OXA_MAX_PARAMETERS 64

/* What a front answers OXA_METADATA_FUNCTION_NAME with, on an instance whose
 * extension this host serves. XR_ERROR_API_VERSION_UNSUPPORTED, and NULL: no such version. */
XrResult oxa_host_metadata(uint32_t version, const OxaToolMetadataInterface** metadata);

/* The front's hooks for main-thread tools. All return at once on any thread but
 * the main one, and inside a tool; with nothing queued they cost an atomic load. */
void oxa_host_wait_frame(OxaHost* host);                   /* in xrWaitFrame, before it sleeps */
void oxa_host_frame_begins_to_wait(OxaHost* host);         /* then, and oxa_frames_enter otherwise */
void oxa_host_frame_waited(OxaHost* host);                 /* when it has slept, and oxa_frames_leave otherwise */
void oxa_host_poll_event(OxaHost* host);                   /* in xrPollEvent */
void oxa_host_session_running(OxaHost* host, int running); /* after xrBeginSession, xrEndSession */
/* Once it is known, the time between frames; until then it is option "display_period_ns". */
void oxa_host_display_period(OxaHost* host, int64_t nanoseconds);

/* Options in force for instances created from now on (host_control.h). */
int64_t oxa_option(const char* name);

/* Faults that tests asked for. 1: *result holds what to return instead of doing
 * anything. With none armed, an atomic load. Counts the call as well. */
int oxa_fault(const char* function, XrResult* result);
int oxa_fault_lookup(const char* function, XrResult* result);
/* The front tells the core its function names, for `fail` and `function_calls`. */
void oxa_faults_know(const char* const* functions, uint32_t count);

#endif
