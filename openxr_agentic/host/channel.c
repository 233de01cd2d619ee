/* The control channel of a process: its I/O thread.
 *
 * The thread polls, parses and queues; it runs no callback of the app, so nothing
 * that an app does can stop it. Results do not pass through here either, unless a
 * client's socket is full (channel_client.c). */
#include "channel_client.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CLIENTS 32
#define CHANGED_BATCH_NS INT64_C(20000000)
#define CLOSING_PATIENCE_NS INT64_C(500000000)
#define MAX_LABEL_BYTES 63

struct OxaChannel {
    OxaHost* host; /* outlives the thread: destroying it joins */
    OxaEndpoint endpoint;
    OxaThread thread;
    char label[MAX_LABEL_BYTES + 1];
    atomic_int closing;
    atomic_int changed;

    /* The I/O thread's. */
    OxaClient* clients[MAX_CLIENTS];
    uint32_t client_count;
    int64_t tell_changed_at_ns; /* < 0: nothing to tell */
};

_Static_assert(MAX_CLIENTS + 2 <= OXA_MAX_POLLED, "the listener, the waker and all clients are polled together");

/* One for each process; the first that asks has it. */
static _Atomic(OxaChannel*) of_process;

/* ---- whether, and under which label */

static int equal_ignoring_case(const char* left, const char* right) {
    for (; *left != 0 && *right != 0; ++left, ++right) {
        char lower = *left >= 'A' && *left <= 'Z' ? (char)(*left - 'A' + 'a') : *left;
        if (lower != *right) return 0;
    }
    return *left == *right;
}

static int is_one_of(const char* text, const char* const* words, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (equal_ignoring_case(text, words[i])) return 1;
    }
    return 0;
}

/* 1: a channel is wanted. */
static int read_environment(char label[MAX_LABEL_BYTES + 1]) {
    static const char* const off[] = {"", "0", "off", "false", "no"};
    static const char* const on[] = {"1", "on", "true", "yes"};
    const char* value = getenv("OPENXR_AGENTIC_CHANNEL");
    label[0] = 0;
    if (value == NULL || is_one_of(value, off, sizeof off / sizeof *off)) return 0;
    if (is_one_of(value, on, sizeof on / sizeof *on)) return 1;
    size_t bytes = strlen(value);
    int printable = bytes <= MAX_LABEL_BYTES;
    for (size_t i = 0; printable && i < bytes; ++i) printable = value[i] >= ' ' && value[i] <= '~';
    if (printable) {
        memcpy(label, value, bytes + 1);
    } else {
        oxa_report("OPENXR_AGENTIC_CHANNEL is no label (at most %d bytes of printable ASCII); the channel has none",
                   MAX_LABEL_BYTES);
    }
    return 1;
}

/* ---- the I/O thread */

static void end_client(OxaChannel* channel, uint32_t index) {
    oxa_client_end(channel->clients[index]);
    channel->clients[index] = channel->clients[--channel->client_count];
}

static void accept_client(OxaChannel* channel) {
    OxaSocket stream = oxa_endpoint_accept(&channel->endpoint);
    if (stream == OXA_NO_SOCKET) {
        oxa_sleep_ns(10000000); /* no descriptors left, perhaps: do not spin on it */
        return;
    }
    OxaClient* client = channel->client_count == MAX_CLIENTS
                            ? NULL
                            : oxa_client_new(channel->host, &channel->endpoint, channel->label, stream);
    if (client == NULL) {
        oxa_socket_close(stream);
        return;
    }
    channel->clients[channel->client_count++] = client;
}

static int64_t earlier(int64_t left, int64_t right) {
    return left < 0 ? right : right < 0 || left < right ? left : right;
}

static void tell_changed(OxaChannel* channel) {
    int64_t now = oxa_now_ns();
    if (atomic_exchange(&channel->changed, 0) && channel->tell_changed_at_ns < 0) {
        channel->tell_changed_at_ns = now + CHANGED_BATCH_NS;
    }
    if (channel->tell_changed_at_ns < 0 || now < channel->tell_changed_at_ns) return;
    channel->tell_changed_at_ns = -1;
    uint64_t revision = atomic_load(&channel->host->tools.revision);
    for (uint32_t i = 0; i < channel->client_count; ++i) oxa_client_tell_changed(channel->clients[i], revision);
}

