/* What an app says about its tools beyond the extension; see metadata.h. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

static XrResult set_metadata(OxaHost* host, const char* tool, const char* metadata) {
    if (tool == NULL) return oxa_tool_refuse("(none)", "tool", "is NULL");
    size_t bytes = metadata == NULL ? 0 : oxa_text_length(metadata, OXA_MAX_METADATA_BYTES + (size_t)1);
    if (bytes > OXA_MAX_METADATA_BYTES) return oxa_tool_refuse(tool, "metadata", "is too long");
    if (bytes > 0 && !oxa_is_utf8(metadata, bytes)) return oxa_tool_refuse(tool, "metadata", "is not valid UTF-8");
    char* copy = NULL;
    if (bytes > 0 && (copy = oxa_copy(metadata, bytes)) == NULL) return XR_ERROR_OUT_OF_MEMORY;
    switch (oxa_tools_set_metadata(&host->tools, tool, copy)) {
        case OXA_METADATA_NO_TOOL:
            return oxa_tool_refuse(tool, "tool", "is not registered");
        case OXA_METADATA_CHANGED:
            if (host->channel != NULL) oxa_channel_tools_changed(host->channel);
            return XR_SUCCESS;
        case OXA_METADATA_SAME:
            break;
    }
    return XR_SUCCESS;
}

static XrResult XRAPI_CALL set(XrInstance instance, const char* tool, const char* metadata) {
    OxaHost* host = oxa_host_find(instance);
    if (host == NULL) return XR_ERROR_HANDLE_INVALID;
    XrResult result = set_metadata(host, tool, metadata);
    oxa_host_release(host);
    return result;
}

static XrResult XRAPI_CALL mark_error(XrInstance instance) {
    /* First, and without the registry: a tool that is destroying its instance still has a result. */
    if (oxa_visit_mark_error(instance)) return XR_SUCCESS;
    OxaHost* host = oxa_host_find(instance);
    if (host == NULL) return XR_ERROR_HANDLE_INVALID;
    oxa_host_release(host);
    return XR_ERROR_CALL_ORDER_INVALID;
}

static const OxaToolMetadataInterface interface_1 = {
    sizeof(OxaToolMetadataInterface),
    OXA_METADATA_VERSION,
    set,
    mark_error,
};

XrResult oxa_host_metadata(uint32_t version, const OxaToolMetadataInterface** metadata) {
    *metadata = version == OXA_METADATA_VERSION ? &interface_1 : NULL;
    return *metadata != NULL ? XR_SUCCESS : XR_ERROR_API_VERSION_UNSUPPORTED;
}
