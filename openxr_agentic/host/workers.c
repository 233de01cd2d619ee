/* Native threads of our own: a pool for tools that any thread may run, and kept
 * threads with names for tests. */
#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local const OxaThreadOfHost* current;

void oxa_lane_init(OxaLane* lane, const char* name, uint32_t most_threads) {
    memset(lane, 0, sizeof *lane);
    oxa_condition_init(&lane->work);
    lane->most_threads = most_threads;
    snprintf(lane->name, sizeof lane->name, "%s", name);
}

int oxa_lane_is_mine(const OxaLane* lane) { return current != NULL && current->lane == lane; }

int oxa_thread_is_of(const OxaHost* host) { return current != NULL && current->host == host; }

static void serve(OxaThreadOfHost* self) {
    OxaHost* host = self->host;
    OxaLane* lane = self->lane;
    oxa_lock(&host->mutex);
    for (;;) {
        OxaCall* call = oxa_call_take(host, lane);
        if (call != NULL) {
            oxa_unlock(&host->mutex);
            oxa_call_run(host, call);
            oxa_lock(&host->mutex);
            continue;
        }
        if (atomic_load(&host->closing)) break;
        ++lane->idle;
        oxa_wait(&lane->work, &host->mutex, -1);
        --lane->idle;
    }
    oxa_unlock(&host->mutex);
}

static void thread_main(void* argument) {
    OxaThreadOfHost* self = argument;
    OxaHost* host = self->host;
    current = self;
    self->body(self);
    current = NULL;
    oxa_lock(&host->mutex);
    self->ended = 1;
    --host->threads_alive;
    oxa_signal_all(&host->quieter);
    oxa_unlock(&host->mutex);
    oxa_host_release(host);
}

/* The mutex is held. `like` says what the thread is for. */
static int start(OxaHost* host, const OxaThreadOfHost* like, const char* name) {
    OxaThreadOfHost* thread = malloc(sizeof *thread);
    if (thread == NULL) return -1;
    *thread = *like;
    thread->host = host;
    oxa_host_retain(host);
    if (oxa_thread_start(&thread->thread, name, thread_main, thread) != 0) {
        atomic_fetch_sub(&host->references, 1); /* never the last: the caller has one */
        free(thread);
        return -1;
    }
    thread->next = host->threads;
    host->threads = thread;
    ++host->threads_alive;
    return 0;
}

int oxa_lane_serve(OxaHost* host, OxaLane* lane) {
    if (lane->most_threads == 0) return 0; /* the main thread comes by itself */
    oxa_signal_one(&lane->work);
    /* A thread leaves `idle` and takes its call in one hold of the mutex: an idle one for each call suffices. */
    if (lane->count <= lane->idle || lane->threads == lane->most_threads) return 0;
    OxaThreadOfHost like = {0};
    like.lane = lane;
    like.body = serve;
    if (start(host, &like, "oxa-tool") == 0) {
        ++lane->threads;
        return 0;
    }
    return lane->threads > 0 ? 0 : -1;
}

OxaLane* oxa_lane_named(OxaHost* host, const char* name) {
    OxaLane* lane;
    oxa_lock(&host->mutex);
    for (lane = host->named; lane != NULL && strcmp(lane->name, name) != 0; lane = lane->next) {
    }
    if (lane == NULL && strlen(name) < sizeof lane->name && host->named_count < OXA_MAX_NAMED_THREADS &&
        (lane = malloc(sizeof *lane)) != NULL) {
        oxa_lane_init(lane, name, 1);
        lane->next = host->named;
        host->named = lane;
        ++host->named_count;
    }
    oxa_unlock(&host->mutex);
    return lane;
}

void oxa_threads_join(OxaHost* host) {
    oxa_lock(&host->mutex);
    /* Nobody adds any more: the host is closing. */
    OxaThreadOfHost* thread = host->threads;
    oxa_unlock(&host->mutex);
    for (; thread != NULL; thread = thread->next) {
        oxa_lock(&host->mutex);
        int ended = thread->ended;
        oxa_unlock(&host->mutex);
        if (ended) {
            oxa_thread_join(thread->thread);
        } else {
            oxa_thread_detach(thread->thread); /* this thread itself, or one that is stuck in a callback */
        }
    }
}

void oxa_threads_free(OxaHost* host) {
    while (host->threads != NULL) {
        OxaThreadOfHost* thread = host->threads;
        host->threads = thread->next;
        free(thread->arguments);
        free(thread);
    }
    while (host->named != NULL) {
        OxaLane* lane = host->named;
        host->named = lane->next;
        oxa_condition_destroy(&lane->work);
        free(lane);
    }
}

/* ---- flood: callbacks from native threads with no pause, for tests of an app's end */

static void flood(OxaThreadOfHost* self) {
    OxaHost* host = self->host;
    char* copy = self->arguments == NULL ? NULL : oxa_copy(self->arguments, strlen(self->arguments));
    OxaVisit visit;
    oxa_lock(&host->mutex);
    ++host->visits; /* one for all its calls: it would be the flood's bottleneck */
    oxa_unlock(&host->mutex);
    oxa_visit_enter(&visit, host);
    while (!atomic_load(&host->closing)) {
        OxaOutcome outcome;
        if (copy != NULL) strcpy(copy, self->arguments); /* the last exchange spoiled it */
        oxa_invoke(self->tool->callback, self->tool->user_data, copy, &outcome);
        atomic_fetch_add(&host->flood_calls, 1);
        if (outcome.status != OXA_CALL_DONE) atomic_fetch_add(&host->flood_refused, 1);
        free(outcome.text);
    }
    oxa_visit_leave(&visit);
    oxa_lock(&host->mutex);
    --host->visits;
    oxa_unlock(&host->mutex);
    free(copy);
}

XrResult oxa_flood(OxaHost* host, const OxaTool* tool, const char* arguments, uint32_t threads) {
    XrResult result = XR_SUCCESS;
    for (uint32_t i = 0; i < threads && result == XR_SUCCESS; ++i) {
        OxaThreadOfHost like = {0};
        like.tool = tool;
        like.body = flood;
        if (arguments != NULL && (like.arguments = oxa_copy(arguments, strlen(arguments))) == NULL) {
            return XR_ERROR_OUT_OF_MEMORY;
        }
        oxa_lock(&host->mutex);
        if (atomic_load(&host->closing)) {
            result = XR_ERROR_HANDLE_INVALID;
        } else if (start(host, &like, "oxa-flood") != 0) {
            result = XR_ERROR_LIMIT_REACHED;
        }
        oxa_unlock(&host->mutex);
        if (result != XR_SUCCESS) free(like.arguments);
    }
    return result;
}
