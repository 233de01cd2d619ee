/* The mock runtime: one of the host's two fronts.
 *
 * A whole OpenXR 1.0 runtime that draws nothing (XR_MND_headless) and has no
 * controllers, for machines that have no other. It is found by the Khronos
 * loader like any runtime, and it is strict: what the specification lets a
 * runtime refuse, it refuses.
 *
 *     runtime.c           negotiation, look-up of functions, the lock
 *     runtime_objects.c   handles
 *     runtime_instance.c  instances, their host, extensions
 *     runtime_events.c    the event queue
 *     runtime_system.c    the one system and its views
 *     runtime_session.c   session states
 *     runtime_frame.c     frame timing and call order
 *     runtime_space.c     spaces, poses and views
 *     runtime_swapchain.c swapchains, of which there are none
 *     runtime_path.c      paths
 *     runtime_action.c    action sets and actions
 *     runtime_input.c     their states: nothing is ever pressed
 *     runtime_names.c     texts for results and structure types
 *
 * Locking: one lock guards everything. runtime.c takes it around every
 * function, so an implementation may return from anywhere. It is released
 * while something waits and while the host core works, since a tool that runs
 * in there may call OpenXR; whoever released it must look its objects up again
 * by handle. */
#ifndef OPENXR_AGENTIC_RUNTIME_H_
#define OPENXR_AGENTIC_RUNTIME_H_ 1

#include "host.h"

#include <openxr_agentic/openxr_lists.h>
#include <stddef.h>
#include <string.h>

#define OXA_RUNTIME_NAME "openxr-agentic mock runtime"
#define OXA_RUNTIME_FRONT "mock runtime 0.1.0"
#define OXA_RUNTIME_VERSION XR_MAKE_VERSION(0, 1, 0)

/* The one system that xrGetSystem finds, and its two views. */
#define OXA_SYSTEM_ID ((XrSystemId)1)
#define OXA_VIEW_COUNT 2u

/* All the states of a session's life (runtime_session.c). An instance has one
 * session at a time, and its events go with it: the queue cannot overflow. */
#define OXA_MAX_QUEUED_EVENTS 10u

/* ---- objects ---- */

typedef enum OxaKind { OXA_INSTANCE = 1, OXA_SESSION, OXA_SPACE, OXA_ACTION_SET, OXA_ACTION } OxaKind;

/* The head of every object behind a handle. */
typedef struct OxaObject {
    OxaKind kind;
    uint64_t handle;
    struct OxaObject* parent; /* NULL for an instance */
} OxaObject;

typedef struct OxaEventQueue {
    XrEventDataSessionStateChanged events[OXA_MAX_QUEUED_EVENTS]; /* the only kind that happens here */
    uint32_t first;
    uint32_t count;
} OxaEventQueue;

typedef struct OxaPathTable {
    char** texts; /* the text of XrPath n is texts[n - 1] */
    uint32_t count;
    uint32_t capacity;
} OxaPathTable;

typedef struct OxaInstance {
    OxaObject object;
    OxaHost* host; /* NULL while it is created and once it is being destroyed */
    int headless;  /* XR_MND_headless is enabled */
    int agentic;   /* the extension is enabled */
    int64_t display_period_ns;
    OxaEventQueue events;
    OxaPathTable paths;
} OxaInstance;

/* Where xrWaitFrame stands. It waits for OXA_FRAME_NONE, which xrBeginFrame restores. */
typedef enum OxaFramePhase { OXA_FRAME_NONE, OXA_FRAME_WAITING, OXA_FRAME_WAITED } OxaFramePhase;

typedef struct OxaSession {
    OxaObject object;
    XrSessionState state;
    int running;
    int action_sets_attached;
    OxaFramePhase frame_phase;
    int frame_begun;
    XrTime period_start; /* of the last frame; 0: there was none */
} OxaSession;

typedef struct OxaSpace {
    OxaObject object;
    XrReferenceSpaceType type; /* 0: of a pose action, which is never tracked here */
    XrPosef pose;              /* in the reference space */
} OxaSpace;

typedef struct OxaActionSet {
    OxaObject object;
    char name[XR_MAX_ACTION_SET_NAME_SIZE];
    char localized_name[XR_MAX_LOCALIZED_ACTION_SET_NAME_SIZE];
    int attached_once; /* and therefore immutable */
    uint64_t session;  /* the handle of the session that it was attached to last */
} OxaActionSet;

