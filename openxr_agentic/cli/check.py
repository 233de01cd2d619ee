"""``openxr-agentic check``: what agents would see of a module's tools, and what is wrong with them."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from openxr_agentic.cli.asking.tools import print_tools
from openxr_agentic.cli.console import json_text, stdout_console, stdout_for_results
from openxr_agentic.cli.inspection import ModuleError, inspect_module
from openxr_agentic.registry.advice import report

if TYPE_CHECKING:
    from typing import TextIO

    from openxr_agentic.cli.inspection import Fault, Inspected


def check_module(spec: str, *, server_name: str, strict: bool, as_json: bool, with_traceback: bool) -> int:
    """Check a module's tools and print what was found.

    Args:
        spec: ``MODULE[:REGISTRY]``; a module's name or a file.
        server_name: The name under which users add the server to their client.
        strict: Warnings fail too.
        as_json: Print one JSON object.
        with_traceback: Print the traceback of a module that cannot be imported on stderr.

    Returns:
        The exit code: 0, or 1 when something cannot be registered, or there are warnings and `strict`.

    Raises:
        ModuleError: The module cannot be imported, or there is nothing to check.
    """
    with stdout_for_results() as results:
        try:
            looked = inspect_module(spec, server_name)
        except ModuleError as error:
            if with_traceback and error.__cause__ is not None:
                traceback.print_exception(error.__cause__, file=sys.stderr)
            if as_json:
                print(json_text(_failure(spec, error.fault), indent=2), file=results)
            raise
        warnings = [advice for advice in looked.advice if advice.severity == "warning"]
        fine = not looked.faults and not (strict and warnings)
        if as_json:
            print(json_text(_as_json(looked, fine), indent=2), file=results)
        else:
            _print(looked, results)
    return 0 if fine else 1


def _failure(spec: str, fault: Fault) -> dict[str, Any]:
    return {"ok": False, "module": spec, "registries": [], "tools": [], "problems": [fault._asdict()], "advice": []}


def _as_json(looked: Inspected, fine: bool) -> dict[str, Any]:
    return {
        "ok": fine,
        "module": looked.module,
        "registries": [
            {"name": name, "prefix": registry.prefix, "tools": [entry.tool.name for entry in registry.entries()]}
            for name, registry in looked.registries.items()
        ],
        "tools": [
            {**told, "offered": name not in looked.notes, "note": looked.notes.get(name)}
            for name, told in looked.tools.items()
        ],
        "problems": [fault._asdict() for fault in looked.faults],
        "advice": [advice._asdict() for advice in looked.advice],
    }


def _print(looked: Inspected, results: TextIO) -> None:
    console = stdout_console(results)
    names = ", ".join(looked.registries) or "none"
    count = len(looked.tools)
    console.print(
        f"{looked.module}: {count} {'tool' if count == 1 else 'tools'}; registries: {names}\n",
        style="bold",
        markup=False,
    )
    print_tools(console, list(looked.tools.values()), looked.notes)
    if looked.tools:
        console.print()
    for fault in looked.faults:
        console.print(f"cannot be registered: {fault}", style="red", markup=False)
    if looked.faults:
        console.print()
    console.print(report(looked.advice), markup=False)
