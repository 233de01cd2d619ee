/* Metadata of tools, and results marked as errors. */
#include "channel_frames.h"
#include "host_unit.h"

static const OxaToolMetadataInterface* metadata_interface(void) {
    const OxaToolMetadataInterface* found = NULL;
    CHECK(oxa_host_metadata(OXA_METADATA_VERSION, &found) == XR_SUCCESS && found != NULL);
    return found;
}

static XrResult set(OxaHost* host, const char* tool, const char* metadata) {
    return metadata_interface()->set(host->instance, tool, metadata);
}

static void check_metadata(OxaHost* host, uint32_t index, const char* expected) {
    char* text = NULL;
    CHECK(host_control()->metadata(host->instance, index, &text) == XR_SUCCESS);
    CHECK(strcmp(text, expected) == 0);
    host_control()->free_text(text);
}

static uint64_t revision_of(OxaHost* host) { return atomic_load(&host->tools.revision); }

static void only_a_version_that_is_spoken_is_given(void) {
    const OxaToolMetadataInterface* found = metadata_interface();
    CHECK(found->size == sizeof *found && found->version == OXA_METADATA_VERSION);
    CHECK(oxa_host_metadata(OXA_METADATA_VERSION + 1, &found) == XR_ERROR_API_VERSION_UNSUPPORTED && found == NULL);
}

/* ---- metadata */

static void metadata_is_copied_replaced_and_removed(void) {
    OxaHost* host = new_host();
    Probe a = {.name = "a"}, b = {.name = "b"};
    char text[] = "{\"title\":\"\xC3\x89\"}";
    add_probe(host, &a, 1);
    add_probe(host, &b, 1);
    check_metadata(host, 0, "");
    CHECK(set(host, "b", text) == XR_SUCCESS);
    memset(text, 'x', sizeof text - 1);
    check_metadata(host, 0, "");
    check_metadata(host, 1, "{\"title\":\"\xC3\x89\"}");
    CHECK(set(host, "b", "not JSON: the host does not care") == XR_SUCCESS);
    check_metadata(host, 1, "not JSON: the host does not care");
    CHECK(set(host, "b", NULL) == XR_SUCCESS);
    check_metadata(host, 1, "");
    char* none = NULL;
    CHECK(host_control()->metadata(host->instance, 2, &none) == XR_ERROR_VALIDATION_FAILURE && none == NULL);
    CHECK(host_control()->metadata(host->instance, 0, NULL) == XR_ERROR_VALIDATION_FAILURE);
    oxa_host_destroy(host);
}

static void metadata_that_cannot_be_passed_on_is_refused_and_changes_nothing(void) {
    OxaHost* host = new_host();
    Probe a = {.name = "a"};
    char* text = malloc(OXA_MAX_METADATA_BYTES + 2);
    CHECK(text != NULL);
    memset(text, ' ', OXA_MAX_METADATA_BYTES + 1);
    text[OXA_MAX_METADATA_BYTES] = 0;
    add_probe(host, &a, 1);
    CHECK(set(host, "a", text) == XR_SUCCESS);
    CHECK(set(host, "a", "{}") == XR_SUCCESS);
    uint64_t revision = revision_of(host);
    text[OXA_MAX_METADATA_BYTES] = ' ';
    text[OXA_MAX_METADATA_BYTES + 1] = 0;
    CHECK(set(host, "a", text) == XR_ERROR_VALIDATION_FAILURE);
    CHECK(set(host, "a", "\xED\xA0\x80") == XR_ERROR_VALIDATION_FAILURE);
    CHECK(set(host, "A", "{}") == XR_ERROR_VALIDATION_FAILURE);
    CHECK(set(host, "", NULL) == XR_ERROR_VALIDATION_FAILURE);
    CHECK(set(host, NULL, "{}") == XR_ERROR_VALIDATION_FAILURE);
    CHECK(metadata_interface()->set(XR_NULL_HANDLE, "a", "{}") == XR_ERROR_HANDLE_INVALID);
    check_metadata(host, 0, "{}");
    CHECK(revision_of(host) == revision);
    XrInstance instance = host->instance;
    oxa_host_destroy(host);
    CHECK(metadata_interface()->set(instance, "a", "{}") == XR_ERROR_HANDLE_INVALID);
    free(text);
}

