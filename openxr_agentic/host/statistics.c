#include "core.h"

#include <string.h>

void oxa_statistics(OxaHost* host, OxaStatistic statistics[OXA_STATISTIC_COUNT]) {
    oxa_lock(&host->mutex);
    const OxaStatistic now[OXA_STATISTIC_COUNT] = {
        {"calls", host->counters.calls},
        {"calls_main_thread", host->counters.calls_main_thread},
        {"calls_timed_out", host->counters.calls_timed_out},
        {"calls_withdrawn", host->counters.calls_withdrawn},
        {"flood_calls", atomic_load(&host->flood_calls)},
        {"flood_refused", atomic_load(&host->flood_refused)},
        {"pumps", host->counters.pumps},
        {"pumps_over_budget", host->counters.pumps_over_budget},
        {"queued", host->waiting_calls},
        {"threads", host->threads_alive},
    };
    oxa_unlock(&host->mutex);
    memcpy(statistics, now, sizeof now);
}
