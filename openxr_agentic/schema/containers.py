"""Types that are made of others: arrays, tuples, mappings, and unions."""

from __future__ import annotations

import types
import typing
from typing import TYPE_CHECKING, Any

import msgspec

from openxr_agentic.parameters import ParameterType
from openxr_agentic.schema.records import convert_json
from openxr_agentic.schema.shape import Scope, Shape, generic, optional, placed, union_type

if TYPE_CHECKING:
    from openxr_agentic.schema.shape import Convert

STRING, ARRAY, OBJECT = ParameterType.STRING, ParameterType.ARRAY, ParameterType.OBJECT

ANYTHING = Shape(
    {}, STRING, Any, one="any JSON value", many="JSON values", says_more=True, lost=("any JSON value is accepted",)
)


def array_shape(container: Any, argument: Any, scope: Scope) -> Shape:
    """Describe an array of any length; `container` is what the tool gets: list, tuple, set or frozenset."""
    item = scope.shape(argument)
    schema: dict[str, Any] = {"type": "array", "items": item.schema}
    if container in (set, frozenset):
        schema["uniqueItems"] = True
    decode, convert = _container(container, item)
    shape = Shape(schema, ARRAY if item.kind is not None else None, decode, convert)
    return _array_words(shape, item, "")


def _container(container: Any, item: Shape) -> tuple[Any, Convert | None]:
    change = item.convert
    if change is None:
        return generic(container, *((item.decode, ...) if container is tuple else (item.decode,))), None

    def convert(values: list[Any]) -> Any:
        changed = [placed(change, value, number) for number, value in enumerate(values)]
        try:
            return changed if container is list else container(changed)
        except TypeError as error:  # a set of what cannot be in one
            raise ValueError(str(error)) from error

    return generic(list, item.decode), convert


def tuple_shape(arguments: tuple[Any, ...], scope: Scope) -> Shape:
    """Describe a tuple of fixed length."""
    if not arguments:
        raise scope.error("tuple[()] is always empty. Leave the parameter out, or say what it holds.")
    items = [scope.shape(argument) for argument in arguments]
    kinds = {item.kind for item in items}
    if len(kinds) > 1:
        raise scope.error(
            f"a tuple of {', '.join(item.one for item in items)} mixes types, and the extension's arrays have one "
            "type of item. Use a dataclass, a TypedDict or a NamedTuple, whose fields have names, or several "
            "parameters."
        )
    first = items[0]
    alike = all(item.schema == first.schema for item in items)
    if not alike:
        kind = first.kind.value if first.kind is not None else None
        first = first._replace(
            schema={"type": kind} if kind else {},
            one=f"{kind or 'value'}",
            many=f"{kind or 'value'}s",
            says_more=False,
            limits="; ".join(f"[{number}] {item.notes}" for number, item in enumerate(items) if item.notes),
        )
    count = len(items)
    schema = {"type": "array", "items": first.schema, "minItems": count, "maxItems": count}
    shape = Shape(schema, ARRAY if first.kind is not None else None, generic(tuple, *(item.decode for item in items)))
    if any(item.convert is not None for item in items):
        shape = shape._replace(convert=_each_by_place([item.convert for item in items]))
    return _array_words(shape, first, f"{count} ", each=alike)


def _each_by_place(changes: list[Convert | None]) -> Convert:
    return lambda values: tuple(
        placed(change, value, number) for number, (value, change) in enumerate(zip(values, changes, strict=True))
    )


def _array_words(shape: Shape, item: Shape, count: str, *, each: bool = True) -> Shape:
    noun = item.many if not count.startswith("1 ") else item.one
    content = f"{count}{noun}" + (f"{', each ' if each else ': '}{item.limits}" if item.limits else "")
    says_more = bool(count or item.limits or item.says_more or item.kind in (ARRAY, OBJECT))
    if item.schema == {}:
        content, says_more = f"{count}items of any JSON type", True
    lost = item.lost
    if item.kind is OBJECT and item.schema.get("properties"):
        lost = (*lost, "the schema of its items")
    return shape._replace(
        one=f"array of {content}",
        many=f"arrays of {content}",
        content=content,
        says_more=says_more,
        item=item.kind,
        lost=lost,
    )


