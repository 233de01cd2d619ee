"""OpenXR API layers: every manifest that the loader finds, and which layers are enabled."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from openxr_agentic import loader
from openxr_agentic.doctor import manifests
from openxr_agentic.doctor.environment import ONLY_SHELLS_EXPAND, elevated, loader_variable
from openxr_agentic.doctor.findings import Finding, hint, ok, problem, warning

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

PATH_VARIABLE = "XR_API_LAYER_PATH"
ENABLE_VARIABLE = "XR_ENABLE_API_LAYERS"
_NOT_PRESENT = "xrCreateInstance fails with XR_ERROR_API_LAYER_NOT_PRESENT, for every app."
_REFUSED_BY_SOME = f"pyopenxr's loader takes that; with Debian 12's (1.0.20), {_NOT_PRESENT}"
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
    paths += [path for path in (_json_files(own) if own is not None else []) if path not in paths]
    return [
        *(_layer(path, implicit=True) for path in _manifests("implicit", "")),
        *(_layer(path, implicit=False) for path in paths),
    ]


def enabled_names() -> list[str]:
    """Return the names in XR_ENABLE_API_LAYERS."""
    return [name for name in os.environ.get(ENABLE_VARIABLE, "").split(os.pathsep) if name]


def default_folders(kind: str) -> list[Path]:
    """Return where the loader looks for manifests of ``implicit`` or ``explicit`` layers, without XR_API_LAYER_PATH.

    On Windows, where the registry names the files themselves, there is none.
    """
    if sys.platform == "win32":
        return []
    environment = {} if elevated() is not None else os.environ
    roots = [*(environment.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":"), *loader.SYSTEM_FOLDERS]
    roots += (environment.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":")
    roots.append(environment.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share"))
    return [Path(root, "openxr", "1", "api_layers", f"{kind}.d") for root in dict.fromkeys(roots) if root]


def _manifests(kind: str, override: str) -> Iterator[Path]:
    if override:
        folders = [Path(entry) for entry in override.split(os.pathsep) if entry]
    elif sys.platform == "win32":
        yield from _in_registry(kind)
        return
    else:
        folders = default_folders(kind)
    for folder in folders:
        yield from _json_files(folder)


def _json_files(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(".json"))
    except (OSError, ValueError):
        return []


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


def check_layer_path() -> Iterator[Finding]:
    """Look at the folders in XR_API_LAYER_PATH."""
    given = loader_variable(PATH_VARIABLE)
    for entry in [entry for entry in given.split(os.pathsep) if entry]:
        path = Path(entry)
        if os.path.isfile(path):  # unlike its method, it does not raise where a folder may not be entered
            yield problem(
                "layers.path-is-file",
                f"{PATH_VARIABLE} names the file {path}, and must name the folder that it is in.",
                "The loader looks for manifests in folders only, and finds no layer there.",
                f"export {PATH_VARIABLE}={path.absolute().parent}",
            )
        elif not os.path.isdir(path):
            yield problem(
                "layers.path-missing",
                f"{PATH_VARIABLE} names {path}, which does not exist, or is in a folder that may not be entered."
                f"{ONLY_SHELLS_EXPAND if entry.startswith('~') else ''}",
                "The loader finds no layer there.",
                f"Correct {PATH_VARIABLE}, or unset it.",
            )
        elif not _json_files(path):
            yield warning(
                "layers.path-empty",
                f"{PATH_VARIABLE} names the folder {path}, which holds no .json file.",
                "The loader finds no layer there: it does not look into folders inside it.",
                f"Name the folder that holds the manifests themselves, in {PATH_VARIABLE}.",
            )


def check_default_places() -> Iterator[Finding]:
    """Say which layers XR_API_LAYER_PATH hides: it replaces the places where explicit ones are looked for."""
    given = loader_variable(PATH_VARIABLE)
    unseen = [path for folder in default_folders("explicit") for path in _json_files(folder)]
    own = loader.pyopenxr_layers()
    seen = [path for path in _manifests("explicit", given) if given]
    seen += _json_files(own) if own is not None else []
    names = {manifests.read(path, "api_layer").name for path in seen}
    unseen = [path for path in unseen if path not in seen and manifests.read(path, "api_layer").name not in names]
    if not unseen or not (given or own is not None):
        return
    folders = [given] if given else []
    folders += dict.fromkeys(str(path.parent) for path in unseen)
    wanted = {manifests.read(path, "api_layer").name for path in unseen} & set(enabled_names())
    yield (problem if wanted else hint)(
        "layers.path-replaces",
        f"{PATH_VARIABLE} replaces the places where explicit layers are looked for"
        f"{'' if given else ', and `import xr` sets it to its own folder'}; not seen then are "
        f"{', '.join(map(str, unseen))}.",
        f"{ENABLE_VARIABLE} names {' and '.join(sorted(wanted))}: xrCreateInstance fails in an app that imports xr."
        if wanted
        else "Enabling one of those layers fails in an app that imports xr.",
        f"export {PATH_VARIABLE}={os.pathsep.join(folders)}",
    )


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
        yield hint(f"layers.{oddity.kind}", f"The manifest {manifest.path} {oddity.text}.")
    fault = manifest.fault
    wanted = layer.enabled or (not layer.implicit and layer.name in enabled_names())
    if fault is None:
        state = "enabled" if layer.enabled else f"not enabled{f': {layer.why_not}' if layer.why_not else ''}"
        yield ok("layers.layer", f"{layer.name} ({layer.kind}, {state}): {manifest.path}")
    elif wanted or fault.harmful:
        yield problem(
            f"layers.{fault.kind}",
            f"The manifest of the {layer.kind} layer {layer.name}, {manifest.path}, {fault.text}.",
            "OpenXR's loader reads every manifest that it finds, whole: every app may hang or take all memory."
            if fault.harmful
            else "The layer is enabled and cannot be loaded; xrCreateInstance may fail for every app.",
            fault.remedy,
        )
    elif fault.kind == "architecture":
        # Systems with two architectures keep both manifests in one folder.
        yield hint(f"layers.{fault.kind}", f"{layer.name} is not for this Python: {manifest.path} {fault.text}.")
    else:
        yield warning(
            f"layers.{fault.kind}",
            f"The manifest of the {layer.kind} layer {layer.name}, {manifest.path}, {fault.text}.",
            "The loader passes over it; nothing else depends on it as long as the layer is not wanted.",
            fault.remedy,
        )


def check_enabled() -> Iterator[Finding]:
    """Look at the names in XR_ENABLE_API_LAYERS."""
    names = enabled_names()
    layers = found()
    known = {layer.name for layer in layers}
    for name in dict.fromkeys(name for name in names if name not in known):
        yield problem(
            "layers.not-found",
            f"{ENABLE_VARIABLE} names the layer {name!r}, and no manifest of that name is found.{_looks_like(name)}",
            _NOT_PRESENT,
            _how_to_find(known),
        )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        yield warning(
            "layers.named-twice",
            f"{ENABLE_VARIABLE} names {' and '.join(repeated)} more than once.",
            _REFUSED_BY_SOME,
            _export(ENABLE_VARIABLE, dict.fromkeys(names)),
        )
    explicit = {layer.name for layer in layers if not layer.implicit}
    for layer in layers:
        if layer.name not in names or layer.name in explicit:
            continue
        yield (warning if layer.enabled else problem)(
            "layers.named-implicit",
            f"{ENABLE_VARIABLE} names the implicit layer {layer.name}, and is for explicit ones only: it "
            + ("is enabled without it." if layer.enabled else f"does not enable it ({layer.why_not or 'see above'})."),
            _REFUSED_BY_SOME if layer.enabled else _NOT_PRESENT,
            _export(ENABLE_VARIABLE, dict.fromkeys(name for name in names if name != layer.name)),
        )


def _export(variable: str, entries: Iterable[str]) -> str:
    value = os.pathsep.join(entries)
    return f"export {variable}={value}" if value else f"unset {variable}"


def check_found_twice() -> Iterator[Finding]:
    """Look for layers that the loader finds in several manifests, or in one by several ways."""
    given, own = loader_variable(PATH_VARIABLE), loader.pyopenxr_layers()
    by_name: dict[str, list[Layer]] = {}
    for layer in found():
        # In an app that imports xr, pyopenxr's folder is beside those that are given, and else in place of all.
        beside = bool(given) or layer.implicit or layer.manifest.path.parent != own
        if layer.manifest.fault is None and beside and (layer.enabled or not layer.implicit):
            by_name.setdefault(layer.name, []).append(layer)
    for name, layers in by_name.items():
        implicit = [layer for layer in layers if layer.implicit]
        if len(layers) == 1:
            continue
        paths = [layer.manifest.path for layer in layers]
        what = f"The layer {name} is found {len(layers)} times: {', '.join(map(str, paths))}."
        if len(implicit) == 1:
            yield hint("layers.found-twice", what, "The loader takes the implicit one, which is the first.")
            continue
        yield (warning if any(layer.enabled for layer in layers) else hint)(
            "layers.found-twice",
            what,
            "When it is enabled, pyopenxr's loader loads it once for each of them, one above the other, and every call "
            "passes it as often; Debian 12's loader (1.0.20) takes only the first explicit one.",
            _how_to_find_once(name, paths, "" if implicit else given),
        )


def _how_to_find_once(name: str, paths: Sequence[Path], given: str) -> str:
    """Say how a layer is found once: without folders that add none, or else without a file."""
    own = loader.pyopenxr_layers()
    seen = Counter(_names_in(own) if own is not None else [])
    kept = []
    for folder in filter(None, given.split(os.pathsep)):
        names = _names_in(Path(folder))
        if not seen.keys() >= set(names):
            kept.append(folder)
            seen.update(names)
    if given and seen[name] == 1:
        return _export(PATH_VARIABLE, kept)
    # pyopenxr's own files are not the user's to remove.
    removable = next((path for path in reversed(paths) if path.parent != own), paths[-1])
    return f"Remove all of them but one, as {removable}."


def _names_in(folder: Path) -> list[str]:
    return [manifests.read(path, "api_layer").name for path in _json_files(folder)]


def _looks_like(name: str) -> str:
    for separator in (",", ";", ":", " "):
        if separator in name and separator != os.pathsep:
            return f" Names are separated by {os.pathsep!r}, not by {separator!r}."
    return ""


def _how_to_find(known: Sequence[str] | set[str]) -> str:
    listed = f" Found are: {', '.join(sorted(known))}." if known else ""
    return f"Put the folder of the layer's manifest into {PATH_VARIABLE}, or correct {ENABLE_VARIABLE}.{listed}"


CHECKS = (check_layer_path, check_default_places, check_layers, check_found_twice, check_enabled)
