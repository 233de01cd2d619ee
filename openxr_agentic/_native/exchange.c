#include "exchange.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct OxaHeld {
    OxaHeld *newer, *older;           /* all held results, by age */
    OxaHeld *slot_newer, *slot_older; /* those of one slot, by age */
    uint64_t thread;
    int64_t since_ns;
    uint32_t slot_index;
    uint32_t text_bytes;
    int refused;                 /* a fill was answered SIZE_INSUFFICIENT, and no size query followed */
    size_t argument_bytes, room; /* room: bytes for the text and its NUL */
    char arguments[];            /* then the text; both with a NUL */
};

/* Most results fit here, so that one allocation serves a run. */
enum { USUAL_ROOM = 256 };

typedef enum SlotState { SLOT_FREE, SLOT_OPEN, SLOT_CLOSED } SlotState;

typedef struct Slot {
    SlotState state;
    uint32_t generation;
    OxaSizing sizing;
    uint32_t sizing_bytes;
    uint32_t running; /* runs under way, of this generation */
    uint32_t held_count;
    OxaTool* tool;
    OxaHeld *newest, *oldest;
} Slot;

/* Which runs the calling thread is inside of: closing from inside a tool must
 * not wait for that tool. */
typedef struct Frame {
    OxaSlotId slot;
    struct Frame* outer;
} Frame;
static _Thread_local Frame* innermost;

#define GENERATION_BITS (sizeof(OxaSlotId) * 4)
#define INDEX_MASK (((OxaSlotId)1 << GENERATION_BITS) - 1)

static OxaMutex lock = OXA_MUTEX_INIT;
static OxaCondition run_ended;
static int condition_ready;

static Slot* slots;
static uint32_t slot_capacity;
static OxaHeld *newest_held, *oldest_held;
static uint64_t held_count, held_bytes, evicted;
static uint32_t bound_per_slot = 64;
static uint64_t bound_bytes = UINT64_C(64) << 20;
static int64_t bound_age_ns = INT64_C(60) * 1000000000;

/* The gate. Sequentially consistent on purpose: a call counts itself before it
 * looks at `closing`, and the exit sets `closing` before it looks at the count,
 * so that one of the two always sees the other. */
static atomic_int closing;
static atomic_uint_fast64_t in_flight;

