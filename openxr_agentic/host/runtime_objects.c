/* Handles and the objects behind them.
 *
 * A handle is a serial number with a mark, never an address, and no number is
 * given twice: whatever an app passes in, stale, foreign or made up, is looked
 * up and not dereferenced. */
#include "runtime.h"

#include <stdlib.h>

#define HANDLE_MARK (UINT64_C(0x6F78) << 48)

/* Living objects in the order of their handles, since serial numbers only grow. */
static OxaObject** objects;
static size_t object_count;
static size_t object_capacity;
static uint64_t last_serial;

static int reserve(void) {
    if (object_count < object_capacity) return 1;
    size_t capacity = object_capacity == 0 ? 64 : object_capacity * 2;
    OxaObject** grown = realloc(objects, capacity * sizeof *grown);
    if (grown == NULL) return 0;
    objects = grown;
    object_capacity = capacity;
    return 1;
}

/* The position of the first object whose handle is not below this one. */
static size_t position_of(uint64_t handle) {
    size_t low = 0, high = object_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (objects[middle]->handle < handle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void* oxa_object_create(OxaKind kind, size_t bytes, void* parent) {
    OxaObject* object = calloc(1, bytes);
    if (object == NULL || !reserve()) {
        free(object);
        return NULL;
    }
    object->kind = kind;
    object->handle = HANDLE_MARK | ++last_serial;
    object->parent = parent;
    objects[object_count++] = object;
    return object;
}

void* oxa_object_find(OxaKind kind, uint64_t handle) {
    size_t position = position_of(handle);
    if (position == object_count || objects[position]->handle != handle) return NULL;
    return objects[position]->kind == kind ? objects[position] : NULL;
}

void* oxa_object_next(OxaKind kind, const void* parent, const void* previous) {
    size_t position = previous == NULL ? 0 : position_of(((const OxaObject*)previous)->handle) + 1;
    for (; position < object_count; position++) {
        if (objects[position]->kind == kind && objects[position]->parent == parent) return objects[position];
    }
    return NULL;
}

static int descends_from(const OxaObject* object, const OxaObject* ancestor) {
    while (object != NULL && object != ancestor) object = object->parent;
    return object != NULL;
}

void oxa_object_destroy(void* object) {
    /* Children come after their parents, so backwards no parent goes before its children. */
    size_t first = position_of(((OxaObject*)object)->handle);
    for (size_t position = object_count; position-- > first;) {
        OxaObject* candidate = objects[position];
        if (!descends_from(candidate, object)) continue;
        object_count--;
        memmove(&objects[position], &objects[position + 1], (object_count - position) * sizeof *objects);
        free(candidate);
    }
    if (object_count == 0) {
        free(objects);
        objects = NULL;
        object_capacity = 0;
    }
}
