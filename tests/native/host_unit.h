/* What the C tests of the host core share: a host without any OpenXR front, a tool
 * whose behaviour a test chooses, and checks. */
#ifndef HOST_UNIT_H_
#define HOST_UNIT_H_ 1

#include "core.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                               \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            fprintf(stderr, "%s:%d: in %s: not true: %s\n", __FILE__, __LINE__, __func__, #condition); \
            abort();                                                                                   \
        }                                                                                              \
    } while (0)

#define RUN(test)                                       \
    do {                                                \
        fprintf(stderr, "%s\n", #test);                 \
        test();                                         \
        CHECK(host_control()->instances(NULL, 0) == 0); \
    } while (0)

/* Waits for a condition; pytest's time limit ends one that never comes. */
#define WAIT_UNTIL(condition)                      \
    do {                                           \
        while (!(condition)) oxa_sleep_ns(200000); \
    } while (0)

const OxaHostControl* oxaGetHostControl(uint32_t version);
static inline const OxaHostControl* host_control(void) { return oxaGetHostControl(OXA_HOST_CONTROL_VERSION); }

static inline OxaHost* new_host(void) {
    static uintptr_t handle = 0x1000;
    OxaHostInfo info = {
        .instance = (XrInstance)(handle += 0x10), .application_name = "unit test", .front = "test front"};
    OxaHost* host = oxa_host_create(&info);
    CHECK(host != NULL);
    return host;
}

/* A tool that logs its run, then does what `act` says, and answers its own name. */
typedef struct Probe {
    const char* name;
    void (*act)(struct Probe* probe);
    OxaHost* host;
    atomic_int runs;
    atomic_int gate; /* for `act`s that wait */
    atomic_ullong thread;
} Probe;

static char probe_log[4096]; /* first letters of names, in the order of runs */
static atomic_uint probe_log_length;

static inline void clear_log(void) {
    memset(probe_log, 0, sizeof probe_log);
    atomic_store(&probe_log_length, 0);
}

static XrResult XRAPI_CALL probe_callback(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                          void* user_data) {
    Probe* probe = user_data;
    (void)arguments;
    uint32_t bytes = (uint32_t)strlen(probe->name) + 1;
    *count = bytes;
    if (buffer == NULL) return XR_SUCCESS;
    if (capacity < bytes) return XR_ERROR_SIZE_INSUFFICIENT;
    uint32_t at = atomic_fetch_add(&probe_log_length, 1);
    if (at < sizeof probe_log - 1) probe_log[at] = probe->name[0];
    atomic_store(&probe->thread, oxa_thread_number());
    if (probe->act != NULL) probe->act(probe);
    memcpy(buffer, probe->name, bytes);
    atomic_fetch_add(&probe->runs, 1);
    return XR_SUCCESS;
}

static inline OxaToolRegisterInfo register_info(const char* name, int main_thread, OxaToolCallback callback,
                                                void* user_data) {
    OxaToolRegisterInfo info;
    memset(&info, 0, sizeof info);
    info.type = OXA_TYPE_TOOL_REGISTER_INFO;
    snprintf(info.toolName, sizeof info.toolName, "%s", name);
    snprintf(info.toolDescription, sizeof info.toolDescription, "Description of %s", name);
    info.toolCallback = callback;
    info.toolCallbackInfoFlags = main_thread ? OXA_MAIN_THREAD_BIT : 0;
    info.toolUserData = user_data;
    return info;
}

static inline void add_probe(OxaHost* host, Probe* probe, int main_thread) {
    probe->host = host;
    OxaToolRegisterInfo info = register_info(probe->name, main_thread, probe_callback, probe);
    CHECK(oxa_host_register_tool(host, &info) == XR_SUCCESS);
}

/* What became of a call that nobody waits for. */
typedef struct Answer {
    atomic_int count;
    int32_t status;
    char text[512];
} Answer;

static void deliver_answer(OxaCall* call) {
    Answer* answer = call->client;
    answer->status = call->outcome.status;
    snprintf(answer->text, sizeof answer->text, "%s", call->outcome.text);
    atomic_fetch_add(&answer->count, 1);
}

/* Queues a call as the channel does. The caller lets go of it. */
static inline OxaCall* submit(OxaHost* host, const char* name, int64_t timeout_ns, Answer* answer) {
    const OxaTool* tool = oxa_tool_named(&host->tools, name, strlen(name));
    CHECK(tool != NULL);
    OxaCall* call = oxa_call_new(tool, "{}", 2, timeout_ns);
    CHECK(call != NULL);
    call->client = answer;
    call->deliver = deliver_answer;
    oxa_call_submit(host, call, tool->description.main_thread ? &host->main : &host->workers);
    return call;
}

static inline void submit_and_forget(OxaHost* host, const char* name, Answer* answer) {
    oxa_call_release(submit(host, name, -1, answer));
}

/* Plays an agent's call through the control table, and checks the status. */
static inline void call_and_check(const char* tool, int32_t status, const char* text) {
    OxaAgentCall call;
    memset(&call, 0, sizeof call);
    call.tool = tool;
    call.arguments = "{}";
    CHECK(host_control()->call(XR_NULL_HANDLE, &call) == XR_SUCCESS);
    if (call.status != status) fprintf(stderr, "%s\n", call.text);
    CHECK(call.status == status);
    CHECK(strlen(call.text) == call.text_bytes);
    if (text != NULL) CHECK(strstr(call.text, text) != NULL);
    host_control()->free_text(call.text);
}

#endif
