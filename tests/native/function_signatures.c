/* Only compiled: the Khronos prototypes declared a second time, from our list.
 * A return type or a parameter that differs is a conflict of types. */
#include <openxr/openxr.h>
#include <openxr_agentic/openxr_lists.h>

#define DECLARE(name, parameters, arguments) XRAPI_ATTR XrResult XRAPI_CALL name parameters;
OXA_CORE_FUNCTIONS(DECLARE)
