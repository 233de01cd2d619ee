"""A call's arguments, from what was typed in a shell."""

from __future__ import annotations

import difflib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openxr_agentic.cli.asking.schema_words import (
    Accepted,
    accepted,
    compact,
    example_pair,
    properties_of,
    required_of,
    shell_word,
    type_words,
)
from openxr_agentic.errors import AgenticError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openxr_agentic.cli.asking.schema_words import Schema

_MOST_SHOWN: Final = 60


class BadArgumentsError(AgenticError, ValueError):
    """The arguments that were typed cannot be sent; nothing was called."""


# ---------------------------------------------------------------- --arguments


def read_arguments(given: str) -> dict[str, Any]:
    """Return the arguments of ``--arguments``: a JSON object, ``@FILE``, or ``-`` for standard input.

    Whole numbers stay exact at any size.

    Raises:
        BadArgumentsError: There is no such file, or no JSON object in it.
    """
    text, where = _source(given)
    try:
        value = parse_json(text)
    except ValueError as error:
        if isinstance(error, _BeyondJsonError):
            raise BadArgumentsError(f"{where} cannot be sent: {error}.") from error
        raise BadArgumentsError(
            f"{where} holds no JSON: {error}. Write for example --arguments {shell_word(compact({'name': 'text'}))}."
        ) from error
    if not isinstance(value, dict):
        raise BadArgumentsError(f"{where} holds {kind_words(value)}, and arguments are a JSON object.")
    return value


