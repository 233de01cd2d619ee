#include "channel_frames.h"

#include <stdlib.h>
#include <string.h>

/* ---- reading */

static uint64_t read_integer(OxaReader* reader, size_t bytes) {
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < bytes) reader->broken = 1;
    if (reader->broken) return 0;
    for (size_t i = 0; i < bytes; ++i) value |= (uint64_t)reader->at[i] << (8 * i);
    reader->at += bytes;
    return value;
}

uint16_t oxa_read_u16(OxaReader* reader) { return (uint16_t)read_integer(reader, 2); }
uint32_t oxa_read_u32(OxaReader* reader) { return (uint32_t)read_integer(reader, 4); }

OxaFrameText oxa_read_text(OxaReader* reader) {
    OxaFrameText text = {"", 0};
    uint32_t bytes = oxa_read_u32(reader);
    if ((size_t)(reader->end - reader->at) < bytes) reader->broken = 1;
    if (reader->broken) return text;
    const char* start = (const char*)reader->at;
    if (oxa_text_length(start, bytes) != bytes || !oxa_is_utf8(start, bytes)) {
        reader->broken = 1;
        return text;
    }
    text.start = start;
    text.bytes = bytes;
    reader->at += bytes;
    return text;
}

int oxa_read_ended(const OxaReader* reader) { return !reader->broken && reader->at == reader->end; }

/* ---- writing */

static void put_integer(unsigned char* to, uint64_t value, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) to[i] = (unsigned char)(value >> (8 * i));
}

static unsigned char* more(OxaWriter* writer, size_t bytes) {
    if (writer->broken || bytes > OXA_FRAME_MAX_BYTES - writer->count) {
        writer->broken = 1;
        return NULL;
    }
    size_t needed = writer->count + bytes;
    if (needed > writer->capacity) {
        size_t capacity = needed * 2 < 256 ? 256 : needed * 2;
        unsigned char* larger = realloc(writer->start, capacity);
        if (larger == NULL) {
            writer->broken = 1;
            return NULL;
        }
        writer->start = larger;
        writer->capacity = capacity;
    }
    unsigned char* here = writer->start + writer->count;
    writer->count = needed;
    return here;
}

static void write_integer(OxaWriter* writer, uint64_t value, size_t bytes) {
    unsigned char* to = more(writer, bytes);
    if (to != NULL) put_integer(to, value, bytes);
}

void oxa_write_u8(OxaWriter* writer, uint8_t value) { write_integer(writer, value, 1); }
void oxa_write_u16(OxaWriter* writer, uint16_t value) { write_integer(writer, value, 2); }
void oxa_write_u32(OxaWriter* writer, uint32_t value) { write_integer(writer, value, 4); }
void oxa_write_u64(OxaWriter* writer, uint64_t value) { write_integer(writer, value, 8); }

void oxa_write_text(OxaWriter* writer, const char* text) {
    size_t bytes = strlen(text);
    oxa_write_u32(writer, (uint32_t)bytes);
    unsigned char* to = more(writer, bytes);
    if (to != NULL) memcpy(to, text, bytes);
}

void oxa_write_begin(OxaWriter* writer, uint8_t type, uint32_t id) {
    memset(writer, 0, sizeof *writer);
    oxa_write_u32(writer, 0);
    oxa_write_u8(writer, type);
    oxa_write_u32(writer, id);
}

void oxa_write_end(OxaWriter* writer) {
    if (!writer->broken) put_integer(writer->start, writer->count - 4, 4);
}

void oxa_write_free(OxaWriter* writer) {
    free(writer->start);
    memset(writer, 0, sizeof *writer);
}

/* ---- the app's frames */

void oxa_result_head(unsigned char head[OXA_RESULT_HEAD_BYTES], uint32_t id, const OxaOutcome* outcome) {
    put_integer(head, OXA_RESULT_HEAD_BYTES - 4 + outcome->text_bytes, 4);
    head[4] = OXA_FRAME_RESULT;
    put_integer(head + 5, id, 4);
    head[9] = (unsigned char)outcome->status;
    put_integer(head + 10, (uint32_t)outcome->result, 4);
    head[14] = outcome->error ? OXA_RESULT_MARKED_ERROR : 0;
    put_integer(head + 15, outcome->queue_ns, 8);
    put_integer(head + 23, outcome->callback_ns, 8);
    put_integer(head + 31, outcome->text_bytes, 4);
}

void oxa_frame_hello(OxaWriter* writer, uint32_t id, uint16_t version, const OxaHost* host, const char* label) {
    oxa_write_begin(writer, OXA_FRAME_HELLO, id);
    oxa_write_u16(writer, version);
    oxa_write_u32(writer, host->process);
    oxa_write_text(writer, host->application_name);
    oxa_write_text(writer, label);
    oxa_write_text(writer, host->front);
    oxa_write_u32(writer, (uint32_t)(host->display_period_ns / 1000));
    oxa_write_end(writer);
}

static void write_tool(OxaWriter* writer, const OxaToolDescription* tool, const char* metadata) {
    oxa_write_text(writer, tool->name);
    oxa_write_text(writer, tool->description);
    oxa_write_u8(writer, (uint8_t)tool->main_thread);
    oxa_write_text(writer, metadata);
    oxa_write_u32(writer, tool->parameter_count);
    for (uint32_t i = 0; i < tool->parameter_count; ++i) {
        const OxaToolParameterDescription* parameter = &tool->parameters[i];
        oxa_write_text(writer, parameter->name);
        oxa_write_text(writer, parameter->description);
        oxa_write_u8(writer, (uint8_t)parameter->type);
        oxa_write_u8(writer, (uint8_t)parameter->required);
        oxa_write_u8(writer, (uint8_t)parameter->item_type); /* -1 becomes 255 */
        oxa_write_text(writer, parameter->object_properties);
    }
}

void oxa_frame_list(OxaWriter* writer, uint32_t id, OxaHost* host) {
    uint32_t count;
    uint64_t revision;
    const OxaTool** tools = oxa_tools_now(&host->tools, &count, &revision);
    oxa_write_begin(writer, OXA_FRAME_LIST, id);
    oxa_write_u64(writer, revision);
    oxa_write_u32(writer, count);
    if (tools == NULL && count > 0) writer->broken = 1;
    for (uint32_t i = 0; i < count && !writer->broken; ++i) {
        /* Perhaps newer than the revision above: then the next CHANGED tells of it. */
        char* metadata = oxa_tools_metadata(&host->tools, i);
        if (metadata == NULL) {
            writer->broken = 1;
        } else {
            write_tool(writer, &tools[i]->description, metadata);
        }
        free(metadata);
    }
    oxa_write_end(writer);
    free(tools);
}

void oxa_frame_statistics(OxaWriter* writer, uint32_t id, OxaHost* host) {
    OxaStatistic statistics[OXA_STATISTIC_COUNT];
    oxa_statistics(host, statistics);
    oxa_write_begin(writer, OXA_FRAME_STATISTICS, id);
    oxa_write_u32(writer, OXA_STATISTIC_COUNT);
    for (size_t i = 0; i < OXA_STATISTIC_COUNT; ++i) {
        oxa_write_text(writer, statistics[i].name);
        oxa_write_u64(writer, statistics[i].value);
    }
    oxa_write_end(writer);
}
