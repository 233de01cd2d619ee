"""The JSON manifests by which the OpenXR loader finds our native libraries.

The build runs this file by its path, before the package can be imported: it
imports nothing of it.
"""

from __future__ import annotations

import json


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
    if not library_name or "/" in library_name or "\\" in library_name:
        raise ValueError(f"{library_name!r} is not the bare file name of a library")
    # The loader takes a name without "./" to the system's library search path.
    manifest = {
        "file_format_version": "1.0.0",
        "runtime": {"name": "openxr-agentic mock runtime", "library_path": f"./{library_name}"},
    }
    return json.dumps(manifest, ensure_ascii=False, indent=4) + "\n"
