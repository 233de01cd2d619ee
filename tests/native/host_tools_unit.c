/* Registration, the two-call idiom, options, faults. */
#include "host_unit.h"

/* ---- registration */

static OxaToolParameter parameter(const char* name) {
    OxaToolParameter result;
    memset(&result, 0, sizeof result);
    result.type = OXA_TYPE_TOOL_PARAMETER;
    snprintf(result.paramName, sizeof result.paramName, "%s", name);
    result.paramType = OXA_PARAMETER_TYPE_STRING;
    result.isRequired = XR_TRUE;
    return result;
}

static void registration_copies_everything(void) {
    OxaHost* host = new_host();
    OxaToolParameter parameters[3] = {parameter("text"), parameter("list"), parameter("shape")};
    parameters[1].paramType = OXA_PARAMETER_TYPE_ARRAY;
    parameters[1].arrayItemType = OXA_PARAMETER_TYPE_NUMBER;
    parameters[1].isRequired = XR_FALSE;
    parameters[2].paramType = OXA_PARAMETER_TYPE_OBJECT;
    strcpy(parameters[2].objectProperties, "{\"type\":\"object\"}");
    parameters[0].arrayItemType = (XrAgenticExternalToolParameterTypeMETAX1)77; /* not read: no array */
    memset(parameters[0].objectProperties, 'x', sizeof parameters[0].objectProperties);
    OxaToolRegisterInfo info = register_info("tool", 1, probe_callback, &info);
    info.toolParameterCount = 3;
    info.toolParameters = parameters;
    CHECK(oxa_host_register_tool(host, &info) == XR_SUCCESS);
    memset(parameters, 0xEE, sizeof parameters);
    memset(info.toolName, 0xEE, sizeof info.toolName);

    OxaToolDescription tool;
    uint32_t count = 0;
    CHECK(host_control()->tool_count(XR_NULL_HANDLE, &count) == XR_SUCCESS && count == 1);
    CHECK(host_control()->tool(host->instance, 0, &tool) == XR_SUCCESS);
    CHECK(host_control()->tool(host->instance, 1, &tool) == XR_ERROR_VALIDATION_FAILURE);
    CHECK(strcmp(tool.name, "tool") == 0 && strcmp(tool.description, "Description of tool") == 0);
    CHECK(tool.main_thread == 1 && tool.user_data == &info && tool.parameter_count == 3);
    CHECK(tool.parameters[0].type == 0 && tool.parameters[0].required == 1 && tool.parameters[0].item_type == -1);
    CHECK(tool.parameters[0].object_properties[0] == 0);
    CHECK(tool.parameters[1].type == 3 && tool.parameters[1].required == 0 && tool.parameters[1].item_type == 1);
    CHECK(strcmp(tool.parameters[2].object_properties, "{\"type\":\"object\"}") == 0);
    oxa_host_destroy(host);
}

static OxaHost* strict_host;
static OxaToolParameter strict_parameters[2];

static OxaToolRegisterInfo good_info(void) {
    strict_parameters[0] = parameter("one");
    strict_parameters[1] = parameter("two");
    OxaToolRegisterInfo info = register_info("good", 1, probe_callback, NULL);
    info.toolParameterCount = 2;
    info.toolParameters = strict_parameters;
    return info;
}

#define REFUSED(change)                                                                   \
    do {                                                                                  \
        OxaToolRegisterInfo info = good_info();                                           \
        OxaToolParameter* first = strict_parameters;                                      \
        (void)first;                                                                      \
        change;                                                                           \
        CHECK(oxa_host_register_tool(strict_host, &info) == XR_ERROR_VALIDATION_FAILURE); \
    } while (0)

