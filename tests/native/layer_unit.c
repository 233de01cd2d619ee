/* The API layer by itself, over a runtime that records what reaches it. */
#include "layer_unit.h"

static int all_quiet(void) {
    unsigned waiting = 0;
    for (size_t i = 0; i < OXA_LAYER_MOST_INSTANCES; ++i) waiting += atomic_load(&oxa_layer_instances[i].main_waiting);
    return waiting == 0;
}

/* ---- negotiation */

static void a_loader_that_speaks_otherwise_is_refused(void) {
    XrNegotiateApiLayerRequest request = layer;
    const XrNegotiateLoaderInfo good = loader_info();
    XrNegotiateLoaderInfo info = good;
    CHECK(xrNegotiateLoaderApiLayerInterface(&info, OXA_LAYER_NAME, &request) == XR_SUCCESS);
    CHECK(xrNegotiateLoaderApiLayerInterface(&info, "XR_APILAYER_OTHER", &request) < 0);
    CHECK(xrNegotiateLoaderApiLayerInterface(NULL, OXA_LAYER_NAME, &request) < 0);
    CHECK(xrNegotiateLoaderApiLayerInterface(&info, OXA_LAYER_NAME, NULL) < 0);
    request.structSize -= 1;
    CHECK(xrNegotiateLoaderApiLayerInterface(&info, OXA_LAYER_NAME, &request) < 0);
    request = layer;
    info.structVersion = 2;
    CHECK(xrNegotiateLoaderApiLayerInterface(&info, OXA_LAYER_NAME, &request) < 0);
    info = good;
    info.minInterfaceVersion = info.maxInterfaceVersion = 2;
    CHECK(xrNegotiateLoaderApiLayerInterface(&info, OXA_LAYER_NAME, &request) < 0);
}

static void a_creation_that_is_not_for_us_is_refused(void) {
    const XrInstanceCreateInfo info = app_info(0);
    XrInstance instance;
    XrApiLayerNextInfo other = next_info("XR_APILAYER_OTHER", NULL);
    XrApiLayerCreateInfo create_info = {
        XR_LOADER_INTERFACE_STRUCT_API_LAYER_CREATE_INFO, 1, sizeof create_info, NULL, "", NULL};
    CHECK(layer.createApiLayerInstance(&info, &create_info, &instance) == XR_ERROR_INITIALIZATION_FAILED);
    create_info.nextInfo = &other;
    CHECK(layer.createApiLayerInstance(&info, &create_info, &instance) == XR_ERROR_INITIALIZATION_FAILED);
    CHECK(layer.createApiLayerInstance(&info, NULL, &instance) == XR_ERROR_INITIALIZATION_FAILED);
    CHECK(layer.createApiLayerInstance(NULL, &create_info, &instance) == XR_ERROR_INITIALIZATION_FAILED);
    CHECK(below.creations == 0);
}

/* ---- what goes down */

static void only_the_name_of_the_extension_is_kept_from_those_below(void) {
    XrInstanceCreateInfo info = app_info(3);
    XrBaseInStructure chained = {XR_TYPE_UNKNOWN, NULL};
    const char* layer_names[] = {"XR_APILAYER_SOME"};
    info.next = &chained;
    info.createFlags = 7;
    info.enabledApiLayerCount = 1;
    info.enabledApiLayerNames = layer_names;
    const XrInstanceCreateInfo before = info;
    XrInstance instance = OXA_HANDLE(XrInstance, 0x5);
    CHECK(create_over(NULL, &info, &instance) == XR_SUCCESS);
    CHECK(memcmp(&info, &before, sizeof info) == 0);
    CHECK(strcmp(app_names[1], OXA_EXTENSION_NAME) == 0);

    CHECK(below.creations == 1 && below.entry_was_null);
    CHECK(below.copy.next == &chained && below.copy.createFlags == 7 && below.copy.type == info.type);
    CHECK(below.copy.enabledApiLayerCount == 1 && below.copy.enabledApiLayerNames == layer_names);
    CHECK(memcmp(&below.copy.applicationInfo, &info.applicationInfo, sizeof info.applicationInfo) == 0);
    CHECK(below.copy.enabledExtensionCount == 2);
    CHECK(strcmp(below.names[0], "XR_FIRST_one") == 0 && strcmp(below.names[1], "XR_LAST_one") == 0);
    CHECK(destroy(instance) == XR_SUCCESS && below.destroyed == 1);
}

