"""Python types as agents are told of them: JSON schema, and the extension's five types.

The rules, each of which a parameter's description says in few words where the
extension's type cannot:

* `int` is a NUMBER, "whole number". `datetime`, `date`, `time`, `timedelta`, `UUID`, `Path`
  and `Decimal` are STRINGs, and the tool gets the real object. `bytes` is a STRING of base64.
* An Enum whose values are texts is a STRING of its values; an IntEnum a NUMBER of
  its values, with the names told; every other Enum a STRING of its members' names. At a call the
  value and the name are accepted in all three.
* `list`, `tuple[X, ...]`, `set`, `frozenset`, `Sequence`, `Iterable` and `Collection` are ARRAYs. A
  tuple of fixed length is an ARRAY if its items are all of one of the five types ("3 numbers"),
  and refused otherwise.
* Dataclasses, TypedDicts, NamedTuples, msgspec Structs, pydantic models and `dict` are OBJECTs. A
  NamedTuple may also come as an array of its values.
* `Any`, `object` and no annotation accept every JSON value as it comes. The extension has no type for
  that: it is told as a STRING of "any JSON value", and `ParameterPlan.lost` records it. So
  are the items of a bare list.
* A Union is what all its members are: of several types of the five it is refused as a
  parameter or as an item, and a choice (`anyOf`) inside an OBJECT. Members are tried from left to right.
* A recursive type is described once; where it comes again it is an object of any shape.
"""

from __future__ import annotations

import collections.abc
import datetime as dt
import decimal
import enum
import pathlib
import sys
import types
import typing
import uuid
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

import typing_extensions

from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import ParameterType
from openxr_agentic.schema.choices import enum_shape, literal_shape
from openxr_agentic.schema.containers import (
    ANYTHING,
    array_shape,
    converted,
    mapping_shape,
    tuple_shape,
    union_shape,
)
from openxr_agentic.schema.fit import fit_object_schema
from openxr_agentic.schema.foreign import foreign_shape, is_foreign
from openxr_agentic.schema.limits import Metadata, limited
from openxr_agentic.schema.names import NOWHERE, Names, evaluate
from openxr_agentic.schema.records import is_record, record_shape
from openxr_agentic.schema.shape import Scope, Shape, union_type
from openxr_agentic.schema.texts import decimal_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openxr_agentic.schema.shape import Convert

STRING, NUMBER, BOOLEAN, ARRAY, OBJECT = ParameterType


class ParameterPlan(NamedTuple):
    """Everything that is known of one parameter's type.

    Attributes:
        json_schema: Full JSON schema, self-contained (no `$ref`), without description and default.
        type: The extension's type.
        item_type: The extension's type of an ARRAY's items; None for other types.
        object_properties: For OBJECT: its schema as JSON text of at most 4095 bytes; None for other types.
        decode_type: What msgspec's strict decoder decodes into, with the limits that it can enforce.
        convert: What makes the tool's value of the decoded one; None: it is that already. Raises
            ValueError for what does not fit.
        notes: What the five types cannot say, in few words, as "one of: red, green" or "3 numbers"; "" if they say all.
        lost: What agents are told in the extension's types neither by type nor in words.
        takes_text: A text on the wire: it arrives unchanged, without any lenient reading.
        nullable: null is a value of its own. (Else a null means that the argument was left out.)
    """

    json_schema: dict[str, Any]
    type: ParameterType
    item_type: ParameterType | None
    object_properties: str | None
    decode_type: Any
    convert: Callable[[Any], Any] | None
    notes: str
    lost: tuple[str, ...]
    takes_text: bool
    nullable: bool = False


def plan(annotation: Any, where: str, names: Names | None = None) -> ParameterPlan:
    """Work out how a parameter of a type is described, decoded and converted.

    Args:
        annotation: The type, as it stands in a signature, with its names resolved.
        where: What it belongs to, as ``"tool 'X': parameter 'y'"``, for the error's text.
        names: What names inside it mean, where it still holds some (as in ``list["Node"]``).

    Raises:
        DefinitionError: The type cannot be expressed: `where`, the reason, and what to do.
    """
    try:
        if (known := _plans.get(annotation)) is not None:
            return known
    except TypeError:  # not hashable, as Annotated[int, []]
        return _plan_of_shape(_shape(annotation, Scope(where, _shape, names or NOWHERE)), where)
    made = _plan_of_shape(_shape(annotation, Scope(where, _shape, names or NOWHERE)), where)
    if _is_common(annotation):
        _plans[annotation] = made
    return made


