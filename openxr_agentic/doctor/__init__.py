"""The doctor: looks at everything between an app and an agent, and says what is wrong and what mends it.

findings      what a check says, and how checks are run
environment   the variables in force, and those that OpenXR's loader ignores
installation  Python, the package, its native part and its extras
openxr_loader the OpenXR loader
manifests     the JSON files by which the loader finds runtimes and API layers
runtime       the active runtime
layers        API layers
offer         who offers the extension, asked in a child process (`probe`)
numbers       the extension's numbers in force
serving       the port, the control channel, running apps
header        the numbers, read from Meta's header as text
discovery     the numbers, found by asking a host (`trial`, `witness`)

Nothing here may fail because something is broken: that is what it is for. So each
module imports what may be missing inside the function that needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openxr_agentic.doctor.findings import Check, Finding, Severity, run

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Check", "Finding", "Severity", "examine"]


def examine() -> Iterator[Finding]:
    """Examine this process's installation and environment, one finding at a time.

    Yields:
        Findings in the order of the chain: from Python to the agent's server. A check that
        fails itself becomes a finding too.
    """
    from openxr_agentic.doctor import (
        environment,
        installation,
        layers,
        numbers,
        offer,
        openxr_loader,
        runtime,
        serving,
    )

    for module in (installation, environment, openxr_loader, runtime, layers, offer, numbers, serving):
        for check in module.CHECKS:
            yield from run(check)
