"""A tool's JSON schema in words for people: types, examples, signatures.

A schema comes from any server, so nothing in it is taken for granted: what is no schema is one that takes anything.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

Schema = Mapping[str, Any]

KINDS: Final = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
"""JSON schema's types."""

_MOST_DEPTH: Final = 12
"""How deep references and alternatives are followed: a schema may refer to itself."""

_FORMAT_EXAMPLES: Final[Mapping[object, str]] = {
    "date": "2030-12-31",
    "date-time": "2030-12-31T23:59:00Z",
    "time": "23:59:00",
    "duration": "PT1H30M",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}
_MOST_PARTS: Final = 2000
"""How many parts of one tool's schema are looked at: a short one may refer to each of its parts many times."""

_MOST_SHOWN: Final = 40
"""How many characters of a default are shown."""

_MOST_OF_VALUE: Final = 200
"""How many characters are shown of a value that may be typed."""

_MORE: Final = "…"


class _Way:
    """How far a walk through a schema has gone: how deep, and over how many parts in all.

    Args:
        depth: How many alternatives and references led here.
        left: How many more parts may be looked at; one number for the whole walk.
    """

    def __init__(self, depth: int = 0, left: list[int] | None = None) -> None:
        self._depth = depth
        self._left = [_MOST_PARTS] if left is None else left

    @property
    def goes_on(self) -> bool:
        """Whether parts of this part may be looked at."""
        return self._depth < _MOST_DEPTH and not self.tired

    @property
    def tired(self) -> bool:
        """Whether too many parts were looked at."""
        return self._left[0] <= 0

    def on(self) -> _Way:
        """Return the way to one part more."""
        self.spend(1)
        return _Way(self._depth + 1, self._left)

    def spend(self, parts: int) -> None:
        """Count parts as looked at."""
        self._left[0] -= parts


_ANYTHING: Final[Schema] = {}
_PLAIN_EXAMPLES: Final[Mapping[str, Any]] = {
    "string": "text",
    "number": 0.5,
    "integer": 1,
    "boolean": True,
    "null": None,
    "array": [],
}


class Accepted(NamedTuple):
    """What a schema takes, by type alone.

    Attributes:
        kinds: JSON schema's names of the types.
        literals: Values that it lists (``enum``, ``const``), beside those types.
    """

    kinds: frozenset[str]
    literals: tuple[Any, ...] = ()

    @property
    def anything(self) -> bool:
        """Whether it takes a value of any type."""
        return (KINDS - {"integer"}) <= self.kinds


_ACCEPTS_ANYTHING: Final = Accepted(KINDS)


def properties_of(schema: Schema) -> dict[str, Schema]:
    """Return the schemas of a tool's arguments by name."""
    given = schema.get("properties")
    if not isinstance(given, Mapping):
        return {}
    return {str(name): _schema(found) for name, found in given.items()}


def required_of(schema: Schema) -> list[str]:
    """Return the names of the arguments that must be given."""
    given = schema.get("required")
    return [name for name in given if isinstance(name, str)] if isinstance(given, Sequence) else []


def accepted(schema: object, root: Schema) -> Accepted:
    """Return the types and the listed values that a schema takes.

    Args:
        schema: A part of `root`.
        root: The whole schema, for references into it.
    """
    return _accepted(schema, root, _Way())


def _accepted(schema: object, root: Schema, way: _Way) -> Accepted:
    # Where the walk ends, whatever is typed is sent: the server, which knows, will say.
    schema = _ANYTHING if way.tired else resolved(schema, root)
    if "const" in schema:
        return Accepted(frozenset(), (schema["const"],))
    listed = schema.get("enum")
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        way.spend(len(listed))
        return Accepted(frozenset(), tuple(listed))
    for word in ("anyOf", "oneOf"):
        alternatives = schema.get(word)
        if isinstance(alternatives, Sequence) and alternatives and way.goes_on:
            found = [_accepted(one, root, way.on()) for one in _within(alternatives, way)]
            if len(found) < len(alternatives):
                return _ACCEPTS_ANYTHING
            literals = tuple(value for one in found for value in one.literals)
            return Accepted(frozenset().union(*(one.kinds for one in found)), literals)
    kinds = _kinds(schema.get("type"))
    if kinds is None and isinstance(schema.get("allOf"), Sequence) and way.goes_on:
        return _of_all(schema["allOf"], root, way)
    if kinds is None:
        kinds = frozenset({"object"}) if "properties" in schema else KINDS
    return Accepted(kinds)