static void without_the_extension_nothing_is_changed_and_nothing_is_there(void) {
    const XrInstanceCreateInfo info = app_info(1);
    XrInstance instance;
    CHECK(create_over(NULL, &info, &instance) == XR_SUCCESS);
    CHECK(below.creations == 1 && below.info == &info);
    CHECK(look_up(instance, OXA_REGISTER_FUNCTION_NAME) == NULL);
    CHECK(look_up(instance, OXA_METADATA_FUNCTION_NAME) == NULL);
    CHECK(look_up(instance, "xrPollEvent") == (PFN_xrVoidFunction)below_poll);
    CHECK(look_up(instance, "xrWaitFrame") == (PFN_xrVoidFunction)below_wait);
    CHECK(host_control()->instances(NULL, 0) == 0);
    CHECK(destroy(instance) == XR_SUCCESS);
}

static void calls_that_the_host_need_not_see_are_those_belows_own(void) {
    XrInstance instance = serve();
    CHECK(look_up(instance, "xrLocateViews") == (PFN_xrVoidFunction)below_other);
    CHECK(look_up(instance, "xrPollEvent") == (PFN_xrVoidFunction)oxa_layer_xrPollEvent);
    CHECK(look_up(instance, "xrNothing") == NULL);
    CHECK(look_up(XR_NULL_HANDLE, "xrPollEvent") == NULL);
    CHECK(look_up(OXA_HANDLE(XrInstance, 0x77), "xrPollEvent") == NULL);
    CHECK(destroy(instance) == XR_SUCCESS);
    CHECK(look_up(instance, "xrPollEvent") == NULL);
}

/* ---- stepping aside */

static void a_host_below_has_the_whole_instance(const char* lower_layer) {
    const XrInstanceCreateInfo info = app_info(3);
    XrInstance instance;
    below.provides = 1;
    CHECK(create_over(lower_layer, &info, &instance) == XR_SUCCESS);
    CHECK(below.creations == 1 && below.info == &info);
    CHECK(look_up(instance, OXA_REGISTER_FUNCTION_NAME) == (PFN_xrVoidFunction)below_register);
    CHECK(look_up(instance, OXA_METADATA_FUNCTION_NAME) == NULL);
    CHECK(look_up(instance, "xrPollEvent") == (PFN_xrVoidFunction)below_poll);
    CHECK(host_control()->instances(NULL, 0) == 0);
    CHECK(destroy(instance) == XR_SUCCESS);
}

static void a_runtime_that_lists_the_extension_is_left_alone(void) {
    below.lists = 1;
    a_host_below_has_the_whole_instance(NULL);
}

static void a_lower_layer_that_takes_the_extension_is_left_alone(void) {
    a_host_below_has_the_whole_instance("XR_APILAYER_METAX_operator");
}

static void a_lower_layer_that_does_not_know_the_extension_gets_none(void) {
    const XrInstanceCreateInfo info = app_info(3);
    XrInstance instance;
    CHECK(create_over("XR_APILAYER_OTHER", &info, &instance) == XR_SUCCESS);
    CHECK(below.creations == 2 && below.entry_was_null && below.copy.enabledExtensionCount == 2);
    CHECK(look_up(instance, OXA_REGISTER_FUNCTION_NAME) != NULL);
    CHECK(destroy(instance) == XR_SUCCESS);
}

static void a_lower_layer_that_only_watches_never_sees_the_extension(void) {
    const XrInstanceCreateInfo info = app_info(3);
    XrInstance instance;
    CHECK(create_over("XR_APILAYER_LUNARG_core_validation", &info, &instance) == XR_SUCCESS);
    CHECK(below.creations == 1 && below.copy.enabledExtensionCount == 2);
    CHECK(look_up(instance, OXA_REGISTER_FUNCTION_NAME) != NULL);
    CHECK(destroy(instance) == XR_SUCCESS);
}

