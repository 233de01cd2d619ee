/* From the exchange into Python: one call of one Python callable for each run
 * of a tool, made by the C API; conversions and exceptions are dealt with here,
 * so that the plain case runs no Python but the tool's own. */
#ifndef OPENXR_AGENTIC_TRAMPOLINE_H_
#define OPENXR_AGENTIC_TRAMPOLINE_H_ 1

#include "exchange.h"

/* How far a failed run had come; the Python handler is told. */
typedef enum OxaStage {
    OXA_STAGE_ARGUMENTS = 0, /* they are no text: the tool did not run */
    OXA_STAGE_TOOL = 1,      /* the tool raised */
    OXA_STAGE_RESULT = 2     /* what it returned cannot be delivered */
} OxaStage;

/* Addresses of Python objects come as integers (id()); references are taken
 * here. Both functions are called through cffi, so without the GIL.
 *
 * handler(owner, exception, stage) -> str, the text that the agent gets, or
 * None: the host gets XR_ERROR_RUNTIME_FAILURE. */
void oxa_python_start(uintptr_t handler, unsigned long main_thread_ident);

/* dry_run may be 0. takes_bytes: the callables take the argument bytes as they
 * are and return bytes or str; else they take and return str. NULL: no memory. */
OxaTool* oxa_tool_new(uintptr_t callback, uintptr_t dry_run, uintptr_t owner, int takes_bytes);
/* Gives back a reference; the last one lets go of the Python objects. */
void oxa_tool_release(OxaTool* tool);

/* Called by the handler: once the C call of this thread is back in Python,
 * raise this exception class there. */
void oxa_raise_on_return(uintptr_t exception_class);

#endif