def _within(parts: Iterable[object], way: _Way) -> Iterator[object]:
    """Yield the parts that the walk has strength for."""
    for part in parts:
        if way.tired:
            return
        yield part


def _of_all(parts: Iterable[object], root: Schema, way: _Way) -> Accepted:
    """Return what all parts take; the first that lists values decides."""
    kinds = KINDS
    for part in _within(parts, way):
        found = _accepted(part, root, way.on())
        if found.literals:
            return found
        kinds = kinds & found.kinds
    return Accepted(kinds or KINDS)


def resolved(schema: object, root: Schema) -> Schema:
    """Follow ``$ref`` within the whole schema; one that leads nowhere takes anything."""
    for _ in range(_MOST_DEPTH):
        if not isinstance(schema, Mapping):
            return _ANYTHING
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        schema = _at(reference, root)
    return _ANYTHING


def _at(reference: str, root: Schema) -> object:
    if not reference.startswith("#"):
        return _ANYTHING
    found: object = root
    for step in reference[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _schema(found: object) -> Schema:
    return found if isinstance(found, Mapping) else _ANYTHING


def _kinds(given: object) -> frozenset[str] | None:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence):
        return None
    return (frozenset(name for name in names if isinstance(name, str)) & KINDS) or None


# ---------------------------------------------------------------- words


def type_words(schema: object, root: Schema) -> str:
    """Return a type as ``"number[3] | null"``."""
    return _type_words(schema, root, _Way())


def _type_words(schema: object, root: Schema, way: _Way) -> str:
    if way.tired:
        return _MORE
    schema = resolved(schema, root)
    for word in ("anyOf", "oneOf"):
        alternatives = schema.get(word)
        if isinstance(alternatives, Sequence) and alternatives and way.goes_on:
            words = dict.fromkeys(_type_words(one, root, way.on()) for one in _within(alternatives, way))
            return " | ".join([*words, _MORE] if way.tired and _MORE not in words else words)
    takes = _accepted(schema, root, way)
    if takes.literals:
        return " | ".join(_literals(takes.literals))
    if takes.anything:
        return "any"
    return " | ".join(_kind_words(kind, schema, root, way) for kind in _in_order(takes.kinds, schema))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_OF_VALUE else text[: _MOST_OF_VALUE - 1] + _MORE


def _literals(values: Sequence[object]) -> Iterator[str]:
    for value in values[:_MOST_PARTS]:
        yield _cut(compact(value))
    if len(values) > _MOST_PARTS:
        yield _MORE


def _in_order(kinds: frozenset[str], schema: Schema) -> list[str]:
    """Return the kinds as the schema lists them."""
    given = schema.get("type")
    listed = [kind for kind in given if isinstance(kind, str) and kind in kinds] if isinstance(given, list) else []
    return list(dict.fromkeys(listed)) or sorted(kinds)


def _kind_words(kind: str, schema: Schema, root: Schema, way: _Way) -> str:
    if kind != "array" or not way.goes_on:
        return kind
    least, most = schema.get("minItems"), schema.get("maxItems")
    size = str(least) if least is not None and least == most else ""
    items = _type_words(schema["items"], root, way.on()) if isinstance(schema.get("items"), Mapping) else "any"
    if " | " in items:
        items = f"({items})"
    return f"{items}[{size}]"


def signature(name: str, schema: Schema) -> str:
    """Return a tool as ``"create_cube(position: number[3], size?: number (0 to 10) = 1.0)"``.

    What may be left out has a ``?``; limits are in parentheses, a default is behind ``=``.
    """
    required = set(required_of(schema))
    whole = _Way()
    words = [
        f"{argument}{'' if argument in required else '?'}: {_type_words(found, schema, whole.on())}"
        f"{_more_words(found, schema, whole)}"
        for argument, found in properties_of(schema).items()
    ]
    return f"{name}({', '.join(words)})"


def _more_words(schema: Schema, root: Schema, way: _Way) -> str:
    limits = ", ".join(_limits(schema, root, way.on()))
    default = resolved(schema, root).get("default")
    words = f" ({limits})" if limits else ""
    return words if default is None else f"{words} = {_short(compact(default))}"


