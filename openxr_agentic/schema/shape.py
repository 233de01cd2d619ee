"""What a Python type is to an agent: the value that every part of the schema writer passes on."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import ParameterType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openxr_agentic.schema.names import Names

    Convert = Callable[[Any], Any]

# Notes go into a description of 1023 bytes, where the author's own words need room too.
_MOST_CHOICES_BYTES = 600


class Shape(NamedTuple):
    """One type, at any depth of a parameter.

    Attributes:
        schema: Its JSON schema, self-contained.
        kind: The one of the extension's five types that holds it; None: it may be of several.
        decode: What msgspec's strict decoder makes of the JSON.
        convert: From there to the value that the tool gets; None: that is it already. It
            raises ValueError for what does not fit.
        one: A noun for it, as "a whole number" without the article.
        many: The noun's plural.
        says_more: The noun says more than the extension's type does.
        limits: Limits and choices, in words; "" if there are none.
        lost: What agents are not told at all.
        item: The kind of an ARRAY's items.
        content: For an ARRAY, what it holds in words, as "3 numbers".
        inner: For a nullable type, the type without null.
    """

    schema: dict[str, Any]
    kind: ParameterType | None
    decode: Any
    convert: Convert | None = None
    one: str = "value"
    many: str = "values"
    says_more: bool = False
    limits: str = ""
    lost: tuple[str, ...] = ()
    item: ParameterType | None = None
    content: str = ""
    inner: Any = None  # a Shape; NamedTuple cannot say so on Python 3.10 under mypy

    @property
    def notes(self) -> str:
        """What the extension's type of this cannot say, in few words."""
        shape: Shape = self.inner or self
        noun = (shape.content or shape.one) if shape.says_more else ""
        return "; ".join(filter(None, (noun, shape.limits)))


class Scope:
    """Where a type stands: what its names mean, and which types are being described around it.

    Args:
        where: What the type belongs to, for errors.
        describe: The function that makes a Shape of a type in a scope (see plan.py).
        names: What postponed names mean.
        output: The type is a tool's result: its schema says what comes out, not what is accepted.
    """

    __slots__ = ("describe", "names", "open", "output", "type_variables", "where")

    def __init__(
        self, where: str, describe: Callable[[Any, Scope], Shape], names: Names, *, output: bool = False
    ) -> None:
        self.where = where
        self.describe = describe
        self.names = names
        self.output = output
        self.open: dict[Any, list[Shape]] = {}
        self.type_variables: dict[Any, Any] = {}

    def shape(self, annotation: Any) -> Shape:
        """Describe a type inside this scope."""
        return self.describe(annotation, self)

    def error(self, reason: str) -> DefinitionError:
        """Make the error that refuses the type."""
        return DefinitionError(f"{self.where}: {reason}")


def optional(shape: Shape) -> Shape:
    """Let a type be null as well."""
    if shape.inner is not None or shape.schema == {}:
        return shape
    convert = shape.convert
    return shape._replace(
        schema={"anyOf": [shape.schema, {"type": "null"}]},
        decode=union_type([shape.decode, None]),
        convert=None if convert is None else lambda value: None if value is None else convert(value),
        one=f"{shape.one} or null",
        many=f"{shape.many} or nulls",
        inner=shape,
    )


def union_type(members: list[Any]) -> Any:
    """Return the Union of types that are known at run time only."""
    return Union[tuple(members)]  # noqa: UP007 - members are known at run time only


def chained(first: Convert | None, second: Convert) -> Convert:
    """Return the conversion that applies one after the other."""
    if first is None:
        return second
    before = first
    return lambda value: second(before(value))


class MisfitError(ValueError):
    """A value inside an argument does not fit.

    Args:
        place: Where inside, as "pose.position[2]".
        reason: Why.
    """

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


def misfit(place: str | int, error: ValueError) -> MisfitError:
    """Return the error of a value inside a value, with the place of the outer one in front."""
    own = f"[{place}]" if isinstance(place, int) else place
    if not isinstance(error, MisfitError):
        return MisfitError(own, str(error))
    return MisfitError(f"{own}{'' if error.place.startswith('[') else '.'}{error.place}", error.reason)


def placed(change: Convert | None, value: Any, place: str | int) -> Any:
    """Convert a value inside a value; the error of one that does not fit says where it is."""
    if change is None:
        return value
    try:
        return change(value)
    except ValueError as error:
        raise misfit(place, error) from None


def generic(container: Any, *arguments: Any) -> Any:
    """Return a generic type, as ``list[int]``, of arguments that are known at run time only."""
    return types.GenericAlias(container, arguments)


def choices(values: list[str]) -> tuple[str, bool]:
    """Return choices in words, and whether all of them are named.

    Values that a list could not be read back from are written as JSON texts.
    """
    if any("," in value or value.strip() != value or not value for value in values):
        import json

        values = [json.dumps(value, ensure_ascii=False) for value in values]
    named: list[str] = []
    size = 0
    for value in values:
        size += len(value.encode("utf-8", "replace")) + 2
        if size > _MOST_CHOICES_BYTES:
            return f"one of {len(values)} values: {', '.join(named)}, ...", False
        named.append(value)
    return f"one of: {', '.join(named)}", True


def kind_of_schema(schema: Mapping[str, Any]) -> ParameterType | None:
    """Return the extension's type for what a JSON schema describes; None if it may be of several."""
    kind = schema.get("type")
    if isinstance(kind, str):
        if kind == "integer":
            return ParameterType.NUMBER
        return next((known for known in ParameterType if known.value == kind), None)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            kinds = {kind_of_schema(part) for part in schema[key] if part.get("type") != "null"}
            return kinds.pop() if len(kinds) == 1 else None
    if "allOf" in schema:
        kinds = {kind_of_schema(part) for part in schema["allOf"]} - {None}
        return kinds.pop() if len(kinds) == 1 else None
    values = [schema["const"]] if "const" in schema else schema.get("enum", ())
    kinds = {_kind_of_value(value) for value in values}
    if "properties" in schema:
        kinds.add(ParameterType.OBJECT)
    return kinds.pop() if len(kinds) == 1 else None


def _kind_of_value(value: object) -> ParameterType | None:
    if isinstance(value, str):
        return ParameterType.STRING
    if isinstance(value, bool):
        return ParameterType.BOOLEAN
    return ParameterType.NUMBER if isinstance(value, (int, float)) else None
