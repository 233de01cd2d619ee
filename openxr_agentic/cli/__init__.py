"""The command ``openxr-agentic``.

group           the command itself: options in common, errors in words
agent_commands  the options of apps, tools, call, check and config
serving/        serve and run
asking/         apps, tools and call
demo/           the whole path, with an agent at the other end
check           a module's tools, before any agent sees them (inspection)
doctor          what the doctor found, and the unknown numbers
client_config   config: what to paste into clients
console         what is printed, and where
interrupts      Ctrl-C, before a command deals with it itself
log             the log, on stderr
streams         stdout and stderr themselves, which may be closed, full or unread
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from openxr_agentic.cli.interrupts import end_at_once_on_signals


def missing_extra(*modules: str) -> str | None:
    """Return what to say when one of the modules is not installed; None when all are."""
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return None
    return (
        f"This command needs {' and '.join(missing)}, which this Python does not have. "
        "Install with: pip install 'openxr-agentic[cli,mcp]'"
    )


def main() -> None:
    """Run the command line and exit with its code."""
    end_at_once_on_signals()  # before the imports, which take their time
    if complaint := missing_extra("click", "rich"):
        sys.exit(f"Error: {complaint}")
    from openxr_agentic.cli.group import command
    from openxr_agentic.cli.streams import guard_streams, stdout_failure

    guard_streams()
    try:
        command(prog_name="openxr-agentic")
    except OSError:
        if (failure := stdout_failure()) is None:
            raise
        sys.exit(f"Error: cannot write to standard output: {failure.strerror}.")
