"""The extension's numbers, read from Meta's header as text: no compiler is needed.

Known are the forms in which such headers give a number: ``#define``, ``const``
variables, and members of an enum, with or without a value of their own; attributes
change nothing. An expression may hold numbers, names that the file defines, casts and
operators (`expressions`). What is not there, cannot be read, is said twice with different
values, or depends on a condition inside an enum is reported; nothing is guessed.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from openxr_agentic.doctor.expressions import CONDITION, NAME, OTHERWISE, Definitions, Macro
from openxr_agentic.doctor.findings import clipped
from openxr_agentic.errors import AgenticError
from openxr_agentic.header_numbers import NAMES, collisions, decode, range_fault
from openxr_agentic.plain_files import read_start

if TYPE_CHECKING:
    from collections.abc import Iterator

PLACE = Path("meta_openxr_preview", "metax1_agentic_external_tool.h")
"""Where the header is in a folder of headers."""

_MOST_BYTES = 16 * 2**20
_MOST_LIKE = 200
_LIKENESS = 0.8
# A text is kept, without what is in it, so that no comment or definition begins there. What is never closed goes on to
# the line's or the file's end: else each of its beginnings would be tried, to the end.
_COMMENT_OR_TEXT = re.compile(
    r"""(?P<number>\b\d(?:'?\w)*)|(?P<quote>["'])(?:\\.|(?!(?P=quote))[^\\\n])*(?:(?P=quote)|\\?$)"""
    r"""|//[^\n]*|/\*.*?(?:\*/|\Z)""",
    re.DOTALL | re.MULTILINE,
)
_DEFINE = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+({NAME})[ \t]+(\S[^\n]*)$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:(if|ifn?def)\b|(else|elif|elifn?def|endif)\b)?[^\n]*$", re.MULTILINE)
# Nothing in them begins another one, so that a file of beginnings costs no more than its length.
_ATTRIBUTE = re.compile(r"\[\[[^\[\]]*\]\]|\b__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)")
_BRACED_VALUE = re.compile(r"(?<=\w)( ?)\{([^;{}]*)\}(?= ?[,;])")
_STATEMENT_END = re.compile(r"([;{}])")
_CONSTANTS = re.compile(rf"\b(?:const|constexpr)\b[\w\s:*]{{0,200}}?\b({NAME} ?[=(].*)")
_CONSTANT = re.compile(rf"({NAME}) ?(?:= ?(.+)|(\(.+\)))")
_ENUM = re.compile(rf"(\btypedef )?\benum\b([^;{{}}()]{{0,200}})\{{([^{{}}]*)\}}(?: ?({NAME}) ?;)?")
_ENUM_NAME = re.compile(rf" ?(?:class |struct )?({NAME})?(?: ?: ?(.+))?")
_TYPEDEF = re.compile(rf"\btypedef ([^;{{}}()]{{1,200}}?)\b({NAME}) ?;")
_MEMBER = re.compile(rf"({NAME}) ?(?:= ?(.+))?")
_LEADING_NAME = re.compile(NAME)


class HeaderError(AgenticError, ValueError):
    """A file that is no header of this extension, or cannot be read."""


class Reading(NamedTuple):
    """What a header says.

    Attributes:
        path: The file.
        numbers: What it says for certain, by the names of `header_numbers.NAMES`.
        missing: Names that it does not define.
        unclear: Names whose value cannot be read, and why.
        disagreeing: Names that it defines more than once, and their different values.
        similar: For missing names, names in the file that look like them. They are not used.
    """

    path: Path
    numbers: dict[str, int]
    missing: tuple[str, ...]
    unclear: dict[str, str]
    disagreeing: dict[str, tuple[int, ...]]
    similar: dict[str, tuple[str, ...]]


