"""The extension's numbers, read from Meta's header as text: no compiler is needed.

Known are the forms in which such headers give a number: ``#define``, ``const``
variables, and members of an enum, with or without a value of their own; attributes
change nothing. An expression
may hold numbers, names that the file defines, casts and the operators of C. What is
not there, cannot be read or is said twice with different values is reported; nothing
is guessed.
"""

from __future__ import annotations

import ast
import difflib
import operator
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from openxr_agentic.doctor.findings import clipped
from openxr_agentic.errors import AgenticError
from openxr_agentic.header_numbers import NAMES, collisions, decode, range_fault
from openxr_agentic.plain_files import read_start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PLACE = Path("meta_openxr_preview", "metax1_agentic_external_tool.h")
"""Where the header is in a folder of headers."""

_MOST_BYTES = 16 * 2**20
_DEEPEST = 50
_MOST_DIGITS = 64
_MOST_LIKE = 200
_LIKENESS = 0.8
_HIGHEST_SHIFT = 63
_OPERATORS = (
    "sizeof",
    "alignof",
    "_Alignof",
    "decltype",
    "typeof",
    "defined",
)  # they look like casts, as C++ writes them
_NAME = r"[A-Za-z_]\w*"
# Texts are kept whole, so that no comment begins inside one.
_TEXT = r'"(?:\\.|[^"\\\n])*"'
_COMMENT_OR_TEXT = re.compile(rf"{_TEXT}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+({_NAME})[ \t]+(\S[^\n]*?)[ \t]*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)
# Nothing in them begins another one, so that a file of beginnings costs no more than its length.
_ATTRIBUTE = re.compile(
    rf"\[\[(?:{_TEXT}|[^\[\]\"])*\]\]|\b__attribute__\s*\(\((?:{_TEXT}|[^()\"]|\((?:{_TEXT}|[^()\"])*\))*\)\)"
)
_BRACED_VALUE = re.compile(r"(?<=\w)(\s*)\{([^;{}]*)\}(?=\s*[,;])")
_STATEMENT_END = re.compile(r"([;{}])")
_CONSTANTS = re.compile(rf"\b(?:const|constexpr)\b[\w\s:*]{{0,200}}?\b({_NAME}\s*[=(].*)", re.DOTALL)
_CONSTANT = re.compile(rf"({_NAME})\s*(?:=\s*(.+)|(\(.+\)))", re.DOTALL)
_ENUM = re.compile(r"\benum\b[^;{}()]{0,200}\{([^{}]*)\}")
_MEMBER = re.compile(rf"({_NAME})\s*(?:=\s*(.+))?", re.DOTALL)
_LEADING_NAME = re.compile(_NAME)
_NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlLzZ]*\b")
_STATIC_CAST = re.compile(rf"\bstatic_cast\s*<\s*(?:const\s+)?{_NAME}(?:::{_NAME})*\s*>")
_CAST = re.compile(rf"\(\s*((?:(?:const|unsigned|signed|enum|long|short|int)\s+)*{_NAME})\s*\)(?=\s*[\w(~+-])")


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
                value = _value_or_reason(expression, definitions)
                if isinstance(value, str):
                    unclear[name] = f"{spelling} = {clipped(' '.join(expression.split()))}: {clipped(value)}"
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


def _leave_out_impossible(numbers: dict[str, int], unclear: dict[str, str]) -> None:
    for name, value in tuple(numbers.items()):
        if (fault := range_fault(name, value)) is not None:
            unclear[name] = f"it is {numbers.pop(name)}, and {fault}"
    for name, other in tuple(collisions(numbers)):
        for each, against in ((name, other), (other, name)):
            if each in numbers:
                unclear[each] = f"it is {numbers.pop(each)}, as {against} is, and they must differ"


