"""The values of C's constant expressions, as far as headers use them for numbers: no compiler is needed.

Known are whole numbers, names, casts to types that are known, and the operators ``+ - * << >> & ^ |``.
All else has no value here, and a reason instead.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

NAME: Final = r"[A-Za-z_]\w*"

CONDITION, OTHERWISE = "`", "@"
"""What stands for ``#if`` and its like, and for ``#else``, ``#endif`` and their like; C gives both no meaning."""

_NO_EXPRESSION: Final = "it is no expression that this reader knows"
_MOST_DIGITS: Final = 64
_HIGHEST_SHIFT: Final = 63
_LONGEST_ALIAS: Final = 20
_TOKEN: Final = re.compile(r"\w+|<<|>>|::|\+\+|--|[^\w\s]")
_NUMBER: Final = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)[uUlLzZ]*")

# By how tightly each one binds, above 0.
_BINARY: Final[dict[str, tuple[int, Callable[[int, int], int]]]] = {
    "|": (1, operator.or_),
    "^": (2, operator.xor),
    "&": (3, operator.and_),
    "<<": (4, operator.lshift),
    ">>": (4, operator.rshift),
    "+": (5, operator.add),
    "-": (5, operator.sub),
    "*": (6, operator.mul),
}

_OPERATORS_LIKE_CALLS: Final = {"sizeof", "alignof", "_Alignof", "decltype", "typeof", "defined"}
_QUALIFIERS: Final = {"const", "volatile", "enum"}
_C_TYPE: Final = re.compile(r"(?:(?:signed|unsigned|char|short|int|long)(?: |$))+")
_SIZED_TYPE: Final = re.compile(r"(u?)int(?:_least|_fast)?(8|16|32|64)_t")
_TYPES: Final = {"size_t": (32, False), "uintptr_t": (32, False), "intptr_t": (32, True), "ptrdiff_t": (32, True)}
_OPENXR_TYPE: Final = re.compile(r"Xr[A-Z]\w*")


class UnclearError(Exception):
    """An expression whose value cannot be told; its text says why."""


class Macro(str):
    """What a ``#define`` puts in a name's place: text, not a value."""

    __slots__ = ()


class Definitions(dict[str, list[str]]):
    """The expressions that each name is given, and what is known already of their values.

    Attributes:
        types: Names of types, and what each one stands for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.types: dict[str, str] = {}
        self._values: dict[str, tuple[int, bool] | str] = {}

    def value_or_reason(self, expression: str) -> int | str:
        """Return an expression's value, or why it has none."""
        try:
            return _Reader(expression, self).whole()
        except UnclearError as error:
            return str(error)
        except RecursionError:
            return _NO_EXPRESSION

    def named(self, name: str) -> tuple[int, bool]:
        """Return a name's value, and whether operators beside the name could reach into the macro that it is.

        Raises:
            UnclearError: It has none.
        """
        if name not in self._values:  # else a name that is used twice would double the work with each level
            self._values[name] = "its definition leads to itself, or too deep"
            try:
                self._values[name] = self._one_value(name)
            except UnclearError as error:
                self._values[name] = str(error)
        found = self._values[name]
        if isinstance(found, str):
            raise UnclearError(found)
        return found

    def _one_value(self, name: str) -> tuple[int, bool]:
        values, is_open = set(), False
        for expression in self.get(name, ()):
            reader = _Reader(expression, self)
            values.add(reader.whole())
            is_open |= isinstance(expression, Macro) and reader.is_open
        if not values:
            raise UnclearError(f"{name} is defined elsewhere")
        if len(values) > 1:
            raise UnclearError(f"{name} has several values")
        return values.pop(), is_open

    def range_of(self, words: str) -> tuple[int, int] | None:
        """Return the lowest and the highest number that surely fit in a type; None: it is no type that is known.

        Args:
            words: The type as it is written, with one space between two words.
        """
        for _ in range(_LONGEST_ALIAS):
            words = " ".join(word for word in words.split() if word not in _QUALIFIERS).removeprefix("std :: ")
            if words in self or words not in self.types:
                break
            words = self.types[words]
        size = None if words in self else _size(words)
        if size is None:
            return None
        bits, signed = size
        return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def _size(words: str) -> tuple[int, bool] | None:
    """Return a type's bits, the fewest that it has anywhere, and whether it has a sign."""
    if _C_TYPE.fullmatch(words):
        parts = words.split()
        bits = 64 if parts.count("long") > 1 else 8 if "char" in parts else 16 if "short" in parts else 32
        return bits, "unsigned" not in parts
    if sized := _SIZED_TYPE.fullmatch(words):
        return int(sized[2]), not sized[1]
    if _OPENXR_TYPE.fullmatch(words):
        return (64, False) if "Flags" in words else (32, True)
    return _TYPES.get(words)


