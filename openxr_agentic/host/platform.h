/* What the host needs of the operating system beside clocks and locks
 * (<openxr_agentic/platform.h>): threads, processes, the error stream. Sockets
 * and folders are in endpoint.h. */
#ifndef OPENXR_AGENTIC_HOST_PLATFORM_H_
#define OPENXR_AGENTIC_HOST_PLATFORM_H_ 1

#include "host.h"

#if defined(__GNUC__)
#define OXA_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#define OXA_PRINTF(text, values)
#endif

#if defined(_WIN32)
typedef HANDLE OxaThread;
static inline void oxa_signal_one(OxaCondition* condition) { WakeConditionVariable(condition); }
#else
typedef pthread_t OxaThread;
static inline void oxa_signal_one(OxaCondition* condition) { pthread_cond_signal(condition); }
#endif

/* The thread takes no signals: they are the app's, whose main thread waits for
 * them. The name is for debuggers, 15 bytes at most. Returns 0, or -1. */
int oxa_thread_start(OxaThread* thread, const char* name, void (*body)(void*), void* argument);
void oxa_thread_join(OxaThread thread);
void oxa_thread_detach(OxaThread thread);

uint32_t oxa_process_id(void);

/* The three run around every fork() of this process from now on: before it, and
 * after it in the parent and in the child. Nothing where there is no fork(). */
void oxa_around_fork(void (*before)(void), void (*parent)(void), void (*child)(void));

/* This library stays in memory when the loader gives it back, as it does at
 * xrDestroyInstance: a native thread may still be returning through it. */
void oxa_stay_loaded(void);

/* One line for the developer on stderr. */
void oxa_report(const char* format, ...) OXA_PRINTF(1, 2);

#endif
