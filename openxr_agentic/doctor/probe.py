"""The child process that asks OpenXR's loader which extensions are offered.

Asking loads the runtime, whose code may crash: hence a process of its own. Prints one
JSON object: ``{"extensions": [...]}``, or ``{"error": ..., "text": ...}`` with the name
of one of this package's exceptions.
"""

from __future__ import annotations

import json
import os


def main() -> None:
    """Ask, and print what came back."""
    # A runtime may print on stdout too.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from openxr_agentic import loader
    from openxr_agentic.errors import AgenticError

    try:
        said: dict[str, object] = {"extensions": loader.instance_extensions(loader.load().get_instance_proc_addr)}
    except AgenticError as error:
        said = {"error": type(error).__name__, "text": str(error)}
    answer.write(json.dumps(said))
    answer.flush()
    # Not sys.exit: what a runtime does in its own exit handlers is of no interest.
    os._exit(0)


if __name__ == "__main__":
    main()
