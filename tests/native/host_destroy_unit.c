/* The end of an instance, at the worst moments. */
#include "host_unit.h"

static void on_another_thread(OxaThread* thread, void (*body)(void*), void* argument) {
    CHECK(oxa_thread_start(thread, "unit", body, argument) == 0);
}

static void destroy(void* host) { oxa_host_destroy(host); }
static void destroy_own_host(Probe* probe) { oxa_host_destroy(probe->host); }
static int is_being_destroyed(void) { return host_control()->instances(NULL, 0) == 0; }
static void wait_for_gate(Probe* probe) { WAIT_UNTIL(atomic_load(&probe->gate)); }

static void wait_until_destroy_has_begun(Probe* probe) {
    (void)probe;
    WAIT_UNTIL(is_being_destroyed());
}

static void a_pumped_tool_may_destroy_its_instance(void) {
    OxaHost* host = new_host();
    Probe ending = {.name = "ending", .act = destroy_own_host}, waiting = {.name = "waiting"};
    Answer answer = {0}, other = {0};
    add_probe(host, &ending, 1);
    add_probe(host, &waiting, 1);
    submit_and_forget(host, "ending", &answer);
    submit_and_forget(host, "waiting", &other);
    oxa_host_wait_frame(host);
    CHECK(ending.runs == 1 && waiting.runs == 0);
    CHECK(answer.count == 1 && answer.status == OXA_CALL_CLOSING);
    CHECK(other.count == 1 && other.status == OXA_CALL_CLOSING);
}

static void a_tool_called_on_the_main_thread_may_destroy_its_instance(void) {
    OxaHost* host = new_host();
    Probe ending = {.name = "ending", .act = destroy_own_host};
    add_probe(host, &ending, 1);
    call_and_check("ending", OXA_CALL_DONE, "ending");
}

static void a_tool_on_a_worker_may_destroy_its_instance(void) {
    OxaHost* host = new_host();
    Probe ending = {.name = "ending", .act = destroy_own_host};
    add_probe(host, &ending, 0);
    call_and_check("ending", OXA_CALL_DONE, "ending");
}

/* Whatever the patience, on however slow a machine. */
static OxaHost* new_host_that_waits(void) {
    CHECK(host_control()->set_option("destroy_waits", 1) == 0);
    OxaHost* host = new_host();
    host_control()->reset();
    return host;
}

static OxaThread destroyer;

static void be_destroyed_from_another_thread(Probe* probe) {
    on_another_thread(&destroyer, destroy, probe->host);
    WAIT_UNTIL(is_being_destroyed());
}

static void a_running_main_thread_tool_is_waited_for(void) {
    OxaHost* host = new_host_that_waits();
    Probe running = {.name = "running", .act = be_destroyed_from_another_thread};
    Answer answer = {0};
    add_probe(host, &running, 1);
    submit_and_forget(host, "running", &answer);
    oxa_host_wait_frame(host);
    oxa_thread_join(destroyer);
    CHECK(running.runs == 1 && answer.count == 1 && answer.status == OXA_CALL_DONE);
}

static void a_running_worker_is_waited_for_and_its_answer_goes_out(void) {
    OxaHost* host = new_host_that_waits();
    Probe running = {.name = "running", .act = wait_until_destroy_has_begun};
    Answer answer = {0};
    add_probe(host, &running, 0);
    submit_and_forget(host, "running", &answer);
    WAIT_UNTIL(atomic_load(&running.thread) != 0);
    oxa_host_destroy(host);
    CHECK(running.runs == 1 && answer.count == 1 && answer.status == OXA_CALL_DONE);
}

static void call_and_expect_closing(void* tool) { call_and_check(tool, OXA_CALL_CLOSING, "destroying"); }

static void waiting_callers_are_told_that_the_app_ends(void) {
    OxaThread threads[4];
    OxaHost* host = new_host();
    Probe never = {.name = "never"};
    add_probe(host, &never, 1);
    for (int i = 0; i < 4; ++i) on_another_thread(&threads[i], call_and_expect_closing, "never");
    WAIT_UNTIL(host_control()->statistic(XR_NULL_HANDLE, "queued") == 4);
    oxa_host_destroy(host);
    for (int i = 0; i < 4; ++i) oxa_thread_join(threads[i]);
    CHECK(never.runs == 0);
}

static void nothing_starts_while_the_instance_ends(void) {
    OxaHost* host = new_host();
    Probe never = {.name = "never"};
    Answer answer = {0};
    add_probe(host, &never, 1);
    oxa_host_retain(host);
    oxa_host_destroy(host);
    submit_and_forget(host, "never", &answer);
    CHECK(answer.count == 1 && answer.status == OXA_CALL_CLOSING);
    OxaToolRegisterInfo info = register_info("late", 1, probe_callback, NULL);
    CHECK(oxa_host_register_tool(host, &info) == XR_ERROR_HANDLE_INVALID);
    oxa_host_release(host);
}

