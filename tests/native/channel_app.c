/* An app with a frame loop and a control channel, for test_channel.py. It obeys
 * lines on its standard input, and answers each with a line. */
#include "host.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int gate;
static atomic_int gated; /* calls that wait for the gate */
static int counted;

static XrResult answer(char* buffer, uint32_t capacity, uint32_t* count, const char* text, uint32_t bytes) {
    *count = bytes + 1;
    if (buffer == NULL) return XR_SUCCESS;
    if (capacity < bytes + 1) return XR_ERROR_SIZE_INSUFFICIENT;
    memcpy(buffer, text, bytes);
    buffer[bytes] = 0;
    return XR_SUCCESS;
}

static XrResult XRAPI_CALL echo(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, void* data) {
    (void)data;
    return answer(buffer, capacity, count, arguments, (uint32_t)strlen(arguments));
}

static XrResult XRAPI_CALL count_runs(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                      void* data) {
    (void)arguments;
    (void)data;
    counted += buffer != NULL;
    return answer(buffer, capacity, count, "counted", 7);
}

static XrResult XRAPI_CALL wait_for_gate(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments,
                                         void* data) {
    (void)arguments;
    (void)data;
    if (buffer != NULL) {
        atomic_fetch_add(&gated, 1);
        while (!atomic_load(&gate)) oxa_sleep_ns(1000000);
        atomic_fetch_sub(&gated, 1);
    }
    return answer(buffer, capacity, count, "passed", 6);
}

/* As many bytes as the arguments say. */
static XrResult XRAPI_CALL big(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, void* data) {
    (void)data;
    uint32_t bytes = (uint32_t)strtoul(arguments, NULL, 10);
    *count = bytes + 1;
    if (buffer == NULL) return XR_SUCCESS;
    if (capacity < bytes + 1) return XR_ERROR_SIZE_INSUFFICIENT;
    memset(buffer, 'b', bytes);
    buffer[bytes] = 0;
    return XR_SUCCESS;
}

static XrResult XRAPI_CALL broken(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, void* data) {
    (void)buffer;
    (void)capacity;
    (void)arguments;
    (void)data;
    *count = 0;
    return XR_ERROR_RUNTIME_FAILURE;
}

static OxaHost* host;
static const OxaToolMetadataInterface* metadata;
#define INSTANCE ((XrInstance)0x1000)

/* Marks its result as an error in the size query, when the arguments say so. */
static XrResult XRAPI_CALL marked(char* buffer, uint32_t capacity, uint32_t* count, const char* arguments, void* data) {
    (void)data;
    if (buffer == NULL && strstr(arguments, "mark") != NULL && metadata->mark_error(INSTANCE) != XR_SUCCESS) abort();
    return answer(buffer, capacity, count, "told", 4);
}

static void add_tool(const char* name, OxaToolCallback callback, int main_thread, OxaToolParameter* parameters,
                     uint32_t parameter_count) {
    OxaToolRegisterInfo info;
    memset(&info, 0, sizeof info);
    info.type = OXA_TYPE_TOOL_REGISTER_INFO;
    snprintf(info.toolName, sizeof info.toolName, "%s", name);
    snprintf(info.toolDescription, sizeof info.toolDescription, "%s, by the app", name);
    info.toolCallback = callback;
    info.toolCallbackInfoFlags = main_thread ? OXA_MAIN_THREAD_BIT : 0;
    info.toolParameters = parameters;
    info.toolParameterCount = parameter_count;
    if (oxa_host_register_tool(host, &info) != XR_SUCCESS) abort();
}

