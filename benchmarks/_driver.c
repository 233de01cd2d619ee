/* Plays the host: agent calls of a callback, as fast as they go, on native threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef int32_t (*Callback)(char*, uint32_t, uint32_t*, const char*, void*);

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

typedef struct Job {
    Callback callback;
    void* user_data;
    const char* arguments;
    int32_t calls, halves; /* halves: 2 for a whole agent call, 1 for a single C call */
    pthread_barrier_t* barrier;
    int64_t began, ended;
    int32_t failed;
} Job;

static void play(Job* job) {
    char* buffer = malloc(1 << 16);
    uint32_t count = 0;
    job->failed = 0;
    /* Not counted: a thread's first call makes its Python thread state. */
    job->callback(NULL, 0, &count, job->arguments, job->user_data);
    if (job->halves == 2) job->callback(buffer, 1 << 16, &count, job->arguments, job->user_data);
    if (job->barrier != NULL) pthread_barrier_wait(job->barrier);
    job->began = now_ns();
    for (int32_t i = 0; i < job->calls; i++) {
        int32_t result = job->callback(NULL, 0, &count, job->arguments, job->user_data);
        if (job->halves == 2 && result == 0)
            result = job->callback(buffer, 1 << 16, &count, job->arguments, job->user_data);
        job->failed += result != 0;
    }
    job->ended = now_ns();
    free(buffer);
}

static void* play_on_thread(void* argument) {
    play(argument);
    return NULL;
}

/* Nanoseconds for `calls` agent calls on each of `threads` native threads (0: on the
 * calling thread); negative: that many failed. */
static int64_t drive(uintptr_t callback, uintptr_t user_data, const char* arguments, int32_t calls, int32_t threads,
                     int32_t halves) {
    Job jobs[16];
    pthread_t handles[16];
    pthread_barrier_t barrier;
    int64_t began = INT64_MAX, ended = 0, failed = 0;
    int32_t players = threads == 0 ? 1 : threads;
    pthread_barrier_init(&barrier, NULL, (unsigned)players);
    for (int32_t i = 0; i < players; i++) {
        jobs[i] = (Job){(Callback)callback, (void*)user_data, arguments, calls, halves, &barrier, 0, 0, 0};
        if (threads == 0)
            play(&jobs[i]);
        else
            pthread_create(&handles[i], NULL, play_on_thread, &jobs[i]);
    }
    for (int32_t i = 0; i < players; i++) {
        if (threads != 0) pthread_join(handles[i], NULL);
        if (jobs[i].began < began) began = jobs[i].began;
        if (jobs[i].ended > ended) ended = jobs[i].ended;
        failed += jobs[i].failed;
    }
    pthread_barrier_destroy(&barrier);
    return failed != 0 ? -failed : ended - began;
}