static void flooding_threads_end_with_the_instance(void) {
    OxaHost* host = new_host();
    Probe quick = {.name = "quick"};
    add_probe(host, &quick, 1);
    CHECK(host_control()->flood(XR_NULL_HANDLE, "missing", NULL, 1) == XR_ERROR_VALIDATION_FAILURE);
    CHECK(host_control()->flood(XR_NULL_HANDLE, "quick", "{\"flood\":true}", 4) == XR_SUCCESS);
    WAIT_UNTIL(host_control()->statistic(XR_NULL_HANDLE, "flood_calls") > 100);
    CHECK(host_control()->statistic(XR_NULL_HANDLE, "flood_refused") == 0);
    oxa_host_destroy(host);
    int runs = quick.runs;
    CHECK(runs > 100 && quick.runs == runs);
}

/* What threads that are left behind still touch outlives their test. */
static Probe stuck = {.name = "stuck", .act = wait_for_gate};

static void destroy_once(Probe* probe) {
    int open = 1;
    if (atomic_compare_exchange_strong(&probe->gate, &open, 0)) oxa_host_destroy(probe->host);
}
static Probe ending_in_flood = {.name = "ending", .act = destroy_once};

static void a_flooding_thread_may_destroy_the_instance(void) {
    OxaHost* host = new_host();
    add_probe(host, &ending_in_flood, 1);
    CHECK(host_control()->flood(XR_NULL_HANDLE, "ending", NULL, 4) == XR_SUCCESS);
    atomic_store(&ending_in_flood.gate, 1);
    WAIT_UNTIL(is_being_destroyed());
}

static void destroy_gives_up_on_a_tool_that_does_not_return(void) {
    OxaHost* host = new_host();
    Answer answer = {0};
    add_probe(host, &stuck, 0);
    submit_and_forget(host, "stuck", &answer);
    WAIT_UNTIL(atomic_load(&stuck.thread) != 0);
    oxa_host_destroy(host);
    CHECK(answer.count == 1 && answer.status == OXA_CALL_CLOSING && stuck.runs == 0);
    atomic_store(&stuck.gate, 1);
    WAIT_UNTIL(stuck.runs == 1); /* what it still touches is there */
}

static void open_gate_later(void* probe) {
    WAIT_UNTIL(is_being_destroyed());
    oxa_sleep_ns(2 * OXA_DESTROY_PATIENCE_NS);
    atomic_store(&((Probe*)probe)->gate, 1);
}

static void destroy_waits_without_a_limit_when_told_to(void) {
    OxaThread thread;
    Probe slow = {.name = "slow", .act = wait_for_gate};
    Answer answer = {0};
    OxaHost* host = new_host_that_waits();
    add_probe(host, &slow, 0);
    submit_and_forget(host, "slow", &answer);
    WAIT_UNTIL(atomic_load(&slow.thread) != 0);
    on_another_thread(&thread, open_gate_later, &slow);
    oxa_host_destroy(host);
    CHECK(slow.runs == 1 && answer.status == OXA_CALL_DONE);
    oxa_thread_join(thread);
}

/* ---- control functions from everywhere while instances come and go */

static atomic_int stop_calling;

static void call_all_the_time(void* argument) {
    (void)argument;
    while (!atomic_load(&stop_calling)) {
        OxaAgentCall call;
        memset(&call, 0, sizeof call);
        call.tool = "any";
        call.timeout_ns = 20000000;
        if (host_control()->call(XR_NULL_HANDLE, &call) == XR_SUCCESS) host_control()->free_text(call.text);
        OxaToolDescription tool;
        host_control()->tool(XR_NULL_HANDLE, 0, &tool);
        host_control()->statistic(XR_NULL_HANDLE, "queued");
    }
}

static void control_may_race_with_the_end(void) {
    OxaThread threads[3];
    Probe any = {.name = "any"};
    for (int i = 0; i < 3; ++i) on_another_thread(&threads[i], call_all_the_time, NULL);
    for (int round = 0; round < 200; ++round) {
        OxaHost* host = new_host();
        add_probe(host, &any, round % 2);
        for (int frames = 0; frames < 20; ++frames) oxa_host_wait_frame(host);
        oxa_host_destroy(host);
    }
    atomic_store(&stop_calling, 1);
    for (int i = 0; i < 3; ++i) oxa_thread_join(threads[i]);
}

int main(void) {
    RUN(a_pumped_tool_may_destroy_its_instance);
    RUN(a_tool_called_on_the_main_thread_may_destroy_its_instance);
    RUN(a_tool_on_a_worker_may_destroy_its_instance);
    RUN(a_running_main_thread_tool_is_waited_for);
    RUN(a_running_worker_is_waited_for_and_its_answer_goes_out);
    RUN(waiting_callers_are_told_that_the_app_ends);
    RUN(nothing_starts_while_the_instance_ends);
    RUN(flooding_threads_end_with_the_instance);
    RUN(a_flooding_thread_may_destroy_the_instance);
    RUN(destroy_gives_up_on_a_tool_that_does_not_return);
    RUN(destroy_waits_without_a_limit_when_told_to);
    RUN(control_may_race_with_the_end);
    return 0;
}