static void add_tools(void) {
    OxaToolParameter parameters[3];
    memset(parameters, 0, sizeof parameters);
    for (int i = 0; i < 3; ++i) parameters[i].type = OXA_TYPE_TOOL_PARAMETER;
    strcpy(parameters[0].paramName, "text");
    strcpy(parameters[0].paramDescription, "What to say \xC3\xA9");
    parameters[0].paramType = OXA_PARAMETER_TYPE_STRING;
    parameters[0].isRequired = XR_TRUE;
    strcpy(parameters[1].paramName, "list");
    parameters[1].paramType = OXA_PARAMETER_TYPE_ARRAY;
    parameters[1].arrayItemType = OXA_PARAMETER_TYPE_NUMBER;
    strcpy(parameters[2].paramName, "shape");
    parameters[2].paramType = OXA_PARAMETER_TYPE_OBJECT;
    strcpy(parameters[2].objectProperties, "{\"type\":\"object\"}");
    add_tool("echo", echo, 1, parameters, 3);
    add_tool("worker_echo", echo, 0, NULL, 0);
    add_tool("count", count_runs, 1, NULL, 0);
    add_tool("slow", wait_for_gate, 0, NULL, 0);
    add_tool("main_slow", wait_for_gate, 1, NULL, 0);
    add_tool("big", big, 0, NULL, 0);
    add_tool("broken", broken, 1, NULL, 0);
    add_tool("marked", marked, 1, NULL, 0);
}

static OxaHost* new_host(XrInstance instance) {
    OxaHostInfo info = {.instance = instance, .application_name = "channel app", .front = "test host 1"};
    return oxa_host_create(&info);
}

/* "metadata TOOL [TEXT]" */
static void set_metadata(const char* line) {
    char tool[OXA_NAME_SIZE];
    char text[100] = "";
    if (sscanf(line, "metadata %63s %99[^\n]", tool, text) < 1) abort();
    if (metadata->set(INSTANCE, tool, text) != XR_SUCCESS) abort();
}

/* The child of a fork() ends its inherited instance, and then only lives. */
static void fork_child(void) {
    int done[2];
    char byte = 0;
    if (pipe(done) != 0) abort();
    pid_t child = fork();
    if (child == 0) {
        oxa_host_destroy(host);
        if (write(done[1], &byte, 1) != 1) abort();
        for (;;) pause();
    }
    if (read(done[0], &byte, 1) != 1) abort();
    printf("forked %d\n", (int)child);
}

static int paused;

static int obey(const char* line) {
    char word[32];
    int number = 0;
    if (sscanf(line, "%31s %d", word, &number) < 1) return 1;
    if (strcmp(word, "register") == 0) {
        static int next;
        for (int i = 0; i < number; ++i) {
            char name[32];
            snprintf(name, sizeof name, "more_%d", next++);
            add_tool(name, echo, 1, NULL, 0);
        }
    } else if (strcmp(word, "metadata") == 0) {
        set_metadata(line);
    } else if (strcmp(word, "pause") == 0) {
        paused = 1;
    } else if (strcmp(word, "resume") == 0) {
        paused = 0;
    } else if (strcmp(word, "open") == 0) {
        atomic_store(&gate, 1);
    } else if (strcmp(word, "gated") == 0) {
        while (atomic_load(&gated) < number) oxa_sleep_ns(1000000);
    } else if (strcmp(word, "counted") == 0) {
        printf("%d\n", counted);
        return 1;
    } else if (strcmp(word, "second") == 0) {
        oxa_host_destroy(new_host((XrInstance)0x2000));
    } else if (strcmp(word, "destroy") == 0) {
        oxa_host_destroy(host);
        host = NULL;
    } else if (strcmp(word, "fork") == 0) {
        fork_child();
        return 1;
    } else {
        return 0;
    }
    printf("ok\n");
    return 1;
}

int main(void) {
    char line[128];
    size_t length = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    host = new_host(INSTANCE);
    if (host == NULL || oxa_host_metadata(OXA_METADATA_VERSION, &metadata) != XR_SUCCESS) abort();
    add_tools();
    oxa_host_session_running(host, 1);
    printf("ready %d\n", (int)getpid());
    for (;;) {
        struct pollfd input = {STDIN_FILENO, POLLIN, 0};
        if (poll(&input, 1, 1) > 0) {
            if (read(STDIN_FILENO, line + length, 1) != 1) break;
            if (line[length] != '\n' && length < sizeof line - 2) {
                ++length;
                continue;
            }
            line[length] = 0;
            length = 0;
            if (!obey(line)) break;
        }
        if (host != NULL && !paused) oxa_host_wait_frame(host);
    }
    if (host != NULL) oxa_host_destroy(host);
    return 0;
}