static void turn(OxaChannel* channel) {
    OxaPolled polled[MAX_CLIENTS + 2] = {{0}};
    OxaPolled* of_clients = polled + 2;
    uint32_t count = channel->client_count;
    int64_t until = channel->tell_changed_at_ns;
    polled[0].socket = channel->endpoint.listener;
    polled[1].socket = channel->endpoint.woken;
    for (uint32_t i = 0; i < count; ++i) {
        of_clients[i].socket = channel->clients[i]->socket;
        of_clients[i].wants_write = oxa_client_has_unsent(channel->clients[i]);
        until = earlier(until, channel->clients[i]->next_deadline_ns);
    }
    oxa_poll(polled, count + 2, until);
    if (polled[1].readable) oxa_endpoint_calm(&channel->endpoint);
    /* From the last: ending a client moves the last one into its place. */
    for (uint32_t i = count; i-- > 0;) {
        OxaClient* client = channel->clients[i];
        if (of_clients[i].writable) oxa_client_flush(client);
        if (of_clients[i].readable && oxa_client_receive(client) != 0) {
            end_client(channel, i);
        } else {
            oxa_client_expire(client);
        }
    }
    if (polled[0].readable) accept_client(channel);
    tell_changed(channel);
}

/* The last answers are small, and mostly sent already. */
static void flush_all(OxaChannel* channel) {
    int64_t until = oxa_now_ns() + CLOSING_PATIENCE_NS;
    uint32_t unsent;
    do {
        OxaPolled polled[MAX_CLIENTS] = {{0}};
        unsent = 0;
        for (uint32_t i = 0; i < channel->client_count; ++i) {
            oxa_client_flush(channel->clients[i]);
            polled[i].wants_write = oxa_client_has_unsent(channel->clients[i]);
            polled[i].socket = polled[i].wants_write ? channel->clients[i]->socket : OXA_NO_SOCKET;
            unsent += (uint32_t)polled[i].wants_write;
        }
        if (unsent > 0) oxa_poll(polled, channel->client_count, until);
    } while (unsent > 0 && oxa_now_ns() < until);
}

static void io_thread(void* argument) {
    OxaChannel* channel = argument;
    while (!atomic_load(&channel->closing)) turn(channel);
    flush_all(channel);
    while (channel->client_count > 0) end_client(channel, channel->client_count - 1);
}

/* ---- opening and closing */

OxaChannel* oxa_channel_open(OxaHost* host) {
    char label[MAX_LABEL_BYTES + 1];
    if (!read_environment(label)) return NULL;
    OxaChannel* channel = calloc(1, sizeof *channel);
    if (channel == NULL) return NULL;
    channel->host = host;
    channel->tell_changed_at_ns = -1;
    memcpy(channel->label, label, sizeof label);

    OxaChannel* none = NULL;
    char* problem = NULL;
    int first = atomic_compare_exchange_strong(&of_process, &none, channel);
    if (!first) {
        problem = oxa_format("this process has one already, of an earlier instance");
    } else if ((problem = oxa_endpoint_open(&channel->endpoint)) == NULL &&
               oxa_thread_start(&channel->thread, "oxa-channel", io_thread, channel) != 0) {
        oxa_endpoint_close(&channel->endpoint);
        oxa_endpoint_free(&channel->endpoint);
        problem = oxa_format("cannot start a thread");
    }
    if (problem == NULL) return channel;
    oxa_report("no control channel: %s", problem);
    free(problem);
    if (first) atomic_store(&of_process, NULL);
    free(channel);
    return NULL;
}

/* In a forked child, `of_process` no longer is the parent's channel. */
static int is_ours(OxaChannel* channel) { return atomic_load(&of_process) == channel; }

void oxa_channel_tools_changed(OxaChannel* channel) {
    if (!is_ours(channel)) return;
    /* One wake-up for a whole burst of registrations. */
    if (!atomic_exchange(&channel->changed, 1)) oxa_endpoint_wake(&channel->endpoint);
}

void oxa_channel_close(OxaChannel* channel) {
    if (!is_ours(channel)) return;
    atomic_store(&channel->closing, 1);
    oxa_endpoint_wake(&channel->endpoint);
    oxa_thread_join(channel->thread);
    oxa_endpoint_close(&channel->endpoint);
    atomic_store(&of_process, NULL);
}

void oxa_channel_free(OxaChannel* channel) {
    oxa_endpoint_free(&channel->endpoint);
    free(channel);
}

void oxa_channel_forget(void) {
    atomic_store(&of_process, NULL);
    oxa_endpoint_forget();
}
