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

/* Runs the tool, or with dry_run its dry run, on the calling thread. XR_SUCCESS:
 * *held is a new result. Gives back the run's reference in every case.
 * `arguments` is never NULL and is not changed while this runs. */
XrResult oxa_run_tool(OxaTool* tool, int dry_run, const char* arguments, size_t argument_bytes, OxaHeld** held);
void oxa_tool_retain(OxaTool* tool);

/* NULL: out of memory. The texts are copied. text_bytes must be below UINT32_MAX. */
OxaHeld* oxa_held_new(const char* arguments, size_t argument_bytes, const char* text, size_t text_bytes);

/* A slot takes over the caller's reference to the tool. 0: out of memory or of slots. */
OxaSlotId oxa_slot_open(OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes);
/* No call enters any more and held results are freed. Returns the tool, whose
 * reference passes to the caller; NULL when the slot was not open. */
OxaTool* oxa_slot_close(OxaSlotId slot);
/* Opens a closed slot under the same id. 0: it is not a closed slot. */
int oxa_slot_reopen(OxaSlotId slot, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes);
/* The id becomes stale for ever. The slot must be closed. */
void oxa_slot_free(OxaSlotId slot);
/* Waits until no run that entered through the slot is under way, but for those
 * that this thread is inside of. 1: done; 0: the time is over. */
int oxa_slot_wait(OxaSlotId slot, int64_t timeout_ns);

/* The C function of every tool, and the same with the thread given by number. */
XrResult XRAPI_CALL oxa_callback(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                 void* user_data);
XrResult oxa_exchange(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, OxaSlotId slot,
                      uint64_t thread);

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
