/* Core OpenXR 1.0, for all of our C.
 *
 * The Khronos header is taken where it is installed. Elsewhere our own
 * declarations stand in: the same names, values and layouts, as far as this
 * project uses them, so that nothing has to be installed in order to build.
 * Define OXA_USE_OWN_OPENXR_DECLARATIONS to have ours in any case. */
#ifndef OPENXR_AGENTIC_OPENXR_CORE_H_
#define OPENXR_AGENTIC_OPENXR_CORE_H_ 1

#if !defined(OPENXR_H_) && !defined(OXA_USE_OWN_OPENXR_DECLARATIONS) && defined(__has_include)
#if __has_include(<openxr/openxr.h>)
#include <openxr/openxr.h>
#endif
#endif

#if !defined(OPENXR_H_)
#include "openxr_declarations.h"
#endif

#endif
