"""The JSON files by which OpenXR's loader finds runtimes and API layers, read as it reads them."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic import architecture
from openxr_agentic.plain_files import NotPlainFileError, read_start

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_BYTES = 2**20  # real ones have a few KiB
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# What is never closed goes to the end: else each quote in it would be tried as a beginning, to the end.
_TEXT = r'"(?:\\.|[^"\\])*(?:"|\\?\Z)'
_COMMENT = re.compile(rf"({_TEXT})|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NOT_LINE_BREAK = re.compile(r"[^\n]")
_TRAILING_COMMA = re.compile(rf"({_TEXT})|,(?=\s*[}}\]])", re.DOTALL)


class Fault(NamedTuple):
    """Why the loader cannot use a manifest, or the library that it names.

    Attributes:
        kind: A fixed word: ``missing``, ``folder``, ``unreadable``, ``not-json``, ``incomplete``,
            ``too-large``, ``missing-library``, ``no-library``, ``architecture``.
        text: What is wrong, in words that go on from "The manifest ...".
        remedy: What mends it.
        harmful: Whether the loader would read without end, or more than a machine can hold.
    """

    kind: str
    text: str
    remedy: str
    harmful: bool = False


class Oddity(NamedTuple):
    """What works with the Khronos loader of today, and perhaps not with another one.

    Attributes:
        kind: A fixed word: ``byte-order-mark``, ``lenient-json``, ``slashes``, ``beyond-ascii``.
        text: What is odd, in words that go on from "The manifest ...".
    """

    kind: str
    text: str


class Manifest(NamedTuple):
    """What a manifest says.

    Attributes:
        path: The file.
        body: Its object ``runtime`` or ``api_layer``; empty where it has none.
        library: The library: a path, or a bare name for the system's search path; None: it names none.
        fault: Why it cannot be used; None: nothing was found against it.
        oddities: What may be trouble elsewhere.
    """

    path: Path
    body: Mapping[str, Any]
    library: Path | None
    fault: Fault | None
    oddities: tuple[Oddity, ...]

    @property
    def name(self) -> str:
        """The name that it gives to what it describes; empty: none."""
        name = self.body.get("name")
        return name if isinstance(name, str) else ""

    @property
    def instance_extensions(self) -> tuple[str, ...]:
        """Names of the instance extensions that it says are offered."""
        listed = self.body.get("instance_extensions")
        if not isinstance(listed, list):
            return ()
        return tuple(str(item["name"]) for item in listed if isinstance(item, dict) and "name" in item)


def read(path: Path, kind: str, needed: tuple[str, ...] = ("library_path",)) -> Manifest:
    """Read a manifest and look at the library that it names.

    Args:
        path: The file.
        kind: Which object the loader looks for: ``"runtime"`` or ``"api_layer"``.
        needed: Texts that the object must have.
    """
    data, fault = _bytes(path, kind)
    if data is None:
        return Manifest(path, {}, None, fault, ())
    oddities = []
    if data.startswith(_BYTE_ORDER_MARK):
        text = "begins with a byte order mark, which older loaders refuse: save it as UTF-8 without one"
        oddities.append(Oddity("byte-order-mark", text))
    root, relaxed = _parse(data.removeprefix(_BYTE_ORDER_MARK))
    if relaxed:
        text = "has comments or trailing commas, which the Khronos loader takes and JSON does not have"
        oddities.append(Oddity("lenient-json", text))
    if isinstance(root, str):
        fault = Fault("not-json", f"is not JSON: {root}", f"Mend {path}, or reinstall what it belongs to.")
        return Manifest(path, {}, None, fault, tuple(oddities))
    body, fault = _body(root, path, kind, needed)
    if fault is not None:
        return Manifest(path, body, None, fault, tuple(oddities))
    library = _library(path, body["library_path"], real=kind == "runtime")
    oddities += _odd_paths(path, body["library_path"], library)
    return Manifest(path, body, library, _library_fault(path, kind, library, body["library_path"]), tuple(oddities))


def _bytes(path: Path, kind: str) -> tuple[bytes | None, Fault | None]:
    try:
        if os.path.isdir(path):
            return None, Fault("folder", "is a folder, not a file", f"Name the {kind}'s JSON file inside it.")
        data = read_start(path, _MOST_BYTES + 1)
    except NotPlainFileError:
        return None, Fault("unreadable", "is not an ordinary file", _instead_of(path, kind), harmful=True)
    except FileNotFoundError:
        return None, _missing(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return None, Fault("unreadable", f"cannot be read: {reason}", f"Make {path} readable for this user.")
    if len(data) > _MOST_BYTES:
        text = f"has more than {_MOST_BYTES >> 20} MiB, and no manifest is that long"
        return None, Fault("too-large", text, _instead_of(path, kind), harmful=True)
    return data, None


def _missing(path: Path) -> Fault:
    if path.is_symlink():
        return Fault(
            "missing",
            f"is a link to {os.readlink(path)}, which does not exist",
            f"Remove the link {path}, or install what it led to again.",
        )
    return Fault("missing", "does not exist", "Correct the path, or install what it belongs to.")


def _instead_of(path: Path, kind: str) -> str:
    if kind == "runtime":
        return "Name the runtime's own JSON file in its place."
    return f"Move {path} out of its folder, or put the layer's JSON file in its place."


def _parse(data: bytes) -> tuple[Any, bool]:
    """Return the JSON value, or a text that says why there is none; and whether it took leniency."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return f"it is not UTF-8 ({error.reason} at byte {error.start})", False
    try:
        return _not_a_text(json.loads(text)), False
    except (ValueError, RecursionError):
        # The loader's parser takes what JSON itself does not.
        lenient = _TRAILING_COMMA.sub(_blanked, _COMMENT.sub(_blanked, text))
        try:
            return _not_a_text(json.loads(lenient)), True
        except json.JSONDecodeError as error:
            return f"{_in_words(error)}: line {error.lineno} column {error.colno}", False
        except (ValueError, RecursionError) as error:
            return str(error), False


