#include "endpoint.h"

#if !defined(_WIN32)

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SO_NOSIGPIPE does it there */
#endif

/* ---- every descriptor of ours, for a forked child */

static atomic_int descriptors[OXA_MAX_POLLED + 8]; /* number + 1; 0: free */

static int remember(int descriptor) {
    for (size_t i = 0; descriptor >= 0 && i < sizeof descriptors / sizeof *descriptors; ++i) {
        int none = 0;
        if (atomic_compare_exchange_strong(&descriptors[i], &none, descriptor + 1)) break;
    }
    return descriptor;
}

void oxa_socket_close(OxaSocket stream) {
    if (stream < 0) return;
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; ++i) {
        int value = stream + 1;
        if (atomic_compare_exchange_strong(&descriptors[i], &value, 0)) break;
    }
    close(stream);
}

void oxa_endpoint_forget(void) {
    for (size_t i = 0; i < sizeof descriptors / sizeof *descriptors; ++i) {
        int value = atomic_exchange(&descriptors[i], 0);
        if (value > 0) close(value - 1);
    }
}

/* Non-blocking, and closed on exec: from the start where the system can, since
 * another thread may fork in between. */
#if defined(__linux__)

static int new_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }
static int new_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC | O_NONBLOCK); }
static int accept_from(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK); }

#else

static int make_private(int descriptor) {
    if (descriptor < 0) return descriptor;
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
#if defined(SO_NOSIGPIPE)
    int yes = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &yes, sizeof yes); /* refused for a pipe, which we keep readable */
#endif
    return descriptor;
}

static int new_socket(void) { return make_private(socket(AF_UNIX, SOCK_STREAM, 0)); }
static int new_pipe(int ends[2]) {
    if (pipe(ends) != 0) return -1;
    make_private(ends[0]);
    make_private(ends[1]);
    return 0;
}
static int accept_from(int listener) { return make_private(accept(listener, NULL, NULL)); }

#endif

/* ---- the folder */

/* NULL when the folder is there, ours and closed to others. */
static char* prepare_folder(const char* folder) {
    struct stat status;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) return oxa_format("cannot make %s: %s", folder, strerror(errno));
    if (lstat(folder, &status) != 0) return oxa_format("cannot look at %s: %s", folder, strerror(errno));
    if (!S_ISDIR(status.st_mode)) return oxa_format("%s is not a folder (or a link to one)", folder);
    if (status.st_uid != geteuid()) return oxa_format("%s belongs to user %u", folder, (unsigned)status.st_uid);
    if ((status.st_mode & 07777) == 0700) return NULL;
    if (chmod(folder, 0700) == 0) return NULL;
    return oxa_format("cannot set the mode of %s to 0700: %s", folder, strerror(errno));
}

static void choose_folder(char* folder, size_t size) {
    const char* runtime = getenv("XDG_RUNTIME_DIR");
    if (runtime != NULL && runtime[0] == '/') {
        snprintf(folder, size, "%s/openxr-agentic", runtime);
        return;
    }
    const char* temporary = getenv("TMPDIR");
    if (temporary == NULL || temporary[0] != '/') temporary = "/tmp";
    snprintf(folder, size, "%s/openxr-agentic-%u", temporary, (unsigned)geteuid());
}

/* NULL: it fits. */
static char* fill_address(struct sockaddr_un* address, const char* path) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    if (strlen(path) < sizeof address->sun_path) {
        strcpy(address->sun_path, path);
        return NULL;
    }
    return oxa_format(
        "the socket's path %s is longer than the system's limit of %zu bytes; set XDG_RUNTIME_DIR to a "
        "folder with a shorter path",
        path, sizeof address->sun_path - 1);
}

/* 1: somebody answers at that socket, or might. */
static int is_alive(const char* path) {
    struct sockaddr_un address;
    char* too_long = fill_address(&address, path);
    int descriptor = too_long == NULL ? new_socket() : -1;
    free(too_long);
    if (descriptor < 0) return 1;
    int refused = connect(descriptor, (struct sockaddr*)&address, sizeof address) != 0 && errno == ECONNREFUSED;
    close(descriptor);
    return !refused;
}