class _Macro(str):
    """What a ``#define`` puts in a name's place: text, not a value."""

    __slots__ = ()

    @property
    def is_open(self) -> bool:
        """Whether operators beside the name could reach into it."""
        try:
            node = ast.parse(_in_python(self), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return True
        # Brackets around all of it are no part of the tree, but of where it begins.
        return isinstance(node, ast.BinOp) and not (self.lstrip().startswith("(") and node.col_offset > 0)


class _Definitions(dict[str, list[str]]):
    """The expressions that each name is given, and what is known already of their values."""

    def __init__(self) -> None:
        super().__init__()
        self.values_of: dict[str, int | str] = {}


def _definitions(text: str) -> _Definitions:
    """Return the expressions that each name is given, whatever conditions they stand under."""
    text = re.sub(r"\\[ \t]*\r?\n", " ", text.replace("\r\n", "\n"))
    text = _COMMENT_OR_TEXT.sub(lambda found: found[0] if found[0][0] == '"' else " ", text)
    definitions = _Definitions()
    for name, expression in [
        *((name, _Macro(expression)) for name, expression in _DEFINE.findall(text)),
        *_constants(code := _ATTRIBUTE.sub(" ", _DIRECTIVE.sub("", text))),
        *_members(code),
    ]:
        definitions.setdefault(name, []).append(expression)
    return definitions


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
    for body in _ENUM.findall(code):
        before = ""
        for index, member in enumerate(part.strip() for part in _split(body)):
            found = _MEMBER.fullmatch(member)
            if found is None:
                if (name := _LEADING_NAME.match(member)) is not None:
                    yield name[0], member  # which is no expression: it is told that it cannot be read
                before = "?"  # what follows without a value depends on it
                continue
            after = f"({before}) + 1" if before else str(index)
            yield found[1], found[2] or after
            before = found[1]


def _split(body: str) -> list[str]:
    """Split at commas that stand in no brackets; a comma after the last member is nothing."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(body):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(body[start:at])
            start = at + 1
    return [part for part in [*parts, body[start:]] if part.strip()]


class _UnclearError(Exception):
    """An expression whose value cannot be told."""


def _value_or_reason(expression: str, definitions: _Definitions) -> int | str:
    try:
        return _value(expression, definitions)
    except _UnclearError as error:
        return str(error)


_BINARY: dict[type[ast.AST], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
}


def _value(expression: str, definitions: _Definitions, depth: int = 0) -> int:
    if depth > _DEEPEST:
        raise _UnclearError("its definition leads to itself")
    # A name in brackets that the file defines is a value, any other one is a type.
    text = _STATIC_CAST.sub("", " ".join(expression.split()))
    text = _CAST.sub(lambda found: found[0] if found[1] in definitions else " ", text)
    try:
        tree = ast.parse(_in_python(text), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _UnclearError("it is no expression that this reader knows") from None
    value = _evaluate(tree.body, definitions, depth)
    if not -(2**63) <= value < 2**64:
        raise _UnclearError("it is no number of 64 bits")
    return value


def _in_python(expression: str) -> str:
    return _NUMBER.sub(lambda found: str(_c_number(found[1])), " ".join(expression.split()))


def _c_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise _UnclearError("it has a number of too many digits")
    octal = digits.startswith("0") and digits.isdecimal()
    try:
        return int(digits, 8 if octal else 0)
    except ValueError:
        raise _UnclearError(f"{digits} is no number") from None


def _evaluate(node: ast.expr, definitions: _Definitions, depth: int) -> int:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return _named(node.id, definitions, depth)
    _refuse_open_macros(node, definitions)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        value = _evaluate(node.operand, definitions, depth)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp):
        left, right = (_evaluate(side, definitions, depth) for side in (node.left, node.right))
        if isinstance(node.op, (ast.LShift, ast.RShift)) and 0 <= right <= _HIGHEST_SHIFT:
            return left << right if isinstance(node.op, ast.LShift) else left >> right
        if type(node.op) in _BINARY:
            return _BINARY[type(node.op)](left, right)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id not in _OPERATORS
        and len(node.args) == 1
        and not node.keywords
    ):
        if node.func.id in definitions:
            raise _UnclearError(f"{node.func.id} is a macro with arguments")
        if node.func.id.isupper():
            raise _UnclearError(f"{node.func.id} is defined elsewhere")
        return _evaluate(node.args[0], definitions, depth)  # a cast as C++ writes it
    raise _UnclearError("it is no expression that this reader knows")


def _refuse_open_macros(node: ast.expr, definitions: _Definitions) -> None:
    """Refuse what would be another value in C, where a macro's text meets the operators around its name."""
    for side in (getattr(node, name, None) for name in ("operand", "left", "right")):
        if not isinstance(side, ast.Name):
            continue
        if any(isinstance(text, _Macro) and text.is_open for text in definitions.get(side.id, ())):
            raise _UnclearError(f"{side.id} is a macro of several terms without brackets around them")


def _named(name: str, definitions: _Definitions, depth: int) -> int:
    if name not in definitions.values_of:  # else a name that is used twice would double the work with each level
        try:
            definitions.values_of[name] = _one_value(name, definitions, depth)
        except _UnclearError as error:
            definitions.values_of[name] = str(error)
    value = definitions.values_of[name]
    if isinstance(value, str):
        raise _UnclearError(value)
    return value


def _one_value(name: str, definitions: _Definitions, depth: int) -> int:
    values = {_value(expression, definitions, depth + 1) for expression in definitions.get(name, ())}
    if not values:
        raise _UnclearError(f"{name} is defined elsewhere")
    if len(values) > 1:
        raise _UnclearError(f"{name} has several values")
    return values.pop()


def _similar(name: str, definitions: _Definitions) -> tuple[str, ...]:
    others = [other for other in definitions if "AGENTIC" in other and re.sub(r"_META$", "_METAX1", other) not in NAMES]
    return tuple(difflib.get_close_matches(name, others[:_MOST_LIKE], cutoff=_LIKENESS))


def _listed(similar: dict[str, tuple[str, ...]]) -> str:
    return ", ".join(dict.fromkeys(name for near in similar.values() for name in near))
