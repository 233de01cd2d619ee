/* Times one OpenXR function, with warm caches and with cold ones. */
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef int32_t (*PollEvent)(void* instance, void* event);

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* An XrEventDataBuffer. */
static union {
    int32_t type;
    char bytes[4096];
} event = {16};

/* Nanoseconds for each of `calls` calls; negative: one failed. */
static double warm(uintptr_t function, uintptr_t instance, int32_t calls) {
    PollEvent poll = (PollEvent)function;
    int32_t worst = 0;
    int64_t began = now_ns();
    for (int32_t i = 0; i < calls; i++) {
        int32_t result = poll((void*)instance, &event);
        worst = result < worst ? result : worst;
    }
    return worst < 0 ? worst : (double)(now_ns() - began) / calls;
}

#define EVICTING_BYTES ((size_t)64 << 20) /* more than a core's caches hold, and more pages than it remembers */

static void make_cold(void) {
    static volatile char* evicting;
    if (evicting == NULL) evicting = calloc(EVICTING_BYTES, 1);
    for (size_t i = 0; i < EVICTING_BYTES; i += 64) evicting[i]++;
}

/* Nanoseconds for one call after the caches lost what it needs, but for the clock.
 * All functions are called before, so that none of them was lost longer ago. */
static double cold(uintptr_t function, uintptr_t instance, const uintptr_t* functions, int32_t count) {
    PollEvent poll = (PollEvent)function;
    for (int32_t i = 0; i < count; i++) ((PollEvent)functions[i])((void*)instance, &event);
    make_cold();
    now_ns(); /* the clock's own lines */
    int64_t began = now_ns();
    int32_t result = poll((void*)instance, &event);
    int64_t ended = now_ns();
    return result < 0 ? result : (double)(ended - began);
}
