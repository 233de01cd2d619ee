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

/* A tool that takes and returns text: callback(str) -> str. dry_run may be 0.
 * NULL: no memory. */
OxaTool* oxa_text_tool_new(uintptr_t callback, uintptr_t dry_run, uintptr_t owner);

/* A tool with typed arguments and result:
 *
 *     arguments = decode(bytes)        a C function: msgspec's decoder
 *                 else recover(bytes)  when that raises: what agents are known to send,
 *                                      or an exception that says what is wrong
 *     value     = call(arguments)      the user's function, by generated code
 *     text      = value                when it is a str
 *                 else encode(value)   a C function, msgspec's encoder: when it is made
 *                                      of nothing but what JSON has
 *                 else convert(value)  anything else, to str or bytes
 *
 * dry_run may be 0, and takes and returns as `call`. `token` names the tool to
 * oxa_current_token. */
typedef struct OxaTypedTool {
    uintptr_t decode, recover, call, dry_run, encode, convert;
} OxaTypedTool;
OxaTool* oxa_typed_tool_new(const OxaTypedTool* parts, uintptr_t owner, uint64_t token);

/* Where the host takes it: how a failed run says that its result is an error
 * (OxaToolMetadataInterface's mark_error, or 0). Before the tool is behind a slot. */
void oxa_tool_set_mark(OxaTool* tool, uintptr_t mark_error, XrInstance instance);

/* The token of the typed tool that this thread is inside of; 0: none. */
uint64_t oxa_current_token(void);

/* Called by the handler on the main thread: raise this very exception in the app,
 * once no tool runs on this thread any more. 0: another one waits already. */
int oxa_raise_on_return(uintptr_t exception);

#endif