static void registration_refuses_what_is_wrong(void) {
    strict_host = new_host();
    int anything = 0;
    CHECK(oxa_host_register_tool(strict_host, NULL) == XR_ERROR_VALIDATION_FAILURE);
    REFUSED(info.type = XR_TYPE_UNKNOWN);
    REFUSED(info.next = &anything);
    REFUSED(info.toolName[0] = 0);
    REFUSED(memset(info.toolName, 'x', sizeof info.toolName));
    REFUSED(strcpy(info.toolName, "\xC3"));
    REFUSED(memset(info.toolDescription, 'x', sizeof info.toolDescription));
    REFUSED(strcpy(info.toolDescription, "\xED\xA0\x80"));
    REFUSED(info.toolCallback = NULL);
    REFUSED(info.toolCallbackInfoFlags |= 0x10);
    REFUSED(info.toolParameters = NULL);
    REFUSED(info.toolParameterCount = OXA_MAX_PARAMETERS + 1);
    REFUSED(first->type = XR_TYPE_UNKNOWN);
    REFUSED(first->next = &anything);
    REFUSED(first->paramName[0] = 0);
    REFUSED(memset(first->paramName, 'x', sizeof first->paramName));
    REFUSED(strcpy(first->paramName, "two"));
    REFUSED(memset(first->paramDescription, 'x', sizeof first->paramDescription));
    REFUSED(first->paramType = (XrAgenticExternalToolParameterTypeMETAX1)5);
    REFUSED(first->isRequired = 2);
    REFUSED(first->paramType = OXA_PARAMETER_TYPE_ARRAY;
            first->arrayItemType = (XrAgenticExternalToolParameterTypeMETAX1)-1);
    REFUSED(first->paramType = OXA_PARAMETER_TYPE_OBJECT;
            memset(first->objectProperties, 'x', sizeof first->objectProperties));

    OxaToolRegisterInfo info = good_info();
    CHECK(oxa_host_register_tool(strict_host, &info) == XR_SUCCESS);
    CHECK(oxa_host_register_tool(strict_host, &info) == XR_ERROR_VALIDATION_FAILURE);
    oxa_host_destroy(strict_host);
}

static void names_of_63_bytes_are_accepted(void) {
    OxaHost* host = new_host();
    OxaToolRegisterInfo info = register_info("", 0, probe_callback, NULL);
    memset(info.toolName, 'n', OXA_NAME_SIZE - 1);
    memset(info.toolDescription, 'd', OXA_DESCRIPTION_SIZE - 1);
    CHECK(oxa_host_register_tool(host, &info) == XR_SUCCESS);
    oxa_host_destroy(host);
}

static void numbers_can_be_corrected_for_later_instances(void) {
    OxaHost* before = new_host();
    CHECK(host_control()->set_number("XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1", 1000123001) == 0);
    CHECK(host_control()->set_number("XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO", 1) == -1);
    OxaHost* after = new_host();
    OxaToolRegisterInfo info = register_info("tool", 0, probe_callback, NULL);
    CHECK(oxa_host_register_tool(before, &info) == XR_SUCCESS);
    CHECK(oxa_host_register_tool(after, &info) == XR_ERROR_VALIDATION_FAILURE);
    info.type = (XrStructureType)1000123001;
    CHECK(oxa_host_register_tool(after, &info) == XR_SUCCESS);
    host_control()->reset();
    oxa_host_destroy(after);
    oxa_host_destroy(before);
}

/* ---- the two-call idiom, with callbacks that get it wrong */

typedef struct Script {
    XrResult query_result;
    uint32_t query_count;
    const char* bytes; /* what the fill writes */
    uint32_t written;
    XrResult fill_result;
    uint32_t fill_count;
    uint32_t growth; /* added to the wanted size by each refused fill */
    uint32_t refusals;
    char seen[32]; /* arguments */
} Script;

static XrResult XRAPI_CALL scripted(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                    void* user_data) {
    Script* script = user_data;
    snprintf(script->seen, sizeof script->seen, "%s", arguments == NULL ? "(NULL)" : arguments);
    if (buffer == NULL) {
        *count = script->query_count;
        return script->query_result;
    }
    if (script->refusals > 0) {
        --script->refusals;
        *count = capacity + script->growth;
        return XR_ERROR_SIZE_INSUFFICIENT;
    }
    memcpy(buffer, script->bytes, script->written < capacity ? script->written : capacity);
    *count = script->fill_count;
    return script->fill_result;
}

