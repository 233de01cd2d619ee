/* The host's half of the two-call idiom: ask for the size, allocate, fill.
 *
 * What comes back is an app's word, and possibly wrong. A callback that breaks the
 * idiom makes a failed call that says how, so that its author can mend it. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* A result that keeps growing between the calls ends here. */
#define MOST_FILLS 8

/* What is left of the arguments after the exchange: no UTF-8, so that a reader
 * of borrowed memory is found out. */
#define SPOILED 0xFF

void oxa_outcome_say(OxaOutcome* outcome, int32_t status, char* text) {
    free(outcome->text);
    outcome->status = status;
    outcome->text = text;
    outcome->text_bytes = text == NULL ? 0 : strlen(text);
}

static int32_t fail(OxaOutcome* outcome, char* text) {
    oxa_outcome_say(outcome, OXA_CALL_FAILED, text);
    return -1;
}

/* 0: `bytes` can be allocated and asked for. */
static int check_size(OxaOutcome* outcome, uint32_t bytes, const char* call) {
    if (bytes == 0) {
        return fail(outcome,
                    oxa_format("The tool's callback set no size (or 0) in its %s; the size includes the NUL.", call));
    }
    if (bytes > OXA_MAX_TEXT_BYTES) {
        return fail(outcome, oxa_format("The tool's callback asked for %u bytes in its %s; %u is the most.", bytes,
                                        call, OXA_MAX_TEXT_BYTES));
    }
    return 0;
}

/* 0: what a fill left in the buffer is a result. */
static int check_text(OxaOutcome* outcome, const char* text, uint32_t count, uint32_t capacity) {
    if (count == 0 || count > capacity) {
        return fail(outcome, oxa_format("The tool's callback said that it wrote %u bytes into a buffer of %u.", count,
                                        capacity));
    }
    size_t bytes = oxa_text_length(text, count);
    if (bytes == count) return fail(outcome, oxa_format("The tool's result does not end in a NUL."));
    if (bytes != count - 1) {
        return fail(outcome, oxa_format("The tool's result has a NUL after %zu of its %u bytes.", bytes, count - 1));
    }
    if (!oxa_is_utf8(text, bytes)) return fail(outcome, oxa_format("The tool's result is not valid UTF-8."));
    return 0;
}

/* 0: `*count` holds the size that the callback wants. */
static int ask_size(OxaToolCallback callback, void* user_data, const char* arguments, uint32_t* count,
                    OxaOutcome* outcome) {
    *count = 0;
    outcome->result = callback(NULL, 0, count, arguments, user_data);
    ++outcome->c_calls;
    /* The documented answer is XR_SUCCESS; Meta's own wrapper gives the other. */
    if (outcome->result != XR_SUCCESS && outcome->result != XR_ERROR_SIZE_INSUFFICIENT) {
        return fail(outcome,
                    oxa_format("The tool's callback returned XrResult %d to the size query.", (int)outcome->result));
    }
    return check_size(outcome, *count, "size query");
}

static void exchange(OxaToolCallback callback, void* user_data, const char* arguments, OxaOutcome* outcome) {
    uint32_t capacity;
    if (ask_size(callback, user_data, arguments, &capacity, outcome) != 0) return;
    for (int fills = 0; fills < MOST_FILLS; ++fills) {
        char* text = calloc(capacity, 1); /* zeroed: a callback that writes less than it says leaks nothing of ours */
        if (text == NULL) {
            fail(outcome, oxa_format("No memory for a result of %u bytes.", capacity));
            return;
        }
        uint32_t count = 0;
        outcome->result = callback(text, capacity, &count, arguments, user_data);
        ++outcome->c_calls;
        if (outcome->result == XR_SUCCESS) {
            if (check_text(outcome, text, count, capacity) == 0) {
                outcome->status = OXA_CALL_DONE;
                outcome->text = text;
                outcome->text_bytes = count - 1;
            } else {
                free(text);
            }
            return;
        }
        free(text);
        if (outcome->result != XR_ERROR_SIZE_INSUFFICIENT) {
            fail(outcome, oxa_format("The tool's callback returned XrResult %d.", (int)outcome->result));
            return;
        }
        if (count <= capacity && count != 0) {
            fail(outcome, oxa_format("The tool's callback found %u bytes too few, and asked for %u.", capacity, count));
            return;
        }
        if (check_size(outcome, count, "answer to a buffer that was too small") != 0) return;
        capacity = count;
    }
    fail(outcome, oxa_format("The tool's callback asked for a larger buffer %d times in a row.", MOST_FILLS));
}

static void spoil(char* arguments) {
    if (arguments != NULL) memset(arguments, SPOILED, strlen(arguments));
}

void oxa_invoke(OxaToolCallback callback, void* user_data, char* arguments, OxaOutcome* outcome) {
    memset(outcome, 0, sizeof *outcome);
    int64_t before = oxa_now_ns();
    exchange(callback, user_data, arguments, outcome);
    outcome->callback_ns = (uint64_t)(oxa_now_ns() - before);
    spoil(arguments);
}

/* ---- one C call by itself, with everything around it watched */

#define UNWRITTEN 0xA5

void oxa_invoke_raw(OxaRawCall* raw, char* arguments) {
    OxaToolCallback callback;
    memcpy(&callback, &raw->callback, sizeof callback);
    size_t whole = (size_t)raw->capacity + OXA_GUARD_BYTES;
    unsigned char* buffer = raw->null_buffer ? NULL : malloc(whole);
    if (buffer != NULL) memset(buffer, UNWRITTEN, whole);
    if (buffer == NULL && !raw->null_buffer) {
        raw->result = XR_ERROR_OUT_OF_MEMORY;
        return;
    }
    uint32_t count = OXA_COUNT_UNTOUCHED;
    raw->result = callback((char*)buffer, raw->capacity, raw->null_count ? NULL : &count, arguments, raw->user_data);
    raw->count = count;
    raw->buffer = (char*)buffer;
    for (uint32_t i = raw->capacity; buffer != NULL && i > 0 && raw->written == 0; --i) {
        if (buffer[i - 1] != UNWRITTEN) raw->written = i;
    }
    for (size_t i = raw->capacity; buffer != NULL && i < whole; ++i) raw->beyond |= buffer[i] != UNWRITTEN;
    spoil(arguments);
}