typedef struct OxaAction {
    OxaObject object;
    char name[XR_MAX_ACTION_NAME_SIZE];
    char localized_name[XR_MAX_LOCALIZED_ACTION_NAME_SIZE];
    XrActionType type;
    uint32_t subaction_path_count;
    XrPath subaction_paths[]; /* they follow the object */
} OxaAction;

/* A zeroed object with a handle of its own; NULL: out of memory. */
void* oxa_object_create(OxaKind kind, size_t bytes, void* parent);
/* Destroys it with all that it is an ancestor of. */
void oxa_object_destroy(void* object);
/* NULL: no living object of that kind has that handle. */
void* oxa_object_find(OxaKind kind, uint64_t handle);
/* The objects of a kind with that parent, one after the other: begin with NULL, ends with NULL. */
void* oxa_object_next(OxaKind kind, const void* parent, const void* previous);

#define OXA_FIND_INSTANCE(handle) ((OxaInstance*)oxa_object_find(OXA_INSTANCE, OXA_HANDLE_NUMBER(handle)))
#define OXA_FIND_SESSION(handle) ((OxaSession*)oxa_object_find(OXA_SESSION, OXA_HANDLE_NUMBER(handle)))
#define OXA_FIND_SPACE(handle) ((OxaSpace*)oxa_object_find(OXA_SPACE, OXA_HANDLE_NUMBER(handle)))
#define OXA_FIND_ACTION_SET(handle) ((OxaActionSet*)oxa_object_find(OXA_ACTION_SET, OXA_HANDLE_NUMBER(handle)))
#define OXA_FIND_ACTION(handle) ((OxaAction*)oxa_object_find(OXA_ACTION, OXA_HANDLE_NUMBER(handle)))

#define OXA_SESSION_INSTANCE(session) ((OxaInstance*)(session)->object.parent)
#define OXA_ACTION_SET_OF(action) ((OxaActionSet*)(action)->object.parent)

/* ---- checks ---- */

#define OXA_REQUIRE(condition, otherwise)   \
    do {                                    \
        if (!(condition)) return otherwise; \
    } while (0)

#define OXA_IS(structure, expected) ((structure) != NULL && (structure)->type == (expected))

/* A text field that is terminated within its array. */
#define OXA_TERMINATED(field) (memchr((field), 0, sizeof(field)) != NULL)

/* OpenXR's two-call idiom: the count is set in any case but the first; the
 * caller fills the array when this succeeds and `capacity` is not 0. */
static inline XrResult oxa_two_call(uint32_t capacity, uint32_t* count, const void* array, uint32_t available) {
    OXA_REQUIRE(count != NULL && (capacity == 0 || array != NULL), XR_ERROR_VALIDATION_FAILURE);
    *count = available;
    return capacity == 0 || capacity >= available ? XR_SUCCESS : XR_ERROR_SIZE_INSUFFICIENT;
}
/* The same for a text, whose NUL counts, and which it copies. */
XrResult oxa_two_call_text(uint32_t capacity, uint32_t* count, char* buffer, const char* text);

/* ---- the lock ---- */

void oxa_runtime_lock(void);
void oxa_runtime_unlock(void);
/* Releases the lock until woken or until the time comes (< 0: never); 1: the time has come. */
int oxa_runtime_wait(int64_t until_ns);
void oxa_runtime_wake(void);

/* An option of the host's, read with the lock released. */
int64_t oxa_runtime_option(const char* name);

/* Calls a hook of the host core with the lock released. The instance and
 * everything in it may be gone afterwards. */
void oxa_runtime_call_host(OxaInstance* instance, void (*hook)(OxaHost* host));

/* ---- between the files ---- */

/* Puts the session into that state and queues the event that tells so. */
void oxa_events_push(OxaSession* session, XrSessionState state);
/* No event may name a session that is gone. */
void oxa_events_forget(OxaInstance* instance);

void oxa_paths_free(OxaPathTable* paths);
const char* oxa_path_text(const OxaInstance* instance, XrPath path); /* NULL: no such path */
int oxa_path_is_top_level_user(const char* text);

int oxa_pose_is_valid(const XrPosef* pose);

int oxa_action_is_attached(const OxaAction* action, const OxaSession* session);
/* XR_NULL_PATH, or one that the action was created with. */
XrResult oxa_action_check_subaction(const OxaAction* action, XrPath path);

/* The implementation of each function, oxa_xrCreateInstance and so on. Called with the lock held. */
#define OXA_DECLARE_FUNCTION(name, parameters, arguments) XrResult oxa_##name parameters;
OXA_CORE_FUNCTIONS(OXA_DECLARE_FUNCTION)
#undef OXA_DECLARE_FUNCTION

#endif
