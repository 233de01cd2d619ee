"""The environment variables by which the OpenXR loader finds and enables the API layer."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openxr_agentic.host import LAYER_NAME, layer_manifest_path

if TYPE_CHECKING:
    from collections.abc import Mapping

LAYER_PATH: Final = "XR_API_LAYER_PATH"
"""Folders with the manifests of explicit layers, in place of those that the system has."""

ENABLED_LAYERS: Final = "XR_ENABLE_API_LAYERS"
"""Names of explicit layers that every app gets."""

SYSTEM_FOLDERS: Final = ("/usr/local/etc", "/etc")
"""Folders that are compiled into the Khronos loader; the app's side has them too, for runtimes."""


def with_layer(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the values with which an app gets this package's API layer, above those that it gets anyway.

    Args:
        environment: The app's environment so far.

    Returns:
        Both variables: our folder and name first, then what they held, each once. Where no folders are named,
        those follow that the loader would have searched, since the variable keeps it from doing so.

    Raises:
        NativeBuildMissingError: The layer was not built.
    """
    folders = _entries(environment, LAYER_PATH)
    if not folders:
        folders = [folder for folder in default_folders("explicit", environment) if os.path.isdir(folder)]
    names = [LAYER_NAME, *_entries(environment, ENABLED_LAYERS)]
    return {
        LAYER_PATH: os.pathsep.join(_distinct([str(layer_manifest_path().parent), *folders])),
        # The loader 1.0.20, which Debian has, makes no instance with a layer that is named twice.
        ENABLED_LAYERS: os.pathsep.join(dict.fromkeys(names)),
    }


def _entries(environment: Mapping[str, str], variable: str) -> list[str]:
    return [entry for entry in environment.get(variable, "").split(os.pathsep) if entry]


def _distinct(folders: list[str]) -> list[str]:
    """Leave out a folder that is there before, however it is spelt: a loader finds its layers twice."""
    found: dict[object, str] = {}
    for folder in folders:
        try:
            status = os.stat(folder)
            identity: object = (status.st_dev, status.st_ino)
        except (OSError, ValueError):  # it is not there, and may be made yet
            identity = folder
        found.setdefault(identity, folder)
    return list(found.values())


def default_folders(kind: str, environment: Mapping[str, str]) -> list[str]:
    """Return where the loader looks for the manifests of layers, in its order, where no variable names folders.

    Args:
        kind: ``explicit`` or ``implicit``.
        environment: The app's environment.

    Returns:
        Folders, whether or not they exist; none on Windows, where the registry names the files themselves.
    """
    if sys.platform == "win32":
        return []
    home = environment.get("HOME", "")  # it alone: the loader asks no password database
    bases = [
        *(environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":"),
        *SYSTEM_FOLDERS,
        *(environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":"),
        environment.get("XDG_DATA_HOME") or (f"{home}/.local/share" if home else ""),
    ]
    return [str(Path(base, "openxr", "1", "api_layers", f"{kind}.d")) for base in dict.fromkeys(bases) if base]
