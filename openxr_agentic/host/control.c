/* The table that tests in the same process drive the host with. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

static void reset(void) {
    oxa_options_reset();
    oxa_faults_reset();
}

static XrResult tool_count(XrInstance instance, uint32_t* count) {
    if (count == NULL) return XR_ERROR_VALIDATION_FAILURE;
    OxaHost* host = oxa_host_acquire(instance);
    if (host == NULL) return XR_ERROR_HANDLE_INVALID;
    uint64_t revision;
    free(oxa_tools_now(&host->tools, count, &revision));
    oxa_host_release(host);
    return XR_SUCCESS;
}

static XrResult tool_at(XrInstance instance, uint32_t index, OxaToolDescription* description) {
    if (description == NULL) return XR_ERROR_VALIDATION_FAILURE;
    OxaHost* host = oxa_host_acquire(instance);
    if (host == NULL) return XR_ERROR_HANDLE_INVALID;
    uint32_t count;
    uint64_t revision;
    const OxaTool** tools = oxa_tools_now(&host->tools, &count, &revision);
    XrResult result = tools != NULL && index < count ? XR_SUCCESS : XR_ERROR_VALIDATION_FAILURE;
    if (result == XR_SUCCESS) *description = tools[index]->description;
    free(tools);
    oxa_host_release(host);
    return result;
}

static XrResult tool_metadata(XrInstance instance, uint32_t index, char** text) {
    if (text == NULL) return XR_ERROR_VALIDATION_FAILURE;
    *text = NULL;
    OxaHost* host = oxa_host_acquire(instance);
    if (host == NULL) return XR_ERROR_HANDLE_INVALID;
    uint32_t count;
    uint64_t revision;
    free(oxa_tools_now(&host->tools, &count, &revision));
    if (index < count) *text = oxa_tools_metadata(&host->tools, index);
    oxa_host_release(host);
    return *text != NULL ? XR_SUCCESS : index < count ? XR_ERROR_OUT_OF_MEMORY : XR_ERROR_VALIDATION_FAILURE;
}

/* Where a call made on this thread runs: 1 here and now; 0 in *lane. */
static int choose_lane(OxaHost* host, const OxaTool* tool, const char* thread, OxaLane** lane) {
    if (thread != NULL) {
        *lane = oxa_lane_named(host, thread);
        return *lane != NULL && oxa_lane_is_mine(*lane);
    }
    *lane = tool->description.main_thread ? &host->main : &host->workers;
    return *lane == &host->main && oxa_thread_number() == host->main_thread && oxa_inside_tool();
}

static int run(OxaHost* host, OxaCall* call, const char* thread) {
    OxaLane* lane;
    if (choose_lane(host, call->tool, thread, &lane)) {
        oxa_call_run_here(host, call);
        return 0;
    }
    if (lane == NULL) return -1;
    int on_main = lane == &host->main && oxa_thread_number() == host->main_thread;
    if (on_main) call->deadline_ns = -1; /* it runs in its turn, but now */
    oxa_call_submit(host, call, lane);
    if (on_main) oxa_queue_run_until(host, call);
    oxa_call_wait(host, call);
    return 0;
}

static void give_outcome(OxaAgentCall* to, OxaOutcome* outcome) {
    to->status = outcome->status;
    to->result = outcome->result;
    to->c_calls = outcome->c_calls;
    to->error = outcome->error;
    to->text_bytes = outcome->text_bytes;
    to->text = outcome->text != NULL ? outcome->text : oxa_copy("", 0);
    outcome->text = NULL;
}

static XrResult call_tool(XrInstance instance, OxaAgentCall* agent_call) {
    if (agent_call == NULL || agent_call->tool == NULL) return XR_ERROR_VALIDATION_FAILURE;
    OxaHost* host = oxa_host_acquire(instance);
    if (host == NULL) return XR_ERROR_HANDLE_INVALID;
    XrResult result = XR_SUCCESS;
    const OxaTool* tool = oxa_tool_named(&host->tools, agent_call->tool, strlen(agent_call->tool));
    if (tool == NULL) {
        OxaOutcome unknown = {0};
        oxa_outcome_say(&unknown, OXA_CALL_UNKNOWN_TOOL, oxa_format("No tool is named %s.", agent_call->tool));
        give_outcome(agent_call, &unknown);
    } else {
        const char* arguments = agent_call->arguments;
        OxaCall* call = oxa_call_new(tool, arguments, arguments == NULL ? 0 : strlen(arguments),
                                     agent_call->timeout_ns == 0 ? OXA_DEFAULT_TIMEOUT_NS : agent_call->timeout_ns);
        if (call == NULL) {
            result = XR_ERROR_OUT_OF_MEMORY;
        } else if (run(host, call, agent_call->thread) != 0) {
            result = XR_ERROR_LIMIT_REACHED;
        } else {
            give_outcome(agent_call, &call->outcome);
        }
        if (call != NULL) oxa_call_release(call);
    }
    oxa_host_release(host);
    if (result == XR_SUCCESS && agent_call->text == NULL) result = XR_ERROR_OUT_OF_MEMORY;
    return result;
}

