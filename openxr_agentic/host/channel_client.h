/* One connection of the control channel. The I/O thread owns it; other threads
 * come in only to send the result of a call that they ran. */
#ifndef OPENXR_AGENTIC_HOST_CHANNEL_CLIENT_H_
#define OPENXR_AGENTIC_HOST_CHANNEL_CLIENT_H_ 1

#include "endpoint.h"

/* A client that leaves more than this unread is dropped. */
#define OXA_MAX_UNSENT_BYTES (160u * 1024 * 1024)

typedef struct OxaClient {
    atomic_uint references; /* the I/O thread's, and one of each call under way */
    OxaHost* host;
    OxaEndpoint* endpoint; /* to wake the I/O thread */
    const char* label;
    OxaSocket socket;

    /* The I/O thread's. */
    unsigned char* in;
    size_t in_count;
    size_t in_capacity;
    int greeted;
    uint64_t revision_told;
    int64_t next_deadline_ns; /* no call is due before; < 0: none at all */

    OxaMutex mutex;     /* guards everything below */
    int gone;           /* nothing is sent any more */
    unsigned char* out; /* what the socket did not take yet */
    size_t out_start;
    size_t out_end;
    size_t out_capacity;
    OxaCall* calls; /* under way, the newest first */
} OxaClient;

OxaClient* oxa_client_new(OxaHost* host, OxaEndpoint* endpoint, const char* label, OxaSocket socket);
/* 0; -1: the connection is over, or the client sent what is no frame. */
int oxa_client_receive(OxaClient* client);
void oxa_client_flush(OxaClient* client);
int oxa_client_has_unsent(OxaClient* client);
/* Withdraws the calls whose time is over. */
void oxa_client_expire(OxaClient* client);
void oxa_client_tell_changed(OxaClient* client, uint64_t revision);
/* Hangs up, and withdraws what the client still waited for. */
void oxa_client_end(OxaClient* client);

#endif
