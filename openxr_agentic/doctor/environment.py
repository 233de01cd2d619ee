"""The environment variables in force, and those that OpenXR's loader ignores.

The Khronos loader reads most of its variables with secure_getenv: a process that
gained rights when it was started (setuid, setgid, file capabilities; on Windows an
elevated one) does not get them. Being root is not gaining rights.
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from openxr_agentic.doctor.findings import Finding, hint, ok, warning

if TYPE_CHECKING:
    from collections.abc import Iterator

SECURE_VARIABLES = (
    "XR_RUNTIME_JSON",
    "XR_API_LAYER_PATH",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
)
"""What the loader reads with secure_getenv, beside HOME."""

ONLY_SHELLS_EXPAND = " It begins with '~', which OpenXR's loader does not expand."
"""What is added where such a path is not found; shells leave it in quotes, and behind some colons."""

_SHOWN = (
    *SECURE_VARIABLES[:2],
    "XR_ENABLE_API_LAYERS",
    "XR_LOADER_DEBUG",
    "AGENTICXR_MCP_PORT",
)
_OWN_PREFIX = "OPENXR_AGENTIC_"
_SECRETS = ("TOKEN", "SECRET", "PASSWORD")
_AT_SECURE = 23
_LONGEST_SHOWN = 200


def elevated() -> str | None:
    """Return why OpenXR's loader ignores its variables in this process, or None when it heeds them."""
    if sys.platform == "win32":
        return "it runs with administrator's rights" if _is_windows_administrator() else None
    if os.geteuid() != os.getuid() or os.getegid() != os.getgid():
        return f"it runs with the rights of user {os.geteuid()}, and was started by user {os.getuid()}"
    if _started_secure():
        return "it gained rights when it was started (setuid, setgid or file capabilities of its program)"
    return None


def loader_variable(name: str) -> str:
    """Return a variable's value as OpenXR's loader sees it; empty: not set, or ignored."""
    if name in SECURE_VARIABLES and elevated() is not None:
        return ""
    return os.environ.get(name, "")


def _started_secure() -> bool:
    """What the kernel told this process when it was started (AT_SECURE); Linux only."""
    try:
        entries = Path("/proc/self/auxv").read_bytes()
    except OSError:
        return False
    words = struct.unpack(f"{len(entries) // struct.calcsize('L')}L", entries)
    return (_AT_SECURE, 0) not in zip(words[::2], words[1::2], strict=False) and _AT_SECURE in words[::2]


def _is_windows_administrator() -> bool:
    import ctypes

    try:
        function = ctypes.windll.shell32.IsUserAnAdmin  # type: ignore[attr-defined]  # Windows only
        function.argtypes, function.restype = (), ctypes.c_int
        administrator: int = function()
    except (AttributeError, OSError):
        return False
    return administrator != 0


def _shown(name: str, value: str) -> str:
    if any(word in name for word in _SECRETS):
        return "(set; not shown)"
    return value if len(value) <= _LONGEST_SHOWN else f"{value[:_LONGEST_SHOWN]}... ({len(value)} characters)"


def check_variables() -> Iterator[Finding]:
    """Show the variables that matter, as they are set."""
    names = [name for name in _SHOWN if name in os.environ]
    names += sorted(name for name in os.environ if name.startswith(_OWN_PREFIX))
    if not names:
        yield ok("environment.variables", "No variable of OpenXR or of this package is set.")
    for name in names:
        yield ok("environment.variable", f"{name}={_shown(name, os.environ[name])}")


def check_elevation() -> Iterator[Finding]:
    """Say which variables OpenXR's loader ignores, because the process has more rights than who started it."""
    reason = elevated()
    ignored = [name for name in SECURE_VARIABLES if os.environ.get(name)]
    if reason is not None and ignored:
        # Where the system's configuration does not do, the checks of runtime and layers say so.
        yield warning(
            "environment.elevated",
            f"OpenXR's loader ignores {' and '.join(ignored)} in this process: {reason}.",
            "The runtime and the API layers are then those of the system's configuration, whatever the variables say.",
            "Start the app as an ordinary user, without setuid, capabilities or administrator's rights; or make the "
            "runtime the system's active one.",
        )
    elif reason is not None:
        yield warning(
            "environment.elevated",
            f"OpenXR's loader ignores environment variables in this process: {reason}.",
            "XR_RUNTIME_JSON and XR_API_LAYER_PATH would have no effect.",
            "Start the app as an ordinary user.",
        )
    elif sys.platform != "win32" and os.getuid() == 0:
        yield hint(
            "environment.root",
            "This process is root. OpenXR's loader still heeds its variables: no rights were gained at its start.",
            "A runtime's service, the control channel and settings belong to the user who runs them: an app of "
            "another user is not found, and does not find this one.",
            "Run the app, its server and the doctor as the same user.",
        )
    else:
        yield ok("environment.elevated", "This process has no more rights than who started it.")


CHECKS = (check_variables, check_elevation)
