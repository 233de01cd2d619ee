/* One spelling of the extension's names for all of our C.
 *
 * Meta's page says that the suffix of the names may be META or METAX1. The
 * build reads the header that it finds first and defines OXA_EXTENSION_SUFFIX
 * accordingly; everything else in this project uses the names below. */
#ifndef OPENXR_AGENTIC_EXTENSION_NAMES_H_
#define OPENXR_AGENTIC_EXTENSION_NAMES_H_ 1

#include <meta_openxr_preview/metax1_agentic_external_tool.h>

#ifndef OXA_EXTENSION_SUFFIX
#define OXA_EXTENSION_SUFFIX METAX1
#endif

#define OXA_PASTE_(left, right) left##right
#define OXA_PASTE(left, right) OXA_PASTE_(left, right)
#define OXA_TEXT_(token) #token
#define OXA_TEXT(token) OXA_TEXT_(token)
#define OXA_SUFFIXED(name) OXA_PASTE(name, OXA_EXTENSION_SUFFIX)

#ifdef XR_METAX1_AGENTIC_EXTERNAL_TOOL_EXTENSION_NAME
#define OXA_EXTENSION_NAME XR_METAX1_AGENTIC_EXTERNAL_TOOL_EXTENSION_NAME
#else
#define OXA_EXTENSION_NAME XR_META_AGENTIC_EXTERNAL_TOOL_EXTENSION_NAME
#endif
#define OXA_REGISTER_FUNCTION_NAME OXA_TEXT(OXA_SUFFIXED(xrAgenticRegisterExternalTool))

typedef OXA_SUFFIXED(XrAgenticExternalToolParameter) OxaToolParameter;
typedef OXA_SUFFIXED(XrAgenticExternalToolRegisterInfo) OxaToolRegisterInfo;
typedef OXA_SUFFIXED(XrAgenticExternalToolCallbackInfoFlags) OxaFlags;
typedef OXA_SUFFIXED(PFN_xrAgenticExternalToolCallback) OxaToolCallback;
typedef OXA_SUFFIXED(PFN_xrAgenticRegisterExternalTool) OxaRegisterTool;

#define OXA_TYPE_TOOL_PARAMETER OXA_SUFFIXED(XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_)
#define OXA_TYPE_TOOL_REGISTER_INFO OXA_SUFFIXED(XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_)
#define OXA_PARAMETER_TYPE_STRING OXA_SUFFIXED(XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_STRING_)
#define OXA_PARAMETER_TYPE_NUMBER OXA_SUFFIXED(XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_NUMBER_)
#define OXA_PARAMETER_TYPE_BOOLEAN OXA_SUFFIXED(XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_BOOLEAN_)
#define OXA_PARAMETER_TYPE_ARRAY OXA_SUFFIXED(XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_ARRAY_)
#define OXA_PARAMETER_TYPE_OBJECT OXA_SUFFIXED(XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_OBJECT_)
#define OXA_MAIN_THREAD_BIT OXA_SUFFIXED(XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_)

#define OXA_NAME_SIZE 64
#define OXA_DESCRIPTION_SIZE 1024
#define OXA_OBJECT_PROPERTIES_SIZE 4096

#ifdef OXA_NUMBERS_ARE_ASSUMED
#define OXA_HEADER_IS_OURS 1
#else
#define OXA_HEADER_IS_OURS 0
#endif

/* The layout, on every ABI that this is compiled for: a header that disagrees
 * stops the build instead of the app. Sizes and field order do not depend on
 * the pointer's width up to the first pointer-sized field behind the texts. */
#define OXA_OFFSET(structure, field, offset) \
    _Static_assert(offsetof(structure, field) == (offset), #structure "." #field " is not at offset " #offset)

OXA_OFFSET(OxaToolParameter, type, 0);
OXA_OFFSET(OxaToolRegisterInfo, type, 0);
#if UINTPTR_MAX > 0xFFFFFFFFu
OXA_OFFSET(OxaToolParameter, next, 8);
OXA_OFFSET(OxaToolParameter, paramName, 16);
OXA_OFFSET(OxaToolParameter, paramDescription, 80);
OXA_OFFSET(OxaToolParameter, paramType, 1104);
OXA_OFFSET(OxaToolParameter, isRequired, 1108);
OXA_OFFSET(OxaToolParameter, arrayItemType, 1112);
OXA_OFFSET(OxaToolParameter, objectProperties, 1116);
_Static_assert(sizeof(OxaToolParameter) == 5216, "the size and stride of a tool parameter");
OXA_OFFSET(OxaToolRegisterInfo, next, 8);
OXA_OFFSET(OxaToolRegisterInfo, toolName, 16);
OXA_OFFSET(OxaToolRegisterInfo, toolDescription, 80);
OXA_OFFSET(OxaToolRegisterInfo, toolParameterCount, 1104);
OXA_OFFSET(OxaToolRegisterInfo, toolParameters, 1112);
OXA_OFFSET(OxaToolRegisterInfo, toolCallback, 1120);
OXA_OFFSET(OxaToolRegisterInfo, toolCallbackInfoFlags, 1128);
OXA_OFFSET(OxaToolRegisterInfo, toolUserData, 1136);
_Static_assert(sizeof(OxaToolRegisterInfo) == 1144, "the size of a tool's register info");
#endif
_Static_assert(sizeof(((OxaToolParameter*)0)->paramName) == OXA_NAME_SIZE, "paramName holds 63 bytes and a NUL");
_Static_assert(sizeof(((OxaToolParameter*)0)->paramDescription) == OXA_DESCRIPTION_SIZE,
               "paramDescription holds 1023 bytes and a NUL");
_Static_assert(sizeof(((OxaToolParameter*)0)->objectProperties) == OXA_OBJECT_PROPERTIES_SIZE,
               "objectProperties holds 4095 bytes and a NUL");
_Static_assert(sizeof(((OxaToolParameter*)0)->paramType) == 4, "paramType is 32 bits wide");
_Static_assert(sizeof(((OxaToolRegisterInfo*)0)->toolName) == OXA_NAME_SIZE, "toolName holds 63 bytes and a NUL");
_Static_assert(sizeof(((OxaToolRegisterInfo*)0)->toolDescription) == OXA_DESCRIPTION_SIZE,
               "toolDescription holds 1023 bytes and a NUL");

#endif
