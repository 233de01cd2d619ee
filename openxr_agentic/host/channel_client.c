#include "channel_client.h"

#include "channel_frames.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_IN_BYTES (64u * 1024)
#define KEPT_BUFFER_BYTES (1024u * 1024) /* a larger one is given back when it is empty */

OxaClient* oxa_client_new(OxaHost* host, OxaEndpoint* endpoint, const char* label, OxaSocket socket) {
    OxaClient* client = calloc(1, sizeof *client);
    if (client == NULL) return NULL;
    atomic_init(&client->references, 1);
    oxa_mutex_init(&client->mutex);
    client->host = host;
    client->endpoint = endpoint;
    client->label = label;
    client->socket = socket;
    client->next_deadline_ns = -1;
    return client;
}

static void release(OxaClient* client) {
    if (atomic_fetch_sub(&client->references, 1) != 1) return;
    oxa_mutex_destroy(&client->mutex);
    free(client->in);
    free(client->out);
    free(client);
}

/* ---- sending; the mutex is held */

static void drop(OxaClient* client) {
    client->gone = 1;
    free(client->out);
    client->out = NULL;
    client->out_start = client->out_end = client->out_capacity = 0;
    oxa_socket_hang_up(client->socket); /* the I/O thread sees it, and ends the client */
}

static int keep_unsent(OxaClient* client, const unsigned char* bytes, size_t count) {
    size_t unsent = client->out_end - client->out_start;
    if (count > OXA_MAX_UNSENT_BYTES - unsent) return -1;
    if (client->out_end + count > client->out_capacity) {
        size_t capacity = (unsent + count) * 2;
        unsigned char* larger = malloc(capacity);
        if (larger == NULL) return -1;
        if (unsent > 0) memcpy(larger, client->out + client->out_start, unsent);
        free(client->out);
        client->out = larger;
        client->out_capacity = capacity;
        client->out_start = 0;
        client->out_end = unsent;
    }
    memcpy(client->out + client->out_end, bytes, count);
    client->out_end += count;
    return 0;
}

/* On any thread. Straight into the socket where that takes it: a hop over the
 * I/O thread would cost more than everything else that the host does in a call. */
static void send_parts(OxaClient* client, const OxaBytes* parts, int part_count) {
    oxa_lock(&client->mutex);
    if (!client->gone) {
        ptrdiff_t sent = client->out_end > client->out_start ? 0 : oxa_socket_send(client->socket, parts, part_count);
        int failed = sent < 0;
        size_t skip = failed ? 0 : (size_t)sent;
        for (int i = 0; i < part_count && !failed; ++i) {
            size_t done = skip < parts[i].count ? skip : parts[i].count;
            skip -= done;
            if (done == parts[i].count) continue;
            failed = keep_unsent(client, (const unsigned char*)parts[i].start + done, parts[i].count - done) != 0;
        }
        if (failed) drop(client);
        if (client->out_end > client->out_start) oxa_endpoint_wake(client->endpoint);
    }
    oxa_unlock(&client->mutex);
}

static void send_frame(OxaClient* client, OxaWriter* frame) {
    OxaBytes part = {frame->start, frame->count};
    send_parts(client, &part, 1);
    oxa_write_free(frame);
}

static void send_error(OxaClient* client, uint32_t id, const char* text) {
    OxaWriter frame;
    oxa_write_begin(&frame, OXA_FRAME_ERROR, id);
    oxa_write_text(&frame, text);
    oxa_write_end(&frame);
    if (frame.broken) {
        oxa_write_free(&frame);
    } else {
        send_frame(client, &frame);
    }
}

static void send_result(OxaClient* client, uint32_t id, const OxaOutcome* outcome) {
    unsigned char head[OXA_RESULT_HEAD_BYTES];
    oxa_result_head(head, id, outcome);
    OxaBytes parts[] = {{head, sizeof head}, {outcome->text, outcome->text_bytes}};
    send_parts(client, parts, 2);
}

void oxa_client_flush(OxaClient* client) {
    oxa_lock(&client->mutex);
    while (client->out_end > client->out_start) {
        OxaBytes part = {client->out + client->out_start, client->out_end - client->out_start};
        ptrdiff_t sent = oxa_socket_send(client->socket, &part, 1);
        if (sent < 0) drop(client);
        if (sent <= 0) break;
        client->out_start += (size_t)sent;
    }
    if (client->out_start == client->out_end) {
        client->out_start = client->out_end = 0;
        if (client->out_capacity > KEPT_BUFFER_BYTES) {
            free(client->out);
            client->out = NULL;
            client->out_capacity = 0;
        }
    }
    oxa_unlock(&client->mutex);
}

int oxa_client_has_unsent(OxaClient* client) {
    oxa_lock(&client->mutex);
    int unsent = client->out_end > client->out_start;
    oxa_unlock(&client->mutex);
    return unsent;
}

/* ---- calls under way */

