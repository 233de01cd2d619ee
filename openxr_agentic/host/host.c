/* A host's life, and the registry of those that live. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

static OxaMutex registry = OXA_MUTEX_INIT;
static OxaHost* newest;

void oxa_host_retain(OxaHost* host) { atomic_fetch_add(&host->references, 1); }

void oxa_host_release(OxaHost* host) {
    if (atomic_fetch_sub(&host->references, 1) != 1) return;
    if (host->channel != NULL) oxa_channel_free(host->channel);
    oxa_threads_free(host);
    oxa_tools_free(&host->tools);
    oxa_condition_destroy(&host->main.work);
    oxa_condition_destroy(&host->workers.work);
    oxa_condition_destroy(&host->quieter);
    oxa_mutex_destroy(&host->mutex);
    free(host->application_name);
    free(host);
}

OxaHost* oxa_host_acquire(XrInstance instance) {
    oxa_lock(&registry);
    OxaHost* host = newest;
    while (host != NULL && instance != XR_NULL_HANDLE && host->instance != instance) host = host->older;
    if (host != NULL) oxa_host_retain(host);
    oxa_unlock(&registry);
    return host;
}

OxaHost* oxa_host_find(XrInstance instance) { return instance == XR_NULL_HANDLE ? NULL : oxa_host_acquire(instance); }

uint32_t oxa_host_instances(XrInstance* instances, uint32_t capacity) {
    uint32_t count = 0;
    oxa_lock(&registry);
    for (const OxaHost* host = newest; host != NULL; host = host->older) ++count;
    uint32_t index = count;
    for (const OxaHost* host = newest; host != NULL; host = host->older) {
        if (--index < capacity) instances[index] = host->instance; /* the oldest first */
    }
    oxa_unlock(&registry);
    return count;
}

/* ---- fork(): a child has none of the parent's threads. Its copies of the hosts
 * are out of use, and leaked: a lock in them may have been held. */

static void before_fork(void) { oxa_lock(&registry); }
static void after_fork_in_parent(void) { oxa_unlock(&registry); }
static void after_fork_in_child(void) {
    newest = NULL;
    oxa_channel_forget();
    oxa_unlock(&registry);
}

OxaHost* oxa_host_create(const OxaHostInfo* info) {
    OxaHost* host = calloc(1, sizeof *host);
    const char* name = info->application_name;
    if (name == NULL || !oxa_is_utf8(name, strlen(name))) name = "";
    if (host == NULL || (host->application_name = oxa_copy(name, strlen(name))) == NULL) {
        free(host);
        return NULL;
    }
    atomic_init(&host->references, 1);
    host->instance = info->instance;
    host->front = info->front;
    host->serves = info->serves;
    host->frames = info->frames != NULL ? info->frames : &host->own_frames;
    host->main_waiting = info->main_waiting != NULL ? info->main_waiting : &host->own_main_waiting;
    host->main_thread = oxa_thread_number();
    host->process = oxa_process_id();
    host->pump_budget_ns = oxa_option("pump_budget_ns");
    atomic_init(&host->display_period_ns, oxa_option("display_period_ns"));
    host->destroy_waits = oxa_option("destroy_waits") != 0;
    host->numbers = oxa_numbers();
    oxa_tools_init(&host->tools);
    oxa_mutex_init(&host->mutex);
    oxa_condition_init(&host->quieter);
    oxa_lane_init(&host->main, "main", 0);
    oxa_lane_init(&host->workers, "workers", OXA_MAX_WORKERS);
    host->channel = info->without_channel ? NULL : oxa_channel_open(host);

    static int fork_is_watched;
    oxa_lock(&registry);
    int watch = !fork_is_watched;
    fork_is_watched = 1;
    host->older = newest;
    newest = host;
    oxa_unlock(&registry);
    if (watch) oxa_around_fork(before_fork, after_fork_in_parent, after_fork_in_child);
    return host;
}

static void leave_registry(OxaHost* host) {
    oxa_lock(&registry);
    OxaHost** link = &newest;
    while (*link != NULL && *link != host) link = &(*link)->older;
    if (*link == host) *link = host->older;
    oxa_unlock(&registry);
}

/* Until only this thread, if any, is inside of the host. */
static void wait_until_quiet(OxaHost* host) {
    uint32_t own_visits = oxa_visits_here(host);
    uint32_t own_threads = (uint32_t)oxa_thread_is_of(host);
    int64_t until = host->destroy_waits ? -1 : oxa_now_ns() + OXA_DESTROY_PATIENCE_NS;
    oxa_lock(&host->mutex);
    while (host->visits > own_visits || host->threads_alive > own_threads) {
        if (oxa_wait(&host->quieter, &host->mutex, until)) {
            oxa_report("%u calls of the app's tools still run after %g s; xrDestroyInstance goes on without them",
                       host->visits - own_visits, (double)OXA_DESTROY_PATIENCE_NS / 1e9);
            break;
        }
    }
    oxa_unlock(&host->mutex);
}

void oxa_host_destroy(OxaHost* host) {
    if (host->process != oxa_process_id()) return; /* see fork() above */
    leave_registry(host);
    oxa_lock(&host->mutex);
    int closed_before = atomic_exchange(&host->closing, 1);
    oxa_signal_all(&host->workers.work);
    for (OxaLane* lane = host->named; lane != NULL; lane = lane->next) oxa_signal_all(&lane->work);
    oxa_unlock(&host->mutex);
    if (closed_before) return;
    oxa_calls_close(host, 0);
    wait_until_quiet(host);
    oxa_calls_close(host, 1);
    if (host->channel != NULL) oxa_channel_close(host->channel);
    oxa_threads_join(host);
    oxa_host_release(host);
}