def _limits(schema: object, root: Schema, way: _Way) -> list[str]:
    """Return what a schema demands beside the type, each in a few words."""
    schema = resolved(schema, root)
    if not way.goes_on or "enum" in schema or "const" in schema:
        return []
    numbers = _range(schema, "minimum", "maximum", "")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    found = [
        *([_short(schema["format"])] if isinstance(schema.get("format"), str) else []),
        *([numbers] if numbers else []),
        *([f"above {above}"] if _is_number(above) else []),
        *([f"below {below}"] if _is_number(below) else []),
        *([f"a multiple of {schema['multipleOf']}"] if _is_number(schema.get("multipleOf")) else []),
        *filter(None, [_range(schema, "minLength", "maxLength", " character")]),
        *([f"like {_short(schema['pattern'])}"] if isinstance(schema.get("pattern"), str) else []),
    ]
    if schema.get("minItems") != schema.get("maxItems"):  # else the type says it
        found += filter(None, [_range(schema, "minItems", "maxItems", " item")])
    if "items" in schema and (of_items := _limits(schema["items"], root, way.on())):
        found.append(f"each {' and '.join(of_items)}")
    for word in ("anyOf", "oneOf", "allOf"):
        alternatives = schema.get(word)
        if isinstance(alternatives, Sequence) and not isinstance(alternatives, str):
            found += [limit for one in _within(alternatives, way) for limit in _limits(one, root, way.on())]
    return list(dict.fromkeys(found))


def _range(schema: Schema, lowest: str, highest: str, what: str) -> str:
    least, most = schema.get(lowest), schema.get(highest)
    if what and least == 0:
        least = None  # of no length, and so nothing to say
    if _is_number(least) and _is_number(most):
        return f"{least}{f' to {most}' if least != most else ''}{_plural(what, most)}"
    if _is_number(least):
        return f"at least {least}{_plural(what, least)}"
    return f"at most {most}{_plural(what, most)}" if _is_number(most) else ""


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _plural(what: str, count: object) -> str:
    return what if not what or count == 1 else f"{what}s"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


# ---------------------------------------------------------------- examples


def example(schema: object, root: Schema) -> Any:
    """Return a value that the schema takes, by its types."""
    return _example(schema, root, _Way())


def _example(schema: object, root: Schema, way: _Way) -> Any:
    schema = resolved(schema, root)
    takes = _accepted(schema, root, way)
    given = schema.get("examples")
    if schema.get("default") not in (None, [], {}):  # an empty one shows nothing
        return schema["default"]
    if isinstance(given, list) and given:
        return given[0]
    if takes.literals:
        return takes.literals[0]
    return _of_type(schema, takes, root, way)


def _of_type(schema: Schema, takes: Accepted, root: Schema, way: _Way) -> Any:
    for word in ("anyOf", "oneOf"):
        alternatives = schema.get(word)
        if isinstance(alternatives, Sequence) and alternatives and way.goes_on:
            return _example(alternatives[0], root, way.on())
    kind = "string" if takes.anything else _in_order(takes.kinds, schema)[0]
    if kind == "string" and schema.get("format") in _FORMAT_EXAMPLES:
        return _FORMAT_EXAMPLES[schema["format"]]
    if kind == "array" and way.goes_on:
        least = schema.get("minItems")
        count = least if isinstance(least, int) and 0 < least <= _MOST_DEPTH else 1
        return [_example(schema.get("items"), root, way.on()) for _ in range(count)]
    if kind == "object" and way.goes_on:
        inner = properties_of(schema)
        return {name: _example(inner.get(name), root, way.on()) for name in required_of(schema)}
    return _within_limits(kind, schema)


def _within_limits(kind: str, schema: Schema) -> Any:
    least = schema.get("minimum")
    if kind in ("number", "integer") and isinstance(least, (int, float)) and least > _PLAIN_EXAMPLES[kind]:
        return least
    return _PLAIN_EXAMPLES.get(kind, {})


def example_pair(name: str, schema: object, root: Schema) -> str:
    """Return what to type in a shell to give an argument, as ``'position=[0.5, 0.5, 0.5]'``."""
    value = example(schema, root)
    takes = accepted(schema, root)
    as_text = isinstance(value, str) and ("string" in takes.kinds or value in takes.literals)
    return shell_word(f"{name}={_cut(value if as_text else compact(value))}")


def shell_word(text: str) -> str:
    """Return a text as one word of this system's shell."""
    return subprocess.list2cmdline([text]) if os.name == "nt" else shlex.quote(text)


def compact(value: object) -> str:
    """Return a value as JSON in one line."""
    return json.dumps(value, ensure_ascii=False)
