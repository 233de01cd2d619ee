"""OpenXR API layers: every manifest that the loader finds, and which layers are enabled."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from openxr_agentic import loader
from openxr_agentic.doctor import manifests
from openxr_agentic.doctor.environment import elevated, loader_variable
from openxr_agentic.doctor.findings import Finding, hint, ok, problem, warning
from openxr_agentic.host import variables

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH_VARIABLE = "XR_API_LAYER_PATH"
ENABLE_VARIABLE = "XR_ENABLE_API_LAYERS"
_NEEDED = ("name", "api_version", "library_path", "implementation_version")


class Layer(NamedTuple):
    """An API layer that a manifest describes.

    Attributes:
        manifest: Its manifest.
        implicit: Whether the loader enables it unasked.
        enabled: Whether it is in force for every app of this environment.
        why_not: Why it is not, where that is worth saying.
    """

    manifest: manifests.Manifest
    implicit: bool
    enabled: bool
    why_not: str

    @property
    def name(self) -> str:
        """Its name, or its file's where it has none."""
        return self.manifest.name or self.manifest.path.name

    @property
    def kind(self) -> str:
        """``implicit`` or ``explicit``."""
        return "implicit" if self.implicit else "explicit"


def found() -> list[Layer]:
    """Return the layers whose manifests the loader finds in an app that imports `xr`, broken ones too."""
    paths = list(_manifests("explicit", loader_variable(PATH_VARIABLE)))
    own = loader.pyopenxr_layers()
    paths += [path for path in (json_files(own) if own is not None else []) if path not in paths]
    return [
        *(_layer(path, implicit=True) for path in _manifests("implicit", "")),
        *(_layer(path, implicit=False) for path in paths),
    ]


def enabled_names() -> list[str]:
    """Return the names in XR_ENABLE_API_LAYERS."""
    return [name for name in os.environ.get(ENABLE_VARIABLE, "").split(os.pathsep) if name]


def not_found() -> list[str]:
    """Return the names in XR_ENABLE_API_LAYERS of which no manifest is found, each once."""
    known = {layer.name for layer in found()}
    return [name for name in dict.fromkeys(enabled_names()) if name not in known]


def nameless() -> list[Layer]:
    """Return the explicit layers whose manifests are too broken to tell their names."""
    return [layer for layer in found() if not layer.implicit and layer.manifest.fault and not layer.manifest.name]


def default_folders(kind: str) -> list[Path]:
    """Return where the loader looks for manifests of ``implicit`` or ``explicit`` layers, without XR_API_LAYER_PATH.

    On Windows, where the registry names the files themselves, there is none.
    """
    environment = {} if elevated() is not None else os.environ
    return [Path(folder) for folder in variables.default_folders(kind, environment)]


def _manifests(kind: str, override: str) -> Iterator[Path]:
    if override:
        yield from (path for folder in override.split(os.pathsep) if folder for path in json_files(folder))
        return
    if sys.platform == "win32":
        yield from _in_registry(kind)
        return
    for folder in default_folders(kind):
        yield from json_files(folder)


def json_files(folder: str | Path) -> list[Path]:
    """Return the files in a folder that the loader takes for manifests; none where it cannot be read."""
    try:
        return sorted(path for path in Path(folder).iterdir() if path.name.endswith(".json"))
    except (OSError, ValueError):
        return []


def names_in(folder: str | Path) -> list[str]:
    """Return the name in each manifest of a folder; empty where it has none."""
    return [manifests.read(path, "api_layer").name for path in json_files(folder)]


def _in_registry(kind: str) -> Iterator[Path]:
    import winreg  # Windows only

    hives = [winreg.HKEY_LOCAL_MACHINE]  # type: ignore[attr-defined]
    if elevated() is None:
        hives.append(winreg.HKEY_CURRENT_USER)  # type: ignore[attr-defined]
    for hive in hives:
        try:
            key = winreg.OpenKey(hive, rf"SOFTWARE\Khronos\OpenXR\1\ApiLayers\{kind.title()}")  # type: ignore[attr-defined]
        except OSError:
            continue
        with key:
            for index in range(winreg.QueryInfoKey(key)[1]):  # type: ignore[attr-defined]
                name, value, _ = winreg.EnumValue(key, index)  # type: ignore[attr-defined]
                if value == 0:  # another value turns the layer off
                    yield Path(name)


