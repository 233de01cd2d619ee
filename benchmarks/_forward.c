/* The least that a layer can do, in a library of its own as a layer is: call what is below. */
#include <stdint.h>

typedef int32_t (*PollEvent)(void* instance, void* event);

static PollEvent below;

static int32_t forward(void* instance, void* event) { return below(instance, event); }

static uintptr_t bare_forwarder(uintptr_t function) {
    below = (PollEvent)function;
    return (uintptr_t)forward;
}