static void only_a_difference_is_a_change(void) {
    OxaHost* host = new_host();
    Probe a = {.name = "a"};
    add_probe(host, &a, 1);
    uint64_t revision = revision_of(host);
    CHECK(set(host, "a", NULL) == XR_SUCCESS && set(host, "a", "") == XR_SUCCESS);
    CHECK(revision_of(host) == revision);
    CHECK(set(host, "a", "{}") == XR_SUCCESS && revision_of(host) == revision + 1);
    CHECK(set(host, "a", "{}") == XR_SUCCESS && revision_of(host) == revision + 1);
    CHECK(set(host, "a", "") == XR_SUCCESS && revision_of(host) == revision + 2);
    oxa_host_destroy(host);
}

static atomic_int setters_running;

static void keep_setting(void* argument) {
    OxaHost* host = argument;
    for (unsigned i = 0; i < 500; ++i) {
        char text[32];
        snprintf(text, sizeof text, "{\"title\":\"%u\"}", i);
        CHECK(set(host, i % 2 == 0 ? "a" : "b", i % 7 == 0 ? NULL : text) == XR_SUCCESS);
    }
    atomic_fetch_sub(&setters_running, 1);
}

static void metadata_may_change_while_tools_are_registered_and_listed(void) {
    enum { SETTERS = 3 };
    OxaThread threads[SETTERS];
    OxaHost* host = new_host();
    Probe a = {.name = "a"}, b = {.name = "b"};
    add_probe(host, &a, 1);
    add_probe(host, &b, 1);
    atomic_store(&setters_running, SETTERS);
    for (int i = 0; i < SETTERS; ++i) CHECK(oxa_thread_start(&threads[i], "setter", keep_setting, host) == 0);
    for (unsigned registered = 0; atomic_load(&setters_running) > 0; ++registered) {
        char name[32];
        OxaWriter frame;
        snprintf(name, sizeof name, "more_%u", registered);
        OxaToolRegisterInfo info = register_info(name, 1, probe_callback, &a);
        CHECK(oxa_host_register_tool(host, &info) == XR_SUCCESS);
        oxa_frame_list(&frame, 1, host);
        CHECK(!frame.broken);
        oxa_write_free(&frame);
        call_and_check("b", OXA_CALL_DONE, "b");
    }
    for (int i = 0; i < SETTERS; ++i) oxa_thread_join(threads[i]);
    oxa_host_destroy(host);
}

/* ---- marks */

static XrResult mark(OxaHost* host) { return metadata_interface()->mark_error(host->instance); }

/* A tool that marks its result in one of the calls of its callback. */
typedef struct Marker {
    OxaHost* host;
    int in_size_query;
    int in_fill;
} Marker;

static XrResult XRAPI_CALL marking(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                   void* user_data) {
    Marker* marker = user_data;
    (void)arguments;
    if (buffer == NULL ? marker->in_size_query : marker->in_fill) CHECK(mark(marker->host) == XR_SUCCESS);
    *count = 3;
    if (buffer != NULL) memcpy(buffer, "no", capacity < 3 ? capacity : 3);
    return XR_SUCCESS;
}

static void add_marker(Marker* marker, const char* name, int main_thread) {
    OxaToolRegisterInfo info = register_info(name, main_thread, marking, marker);
    CHECK(oxa_host_register_tool(marker->host, &info) == XR_SUCCESS);
}

static int call_says_error(const char* tool, const char* thread) {
    OxaAgentCall call;
    memset(&call, 0, sizeof call);
    call.tool = tool;
    call.thread = thread;
    call.error = 7;
    CHECK(host_control()->call(XR_NULL_HANDLE, &call) == XR_SUCCESS && call.status == OXA_CALL_DONE);
    host_control()->free_text(call.text);
    CHECK(call.error == 0 || call.error == 1);
    return call.error;
}

static void a_mark_in_either_call_of_the_callback_holds_for_the_agents_call(void) {
    OxaHost* host = new_host();
    Marker marker = {.host = host};
    add_marker(&marker, "main", 1);
    add_marker(&marker, "worker", 0);
    for (int in = 0; in < 4; ++in) {
        marker.in_size_query = in & 1;
        marker.in_fill = in >> 1;
        CHECK(call_says_error("main", NULL) == (in != 0));
        CHECK(call_says_error("worker", NULL) == (in != 0));
        CHECK(call_says_error("main", "kept") == (in != 0));
    }
    marker.in_size_query = marker.in_fill = 0;
    CHECK(!call_says_error("main", NULL) && !call_says_error("worker", NULL) && !call_says_error("main", "kept"));
    oxa_host_destroy(host);
}

static void a_call_of_an_unknown_tool_is_not_marked(void) {
    OxaHost* host = new_host();
    OxaAgentCall call;
    memset(&call, 0, sizeof call);
    call.tool = "missing";
    call.error = 7;
    CHECK(host_control()->call(XR_NULL_HANDLE, &call) == XR_SUCCESS && call.status == OXA_CALL_UNKNOWN_TOOL);
    CHECK(call.error == 0);
    host_control()->free_text(call.text);
    oxa_host_destroy(host);
}

