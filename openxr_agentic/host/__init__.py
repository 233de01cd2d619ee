"""The host's side, in C: a mock OpenXR runtime, and an API layer over any other, that let agents call an app's tools.

This package says where the built libraries are. `openxr_agentic.host.channel` is
the client of the control channel that either opens in an app's process;
`openxr_agentic.host.control` drives either in a test's own process.
"""

from __future__ import annotations

import sys
from pathlib import Path

from openxr_agentic.errors import NativeBuildMissingError
from openxr_agentic.host.manifests import LAYER_NAME

__all__ = ["LAYER_NAME", "layer_library_path", "layer_manifest_path", "library_path", "manifest_path"]

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


def layer_library_path() -> Path:
    """Return the path of the API layer's library.

    Raises:
        NativeBuildMissingError: It was not built.
    """
    return _built(f"libopenxr_agentic_layer{_SUFFIX}")


def layer_manifest_path() -> Path:
    """Return the path of the API layer's manifest; its folder is for XR_API_LAYER_PATH.

    Raises:
        NativeBuildMissingError: It, or the library that it names, was not built.
    """
    layer_library_path()
    return _built("api_layers/openxr_agentic_layer.json")


def _built(name: str) -> Path:
    path = Path(__file__).resolve().parent / name
    if path.is_file():
        return path
    raise NativeBuildMissingError(
        f"This package's native part is not built: {path} is missing. {NativeBuildMissingError.HOW_TO_BUILD}"
    )
