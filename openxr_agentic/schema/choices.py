"""Types that are a choice between values: Enum and Literal."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Literal

from openxr_agentic.parameters import ParameterType
from openxr_agentic.schema.shape import Shape, choices, optional, union_type

if TYPE_CHECKING:
    from openxr_agentic.schema.shape import Convert, Scope

_NAMES = {str: "string", bool: "boolean", int: "integer"}


def enum_shape(cls: type[enum.Enum], scope: Scope) -> Shape:
    """Describe an Enum: by its values where these are texts or the members are numbers, else by its names."""
    if issubclass(cls, enum.Flag):
        raise scope.error(
            f"{cls.__qualname__} is a Flag, whose values are sums. Take a list of an Enum, and combine them in the "
            "tool."
        )
    members = list(cls)
    if not members:
        raise scope.error(f"{cls.__qualname__} has no members, so that no value would be accepted.")
    values = [member.value for member in members]
    table: dict[Any, enum.Enum] = {(False, name): member for name, member in cls.__members__.items()}
    if all(isinstance(value, str) for value in values):
        schema: dict[str, Any] = {"type": "string", "enum": list(values)}
        told = list(values)
    elif issubclass(cls, int):
        schema = {"type": "integer", "enum": [int(value) for value in values]}
        told = [f"{int(member.value)} ({member.name})" for member in members]
        table |= {(False, str(int(member.value))): member for member in members}
    elif scope.output:  # results are encoded by value
        schema, told = {"enum": values}, [str(value) for value in values]
    else:
        schema = {"type": "string", "enum": [member.name for member in members]}
        told = [member.name for member in members]
    for member in members:  # values win over names
        if isinstance(member.value, (str, int, float)):
            table[isinstance(member.value, bool), member.value] = member
    words, whole = choices(told)
    kind = ParameterType.NUMBER if issubclass(cls, int) else ParameterType.STRING
    return Shape(
        schema,
        kind,
        union_type([str, int, float, *([bool] if any(isinstance(value, bool) for value in values) else [])]),
        _from_table(table, words, cls.__name__),
        one=cls.__name__,
        many=f"{cls.__name__} values",
        limits=words,
        lost=() if whole else ("some of its choices",),
    )


def _from_table(table: dict[Any, enum.Enum], words: str, name: str) -> Convert:
    def convert(value: Any) -> Any:
        member = table.get((isinstance(value, bool), value))  # bool is an int to a dict: True would find the member 1
        if member is None:
            raise ValueError(f"must be {words}, not {value!r} (a {name})")
        return member

    return convert


def literal_shape(values: tuple[Any, ...], scope: Scope) -> Shape:
    """Describe a Literal: of texts, of whole numbers, of booleans, or of Enum members."""
    given = [value for value in values if value is not None]
    if not given:
        raise scope.error("Literal[None] can only be null. Leave the parameter out, or give it another type.")
    if any(isinstance(value, enum.Enum) for value in given):
        shape = _members_shape(given, scope)
    else:
        unfit = next((value for value in given if type(value) not in _NAMES), None)
        if unfit is not None:
            raise scope.error(
                f"Literal[{unfit!r}]: JSON has no {type(unfit).__name__}. Use texts, numbers or booleans."
            )
        shape = _values_shape(given)
    return optional(shape) if len(given) < len(values) else shape


def _values_shape(values: list[Any]) -> Shape:
    types = list(dict.fromkeys(type(value) for value in values))
    words, whole = choices([_word(value) for value in values])
    lost = () if whole else ("some of its choices",)
    schema: dict[str, Any] = {"enum": values} if len(types) > 1 else {"type": _NAMES[types[0]], "enum": values}
    shape = Shape(schema, _kind(types), Any, one="value", many="values", limits=words, lost=lost)
    if bool not in types:
        return shape._replace(decode=Literal[tuple(values)])
    if types == [bool]:
        schema = {"type": "boolean"} if len(set(values)) > 1 else {"type": "boolean", "enum": values}
        shape = shape._replace(schema=schema, limits="" if len(set(values)) > 1 else words)
    return shape._replace(decode=union_type(types), convert=_same_value(values, words))


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(types: list[type]) -> ParameterType | None:
    if len(types) > 1:
        return None
    return {str: ParameterType.STRING, bool: ParameterType.BOOLEAN, int: ParameterType.NUMBER}[types[0]]


def _same_value(values: list[Any], words: str) -> Convert:
    allowed = {(type(value), value) for value in values}

    def convert(value: Any) -> Any:
        if (type(value), value) not in allowed:
            raise ValueError(f"must be {words}, not {value!r}")
        return value

    return convert


def _members_shape(members: list[Any], scope: Scope) -> Shape:
    cls: type[enum.Enum] = type(members[0])
    if any(type(member) is not cls for member in members):
        raise scope.error("a Literal of Enum members needs them all from one Enum.")
    whole = scope.shape(cls)
    chosen = set(members)
    ordered = [member for member in cls if member in chosen]
    places = {member: number for number, member in enumerate(cls)}
    kept = [whole.schema["enum"][places[member]] for member in ordered]
    words, _ = choices([str(value) for value in kept])
    to_member = whole.convert

    def convert(value: Any) -> Any:
        member = to_member(value) if to_member is not None else value
        if member not in chosen:
            raise ValueError(f"must be {words}, not {value!r}")
        return member

    return whole._replace(schema={**whole.schema, "enum": kept}, limits=words, convert=convert)