/* Removes what apps that crashed left behind. A process of another container
 * may share the folder but not the numbers, so its socket is asked as well. */
static void remove_stale(const char* folder) {
    DIR* listing = opendir(folder);
    if (listing == NULL) return;
    const struct dirent* entry;
    while ((entry = readdir(listing)) != NULL) {
        char path[sizeof(((OxaEndpoint*)0)->path)];
        char* end;
        long process = strtol(entry->d_name, &end, 10);
        if (process <= 0 || strcmp(end, ".sock") != 0) continue;
        if (kill((pid_t)process, 0) == 0 || errno != ESRCH) continue;
        if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= sizeof path) continue;
        if (!is_alive(path)) unlink(path);
    }
    closedir(listing);
}

/* ---- the listening socket */

static char* listen_at(OxaEndpoint* endpoint) {
    struct sockaddr_un address;
    char* problem = fill_address(&address, endpoint->path);
    if (problem != NULL) return problem;
    struct stat there;
    if (lstat(endpoint->path, &there) == 0) {
        if (S_ISSOCK(there.st_mode) && is_alive(endpoint->path)) {
            return oxa_format("%s is in use already: this process has a channel", endpoint->path);
        }
        unlink(endpoint->path); /* of an earlier process with this number */
    }
    endpoint->listener = remember(new_socket());
    if (endpoint->listener < 0) return oxa_format("cannot make a socket: %s", strerror(errno));
    /* Before bind() on Linux, so that it is never open to others; after it elsewhere. */
    fchmod(endpoint->listener, 0600);
    if (bind(endpoint->listener, (struct sockaddr*)&address, sizeof address) != 0) {
        return oxa_format("cannot bind %s: %s", endpoint->path, strerror(errno));
    }
    if (chmod(endpoint->path, 0600) != 0 || listen(endpoint->listener, 16) != 0) {
        problem = oxa_format("cannot listen at %s: %s", endpoint->path, strerror(errno));
        unlink(endpoint->path);
    }
    return problem;
}

char* oxa_endpoint_open(OxaEndpoint* endpoint) {
    char folder[200];
    int pipe_ends[2];
    endpoint->listener = endpoint->woken = endpoint->waker = OXA_NO_SOCKET;
    choose_folder(folder, sizeof folder);
    char* problem = prepare_folder(folder);
    if (problem != NULL) return problem;
    remove_stale(folder);
    snprintf(endpoint->path, sizeof endpoint->path, "%s/%u.sock", folder, oxa_process_id());
    if (new_pipe(pipe_ends) != 0) return oxa_format("cannot make a pipe: %s", strerror(errno));
    endpoint->woken = remember(pipe_ends[0]);
    endpoint->waker = remember(pipe_ends[1]);
    problem = listen_at(endpoint);
    if (problem == NULL) return NULL;
    oxa_socket_close(endpoint->listener);
    oxa_socket_close(endpoint->woken);
    oxa_socket_close(endpoint->waker);
    return problem;
}

void oxa_endpoint_close(OxaEndpoint* endpoint) {
    unlink(endpoint->path);
    oxa_socket_close(endpoint->listener);
}

void oxa_endpoint_free(OxaEndpoint* endpoint) {
    oxa_socket_close(endpoint->woken);
    oxa_socket_close(endpoint->waker);
}

void oxa_endpoint_wake(OxaEndpoint* endpoint) {
    /* A full pipe wakes as well. */
    ssize_t written = write(endpoint->waker, "", 1);
    (void)written;
}

void oxa_endpoint_calm(OxaEndpoint* endpoint) {
    char drain[64];
    while (read(endpoint->woken, drain, sizeof drain) == (ssize_t)sizeof drain) {
    }
}

static int is_same_user(int descriptor) {
#if defined(SO_PEERCRED) && defined(__linux__)
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
#else
    uid_t user;
    gid_t group;
    return getpeereid(descriptor, &user, &group) == 0 && user == geteuid();
#endif
}