def plan_of_schema(schema: dict[str, Any], where: str) -> ParameterPlan:
    """Make a plan from a JSON schema that was written by hand.

    The call enforces the schema's type, its choices (`enum`, `const`), and its items' type;
    other keywords are told to the agent, and left to the tool.

    Args:
        schema: One property's schema, without `$ref`.
        where: What it belongs to, for the error's text.

    Raises:
        DefinitionError: It allows several of the extension's types, or is not a schema.
    """
    from openxr_agentic.schema.foreign import shape_of_schema

    if not isinstance(schema, dict):
        raise DefinitionError(f"{where}: a JSON schema is a dict, not {schema!r}.")
    if not isinstance(schema.get("description", ""), str):
        raise DefinitionError(f"{where}: the `description` of a JSON schema is a text, not {schema['description']!r}.")
    plain = {key: value for key, value in schema.items() if key not in ("description", "default", "title")}
    return _plan_of_shape(shape_of_schema(plain, Scope(where, _shape, NOWHERE)), where)


def scope_of(where: str, names: Names | None = None) -> Scope:
    """Return a scope to describe types in, for the modules that build on this one."""
    return Scope(where, _shape, names or NOWHERE)


def result_schema(annotation: Any, names: Names | None = None) -> dict[str, Any] | None:
    """Return the JSON schema of a tool's results, where they are objects.

    Args:
        annotation: The return annotation, with its names resolved.
        names: What names inside it mean, where it still holds some.

    Returns:
        None where the annotation is missing, is no object type (MCP's structured results are
        objects), or is not one that has a schema: a result needs none.
    """
    if annotation is None or annotation in (str, Any):
        return None
    try:
        shape = _shape(annotation, Scope("result", _shape, names or NOWHERE, output=True))
    except (DefinitionError, TypeError):
        return None
    return shape.schema if shape.kind is OBJECT and shape.schema.get("type") == "object" else None


def _plan_of_shape(shape: Shape, where: str) -> ParameterPlan:
    if shape.kind is None and shape.schema.get("type") == "array":
        raise DefinitionError(
            f"{where}: the items of an {shape.one} may be of several JSON types, and the extension's arrays have one "
            "type of item. Choose one of them, or put the array into an object."
        )
    if shape.kind is None:
        raise DefinitionError(
            f"{where}: {shape.one} may be of several JSON types, and the extension's parameters have one of "
            "string, number, boolean, array or object. Choose one of them, or take several parameters."
        )
    inner: Shape = shape.inner or shape
    text, lost = None, shape.lost
    if shape.kind is OBJECT:
        text, left_out = fit_object_schema({"type": "object", **inner.schema}, where)
        lost = (*lost, *left_out)
    return ParameterPlan(
        shape.schema,
        shape.kind,
        shape.item,
        text,
        shape.decode,
        shape.convert,
        shape.notes,
        lost,
        shape.kind is STRING,
        shape.inner is not None or shape.schema == {},
    )


# ---------------------------------------------------------------- one type, at any depth


def _shape(annotation: Any, scope: Scope) -> Shape:
    known = _ATOMS.get(annotation) if isinstance(annotation, type) else None
    if known is not None:
        return known
    origin = typing.get_origin(annotation)
    if origin is not None:
        return _generic_shape(annotation, origin, scope)
    if annotation is Any:
        return ANYTHING
    if isinstance(annotation, type):
        return _class_shape(annotation, scope)
    if _is_alias(annotation):
        return _alias_shape(annotation, scope)
    return _shape(_meant(annotation, scope), scope)


def _alias_shape(alias: Any, scope: Scope) -> Shape:
    if (alias.__module__ or "").startswith("pydantic"):  # JsonValue, whose value only pydantic can read
        return foreign_shape(alias, scope)
    return _within(alias, lambda: _shape(alias.__value__, scope), scope)


def _meant(annotation: Any, scope: Scope) -> Any:
    """Return the type that a name, a TypeVar or a NewType stands for."""
    if annotation is None:
        return types.NoneType
    if isinstance(annotation, (str, typing.ForwardRef)):
        return _resolved(annotation, scope)
    if isinstance(annotation, typing.TypeVar):
        return _type_variable(annotation, scope)
    if (supertype := getattr(annotation, "__supertype__", None)) is not None:
        return supertype
    if annotation is typing_extensions.LiteralString:
        return str
    raise scope.error(f"{annotation!r} is not a type. {_ADVICE}")


