/* Where the channel's clients come in: a listening socket that only this user
 * can reach, and non-blocking streams.
 *
 * POSIX: a Unix domain socket in a folder of mode 0700 (channel.h). A branch for
 * Windows (loopback TCP, and a secret in a file that only the user can read)
 * belongs into endpoint.c; until there is one, opening says that it is missing. */
#ifndef OPENXR_AGENTIC_HOST_ENDPOINT_H_
#define OPENXR_AGENTIC_HOST_ENDPOINT_H_ 1

#include "core.h"

typedef int OxaSocket;
#define OXA_NO_SOCKET (-1)

typedef struct OxaEndpoint {
    OxaSocket listener;
    OxaSocket woken; /* readable after oxa_endpoint_wake */
    OxaSocket waker;
    char path[256];
} OxaEndpoint;

/* NULL when open; else why not, in new memory. */
char* oxa_endpoint_open(OxaEndpoint* endpoint);
/* Nobody can connect any more: the socket is removed. Waking is still allowed. */
void oxa_endpoint_close(OxaEndpoint* endpoint);
/* When nobody can wake it any more. Before, the number of a closed pipe could be
 * that of somebody else's file, and be written to. */
void oxa_endpoint_free(OxaEndpoint* endpoint);
/* From any thread: the poller wakes. */
void oxa_endpoint_wake(OxaEndpoint* endpoint);
void oxa_endpoint_calm(OxaEndpoint* endpoint);
/* OXA_NO_SOCKET: nobody there, or another user's process (turned away). */
OxaSocket oxa_endpoint_accept(OxaEndpoint* endpoint);

typedef struct OxaBytes {
    const void* start;
    size_t count;
} OxaBytes;

/* Neither ever blocks. The bytes that went through; 0: none just now; -1: the
 * connection is over. */
ptrdiff_t oxa_socket_send(OxaSocket stream, const OxaBytes* parts, int part_count);
ptrdiff_t oxa_socket_receive(OxaSocket stream, void* buffer, size_t capacity);
/* The other side, and a poller, see the end; the number stays taken. */
void oxa_socket_hang_up(OxaSocket stream);
void oxa_socket_close(OxaSocket stream);

typedef struct OxaPolled {
    OxaSocket socket; /* OXA_NO_SOCKET: skipped */
    int wants_write;
    int readable; /* or over */
    int writable;
} OxaPolled;

/* until_ns < 0: for ever. */
void oxa_poll(OxaPolled* polled, uint32_t count, int64_t until_ns);
#define OXA_MAX_POLLED 40

/* In a child after fork(): the parent's sockets are not ours to hold open. */
void oxa_endpoint_forget(void);

#endif
