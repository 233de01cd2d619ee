"""Enabled API layers that the loader finds more than once."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING

from openxr_agentic import loader
from openxr_agentic.doctor import layer_path, layers
from openxr_agentic.doctor.findings import Finding, export, hint, warning

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def check_found_twice() -> Iterator[Finding]:
    """Look for enabled layers that the loader finds in several manifests, or in one by several ways."""
    given, own = layer_path.entries(), loader.pyopenxr_layers()
    by_name: dict[str, list[layers.Layer]] = {}
    for layer in layers.found():
        # In an app that imports xr, pyopenxr's folder is beside those that are given, and else in place of all.
        beside = bool(given) or layer.implicit or layer.manifest.path.parent != own
        if layer.manifest.fault is None and beside and layer.enabled:
            by_name.setdefault(layer.name, []).append(layer)
    for name, group in by_name.items():
        implicit = [layer for layer in group if layer.implicit]
        if len(group) == 1:
            continue
        paths = [layer.manifest.path for layer in group]
        what = f"The layer {name} is found {len(group)} times: {', '.join(map(str, paths))}."
        if len(implicit) == 1:
            off = export(implicit[0].manifest.body["disable_environment"], "1")
            yield hint(
                "layers.found-twice",
                what,
                "The loader takes the implicit one, which is the first.",
                f"Where the explicit one is to be used: {off}",
            )
            continue
        yield warning(
            "layers.found-twice",
            what,
            "pyopenxr's loader loads it once for each of them, one above the other, and every call passes it as often; "
            "Debian 12's loader (1.0.20) takes only the first explicit one.",
            _how_to_find_once(name, paths, [] if implicit else layer_path.mended()),
        )


def _how_to_find_once(name: str, paths: Sequence[Path], given: list[str]) -> str:
    """Say how a layer is found once: without folders that add none, or else without a file."""
    own = loader.pyopenxr_layers()
    seen = Counter(layers.names_in(own) if own is not None else [])
    kept = []
    for folder in given:
        names = layers.names_in(folder)
        if not names or not seen.keys() >= set(names):
            kept.append(folder)
            seen.update(names)
    if given and seen[name] == 1:
        return export(layers.PATH_VARIABLE, os.pathsep.join(kept))
    # pyopenxr's own files are not the user's to remove.
    removable = next((path for path in reversed(paths) if path.parent != own), paths[-1])
    return f"Remove all of them but one, as {removable}."


CHECKS = (check_found_twice,)
