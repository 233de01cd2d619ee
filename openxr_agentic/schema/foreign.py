"""Types that pydantic knows, and schemas written by hand.

pydantic is not required and never imported from here: a type that needs it can only
exist where the app has imported it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import ParameterType
from openxr_agentic.schema.fit import inlined
from openxr_agentic.schema.shape import MisfitError, Shape, choices, generic, kind_of_schema, optional

if TYPE_CHECKING:
    from openxr_agentic.schema.shape import Convert, Scope

_DECODE: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": int | float,
    "boolean": bool,
    "array": list[Any],
    "object": dict[str, Any],
}
_NOUNS = {
    "string": ("text", "texts"),
    "integer": ("whole number", "whole numbers"),
    "number": ("number", "numbers"),
    "boolean": ("true or false", "booleans"),
    "array": ("array", "arrays"),
    "object": ("object", "objects"),
}


def is_foreign(cls: Any) -> bool:
    """Tell whether a class brings its own pydantic schema: models, pydantic dataclasses, AnyUrl, ..."""
    return "pydantic" in sys.modules and (
        hasattr(cls, "__get_pydantic_core_schema__") or "__pydantic_core_schema__" in getattr(cls, "__dict__", ())
    )


def foreign_shape(annotation: Any, scope: Scope) -> Shape:
    """Describe a type by what pydantic says of it; pydantic validates it at a call."""
    pydantic = sys.modules["pydantic"]
    try:
        adapter = pydantic.TypeAdapter(annotation)
        schema = inlined(adapter.json_schema(mode="serialization" if scope.output else "validation"))
    except DefinitionError as error:
        raise scope.error(str(error)) from None
    except Exception as error:
        raise scope.error(f"pydantic cannot describe {annotation!r}: {error}") from error
    schema = {key: value for key, value in schema.items() if key != "default"}
    shape = shape_of_schema(schema, scope)
    decode = dict[str, Any] if shape.kind is ParameterType.OBJECT and "type" in schema else Any
    return shape._replace(decode=decode, convert=_validator(adapter, pydantic.ValidationError))


def _validator(adapter: Any, error_type: Any) -> Convert:
    def convert(value: Any) -> Any:
        try:
            # As JSON, because pydantic reads texts as dates or bytes only there, in strict models.
            return adapter.validate_json(msgspec.json.encode(value))
        except error_type as error:
            faults = error.errors(include_url=False, include_context=False, include_input=False)
            first = faults[0]
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            reason = f"{first['msg']}{more}"
            raise MisfitError(place, reason) if place else ValueError(reason) from None

    return convert


def shape_of_schema(schema: dict[str, Any], scope: Scope) -> Shape:
    """Describe a JSON schema that is there already.

    Raises:
        DefinitionError: It is not a schema.
    """
    if not isinstance(schema, dict):
        raise scope.error(f"a JSON schema is a dict, not {schema!r}.")
    nullable = _without_null(schema)
    if nullable is not None:
        return optional(shape_of_schema(nullable, scope))
    if not schema.keys() - {"description", "default", "title"}:
        return scope.shape(Any)
    kind = kind_of_schema(schema)
    name = schema.get("type") if isinstance(schema.get("type"), str) else kind.value if kind is not None else "value"
    if name not in (*_DECODE, "value"):
        raise scope.error(f"{name!r} is no JSON type. The types are {', '.join(_DECODE)}.")
    one, many = _NOUNS.get(name, ("value", "values"))
    shape = Shape(schema, kind, _DECODE.get(name, Any), one=one, many=many, says_more=name == "integer")
    if kind is ParameterType.ARRAY:
        return _array_of_schema(shape, schema, scope)
    words = _format_words(schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        named, whole = choices(
            [str(value) if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values]
        )
        return shape._replace(
            limits=named, convert=_one_of(values, named), lost=() if whole else ("some of its choices",)
        )
    return shape._replace(limits=", ".join(filter(None, words)))


def _without_null(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return a schema without the null that it allows; None if it allows none."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        others = [kind for kind in kinds if kind != "null"]
        if len(others) < len(kinds) or len(others) == 1:
            narrowed = {**schema, "type": others[0] if len(others) == 1 else others}
            if isinstance(schema.get("enum"), list):
                narrowed["enum"] = [value for value in schema["enum"] if value is not None]
            return narrowed
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list):
            others = [part for part in parts if part != {"type": "null"}]
            if len(others) < len(parts):
                rest = {name: value for name, value in schema.items() if name != key}
                return {**rest, **(others[0] if len(others) == 1 else {key: others})}
    return None


def _array_of_schema(shape: Shape, schema: dict[str, Any], scope: Scope) -> Shape:
    items = schema.get("items", {})
    if not isinstance(items, dict):
        raise scope.error(f"the `items` of an array must be a schema, not {items!r}.")
    item = shape_of_schema(items, scope)
    if item.kind is None:
        raise scope.error("the items of an array must be of one type: string, number, boolean, array or object.")
    least, most = schema.get("minItems"), schema.get("maxItems")
    count = f"{least} " if least is not None and least == most else ""
    content = f"{count}{item.many}" + (f", each {item.limits}" if item.limits else "")
    return shape._replace(
        schema={**schema, "items": items},
        decode=generic(list, item.decode),
        item=item.kind,
        content=content,
        says_more=bool(count or item.limits or item.says_more),
        one=f"array of {content}",
        many=f"arrays of {content}",
        lost=item.lost,
    )


def _format_words(schema: dict[str, Any]) -> list[str]:
    words = []
    if isinstance(schema.get("format"), str):
        words.append(f"format {schema['format']}")
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        words.append(f"{least} to {most}")
    else:
        words += [f"at least {least}"] if least is not None else []
        words += [f"at most {most}"] if most is not None else []
    if "exclusiveMinimum" in schema:
        words.append(f"more than {schema['exclusiveMinimum']}")
    if "exclusiveMaximum" in schema:
        words.append(f"less than {schema['exclusiveMaximum']}")
    if "pattern" in schema:
        words.append(f"matches {schema['pattern']}")
    return words


def _one_of(values: list[Any], words: str) -> Convert:
    def convert(value: Any) -> Any:
        if not any(value == allowed and isinstance(value, bool) == isinstance(allowed, bool) for allowed in values):
            raise ValueError(f"must be {words}, not {value!r}")
        return value

    return convert