def mapping_shape(arguments: tuple[Any, ...], scope: Scope) -> Shape:
    """Describe a dict, by the types of its keys and values."""
    key, value = (scope.shape(argument) for argument in arguments)
    if key.schema == {}:
        key = scope.shape(str)
    if key.kind is not STRING and key.schema.get("type") != "integer":
        raise scope.error(f"keys of a JSON object are texts, and cannot be {key.many}. Use dict[str, ...].")
    schema: dict[str, Any] = {"type": "object"}
    if value.schema != {}:
        schema["additionalProperties"] = value.schema
    if "enum" in key.schema:
        schema["propertyNames"] = {"enum": key.schema["enum"]}
    shape = Shape(schema, OBJECT, generic(dict, key.decode, value.decode), one="object", many="objects")
    if key.convert is None and value.convert is None:
        return shape
    return shape._replace(convert=_each_entry(key.convert, value.convert))


def _each_entry(change_key: Convert | None, change_value: Convert | None) -> Convert:
    return lambda values: {
        placed(change_key, name, str(name)): placed(change_value, value, str(name)) for name, value in values.items()
    }


def union_shape(arguments: tuple[Any, ...], scope: Scope) -> Shape:
    """Describe a Union of types, None among them or not."""
    members = [argument for argument in arguments if argument not in (None, types.NoneType)]
    shapes = [scope.shape(member) for member in members]
    nullable = len(members) < len(arguments) or any(shape.inner is not None for shape in shapes)
    shape = shapes[0] if len(shapes) == 1 else _choice([shape.inner or shape for shape in shapes])
    return optional(shape) if nullable else shape


def _choice(shapes: list[Shape]) -> Shape:
    if any(shape.schema == {} for shape in shapes):
        return ANYTHING
    kinds = {shape.kind for shape in shapes}
    kind = kinds.pop() if len(kinds) == 1 else None
    schemas: list[dict[str, Any]] = []
    for shape in shapes:
        if shape.schema not in schemas:
            schemas.append(shape.schema)
    if {"type": "number"} in schemas and {"type": "integer"} in schemas:
        schemas.remove({"type": "integer"})
    items = {shape.item for shape in shapes}
    one = " or ".join(dict.fromkeys(shape.one for shape in shapes))
    choice = Shape(
        schemas[0] if len(schemas) == 1 else {"anyOf": schemas},
        # Arrays of unlike items have no item type to tell.
        kind if kind is not ARRAY or len(items) == 1 else None,
        union_type([shape.decode for shape in shapes]),
        one=one,
        many=" or ".join(dict.fromkeys(shape.many for shape in shapes)),
        says_more=kind in (STRING, ARRAY) and len(schemas) > 1,
        limits=" or ".join(dict.fromkeys(shape.limits for shape in shapes if shape.limits)),
        lost=tuple(dict.fromkeys(text for shape in shapes for text in shape.lost)),
        item=items.pop() if len(items) == 1 else None,
        content=one if kind is ARRAY else "",
    )
    if all(shape.convert is None for shape in shapes) and not _hides_a_number(shapes):
        try:
            msgspec.json.Decoder(choice.decode)
        except TypeError:
            pass  # members that msgspec cannot tell apart, as two texts
        else:
            return choice
    return choice._replace(decode=Any, convert=_first_that_fits(shapes, one))


def _hides_a_number(shapes: list[Shape]) -> bool:
    """Tell whether msgspec would hold a whole number against one member only, and never read it as a float."""
    narrow = [
        shape for shape in shapes if shape.kind is not ParameterType.STRING and shape.schema != {"type": "integer"}
    ]
    return float in [_bare(shape.decode) for shape in shapes] and any(
        _bare(shape.decode) is int or "enum" in shape.schema for shape in narrow
    )


def _bare(decode: Any) -> Any:
    return decode.__origin__ if typing.get_origin(decode) is typing.Annotated else decode


def _first_that_fits(shapes: list[Shape], words: str) -> Convert:
    def convert(value: Any) -> Any:
        tried = []
        for shape in shapes:
            fitting, result = _tried(shape, value)
            if fitting:
                return result
            tried.append(f"{shape.one}: {result}")
        raise ValueError(f"must be {words}, and fits none ({'; '.join(tried)})")

    return convert


def _tried(shape: Shape, value: Any) -> tuple[bool, Any]:
    try:
        return True, converted(value, shape)
    except ValueError as error:
        return False, error


def converted(value: Any, shape: Shape) -> Any:
    """Make of decoded JSON what the tool gets.

    Raises:
        ValueError: It does not fit.
    """
    decoded = convert_json(value, shape.decode)
    return decoded if shape.convert is None else shape.convert(decoded)
