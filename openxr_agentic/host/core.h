/* The host core's own structures, shared by its files.
 *
 * Locks, and what each guards:
 *   the registry's (host.c)  the list of living hosts
 *   OxaToolTable.mutex       the table, metadata included; a tool itself never changes
 *   OxaHost.mutex            calls, lanes, threads, counters
 *   OxaClient.mutex          one connection's out-buffer and list of calls
 * Nobody holds two of them at a time, and nobody holds one while an app's
 * callback runs.
 *
 * Lifetimes are counted. A host is kept by the registry, by each of its threads,
 * and by whoever is inside of it; a call by its lane or its runner, and by whoever
 * waits for its answer. So a thread that never comes back from a callback leaks
 * what it may still touch instead of crashing. */
#ifndef OPENXR_AGENTIC_HOST_CORE_H_
#define OPENXR_AGENTIC_HOST_CORE_H_ 1

#include "host.h"
#include "platform.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define OXA_MAX_TEXT_BYTES (64u * 1024 * 1024) /* of a result */
#define OXA_MAX_WAITING_CALLS 1024u            /* of one host */
#define OXA_MAX_WAITING_BYTES (64u * 1024 * 1024)
#define OXA_MAX_WORKERS 16u
#define OXA_MAX_NAMED_THREADS 64u
#define OXA_DEFAULT_TIMEOUT_NS (INT64_C(30) * 1000000000)
#ifndef OXA_DESTROY_PATIENCE_NS /* a test of giving up does not want to wait */
#define OXA_DESTROY_PATIENCE_NS (INT64_C(5) * 1000000000)
#endif

/* ---- text.c */

/* Bytes before the NUL; `size` when there is none. */
size_t oxa_text_length(const char* field, size_t size);
int oxa_is_utf8(const char* text, size_t bytes);
/* As printf, into new memory; NULL only when there is none. */
char* oxa_format(const char* format, ...) OXA_PRINTF(1, 2);
char* oxa_copy(const char* text, size_t bytes);

/* ---- options.c */

/* The extension's numbers that this host expects. */
typedef struct OxaNumbers {
    int64_t parameter_structure;
    int64_t register_info_structure;
    int64_t types[5]; /* string, number, boolean, array, object */
    uint64_t main_thread_bit;
} OxaNumbers;
OxaNumbers oxa_numbers(void);
int32_t oxa_options_set(const char* name, int64_t value);
int32_t oxa_numbers_set(const char* name, int64_t value);
void oxa_options_reset(void);

/* ---- faults.c */

int32_t oxa_faults_arm(const char* function, XrResult result, uint32_t times, int32_t lookup);
void oxa_faults_reset(void);
uint64_t oxa_function_calls(const char* function);

/* ---- tools.c */

typedef struct OxaTool {
    OxaToolDescription description;
    OxaToolCallback callback;
    void* user_data;
} OxaTool;

typedef struct OxaToolEntry {
    uint32_t hash; /* beside the pointer: a look-up touches one tool, not all of them */
    OxaTool* tool;
    char* metadata; /* NULL: none */
} OxaToolEntry;

typedef struct OxaToolTable {
    OxaMutex mutex;
    OxaToolEntry* entries; /* in the order of registration */
    uint32_t count;
    uint32_t capacity;
    atomic_ullong revision;
} OxaToolTable;

void oxa_tools_init(OxaToolTable* table);
void oxa_tools_free(OxaToolTable* table);
const OxaTool* oxa_tool_named(OxaToolTable* table, const char* name, size_t bytes);
/* The tools of now, in new memory (NULL: none left, or no tools). */
const OxaTool** oxa_tools_now(OxaToolTable* table, uint32_t* count, uint64_t* revision);
typedef enum OxaMetadataSet { OXA_METADATA_CHANGED, OXA_METADATA_SAME, OXA_METADATA_NO_TOOL } OxaMetadataSet;
/* Takes the text (or NULL) over in any case. */
OxaMetadataSet oxa_tools_set_metadata(OxaToolTable* table, const char* name, char* metadata);
/* What is known now of the tool at an index of `oxa_tools_now`: in new memory, empty
 * when there is none. NULL: no such index, or out of memory. */
char* oxa_tools_metadata(OxaToolTable* table, uint32_t index);
/* XR_ERROR_VALIDATION_FAILURE, reported when the log is on. */
XrResult oxa_tool_refuse(const char* tool, const char* where, const char* fault);