static OxaOutcome play(Script script) {
    OxaOutcome outcome;
    char arguments[] = "{\"a\":1}";
    oxa_invoke(scripted, &script, arguments, &outcome);
    CHECK(strcmp(script.seen, "{\"a\":1}") == 0);
    /* Nobody can read them after the exchange. */
    CHECK(memcmp(arguments, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8) == 0);
    return outcome;
}

static void play_and_check(Script script, int32_t status, const char* text, uint32_t c_calls) {
    OxaOutcome outcome = play(script);
    if (outcome.status != status || strstr(outcome.text, text) == NULL) fprintf(stderr, "%s\n", outcome.text);
    CHECK(outcome.status == status && outcome.c_calls == c_calls);
    CHECK(strstr(outcome.text, text) != NULL && strlen(outcome.text) == outcome.text_bytes);
    free(outcome.text);
}

#define DONE OXA_CALL_DONE
#define BROKEN OXA_CALL_FAILED
#define INSUFFICIENT XR_ERROR_SIZE_INSUFFICIENT

static void an_exact_exchange_gives_the_text(void) {
    play_and_check((Script){.query_count = 4, .bytes = "abc", .written = 4, .fill_count = 4}, DONE, "abc", 2);
    play_and_check((Script){.query_count = 1, .bytes = "", .written = 1, .fill_count = 1}, DONE, "", 2);
    play_and_check((Script){.query_count = 3, .bytes = "\xC3\xA9", .written = 3, .fill_count = 3}, DONE, "\xC3\xA9", 2);
}

static void a_size_query_may_answer_size_insufficient(void) {
    play_and_check(
        (Script){.query_result = INSUFFICIENT, .query_count = 4, .bytes = "abc", .written = 4, .fill_count = 4}, DONE,
        "abc", 2);
}

static void a_result_may_be_shorter_than_announced(void) {
    play_and_check((Script){.query_count = 100, .bytes = "abc", .written = 4, .fill_count = 4}, DONE, "abc", 2);
}

static void a_result_that_grew_is_asked_for_again(void) {
    play_and_check(
        (Script){.query_count = 2, .growth = 1, .refusals = 2, .bytes = "abc", .written = 4, .fill_count = 4}, DONE,
        "abc", 4);
}

static void a_result_that_never_fits_ends(void) {
    play_and_check((Script){.query_count = 2, .growth = 1, .refusals = 1000}, BROKEN, "times in a row", 9);
    play_and_check((Script){.query_count = 2, .growth = 0, .refusals = 1000}, BROKEN, "too few", 2);
}

static void broken_answers_fail_in_words(void) {
    play_and_check((Script){.query_count = 0}, BROKEN, "no size", 1);
    play_and_check((Script){.query_count = 0x7FFFFFFF}, BROKEN, "2147483647 bytes", 1);
    play_and_check((Script){.query_result = XR_ERROR_RUNTIME_FAILURE, .query_count = 4}, BROKEN, "XrResult -2", 1);
    play_and_check((Script){.query_result = XR_TIMEOUT_EXPIRED, .query_count = 4}, BROKEN, "XrResult 1", 1);
    play_and_check((Script){.query_count = 4, .bytes = "", .fill_result = XR_ERROR_RUNTIME_FAILURE}, BROKEN, "-2", 2);
    play_and_check((Script){.query_count = 4, .bytes = "abc", .written = 4, .fill_count = 0}, BROKEN, "wrote 0", 2);
    play_and_check((Script){.query_count = 4, .bytes = "abc", .written = 4, .fill_count = 9}, BROKEN, "of 4", 2);
    play_and_check((Script){.query_count = 4, .bytes = "abcd", .written = 4, .fill_count = 4}, BROKEN, "end in a NUL",
                   2);
    play_and_check((Script){.query_count = 4, .bytes = "a\0c", .written = 4, .fill_count = 4}, BROKEN, "NUL after 1",
                   2);
    play_and_check((Script){.query_count = 4, .bytes = "\xFF\xFF\xFF", .written = 4, .fill_count = 4}, BROKEN, "UTF-8",
                   2);
}

