/* Bytes to values and back, as channel.h lays them down. No sockets, no locks. */
#ifndef OPENXR_AGENTIC_HOST_CHANNEL_FRAMES_H_
#define OPENXR_AGENTIC_HOST_CHANNEL_FRAMES_H_ 1

#include "core.h"

/* Reads a payload from its start. What does not fit sets `broken`, and every
 * later value is 0 or empty: one look at the end suffices. */
typedef struct OxaReader {
    const unsigned char* at;
    const unsigned char* end;
    int broken;
} OxaReader;

typedef struct OxaFrameText {
    const char* start; /* no NUL behind it */
    uint32_t bytes;
} OxaFrameText;

uint16_t oxa_read_u16(OxaReader* reader);
uint32_t oxa_read_u32(OxaReader* reader);
OxaFrameText oxa_read_text(OxaReader* reader);
/* 1: all read, and all fitted. */
int oxa_read_ended(const OxaReader* reader);

/* Grows a frame. Out of memory or over OXA_FRAME_MAX_BYTES sets `broken`. */
typedef struct OxaWriter {
    unsigned char* start;
    size_t count;
    size_t capacity;
    int broken;
} OxaWriter;

void oxa_write_begin(OxaWriter* writer, uint8_t type, uint32_t id);
void oxa_write_u8(OxaWriter* writer, uint8_t value);
void oxa_write_u16(OxaWriter* writer, uint16_t value);
void oxa_write_u32(OxaWriter* writer, uint32_t value);
void oxa_write_u64(OxaWriter* writer, uint64_t value);
void oxa_write_text(OxaWriter* writer, const char* text);
/* Fills in the length. */
void oxa_write_end(OxaWriter* writer);
void oxa_write_free(OxaWriter* writer);

/* A RESULT frame up to its text, which is sent from where it is. */
#define OXA_RESULT_HEAD_BYTES (OXA_FRAME_HEADER_BYTES + 1 + 4 + 1 + 8 + 8 + 4)
void oxa_result_head(unsigned char head[OXA_RESULT_HEAD_BYTES], uint32_t id, const OxaOutcome* outcome);

void oxa_frame_hello(OxaWriter* writer, uint32_t id, uint16_t version, const OxaHost* host, const char* label);
void oxa_frame_list(OxaWriter* writer, uint32_t id, OxaHost* host);
void oxa_frame_statistics(OxaWriter* writer, uint32_t id, OxaHost* host);

#endif
