/* Faults that tests arm for the front's functions, and how often each was
 * called. Atomics only: the front asks here at every OpenXR call. */
#include "core.h"

#include <string.h>

#define MAX_FUNCTIONS 256

typedef struct Fault {
    atomic_uint times;
    atomic_int result;
} Fault;

typedef struct Function {
    Fault on_call;
    Fault on_lookup;
    atomic_ullong calls;
} Function;

static OxaMutex learning = OXA_MUTEX_INIT;
static atomic_uint known;
/* Names apart from the rest: most searches end by comparing pointers in here. */
static const char* names[MAX_FUNCTIONS];
static Function functions[MAX_FUNCTIONS];

static Function* function_named(const char* name) {
    uint32_t count = atomic_load_explicit(&known, memory_order_acquire);
    if (name == NULL) return NULL;
    for (uint32_t i = 0; i < count; ++i) {
        if (names[i] == name) return &functions[i];
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (strcmp(names[i], name) == 0) return &functions[i];
    }
    return NULL;
}

void oxa_faults_know(const char* const* added, uint32_t count) {
    oxa_lock(&learning);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t next = atomic_load(&known);
        if (next == MAX_FUNCTIONS || function_named(added[i]) != NULL) continue;
        names[next] = added[i];
        atomic_store_explicit(&known, next + 1, memory_order_release);
    }
    oxa_unlock(&learning);
}

/* Uses the fault up by one. */
static int strike(Fault* fault, XrResult* result) {
    uint32_t times = atomic_load(&fault->times);
    do {
        if (times == 0) return 0;
        *result = (XrResult)atomic_load(&fault->result);
    } while (!atomic_compare_exchange_weak(&fault->times, &times, times - 1));
    return 1;
}

int oxa_fault(const char* name, XrResult* result) {
    Function* function = function_named(name);
    if (function == NULL) return 0;
    atomic_fetch_add_explicit(&function->calls, 1, memory_order_relaxed);
    return strike(&function->on_call, result);
}

int oxa_fault_lookup(const char* name, XrResult* result) {
    Function* function = function_named(name);
    return function == NULL ? 0 : strike(&function->on_lookup, result);
}

int32_t oxa_faults_arm(const char* name, XrResult result, uint32_t times, int32_t lookup) {
    Function* function = function_named(name);
    if (function == NULL) return -1;
    Fault* fault = lookup ? &function->on_lookup : &function->on_call;
    atomic_store(&fault->times, 0); /* nobody strikes with the old count and the new result */
    atomic_store(&fault->result, (int)result);
    atomic_store(&fault->times, times);
    return 0;
}

void oxa_faults_reset(void) {
    uint32_t count = atomic_load(&known);
    for (uint32_t i = 0; i < count; ++i) {
        atomic_store(&functions[i].on_call.times, 0);
        atomic_store(&functions[i].on_lookup.times, 0);
    }
}

uint64_t oxa_function_calls(const char* name) {
    Function* function = function_named(name);
    return function == NULL ? 0 : atomic_load(&function->calls);
}