class _Reader:
    """Reads one expression, from left to right.

    Attributes:
        is_open: Whether an operator stands in no brackets.
    """

    def __init__(self, expression: str, definitions: Definitions) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(expression), ""]
        if CONDITION in expression or OTHERWISE in expression:
            raise UnclearError("it depends on a condition in the header")
        self._definitions = definitions
        self._at = 0
        self._depth = 0
        self.is_open = False

    def whole(self) -> int:
        value = self._binary(0)
        self._expect("")
        return value

    def _take(self) -> str:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _expect(self, token: str) -> None:
        if self._tokens[self._at] != token:
            raise UnclearError(_NO_EXPRESSION)
        self._at += 1

    def _binary(self, least: int) -> int:
        value = self._unary()
        while (found := _BINARY.get(self._tokens[self._at])) is not None and found[0] > least:
            token = self._take()
            level, operation = found
            other = self._binary(level)
            if token in ("<<", ">>") and not 0 <= other <= _HIGHEST_SHIFT:
                raise UnclearError(_NO_EXPRESSION)
            value = operation(value, other)
            if not -(2**63) <= value < 2**64:
                raise UnclearError("it is no number of 64 bits")
            self.is_open |= self._depth == 0
        return value

    def _unary(self) -> int:
        token = self._take()
        if token in ("+", "-"):
            value = self._unary()
            return -value if token == "-" else value
        if token == "(":
            start, limits = self._at, self._type()
            if limits is not None and self._tokens[self._at] == ")":
                self._at += 1
                return _cast(self._unary(), limits)
            self._at = start
            return self._bracketed()
        if token[:1].isdecimal():
            return _number(token)
        if not re.fullmatch(NAME, token):
            raise UnclearError(_NO_EXPRESSION)
        return self._after_name(token)

    def _after_name(self, name: str) -> int:
        if name == "static_cast":
            self._expect("<")
            limits = self._type()
            self._expect(">")
        else:
            self._at -= 1
            limits = self._type()
            self._at += limits is None
        if limits is not None:
            self._expect("(")
            return _cast(self._bracketed(), limits)
        if self._tokens[self._at] != "(":
            return self._named(name)
        if name in self._definitions:
            raise UnclearError(f"{name} is a macro with arguments")
        raise UnclearError(_NO_EXPRESSION if name in _OPERATORS_LIKE_CALLS else f"{name} is defined elsewhere")

    def _bracketed(self) -> int:
        """Read what follows an opening bracket."""
        self._depth += 1
        value = self._binary(0)
        self._depth -= 1
        self._expect(")")
        return value

    def _named(self, name: str) -> int:
        value, is_open = self._definitions.named(name)
        before = self._tokens[self._at - 2] if self._at > 1 else ""
        if is_open and (before not in ("", "(") or self._tokens[self._at] not in ("", ")")):
            # In C, the macro's text meets the operators around its name, which may give another value.
            raise UnclearError(f"{name} is a macro of several terms without brackets around them")
        self.is_open |= is_open and self._depth == 0
        return value

    def _type(self) -> tuple[int, int] | None:
        """Go past a type, and return its limits; None, and nowhere: there is none that is known."""
        end = self._at
        while self._tokens[end] == "::" or re.fullmatch(NAME, self._tokens[end]):
            end += 1
        limits = self._definitions.range_of(" ".join(self._tokens[self._at : end]))
        if limits is not None:
            self._at = end
        return limits


def _cast(value: int, limits: tuple[int, int] | None) -> int:
    if limits is None:
        raise UnclearError(_NO_EXPRESSION)
    if not limits[0] <= value <= limits[1]:
        raise UnclearError(f"a cast changes {value}")
    return value


def _number(token: str) -> int:
    if len(token) > _MOST_DIGITS:
        raise UnclearError("it has a number of too many digits")
    found = _NUMBER.fullmatch(token)
    try:
        digits = found[1] if found else token
        octal = digits.startswith("0") and digits.isdecimal()
        return int(digits, 8 if octal else 0)
    except ValueError:
        raise UnclearError(f"{token} is no number") from None