static void only_shortest_utf8_without_surrogates_is_valid(void) {
    static const char* const valid[] = {"",
                                        "plain text, longer than eight bytes",
                                        "\xC2\x80",
                                        "\xDF\xBF",
                                        "\xE0\xA0\x80",
                                        "\xED\x9F\xBF",
                                        "\xEE\x80\x80",
                                        "\xF0\x90\x80\x80",
                                        "\xF4\x8F\xBF\xBF"};
    static const char* const invalid[] = {"\x80",
                                          "\xC0\x80",
                                          "\xC1\xBF",
                                          "\xE0\x9F\xBF",
                                          "\xED\xA0\x80",
                                          "\xF0\x8F\xBF\xBF",
                                          "\xF4\x90\x80\x80",
                                          "\xF5\x80\x80\x80",
                                          "\xC2",
                                          "\xE1\x80",
                                          "12345678\xF1\x80\x80"};
    for (size_t i = 0; i < sizeof valid / sizeof *valid; ++i) CHECK(oxa_is_utf8(valid[i], strlen(valid[i])));
    for (size_t i = 0; i < sizeof invalid / sizeof *invalid; ++i) CHECK(!oxa_is_utf8(invalid[i], strlen(invalid[i])));
}

/* ---- raw calls */

static OxaRawCall raw_call(Script* script, uint32_t capacity) {
    OxaRawCall raw;
    OxaToolCallback callback = scripted;
    memset(&raw, 0, sizeof raw);
    memcpy(&raw.callback, &callback, sizeof callback);
    raw.user_data = script;
    raw.capacity = capacity;
    return raw;
}

static void a_raw_call_needs_no_instance_and_watches_the_buffer(void) {
    Script script = {.bytes = "abc", .written = 4, .fill_count = 4};
    OxaRawCall raw = raw_call(&script, 10);
    CHECK(host_control()->raw_call(XR_NULL_HANDLE, &raw) == XR_SUCCESS);
    CHECK(raw.result == XR_SUCCESS && raw.count == 4 && raw.written == 4 && !raw.beyond);
    CHECK(memcmp(raw.buffer, "abc", 4) == 0 && strcmp(script.seen, "(NULL)") == 0);
    host_control()->free_text(raw.buffer);

    raw = raw_call(&script, 10);
    raw.null_buffer = 1;
    CHECK(host_control()->raw_call(XR_NULL_HANDLE, &raw) == XR_SUCCESS && raw.buffer == NULL && raw.count == 0);
    raw.thread = "kept";
    CHECK(host_control()->raw_call(XR_NULL_HANDLE, &raw) == XR_ERROR_HANDLE_INVALID);
}

static XrResult XRAPI_CALL overrunning(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                       void* user_data) {
    (void)arguments;
    (void)user_data;
    buffer[capacity] = 'x';
    CHECK(count == NULL);
    return XR_SUCCESS;
}

static void a_raw_call_finds_a_write_behind_the_buffer(void) {
    OxaRawCall raw = raw_call(NULL, 8);
    OxaToolCallback callback = overrunning;
    memcpy(&raw.callback, &callback, sizeof callback);
    raw.null_count = 1;
    CHECK(host_control()->raw_call(XR_NULL_HANDLE, &raw) == XR_SUCCESS);
    CHECK(raw.beyond == 1 && raw.written == 0 && raw.count == OXA_COUNT_UNTOUCHED);
    host_control()->free_text(raw.buffer);
}

/* ---- options and faults */

static void options_are_checked_and_reset(void) {
    CHECK(host_control()->set_option("no_such_option", 1) == -1);
    CHECK(host_control()->set_option("offer_extension", 2) == -1);
    CHECK(host_control()->set_option("pump_budget_ns", 5) == 0 && oxa_option("pump_budget_ns") == 5);
    host_control()->reset();
    CHECK(oxa_option("pump_budget_ns") == 2000000 && oxa_option("offer_extension") == 1);
}

/* Empty is as good as unset. */
static void set_budget(const char* milliseconds) {
#if defined(_WIN32)
    _putenv_s("OPENXR_AGENTIC_PUMP_BUDGET_MS", milliseconds);
#else
    setenv("OPENXR_AGENTIC_PUMP_BUDGET_MS", milliseconds, 1);
#endif
}