def read_header(path: Path) -> Reading:
    """Read the extension's numbers out of a header.

    Args:
        path: The header, the folder that it is in, or a folder of headers that has it at `PLACE`.

    Raises:
        HeaderError: The file cannot be read, or says nothing of this extension.
    """
    path = Path(os.path.expanduser(path))
    if os.path.isdir(path):  # unlike its method, it does not raise where a folder may not be entered
        inside = (path / PLACE, path / PLACE.name)
        found = next((place for place in inside if os.path.lexists(place)), None)
        if found is None:
            raise HeaderError(f"The folder {path} holds no {PLACE.name} (looked for at {inside[0]} and {inside[1]}).")
        path = found
    try:
        data = read_start(path, _MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise HeaderError(f"The header {path} cannot be read: {reason}.") from error
    if len(data) > _MOST_BYTES:
        raise HeaderError(f"{path} has more than {_MOST_BYTES >> 20} MiB: no header is that long.")
    reading = read_text(decode(data, "replace"), path)
    if not (reading.numbers or reading.unclear or reading.disagreeing):
        raise HeaderError(
            f"{path} defines none of the extension's numbers, as {NAMES[0]}. Meta's header is named {PLACE.name}"
            + (f"; the file has names like it: {_listed(reading.similar)}." if reading.similar else ".")
        )
    return reading


def read_text(text: str, path: Path) -> Reading:
    """Read the extension's numbers out of a header's text; `path` is only for what is said of it."""
    definitions = _definitions(text)
    numbers: dict[str, int] = {}
    missing: list[str] = []
    unclear: dict[str, str] = {}
    disagreeing: dict[str, tuple[int, ...]] = {}
    for name in NAMES:
        values: set[int] = set()
        spellings = [spelling for spelling in (name, name.removesuffix("X1")) if spelling in definitions]
        for spelling in spellings:
            for expression in definitions[spelling]:
                value = definitions.value_or_reason(expression)
                if isinstance(value, str):
                    unclear[name] = f"{spelling} = {_shown(expression)}: {clipped(value)}"
                else:
                    values.add(value)
        if not spellings:
            missing.append(name)
        elif len(values) > 1:
            disagreeing[name] = tuple(sorted(values))
        elif values and name not in unclear:
            numbers[name] = values.pop()
    _leave_out_impossible(numbers, unclear)
    similar = {name: near for name in missing if (near := _similar(name, definitions))}
    return Reading(path, numbers, tuple(missing), unclear, disagreeing, similar)


def _shown(expression: str) -> str:
    return clipped(" ".join(re.sub(f"[{CONDITION}{OTHERWISE}]", "…", expression).split()))


def _leave_out_impossible(numbers: dict[str, int], unclear: dict[str, str]) -> None:
    for name, value in tuple(numbers.items()):
        if (fault := range_fault(name, value)) is not None:
            unclear[name] = f"it is {numbers.pop(name)}, and {fault}"
    for name, other in tuple(collisions(numbers)):
        for each, against in ((name, other), (other, name)):
            if each in numbers:
                unclear[each] = f"it is {numbers.pop(each)}, as {against} is, and they must differ"


def _definitions(text: str) -> Definitions:
    """Return the expressions that each name is given, whatever conditions they stand under."""
    text = re.sub(r"\\[ \t]*\r?\n", " ", text.replace("\r\n", "\n"))
    text = _COMMENT_OR_TEXT.sub(_without_content, text)
    code = _ATTRIBUTE.sub(" ", _DIRECTIVE.sub(_condition, text))
    code = " ".join(code.split())
    definitions = Definitions()
    for name, expression in [
        *((name, Macro(expression.strip())) for name, expression in _DEFINE.findall(text)),
        *_constants(code),
        *_members(code),
    ]:
        definitions.setdefault(name, []).append(expression)
    definitions.types.update(_types(code))
    return definitions


def _without_content(found: re.Match[str]) -> str:
    return found["number"] or (found["quote"] * 2 if found["quote"] else " ")


def _condition(directive: re.Match[str]) -> str:
    return f" {CONDITION} " if directive[1] else f" {OTHERWISE} " if directive[2] else ""


def _types(code: str) -> Iterator[tuple[str, str]]:
    """Yield names of types and what they stand for; of two for one name, the last one counts."""
    for meaning, name in _TYPEDEF.findall(code):
        yield name, meaning
    for is_typedef, head, _, name in _ENUM.findall(code):
        found = _ENUM_NAME.fullmatch(head.strip())
        if found is not None:
            base = found[2] or "int"
            yield from ((each, base) for each in (found[1], name if is_typedef else "") if each)


def _constants(code: str) -> Iterator[tuple[str, str]]:
    parts = _STATEMENT_END.split(_BRACED_VALUE.sub(r"\1(\2)", code))
    for statement, end in zip(parts[::2], parts[1::2], strict=False):
        declared = _CONSTANTS.search(statement) if end == ";" else None
        if declared is not None:
            # Brackets that do not match are not of this declaration, so that its commas may not be either.
            whole = declared[1].count("(") != declared[1].count(")")
            for each in [declared[1]] if whole else _split(declared[1]):
                found = _CONSTANT.fullmatch(each.strip())
                if found is not None:
                    yield found[1], found[2] or found[3]


def _members(code: str) -> Iterator[tuple[str, str]]:
    for _, _, body, _ in _ENUM.findall(code):
        base, count = "0", 0  # a member without a value has that of `base`, plus `count`
        marks = ""
        for part in _split(body):
            member = part.strip(f" {CONDITION}{OTHERWISE}")
            before, _, after = part.partition(member) if member else (part, "", "")
            if OTHERWISE in marks + before:  # the member in front of this one may not be there
                base = OTHERWISE
            marks = after if member else marks + before
            found = _MEMBER.fullmatch(member)
            if found is None:
                if (name := _LEADING_NAME.match(member)) is not None:
                    yield name[0], f"? {member}"  # which is no expression: it is told that it cannot be read
                    base = "?"  # what follows without a value depends on it
                continue
            if found[2]:
                yield found[1], found[2]
                base, count = found[1], 0
            else:
                yield found[1], f"({base}) + {count}" if count else base
            count += 1


def _split(body: str) -> list[str]:
    """Split at commas that stand in no brackets; a comma after the last member is nothing."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(body):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(body[start:at])
            start = at + 1
    return [part for part in [*parts, body[start:]] if part.strip()]


def _similar(name: str, definitions: Definitions) -> tuple[str, ...]:
    others = [other for other in definitions if "AGENTIC" in other and re.sub(r"_META$", "_METAX1", other) not in NAMES]
    return tuple(difflib.get_close_matches(name, others[:_MOST_LIKE], cutoff=_LIKENESS))


def _listed(similar: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(dict.fromkeys(name for near in similar.values() for name in near))
