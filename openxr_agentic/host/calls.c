/* One agent call, from its submission to its answer.
 *
 *     new -> waiting (in a lane) -> running (on a thread) -> ended
 *
 * `settled` is apart from that: it is the decision what the one answer is, made by
 * whoever comes first under the host's mutex - the runner, a time limit, a
 * cancelling client, the host's end. A running call that is settled early runs
 * on, and what it returns is dropped. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- the callbacks that a thread is inside of */

static _Thread_local OxaVisit* innermost;

void oxa_visit_enter(OxaVisit* visit, OxaHost* host) {
    visit->host = host;
    visit->error = 0;
    visit->outer = innermost;
    innermost = visit;
}

void oxa_visit_leave(OxaVisit* visit) { innermost = visit->outer; }

int oxa_inside_tool(void) { return innermost != NULL; }

uint32_t oxa_visits_here(const OxaHost* host) {
    uint32_t visits = 0;
    for (const OxaVisit* visit = innermost; visit != NULL; visit = visit->outer) visits += visit->host == host;
    return visits;
}

int oxa_visit_mark_error(XrInstance instance) {
    for (OxaVisit* visit = innermost; visit != NULL; visit = visit->outer) {
        if (visit->host == NULL || visit->host->instance != instance) continue;
        visit->error = 1;
        return 1;
    }
    return 0;
}

/* ---- lists and lifetimes */

static void append(OxaCallList* list, OxaCall* call) {
    call->next = NULL;
    call->previous = list->last;
    if (list->last != NULL) list->last->next = call;
    if (list->first == NULL) list->first = call;
    list->last = call;
}

static void unlink_call(OxaCallList* list, OxaCall* call) {
    if (call->previous != NULL) call->previous->next = call->next;
    if (call->next != NULL) call->next->previous = call->previous;
    if (list->first == call) list->first = call->next;
    if (list->last == call) list->last = call->previous;
    call->next = call->previous = NULL;
}

OxaCall* oxa_call_new(const OxaTool* tool, const char* arguments, size_t argument_bytes, int64_t timeout_ns) {
    OxaCall* call = calloc(1, sizeof *call);
    if (call == NULL) return NULL;
    if (arguments != NULL && (call->arguments = oxa_copy(arguments, argument_bytes)) == NULL) {
        free(call);
        return NULL;
    }
    atomic_init(&call->references, 1);
    oxa_condition_init(&call->settled_now);
    call->tool = tool;
    call->argument_bytes = argument_bytes;
    call->timeout_ns = timeout_ns;
    call->submitted_ns = oxa_now_ns();
    int endless = timeout_ns < 0 || timeout_ns > INT64_MAX - call->submitted_ns;
    call->deadline_ns = endless ? -1 : call->submitted_ns + timeout_ns;
    return call;
}

void oxa_call_retain(OxaCall* call) { atomic_fetch_add(&call->references, 1); }

void oxa_call_release(OxaCall* call) {
    if (atomic_fetch_sub(&call->references, 1) != 1) return;
    oxa_condition_destroy(&call->settled_now);
    free(call->raw.buffer);
    free(call->outcome.text);
    free(call->arguments);
    free(call);
}

/* ---- the answer; the host's mutex is held */

static int settle(OxaCall* call, OxaOutcome* outcome) {
    if (call->settled) {
        free(outcome->text);
        return 0;
    }
    call->settled = 1;
    call->outcome = *outcome;
    oxa_signal_all(&call->settled_now);
    return 1;
}

static void leave_lane(OxaHost* host, OxaCall* call) {
    OxaLane* lane = call->lane;
    unlink_call(&lane->waiting, call);
    --lane->count;
    --host->waiting_calls;
    host->waiting_bytes -= call->argument_bytes;
    if (lane == &host->main) atomic_store(host->main_waiting, lane->count);
}