static void a_runtime_that_takes_any_name_does_not_provide_the_extension_by_that(void) {
    const XrInstanceCreateInfo info = app_info(3);
    XrInstance instance;
    below.lists = below.takes_any = 1;
    CHECK(create_over(NULL, &info, &instance) == XR_SUCCESS);
    CHECK(below.creations == 1);
    CHECK(look_up(instance, OXA_REGISTER_FUNCTION_NAME) != NULL);
    CHECK(host_control()->instances(NULL, 0) == 1);
    CHECK(destroy(instance) == XR_SUCCESS);
}

static void a_runtime_behind_a_layer_that_only_watches_is_asked(void) {
    below.lists = 1;
    a_host_below_has_the_whole_instance("XR_APILAYER_KHRONOS_best_practices_validation");
}

static void another_failure_of_those_below_is_the_apps(void) {
    const XrInstanceCreateInfo info = app_info(3);
    XrInstance instance;
    below.fails_create = XR_ERROR_RUNTIME_FAILURE;
    for (int i = 0; i < 2 * OXA_LAYER_MOST_INSTANCES; ++i) {
        CHECK(create_over(NULL, &info, &instance) == XR_ERROR_RUNTIME_FAILURE);
    }
    CHECK(below.creations == 2 * OXA_LAYER_MOST_INSTANCES);
    CHECK(create_over("XR_APILAYER_OTHER", &info, &instance) == XR_ERROR_RUNTIME_FAILURE);
    below.fails_create = XR_SUCCESS;
    CHECK(destroy(serve()) == XR_SUCCESS); /* no place was lost */
}

/* ---- instances and sessions */

static void a_failed_destruction_can_be_tried_again(void) {
    XrInstance instance = serve();
    below.fails_destroy = XR_ERROR_RUNTIME_FAILURE;
    CHECK(destroy(instance) == XR_ERROR_RUNTIME_FAILURE);
    CHECK(look_up(instance, "xrLocateViews") != NULL);
    below.fails_destroy = XR_SUCCESS;
    CHECK(destroy(instance) == XR_SUCCESS);
    CHECK(oxa_layer_xrDestroyInstance(instance) == XR_ERROR_HANDLE_INVALID);
    CHECK(below.destroyed == 1);
}

static void a_new_instance_has_no_calls_of_an_earlier_one_in_its_place(void) {
    atomic_store(&oxa_layer_instances[0].main_waiting, 3); /* as in a child that forked while calls waited */
    XrInstance instance = serve();
    CHECK(all_quiet());
    CHECK(destroy(instance) == XR_SUCCESS);
}

static void instances_at_once_are_bounded_and_their_places_are_used_again(void) {
    const XrInstanceCreateInfo info = app_info(3);
    XrInstance instances[OXA_LAYER_MOST_INSTANCES], one_more;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < OXA_LAYER_MOST_INSTANCES; ++i) instances[i] = serve();
        CHECK(host_control()->instances(NULL, 0) == OXA_LAYER_MOST_INSTANCES);
        CHECK(create_over(NULL, &info, &one_more) == XR_ERROR_LIMIT_REACHED);
        for (int i = 0; i < OXA_LAYER_MOST_INSTANCES; ++i) CHECK(destroy(instances[i]) == XR_SUCCESS);
    }
}

