/* What our host takes beyond the extension: metadata for a tool, and the mark
 * that a result is an error.
 *
 * The extension tells an agent a tool's name, description and parameters, and
 * nothing else; this says the rest. An app asks for one more function, by
 *     xrGetInstanceProcAddr(instance, OXA_METADATA_FUNCTION_NAME, ...)
 * on an instance that enabled the extension. Where our host serves it, the
 * function is there. Any other host answers XR_ERROR_FUNCTION_UNSUPPORTED, as it
 * does for every name that it doesn't know, and the app goes on without. It is
 * no extension: it is never listed, and there is nothing to enable. */
#ifndef OPENXR_AGENTIC_METADATA_H_
#define OPENXR_AGENTIC_METADATA_H_ 1

#include "openxr_core.h"

#include <stdint.h>

#define OXA_METADATA_FUNCTION_NAME "oxaGetToolMetadataInterface"
#define OXA_METADATA_VERSION 1
#define OXA_MAX_METADATA_BYTES (64u * 1024) /* without the NUL */

/* Functions for any thread, as long as the process lives. */
typedef struct OxaToolMetadataInterface {
    uint32_t size; /* of this structure */
    uint32_t version;

    /* Replaces what is known of a registered tool. The text is copied, and the
     * host passes it on unread: UTF-8, OXA_MAX_METADATA_BYTES at most. NULL or
     * empty removes it. By convention it is a JSON object, each member optional:
     *     "title"         text for people
     *     "annotations"   an object of MCP's hints: "readOnlyHint", "destructiveHint",
     *                     "idempotentHint", "openWorldHint", each true or false
     *     "groups"        an array of texts
     *     "inputSchema"   the arguments' whole JSON schema, of "type": "object"
     *     "outputSchema"  the result's
     *     "enabled"       false: agents don't see the tool. Calls still come in;
     *                     the app says what it answers.
     * Agents are told when anything differs from before.
     * XR_ERROR_VALIDATION_FAILURE: no such tool, too long, or not valid UTF-8.
     * XR_ERROR_HANDLE_INVALID: no such instance. */
    XrResult(XRAPI_PTR* set)(XrInstance instance, const char* tool, const char* metadata);

    /* For use inside a tool's callback, on the thread that it was called on: the
     * result of this agent call is an error. A call is made by several calls of
     * the callback; a mark in any of them, also in the size query, holds for all.
     * Of a tool whose metadata is set, the mark alone says whether a text is an
     * error; of others, agents are told so of a text that begins "Error: " too.
     * XR_ERROR_CALL_ORDER_INVALID: this thread runs no call of that instance.
     * XR_ERROR_HANDLE_INVALID: no such instance. */
    XrResult(XRAPI_PTR* mark_error)(XrInstance instance);
} OxaToolMetadataInterface;

/* XR_ERROR_API_VERSION_UNSUPPORTED: this host doesn't speak that version; the
 * pointer is NULL then, as with XR_ERROR_HANDLE_INVALID and
 * XR_ERROR_FUNCTION_UNSUPPORTED (the instance did not enable the extension).
 * XR_ERROR_VALIDATION_FAILURE: there is nowhere to write the pointer to. */
typedef XrResult(XRAPI_PTR* PFN_oxaGetToolMetadataInterface)(XrInstance instance, uint32_t version,
                                                             const OxaToolMetadataInterface** metadata);

#endif
