/* The registered tools of one host: checked strictly, copied whole, and kept
 * until the host is freed. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

void oxa_tools_init(OxaToolTable* table) {
    memset(table, 0, sizeof *table);
    oxa_mutex_init(&table->mutex);
}

static void tool_free(OxaTool* tool) {
    if (tool == NULL) return;
    free((void*)tool->description.parameters);
    free(tool);
}

void oxa_tools_free(OxaToolTable* table) {
    for (uint32_t i = 0; i < table->count; ++i) {
        tool_free(table->entries[i].tool);
        free(table->entries[i].metadata);
    }
    free(table->entries);
    oxa_mutex_destroy(&table->mutex);
}

/* FNV-1a. */
static uint32_t hash_of(const char* name, size_t bytes) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* The mutex is held. */
static OxaToolEntry* find(const OxaToolTable* table, const char* name, size_t bytes) {
    uint32_t hash = hash_of(name, bytes);
    for (uint32_t i = 0; i < table->count; ++i) {
        if (table->entries[i].hash != hash) continue;
        const char* other = table->entries[i].tool->description.name;
        if (strlen(other) == bytes && memcmp(other, name, bytes) == 0) return &table->entries[i];
    }
    return NULL;
}

const OxaTool* oxa_tool_named(OxaToolTable* table, const char* name, size_t bytes) {
    oxa_lock(&table->mutex);
    const OxaToolEntry* entry = find(table, name, bytes);
    const OxaTool* tool = entry == NULL ? NULL : entry->tool;
    oxa_unlock(&table->mutex);
    return tool;
}

const OxaTool** oxa_tools_now(OxaToolTable* table, uint32_t* count, uint64_t* revision) {
    oxa_lock(&table->mutex);
    *count = table->count;
    *revision = atomic_load(&table->revision);
    const OxaTool** tools = table->count == 0 ? NULL : malloc(table->count * sizeof *tools);
    for (uint32_t i = 0; tools != NULL && i < table->count; ++i) tools[i] = table->entries[i].tool;
    oxa_unlock(&table->mutex);
    return tools;
}

OxaMetadataSet oxa_tools_set_metadata(OxaToolTable* table, const char* name, char* metadata) {
    OxaMetadataSet outcome = OXA_METADATA_NO_TOOL;
    char* unused = metadata;
    oxa_lock(&table->mutex);
    OxaToolEntry* entry = find(table, name, strlen(name));
    if (entry != NULL) {
        const char* before = entry->metadata == NULL ? "" : entry->metadata;
        outcome = strcmp(before, metadata == NULL ? "" : metadata) == 0 ? OXA_METADATA_SAME : OXA_METADATA_CHANGED;
    }
    if (outcome == OXA_METADATA_CHANGED) {
        unused = entry->metadata;
        entry->metadata = metadata;
        atomic_fetch_add(&table->revision, 1);
    }
    oxa_unlock(&table->mutex);
    free(unused);
    return outcome;
}

char* oxa_tools_metadata(OxaToolTable* table, uint32_t index) {
    char* copy = NULL;
    oxa_lock(&table->mutex);
    if (index < table->count) {
        const char* metadata = table->entries[index].metadata;
        copy = metadata == NULL ? oxa_copy("", 0) : oxa_copy(metadata, strlen(metadata));
    }
    oxa_unlock(&table->mutex);
    return copy;
}

/* ---- what a strict host refuses; each check says why, or NULL */

static const char* check_text(const char* field, size_t size, int may_be_empty) {
    size_t bytes = oxa_text_length(field, size);
    if (bytes == size) return "has no NUL in its field";
    if (bytes == 0 && !may_be_empty) return "is empty";
    if (!oxa_is_utf8(field, bytes)) return "is not valid UTF-8";
    return NULL;
}

/* 0 string ... 4 object; -1: not one of the extension's numbers. */
static int32_t plain_type(const OxaNumbers* numbers, int64_t type) {
    for (int32_t i = 0; i < 5; ++i) {
        if (numbers->types[i] == type) return i;
    }
    return -1;
}

enum { ARRAY = 3, OBJECT = 4 }; /* plain types */

/* Copies a parameter, or says what is wrong with it: a field, and its fault. */
static const char* take_parameter(const OxaNumbers* numbers, const OxaToolParameter* from,
                                  OxaToolParameterDescription* to, const char** field) {
    const char* fault;
    *field = "type";
    if ((int64_t)from->type != numbers->parameter_structure) return "is not that of a tool parameter";
    *field = "next";
    if (from->next != NULL) return "is not NULL";
    *field = "paramName";
    if ((fault = check_text(from->paramName, OXA_NAME_SIZE, 0)) != NULL) return fault;
    *field = "paramDescription";
    if ((fault = check_text(from->paramDescription, OXA_DESCRIPTION_SIZE, 1)) != NULL) return fault;
    *field = "isRequired";
    if (from->isRequired != XR_FALSE && from->isRequired != XR_TRUE) return "is neither XR_TRUE nor XR_FALSE";
    *field = "paramType";
    to->type = plain_type(numbers, (int64_t)from->paramType);
    if (to->type < 0) return "is not a parameter type";
    to->item_type = -1;
    if (to->type == ARRAY) {
        *field = "arrayItemType";
        to->item_type = plain_type(numbers, (int64_t)from->arrayItemType);
        if (to->item_type < 0) return "is not a parameter type";
    }
    if (to->type == OBJECT) {
        *field = "objectProperties";
        if ((fault = check_text(from->objectProperties, OXA_OBJECT_PROPERTIES_SIZE, 1)) != NULL) return fault;
        strcpy(to->object_properties, from->objectProperties);
    }
    strcpy(to->name, from->paramName);
    strcpy(to->description, from->paramDescription);
    to->required = from->isRequired == XR_TRUE;
    return NULL;
}