static void give_raw(OxaRawCall* to, OxaRawCall* from) {
    to->result = from->result;
    to->count = from->count;
    to->written = from->written;
    to->beyond = from->beyond;
    to->buffer = from->buffer;
    from->buffer = NULL;
}

/* No instance has to live for a call on the calling thread: a late call of a
 * host that is gone is what such a test plays. */
static XrResult raw_without_host(OxaCall* call) {
    OxaVisit visit;
    oxa_visit_enter(&visit, NULL);
    oxa_invoke_raw(&call->raw, call->arguments);
    oxa_visit_leave(&visit);
    return XR_SUCCESS;
}

static XrResult raw_in_host(OxaHost* host, OxaCall* call, const char* thread) {
    if (thread == NULL) {
        oxa_call_run_here(host, call);
    } else if (run(host, call, thread) != 0) {
        return XR_ERROR_LIMIT_REACHED;
    }
    return call->outcome.status == OXA_CALL_DONE ? XR_SUCCESS : XR_ERROR_INSTANCE_LOST;
}

static XrResult raw_call(XrInstance instance, OxaRawCall* raw) {
    if (raw == NULL || raw->callback == NULL) return XR_ERROR_VALIDATION_FAILURE;
    if (raw->capacity > OXA_MAX_TEXT_BYTES) return XR_ERROR_VALIDATION_FAILURE;
    OxaHost* host = oxa_host_acquire(instance);
    if (host == NULL && raw->thread != NULL) return XR_ERROR_HANDLE_INVALID;
    OxaCall* call = oxa_call_new(NULL, raw->arguments, raw->arguments == NULL ? 0 : strlen(raw->arguments), -1);
    XrResult result = XR_ERROR_OUT_OF_MEMORY;
    if (call != NULL) {
        call->raw.callback = raw->callback;
        call->raw.user_data = raw->user_data;
        call->raw.capacity = raw->capacity;
        call->raw.null_buffer = raw->null_buffer;
        call->raw.null_count = raw->null_count;
        result = host == NULL ? raw_without_host(call) : raw_in_host(host, call, raw->thread);
        if (result == XR_SUCCESS) give_raw(raw, &call->raw);
        oxa_call_release(call);
    }
    if (host != NULL) oxa_host_release(host);
    return result;
}

static XrResult flood(XrInstance instance, const char* name, const char* arguments, uint32_t threads) {
    if (name == NULL) return XR_ERROR_VALIDATION_FAILURE;
    OxaHost* host = oxa_host_acquire(instance);
    if (host == NULL) return XR_ERROR_HANDLE_INVALID;
    const OxaTool* tool = oxa_tool_named(&host->tools, name, strlen(name));
    XrResult result = tool == NULL ? XR_ERROR_VALIDATION_FAILURE : oxa_flood(host, tool, arguments, threads);
    oxa_host_release(host);
    return result;
}

static int64_t statistic(XrInstance instance, const char* name) {
    OxaStatistic statistics[OXA_STATISTIC_COUNT];
    OxaHost* host = name == NULL ? NULL : oxa_host_acquire(instance);
    if (host == NULL) return -1;
    oxa_statistics(host, statistics);
    oxa_host_release(host);
    for (size_t i = 0; i < OXA_STATISTIC_COUNT; ++i) {
        if (strcmp(statistics[i].name, name) == 0) return (int64_t)statistics[i].value;
    }
    return -1;
}

static void free_text(char* text) { free(text); }

static const OxaHostControl control = {
    sizeof(OxaHostControl),
    OXA_HOST_CONTROL_VERSION,
    oxa_options_set,
    oxa_numbers_set,
    reset,
    oxa_faults_arm,
    oxa_host_instances,
    oxa_function_calls,
    tool_count,
    tool_at,
    tool_metadata,
    call_tool,
    raw_call,
    flood,
    statistic,
    free_text,
};

OXA_EXPORT const OxaHostControl* oxaGetHostControl(uint32_t version);
const OxaHostControl* oxaGetHostControl(uint32_t version) {
    return version == OXA_HOST_CONTROL_VERSION ? &control : NULL;
}
