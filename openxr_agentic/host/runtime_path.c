/* Paths: each text gets a number, for the instance's life. */
#include "runtime.h"

#include <stdlib.h>

#define MAX_PATHS 65536u

XrResult oxa_two_call_text(uint32_t capacity, uint32_t* count, char* buffer, const char* text) {
    const size_t bytes = strlen(text) + 1;
    XrResult result = oxa_two_call(capacity, count, buffer, (uint32_t)bytes);
    if (result == XR_SUCCESS && capacity > 0) memcpy(buffer, text, bytes);
    return result;
}

static int is_path_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* One or more components, each after a slash, of those characters, and none of dots alone. */
static int is_well_formed(const char* text) {
    if (*text != '/') return 0;
    while (*text == '/') {
        const char* component = ++text;
        int only_dots = 1;
        for (; is_path_character(*text); text++) only_dots = only_dots && *text == '.';
        if (text == component || only_dots) return 0;
    }
    return *text == 0;
}

static XrResult add_path(OxaPathTable* paths, const char* text, size_t length) {
    OXA_REQUIRE(paths->count < MAX_PATHS, XR_ERROR_PATH_COUNT_EXCEEDED);
    if (paths->count == paths->capacity) {
        const uint32_t capacity = paths->capacity == 0 ? 64 : paths->capacity * 2;
        char** grown = realloc(paths->texts, capacity * sizeof *grown);
        OXA_REQUIRE(grown != NULL, XR_ERROR_OUT_OF_MEMORY);
        paths->texts = grown;
        paths->capacity = capacity;
    }
    char* copy = malloc(length + 1);
    OXA_REQUIRE(copy != NULL, XR_ERROR_OUT_OF_MEMORY);
    memcpy(copy, text, length + 1);
    paths->texts[paths->count++] = copy;
    return XR_SUCCESS;
}

void oxa_paths_free(OxaPathTable* paths) {
    for (uint32_t i = 0; i < paths->count; i++) free(paths->texts[i]);
    free(paths->texts);
    *paths = (OxaPathTable){0};
}

const char* oxa_path_text(const OxaInstance* instance, XrPath path) {
    if (path == XR_NULL_PATH || path > instance->paths.count) return NULL;
    return instance->paths.texts[path - 1];
}

int oxa_path_is_top_level_user(const char* text) {
    static const char* const known[] = {"/user/hand/left", "/user/hand/right", "/user/head", "/user/gamepad",
                                        "/user/treadmill"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(text, known[i]) == 0) return 1;
    }
    return 0;
}

XrResult oxa_xrStringToPath(XrInstance handle, const char* pathString, XrPath* path) {
    OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL, XR_ERROR_HANDLE_INVALID);
    OXA_REQUIRE(pathString != NULL && path != NULL, XR_ERROR_VALIDATION_FAILURE);
    const char* end = memchr(pathString, 0, XR_MAX_PATH_LENGTH);
    OXA_REQUIRE(end != NULL && is_well_formed(pathString), XR_ERROR_PATH_FORMAT_INVALID);

    OxaPathTable* paths = &instance->paths;
    for (uint32_t i = 0; i < paths->count; i++) {
        if (strcmp(paths->texts[i], pathString) == 0) {
            *path = i + 1;
            return XR_SUCCESS;
        }
    }
    XrResult result = add_path(paths, pathString, (size_t)(end - pathString));
    if (result == XR_SUCCESS) *path = paths->count;
    return result;
}

XrResult oxa_xrPathToString(XrInstance handle, XrPath path, uint32_t capacity, uint32_t* count, char* buffer) {
    const OxaInstance* instance = OXA_FIND_INSTANCE(handle);
    OXA_REQUIRE(instance != NULL, XR_ERROR_HANDLE_INVALID);
    const char* text = oxa_path_text(instance, path);
    OXA_REQUIRE(text != NULL, XR_ERROR_PATH_INVALID);
    return oxa_two_call_text(capacity, count, buffer, text);
}