def _class_shape(cls: Any, scope: Scope) -> Shape:
    if issubclass(cls, enum.Enum):
        return enum_shape(cls, scope)
    if is_foreign(cls):
        return foreign_shape(cls, scope)
    if is_record(cls):
        return _within(cls, lambda: record_shape(cls, scope), scope)
    if cls in _BARE:
        return _shape(_BARE[cls], scope)
    base = next((base for base in (str, int, float, pathlib.PurePath) if issubclass(cls, base)), None)
    if base is not None:
        return _ATOMS[base]._replace(convert=cls)
    if cls is types.NoneType:
        raise scope.error("None alone can only be null. Leave the parameter out, or give it another type.")
    raise scope.error(f"{cls.__qualname__} cannot be expressed in JSON. {_hint(cls)}{_ADVICE}")


def _generic_shape(annotation: Any, origin: Any, scope: Scope) -> Shape:
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        return _annotated_shape(annotation, scope)
    if not hasattr(annotation, "__args__") and origin in _BARE:  # typing.List and the like
        return _shape(_BARE[origin], scope)
    if origin is tuple and arguments[-1:] != (Ellipsis,):
        return tuple_shape(arguments, scope)
    if origin in _ARRAYS:
        return array_shape(_ARRAYS[origin], arguments[0], scope)
    describe = _SPECIAL.get(origin)
    return describe(arguments, scope) if describe is not None else _parametrised(annotation, origin, arguments, scope)


def _parametrised(annotation: Any, origin: Any, arguments: tuple[Any, ...], scope: Scope) -> Shape:
    """Describe a class or an alias with type parameters."""
    if is_foreign(origin):
        return foreign_shape(annotation, scope)
    if _is_alias(origin):
        return _within(annotation, lambda: _shape(origin.__value__[arguments], scope), scope)
    if is_record(origin):
        return _within(annotation, lambda: _generic_record(origin, arguments, scope), scope)
    raise scope.error(f"{annotation!r} cannot be expressed in JSON. {_ADVICE}")


def _generic_record(origin: Any, arguments: tuple[Any, ...], scope: Scope) -> Shape:
    outside = scope.type_variables
    scope.type_variables = {**outside, **dict(zip(origin.__parameters__, arguments, strict=False))}
    try:
        # The class alone is what msgspec would decode: without the arguments it must not do it by itself.
        shape = record_shape(origin, scope)
    finally:
        scope.type_variables = outside
    if shape.decode is origin:
        bound = origin[arguments] if arguments else origin
        return shape._replace(decode=bound)
    return shape


def _within(annotation: Any, describe: Callable[[], Shape], scope: Scope) -> Shape:
    """Describe a type that may hold itself: inside, it is an object of any shape, and still converted."""
    if annotation in scope.open:
        made = scope.open[annotation]
        name = getattr(annotation, "__name__", str(annotation))
        is_alias = not isinstance(annotation, type)
        schema = {"description": f"{name}, as described around it"}
        return Shape(
            schema if is_alias else {"type": "object", **schema},
            OBJECT,
            Any,
            lambda value: converted(value, made[0]),
            one=name,
            many=f"{name} objects",
        )
    made = scope.open[annotation] = []
    try:
        shape = describe()
    finally:
        del scope.open[annotation]
    made.append(shape)
    return shape


def _annotated_shape(annotation: Any, scope: Scope) -> Shape:
    found = Metadata(annotation.__metadata__)
    if found.foreign:
        return foreign_shape(annotation, scope)
    return limited(_shape(annotation.__origin__, scope), found, scope)


# ---------------------------------------------------------------- names


def _resolved(reference: str | typing.ForwardRef, scope: Scope) -> Any:
    if isinstance(reference, str):
        return evaluate(reference, scope.names, scope.where)
    module = sys.modules.get(getattr(reference, "__forward_module__", None) or "")
    names = scope.names if module is None else scope.names._replace(module=vars(module))
    return evaluate(reference.__forward_arg__, names, scope.where)


def _type_variable(variable: Any, scope: Scope) -> Any:
    if variable in scope.type_variables:
        return scope.type_variables[variable]
    if variable.__bound__ is not None:
        return variable.__bound__
    return union_type(list(variable.__constraints__)) if variable.__constraints__ else Any