static void call_marker(Probe* probe) {
    (void)probe;
    CHECK(call_says_error("marker", NULL) == 1);
}

static void call_probe_then_mark(Probe* probe) {
    CHECK(call_says_error("plain", NULL) == 0);
    CHECK(mark(probe->host) == XR_SUCCESS);
}

static void a_mark_is_that_of_the_innermost_call(void) {
    OxaHost* host = new_host();
    Probe outer = {.name = "outer", .act = call_marker}, plain = {.name = "plain"};
    Probe late = {.name = "late", .act = call_probe_then_mark};
    Marker marker = {.host = host, .in_fill = 1};
    add_probe(host, &outer, 1);
    add_probe(host, &plain, 1);
    add_probe(host, &late, 1);
    add_marker(&marker, "marker", 1);
    CHECK(call_says_error("outer", NULL) == 0);
    CHECK(call_says_error("late", NULL) == 1);
    oxa_host_destroy(host);
}

static void mark_out_of_order(void* host) { CHECK(mark(host) == XR_ERROR_CALL_ORDER_INVALID); }

static OxaHost* other_host;

static void mark_where_no_call_runs(Probe* probe) {
    OxaThread thread;
    CHECK(oxa_thread_start(&thread, "unit", mark_out_of_order, probe->host) == 0);
    oxa_thread_join(thread);
    mark_out_of_order(other_host);
    CHECK(metadata_interface()->mark_error(XR_NULL_HANDLE) == XR_ERROR_HANDLE_INVALID);
}

static void only_the_thread_of_a_call_can_mark_it(void) {
    other_host = new_host();
    OxaHost* host = new_host();
    Probe a = {.name = "a", .act = mark_where_no_call_runs};
    add_probe(host, &a, 1);
    mark_out_of_order(host);
    CHECK(call_says_error("a", NULL) == 0);
    mark_out_of_order(host);
    XrInstance instance = host->instance;
    oxa_host_destroy(host);
    oxa_host_destroy(other_host);
    CHECK(metadata_interface()->mark_error(instance) == XR_ERROR_HANDLE_INVALID);
}

static void destroy_and_mark(Probe* probe) {
    OxaHost* host = probe->host;
    oxa_host_destroy(host);
    CHECK(mark(host) == XR_SUCCESS);
    CHECK(set(host, "ending", "{}") == XR_ERROR_HANDLE_INVALID);
}

static void a_tool_that_destroyed_its_instance_can_still_mark_its_result(void) {
    OxaHost* host = new_host();
    Probe ending = {.name = "ending", .act = destroy_and_mark};
    add_probe(host, &ending, 1);
    CHECK(call_says_error("ending", NULL) == 1);
}

static void mark_late(Probe* probe) {
    WAIT_UNTIL(atomic_load(&probe->gate));
    CHECK(mark(probe->host) == XR_SUCCESS);
}

static void the_mark_of_a_late_result_is_dropped_with_it(void) {
    OxaHost* host = new_host();
    Probe slow = {.name = "slow", .act = mark_late};
    Answer answer = {0};
    add_probe(host, &slow, 0);
    OxaCall* call = submit(host, "slow", -1, &answer);
    WAIT_UNTIL(atomic_load(&slow.thread) != 0);
    oxa_call_withdraw(host, call, OXA_CALL_TIMED_OUT);
    atomic_store(&slow.gate, 1);
    WAIT_UNTIL(host_control()->statistic(host->instance, "calls") == 1);
    CHECK(call->outcome.status == OXA_CALL_TIMED_OUT && call->outcome.error == 0);
    oxa_call_release(call);
    oxa_host_destroy(host);
}

int main(void) {
    RUN(only_a_version_that_is_spoken_is_given);
    RUN(metadata_is_copied_replaced_and_removed);
    RUN(metadata_that_cannot_be_passed_on_is_refused_and_changes_nothing);
    RUN(only_a_difference_is_a_change);
    RUN(metadata_may_change_while_tools_are_registered_and_listed);
    RUN(a_mark_in_either_call_of_the_callback_holds_for_the_agents_call);
    RUN(a_call_of_an_unknown_tool_is_not_marked);
    RUN(a_mark_is_that_of_the_innermost_call);
    RUN(only_the_thread_of_a_call_can_mark_it);
    RUN(a_tool_that_destroyed_its_instance_can_still_mark_its_result);
    RUN(the_mark_of_a_late_result_is_dropped_with_it);
    return 0;
}