OxaSocket oxa_endpoint_accept(OxaEndpoint* endpoint) {
    int descriptor = accept_from(endpoint->listener);
    if (descriptor < 0) return OXA_NO_SOCKET;
    if (is_same_user(descriptor)) return remember(descriptor);
    close(descriptor);
    return OXA_NO_SOCKET;
}

/* ---- streams */

static int only_for_now(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

ptrdiff_t oxa_socket_send(OxaSocket stream, const OxaBytes* parts, int part_count) {
    struct iovec vectors[4];
    struct msghdr message;
    memset(&message, 0, sizeof message);
    for (int i = 0; i < part_count; ++i) {
        vectors[i].iov_base = (void*)parts[i].start; /* sendmsg only reads */
        vectors[i].iov_len = parts[i].count;
    }
    message.msg_iov = vectors;
    message.msg_iovlen = (size_t)part_count;
    ssize_t sent = sendmsg(stream, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent >= 0 ? sent : only_for_now() ? 0 : -1;
}

ptrdiff_t oxa_socket_receive(OxaSocket stream, void* buffer, size_t capacity) {
    ssize_t received = recv(stream, buffer, capacity, MSG_DONTWAIT);
    return received > 0 ? received : received < 0 && only_for_now() ? 0 : -1;
}

void oxa_socket_hang_up(OxaSocket stream) { shutdown(stream, SHUT_RDWR); }

void oxa_poll(OxaPolled* polled, uint32_t count, int64_t until_ns) {
    struct pollfd descriptors_polled[OXA_MAX_POLLED];
    for (uint32_t i = 0; i < count; ++i) {
        descriptors_polled[i].fd = polled[i].socket;
        descriptors_polled[i].events = (short)(POLLIN | (polled[i].wants_write ? POLLOUT : 0));
        descriptors_polled[i].revents = 0;
    }
    int milliseconds = -1;
    if (until_ns >= 0) {
        int64_t left = until_ns - oxa_now_ns();
        /* Rounded up: waking a little early would spin. */
        milliseconds = left <= 0 ? 0 : left > INT64_C(3600000000000) ? 3600000 : (int)((left + 999999) / 1000000);
    }
    int failed = poll(descriptors_polled, count, milliseconds) < 0;
    for (uint32_t i = 0; i < count; ++i) {
        short events = failed ? 0 : descriptors_polled[i].revents;
        polled[i].readable = (events & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) != 0;
        polled[i].writable = (events & POLLOUT) != 0;
    }
}

#else

char* oxa_endpoint_open(OxaEndpoint* endpoint) {
    (void)endpoint;
    return oxa_format("it is not available on Windows yet, so agents cannot reach this app through openxr-agentic");
}

/* Nothing below is reached without an open endpoint. */
void oxa_endpoint_close(OxaEndpoint* endpoint) { (void)endpoint; }
void oxa_endpoint_free(OxaEndpoint* endpoint) { (void)endpoint; }
void oxa_endpoint_wake(OxaEndpoint* endpoint) { (void)endpoint; }
void oxa_endpoint_calm(OxaEndpoint* endpoint) { (void)endpoint; }
OxaSocket oxa_endpoint_accept(OxaEndpoint* endpoint) {
    (void)endpoint;
    return OXA_NO_SOCKET;
}
ptrdiff_t oxa_socket_send(OxaSocket stream, const OxaBytes* parts, int part_count) {
    (void)stream;
    (void)parts;
    (void)part_count;
    return -1;
}
ptrdiff_t oxa_socket_receive(OxaSocket stream, void* buffer, size_t capacity) {
    (void)stream;
    (void)buffer;
    (void)capacity;
    return -1;
}
void oxa_socket_hang_up(OxaSocket stream) { (void)stream; }
void oxa_socket_close(OxaSocket stream) { (void)stream; }
void oxa_poll(OxaPolled* polled, uint32_t count, int64_t until_ns) {
    (void)polled;
    (void)count;
    (void)until_ns;
}
void oxa_endpoint_forget(void) {}

#endif
