/* The extension's one function and the metadata function, as an app finds them
 * through either front. The registry says whose host an instance has. */
#include "core.h"

#include <string.h>

/* Such a function may have been looked up on another instance. */
static XrResult find_serving(XrInstance instance, OxaHost** host) {
    *host = oxa_host_find(instance);
    if (*host == NULL) return XR_ERROR_HANDLE_INVALID;
    if ((*host)->serves) return XR_SUCCESS;
    oxa_host_release(*host);
    return XR_ERROR_FUNCTION_UNSUPPORTED;
}

static XrResult XRAPI_CALL register_tool(XrInstance instance, const OxaToolRegisterInfo* info) {
    XrResult result;
    OxaHost* host;
    if (oxa_fault(OXA_REGISTER_FUNCTION_NAME, &result)) return result;
    result = find_serving(instance, &host);
    if (result != XR_SUCCESS) return result;
    result = oxa_host_register_tool(host, info);
    oxa_host_release(host);
    return result;
}

static XrResult XRAPI_CALL get_metadata(XrInstance instance, uint32_t version,
                                        const OxaToolMetadataInterface** metadata) {
    XrResult result;
    OxaHost* host;
    if (oxa_fault(OXA_METADATA_FUNCTION_NAME, &result)) return result;
    if (metadata == NULL) return XR_ERROR_VALIDATION_FAILURE;
    *metadata = NULL;
    result = find_serving(instance, &host);
    if (result != XR_SUCCESS) return result;
    oxa_host_release(host);
    return oxa_host_metadata(version, metadata);
}

static const char* const names[] = {OXA_REGISTER_FUNCTION_NAME, OXA_METADATA_FUNCTION_NAME};

PFN_xrVoidFunction oxa_agentic_function(const char* name) {
    if (strcmp(name, names[0]) == 0) return (PFN_xrVoidFunction)register_tool;
    if (strcmp(name, names[1]) == 0) return (PFN_xrVoidFunction)get_metadata;
    return NULL;
}

void oxa_agentic_functions_know(void) { oxa_faults_know(names, (uint32_t)(sizeof names / sizeof *names)); }
