/* Which thread runs a call, when, in which order, and what a late one is told.
 * Calls are queued as the channel does it, from this thread: nothing here depends
 * on a scheduler. Budgets of 0 and 10 s stand for "one call" and "all calls". */
#include "host_unit.h"

#define ALL_CALLS INT64_C(10000000000)

static OxaHost* new_host_with_budget(int64_t budget_ns) {
    CHECK(host_control()->set_option("pump_budget_ns", budget_ns) == 0);
    OxaHost* host = new_host();
    host_control()->reset();
    return host;
}

static int64_t statistic(OxaHost* host, const char* name) { return host_control()->statistic(host->instance, name); }

static void run_frames_in_session(OxaHost* host) { oxa_host_session_running(host, 1); }

static void a_frame_runs_all_calls_within_the_budget_in_order(void) {
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe a = {.name = "a"}, b = {.name = "b"};
    Answer answers[3] = {{0}};
    add_probe(host, &a, 1);
    add_probe(host, &b, 1);
    clear_log();
    oxa_host_wait_frame(host);
    CHECK(statistic(host, "pumps") == 0);
    submit_and_forget(host, "b", &answers[0]);
    submit_and_forget(host, "a", &answers[1]);
    submit_and_forget(host, "b", &answers[2]);
    CHECK(statistic(host, "queued") == 3 && probe_log[0] == 0);
    oxa_host_wait_frame(host);
    CHECK(strcmp(probe_log, "bab") == 0 && a.thread == oxa_thread_number());
    for (int i = 0; i < 3; ++i) CHECK(answers[i].count == 1 && answers[i].status == OXA_CALL_DONE);
    CHECK(statistic(host, "pumps") == 1 && statistic(host, "pumps_over_budget") == 0);
    CHECK(statistic(host, "calls") == 3 && statistic(host, "calls_main_thread") == 3);
    oxa_host_destroy(host);
}

