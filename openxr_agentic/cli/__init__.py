"""The command ``openxr-agentic``.

group        the command itself: options in common, errors in words
serving_options  the options of the commands that serve
serve        an app's tools over MCP
run          a command as an app: mock runtime, channel, server
demo         the whole path, with an agent at the other end
apps         the running apps, and which one is meant
tools, call  what an agent sees and does; agent_commands has their options, and those of the next two
check        a module's tools, before any agent sees them (inspection)
config       what to paste into clients (client_config)
targets      whom tools and call ask; agent_client asks, client_failures says why there is no answer
console      what is printed, and where
processes    child processes and signals
"""

from __future__ import annotations

import sys
from importlib.util import find_spec


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
    if complaint := missing_extra("click", "rich"):
        sys.exit(f"Error: {complaint}")
    from openxr_agentic.cli.group import command

    command(prog_name="openxr-agentic")
