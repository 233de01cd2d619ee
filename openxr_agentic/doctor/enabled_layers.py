"""XR_ENABLE_API_LAYERS: the layers that it names, and how one is enabled."""

from __future__ import annotations

import difflib
import itertools
import os
import re
from collections import Counter
from typing import TYPE_CHECKING

from openxr_agentic.doctor import layer_path
from openxr_agentic.doctor.findings import Finding, export, problem, warning
from openxr_agentic.doctor.layers import (
    ENABLE_VARIABLE,
    PATH_VARIABLE,
    default_folders,
    enabled_names,
    found,
    nameless,
    names_in,
    not_found,
)
from openxr_agentic.errors import NativeBuildMissingError
from openxr_agentic.host import LAYER_NAME
from openxr_agentic.host.variables import with_layer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openxr_agentic.doctor.layers import Layer

_NOT_PRESENT = "xrCreateInstance fails with XR_ERROR_API_LAYER_NOT_PRESENT, for every app."
_REFUSED_BY_SOME = f"pyopenxr's loader takes that; with Debian 12's (1.0.20), {_NOT_PRESENT}"
_PREFIX = "xr_apilayer_"
_LIKENESS = 0.8  # a letter or two of a name; the prefix, which all names have, is not compared


def check_not_found() -> Iterator[Finding]:
    """Look for names in XR_ENABLE_API_LAYERS of which there is no layer."""
    usable = sorted({layer.name for layer in found() if layer.manifest.fault is None})
    unread = [str(layer.manifest.path) for layer in nameless()]
    for name in not_found():
        meant = _meant(name, usable)
        what = f"{ENABLE_VARIABLE} names the layer {name!r}, and no manifest of that name is found.{_looks_like(name)}"
        if meant:
            what += f" Did you mean {' and '.join(meant)}?"
        elif unread and name != LAYER_NAME:
            what += f" It may be that of {' or '.join(unread)}, whose name cannot be read: see above."
        yield problem("layers.not-found", what, _NOT_PRESENT, _how_to_find(name, meant, usable, unread))


def _meant(name: str, usable: list[str]) -> list[str]:
    """Return the layers that were meant, spelt as they are; none: nobody can tell."""
    near = [_nearest(part, usable) for part in re.split(r"[\s,;:]+", name) if part]
    return near if all(near) and near != [name] else []


def _nearest(name: str, usable: list[str]) -> str:
    by_text = {other.lower().removeprefix(_PREFIX): other for other in [LAYER_NAME, *usable]}
    near = difflib.get_close_matches(name.lower().removeprefix(_PREFIX), by_text, 1, _LIKENESS)
    return by_text[near[0]] if near else ""


def _looks_like(name: str) -> str:
    if name != name.strip():
        return " It begins or ends with a blank."
    for separator in (",", ";", ":", " "):
        if separator in name and separator != os.pathsep:
            return f" Names are separated by {os.pathsep!r}, not by {separator!r}."
    return ""


def _how_to_find(name: str, meant: list[str], usable: list[str], unread: list[str]) -> str:
    folders = layer_path.mended()
    for folder in [*folders, *map(str, default_folders("explicit"))]:
        if name in names_in(folder):
            return export(PATH_VARIABLE, _joined([*folders, folder]))
    if name == LAYER_NAME:
        environment = {**os.environ, PATH_VARIABLE: _joined(folders)}
        try:
            return export(PATH_VARIABLE, with_layer(environment)[PATH_VARIABLE])
        except NativeBuildMissingError as error:
            return str(error)
    if meant:
        # The line mends all names that can be mended: those of several findings can be typed in any order.
        gone = not_found()
        mended = ((_meant(each, usable) if each in gone else []) or [each] for each in enabled_names())
        return export(ENABLE_VARIABLE, _joined(itertools.chain.from_iterable(mended)))
    mend = f"Mend {' or '.join(unread)}; or put" if unread else "Put"
    listed = f" Found are: {', '.join(usable)}." if usable else ""
    return f"{mend} the folder of the layer's manifest into {PATH_VARIABLE}, or correct {ENABLE_VARIABLE}.{listed}"


def check_names() -> Iterator[Finding]:
    """Look for layers that XR_ENABLE_API_LAYERS names twice, or need not name."""
    names = enabled_names()
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        yield warning(
            "layers.named-twice",
            f"{ENABLE_VARIABLE} names {' and '.join(repeated)} more than once.",
            _REFUSED_BY_SOME,
            export(ENABLE_VARIABLE, _joined(names)),
        )
    layers = found()
    explicit = {layer.name for layer in layers if not layer.implicit}
    for layer in layers:
        if layer.name not in names or layer.name in explicit:
            continue
        yield (warning if layer.enabled else problem)(
            "layers.named-implicit",
            f"{ENABLE_VARIABLE} names the implicit layer {layer.name}, and is for explicit ones only: it "
            + ("is enabled without it." if layer.enabled else f"does not enable it ({layer.why_not or 'see above'})."),
            _REFUSED_BY_SOME if layer.enabled else _NOT_PRESENT,
            export(ENABLE_VARIABLE, _joined(name for name in names if name != layer.name)),
        )


def how_to_enable(layer: Layer) -> str:
    """Return the commands that enable an explicit layer, above those that are enabled already.

    Names that are not found are left out, as they would stop every app.
    """
    folder = str(layer.manifest.path.absolute().parent)
    folders = layer_path.mended() or [str(place) for place in default_folders("explicit") if place.is_dir()]
    if folder not in folders:
        folders.insert(0, folder)
    others = {other.name for other in found() if not other.implicit and other.enabled}
    names = [layer.name, *(name for name in enabled_names() if name in others)]
    return f"{export(PATH_VARIABLE, _joined(folders))}; {export(ENABLE_VARIABLE, _joined(names))}"


def _joined(entries: Iterable[str]) -> str:
    return os.pathsep.join(dict.fromkeys(entries))


CHECKS = (check_not_found, check_names)