/* OxaCall.deliver: on the thread that settled the call. */
static void deliver(OxaCall* call) {
    OxaClient* client = call->client;
    oxa_lock(&client->mutex);
    if (call->client_previous != NULL) call->client_previous->client_next = call->client_next;
    if (call->client_next != NULL) call->client_next->client_previous = call->client_previous;
    if (client->calls == call) client->calls = call->client_next;
    oxa_unlock(&client->mutex);
    send_result(client, call->id, &call->outcome);
    oxa_call_release(call);
    release(client);
}

static void add_call(OxaClient* client, OxaCall* call, uint32_t id) {
    call->client = client;
    call->id = id;
    call->deliver = deliver;
    oxa_call_retain(call);
    atomic_fetch_add(&client->references, 1);
    oxa_lock(&client->mutex);
    call->client_next = client->calls;
    if (client->calls != NULL) client->calls->client_previous = call;
    client->calls = call;
    oxa_unlock(&client->mutex);
}

/* The mutex is held. A call that is settled leaves the list only when its answer
 * is sent: `taken_back` keeps it from being found twice in between. */
static OxaCall* take_back(OxaCall* call) {
    call->taken_back = 1;
    oxa_call_retain(call);
    return call;
}

static OxaCall* call_under_way(OxaClient* client, uint32_t id) {
    OxaCall* call = client->calls;
    while (call != NULL && (call->id != id || call->taken_back)) call = call->client_next;
    return call;
}

static void cancel(OxaClient* client, uint32_t id) {
    oxa_lock(&client->mutex);
    OxaCall* call = call_under_way(client, id);
    if (call != NULL) take_back(call);
    oxa_unlock(&client->mutex);
    if (call == NULL) return;
    oxa_call_withdraw(client->host, call, OXA_CALL_CANCELLED);
    oxa_call_release(call);
}

void oxa_client_expire(OxaClient* client) {
    int64_t now = oxa_now_ns();
    while (client->next_deadline_ns >= 0 && client->next_deadline_ns <= now) {
        OxaCall* due = NULL;
        int64_t next = -1;
        oxa_lock(&client->mutex);
        for (OxaCall* call = client->calls; call != NULL && due == NULL; call = call->client_next) {
            if (call->taken_back || call->deadline_ns < 0) continue;
            if (call->deadline_ns <= now) {
                due = take_back(call);
            } else if (next < 0 || call->deadline_ns < next) {
                next = call->deadline_ns;
            }
        }
        oxa_unlock(&client->mutex);
        if (due == NULL) {
            client->next_deadline_ns = next;
        } else {
            oxa_call_withdraw(client->host, due, OXA_CALL_TIMED_OUT);
            oxa_call_release(due);
        }
    }
}

void oxa_client_end(OxaClient* client) {
    oxa_lock(&client->mutex);
    if (!client->gone) drop(client);
    for (;;) {
        OxaCall* call = client->calls;
        while (call != NULL && call->taken_back) call = call->client_next;
        if (call == NULL) break;
        take_back(call);
        oxa_unlock(&client->mutex);
        oxa_call_withdraw(client->host, call, OXA_CALL_CANCELLED);
        oxa_call_release(call);
        oxa_lock(&client->mutex);
    }
    oxa_socket_close(client->socket);
    oxa_unlock(&client->mutex);
    release(client);
}

/* ---- requests; each returns -1 for a frame that does not fit its description */

static int hello(OxaClient* client, uint32_t id, OxaReader* payload) {
    uint16_t lowest = oxa_read_u16(payload);
    uint16_t highest = oxa_read_u16(payload);
    if (!oxa_read_ended(payload) || client->greeted) return -1;
    int fits = lowest <= OXA_CHANNEL_VERSION && highest >= OXA_CHANNEL_VERSION;
    OxaWriter frame;
    client->greeted = 1;
    client->revision_told = atomic_load(&client->host->tools.revision);
    oxa_frame_hello(&frame, id, fits ? OXA_CHANNEL_VERSION : 0, client->host, client->label);
    if (frame.broken) {
        oxa_write_free(&frame);
        return -1;
    }
    send_frame(client, &frame);
    return fits ? 0 : -1;
}

/* Sends what can only fail for its size. */
static void send_or_say(OxaClient* client, uint32_t id, OxaWriter* frame) {
    if (!frame->broken) {
        send_frame(client, frame);
        return;
    }
    oxa_write_free(frame);
    send_error(client, id, "The answer is longer than a frame can be, or memory ran out.");
}

static void answer_at_once(OxaClient* client, uint32_t id, int32_t status, char* text) {
    OxaOutcome outcome = {0};
    oxa_outcome_say(&outcome, status, text);
    send_result(client, id, &outcome);
    free(outcome.text);
}

