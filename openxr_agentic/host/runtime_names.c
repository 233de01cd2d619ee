/* Texts for results and structure types. */
#include "runtime.h"

#include <stdio.h>

typedef struct OxaName {
    int32_t value;
    const char* name;
} OxaName;

#define OXA_NAME(name, value) {value, #name},
static const OxaName result_names[] = {OXA_CORE_RESULTS(OXA_NAME)};
static const OxaName structure_type_names[] = {OXA_CORE_STRUCTURE_TYPES(OXA_NAME)};
#undef OXA_NAME

static const char* find_name(const OxaName* names, size_t count, int32_t value) {
    for (size_t i = 0; i < count; i++) {
        if (names[i].value == value) return names[i].name;
    }
    return NULL;
}

XrResult oxa_xrResultToString(XrInstance instance, XrResult value, char* buffer) {
    OXA_REQUIRE(OXA_FIND_INSTANCE(instance) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(buffer != NULL, XR_ERROR_VALIDATION_FAILURE);
    const char* name = find_name(result_names, sizeof result_names / sizeof *result_names, (int32_t)value);
    if (name != NULL) {
        snprintf(buffer, XR_MAX_RESULT_STRING_SIZE, "%s", name);
    } else {
        snprintf(buffer, XR_MAX_RESULT_STRING_SIZE, "XR_UNKNOWN_%s_%d", XR_SUCCEEDED(value) ? "SUCCESS" : "FAILURE",
                 (int)value);
    }
    return XR_SUCCESS;
}

XrResult oxa_xrStructureTypeToString(XrInstance instance, XrStructureType value, char* buffer) {
    OXA_REQUIRE(OXA_FIND_INSTANCE(instance) != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(buffer != NULL, XR_ERROR_VALIDATION_FAILURE);
    const char* name =
        find_name(structure_type_names, sizeof structure_type_names / sizeof *structure_type_names, (int32_t)value);
    if (name != NULL) {
        snprintf(buffer, XR_MAX_STRUCTURE_NAME_SIZE, "%s", name);
    } else {
        snprintf(buffer, XR_MAX_STRUCTURE_NAME_SIZE, "XR_UNKNOWN_STRUCTURE_TYPE_%d", (int)value);
    }
    return XR_SUCCESS;
}