/* ---- invoke.c */

/* How an agent call ended. The text belongs to whoever holds the outcome. */
typedef struct OxaOutcome {
    int32_t status;  /* OXA_CALL_... */
    XrResult result; /* of the last C call */
    uint32_t c_calls;
    int error; /* 1: the app marked the result as one */
    uint64_t queue_ns;
    uint64_t callback_ns;
    char* text; /* NULL only when memory ran out */
    size_t text_bytes;
} OxaOutcome;

/* `arguments` (or NULL) is overwritten: nobody may read it after the exchange. */
void oxa_invoke(OxaToolCallback callback, void* user_data, char* arguments, OxaOutcome* outcome);
void oxa_invoke_raw(OxaRawCall* raw, char* arguments);
void oxa_outcome_say(OxaOutcome* outcome, int32_t status, char* text);

/* ---- calls.c */

typedef struct OxaCall OxaCall;
typedef struct OxaThreadOfHost OxaThreadOfHost;

typedef struct OxaCallList {
    OxaCall* first;
    OxaCall* last;
} OxaCallList;

/* Calls in their order, and who serves them: the app's main thread when it pumps
 * (most_threads 0), or threads of our own. */
typedef struct OxaLane {
    OxaCallList waiting;
    OxaCondition work;
    uint32_t count; /* of waiting */
    uint32_t threads;
    uint32_t idle;
    uint32_t most_threads;
    char name[OXA_NAME_SIZE];
    struct OxaLane* next;
} OxaLane;

typedef enum OxaCallState { OXA_STATE_NEW, OXA_STATE_WAITING, OXA_STATE_RUNNING, OXA_STATE_ENDED } OxaCallState;

struct OxaCall {
    atomic_uint references;
    const OxaTool* tool; /* NULL: raw */
    OxaRawCall raw;
    char* arguments; /* our own copy, or NULL */
    size_t argument_bytes;
    int64_t timeout_ns;
    int64_t deadline_ns; /* < 0: none */
    /* Called once, with no lock held, when the outcome is there. NULL: somebody
     * waits for `settled_now`. */
    void (*deliver)(OxaCall* call);

    /* Under the host's mutex. */
    OxaCall* next;
    OxaCall* previous;
    OxaLane* lane;
    OxaCallState state;
    int settled; /* the one answer is decided: `outcome` stays as it is */
    OxaOutcome outcome;
    OxaCondition settled_now;
    int64_t submitted_ns;
    uint64_t pumps_before;
    uint64_t runner; /* the thread's number */

    /* The channel's, under the client's mutex. */
    void* client;
    uint32_t id;
    int taken_back; /* somebody is cancelling it */
    OxaCall* client_next;
    OxaCall* client_previous;
};

OxaCall* oxa_call_new(const OxaTool* tool, const char* arguments, size_t argument_bytes, int64_t timeout_ns);
void oxa_call_retain(OxaCall* call);
void oxa_call_release(OxaCall* call);
/* Into the lane, or settled at once when that cannot be. */
void oxa_call_submit(OxaHost* host, OxaCall* call, OxaLane* lane);
/* Settles the call with this status unless it has its answer already. One that
 * waits leaves its lane and never runs; of one that runs, the result is dropped. */
void oxa_call_withdraw(OxaHost* host, OxaCall* call, int32_t status);
/* Until the call is settled; at its deadline it is withdrawn. */
void oxa_call_wait(OxaHost* host, OxaCall* call);
/* The lane's first call that is not too late, now running on this thread; the
 * mutex is held, and let go for a moment where a late call is answered. */
OxaCall* oxa_call_take(OxaHost* host, OxaLane* lane);
/* What `take` gave, with the mutex not held. */
void oxa_call_run(OxaHost* host, OxaCall* call);
/* On this thread now, past every lane. */
void oxa_call_run_here(OxaHost* host, OxaCall* call);
/* The calls that wait (running = 0) or run on other threads: CLOSING. */
void oxa_calls_close(OxaHost* host, int running);

/* The callbacks that this thread is inside of, innermost first. */
typedef struct OxaVisit {
    OxaHost* host; /* NULL: of no host */
    int error;     /* 1: marked from inside */
    struct OxaVisit* outer;
} OxaVisit;
void oxa_visit_enter(OxaVisit* visit, OxaHost* host);
void oxa_visit_leave(OxaVisit* visit);
int oxa_inside_tool(void);
uint32_t oxa_visits_here(const OxaHost* host);
/* Marks the innermost visit of that instance; 0: this thread is inside of none. */
int oxa_visit_mark_error(XrInstance instance);

