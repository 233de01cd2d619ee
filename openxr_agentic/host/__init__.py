"""The host's side: a mock OpenXR runtime in C that lets agents call an app's tools.

This package says where the built runtime is. `openxr_agentic.host.channel` is
the client of the control channel that the runtime opens in an app's process;
`openxr_agentic.host.control` drives the runtime in a test's own process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from openxr_agentic.errors import NativeBuildMissingError

__all__ = ["library_path", "manifest_path"]

_SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


def library_path() -> Path:
    """Return the path of the mock runtime's library.

    Raises:
        NativeBuildMissingError: It was not built.
    """
    return _built(f"libopenxr_agentic_mock{_SUFFIX}")


def manifest_path() -> Path:
    """Return the path of the mock runtime's manifest, for XR_RUNTIME_JSON.

    Raises:
        NativeBuildMissingError: It, or the library that it names, was not built.
    """
    library_path()
    return _built("openxr_agentic_mock.json")


def _built(name: str) -> Path:
    path = Path(__file__).resolve().with_name(name)
    if path.is_file():
        return path
    raise NativeBuildMissingError(
        f"The mock runtime is not built: {path} is missing. {NativeBuildMissingError.HOW_TO_BUILD}"
    )
