"""The JSON manifests by which the OpenXR loader finds our native libraries.

The build runs this file by its path, before the package can be imported: it
imports nothing of it.
"""

from __future__ import annotations

import json
from typing import Final

LAYER_NAME: Final = "XR_APILAYER_NOVENDOR_openxr_agentic"
"""The API layer's name: for XR_ENABLE_API_LAYERS and for XrInstanceCreateInfo's enabledApiLayerNames."""


def runtime_manifest(library_name: str) -> str:
    """Return the manifest of the mock runtime, which stands beside its library.

    Args:
        library_name: The library's file name, without a folder.

    Returns:
        JSON text, to be written as UTF-8 without a byte order mark: the loader
        reads neither that nor any other encoding.

    Raises:
        ValueError: The name holds a folder. The loader would resolve it against
            the manifest's folder on some systems and the current one on others.
    """
    # The loader takes a name without "./" to the system's library search path.
    runtime = {"name": "openxr-agentic mock runtime", "library_path": f"./{_bare(library_name)}"}
    return _text({"runtime": runtime})


def layer_manifest(library_name: str, *, suffix: str = "METAX1") -> str:
    """Return the manifest of the API layer, which stands in a folder below its library.

    Args:
        library_name: The library's file name, without a folder.
        suffix: Of the extension's function in the header that the library is built with: METAX1 or META.

    Returns:
        JSON text, as of `runtime_manifest`.

    Raises:
        ValueError: The name holds a folder.
    """
    extension = {
        "name": "XR_METAX1_agentic_external_tool",
        "extension_version": "1",
        "entrypoints": [f"xrAgenticRegisterExternalTool{suffix}"],
    }
    layer = {
        "name": LAYER_NAME,
        "library_path": f"../{_bare(library_name)}",
        "api_version": "1.0",
        "implementation_version": "1",
        "description": "openxr-agentic: an app's own tools for AI agents, over any runtime",
        "instance_extensions": [extension],
        # Read only where somebody installs it as an implicit layer, which this package never does.
        "disable_environment": "DISABLE_XR_APILAYER_NOVENDOR_openxr_agentic",
    }
    return _text({"api_layer": layer})


def _bare(library_name: str) -> str:
    if not library_name or "/" in library_name or "\\" in library_name:
        raise ValueError(f"{library_name!r} is not the bare file name of a library")
    return library_name


def _text(described: dict[str, object]) -> str:
    return json.dumps({"file_format_version": "1.0.0", **described}, ensure_ascii=False, indent=4) + "\n"
