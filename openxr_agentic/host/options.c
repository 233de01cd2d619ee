/* Options and numbers for hosts that are created from now on. Each is one
 * atomic: a test sets them while nothing else runs, and a fork() cannot leave
 * a lock behind. */
#include "core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SET INT64_MIN
#define SECOND INT64_C(1000000000)

typedef struct Option {
    const char* name;
    int64_t lowest;
    int64_t highest;
    int64_t otherwise;
    atomic_llong value;
} Option;

static Option options[] = {
    {"offer_extension", 0, 1, 1, NOT_SET},
    {"destroy_waits", 0, 1, 0, NOT_SET},
    {"pump_budget_ns", 0, 10 * SECOND, 2000000, NOT_SET},
    {"display_period_ns", 1, 10 * SECOND, 11111111, NOT_SET},
};

static Option* option_named(const char* name) {
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) {
        if (strcmp(options[i].name, name) == 0) return &options[i];
    }
    return NULL;
}

static int64_t budget_of_environment(int64_t otherwise) {
    const char* text = getenv("OPENXR_AGENTIC_PUMP_BUDGET_MS");
    if (text == NULL || *text == 0) return otherwise;
    char* end;
    double milliseconds = strtod(text, &end);
    if (*end == 0 && isfinite(milliseconds) && milliseconds >= 0 && milliseconds <= 10000) {
        return (int64_t)(milliseconds * 1e6);
    }
    oxa_report("OPENXR_AGENTIC_PUMP_BUDGET_MS=%s is not a number of milliseconds from 0 to 10000; %g ms is used", text,
               (double)otherwise / 1e6);
    return otherwise;
}

static int64_t offer_of_environment(int64_t otherwise) {
    const char* text = getenv("OPENXR_AGENTIC_MOCK_EXTENSION");
    return text != NULL && strcmp(text, "0") == 0 ? 0 : otherwise;
}

int64_t oxa_option(const char* name) {
    Option* option = option_named(name);
    if (option == NULL) return -1;
    int64_t value = atomic_load(&option->value);
    if (value != NOT_SET) return value;
    if (strcmp(name, "pump_budget_ns") == 0) return budget_of_environment(option->otherwise);
    if (strcmp(name, "offer_extension") == 0) return offer_of_environment(option->otherwise);
    return option->otherwise;
}

int32_t oxa_options_set(const char* name, int64_t value) {
    Option* option = name == NULL ? NULL : option_named(name);
    if (option == NULL || value < option->lowest || value > option->highest) return -1;
    atomic_store(&option->value, value);
    return 0;
}

typedef struct Number {
    const char* name; /* always with the suffix METAX1, whatever the header's is */
    int64_t of_header;
    atomic_llong value;
} Number;

#define ENTRY(name, of_header) {name, (int64_t)(of_header), NOT_SET}
#define PREFIX "XR_AGENTIC_EXTERNAL_TOOL_"

enum {
    PARAMETER_STRUCTURE,
    REGISTER_INFO_STRUCTURE,
    TYPE_STRING,
    TYPE_NUMBER,
    TYPE_BOOLEAN,
    TYPE_ARRAY,
    TYPE_OBJECT,
    MAIN_THREAD_BIT
};

static Number numbers[] = {
    [PARAMETER_STRUCTURE] = ENTRY("XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1", OXA_TYPE_TOOL_PARAMETER),
    [REGISTER_INFO_STRUCTURE] =
        ENTRY("XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1", OXA_TYPE_TOOL_REGISTER_INFO),
    [TYPE_STRING] = ENTRY(PREFIX "PARAMETER_TYPE_STRING_METAX1", OXA_PARAMETER_TYPE_STRING),
    [TYPE_NUMBER] = ENTRY(PREFIX "PARAMETER_TYPE_NUMBER_METAX1", OXA_PARAMETER_TYPE_NUMBER),
    [TYPE_BOOLEAN] = ENTRY(PREFIX "PARAMETER_TYPE_BOOLEAN_METAX1", OXA_PARAMETER_TYPE_BOOLEAN),
    [TYPE_ARRAY] = ENTRY(PREFIX "PARAMETER_TYPE_ARRAY_METAX1", OXA_PARAMETER_TYPE_ARRAY),
    [TYPE_OBJECT] = ENTRY(PREFIX "PARAMETER_TYPE_OBJECT_METAX1", OXA_PARAMETER_TYPE_OBJECT),
    [MAIN_THREAD_BIT] = ENTRY(PREFIX "CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1", OXA_MAIN_THREAD_BIT),
};

static int64_t number(int which) {
    int64_t value = atomic_load(&numbers[which].value);
    return value == NOT_SET ? numbers[which].of_header : value;
}

OxaNumbers oxa_numbers(void) {
    OxaNumbers now = {
        number(PARAMETER_STRUCTURE),
        number(REGISTER_INFO_STRUCTURE),
        {number(TYPE_STRING), number(TYPE_NUMBER), number(TYPE_BOOLEAN), number(TYPE_ARRAY), number(TYPE_OBJECT)},
        (uint64_t)number(MAIN_THREAD_BIT)};
    return now;
}

int32_t oxa_numbers_set(const char* name, int64_t value) {
    for (size_t i = 0; name != NULL && i < sizeof numbers / sizeof *numbers; ++i) {
        if (strcmp(numbers[i].name, name) != 0) continue;
        atomic_store(&numbers[i].value, value);
        return 0;
    }
    return -1;
}

void oxa_options_reset(void) {
    for (size_t i = 0; i < sizeof options / sizeof *options; ++i) atomic_store(&options[i].value, NOT_SET);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) atomic_store(&numbers[i].value, NOT_SET);
}
