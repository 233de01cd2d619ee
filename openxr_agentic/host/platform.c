#include "platform.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#if !defined(_WIN32)
#include <signal.h>
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <dlfcn.h>
#endif

uint64_t oxa_thread_number(void) {
    static atomic_ullong last;
    static _Thread_local uint64_t number;
    if (number == 0) number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

void oxa_report(const char* format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    /* One call, so that lines of several threads do not mix. */
    fprintf(stderr, "openxr-agentic: %s\n", line);
}

/* What a new thread is given; it frees it. */
typedef struct Start {
    void (*body)(void*);
    void* argument;
    char name[16];
} Start;

static Start* start_new(const char* name, void (*body)(void*), void* argument) {
    Start* start = malloc(sizeof *start);
    if (start == NULL) return NULL;
    start->body = body;
    start->argument = argument;
    snprintf(start->name, sizeof start->name, "%s", name);
    return start;
}

#if defined(_WIN32)

static DWORD WINAPI thread_main(void* argument) {
    Start start = *(Start*)argument;
    free(argument);
    start.body(start.argument);
    return 0;
}

int oxa_thread_start(OxaThread* thread, const char* name, void (*body)(void*), void* argument) {
    Start* start = start_new(name, body, argument);
    if (start == NULL) return -1;
    *thread = CreateThread(NULL, 0, thread_main, start, 0, NULL);
    if (*thread != NULL) return 0;
    free(start);
    return -1;
}

void oxa_thread_join(OxaThread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

void oxa_thread_detach(OxaThread thread) { CloseHandle(thread); }

uint32_t oxa_process_id(void) { return (uint32_t)GetCurrentProcessId(); }

void oxa_around_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
    (void)before;
    (void)parent;
    (void)child;
}

void oxa_stay_loaded(void) {
    static const char in_this_library = 0;
    HMODULE self;
    GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN, &in_this_library, &self);
}

#else

static void* thread_main(void* argument) {
    Start start = *(Start*)argument;
    free(argument);
#if defined(__linux__)
    pthread_setname_np(pthread_self(), start.name);
#elif defined(__APPLE__)
    pthread_setname_np(start.name);
#endif
    start.body(start.argument);
    return NULL;
}

int oxa_thread_start(OxaThread* thread, const char* name, void (*body)(void*), void* argument) {
    Start* start = start_new(name, body, argument);
    if (start == NULL) return -1;
    /* A new thread inherits the mask of the one that makes it. What a faulting
     * instruction raises stays unblocked, for crash handlers. */
    sigset_t none, before;
    sigfillset(&none);
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i) sigdelset(&none, faults[i]);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    int failure = pthread_create(thread, NULL, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0) return 0;
    free(start);
    return -1;
}

void oxa_thread_join(OxaThread thread) { pthread_join(thread, NULL); }
void oxa_thread_detach(OxaThread thread) { pthread_detach(thread); }

uint32_t oxa_process_id(void) { return (uint32_t)getpid(); }

void oxa_around_fork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
    pthread_atfork(before, parent, child);
}

void oxa_stay_loaded(void) {
#if defined(__APPLE__)
    static const char in_this_library = 0;
    Dl_info self;
    if (dladdr(&in_this_library, &self) != 0) dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
#else
    /* The library is linked with -z nodelete. */
#endif
}

#endif