def _blanked(match: re.Match[str]) -> str:
    """Keep a text, and put blanks in the place of all else: what follows stays in its line and column."""
    return match[1] or _NOT_LINE_BREAK.sub(" ", match[0])


def _in_words(error: json.JSONDecodeError) -> str:
    if error.msg.startswith("Unterminated string") or error.doc[error.pos : error.pos + 1] in ("\r", "\n"):
        return "a text lacks its closing quote"
    return error.msg.removesuffix(" at")


def _not_a_text(value: Any) -> Any:
    return value if not isinstance(value, str) else []


def _body(root: Any, path: Path, kind: str, needed: tuple[str, ...]) -> tuple[dict[str, Any], Fault | None]:
    remedy = f"Mend {path}, or reinstall what it belongs to."
    if not isinstance(root, dict):
        return {}, Fault("incomplete", "is not a JSON object", remedy)
    body = root.get(kind)
    if not isinstance(body, dict):
        other = {"runtime": "api_layer", "api_layer": "runtime"}[kind]
        is_other = f'; it has "{other}", so it belongs to another kind of thing' if other in root else ""
        return {}, Fault("incomplete", f'has no object "{kind}"{is_other}', remedy)
    version = root.get("file_format_version")
    if version != "1.0.0":
        return body, Fault("incomplete", f'has file_format_version {version!r}, and must have "1.0.0"', remedy)
    for key in needed:
        if not isinstance(body.get(key), str) or not body[key]:
            return body, Fault("incomplete", f'has no text "{key}" in "{kind}"', remedy)
    return body, None


def _library(path: Path, named: str, *, real: bool) -> Path:
    if "/" not in named and "\\" not in named:
        return Path(named)
    # A runtime's is searched beside the real manifest, a layer's beside the link to it.
    folder = path.resolve().parent if real else path.absolute().parent
    return _without_detours(folder / named)


def _without_detours(path: Path) -> Path:
    """Take ".." out of a path, unless it leads elsewhere then, as behind a link."""
    try:
        direct = os.path.normpath(path)
        return Path(direct) if os.path.realpath(direct) == os.path.realpath(path) else path
    except (OSError, ValueError):  # no system has such a path
        return path


def _library_fault(path: Path, kind: str, library: Path, named: str) -> Fault | None:
    if library.name == named:
        return None  # a bare name: only the system's loader can tell
    if not os.path.exists(library):
        return Fault(
            "missing-library",
            f'names the library "{named}", and {library} does not exist',
            f"Correct library_path in {path}, or install the library again.",
        )
    if not os.path.isfile(library):
        return Fault(
            "missing-library",
            f'names the library "{named}", and {library} is not a file',
            f"Correct library_path in {path}.",
            # A runtime is loaded by each question, a layer only with an instance; a pipe is waited for.
            harmful=kind == "runtime" and not os.path.isdir(library),
        )
    if architecture.of_library(library) is None and os.access(library, os.R_OK):
        text = f"names the library {library}, which is no shared library"
        return Fault("no-library", text, f"Correct library_path in {path}, or install the library again.")
    wrong = architecture.mismatch(library)
    if wrong is not None:
        return Fault(
            "architecture",
            f"names the library {library}, but {wrong}",
            f"Install the one for {architecture.of_this_python()}, or use a Python for the library's processor.",
        )
    return None


def _odd_paths(path: Path, named: str, library: Path) -> list[Oddity]:
    if sys.platform != "win32":
        return []
    odd = []
    if "/" in named:
        odd.append(Oddity("slashes", f'has library_path "{named}", and on Windows it must have backslashes'))
    if not f"{path}{library}".isascii():
        text = "or its library has a path beyond ASCII, which some loaders and runtimes on Windows cannot open"
        odd.append(Oddity("beyond-ascii", text))
    return odd