XrResult oxa_tool_refuse(const char* tool, const char* where, const char* fault) {
    const char* log = getenv("OPENXR_AGENTIC_HOST_LOG");
    if (log != NULL && *log != 0) oxa_report("tool %.*s refused: %s %s", OXA_NAME_SIZE - 1, tool, where, fault);
    return XR_ERROR_VALIDATION_FAILURE;
}

static XrResult take_parameters(const OxaNumbers* numbers, const OxaToolRegisterInfo* info,
                                OxaToolParameterDescription* parameters) {
    for (uint32_t i = 0; i < info->toolParameterCount; ++i) {
        const char* field;
        const char* fault = take_parameter(numbers, &info->toolParameters[i], &parameters[i], &field);
        for (uint32_t j = 0; fault == NULL && j < i; ++j) {
            if (strcmp(parameters[j].name, parameters[i].name) != 0) continue;
            field = "paramName";
            fault = "is that of an earlier parameter";
        }
        if (fault != NULL) return oxa_tool_refuse(info->toolName, field, fault);
    }
    return XR_SUCCESS;
}

/* All that can be said without looking at the parameters or the table. */
static XrResult check_info(const OxaNumbers* numbers, const OxaToolRegisterInfo* info) {
    if (info == NULL) return oxa_tool_refuse("(none)", "registerInfo", "is NULL");
    const char* fault = check_text(info->toolName, OXA_NAME_SIZE, 0);
    if ((int64_t)info->type != numbers->register_info_structure) {
        return oxa_tool_refuse(fault == NULL ? info->toolName : "(unreadable)", "type",
                               "is not that of a tool's register info");
    }
    if (fault != NULL) return oxa_tool_refuse("(unreadable)", "toolName", fault);
    const char* name = info->toolName;
    if (info->next != NULL) return oxa_tool_refuse(name, "next", "is not NULL");
    fault = check_text(info->toolDescription, OXA_DESCRIPTION_SIZE, 1);
    if (fault != NULL) return oxa_tool_refuse(name, "toolDescription", fault);
    if (info->toolCallback == NULL) return oxa_tool_refuse(name, "toolCallback", "is NULL");
    if (((uint64_t)info->toolCallbackInfoFlags & ~numbers->main_thread_bit) != 0) {
        return oxa_tool_refuse(name, "toolCallbackInfoFlags", "has unknown bits");
    }
    if (info->toolParameterCount > OXA_MAX_PARAMETERS)
        return oxa_tool_refuse(name, "toolParameterCount", "is too large");
    if (info->toolParameterCount > 0 && info->toolParameters == NULL) {
        return oxa_tool_refuse(name, "toolParameters", "is NULL, though toolParameterCount is not 0");
    }
    return XR_SUCCESS;
}

static XrResult add(OxaToolTable* table, OxaTool* tool) {
    const char* name = tool->description.name;
    OxaToolEntry entry = {hash_of(name, strlen(name)), tool, NULL};
    XrResult result = XR_SUCCESS;
    oxa_lock(&table->mutex);
    if (find(table, name, strlen(name)) != NULL) result = XR_ERROR_VALIDATION_FAILURE;
    if (result == XR_SUCCESS && table->count == table->capacity) {
        uint32_t capacity = table->capacity == 0 ? 16 : table->capacity * 2;
        OxaToolEntry* entries = realloc(table->entries, capacity * sizeof *entries);
        if (entries == NULL) {
            result = XR_ERROR_OUT_OF_MEMORY;
        } else {
            table->entries = entries;
            table->capacity = capacity;
        }
    }
    if (result == XR_SUCCESS) {
        table->entries[table->count++] = entry;
        atomic_fetch_add(&table->revision, 1);
    }
    oxa_unlock(&table->mutex);
    return result;
}

XrResult oxa_host_register_tool(OxaHost* host, const OxaToolRegisterInfo* info) {
    if (atomic_load(&host->closing)) return XR_ERROR_HANDLE_INVALID;
    XrResult result = check_info(&host->numbers, info);
    if (result != XR_SUCCESS) return result;

    OxaTool* tool = calloc(1, sizeof *tool);
    OxaToolParameterDescription* parameters = calloc(info->toolParameterCount + (size_t)1, sizeof *parameters);
    if (tool == NULL || parameters == NULL) {
        free(tool);
        free(parameters);
        return XR_ERROR_OUT_OF_MEMORY;
    }
    OxaToolDescription* description = &tool->description;
    strcpy(description->name, info->toolName);
    strcpy(description->description, info->toolDescription);
    description->main_thread = (info->toolCallbackInfoFlags & host->numbers.main_thread_bit) != 0;
    description->parameter_count = info->toolParameterCount;
    description->parameters = parameters;
    /* ISO C has no cast from a function pointer to void*. */
    memcpy(&description->callback, &info->toolCallback, sizeof description->callback);
    description->user_data = info->toolUserData;
    tool->callback = info->toolCallback;
    tool->user_data = info->toolUserData;

    result = take_parameters(&host->numbers, info, parameters);
    if (result == XR_SUCCESS) {
        result = add(&host->tools, tool);
        if (result == XR_ERROR_VALIDATION_FAILURE) oxa_tool_refuse(info->toolName, "toolName", "is taken");
    }
    if (result != XR_SUCCESS) {
        tool_free(tool);
        return result;
    }
    if (host->channel != NULL) oxa_channel_tools_changed(host->channel);
    return XR_SUCCESS;
}