def _layer(path: Path, *, implicit: bool) -> Layer:
    manifest = manifests.read(path, "api_layer", _NEEDED)
    if not implicit:
        return Layer(manifest, implicit, manifest.name in enabled_names(), "")
    disable, enable = manifest.body.get("disable_environment"), manifest.body.get("enable_environment")
    if not is_variable(disable):
        if manifest.fault is None:
            fault = manifests.Fault(
                "incomplete",
                'has no "disable_environment" with a variable\'s name, which an implicit layer must have',
                f"Mend {path}, or reinstall what it belongs to.",
            )
            manifest = manifest._replace(fault=fault)
        return Layer(manifest, implicit, enabled=False, why_not="")
    if disable in os.environ:
        return Layer(manifest, implicit, enabled=False, why_not=f"{disable} is set, which turns it off")
    if enable is not None and not (is_variable(enable) and enable in os.environ):
        return Layer(manifest, implicit, enabled=False, why_not=f"{enable} is not set, which would turn it on")
    return Layer(manifest, implicit, enabled=True, why_not="")


def is_variable(name: object) -> TypeGuard[str]:
    """Whether it can be the name of an environment variable; asking for another one raises."""
    if not isinstance(name, str) or not name or "=" in name or "\0" in name:
        return False
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return True


def check_layers() -> Iterator[Finding]:
    """Look at every layer's manifest and library."""
    layers = found()
    for layer in layers:
        yield from _findings(layer)
    if not layers:
        yield ok("layers.none", "No API layer is installed where the loader looks.")


def _findings(layer: Layer) -> Iterator[Finding]:
    manifest = layer.manifest
    for oddity in manifest.oddities:
        yield hint(
            f"layers.{oddity.kind}",
            f"The manifest {manifest.path} {oddity.text}.",
            "The layer may be found by one app and not by another.",
            f"Mend {manifest.path}, where another loader is to read it.",
        )
    fault = manifest.fault
    which = f"The manifest of the {layer.kind} layer {manifest.name}, {manifest.path},"
    if not manifest.name:
        which = f"{manifest.path}, among the manifests of {layer.kind} layers,"
    wanted = layer.enabled or (not layer.implicit and layer.name in enabled_names())
    asked = not_found() if fault and not layer.implicit and not manifest.name else []
    if fault is None:
        state = "enabled" if layer.enabled else f"not enabled{f': {layer.why_not}' if layer.why_not else ''}"
        yield ok("layers.layer", f"{layer.name} ({layer.kind}, {state}): {manifest.path}")
    elif wanted or fault.harmful:
        yield problem(
            f"layers.{fault.kind}",
            f"{which} {fault.text}.",
            "OpenXR's loader reads every manifest that it finds, whole: every app may hang or take all memory."
            if fault.harmful
            else "The layer is enabled and cannot be loaded; xrCreateInstance may fail for every app.",
            fault.remedy,
        )
    elif fault.kind == "architecture":
        yield hint(
            f"layers.{fault.kind}",
            f"{layer.name} is not for this Python: {manifest.path} {fault.text}.",
            "Systems with two architectures keep the manifests of both in one folder; it is not enabled here.",
            f"Where this Python is to use the layer: {fault.remedy}",
        )
    else:
        yield warning(
            f"layers.{fault.kind}",
            f"{which} {fault.text}.",
            f"The loader passes over it. It may be what {ENABLE_VARIABLE} names and is not found: {' or '.join(asked)}."
            if asked
            else "The loader passes over it; nothing else depends on it as long as the layer is not wanted.",
            fault.remedy,
        )


CHECKS = (check_layers,)
