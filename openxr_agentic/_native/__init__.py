"""The compiled binding: `ffi` and `lib`, nothing else."""

import sys

from openxr_agentic.errors import NativeBuildMissingError, UnsupportedInterpreterError

if sys.maxsize < 2**32:
    # On 32-bit Windows OpenXR's functions are __stdcall and XrInstance is no pointer:
    # neither is tried, so neither is offered.
    raise UnsupportedInterpreterError(
        "openxr_agentic's native part needs a 64-bit Python; this one is 32-bit. "
        "Tool definitions, schemas and execute() work without it."
    )

try:
    from openxr_agentic._native._binding import ffi, lib
except ImportError as error:
    raise NativeBuildMissingError(
        f"openxr_agentic's native binding cannot be imported: {error}. {NativeBuildMissingError.HOW_TO_BUILD}"
    ) from error

__all__ = ["ffi", "lib"]
