"""The child process that asks OpenXR's loader which extensions are offered.

Asking loads the runtime, whose code may crash: hence a process of its own. Prints one
JSON object: ``{"extensions": [...]}``, or ``{"error": ..., "text": ..., "library": ...}``
with the name of one of this package's exceptions, and with what is wrong with the
runtime's library: ``"loading"``, ``"function"`` or nothing that is known. It ends with its stdin.
"""

from __future__ import annotations

import json
import os
import threading

_NEGOTIATE = "xrNegotiateLoaderRuntimeInterface"


def _try_library() -> tuple[str, str]:
    """Load the active runtime's library as the loader does; return what is wrong with it, and that in words."""
    import ctypes

    from openxr_agentic.doctor import manifests, runtime

    path = runtime.chosen().path
    manifest = None if path is None else manifests.read(path, "runtime")
    if manifest is None or manifest.library is None or manifest.fault is not None:
        return "", ""
    try:
        library = ctypes.CDLL(str(manifest.library))
    except OSError as error:
        return "loading", f"its library {manifest.library} cannot be loaded: {error}"
    renamed = manifest.body.get("functions")
    function = renamed.get(_NEGOTIATE, _NEGOTIATE) if isinstance(renamed, dict) else _NEGOTIATE
    if hasattr(library, str(function)):
        return "", ""
    return "function", f"its library {manifest.library} is no OpenXR runtime: it has no function {function}"


def main() -> None:
    """Ask, and print what came back."""
    # A runtime may print on stdout too.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # A runtime that hangs must not outlive who asked.
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    from openxr_agentic import loader
    from openxr_agentic.errors import AgenticError, RuntimeNotFoundError

    try:
        said: dict[str, object] = {"extensions": loader.instance_extensions(loader.load().get_instance_proc_addr)}
    except AgenticError as error:
        kind, text = _try_library() if isinstance(error, RuntimeNotFoundError) else ("", "")
        said = {"error": type(error).__name__, "text": text or str(error), "library": kind}
    answer.write(json.dumps(said))
    answer.flush()
    # Not sys.exit: what a runtime does in its own exit handlers is of no interest.
    os._exit(0)


def _end_with_stdin() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
