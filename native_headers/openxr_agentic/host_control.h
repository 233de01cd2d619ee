/* What the host offers to tests in the same process, beside OpenXR.
 *
 * The host's library exports one function, oxaGetHostControl; everything else
 * is reached through the table that it returns. Nothing here is needed by an
 * app or by an agent. All functions may be called from any thread. Texts are
 * UTF-8; a `const char*` argument is copied before the function returns. */
#ifndef OPENXR_AGENTIC_HOST_CONTROL_H_
#define OPENXR_AGENTIC_HOST_CONTROL_H_ 1

#include "extension_names.h"

#define OXA_HOST_CONTROL_VERSION 2
#define OXA_GUARD_BYTES 64 /* behind the buffer of a raw call */

/* A registered tool as the host keeps it. `parameters` and the structure's
 * copies live until the instance is destroyed. */
typedef struct OxaToolParameterDescription {
    char name[OXA_NAME_SIZE];
    char description[OXA_DESCRIPTION_SIZE];
    int32_t type;                                       /* 0 string, 1 number, 2 boolean, 3 array, 4 object */
    int32_t required;                                   /* 0 or 1 */
    int32_t item_type;                                  /* as type; -1 when it is no array */
    char object_properties[OXA_OBJECT_PROPERTIES_SIZE]; /* empty when it is no object */
} OxaToolParameterDescription;

typedef struct OxaToolDescription {
    char name[OXA_NAME_SIZE];
    char description[OXA_DESCRIPTION_SIZE];
    int32_t main_thread; /* 0 or 1 */
    uint32_t parameter_count;
    const OxaToolParameterDescription* parameters;
    void* callback; /* the address of the app's C function */
    void* user_data;
} OxaToolDescription;

/* One agent call, played as the host plays it: through the queue, on the right
 * thread, both halves of the two-call idiom. */
typedef struct OxaAgentCall {
    const char* tool;
    const char* arguments; /* NULL is passed on as NULL */
    const char* thread;    /* NULL: where the tool wants it; else the kept native thread of that name, past the queue */
    int64_t timeout_ns;
    /* out */
    int32_t status;      /* OXA_CALL_... of channel.h */
    XrResult result;     /* of the last C call */
    uint32_t c_calls;    /* how many C calls it took */
    int32_t error;       /* 1: the app marked the result as an error (metadata.h) */
    uint64_t text_bytes; /* without the NUL */
    char* text;          /* NUL-terminated, never NULL; freed with free_text */
} OxaAgentCall;

/* Exactly one C call of a callback, past the queue. */
typedef struct OxaRawCall {
    void* callback;
    void* user_data;
    const char* arguments; /* NULL is passed on as NULL */
    const char* thread;    /* NULL: the calling thread; else the kept native thread of that name */
    uint32_t capacity;     /* bytes */
    int32_t null_buffer;   /* 1: the buffer pointer is NULL, whatever the capacity */
    int32_t null_count;    /* 1: the count pointer is NULL */
    /* out */
    XrResult result;
    uint32_t count;   /* as the callback left it; OXA_COUNT_UNTOUCHED before */
    uint32_t written; /* bytes from the buffer's start up to the last one that was changed; 0: none */
    int32_t beyond;   /* 1: guard bytes behind the buffer were changed */
    char* buffer;     /* capacity bytes as they are after the call, or NULL; freed with free_text */
} OxaRawCall;
#define OXA_COUNT_UNTOUCHED 0xC0DEC0DEu

typedef struct OxaHostControl {
    uint32_t size; /* of this structure */
    uint32_t version;

    /* Options and numbers hold for instances that are created afterwards,
     * until `reset`. Options:
     *   "offer_extension"      1   list and accept the extension (default: 0 where
     *                              OPENXR_AGENTIC_MOCK_EXTENSION is 0)
     *   "destroy_waits"        0   xrDestroyInstance waits for running callbacks without a limit
     *                              (else 5 s; then it gives up and leaves the thread behind)
     *   "pump_budget_ns"   2000000 per frame (default: OPENXR_AGENTIC_PUMP_BUDGET_MS)
     *   "display_period_ns" 11111111
     * Returns 0, or -1 for an unknown name or a value out of range. */
    int32_t (*set_option)(const char* name, int64_t value);
    /* The numbers that the host expects, by the header's names with the suffix
     * METAX1, e.g. "XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1". -1: unknown name. */
    int32_t (*set_number)(const char* name, int64_t value);
    /* Back to the defaults; faults are forgotten. Living instances keep theirs. */
    void (*reset)(void);

    /* The next `times` calls of an OpenXR function of the front return `result`
     * and do nothing. lookup = 1: the next look-ups of the function through
     * xrGetInstanceProcAddr return `result` instead: with XR_SUCCESS and a NULL
     * pointer, with a failure and the pointer not written. -1: unknown function. */
    int32_t (*fail)(const char* function, XrResult result, uint32_t times, int32_t lookup);

    /* Living instances, oldest first; returns how many there are. */
    uint32_t (*instances)(XrInstance* instances, uint32_t capacity);
    /* How often a function of the front was called in this process. */
    uint64_t (*function_calls)(const char* function);

    /* An instance of XR_NULL_HANDLE stands for the newest living one. No such
     * instance: XR_ERROR_HANDLE_INVALID. */
    XrResult (*tool_count)(XrInstance instance, uint32_t* count);
    XrResult (*tool)(XrInstance instance, uint32_t index, OxaToolDescription* description);
    /* What the app says of the tool beyond the extension (metadata.h): *text is
     * empty when there is nothing, and freed with free_text. */
    XrResult (*metadata)(XrInstance instance, uint32_t index, char** text);
    XrResult (*call)(XrInstance instance, OxaAgentCall* call);
    XrResult (*raw_call)(XrInstance instance, OxaRawCall* call); /* without `thread`, needs no instance */
    /* `threads` native threads call the tool past the queue, over and over, until
     * xrDestroyInstance or the process's end. */
    XrResult (*flood)(XrInstance instance, const char* tool, const char* arguments, uint32_t threads);
    /* By name: "calls", "calls_main_thread", "calls_timed_out", "calls_withdrawn",
     * "flood_calls", "flood_refused", "pumps", "pumps_over_budget", "queued", "threads".
     * -1: unknown name. */
    int64_t (*statistic)(XrInstance instance, const char* name);

    void (*free_text)(char* text);
} OxaHostControl;

/* NULL when this library does not speak that version. */
typedef const OxaHostControl* (*PFN_oxaGetHostControl)(uint32_t version);

#endif