uint64_t oxa_thread_number(void) {
    static atomic_uint_fast64_t last;
    static _Thread_local uint64_t number;
    if (number == 0) number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

/* ---- held results (all under the lock) ---- */

static uint64_t held_size(const OxaHeld* held) { return sizeof *held + held->argument_bytes + 1 + held->room; }

static char* held_text(OxaHeld* held) { return held->arguments + held->argument_bytes + 1; }

/* The host's text is read once, before the tool runs: who wrote it may change it meanwhile. */
static OxaHeld* held_new(const char* arguments, size_t bytes) {
    OxaHeld* held = malloc(sizeof *held + bytes + 1 + USUAL_ROOM);
    if (held == NULL) return NULL;
    memcpy(held->arguments, arguments, bytes);
    held->arguments[bytes] = '\0';
    held->argument_bytes = bytes;
    held->room = USUAL_ROOM;
    held->text_bytes = 0;
    held->refused = 0;
    return held;
}

const char* oxa_held_arguments(const OxaHeld* held, size_t* bytes) {
    *bytes = held->argument_bytes;
    return held->arguments;
}

int oxa_held_set_text(OxaHeld** held, const char* text, size_t bytes) {
    if (bytes >= (*held)->room) {
        OxaHeld* grown = realloc(*held, sizeof **held + (*held)->argument_bytes + 1 + bytes + 1);
        if (grown == NULL) return 0;
        grown->room = bytes + 1;
        *held = grown;
    }
    memcpy(held_text(*held), text, bytes);
    held_text(*held)[bytes] = '\0';
    (*held)->text_bytes = (uint32_t)bytes;
    return 1;
}

static void hold(uint32_t slot_index, OxaHeld* held) {
    Slot* slot = &slots[slot_index];
    held->slot_index = slot_index;
    held->older = newest_held;
    held->newer = NULL;
    if (newest_held != NULL) newest_held->newer = held;
    newest_held = held;
    if (oldest_held == NULL) oldest_held = held;
    held->slot_older = slot->newest;
    held->slot_newer = NULL;
    if (slot->newest != NULL) slot->newest->slot_newer = held;
    slot->newest = held;
    if (slot->oldest == NULL) slot->oldest = held;
    slot->held_count++;
    held_count++;
    held_bytes += held_size(held);
}

static void unhold(OxaHeld* held) {
    Slot* slot = &slots[held->slot_index];
    *(held->newer != NULL ? &held->newer->older : &newest_held) = held->older;
    *(held->older != NULL ? &held->older->newer : &oldest_held) = held->newer;
    *(held->slot_newer != NULL ? &held->slot_newer->slot_older : &slot->newest) = held->slot_older;
    *(held->slot_older != NULL ? &held->slot_older->slot_newer : &slot->oldest) = held->slot_newer;
    slot->held_count--;
    held_count--;
    held_bytes -= held_size(held);
}

static void drop(OxaHeld* held) {
    unhold(held);
    free(held);
}

static void evict(OxaHeld* held) {
    evicted++;
    drop(held);
}

/* The newest is never evicted: it is what the next fill will ask for. */

static void evict_aged(void) {
    if (oldest_held == newest_held) return;
    int64_t now = oxa_coarse_now_ns();
    while (oldest_held != newest_held && now - oldest_held->since_ns > bound_age_ns) evict(oldest_held);
}

static void hold_within_bounds(uint32_t slot_index, OxaHeld* held) {
    held->since_ns = oxa_coarse_now_ns();
    hold(slot_index, held);
    while (slots[slot_index].held_count > bound_per_slot && slots[slot_index].oldest != held)
        evict(slots[slot_index].oldest);
    while (held_bytes > bound_bytes && oldest_held != held) evict(oldest_held);
}

/* The result of this slot for these arguments that this thread produced, else
 * the newest of another thread. */
static OxaHeld* find_held(const Slot* slot, uint64_t thread, const char* arguments, size_t bytes, int refused_only) {
    OxaHeld* other = NULL;
    for (OxaHeld* held = slot->newest; held != NULL; held = held->slot_older) {
        if (held->argument_bytes != bytes || memcmp(held->arguments, arguments, bytes) != 0) continue;
        if (refused_only && !held->refused) continue;
        if (held->thread == thread) return held;
        if (other == NULL) other = held;
    }
    return other;
}

/* ---- slots (all under the lock) ---- */

static OxaSlotId slot_id(uint32_t index, uint32_t generation) {
    return ((OxaSlotId)generation << GENERATION_BITS) | ((OxaSlotId)index + 1);
}

static Slot* find_slot(OxaSlotId id, uint32_t* index) {
    OxaSlotId position = id & INDEX_MASK;
    if (position == 0 || position > slot_capacity) return NULL;
    Slot* slot = &slots[position - 1];
    if (slot->state == SLOT_FREE || slot->generation != (uint32_t)(id >> GENERATION_BITS)) return NULL;
    if (index != NULL) *index = (uint32_t)(position - 1);
    return slot;
}

static uint32_t find_free_index(void) {
    for (uint32_t i = 0; i < slot_capacity; i++)
        if (slots[i].state == SLOT_FREE && slots[i].running == 0 && slots[i].generation < INDEX_MASK) return i;
    return slot_capacity;
}

static int grow_slots(void) {
    uint64_t capacity = slot_capacity == 0 ? 64 : (uint64_t)slot_capacity * 2;
    if (capacity > INDEX_MASK) return 0;
    Slot* grown = realloc(slots, (size_t)capacity * sizeof *grown);
    if (grown == NULL) return 0;
    memset(grown + slot_capacity, 0, (size_t)(capacity - slot_capacity) * sizeof *grown);
    slots = grown;
    slot_capacity = (uint32_t)capacity;
    return 1;
}

static void fill_slot(Slot* slot, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes) {
    oxa_tool_retain(tool);
    slot->state = SLOT_OPEN;
    slot->tool = tool;
    slot->sizing = sizing;
    slot->sizing_bytes = sizing_bytes;
}

int oxa_slot_open(OxaSlotId* slot, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes) {
    oxa_lock(&lock);
    if (!condition_ready) {
        oxa_condition_init(&run_ended);
        condition_ready = 1;
    }
    uint32_t index = find_free_index();
    int opened = index < slot_capacity || grow_slots();
    if (opened) {
        slots[index].generation++;
        fill_slot(&slots[index], tool, sizing, sizing_bytes);
        *slot = slot_id(index, slots[index].generation);
    }
    oxa_unlock(&lock);
    return opened;
}

void oxa_slot_close(OxaSlotId id) {
    OxaTool* tool = NULL;
    oxa_lock(&lock);
    Slot* slot = find_slot(id, NULL);
    if (slot != NULL && slot->state == SLOT_OPEN) {
        while (slot->oldest != NULL) drop(slot->oldest);
        tool = slot->tool;
        slot->tool = NULL;
        slot->state = SLOT_CLOSED;
    }
    oxa_unlock(&lock);
    if (tool != NULL) oxa_tool_release(tool); /* runs Python: not under the lock */
}

int oxa_slot_replace(OxaSlotId id, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes) {
    OxaTool* before = NULL;
    oxa_lock(&lock);
    Slot* slot = find_slot(id, NULL);
    if (slot != NULL && slot->state == SLOT_OPEN) {
        before = slot->tool;
        fill_slot(slot, tool, sizing, sizing_bytes);
    }
    oxa_unlock(&lock);
    if (before == NULL) return 0;
    oxa_tool_release(before);
    return 1;
}

int oxa_slot_reopen(OxaSlotId id, OxaTool* tool, OxaSizing sizing, uint32_t sizing_bytes) {
    oxa_lock(&lock);
    Slot* slot = find_slot(id, NULL);
    int closed = slot != NULL && slot->state == SLOT_CLOSED;
    if (closed) fill_slot(slot, tool, sizing, sizing_bytes);
    oxa_unlock(&lock);
    return closed;
}

void oxa_slot_free(OxaSlotId id) {
    oxa_lock(&lock);
    Slot* slot = find_slot(id, NULL);
    if (slot != NULL && slot->state == SLOT_CLOSED) slot->state = SLOT_FREE;
    oxa_unlock(&lock);
}

static uint32_t runs_of_this_thread(OxaSlotId id) {
    uint32_t runs = 0;
    for (const Frame* frame = innermost; frame != NULL; frame = frame->outer) runs += frame->slot == id;
    return runs;
}

int oxa_slot_wait(OxaSlotId id, int64_t timeout_ns) {
    int64_t until = oxa_now_ns() + timeout_ns;
    uint32_t own = runs_of_this_thread(id);
    oxa_lock(&lock);
    for (;;) {
        const Slot* slot = find_slot(id, NULL);
        if (slot == NULL || slot->running <= own) break;
        if (oxa_wait(&run_ended, &lock, until)) break;
    }
    const Slot* slot = find_slot(id, NULL);
    int ended = slot == NULL || slot->running <= own;
    oxa_unlock(&lock);
    return ended;
}

int oxa_slot_is_running(OxaSlotId id) {
    oxa_lock(&lock);
    const Slot* slot = find_slot(id, NULL);
    int running = slot != NULL && slot->running > 0;
    oxa_unlock(&lock);
    return running;
}

/* ---- the exchange ---- */

/* Runs the tool outside the lock. XR_SUCCESS: *held has the result; else it is NULL. */
static XrResult run(Slot* slot, uint32_t index, OxaSlotId id, int dry_run, const char* arguments, size_t bytes,
                    OxaHeld** held) {
    OxaTool* tool = slot->tool;
    oxa_tool_retain(tool);
    slot->running++;
    oxa_unlock(&lock);

    Frame frame = {id, innermost};
    innermost = &frame;
    XrResult result = XR_ERROR_OUT_OF_MEMORY;
    *held = held_new(arguments, bytes);
    if (*held == NULL) {
        oxa_tool_release(tool);
    } else {
        result = oxa_run_tool(tool, dry_run, held);
    }
    if (result != XR_SUCCESS) {
        free(*held);
        *held = NULL;
    }
    innermost = frame.outer;

    oxa_lock(&lock);
    /* `slot` may have moved: the table grows while tools run. */
    slots[index].running--;
    oxa_signal_all(&run_ended);
    return result;
}

/* Under the lock, which a run gives up meanwhile. *delivered is what the caller
 * copies into the host's buffer, and frees: it belongs to nobody else any more. */
static XrResult answer(int size_query, uint32_t capacity, uint32_t* count, const char* arguments, size_t bytes,
                       OxaSlotId id, uint64_t thread, OxaHeld** delivered) {
    uint32_t index = 0;
    Slot* slot = find_slot(id, &index);
    if (slot == NULL || slot->state != SLOT_OPEN) {
        if (count != NULL) *count = 0;
        return XR_ERROR_RUNTIME_FAILURE;
    }
    if (count == NULL) return XR_ERROR_VALIDATION_FAILURE;
    evict_aged();

    OxaHeld* held = find_held(slot, thread, arguments, bytes, size_query);
    if (held != NULL) {
        *count = held->text_bytes + 1;
        if (size_query) {
            /* From here on it is this thread's: another agent's call with the same
             * arguments must not drop it, nor be answered by it. */
            held->thread = thread;
            held->refused = 0;
            return XR_SUCCESS;
        }
        if (capacity < *count) {
            held->refused = 1;
            return XR_ERROR_SIZE_INSUFFICIENT;
        }
        unhold(held);
        *delivered = held;
        return XR_SUCCESS;
    }

    if (size_query) {
        /* A new exchange: what this thread left behind must not answer it. */
        OxaHeld* older;
        for (held = slot->newest; held != NULL; held = older) {
            older = held->slot_older;
            if (held->thread == thread && held->argument_bytes == bytes &&
                memcmp(held->arguments, arguments, bytes) == 0)
                drop(held);
        }
    }
    if (slot->sizing == OXA_SIZING_BYTES && (size_query || capacity < slot->sizing_bytes)) {
        *count = slot->sizing_bytes;
        return size_query ? XR_SUCCESS : XR_ERROR_SIZE_INSUFFICIENT;
    }

    int dry_run = size_query && slot->sizing == OXA_SIZING_DRY_RUN;
    XrResult result = run(slot, index, id, dry_run, arguments, bytes, &held);
    if (result != XR_SUCCESS) {
        *count = 0;
        return result;
    }
    *count = held->text_bytes + 1;
    if (dry_run) {
        free(held);
        return XR_SUCCESS;
    }
    if (!size_query && capacity >= *count) {
        *delivered = held;
        return XR_SUCCESS;
    }

    slot = find_slot(id, &index);
    if (slot == NULL || slot->state != SLOT_OPEN) {
        /* Closed while the tool ran: nobody could fetch the result. */
        free(held);
        *count = 0;
        return XR_ERROR_RUNTIME_FAILURE;
    }
    held->thread = thread;
    held->refused = !size_query;
    hold_within_bounds(index, held);
    return size_query ? XR_SUCCESS : XR_ERROR_SIZE_INSUFFICIENT;
}

XrResult oxa_exchange(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, OxaSlotId slot,
                      uint64_t thread) {
    XrResult result = XR_ERROR_RUNTIME_FAILURE;
    atomic_fetch_add(&in_flight, 1);
    if (atomic_load(&closing)) {
        /* Not even the lock is touched: this may be long after the interpreter's end. */
        if (count != NULL) *count = 0;
    } else {
        if (arguments == NULL) arguments = "{}";
        size_t bytes = strlen(arguments);
        int size_query = capacity == 0 || buffer == NULL;
        OxaHeld* delivered = NULL;
        oxa_lock(&lock);
        result = answer(size_query, capacity, count, arguments, bytes, slot, thread, &delivered);
        oxa_unlock(&lock);
        if (delivered != NULL) {
            memcpy(buffer, held_text(delivered), (size_t)delivered->text_bytes + 1);
            free(delivered);
        }
    }
    atomic_fetch_sub(&in_flight, 1);
    return result;
}

XrResult XRAPI_CALL oxa_callback(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                 void* user_data) {
    return oxa_exchange(buffer, capacity, count, arguments, (OxaSlotId)user_data, oxa_thread_number());
}

void oxa_before_fork(void) { oxa_lock(&lock); }

void oxa_after_fork_in_parent(void) { oxa_unlock(&lock); }

void oxa_after_fork_in_child(void) {
    uint64_t own = 0;
    for (const Frame* frame = innermost; frame != NULL; frame = frame->outer) own++;
    for (uint32_t i = 0; i < slot_capacity; i++)
        slots[i].running = runs_of_this_thread(slot_id(i, slots[i].generation));
    oxa_unlock(&lock);
    atomic_store(&closing, 1);
    atomic_store(&in_flight, own);
}

int oxa_gate_close(int64_t timeout_ns) {
    int64_t until = oxa_now_ns() + timeout_ns;
    uint64_t own = 0;
    for (const Frame* frame = innermost; frame != NULL; frame = frame->outer) own++;
    atomic_store(&closing, 1);
    while (atomic_load(&in_flight) > own) {
        if (oxa_now_ns() >= until) return 0;
        oxa_sleep_ns(200000);
    }
    return 1;
}

void oxa_set_bounds(uint32_t results_per_slot, uint64_t bytes, int64_t age_ns) {
    oxa_lock(&lock);
    bound_per_slot = results_per_slot;
    bound_bytes = bytes;
    bound_age_ns = age_ns;
    oxa_unlock(&lock);
}

void oxa_exchange_statistics(OxaExchangeStatistics* statistics) {
    memset(statistics, 0, sizeof *statistics);
    statistics->in_flight = atomic_load(&in_flight);
    oxa_lock(&lock);
    for (uint32_t i = 0; i < slot_capacity; i++) statistics->slots += slots[i].state != SLOT_FREE;
    statistics->held_results = held_count;
    statistics->held_bytes = held_bytes;
    statistics->evicted = evicted;
    oxa_unlock(&lock);
}

uint32_t oxa_slot_held(OxaSlotId id) {
    oxa_lock(&lock);
    const Slot* slot = find_slot(id, NULL);
    uint32_t count = slot == NULL ? 0 : slot->held_count;
    oxa_unlock(&lock);
    return count;
}
