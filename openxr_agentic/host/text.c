#include "core.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t oxa_text_length(const char* field, size_t size) {
    const char* end = memchr(field, 0, size);
    return end == NULL ? size : (size_t)(end - field);
}

/* How many bytes the character at `text` takes; 0 when it is none. */
static size_t character_bytes(const unsigned char* text, size_t left) {
    unsigned lead = text[0];
    if (lead < 0x80) return 1;
    size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || bytes > left) return 0;
    /* The second byte also rules out longer forms than needed, surrogates and
     * what lies above U+10FFFF. */
    unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (text[1] < lowest || text[1] > highest) return 0;
    for (size_t i = 2; i < bytes; ++i) {
        if ((text[i] & 0xC0) != 0x80) return 0;
    }
    return bytes;
}

int oxa_is_utf8(const char* text, size_t bytes) {
    const unsigned char* at = (const unsigned char*)text;
    const unsigned char* end = at + bytes;
    while (at < end) {
        uint64_t eight;
        if (end - at >= (ptrdiff_t)sizeof eight) {
            memcpy(&eight, at, sizeof eight);
            if ((eight & UINT64_C(0x8080808080808080)) == 0) {
                at += sizeof eight;
                continue;
            }
        }
        size_t character = character_bytes(at, (size_t)(end - at));
        if (character == 0) return 0;
        at += character;
    }
    return 1;
}

char* oxa_copy(const char* text, size_t bytes) {
    char* copy = malloc(bytes + 1);
    if (copy == NULL) return NULL;
    if (bytes > 0) memcpy(copy, text, bytes);
    copy[bytes] = 0;
    return copy;
}

char* oxa_format(const char* format, ...) {
    char line[1024];
    va_list values;
    va_start(values, format);
    int bytes = vsnprintf(line, sizeof line, format, values);
    va_end(values);
    if (bytes < 0) return NULL;
    return oxa_copy(line, (size_t)bytes < sizeof line ? (size_t)bytes : sizeof line - 1);
}