def _is_alias(annotation: Any) -> bool:
    return isinstance(annotation, _ALIASES)


def _hint(cls: Any) -> str:
    if cls.__module__.partition(".")[0] == "numpy":
        return "Take a list of numbers, and make the array inside the tool. "
    return ""


def _is_common(annotation: Any) -> bool:
    """Tell whether a plan is worth keeping: built-in types only.

    A plan of a user's class would keep the class alive. And Unions are equal in every order of their
    members, which are tried from left to right: only one with a single type beside None is kept.
    """
    if isinstance(annotation, type) and annotation in _ATOMS:
        return True
    arguments = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if origin is Union or origin is types.UnionType:
        members = [argument for argument in arguments if argument is not types.NoneType]
        return len(members) == 1 and _is_common(members[0])
    return origin in (list, tuple, dict, set) and all(
        argument is Ellipsis or argument is Any or _is_common(argument) for argument in arguments
    )


def _text(decode: Any, one: str, many: str, convert: Convert | None = None, **schema: str) -> Shape:
    return Shape({"type": "string", **schema}, STRING, decode, convert, one=one, many=many, says_more=True)


_ATOMS: dict[Any, Shape] = {
    object: ANYTHING,
    str: Shape({"type": "string"}, STRING, str, one="text", many="texts"),
    int: Shape({"type": "integer"}, NUMBER, int, one="whole number", many="whole numbers", says_more=True),
    float: Shape({"type": "number"}, NUMBER, float, one="number", many="numbers"),
    bool: Shape({"type": "boolean"}, BOOLEAN, bool, one="true or false", many="booleans"),
    dt.datetime: _text(dt.datetime, "date and time in ISO 8601", "dates and times in ISO 8601", format="date-time"),
    dt.date: _text(dt.date, "date as YYYY-MM-DD", "dates as YYYY-MM-DD", format="date"),
    dt.time: _text(dt.time, "time as HH:MM:SS", "times as HH:MM:SS", format="time"),
    dt.timedelta: _text(
        dt.timedelta, "duration in ISO 8601, as PT1.5S", "durations in ISO 8601, as PT1.5S", format="duration"
    ),
    uuid.UUID: _text(uuid.UUID, "UUID", "UUIDs", format="uuid"),
    decimal.Decimal: _text(
        union_type([str, int, float]), "decimal number as text", "decimal numbers as text", decimal_of, format="decimal"
    ),
    bytes: _text(bytes, "bytes in base64", "bytes in base64", contentEncoding="base64"),
    bytearray: _text(bytearray, "bytes in base64", "bytes in base64", contentEncoding="base64"),
    **dict.fromkeys((pathlib.Path, pathlib.PurePath), _text(str, "path", "paths", pathlib.Path, format="path")),
}

_abc = collections.abc
_ARRAYS: dict[Any, Any] = {
    **dict.fromkeys((list, _abc.Sequence, _abc.MutableSequence, _abc.Iterable, _abc.Collection, _abc.Reversible), list),
    **dict.fromkeys((set, _abc.Set, _abc.MutableSet), set),
    frozenset: frozenset,
    tuple: tuple,
}
_MAPPINGS = (dict, _abc.Mapping, _abc.MutableMapping)
_BARE: dict[Any, Any] = {
    **dict.fromkeys(_ARRAYS, list[Any]),
    **dict.fromkeys((set, _abc.Set, _abc.MutableSet), set[Any]),
    frozenset: frozenset[Any],
    tuple: tuple[Any, ...],
    **dict.fromkeys(_MAPPINGS, dict[str, Any]),
}
_QUALIFIERS = (typing.Final, typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly)
_SPECIAL: dict[Any, Callable[[tuple[Any, ...], Scope], Shape]] = {
    Union: union_shape,
    types.UnionType: union_shape,
    Literal: literal_shape,
    **dict.fromkeys(_MAPPINGS, mapping_shape),
    **dict.fromkeys(_QUALIFIERS, lambda arguments, scope: _shape(arguments[0], scope)),
}
_ALIASES = tuple({typing_extensions.TypeAliasType, getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)})
_ADVICE = (
    "Use str, int, float, bool, an Enum, a Literal, a list, a dict, a dataclass or another type with named fields, or "
    "take text and convert it inside the tool."
)
_plans: dict[Any, ParameterPlan] = {}
