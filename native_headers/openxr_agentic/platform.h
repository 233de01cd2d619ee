/* The few things that C11 leaves to the platform, for both sides.
 *
 * Everything that is not the C standard library or OpenXR goes through here
 * (and, on the host's side, through host/platform.c: sockets, folders and
 * processes). Clocks are monotonic and in nanoseconds. */
#ifndef OPENXR_AGENTIC_PLATFORM_H_
#define OPENXR_AGENTIC_PLATFORM_H_ 1

#include <stdint.h>

#if defined(_WIN32)

/* Functions are __stdcall there, which decorates what a library exports, and handles are no pointers. */
#if !defined(_WIN64)
#error "32-bit Windows is not supported: OpenXR's calling convention there was never tried. Build for 64 bits."
#endif

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN 1
#endif
#include <windows.h>

#define OXA_EXPORT __declspec(dllexport)

typedef SRWLOCK OxaMutex;
#define OXA_MUTEX_INIT SRWLOCK_INIT
static inline void oxa_mutex_init(OxaMutex* mutex) { InitializeSRWLock(mutex); }
static inline void oxa_mutex_destroy(OxaMutex* mutex) { (void)mutex; }
static inline void oxa_lock(OxaMutex* mutex) { AcquireSRWLockExclusive(mutex); }
static inline void oxa_unlock(OxaMutex* mutex) { ReleaseSRWLockExclusive(mutex); }

typedef CONDITION_VARIABLE OxaCondition;
static inline void oxa_condition_init(OxaCondition* condition) { InitializeConditionVariable(condition); }
static inline void oxa_condition_destroy(OxaCondition* condition) { (void)condition; }
static inline void oxa_signal_all(OxaCondition* condition) { WakeAllConditionVariable(condition); }

static inline int64_t oxa_now_ns(void) {
    LARGE_INTEGER ticks, frequency;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&frequency);
    return (ticks.QuadPart / frequency.QuadPart) * INT64_C(1000000000) +
           (ticks.QuadPart % frequency.QuadPart) * INT64_C(1000000000) / frequency.QuadPart;
}
static inline int64_t oxa_coarse_now_ns(void) { return (int64_t)GetTickCount64() * 1000000; }

/* until_ns < 0: for ever. Returns 0 when woken (perhaps for nothing), 1 when the time is over. */
static inline int oxa_wait(OxaCondition* condition, OxaMutex* mutex, int64_t until_ns) {
    DWORD milliseconds = INFINITE;
    if (until_ns >= 0) {
        int64_t left = until_ns - oxa_now_ns();
        if (left <= 0) return 1;
        milliseconds = left > INT64_C(1000000000000) ? 1000000u : (DWORD)((left + 999999) / 1000000);
    }
    SleepConditionVariableSRW(condition, mutex, milliseconds, 0);
    return until_ns >= 0 && oxa_now_ns() >= until_ns;
}
static inline void oxa_sleep_ns(int64_t nanoseconds) {
    if (nanoseconds > 0) Sleep((DWORD)((nanoseconds + 999999) / 1000000));
}

#else

#include <errno.h>
#include <pthread.h>
#include <time.h>

#define OXA_EXPORT __attribute__((visibility("default")))

typedef pthread_mutex_t OxaMutex;
#define OXA_MUTEX_INIT PTHREAD_MUTEX_INITIALIZER
static inline void oxa_mutex_init(OxaMutex* mutex) { pthread_mutex_init(mutex, NULL); }
static inline void oxa_mutex_destroy(OxaMutex* mutex) { pthread_mutex_destroy(mutex); }
static inline void oxa_lock(OxaMutex* mutex) { pthread_mutex_lock(mutex); }
static inline void oxa_unlock(OxaMutex* mutex) { pthread_mutex_unlock(mutex); }

static inline int64_t oxa_clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
static inline int64_t oxa_now_ns(void) { return oxa_clock_ns(CLOCK_MONOTONIC); }
/* Good to some milliseconds, and cheap. */
static inline int64_t oxa_coarse_now_ns(void) {
#ifdef CLOCK_MONOTONIC_COARSE
    return oxa_clock_ns(CLOCK_MONOTONIC_COARSE);
#else
    return oxa_clock_ns(CLOCK_MONOTONIC);
#endif
}

typedef pthread_cond_t OxaCondition;
static inline void oxa_condition_init(OxaCondition* condition) {
#if defined(__APPLE__)
    pthread_cond_init(condition, NULL);
#else
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
#endif
}
static inline void oxa_condition_destroy(OxaCondition* condition) { pthread_cond_destroy(condition); }
static inline void oxa_signal_all(OxaCondition* condition) { pthread_cond_broadcast(condition); }

/* until_ns < 0: for ever. Returns 0 when woken (perhaps for nothing), 1 when the time is over. */
static inline int oxa_wait(OxaCondition* condition, OxaMutex* mutex, int64_t until_ns) {
    if (until_ns < 0) {
        pthread_cond_wait(condition, mutex);
        return 0;
    }
#if defined(__APPLE__)
    int64_t left = until_ns - oxa_now_ns();
    if (left <= 0) return 1;
    struct timespec relative = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
    return pthread_cond_timedwait_relative_np(condition, mutex, &relative) == ETIMEDOUT;
#else
    struct timespec until = {(time_t)(until_ns / 1000000000), (long)(until_ns % 1000000000)};
    return pthread_cond_timedwait(condition, mutex, &until) == ETIMEDOUT;
#endif
}
static inline void oxa_sleep_ns(int64_t nanoseconds) {
    if (nanoseconds <= 0) return;
    struct timespec duration = {(time_t)(nanoseconds / 1000000000), (long)(nanoseconds % 1000000000)};
    while (nanosleep(&duration, &duration) != 0 && errno == EINTR) {
    }
}

#endif

/* A number for the calling thread that no other thread of the process ever gets,
 * also not after this one ended. Defined once by each library. */
uint64_t oxa_thread_number(void);

#endif