static void what_is_over_the_budget_waits_for_the_next_frames(void) {
    OxaHost* host = new_host_with_budget(0);
    Probe a = {.name = "a"}, b = {.name = "b"}, c = {.name = "c"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    add_probe(host, &b, 1);
    add_probe(host, &c, 1);
    clear_log();
    run_frames_in_session(host);
    submit_and_forget(host, "a", &answer);
    submit_and_forget(host, "b", &answer);
    submit_and_forget(host, "c", &answer);
    for (size_t frames = 1; frames <= 3; ++frames) {
        oxa_host_wait_frame(host);
        CHECK(strlen(probe_log) == frames);
    }
    CHECK(strcmp(probe_log, "abc") == 0);
    CHECK(statistic(host, "pumps") == 3 && statistic(host, "pumps_over_budget") == 2);
    oxa_host_destroy(host);
}

static void without_a_session_polling_runs_calls_once_per_display_period(void) {
    CHECK(host_control()->set_option("display_period_ns", ALL_CALLS) == 0);
    OxaHost* host = new_host_with_budget(0);
    Probe a = {.name = "a"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    submit_and_forget(host, "a", &answer);
    submit_and_forget(host, "a", &answer);
    oxa_host_poll_event(host);
    oxa_host_poll_event(host);
    CHECK(answer.count == 1);
    oxa_host_destroy(host);
}

static void wait_for_a_frame(OxaHost* host) {
    oxa_host_wait_frame(host);
    oxa_host_frame_begins_to_wait(host);
    oxa_host_frame_waited(host);
}

static void in_a_session_with_frames_polling_runs_nothing(void) {
    CHECK(host_control()->set_option("display_period_ns", ALL_CALLS) == 0);
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe a = {.name = "a"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    oxa_host_session_running(host, 1);
    wait_for_a_frame(host);
    submit_and_forget(host, "a", &answer);
    oxa_host_poll_event(host);
    CHECK(answer.count == 0);
    oxa_host_session_running(host, 0);
    oxa_host_poll_event(host);
    CHECK(answer.count == 1);
    oxa_host_destroy(host);
}

static void in_a_session_without_frames_polling_runs_calls(void) {
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe a = {.name = "a"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    oxa_host_session_running(host, 1);
    submit_and_forget(host, "a", &answer);
    oxa_host_poll_event(host);
    CHECK(answer.count == 1);
    oxa_host_destroy(host);
}

static void a_session_that_stops_making_frames_has_calls_run_by_polling(void) {
    CHECK(host_control()->set_option("display_period_ns", 1000) == 0);
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe a = {.name = "a"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    oxa_host_session_running(host, 1);
    wait_for_a_frame(host);
    oxa_sleep_ns(1000000);
    submit_and_forget(host, "a", &answer);
    oxa_host_poll_event(host);
    CHECK(answer.count == 1);
    oxa_host_destroy(host);
}

static void an_impossible_display_period_is_not_believed(void) {
    OxaHost* host = new_host();
    const int64_t before = atomic_load(&host->display_period_ns);
    oxa_host_display_period(host, INT64_MAX);
    oxa_host_display_period(host, 0);
    oxa_host_display_period(host, -1);
    CHECK(atomic_load(&host->display_period_ns) == before);
    oxa_host_display_period(host, 8000000);
    CHECK(atomic_load(&host->display_period_ns) == 8000000);
    oxa_host_destroy(host);
}

static void wait_frame_of(void* host) { wait_for_a_frame(host); }
static void poll_event_of(void* host) { oxa_host_poll_event(host); }

static void on_another_thread(void (*body)(void*), void* argument) {
    OxaThread thread;
    CHECK(oxa_thread_start(&thread, "unit", body, argument) == 0);
    oxa_thread_join(thread);
}

static void polling_runs_calls_when_frames_are_on_another_thread(void) {
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe a = {.name = "a"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    submit_and_forget(host, "a", &answer);
    oxa_host_session_running(host, 1);
    on_another_thread(wait_frame_of, host);
    on_another_thread(poll_event_of, host);
    CHECK(answer.count == 0);
    oxa_host_poll_event(host);
    CHECK(answer.count == 1 && a.thread == oxa_thread_number());
    oxa_host_destroy(host);
}

/* ---- calls from the main thread itself, and from inside tools */

static void a_call_from_the_main_thread_runs_at_once_in_its_turn(void) {
    OxaHost* host = new_host_with_budget(0);
    Probe a = {.name = "a"}, b = {.name = "b"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    add_probe(host, &b, 1);
    clear_log();
    submit_and_forget(host, "a", &answer);
    submit_and_forget(host, "a", &answer);
    call_and_check("b", OXA_CALL_DONE, "b");
    CHECK(strcmp(probe_log, "aab") == 0);
    oxa_host_destroy(host);
}

static void pump_and_call_inner(Probe* probe) {
    oxa_host_wait_frame(probe->host);
    oxa_host_poll_event(probe->host);
    call_and_check("inner", OXA_CALL_DONE, "inner");
}

static void a_pump_inside_a_tool_runs_nothing_and_a_call_runs_directly(void) {
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe outer = {.name = "outer", .act = pump_and_call_inner}, inner = {.name = "inner"}, later = {.name = "later"};
    Answer answer = {0};
    add_probe(host, &outer, 1);
    add_probe(host, &inner, 1);
    add_probe(host, &later, 1);
    clear_log();
    submit_and_forget(host, "outer", &answer);
    submit_and_forget(host, "later", &answer);
    oxa_host_wait_frame(host);
    CHECK(strcmp(probe_log, "oil") == 0);
    oxa_host_destroy(host);
}

/* ---- late and cancelled calls */

static void a_call_that_is_too_late_never_runs(void) {
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe a = {.name = "a"};
    Answer answer = {0};
    add_probe(host, &a, 1);
    OxaCall* call = submit(host, "a", 1, &answer);
    oxa_host_wait_frame(host);
    CHECK(answer.count == 1 && answer.status == OXA_CALL_TIMED_OUT && a.runs == 0);
    oxa_call_withdraw(host, call, OXA_CALL_CANCELLED);
    CHECK(answer.count == 1);
    CHECK(statistic(host, "calls_withdrawn") == 1 && statistic(host, "calls_timed_out") == 1);
    CHECK(statistic(host, "calls") == 0 && statistic(host, "queued") == 0);
    oxa_call_release(call);
    oxa_host_destroy(host);
}

static void a_cancelled_call_never_runs(void) {
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe a = {.name = "a"}, b = {.name = "b"};
    Answer cancelled = {0}, kept = {0};
    add_probe(host, &a, 1);
    add_probe(host, &b, 1);
    submit_and_forget(host, "b", &kept);
    OxaCall* call = submit(host, "a", -1, &cancelled);
    submit_and_forget(host, "b", &kept);
    oxa_call_withdraw(host, call, OXA_CALL_CANCELLED);
    oxa_call_release(call);
    CHECK(cancelled.count == 1 && cancelled.status == OXA_CALL_CANCELLED);
    CHECK(strstr(cancelled.text, "will not run") != NULL);
    oxa_host_wait_frame(host);
    CHECK(a.runs == 0 && kept.count == 2);
    oxa_host_destroy(host);
}

static void call_late(void* words) {
    OxaAgentCall call;
    memset(&call, 0, sizeof call);
    call.tool = "a";
    call.timeout_ns = 1;
    CHECK(host_control()->call(XR_NULL_HANDLE, &call) == XR_SUCCESS);
    if (strstr(call.text, words) == NULL) fprintf(stderr, "%s\n", call.text);
    CHECK(call.status == OXA_CALL_TIMED_OUT && strstr(call.text, words) != NULL);
    host_control()->free_text(call.text);
}

static void a_time_out_names_the_call_that_the_app_does_not_make(void) {
    OxaHost* host = new_host_with_budget(0);
    Probe a = {.name = "a"};
    add_probe(host, &a, 1);
    on_another_thread(call_late, "xrPollEvent on its main thread");
    on_another_thread(call_late, "no session is running");
    oxa_host_session_running(host, 1);
    oxa_host_session_running(host, 1);
    oxa_host_session_running(host, 0); /* the other one goes on */
    on_another_thread(call_late, "a session is running");
    on_another_thread(wait_frame_of, host);
    on_another_thread(call_late, "xrWaitFrame is on another thread");
    oxa_host_frame_begins_to_wait(host);
    on_another_thread(call_late, "inside xrWaitFrame");
    oxa_host_frame_waited(host);
    on_another_thread(call_late, "xrWaitFrame nor xrPollEvent");
    CHECK(a.runs == 0);
    oxa_host_destroy(host);
}

static void call_late_from_another_thread(Probe* probe) {
    (void)probe;
    on_another_thread(call_late, "busy still runs on the app's main thread");
}

static void a_time_out_names_the_tool_that_holds_the_main_thread(void) {
    OxaHost* host = new_host_with_budget(0);
    Probe a = {.name = "a"}, busy = {.name = "busy", .act = call_late_from_another_thread};
    add_probe(host, &a, 1);
    add_probe(host, &busy, 1);
    call_and_check("busy", OXA_CALL_DONE, "busy");
    oxa_host_destroy(host);
}

static void wait_for_gate(Probe* probe) { WAIT_UNTIL(atomic_load(&probe->gate)); }

static void the_late_result_of_a_running_call_is_dropped(void) {
    OxaHost* host = new_host();
    Probe slow = {.name = "slow", .act = wait_for_gate};
    Answer answer = {0};
    add_probe(host, &slow, 0);
    OxaCall* call = submit(host, "slow", -1, &answer);
    WAIT_UNTIL(atomic_load(&slow.thread) != 0);
    oxa_call_withdraw(host, call, OXA_CALL_TIMED_OUT);
    CHECK(answer.count == 1 && answer.status == OXA_CALL_TIMED_OUT && strstr(answer.text, "still runs") != NULL);
    atomic_store(&slow.gate, 1);
    WAIT_UNTIL(statistic(host, "calls") == 1);
    oxa_call_release(call);
    oxa_host_destroy(host);
    CHECK(answer.count == 1 && answer.status == OXA_CALL_TIMED_OUT && slow.runs == 1);
}

/* ---- other threads */

static void a_blocked_worker_blocks_nothing_else(void) {
    OxaHost* host = new_host_with_budget(ALL_CALLS);
    Probe slow = {.name = "slow", .act = wait_for_gate}, quick = {.name = "quick"}, main_tool = {.name = "main"};
    Answer slow_answers[OXA_MAX_WORKERS - 1] = {{0}}, main_answer = {0};
    add_probe(host, &slow, 0);
    add_probe(host, &quick, 0);
    add_probe(host, &main_tool, 1);
    for (uint32_t i = 0; i < OXA_MAX_WORKERS - 1; ++i) submit_and_forget(host, "slow", &slow_answers[i]);
    for (int i = 0; i < 20; ++i) call_and_check("quick", OXA_CALL_DONE, "quick");
    CHECK(quick.thread != oxa_thread_number());
    submit_and_forget(host, "main", &main_answer);
    oxa_host_wait_frame(host);
    CHECK(main_answer.count == 1);
    for (uint32_t i = 0; i < OXA_MAX_WORKERS - 1; ++i) CHECK(slow_answers[i].count == 0);
    CHECK(statistic(host, "threads") == OXA_MAX_WORKERS);
    atomic_store(&slow.gate, 1);
    for (uint32_t i = 0; i < OXA_MAX_WORKERS - 1; ++i) WAIT_UNTIL(slow_answers[i].count == 1);
    oxa_host_destroy(host);
}

static void a_named_thread_is_kept(void) {
    OxaHost* host = new_host();
    Probe a = {.name = "a"};
    add_probe(host, &a, 1);
    uint64_t threads[3];
    const char* const names[] = {"one", "two", "one"};
    for (int i = 0; i < 3; ++i) {
        OxaAgentCall call;
        memset(&call, 0, sizeof call);
        call.tool = "a";
        call.thread = names[i];
        CHECK(host_control()->call(XR_NULL_HANDLE, &call) == XR_SUCCESS && call.status == OXA_CALL_DONE);
        host_control()->free_text(call.text);
        threads[i] = a.thread;
    }
    CHECK(threads[0] == threads[2] && threads[0] != threads[1] && threads[0] != oxa_thread_number());
    oxa_host_destroy(host);
}

/* ---- bounds */

static void too_many_waiting_calls_are_refused(void) {
    OxaHost* host = new_host();
    Probe a = {.name = "a"};
    Answer waiting = {0}, refused = {0};
    add_probe(host, &a, 1);
    for (uint32_t i = 0; i < OXA_MAX_WAITING_CALLS; ++i) submit_and_forget(host, "a", &waiting);
    submit_and_forget(host, "a", &refused);
    CHECK(refused.count == 1 && refused.status == OXA_CALL_REFUSED && strstr(refused.text, "1024 calls") != NULL);
    CHECK(waiting.count == 0);
    oxa_host_destroy(host);
    CHECK(waiting.count == (int)OXA_MAX_WAITING_CALLS && waiting.status == OXA_CALL_CLOSING && a.runs == 0);
}

static void too_many_bytes_of_arguments_are_refused(void) {
    OxaHost* host = new_host();
    Probe a = {.name = "a"};
    Answer waiting = {0}, refused = {0};
    add_probe(host, &a, 1);
    size_t bytes = OXA_MAX_WAITING_BYTES - 1;
    char* text = malloc(bytes + 1);
    CHECK(text != NULL);
    memset(text, ' ', bytes);
    text[bytes] = 0;
    OxaCall* call = oxa_call_new(oxa_tool_named(&host->tools, "a", 1), text, bytes, -1);
    call->client = &waiting;
    call->deliver = deliver_answer;
    oxa_call_submit(host, call, &host->main);
    oxa_call_release(call);
    free(text);
    submit_and_forget(host, "a", &refused);
    CHECK(waiting.count == 0 && refused.count == 1 && refused.status == OXA_CALL_REFUSED);
    oxa_host_destroy(host);
}

int main(void) {
    RUN(a_frame_runs_all_calls_within_the_budget_in_order);
    RUN(what_is_over_the_budget_waits_for_the_next_frames);
    RUN(without_a_session_polling_runs_calls_once_per_display_period);
    RUN(in_a_session_with_frames_polling_runs_nothing);
    RUN(in_a_session_without_frames_polling_runs_calls);
    RUN(a_session_that_stops_making_frames_has_calls_run_by_polling);
    RUN(an_impossible_display_period_is_not_believed);
    RUN(polling_runs_calls_when_frames_are_on_another_thread);
    RUN(a_call_from_the_main_thread_runs_at_once_in_its_turn);
    RUN(a_pump_inside_a_tool_runs_nothing_and_a_call_runs_directly);
    RUN(a_call_that_is_too_late_never_runs);
    RUN(a_cancelled_call_never_runs);
    RUN(a_time_out_names_the_call_that_the_app_does_not_make);
    RUN(a_time_out_names_the_tool_that_holds_the_main_thread);
    RUN(the_late_result_of_a_running_call_is_dropped);
    RUN(a_blocked_worker_blocks_nothing_else);
    RUN(a_named_thread_is_kept);
    RUN(too_many_waiting_calls_are_refused);
    RUN(too_many_bytes_of_arguments_are_refused);
    return 0;
}
