/* The main thread's lane, and the pump that the front's hooks drive.
 *
 * The app's frame loop pays for what runs here, so a frame runs calls only until
 * its budget is spent: at least one, and the rest in later frames, in order. */
#include "core.h"

#include <stdlib.h>

/* Without a frame for so many of its periods, an app is taken to make none. */
#define MISSED_PERIODS 10
/* What a runtime may say of its display; an odd value must not keep tools from running. */
#define LONGEST_PERIOD_NS INT64_C(1000000000)

static void pump(OxaHost* host) {
    uint32_t ran = 0;
    int over_budget = 0;
    int64_t begun = oxa_now_ns();
    oxa_host_retain(host); /* a tool may destroy the instance */
    oxa_lock(&host->mutex);
    OxaCall* call;
    while (!over_budget && (call = oxa_call_take(host, &host->main)) != NULL) {
        oxa_unlock(&host->mutex);
        oxa_call_run(host, call);
        ++ran;
        oxa_lock(&host->mutex);
        over_budget = oxa_now_ns() - begun >= host->pump_budget_ns;
    }
    if (ran > 0) ++host->counters.pumps;
    if (over_budget && host->main.count > 0) ++host->counters.pumps_over_budget;
    oxa_unlock(&host->mutex);
    oxa_host_release(host);
}

void oxa_queue_run_until(OxaHost* host, OxaCall* wanted) {
    OxaCall* call;
    oxa_lock(&host->mutex);
    while (!wanted->settled && (call = oxa_call_take(host, &host->main)) != NULL) {
        oxa_unlock(&host->mutex);
        oxa_call_run(host, call);
        oxa_lock(&host->mutex);
    }
    oxa_unlock(&host->mutex);
}

/* A forked child has a copy of the queue, but the calls are its parent's. */
static int something_to_run(OxaHost* host) {
    return atomic_load(host->main_waiting) > 0 && !oxa_inside_tool() && oxa_process_id() == host->process;
}

void oxa_host_wait_frame(OxaHost* host) {
    if (oxa_thread_number() == host->main_thread && something_to_run(host)) pump(host);
}

void oxa_host_frame_begins_to_wait(OxaHost* host) { oxa_frames_enter(host->frames, host->main_thread); }
void oxa_host_frame_waited(OxaHost* host) { oxa_frames_leave(host->frames, host->main_thread); }

/* Whether xrPollEvent runs tools, too: the main thread makes no frames, or none any more. */
static int polls_pump(OxaHost* host) {
    int64_t last = atomic_load(&host->frames->on_main_ns);
    int64_t stale_ns = MISSED_PERIODS * atomic_load(&host->display_period_ns);
    return last == 0 || oxa_now_ns() - last >= stale_ns;
}

void oxa_host_poll_event(OxaHost* host) {
    if (oxa_thread_number() != host->main_thread || !something_to_run(host) || !polls_pump(host)) return;
    int64_t now = oxa_now_ns();
    /* Apps drain events in a loop: without this, each turn would spend a budget. */
    if (host->last_poll_pump_ns != 0 && now - host->last_poll_pump_ns < atomic_load(&host->display_period_ns)) return;
    host->last_poll_pump_ns = now;
    pump(host);
}

void oxa_host_session_running(OxaHost* host, int running) {
    atomic_fetch_add(&host->sessions_running, running ? 1 : -1);
    /* Another session may go on; its next frame says so. */
    atomic_store(&host->frames->on_main_ns, 0);
    atomic_store(&host->frames->elsewhere, 0);
}

void oxa_host_display_period(OxaHost* host, int64_t nanoseconds) {
    if (nanoseconds > 0 && nanoseconds <= LONGEST_PERIOD_NS) atomic_store(&host->display_period_ns, nanoseconds);
}

static const OxaCall* running_on_main(const OxaHost* host) {
    for (const OxaCall* call = host->running.first; call != NULL; call = call->next) {
        if (call->runner == host->main_thread && call->tool != NULL) return call;
    }
    return NULL;
}

/* Why a call that waits did not get its turn, in new memory. */
static char* why_waiting(const OxaHost* host, const OxaCall* call) {
    if (call->lane != &host->main) return oxa_format("all threads that could run it are busy with other calls");
    const OxaCall* busy = running_on_main(host);
    if (busy != NULL) return oxa_format("%s still runs on the app's main thread", busy->tool->description.name);
    if (host->counters.pumps > call->pumps_before) {
        return oxa_format("the calls before it took the budget of %g ms of every frame",
                          (double)host->pump_budget_ns / 1e6);
    }
    if (atomic_load(&host->frames->inside)) {
        return oxa_format(
            "the app's main thread is inside xrWaitFrame, which does not return until the frame before was begun "
            "(xrBeginFrame)");
    }
    const char* because = "no session is running";
    if (atomic_load(&host->sessions_running) > 0) {
        because =
            atomic_load(&host->frames->elsewhere) ? "its xrWaitFrame is on another thread" : "a session is running";
    }
    return oxa_format(
        "the app calls neither xrWaitFrame nor xrPollEvent on its main thread, the one that created the "
        "OpenXR instance (%s)",
        because);
}

char* oxa_queue_say_late(const OxaHost* host, const OxaCall* call) {
    const char* tool = call->tool == NULL ? "the callback" : call->tool->description.name;
    double milliseconds = (double)call->timeout_ns / 1e6;
    if (call->state == OXA_STATE_RUNNING) {
        return oxa_format("%s did not return within %g ms. It still runs; its result will be dropped.", tool,
                          milliseconds);
    }
    char* reason = why_waiting(host, call);
    char* text = oxa_format("%s did not start within %g ms, and was withdrawn: %s.", tool, milliseconds,
                            reason == NULL ? "no memory" : reason);
    free(reason);
    return text;
}
