"""What a docstring says: its first paragraph, and what it says of each parameter.

Google's, NumPy's and reStructuredText's forms are read. Text in no known form is
just text: nothing here fails.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_PARAMETER_SECTIONS = frozenset(
    ("args", "arguments", "parameters", "params", "keyword args", "keyword arguments", "other parameters", "attributes")
)
# Not compiled here: most docstrings are one line, and an import should cost little.
_GOOGLE_HEADING = r"^([A-Z][A-Za-z ]+):\s*$"
_GOOGLE_ENTRY = r"^\*{0,2}(\w+)\s*(?:\([^:]*\))?\s*:(?:\s+(.*))?$"
_NUMPY_ENTRY = r"^(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?$"
_FIELD = r"^:(?:param|parameter|arg|argument|key|keyword|ivar|var)\s+(?:[^:]*\s)?\*{0,2}\\?\*{0,2}(\w+):\s*(.*)$"


class Docstring(NamedTuple):
    """A docstring, taken apart.

    Attributes:
        summary: Its first paragraph, in one line; "" if it has none.
        parameters: Descriptions by the parameters' names, each in one line.
    """

    summary: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Take a docstring apart.

    Args:
        text: The docstring as it stands in the source; None: there is none.
    """
    if not text:
        return Docstring("", {})
    if "\n" not in text:
        return Docstring("" if text.lstrip().startswith(":param") else text.strip(), {})
    lines = _dedented(text)
    return Docstring(_summary(lines), _parameters(lines))


def _dedented(text: str) -> list[str]:
    lines = text.expandtabs().splitlines()
    rest = [line for line in lines[1:] if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in rest), default=0)
    return [lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]


def _summary(lines: list[str]) -> str:
    summary: list[str] = []
    for number, line in enumerate(lines):
        if not line.strip():
            if summary:
                break
            continue
        if re.match(_FIELD, line) or line.startswith((":return", ":raise", ":rtype")) or _starts_section(lines, number):
            break
        summary.append(line.strip())
    return " ".join(summary)


def _starts_section(lines: list[str], number: int) -> bool:
    heading = re.match(_GOOGLE_HEADING, lines[number])
    if heading is not None and (heading[1].lower() in _PARAMETER_SECTIONS or heading[1] in ("Returns", "Raises")):
        return True
    return _is_underlined(lines, number)


def _is_underlined(lines: list[str], number: int) -> bool:
    """Tell whether a line is a NumPy heading: dashes below it, as many as it has characters or so."""
    if number + 1 >= len(lines):
        return False
    below = lines[number + 1].strip()
    return len(below) >= 3 and set(below) <= {"-"} and bool(lines[number].strip())  # noqa: PLR2004 - shorter is a list


def _parameters(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        google = re.match(_GOOGLE_HEADING, line)
        if google is not None and google[1].lower() in _PARAMETER_SECTIONS:
            number = _read_google(lines, number + 1, found)
        elif line.strip().lower() in _PARAMETER_SECTIONS and _is_underlined(lines, number):
            number = _read_numpy(lines, number + 2, found)
        elif field := re.match(_FIELD, line):
            number = _read_field(lines, number, field, found)
        else:
            number += 1
    return {name: text for name, text in found.items() if text}


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _read_google(lines: list[str], number: int, found: dict[str, str]) -> int:
    """Read an indented section: entries at its first line's indentation, their text deeper."""
    margin = 0
    name = None
    while number < len(lines):
        line = lines[number]
        if line.strip():
            indent = _indent(line)
            if indent == 0:
                break
            margin = margin or indent
            entry = re.match(_GOOGLE_ENTRY, line.strip()) if indent <= margin else None
            if entry is not None:
                name = entry[1]
                found[name] = (entry[2] or "").strip()
            elif name is not None:
                found[name] = f"{found[name]} {line.strip()}".strip()
        number += 1
    return number


def _read_numpy(lines: list[str], number: int, found: dict[str, str]) -> int:
    """Read an underlined section: entries not indented, their text below them."""
    names: list[str] = []
    while number < len(lines):
        line = lines[number]
        if line.strip():
            if _is_underlined(lines, number):
                break
            if _indent(line) == 0:
                entry = re.match(_NUMPY_ENTRY, line)
                names = [name.strip().lstrip("*") for name in entry[1].split(",")] if entry is not None else []
                found.update(dict.fromkeys(names, ""))
            else:
                for name in names:
                    found[name] = f"{found[name]} {line.strip()}".strip()
        number += 1
    return number


def _read_field(lines: list[str], number: int, field: re.Match[str], found: dict[str, str]) -> int:
    """Read `:param name: text`, and the lines that go on with it."""
    words = [field[2].strip()]
    number += 1
    while number < len(lines) and lines[number].strip() and _indent(lines[number]) > 0:
        words.append(lines[number].strip())
        number += 1
    found[field[1]] = " ".join(words).strip()
    return number