static char* why(const OxaHost* host, const OxaCall* call, int32_t status) {
    switch (status) {
        case OXA_CALL_TIMED_OUT:
            return oxa_queue_say_late(host, call);
        case OXA_CALL_CANCELLED:
            return oxa_format(call->state == OXA_STATE_RUNNING
                                  ? "The call was cancelled while the tool ran; its result is dropped."
                                  : "The call was cancelled before the tool ran; it will not run.");
        default:
            return oxa_format(call->state == OXA_STATE_RUNNING
                                  ? "The app is destroying its OpenXR instance; the tool's result is dropped."
                                  : "The app is destroying its OpenXR instance; the tool did not run.");
    }
}

/* 1: settled by this; then `deliver` is to be called without the mutex. */
static int withdraw(OxaHost* host, OxaCall* call, int32_t status) {
    if (call->settled) return 0;
    OxaOutcome outcome = {0};
    outcome.queue_ns = (uint64_t)(oxa_now_ns() - call->submitted_ns);
    oxa_outcome_say(&outcome, status, why(host, call, status));
    if (status == OXA_CALL_TIMED_OUT) ++host->counters.calls_timed_out;
    if (call->state == OXA_STATE_WAITING) {
        leave_lane(host, call);
        call->state = OXA_STATE_ENDED;
        ++host->counters.calls_withdrawn;
    }
    return settle(call, &outcome);
}

static void deliver(OxaCall* call) {
    if (call->deliver != NULL) call->deliver(call);
}

/* ---- the way of a call */

/* Puts the call into the lane; not NULL: why that cannot be, and *status. */
static char* enqueue(OxaHost* host, OxaCall* call, OxaLane* lane, int32_t* status) {
    if (atomic_load(&host->closing)) {
        *status = OXA_CALL_CLOSING;
        return why(host, call, OXA_CALL_CLOSING);
    }
    *status = OXA_CALL_REFUSED;
    if (host->waiting_calls >= OXA_MAX_WAITING_CALLS) {
        return oxa_format("%u calls wait already; the app takes no more until some have run.", host->waiting_calls);
    }
    if (call->argument_bytes > OXA_MAX_WAITING_BYTES - host->waiting_bytes) {
        return oxa_format("The arguments of all waiting calls would exceed %u bytes.", OXA_MAX_WAITING_BYTES);
    }
    append(&lane->waiting, call);
    call->lane = lane;
    call->state = OXA_STATE_WAITING;
    call->pumps_before = host->counters.pumps;
    ++lane->count;
    ++host->waiting_calls;
    host->waiting_bytes += call->argument_bytes;
    if (lane == &host->main) atomic_store(host->main_waiting, lane->count);
    if (oxa_lane_serve(host, lane) == 0) return NULL;
    leave_lane(host, call);
    call->state = OXA_STATE_ENDED;
    return oxa_format("The app's process cannot start another thread.");
}

void oxa_call_submit(OxaHost* host, OxaCall* call, OxaLane* lane) {
    OxaOutcome outcome = {0};
    int32_t status;
    oxa_call_retain(call); /* the lane's, then the runner's */
    oxa_lock(&host->mutex);
    char* refusal = enqueue(host, call, lane, &status);
    int queued = call->state == OXA_STATE_WAITING;
    if (!queued) {
        oxa_outcome_say(&outcome, status, refusal);
        settle(call, &outcome);
    }
    oxa_unlock(&host->mutex);
    if (queued) return;
    deliver(call);
    oxa_call_release(call);
}

void oxa_call_withdraw(OxaHost* host, OxaCall* call, int32_t status) {
    oxa_lock(&host->mutex);
    int waited = call->state == OXA_STATE_WAITING;
    int settled = withdraw(host, call, status);
    oxa_unlock(&host->mutex);
    if (!settled) return;
    deliver(call);
    if (waited) oxa_call_release(call);
}

void oxa_call_wait(OxaHost* host, OxaCall* call) {
    oxa_lock(&host->mutex);
    while (!call->settled) {
        if (!oxa_wait(&call->settled_now, &host->mutex, call->deadline_ns)) continue;
        int waited = call->state == OXA_STATE_WAITING;
        if (withdraw(host, call, OXA_CALL_TIMED_OUT) && waited) oxa_call_release(call);
    }
    oxa_unlock(&host->mutex);
}

