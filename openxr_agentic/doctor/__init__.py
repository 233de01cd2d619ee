"""The doctor: looks at everything between an app and an agent, and says what is wrong and what mends it.

findings        what a check says, and how checks are run
environment     the variables in force, and those that OpenXR's loader ignores
installation    Python, the package, its native part and its extras
openxr_loader   the OpenXR loader
manifests       the JSON files by which the loader finds runtimes and API layers
runtime         the active runtime
layers          API layers: where the loader looks for them, and each one's manifest
layer_path      XR_API_LAYER_PATH
repeated_layers layers that are found more than once
enabled_layers  XR_ENABLE_API_LAYERS
offer           who offers the extension, asked in a child process (`probe`)
numbers         the extension's numbers in force
serving         the port, the control channel, running apps
header          the numbers, read from Meta's header as text (`expressions`)
discovery       the numbers, found by asking a host (`trial`, `witness`)

Nothing here may fail because something is broken: that is what it is for. So each
module imports what may be missing inside the function that needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from openxr_agentic.doctor.findings import Check, Finding, Severity, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Check", "Finding", "Severity", "examine"]


def examine() -> Iterator[Finding]:
    """Examine this process's installation and environment, one finding at a time.

    Yields:
        Findings in the order of the chain: from Python to the agent's server. A check that
        fails itself becomes a finding too.
    """
    from openxr_agentic.doctor import (
        enabled_layers,
        environment,
        installation,
        layer_path,
        layers,
        numbers,
        offer,
        openxr_loader,
        repeated_layers,
        runtime,
        serving,
    )

    sections: dict[str, Sequence[Check]] = {
        "installation": installation.CHECKS,
        "environment": environment.CHECKS,
        "loader": openxr_loader.CHECKS,
        "runtime": runtime.CHECKS,
        "layers": (*layer_path.CHECKS, *layers.CHECKS, *repeated_layers.CHECKS, *enabled_layers.CHECKS),
        "offer": offer.CHECKS,
        "numbers": numbers.CHECKS,
        "serving": serving.CHECKS,
    }
    for section, checks in sections.items():
        for check in checks:
            yield from run(check, section)
