/* XR_METAX1_agentic_external_tool: an app's own tools for AI agents.
 *
 * Meta's header of this name is not public. This one was written from Meta's
 * published page on custom tools for XR Operator and from what public programs
 * that use the real extension show. It stands at the path that Meta's page
 * includes, so that the official header can take its place (see
 * OPENXR_AGENTIC_INCLUDE_DIR in the README) without any edit.
 *
 * Every number carries its status:
 *   documented  it is on Meta's published page
 *   seen        it was read off public programs that use the real extension
 *   assumed     nobody outside Meta has published it; replaceable at run time
 */
#ifndef METAX1_AGENTIC_EXTERNAL_TOOL_H_
#define METAX1_AGENTIC_EXTERNAL_TOOL_H_ 1

#include <stddef.h>

#include "../openxr_agentic/openxr_core.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Only this header defines it: a build that finds the official one knows by
 * its absence that no number is a guess. */
#define OXA_NUMBERS_ARE_ASSUMED 1

#define XR_METAX1_agentic_external_tool 1
#define XR_METAX1_agentic_external_tool_SPEC_VERSION 1                                   /* assumed */
#define XR_METAX1_AGENTIC_EXTERNAL_TOOL_EXTENSION_NAME "XR_METAX1_agentic_external_tool" /* documented */

/* Field sizes in bytes, terminating NUL included. */
#define XR_MAX_AGENTIC_EXTERNAL_TOOL_NAME_SIZE_METAX1 64                /* documented: 63 usable */
#define XR_MAX_AGENTIC_EXTERNAL_TOOL_DESCRIPTION_SIZE_METAX1 1024       /* documented: 1023 usable */
#define XR_MAX_AGENTIC_EXTERNAL_TOOL_OBJECT_PROPERTIES_SIZE_METAX1 4096 /* documented: 4095 usable */

/* Meta's preview extensions number their structures 1000NNN00K, with NNN the
 * extension's number. That number is unpublished: 990 is a placeholder. */
#define XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1 ((XrStructureType)1000990000)     /* assumed */
#define XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1 ((XrStructureType)1000990001) /* assumed */

typedef enum XrAgenticExternalToolParameterTypeMETAX1 {
    /* The order is documented, the numbers are assumed. */
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_STRING_METAX1 = 0,  /* assumed */
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_NUMBER_METAX1 = 1,  /* assumed */
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_BOOLEAN_METAX1 = 2, /* assumed */
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_ARRAY_METAX1 = 3,   /* assumed */
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_OBJECT_METAX1 = 4,  /* assumed */
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_MAX_ENUM_METAX1 = 0x7FFFFFFF
} XrAgenticExternalToolParameterTypeMETAX1;

/* 64 bits wide: seen. A 32-bit reader of a zeroed structure sees the same
 * value on little-endian machines. */
typedef XrFlags64 XrAgenticExternalToolCallbackInfoFlagsMETAX1;

/* The callback runs on the application's main thread (documented); without
 * the bit, on any thread. */
#define XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1 \
    ((XrAgenticExternalToolCallbackInfoFlagsMETAX1)0x00000001) /* assumed */

/* One agent call, by the two-call idiom (documented). A NULL buffer or a
 * capacity of 0 asks for the size. The count is always set, in bytes, NUL
 * included. `parameters` is the agent's arguments as JSON text; NULL means {}
 * (seen). Nothing is written when the buffer is too small: the answer is
 * XR_ERROR_SIZE_INSUFFICIENT. */
typedef XrResult(XRAPI_PTR* PFN_xrAgenticExternalToolCallbackMETAX1)(char* resultBuffer,
                                                                     uint32_t resultBufferCapacityInput,
                                                                     uint32_t* resultBufferCountOutput,
                                                                     const char* parameters, void* userData);

/* Order and sizes: seen. */
typedef struct XrAgenticExternalToolParameterMETAX1 {
    XrStructureType type;
    const void* next;
    char paramName[XR_MAX_AGENTIC_EXTERNAL_TOOL_NAME_SIZE_METAX1];
    char paramDescription[XR_MAX_AGENTIC_EXTERNAL_TOOL_DESCRIPTION_SIZE_METAX1];
    XrAgenticExternalToolParameterTypeMETAX1 paramType;
    XrBool32 isRequired;
    XrAgenticExternalToolParameterTypeMETAX1 arrayItemType;                            /* read for ARRAY only */
    char objectProperties[XR_MAX_AGENTIC_EXTERNAL_TOOL_OBJECT_PROPERTIES_SIZE_METAX1]; /* read for OBJECT only */
} XrAgenticExternalToolParameterMETAX1;

/* Fields: seen. Order: documented. */
typedef struct XrAgenticExternalToolRegisterInfoMETAX1 {
    XrStructureType type;
    const void* next;
    char toolName[XR_MAX_AGENTIC_EXTERNAL_TOOL_NAME_SIZE_METAX1];
    char toolDescription[XR_MAX_AGENTIC_EXTERNAL_TOOL_DESCRIPTION_SIZE_METAX1];
    uint32_t toolParameterCount;
    const XrAgenticExternalToolParameterMETAX1* toolParameters; /* read during the register call only (seen) */
    PFN_xrAgenticExternalToolCallbackMETAX1 toolCallback;       /* must outlive the instance (seen) */
    XrAgenticExternalToolCallbackInfoFlagsMETAX1 toolCallbackInfoFlags;
    void* toolUserData; /* must outlive the instance (seen) */
} XrAgenticExternalToolRegisterInfoMETAX1;

/* Never exported: fetched with xrGetInstanceProcAddr for each instance (seen).
 * There is no unregister (documented). */
typedef XrResult(XRAPI_PTR* PFN_xrAgenticRegisterExternalToolMETAX1)(
    XrInstance instance, const XrAgenticExternalToolRegisterInfoMETAX1* registerInfo);

#ifdef __cplusplus
}
#endif

#endif