static void sessions_are_bounded_and_go_with_their_instance(void) {
    XrSession session;
    for (int round = 0; round < 3; ++round) {
        XrInstance instance = serve();
        below.sessions = 0;
        for (int i = 0; i < OXA_LAYER_MOST_SESSIONS; ++i) {
            CHECK(oxa_layer_xrCreateSession(instance, NULL, &session) == XR_SUCCESS);
        }
        CHECK(oxa_layer_xrWaitFrame(session, NULL, NULL) == XR_SUCCESS);
        XrSession one_more;
        CHECK(oxa_layer_xrCreateSession(instance, NULL, &one_more) == XR_ERROR_LIMIT_REACHED);
        CHECK(one_more == XR_NULL_HANDLE && below.sessions == OXA_LAYER_MOST_SESSIONS);
        CHECK(oxa_layer_xrDestroySession(session) == XR_SUCCESS);
        CHECK(oxa_layer_xrWaitFrame(session, NULL, NULL) == XR_ERROR_HANDLE_INVALID);
        CHECK(oxa_layer_xrDestroySession(session) == XR_ERROR_HANDLE_INVALID);
        CHECK(oxa_layer_xrCreateSession(instance, NULL, &session) == XR_SUCCESS);
        CHECK(destroy(instance) == XR_SUCCESS);
        CHECK(oxa_layer_xrWaitFrame(session, NULL, NULL) == XR_ERROR_HANDLE_INVALID);
        CHECK(oxa_layer_xrBeginSession(session, NULL) == XR_ERROR_HANDLE_INVALID);
        CHECK(oxa_layer_xrEndSession(session) == XR_ERROR_HANDLE_INVALID);
    }
}

/* ---- pumping */

static void the_display_period_is_learnt_from_the_runtimes_frames(void) {
    Probe probe = {.name = "tool"};
    XrInstance instance = serve();
    OxaHost* host = oxa_host_find(instance);
    XrFrameState state = {XR_TYPE_FRAME_STATE, NULL, 0, 0, 0};
    XrSession session;
    below.period = 1234567;
    add_probe(host, &probe, 1);
    CHECK(atomic_load(&host->display_period_ns) == oxa_option("display_period_ns"));
    CHECK(oxa_layer_xrCreateSession(instance, NULL, &session) == XR_SUCCESS);
    CHECK(oxa_layer_xrBeginSession(session, NULL) == XR_SUCCESS);
    CHECK(oxa_layer_xrWaitFrame(session, NULL, &state) == XR_SUCCESS);
    CHECK(oxa_layer_xrEndSession(session) == XR_SUCCESS);
    submit_and_forget(host, "tool", &(Answer){0});
    CHECK(oxa_layer_xrPollEvent(instance, NULL) == XR_EVENT_UNAVAILABLE);
    CHECK(atomic_load(&probe.runs) == 1);
    CHECK(atomic_load(&host->display_period_ns) == 1234567);
    oxa_host_release(host);
    CHECK(destroy(instance) == XR_SUCCESS);
}

static XrInstance of_tool;
static void destroy_own_instance(Probe* probe) {
    (void)probe;
    CHECK(destroy(of_tool) == XR_SUCCESS);
    CHECK(destroy(serve()) == XR_SUCCESS); /* another takes its place meanwhile */
}

static void what_a_tool_destroyed_is_not_called_below(void) {
    for (int in_session = 0; in_session < 2; ++in_session) {
        Probe probe = {.name = "tool", .act = destroy_own_instance};
        of_tool = serve();
        OxaHost* host = oxa_host_find(of_tool);
        XrSession session;
        Answer answer = {0};
        add_probe(host, &probe, 1);
        CHECK(oxa_layer_xrCreateSession(of_tool, NULL, &session) == XR_SUCCESS);
        if (in_session) CHECK(oxa_layer_xrBeginSession(session, NULL) == XR_SUCCESS);
        submit_and_forget(host, "tool", &answer);
        if (in_session) {
            CHECK(oxa_layer_xrWaitFrame(session, NULL, NULL) == XR_ERROR_HANDLE_INVALID);
        } else {
            CHECK(oxa_layer_xrPollEvent(of_tool, NULL) == XR_ERROR_HANDLE_INVALID);
        }
        CHECK(atomic_load(&below.waits) == 0 && atomic_load(&below.polls) == 0);
        CHECK(atomic_load(&answer.count) == 1);
        oxa_host_release(host);
    }
}

/* ---- many threads: an app that frames on one, polls on another and has agents on more */

#define CALLS_EACH 300
static atomic_int agents;
static atomic_int stop;

