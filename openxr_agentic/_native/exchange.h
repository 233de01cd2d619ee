/* One agent call is one exchange: one or several C calls of the host, one run
 * of the tool. This half knows the two-call protocol and nothing of Python;
 * trampoline.c is the other half, and the sanitizer driver in tests/native
 * takes its place there.
 *
 *   host -> oxa_callback            the C function that every tool registers
 *        -> oxa_exchange            gate, slot, held results, sizing
 *        -> oxa_run_tool            once an exchange: into Python
 */
#ifndef OPENXR_AGENTIC_EXCHANGE_H_
#define OPENXR_AGENTIC_EXCHANGE_H_ 1

#include <openxr_agentic/extension_names.h>
#include <openxr_agentic/platform.h>

/* What userData stands for: a generation and an index, packed; never an
 * address. 0 is no slot. A stale or foreign number is recognised, because its
 * generation is not the slot's. */
typedef uintptr_t OxaSlotId;

/* The tool behind a slot. The exchange only counts references to it: one for
 * the open slot, one for each run. */
typedef struct OxaTool OxaTool;

/* A result that was produced and not yet delivered, in memory of its own. */
typedef struct OxaHeld OxaHeld;

typedef enum OxaSizing {
    OXA_SIZING_EXACT = 0,  /* a size query runs the tool and holds the result */
    OXA_SIZING_BYTES = 1,  /* a size query answers a fixed number of bytes */
    OXA_SIZING_DRY_RUN = 2 /* a size query asks a function without side effects */
} OxaSizing;

/* Runs the tool, or with dry_run its dry run, on the calling thread, with the
 * arguments that *held keeps. XR_SUCCESS: its text was set. Gives back the run's
 * reference in every case. */
XrResult oxa_run_tool(OxaTool* tool, int dry_run, OxaHeld** held);
void oxa_tool_retain(OxaTool* tool);
void oxa_tool_release(OxaTool* tool);

const char* oxa_held_arguments(const OxaHeld* held, size_t* bytes);
/* The text is copied; it must be below UINT32_MAX bytes. *held may move. 0: out of memory. */
int oxa_held_set_text(OxaHeld** held, const char* text, size_t bytes);

/* Puts a tool behind a new slot, which takes a reference of its own. *slot is set last.
 * 0: out of memory or of slots. */
int oxa_slot_open(OxaSlotId* slot, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes);
/* No call enters any more; held results are freed and the slot's reference to the tool
 * is given back. Nothing happens when the slot is not open. */
void oxa_slot_close(OxaSlotId slot);
/* Puts another tool behind an open slot; runs under way end with the one before. 0: the
 * slot is not open. */
int oxa_slot_replace(OxaSlotId slot, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes);
/* Opens a closed slot under the same id. 0: it is not a closed slot. */
int oxa_slot_reopen(OxaSlotId slot, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes);
/* The id becomes stale for ever. The slot must be closed. */
void oxa_slot_free(OxaSlotId slot);
/* Waits until no run that entered through the slot is under way, but for those
 * that this thread is inside of. 1: done; 0: the time is over. */
int oxa_slot_wait(OxaSlotId slot, int64_t timeout_ns);
/* Whether a run that entered through the slot is under way, on any thread. */
int oxa_slot_is_running(OxaSlotId slot);

/* The C function of every tool, and the same with the thread given by number. */
XrResult XRAPI_CALL oxa_callback(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                 void* user_data);
XrResult oxa_exchange(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, OxaSlotId slot,
                      uint64_t thread);

/* Around fork(): the state is whole when the child gets its copy. The child refuses
 * every call, and waits for none of the threads that it does not have. */
void oxa_before_fork(void);
void oxa_after_fork_in_parent(void);
void oxa_after_fork_in_child(void);

/* Interpreter exit: every later call is refused; waits until none is in flight,
 * but for those that this thread is inside of. 1: none is; 0: the time is over. */
int oxa_gate_close(int64_t timeout_ns);

/* Bounds of held results: a slot's number, bytes over all, age. */
void oxa_set_bounds(uint32_t results_per_slot, uint64_t bytes, int64_t age_ns);

typedef struct OxaExchangeStatistics {
    uint64_t in_flight;
    uint64_t slots; /* open or closed, not yet freed */
    uint64_t held_results;
    uint64_t held_bytes;
    uint64_t evicted;
} OxaExchangeStatistics;
void oxa_exchange_statistics(OxaExchangeStatistics* statistics);
uint32_t oxa_slot_held(OxaSlotId slot);

#endif