static int call_tool(OxaClient* client, uint32_t id, OxaReader* payload) {
    uint32_t milliseconds = oxa_read_u32(payload);
    OxaFrameText name = oxa_read_text(payload);
    OxaFrameText arguments = oxa_read_text(payload);
    if (!oxa_read_ended(payload)) return -1;
    oxa_lock(&client->mutex);
    int in_use = call_under_way(client, id) != NULL;
    oxa_unlock(&client->mutex);
    if (in_use) {
        answer_at_once(client, id, OXA_CALL_REFUSED, oxa_format("A call with the id %u is still under way.", id));
        return 0;
    }
    const OxaTool* tool = oxa_tool_named(&client->host->tools, name.start, name.bytes);
    if (tool == NULL) {
        int shown = name.bytes < OXA_NAME_SIZE ? (int)name.bytes : OXA_NAME_SIZE;
        answer_at_once(client, id, OXA_CALL_UNKNOWN_TOOL, oxa_format("No tool is named %.*s.", shown, name.start));
        return 0;
    }
    int64_t timeout_ns = milliseconds == 0 ? OXA_DEFAULT_TIMEOUT_NS : (int64_t)milliseconds * 1000000;
    OxaCall* call = oxa_call_new(tool, arguments.start, arguments.bytes, timeout_ns);
    if (call == NULL) {
        answer_at_once(client, id, OXA_CALL_REFUSED, oxa_format("The app's process is out of memory."));
        return 0;
    }
    if (client->next_deadline_ns < 0 || call->deadline_ns < client->next_deadline_ns) {
        client->next_deadline_ns = call->deadline_ns;
    }
    add_call(client, call, id);
    oxa_call_submit(client->host, call, tool->description.main_thread ? &client->host->main : &client->host->workers);
    oxa_call_release(call);
    return 0;
}

static int handle(OxaClient* client, uint8_t type, uint32_t id, OxaReader* payload) {
    OxaWriter frame;
    if (type == OXA_FRAME_HELLO) return hello(client, id, payload);
    if (!client->greeted) return -1;
    switch (type) {
        case OXA_FRAME_CALL:
            return call_tool(client, id, payload);
        case OXA_FRAME_CANCEL:
            if (!oxa_read_ended(payload)) return -1;
            cancel(client, id);
            return 0;
        case OXA_FRAME_LIST:
            if (!oxa_read_ended(payload)) return -1;
            oxa_frame_list(&frame, id, client->host);
            send_or_say(client, id, &frame);
            return 0;
        case OXA_FRAME_STATISTICS:
            if (!oxa_read_ended(payload)) return -1;
            oxa_frame_statistics(&frame, id, client->host);
            send_or_say(client, id, &frame);
            return 0;
        default:
            send_error(client, id, "This app does not know that type of request.");
            return 0;
    }
}

/* ---- receiving */

/* Handles the whole frames that are there, and keeps the rest. */
static int handle_all(OxaClient* client) {
    size_t start = 0;
    while (client->in_count - start >= 4) {
        OxaReader reader = {client->in + start, client->in + client->in_count, 0};
        uint32_t length = oxa_read_u32(&reader);
        if (length < OXA_FRAME_HEADER_BYTES - 4 || length > OXA_FRAME_MAX_BYTES) return -1;
        if (client->in_count - start - 4 < length) break;
        uint8_t type = *reader.at++;
        uint32_t id = oxa_read_u32(&reader);
        reader.end = client->in + start + 4 + length;
        if (handle(client, type, id, &reader) != 0) return -1;
        start += 4 + (size_t)length;
    }
    client->in_count -= start;
    if (start > 0 && client->in_count > 0) memmove(client->in, client->in + start, client->in_count);
    if (client->in_count == 0 && client->in_capacity > KEPT_BUFFER_BYTES) {
        free(client->in);
        client->in = NULL;
        client->in_capacity = 0;
    }
    return 0;
}

int oxa_client_receive(OxaClient* client) {
    oxa_lock(&client->mutex);
    int gone = client->gone;
    oxa_unlock(&client->mutex);
    if (gone) return -1;
    if (client->in_count == client->in_capacity) {
        /* Grows with what has come, not with what a length claims. */
        size_t capacity = client->in_capacity == 0 ? FIRST_IN_BYTES : client->in_capacity * 2;
        unsigned char* larger = realloc(client->in, capacity);
        if (larger == NULL) return -1;
        client->in = larger;
        client->in_capacity = capacity;
    }
    ptrdiff_t received =
        oxa_socket_receive(client->socket, client->in + client->in_count, client->in_capacity - client->in_count);
    if (received < 0) return -1;
    client->in_count += (size_t)received;
    return handle_all(client);
}

void oxa_client_tell_changed(OxaClient* client, uint64_t revision) {
    if (!client->greeted || client->revision_told == revision) return;
    client->revision_told = revision;
    OxaWriter frame;
    oxa_write_begin(&frame, OXA_FRAME_CHANGED, 0);
    oxa_write_u64(&frame, revision);
    oxa_write_end(&frame);
    send_or_say(client, 0, &frame);
}