/* The mutex is held. */
static void begin(OxaHost* host, OxaCall* call) {
    append(&host->running, call);
    call->state = OXA_STATE_RUNNING;
    call->runner = oxa_thread_number();
    ++host->visits;
}

OxaCall* oxa_call_take(OxaHost* host, OxaLane* lane) {
    OxaCall* call;
    while ((call = lane->waiting.first) != NULL) {
        if (call->deadline_ns < 0 || oxa_now_ns() < call->deadline_ns) {
            leave_lane(host, call);
            begin(host, call);
            return call;
        }
        withdraw(host, call, OXA_CALL_TIMED_OUT);
        oxa_unlock(&host->mutex);
        deliver(call);
        oxa_call_release(call);
        oxa_lock(&host->mutex);
    }
    return NULL;
}

void oxa_call_run(OxaHost* host, OxaCall* call) {
    OxaOutcome outcome = {0};
    OxaVisit visit;
    uint64_t queue_ns = (uint64_t)(oxa_now_ns() - call->submitted_ns);
    oxa_visit_enter(&visit, host);
    if (call->tool != NULL) {
        oxa_invoke(call->tool->callback, call->tool->user_data, call->arguments, &outcome);
    } else {
        oxa_invoke_raw(&call->raw, call->arguments);
    }
    oxa_visit_leave(&visit);
    outcome.queue_ns = queue_ns;
    outcome.error = visit.error;

    oxa_lock(&host->mutex);
    unlink_call(&host->running, call);
    call->state = OXA_STATE_ENDED;
    ++host->counters.calls;
    if (call->runner == host->main_thread) ++host->counters.calls_main_thread;
    int settled = settle(call, &outcome);
    oxa_unlock(&host->mutex);
    /* Before the visit ends: whoever destroys the host lets the answer out first. */
    if (settled) deliver(call);
    oxa_lock(&host->mutex);
    --host->visits;
    oxa_signal_all(&host->quieter);
    oxa_unlock(&host->mutex);
    oxa_call_release(call);
}

void oxa_call_run_here(OxaHost* host, OxaCall* call) {
    OxaOutcome outcome = {0};
    oxa_lock(&host->mutex);
    int closing = atomic_load(&host->closing);
    if (closing) {
        oxa_outcome_say(&outcome, OXA_CALL_CLOSING, why(host, call, OXA_CALL_CLOSING));
        settle(call, &outcome);
    } else {
        oxa_call_retain(call);
        begin(host, call);
    }
    oxa_unlock(&host->mutex);
    if (!closing) oxa_call_run(host, call);
}

/* The mutex is held. A call that runs on this thread and is waited for by
 * nobody else gives its own answer when it returns. */
static OxaCall* next_to_close(OxaHost* host, int running) {
    uint64_t here = oxa_thread_number();
    if (running) {
        for (OxaCall* call = host->running.first; call != NULL; call = call->next) {
            if (!call->settled && (call->deliver != NULL || call->runner != here)) return call;
        }
        return NULL;
    }
    if (host->main.waiting.first != NULL) return host->main.waiting.first;
    if (host->workers.waiting.first != NULL) return host->workers.waiting.first;
    for (OxaLane* lane = host->named; lane != NULL; lane = lane->next) {
        if (lane->waiting.first != NULL) return lane->waiting.first;
    }
    return NULL;
}

void oxa_calls_close(OxaHost* host, int running) {
    for (;;) {
        oxa_lock(&host->mutex);
        OxaCall* call = next_to_close(host, running);
        if (call != NULL) {
            if (running) oxa_call_retain(call); /* the runner may let go of it at any time */
            withdraw(host, call, OXA_CALL_CLOSING);
        }
        oxa_unlock(&host->mutex);
        if (call == NULL) return;
        deliver(call);
        oxa_call_release(call);
    }
}