static void make_frames(void* argument) {
    XrSession session = argument;
    XrFrameState state = {XR_TYPE_FRAME_STATE, NULL, 0, 0, 0};
    while (!atomic_load(&stop)) {
        CHECK(oxa_layer_xrWaitFrame(session, NULL, &state) == XR_SUCCESS);
        oxa_sleep_ns(10000);
    }
}

static void be_agent(void* argument) {
    OxaHost* host = argument;
    for (int i = 0; i < CALLS_EACH; ++i) {
        Answer answer = {0};
        submit_and_forget(host, "tool", &answer);
        WAIT_UNTIL(atomic_load(&answer.count) == 1);
        CHECK(answer.status == OXA_CALL_DONE);
    }
    atomic_fetch_sub(&agents, 1);
}

static void an_app_may_frame_and_poll_on_different_threads(void) {
    Probe probe = {.name = "tool"};
    OxaThread threads[4];
    CHECK(host_control()->set_option("display_period_ns", 1) == 0);
    below.period = 1;
    XrInstance instance = serve();
    OxaHost* host = oxa_host_find(instance);
    XrSession session;
    add_probe(host, &probe, 1);
    CHECK(oxa_layer_xrCreateSession(instance, NULL, &session) == XR_SUCCESS);
    CHECK(oxa_layer_xrBeginSession(session, NULL) == XR_SUCCESS);
    atomic_store(&agents, 3);
    CHECK(oxa_thread_start(&threads[0], "frames", make_frames, session) == 0);
    for (int i = 1; i < 4; ++i) CHECK(oxa_thread_start(&threads[i], "agent", be_agent, host) == 0);
    while (atomic_load(&agents) > 0) {
        CHECK(oxa_layer_xrPollEvent(instance, NULL) == XR_EVENT_UNAVAILABLE);
        oxa_sleep_ns(1000);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 4; ++i) oxa_thread_join(threads[i]);
    CHECK(atomic_load(&probe.runs) == 3 * CALLS_EACH && atomic_load(&probe.thread) == oxa_thread_number());
    oxa_host_release(host);
    CHECK(destroy(instance) == XR_SUCCESS);
    host_control()->reset();
}

#define RUN_OVER(test)      \
    do {                    \
        reset_below();      \
        RUN(test);          \
        CHECK(all_quiet()); \
    } while (0)

int main(void) {
    CHECK(negotiate() == XR_SUCCESS);
    RUN_OVER(a_loader_that_speaks_otherwise_is_refused);
    RUN_OVER(a_creation_that_is_not_for_us_is_refused);
    RUN_OVER(only_the_name_of_the_extension_is_kept_from_those_below);
    RUN_OVER(without_the_extension_nothing_is_changed_and_nothing_is_there);
    RUN_OVER(calls_that_the_host_need_not_see_are_those_belows_own);
    RUN_OVER(a_runtime_that_lists_the_extension_is_left_alone);
    RUN_OVER(a_lower_layer_that_takes_the_extension_is_left_alone);
    RUN_OVER(a_lower_layer_that_does_not_know_the_extension_gets_none);
    RUN_OVER(a_runtime_that_takes_any_name_does_not_provide_the_extension_by_that);
    RUN_OVER(a_lower_layer_that_only_watches_never_sees_the_extension);
    RUN_OVER(a_runtime_behind_a_layer_that_only_watches_is_asked);
    RUN_OVER(another_failure_of_those_below_is_the_apps);
    RUN_OVER(a_failed_destruction_can_be_tried_again);
    RUN_OVER(a_new_instance_has_no_calls_of_an_earlier_one_in_its_place);
    RUN_OVER(instances_at_once_are_bounded_and_their_places_are_used_again);
    RUN_OVER(sessions_are_bounded_and_go_with_their_instance);
    RUN_OVER(the_display_period_is_learnt_from_the_runtimes_frames);
    RUN_OVER(what_a_tool_destroyed_is_not_called_below);
    RUN_OVER(an_app_may_frame_and_poll_on_different_threads);
    return 0;
}
