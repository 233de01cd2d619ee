"""The active OpenXR runtime: how it was chosen, its manifest and its library."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from openxr_agentic import architecture, loader
from openxr_agentic.doctor import manifests
from openxr_agentic.doctor.environment import ONLY_SHELLS_EXPAND, elevated, loader_variable
from openxr_agentic.doctor.findings import Finding, export, hint, ok, problem, warning
from openxr_agentic.errors import AgenticError

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "XR_RUNTIME_JSON"
REGISTRY_KEY = r"SOFTWARE\Khronos\OpenXR\1"
MACOS_MANIFEST = Path("/usr/local/share/openxr/1/active_runtime.json")
HOW_TO_GET_ONE = (
    "Start your headset's runtime and make it the active one; or run the app on this package's mock runtime: "
    "openxr-agentic run -- python app.py"
)


class Choice(NamedTuple):
    """The active runtime.

    Attributes:
        how: How it was chosen, in words.
        path: Its manifest, whether or not that file exists; None: none is active.
    """

    how: str
    path: Path | None


def chosen() -> Choice:
    """Return the runtime that OpenXR's loader would take in this process."""
    variable = loader_variable(VARIABLE)
    if variable:
        return Choice(f"chosen by {VARIABLE}", Path(variable))
    return configured()


def configured() -> Choice:
    """Return the system's active runtime, whatever XR_RUNTIME_JSON says."""
    if sys.platform == "win32":
        return _from_registry()
    if sys.platform == "darwin":
        return Choice("the system's active runtime", MACOS_MANIFEST if MACOS_MANIFEST.exists() else None)
    for path in _linux_places():
        if os.path.exists(path):
            return Choice("the system's active runtime", path)
    return Choice("the system has none", None)


def is_mock() -> bool:
    """Tell whether the active runtime is this package's mock runtime."""
    from openxr_agentic import host

    choice = chosen()
    if choice.path is None:
        return False
    library = manifests.read(choice.path, "runtime").library
    try:
        return library is not None and library.samefile(host.library_path())
    except (AgenticError, OSError, ValueError):  # it is not built, or there is no such file
        return False


def _linux_places() -> list[Path]:
    return loader.configured_runtimes({} if elevated() is not None else os.environ)


def _from_registry() -> Choice:
    import winreg  # Windows only

    where = rf"HKEY_LOCAL_MACHINE\{REGISTRY_KEY}\ActiveRuntime"
    try:
        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, REGISTRY_KEY) as key:  # type: ignore[attr-defined]
            value, _ = winreg.QueryValueEx(key, "ActiveRuntime")  # type: ignore[attr-defined]
    except OSError:
        return Choice(f"{where} is not set", None)
    return Choice(f"the system's active runtime ({where})", Path(os.path.expandvars(str(value))))


def check_runtime() -> Iterator[Finding]:
    """Look at the active runtime's manifest and library."""
    choice = chosen()
    if choice.path is None:
        yield problem(
            "runtime.none",
            _none_text(choice),
            "xrCreateInstance answers that there is no runtime.",
            _with_a_home(HOW_TO_GET_ONE),
        )
        return
    manifest = manifests.read(choice.path, "runtime")
    for oddity in manifest.oddities:
        yield warning(
            f"runtime.{oddity.kind}",
            f"The runtime's manifest {choice.path} {oddity.text}.",
            "The runtime may be found by one app and not by another.",
            f"Mend {choice.path}.",
        )
    fault = manifest.fault
    if fault is not None:
        yield problem(
            f"runtime.{fault.kind}",
            f"The runtime's manifest {choice.path} ({choice.how}) {fault.text}.",
            "OpenXR's loader cannot load the runtime, and takes no other one instead.",
            f"{_only_manifest_in(choice.path) or fault.remedy} {_instead()}",
        )
        return
    yield ok("runtime.active", _description(manifest, choice))


def _none_text(choice: Choice) -> str:
    variable = os.environ.get(VARIABLE)
    said = f"{VARIABLE} is ignored" if variable else loader.variable_state(VARIABLE)
    if sys.platform not in ("win32", "darwin"):
        text = f"No OpenXR runtime is active: {said}, and there is none of {', '.join(map(str, _linux_places()))}."
        if not _lacks_home():
            return text
        return (
            f"{text} {loader.variable_state('HOME')}, and without it OpenXR's loader looks in no folder of this user's."
        )
    return f"No OpenXR runtime is active: {said}, and {choice.how}."


def _lacks_home() -> bool:
    return elevated() is None and not loader.home_is_known()


def _with_a_home(otherwise: str) -> str:
    if not _lacks_home():
        return otherwise
    home = os.path.expanduser("~")  # from the password database
    line = export("HOME", home) if os.path.isabs(home) else "export HOME=FOLDER"
    return f"{line} (if this user's runtime is set in there). Otherwise: {otherwise}"


def _only_manifest_in(folder: Path) -> str:
    """Return the line that chooses the runtime whose manifest lies in a folder; empty: there is none, or several."""
    try:
        files = sorted(file for file in folder.iterdir() if file.name.endswith(".json"))
    except (OSError, ValueError):  # it is no folder, or may not be read
        return ""
    found = [file for file in files if manifests.read(file, "runtime").body]
    if len(found) != 1:
        return ""
    return f"{export(VARIABLE, os.path.abspath(found[0]))} (the runtime's manifest in there)."


def _instead() -> str:
    mock = f"use the mock runtime: {HOW_TO_GET_ONE.rpartition(': ')[2]}"
    system = configured().path if loader_variable(VARIABLE) else None
    if system is None:
        return f"Or {mock}"
    return f"Or unset {VARIABLE}, and the runtime is the system's ({system}); or {mock}"


def _description(manifest: manifests.Manifest, choice: Choice) -> str:
    name = manifest.name or "a runtime that its manifest does not name"
    text = f"{name}: {manifest.path} ({choice.how})"
    if os.path.islink(manifest.path):
        text += f", a link to {manifest.path.resolve()}"
    built_for = architecture.of_library(manifest.library) if manifest.library is not None else None
    return f"{text}; library {manifest.library}{' for ' + ' and '.join(built_for) if built_for else ''}"


def check_choice() -> Iterator[Finding]:
    """Look at what is not chosen, or may not be for long."""
    variable = loader_variable(VARIABLE)
    if variable:
        absolute = os.path.abspath(os.path.expanduser(variable))
        # Where that leads nowhere either, check_runtime has a better remedy.
        if not Path(variable).is_absolute() and manifests.read(Path(absolute), "runtime").fault is None:
            yield warning(
                "runtime.relative",
                f"{VARIABLE} is {variable!r}, which depends on the folder that the app is started in."
                f"{ONLY_SHELLS_EXPAND if variable.startswith('~') else ''}",
                "Started elsewhere, the app finds no runtime.",
                export(VARIABLE, absolute),
            )
        system = configured().path
        if system is not None and not _same(system, Path(variable)):
            yield hint(
                "runtime.replaced",
                f"{VARIABLE} replaces the system's active runtime, {system}.",
                "Only apps that are started with the variable use the runtime above.",
                export(VARIABLE, ""),
            )
    if sys.platform not in ("win32", "darwin"):
        for path in _linux_places():
            if os.path.islink(path) and not os.path.exists(path):
                yield warning(
                    "runtime.dangling-link",
                    f"{path} is a link to {os.readlink(path)}, which does not exist.",
                    "The loader passes over it, and takes the next runtime in its order, or none.",
                    f"Remove {path}, or install the runtime again.",
                )


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except (OSError, ValueError):
        return False


CHECKS = (check_runtime, check_choice)
