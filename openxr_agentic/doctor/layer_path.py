"""XR_API_LAYER_PATH: what its entries name, and what it hides."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from openxr_agentic import loader
from openxr_agentic.doctor import manifests
from openxr_agentic.doctor.environment import ONLY_SHELLS_EXPAND, loader_variable
from openxr_agentic.doctor.findings import Finding, export, hint, problem, warning
from openxr_agentic.doctor.layers import (
    ENABLE_VARIABLE,
    PATH_VARIABLE,
    default_folders,
    enabled_names,
    json_files,
    not_found,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


def entries() -> list[str]:
    """Return the entries of XR_API_LAYER_PATH."""
    return [entry for entry in loader_variable(PATH_VARIABLE).split(os.pathsep) if entry]


def mended() -> list[str]:
    """Return the entries in their order, each once, with the folder that was meant for each one that is wrong.

    Where nobody can tell what was meant, the entry is left out.
    """
    return list(dict.fromkeys(folder for entry in entries() for folder in _meant(entry)))


def _meant(entry: str) -> list[str]:
    if not entry.strip():
        return []
    if os.path.isabs(entry) and os.path.isdir(entry):
        return [entry]
    path = os.path.abspath(os.path.expanduser(entry if os.path.exists(entry) else entry.strip()))
    if os.path.isdir(path):
        return [path]
    if os.path.isfile(path):
        folder = os.path.dirname(path)
        return [folder] if json_files(folder) else []
    parts = entry.split(";")
    return [folder for part in parts for folder in _meant(part)] if len(parts) > 1 else []


def check_entries() -> Iterator[Finding]:
    """Look at the folders in XR_API_LAYER_PATH."""
    remedy = export(PATH_VARIABLE, os.pathsep.join(mended()))
    # An app that needs none of the layers there does not notice.
    report = problem if not_found() else warning
    for entry in entries():
        if os.path.isfile(entry):
            yield report(
                "layers.path-is-file",
                f"{PATH_VARIABLE} names the file {entry}, and must name the folder that it is in.",
                "The loader looks for manifests in folders only, and finds no layer there.",
                remedy,
            )
        elif not os.path.isdir(entry):
            yield report(
                "layers.path-missing",
                f"{PATH_VARIABLE} names '{entry}', which does not exist, or is in a folder that may not be entered."
                f"{_looks_like(entry)}",
                "The loader finds no layer there.",
                remedy if _meant(entry) else f"Make that folder, or leave it out: {remedy}",
            )
        elif not json_files(entry):
            yield report(
                "layers.path-empty",
                f"{PATH_VARIABLE} names the folder {entry}, which holds no .json file.",
                "The loader finds no layer there: it does not look into folders inside it.",
                f"Name the folder that holds the manifests themselves, in {PATH_VARIABLE}.",
            )
        elif not os.path.isabs(entry):
            yield warning(
                "layers.relative",
                f"{PATH_VARIABLE} names '{entry}', which depends on the folder that the app is started in.",
                "Started elsewhere, the app does not find the layers there.",
                remedy,
            )


def _looks_like(entry: str) -> str:
    if entry.startswith("~"):
        return ONLY_SHELLS_EXPAND
    if entry != entry.strip():
        return " It begins or ends with a blank."
    if ";" in entry:  # the separator of Windows
        return f" Entries are separated by {os.pathsep!r}, not by ';'."
    return "" if os.path.isabs(entry) else f" It was looked for in {os.getcwd()}."


def check_default_places() -> Iterator[Finding]:
    """Say which layers XR_API_LAYER_PATH hides: it replaces the places where explicit ones are looked for."""
    given = entries()
    own = loader.pyopenxr_layers()
    if not given and own is None:
        return
    seen = [path for folder in given for path in json_files(folder)]
    seen += json_files(own) if own is not None else []
    names = {manifests.read(path, "api_layer").name for path in seen}
    unseen = [path for folder in default_folders("explicit") for path in json_files(folder) if path not in seen]
    unseen = [path for path in unseen if manifests.read(path, "api_layer").name not in names]
    if not unseen:
        return
    folders = dict.fromkeys([*mended(), *(str(path.parent) for path in unseen)])
    wanted = {manifests.read(path, "api_layer").name for path in unseen} & set(enabled_names())
    yield (problem if wanted else hint)(
        "layers.path-replaces",
        f"{PATH_VARIABLE} replaces the places where explicit layers are looked for"
        f"{'' if given else ', and `import xr` sets it to its own folder'}; not seen then are "
        f"{', '.join(map(str, unseen))}.",
        f"{ENABLE_VARIABLE} names {' and '.join(sorted(wanted))}: xrCreateInstance fails in an app that imports xr."
        if wanted
        else "Enabling one of those layers fails in an app that imports xr.",
        export(PATH_VARIABLE, os.pathsep.join(folders)),
    )


CHECKS = (check_entries, check_default_places)