static void the_environment_sets_the_default_budget(void) {
    static const char* const bad[] = {"x", "-1", "1e9", "nan", "2 ms"};
    set_budget("0.5");
    CHECK(oxa_option("pump_budget_ns") == 500000);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        set_budget(bad[i]);
        CHECK(oxa_option("pump_budget_ns") == 2000000);
    }
    set_budget("");
}

static void faults_strike_as_often_as_armed(void) {
    static const char* const functions[] = {"xrWaitFrame", "xrPollEvent"};
    XrResult result = XR_SUCCESS;
    oxa_faults_know(functions, 2);
    oxa_faults_know(functions, 2);
    CHECK(host_control()->fail("xrNoSuchFunction", XR_ERROR_RUNTIME_FAILURE, 1, 0) == -1);
    CHECK(host_control()->fail("xrWaitFrame", XR_ERROR_RUNTIME_FAILURE, 2, 0) == 0);
    CHECK(!oxa_fault("xrPollEvent", &result) && !oxa_fault_lookup("xrWaitFrame", &result));
    CHECK(oxa_fault("xrWaitFrame", &result) && result == XR_ERROR_RUNTIME_FAILURE);
    CHECK(oxa_fault("xrWaitFrame", &result) && !oxa_fault("xrWaitFrame", &result));
    CHECK(host_control()->function_calls("xrWaitFrame") == 3);
    CHECK(host_control()->fail("xrPollEvent", XR_ERROR_HANDLE_INVALID, 1, 1) == 0);
    CHECK(!oxa_fault("xrPollEvent", &result));
    CHECK(oxa_fault_lookup("xrPollEvent", &result) && result == XR_ERROR_HANDLE_INVALID);
    CHECK(host_control()->fail("xrPollEvent", XR_ERROR_HANDLE_INVALID, 9, 0) == 0);
    host_control()->reset();
    CHECK(!oxa_fault("xrPollEvent", &result));
}

static void the_newest_instance_stands_for_null(void) {
    CHECK(host_control()->statistic(XR_NULL_HANDLE, "calls") == -1);
    OxaHost* older = new_host();
    OxaHost* newer = new_host();
    XrInstance instances[2] = {XR_NULL_HANDLE, XR_NULL_HANDLE};
    CHECK(host_control()->instances(instances, 1) == 2 && instances[0] == older->instance);
    CHECK(host_control()->instances(instances, 2) == 2 && instances[1] == newer->instance);
    Probe probe = {.name = "newer"};
    add_probe(newer, &probe, 1);
    call_and_check("newer", OXA_CALL_DONE, "newer");
    call_and_check("missing", OXA_CALL_UNKNOWN_TOOL, "missing");
    CHECK(host_control()->statistic(newer->instance, "calls") == 1);
    CHECK(host_control()->statistic(newer->instance, "no such") == -1);
    oxa_host_destroy(newer);
    uint32_t count = 9;
    CHECK(host_control()->tool_count(XR_NULL_HANDLE, &count) == XR_SUCCESS && count == 0);
    oxa_host_destroy(older);
    CHECK(host_control()->tool_count(XR_NULL_HANDLE, &count) == XR_ERROR_HANDLE_INVALID);
}

int main(void) {
    RUN(registration_copies_everything);
    RUN(registration_refuses_what_is_wrong);
    RUN(names_of_63_bytes_are_accepted);
    RUN(numbers_can_be_corrected_for_later_instances);
    RUN(an_exact_exchange_gives_the_text);
    RUN(a_size_query_may_answer_size_insufficient);
    RUN(a_result_may_be_shorter_than_announced);
    RUN(a_result_that_grew_is_asked_for_again);
    RUN(a_result_that_never_fits_ends);
    RUN(broken_answers_fail_in_words);
    RUN(only_shortest_utf8_without_surrogates_is_valid);
    RUN(a_raw_call_needs_no_instance_and_watches_the_buffer);
    RUN(a_raw_call_finds_a_write_behind_the_buffer);
    RUN(options_are_checked_and_reset);
    RUN(the_environment_sets_the_default_budget);
    RUN(faults_strike_as_often_as_armed);
    RUN(the_newest_instance_stands_for_null);
    return 0;
}