/* ---- queue.c */

/* Runs what waits for the main thread, up to and with `call`, without a budget. */
void oxa_queue_run_until(OxaHost* host, OxaCall* call);
/* Why a call did not end in time, in new memory; the mutex is held. */
char* oxa_queue_say_late(const OxaHost* host, const OxaCall* call);

/* ---- workers.c */

struct OxaThreadOfHost {
    OxaThreadOfHost* next;
    OxaThread thread;
    OxaHost* host;
    OxaLane* lane; /* NULL: it floods */
    void (*body)(OxaThreadOfHost* self);
    const OxaTool* tool; /* of a flood */
    char* arguments;
    int ended;
};

/* The mutex is held. Makes sure that somebody will serve the lane; -1 when not. */
int oxa_lane_serve(OxaHost* host, OxaLane* lane);
void oxa_lane_init(OxaLane* lane, const char* name, uint32_t most_threads);
/* The kept thread of that name; NULL: too many, or out of memory. */
OxaLane* oxa_lane_named(OxaHost* host, const char* name);
/* Whether this thread is the only one that serves the lane. */
int oxa_lane_is_mine(const OxaLane* lane);
/* 1: this thread is one of the host's own. */
int oxa_thread_is_of(const OxaHost* host);
void oxa_threads_join(OxaHost* host);
void oxa_threads_free(OxaHost* host);
XrResult oxa_flood(OxaHost* host, const OxaTool* tool, const char* arguments, uint32_t threads);

/* ---- channel.c */

typedef struct OxaChannel OxaChannel;
/* NULL when it was not asked for, or cannot be had (reported). */
OxaChannel* oxa_channel_open(OxaHost* host);
void oxa_channel_tools_changed(OxaChannel* channel);
/* Sends what can be sent in a short time, then hangs up on everybody. */
void oxa_channel_close(OxaChannel* channel);
void oxa_channel_free(OxaChannel* channel);
/* In a child after fork(): the channel is the parent's. */
void oxa_channel_forget(void);

/* ---- host.c */

typedef struct OxaCounters {
    uint64_t calls;
    uint64_t calls_main_thread;
    uint64_t calls_timed_out;
    uint64_t calls_withdrawn;
    uint64_t pumps;
    uint64_t pumps_over_budget;
} OxaCounters;

struct OxaHost {
    atomic_uint references;
    OxaHost* older; /* in the registry */

    /* Fixed at creation. */
    XrInstance instance;
    char* application_name;
    const char* front;
    uint64_t main_thread;
    uint32_t process;
    int serves;
    int64_t pump_budget_ns;
    int destroy_waits;
    OxaNumbers numbers;
    OxaChannel* channel;

    OxaToolTable tools;

    atomic_int closing;
    atomic_int sessions_running;
    OxaFrames* frames;
    atomic_uint* main_waiting; /* = main.count: what an idle frame looks at */
    OxaFrames own_frames;
    atomic_uint own_main_waiting;
    atomic_llong display_period_ns;
    int64_t last_poll_pump_ns; /* the main thread's */
    atomic_ullong flood_calls;
    atomic_ullong flood_refused;

    OxaMutex mutex; /* guards everything below */
    OxaCondition quieter;
    OxaLane main;
    OxaLane workers;
    OxaLane* named;
    uint32_t named_count;
    uint32_t waiting_calls;
    size_t waiting_bytes;
    OxaCallList running;
    uint32_t visits; /* calls that threads are inside of, nested ones counted each */
    OxaThreadOfHost* threads;
    uint32_t threads_alive;
    OxaCounters counters;
};

/* The living host of an instance, the newest for XR_NULL_HANDLE; NULL: none. To be released. */
OxaHost* oxa_host_acquire(XrInstance instance);
void oxa_host_retain(OxaHost* host);
void oxa_host_release(OxaHost* host);
uint32_t oxa_host_instances(XrInstance* instances, uint32_t capacity);

/* ---- statistics.c */

#define OXA_STATISTIC_COUNT 10
typedef struct OxaStatistic {
    const char* name;
    uint64_t value;
} OxaStatistic;
void oxa_statistics(OxaHost* host, OxaStatistic statistics[OXA_STATISTIC_COUNT]);

#endif
