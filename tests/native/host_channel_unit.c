/* The control channel under load, for the sanitizers: clients that call, cancel,
 * send nonsense and vanish while tools run, and while the instance ends. What the
 * channel answers is checked in test_channel.py. */
#include "host_unit.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static char socket_path[100];

static int connect_to_app(void) {
    struct sockaddr_un address;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, socket_path);
    int stream = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(stream, (struct sockaddr*)&address, sizeof address) == 0) return stream;
    close(stream);
    return -1;
}

static unsigned char* put(unsigned char* at, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) *at++ = (unsigned char)(value >> (8 * i));
    return at;
}

static void send_frame(int stream, int type, uint32_t id, const unsigned char* payload, uint32_t bytes) {
    unsigned char frame[256];
    unsigned char* at = put(frame, 5 + bytes, 4);
    at = put(at, (uint32_t)type, 1);
    at = put(at, id, 4);
    if (bytes > 0) memcpy(at, payload, bytes);
    ssize_t sent = send(stream, frame, 9 + bytes, MSG_NOSIGNAL);
    (void)sent; /* the app may be gone */
}

static void send_call(int stream, uint32_t id, const char* tool) {
    unsigned char payload[128];
    uint32_t bytes = (uint32_t)strlen(tool);
    unsigned char* at = put(payload, 1 + id % 7, 4); /* some are too late */
    at = put(at, bytes, 4);
    memcpy(at, tool, bytes);
    at = put(at + bytes, 2, 4);
    memcpy(at, "{}", 2);
    send_frame(stream, OXA_FRAME_CALL, id, payload, (uint32_t)(at + 2 - payload));
}

static atomic_int clients_running;

static void be_a_client(void* argument) {
    uint32_t seed = (uint32_t)(uintptr_t)argument;
    for (int connections = 0; connections < 25; ++connections) {
        int stream = connect_to_app();
        if (stream < 0) break;
        send_frame(stream, OXA_FRAME_HELLO, 1, (const unsigned char*)"\1\0\1\0", 4);
        for (uint32_t id = 2; id < 42; ++id) {
            send_call(stream, id, (id + seed) % 3 == 0 ? "worker" : "main");
            if (id % 5 == 0) send_frame(stream, OXA_FRAME_CANCEL, id - 2, NULL, 0);
            if (id % 11 == 0) send_frame(stream, OXA_FRAME_LIST, 1000 + id, NULL, 0);
            if (id % 13 == 0) send_frame(stream, OXA_FRAME_STATISTICS, 2000 + id, NULL, 0);
        }
        char answers[4096];
        if (seed % 2 == 0 && recv(stream, answers, sizeof answers, 0) < 0) break;
        if (seed % 3 == 0) send_frame(stream, OXA_FRAME_CALL, 9, (const unsigned char*)"nonsense", 8);
        close(stream);
    }
    atomic_fetch_sub(&clients_running, 1);
}

enum { CLIENTS = 6 };

static void start_clients(OxaThread threads[CLIENTS]) {
    atomic_store(&clients_running, CLIENTS);
    for (uintptr_t i = 0; i < CLIENTS; ++i) {
        CHECK(oxa_thread_start(&threads[i], "client", be_a_client, (void*)i) == 0);
    }
}

static const OxaToolMetadataInterface* metadata_interface(void) {
    const OxaToolMetadataInterface* found = NULL;
    CHECK(oxa_host_metadata(OXA_METADATA_VERSION, &found) == XR_SUCCESS);
    return found;
}

static Probe main_tool = {.name = "main"}, worker_tool = {.name = "worker"};

static OxaHost* new_host_with_tools(void) {
    OxaHost* host = new_host();
    CHECK(host->channel != NULL);
    add_probe(host, &main_tool, 1);
    add_probe(host, &worker_tool, 0);
    return host;
}

static void clients_may_come_and_go(void) {
    OxaThread threads[CLIENTS];
    OxaHost* host = new_host_with_tools();
    start_clients(threads);
    for (unsigned registered = 0; atomic_load(&clients_running) > 0;) {
        oxa_host_wait_frame(host);
        oxa_sleep_ns(100000);
        if (registered == 50) continue;
        char name[32];
        snprintf(name, sizeof name, "more_%u", registered++);
        OxaToolRegisterInfo info = register_info(name, 1, probe_callback, &main_tool);
        CHECK(oxa_host_register_tool(host, &info) == XR_SUCCESS);
        CHECK(metadata_interface()->set(host->instance, name, "{}") == XR_SUCCESS);
    }
    for (int i = 0; i < CLIENTS; ++i) oxa_thread_join(threads[i]);
    /* The last clients' calls are withdrawn when the I/O thread sees that they left. */
    WAIT_UNTIL(host_control()->statistic(XR_NULL_HANDLE, "queued") == 0);
    oxa_host_destroy(host);
    CHECK(access(socket_path, F_OK) != 0);
}

static void the_instance_may_end_while_clients_call(void) {
    for (int round = 0; round < 20; ++round) {
        OxaThread threads[CLIENTS];
        OxaHost* host = new_host_with_tools();
        start_clients(threads);
        for (int frames = 0; frames < 10 + round; ++frames) {
            oxa_host_wait_frame(host);
            oxa_sleep_ns(200000);
        }
        oxa_host_destroy(host);
        for (int i = 0; i < CLIENTS; ++i) oxa_thread_join(threads[i]);
    }
}

static atomic_ullong changes;

/* Until the instance is gone, past its end. */
static void keep_changing_metadata(void* argument) {
    XrInstance instance = argument;
    while (metadata_interface()->set(instance, "main", atomic_load(&changes) % 2 == 0 ? "{}" : NULL) == XR_SUCCESS) {
        atomic_fetch_add(&changes, 1);
    }
}

static void the_instance_may_end_while_metadata_changes(void) {
    for (int round = 0; round < 50; ++round) {
        OxaThread threads[3];
        OxaHost* host = new_host_with_tools();
        unsigned long long before = atomic_load(&changes);
        for (int i = 0; i < 3; ++i) {
            CHECK(oxa_thread_start(&threads[i], "setter", keep_changing_metadata, host->instance) == 0);
        }
        WAIT_UNTIL(atomic_load(&changes) > before + 20);
        oxa_host_destroy(host);
        for (int i = 0; i < 3; ++i) oxa_thread_join(threads[i]);
    }
}

int main(void) {
    const char* folder = getenv("XDG_RUNTIME_DIR");
    CHECK(folder != NULL);
    setenv("OPENXR_AGENTIC_CHANNEL", "1", 1);
    snprintf(socket_path, sizeof socket_path, "%s/openxr-agentic/%u.sock", folder, oxa_process_id());
    RUN(clients_may_come_and_go);
    RUN(the_instance_may_end_while_clients_call);
    RUN(the_instance_may_end_while_metadata_changes);
    return 0;
}