def _source(given: str) -> tuple[str, str]:
    if given != "-" and not given.startswith("@"):
        return given, "--arguments"
    where = "standard input" if given == "-" else f"the file {given[1:]}"
    if given == "-" and sys.stdin is None:
        raise BadArgumentsError("Cannot read standard input: it is closed.")
    try:
        data = sys.stdin.buffer.read() if given == "-" else Path(given[1:]).read_bytes()
        return data.decode("utf-8-sig"), where
    except OSError as error:
        raise BadArgumentsError(f"Cannot read {where}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise BadArgumentsError(f"Cannot read {where}: it is not UTF-8 text.") from error


class _BeyondJsonError(ValueError):
    """A text is JSON, and says what no client can send."""


def parse_json(text: str) -> Any:
    """Return what a JSON text says, and only what JSON can say: no NaN, nothing beyond a double's range.

    Raises:
        ValueError: It is no such text; the reason is for people.
    """
    try:
        return json.loads(text, parse_constant=_no_constant, parse_float=_finite, object_pairs_hook=_no_duplicates)
    except RecursionError as error:
        raise ValueError("it nests too deep") from error


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _BeyondJsonError(f"the number {text} is beyond what a double can hold, at most about 1.8e308")
    return number


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {compact(twice)} is there twice")
    return found


# ---------------------------------------------------------------- key=value


class Pair(NamedTuple):
    """One ``key=value`` as it was typed."""

    name: str
    text: str


def split_pairs(words: Sequence[str]) -> list[Pair]:
    """Return the pairs that were typed.

    Raises:
        BadArgumentsError: A word has no ``=``, or a name stands there twice.
    """
    pairs: list[Pair] = []
    for word in words:
        name, separator, text = word.partition("=")
        if not separator or not name:
            hint = " Give a JSON object with --arguments." if word.lstrip().startswith("{") else ""
            raise BadArgumentsError(f"{word!r} is no argument: write key=value, as name=text or count=3.{hint}")
        if any(pair.name == name for pair in pairs):
            texts = [pair.text for pair in pairs if pair.name == name]
            several = shell_word(f"{name}={_as_array([*texts, text])}")
            raise BadArgumentsError(f"{name} is given twice. Several values are written as one JSON array: {several}.")
        pairs.append(Pair(name, text))
    return pairs


def _as_array(texts: Sequence[str]) -> str:
    """Return a JSON array: of what the texts say in JSON, or of the texts where one of them is no JSON."""
    try:
        return compact([parse_json(text) for text in texts])
    except ValueError:
        return compact(texts)


def typed_arguments(tool: str, pairs: Sequence[Pair], schema: Schema) -> dict[str, Any]:
    """Return arguments with the types that a tool's input schema says.

    Text stays text where the schema takes text alone. All else is read as JSON; where the schema takes text and
    other types, what is JSON of one of the others, or a quoted JSON text, is that, and the rest is text.

    Args:
        tool: The tool's name, for errors.
        pairs: What was typed.
        schema: The tool's input schema.

    Raises:
        BadArgumentsError: With every fault: unknown names, wrong types, missing arguments.
    """
    known = properties_of(schema)
    values: dict[str, Any] = {}
    faults: list[str] = []
    for name, text in pairs:
        if name not in known and schema.get("additionalProperties") is False:
            faults.append(_unknown(name, known))
            continue
        of_argument = known.get(name, schema.get("additionalProperties"))
        try:
            values[name] = _value(text, accepted(of_argument, schema))
        except ValueError as error:
            faults.append(
                f"{name} must be {type_words(of_argument, schema)}, not {_shown(text)}{error}. "
                f"Write for example {example_pair(name, of_argument, schema)}"
            )
    given = {pair.name for pair in pairs}
    faults += [
        f"{name} is missing: {type_words(known.get(name), schema)}. "
        f"Write for example {example_pair(name, known.get(name), schema)}"
        for name in required_of(schema)
        if name not in given
    ]
    if len(faults) == 1:
        raise BadArgumentsError(f"Nothing was sent to {tool}: {faults[0]}")
    if faults:
        raise BadArgumentsError("\n- ".join([f"Nothing was sent to {tool}:", *faults]))
    return values


def pairs_of(values: Mapping[str, Any], schema: Schema) -> str | None:
    """Return arguments as they are typed, one shell word each, for people; None: not all are the tool's own.

    Args:
        values: The arguments by name.
        schema: The tool's input schema.
    """
    known = properties_of(schema)
    if not values.keys() <= known.keys():
        return None
    return " ".join(
        shell_word(f"{name}={_typed(value, accepted(known[name], schema))}") for name, value in values.items()
    )


def _typed(value: Any, takes: Accepted) -> str:
    try:
        if isinstance(value, str) and _value(value, takes) == value:
            return value
    except ValueError:
        pass
    return compact(value)


def _unknown(name: str, known: Mapping[str, Schema]) -> str:
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return f"it has no argument {name}. Did you mean {' or '.join(near)}?"
    return f"it has no argument {name}. " + (f"There are: {', '.join(known)}" if known else "It takes none")


def _value(text: str, takes: Accepted) -> Any:
    """Return the value that a text stands for.

    Raises:
        ValueError: It stands for none that is taken; the text adds to "not …".
    """
    if text in [value for value in takes.literals if isinstance(value, str)]:
        return text
    if takes.kinds == {"string"} and not takes.literals:
        return text
    try:
        value = parse_json(text)
    except ValueError as error:
        if "string" in takes.kinds:
            return text
        raise ValueError(f" (no JSON: {error})" if _meant_as_json(text) else "") from error
    if any(_same(value, literal) for literal in takes.literals) or _fits(value, takes.kinds):
        return value
    if "string" in takes.kinds:
        return text
    raise ValueError("")


def _meant_as_json(text: str) -> bool:
    return text.lstrip().startswith(("{", "[", '"'))


def _same(one: Any, other: Any) -> bool:
    # In Python, True equals 1.
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def _fits(value: Any, kinds: frozenset[str]) -> bool:
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return bool(kinds & {"integer", "number"})
    if isinstance(value, float):
        return "number" in kinds or ("integer" in kinds and value.is_integer())
    return _KIND_OF[type(value)] in kinds


_KIND_OF: Final[Mapping[type, str]] = {str: "string", list: "array", dict: "object", type(None): "null"}
_KIND_WORDS: Final = {str: "a text", list: "an array", dict: "an object", bool: "a boolean", type(None): "null"}


def kind_words(value: object) -> str:
    """Return what kind of JSON a value is, as ``"an array"``."""
    return _KIND_WORDS.get(type(value), "a number")


def _shown(text: str) -> str:
    return compact(text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…")
