"""Types with named fields: dataclasses, TypedDicts, NamedTuples and msgspec Structs.

Each is decoded into a private msgspec Struct that refuses unknown fields, and built
from it by its own constructor: so a misspelt field is an error at any depth, and
defaults, factories and `__post_init__` work as they do in Python.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import typing_extensions
from msgspec import UNSET, UnsetType

from openxr_agentic.parameters import ParameterType
from openxr_agentic.schema.shape import MisfitError, Shape, placed, union_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from openxr_agentic.schema.shape import Scope

_MOST_FIELDS_BYTES = 300


class RecordField(NamedTuple):
    """A field of a record.

    Attributes:
        name: Its name in JSON.
        attribute: Its name for the constructor.
        annotation: Its type.
        required: It has no default.
        default: The default, for the schema; UNSET if there is none that can be told.
        description: For the agent.
    """

    name: str
    attribute: str
    annotation: Any
    required: bool
    default: Any = UNSET
    description: str = ""


class Record(NamedTuple):
    """A type with named fields.

    Attributes:
        fields: Its fields, in order.
        build: Makes a value from fields by their attributes; those not given keep their defaults.
        fixed: Fields with one possible value, as the tag of a Struct.
        plain: msgspec can decode the type by itself.
    """

    fields: tuple[RecordField, ...]
    build: Callable[[dict[str, Any]], Any]
    fixed: dict[str, Any]
    plain: bool = False


def is_record(cls: Any) -> bool:
    """Tell whether a class is one that `record_of` can take apart."""
    return isinstance(cls, type) and (
        hasattr(cls, "__dataclass_fields__")
        or hasattr(cls, "__struct_fields__")
        or typing_extensions.is_typeddict(cls)
        or (issubclass(cls, tuple) and hasattr(cls, "_fields"))
    )


def record_of(cls: Any, scope: Scope) -> Record:
    """Take a class with named fields apart.

    Raises:
        DefinitionError: A name in its annotations cannot be resolved, or it cannot be made from JSON.
    """
    hints = _hints(cls, scope)
    described = _described_fields(cls)
    if hasattr(cls, "__struct_fields__"):
        return _struct(cls, hints, described, scope)
    if hasattr(cls, "__dataclass_fields__"):
        return _dataclass(cls, hints, described)
    if typing_extensions.is_typeddict(cls):
        fields = tuple(
            RecordField(name, name, hint, _is_required(cls, name, hint), UNSET, described.get(name, ""))
            for name, hint in hints.items()
        )
        return Record(fields, dict, {})
    defaults = cls._field_defaults
    fields = tuple(
        RecordField(
            name, name, hints.get(name, Any), name not in defaults, defaults.get(name, UNSET), described.get(name, "")
        )
        for name in cls._fields
    )
    return Record(fields, lambda values: cls(**values), {})


def record_shape(cls: Any, scope: Scope) -> Shape:
    """Describe a class with named fields."""
    if scope.output and issubclass(cls, tuple):
        return Shape({"type": "array"}, ParameterType.ARRAY, cls)  # results are written as arrays
    record = record_of(cls, scope)
    shapes = [scope.shape(field.annotation) for field in record.fields]
    properties: dict[str, Any] = {name: {"const": value} for name, value in record.fixed.items()}
    for field, shape in zip(record.fields, shapes, strict=True):
        properties[field.name] = field_schema(field, shape, scope)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    always = scope.output and not typing_extensions.is_typeddict(cls) and not _omits_defaults(cls)
    required = [*record.fixed, *(field.name for field in record.fields if field.required or always)]
    if required:
        schema["required"] = required
    native = record.plain and all(shape.convert is None for shape in shapes) and _is_decodable(cls)
    if not scope.output and (not native or cls.__struct_config__.forbid_unknown_fields):
        schema["additionalProperties"] = False
    words = _in_words(record, shapes)
    shape = Shape(schema, ParameterType.OBJECT, cls, one=f"object {words}", many=f"objects {words}")
    if native:
        return shape
    as_array = issubclass(cls, tuple)
    decode = _wire_type(cls, record, shapes)
    return shape._replace(
        decode=dict[str, Any] | list[Any] if as_array else decode,
        convert=_builder(cls, record, shapes, decode if as_array else None),
    )


def _omits_defaults(cls: Any) -> bool:
    config = getattr(cls, "__struct_config__", None)
    return config is not None and bool(config.omit_defaults)


def field_schema(field: RecordField, shape: Shape, scope: Scope) -> dict[str, Any]:
    """Return the schema of one property: its type's, with description and default."""
    schema = dict(shape.schema)
    description = field.description or _own_description(field.annotation)
    if description:
        schema["description"] = description
    if field.default is not UNSET and not scope.output:
        default = json_value(field.default)
        if default is not UNSET:
            schema["default"] = default
    return schema


def json_value(value: Any) -> Any:
    """Return a default as JSON's own types; UNSET where JSON cannot say it, or not the same."""
    import enum

    if isinstance(value, enum.Enum) and not isinstance(value.value, (str, int)):
        return value.name
    try:
        return (
            msgspec.json.decode(msgspec.json.encode(value, enc_hook=_path_text), strict=True)
            if _finite(value)
            else UNSET
        )
    except (TypeError, ValueError, RecursionError):
        return UNSET


def _path_text(value: object) -> Any:
    import os

    if isinstance(value, os.PathLike):
        return os.fspath(value)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    raise TypeError


def _finite(value: Any) -> bool:
    """Tell whether no number in a value is infinite or not a number: JSON has neither."""
    if isinstance(value, float):
        return value - value == 0
    if isinstance(value, dict):
        return all(map(_finite, value.values()))
    if isinstance(value, (list, tuple, set, frozenset)):
        return all(map(_finite, value))
    return True


def _hints(cls: Any, scope: Scope) -> dict[str, Any]:
    try:
        return typing_extensions.get_type_hints(cls, localns=dict(scope.names.local) or None, include_extras=True)
    except NameError as error:
        raise scope.error(
            f"{cls.__qualname__} has an annotation with the name {error.name!r}, which cannot be resolved. Import it "
            "at run time (not under TYPE_CHECKING), or define it at module level."
        ) from None
    except (TypeError, AttributeError, SyntaxError) as error:
        raise scope.error(f"the annotations of {cls.__qualname__} cannot be evaluated: {error}.") from None


def _described_fields(cls: Any) -> dict[str, str]:
    from openxr_agentic.schema.docstring import read_docstring

    text = cls.__doc__ or ""
    return read_docstring(text).parameters if "\n" in text else {}


def _own_description(annotation: Any) -> str:
    """Return the description that an `Annotated` gives, at its outermost level."""
    from openxr_agentic.schema.limits import Metadata

    while typing.get_origin(annotation) in _QUALIFIERS:
        annotation = annotation.__args__[0]
    metadata = getattr(annotation, "__metadata__", ())
    return Metadata(metadata).description if metadata else ""


_QUALIFIERS = (typing_extensions.Required, typing_extensions.NotRequired, typing_extensions.ReadOnly)


def _is_required(cls: Any, name: str, hint: Any) -> bool:
    """Tell whether a TypedDict's key must be there.

    Under postponed annotations Python 3.10 and 3.11 do not see the qualifiers, so the resolved hint decides.
    """
    while True:
        origin = typing.get_origin(hint)
        if origin is typing_extensions.Required:
            return True
        if origin is typing_extensions.NotRequired:
            return False
        if origin is not typing_extensions.ReadOnly and origin is not typing.Annotated:
            return name in cls.__required_keys__
        hint = hint.__origin__ if origin is typing.Annotated else hint.__args__[0]


def _struct(cls: Any, hints: dict[str, Any], described: dict[str, str], scope: Scope) -> Record:
    config = cls.__struct_config__
    if config.array_like:
        raise scope.error(
            f"{cls.__qualname__} is array_like: a list of unlike values without names. Use a Struct that is not."
        )
    defaults = dict(zip(reversed(cls.__struct_fields__), reversed(cls.__struct_defaults__), strict=False))
    fields = []
    for attribute, name in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True):
        default = defaults.get(attribute, msgspec.NODEFAULT)
        required = default is msgspec.NODEFAULT
        factory = getattr(default, "factory", None)  # msgspec keeps a factory in a holder of its own
        told = UNSET if required or factory is not None else default
        if factory in (list, dict, set):
            told = factory()
        fields.append(RecordField(name, attribute, hints[attribute], required, told, described.get(attribute, "")))
    fixed = {config.tag_field: config.tag} if config.tag_field is not None else {}
    return Record(tuple(fields), lambda values: cls(**values), fixed, plain=True)


def _dataclass(cls: Any, hints: dict[str, Any], described: dict[str, str]) -> Record:
    import dataclasses

    fields = []
    for name, field in cls.__dataclass_fields__.items():
        hint = hints.get(name, Any)
        if not field.init or _is_class_variable(hint):
            continue
        told: Any = UNSET
        if field.default is not dataclasses.MISSING:
            told = field.default
        elif field.default_factory in (list, dict, set):
            told = field.default_factory()
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        annotation = hint.type if isinstance(hint, dataclasses.InitVar) else hint
        description = described.get(name, "") or field.metadata.get("description", "")
        fields.append(RecordField(name, name, annotation, required, told, description))
    return Record(tuple(fields), lambda values: cls(**values), {})


def _is_class_variable(hint: Any) -> bool:
    return hint is typing.ClassVar or typing.get_origin(hint) is typing.ClassVar


def _is_decodable(cls: Any) -> bool:
    try:
        msgspec.json.Decoder(cls)
    except (TypeError, ValueError, NameError):
        return False
    return True


def _wire_type(cls: Any, record: Record, shapes: list[Shape]) -> type[msgspec.Struct]:
    """Return the private Struct that a record is decoded into; its attributes are numbered: any name works."""
    fields: list[tuple[str, Any, Any]] = []
    for number, (field, shape) in enumerate(zip(record.fields, shapes, strict=True)):
        # A null for a field that may be left out means: left out. Agents send it so.
        members = [shape.decode, UnsetType, *([] if field.required else [None])]
        decode = shape.decode if field.required or shape.decode is Any else union_type(members)
        fields.append((f"f{number}", decode, msgspec.NODEFAULT if field.required else UNSET))
    fields += [(f"t{number}", Any, UNSET) for number in range(len(record.fixed))]
    rename = {f"f{number}": field.name for number, field in enumerate(record.fields)}
    rename |= {f"t{number}": name for number, name in enumerate(record.fixed)}
    return msgspec.defstruct(cls.__name__, fields, rename=rename, kw_only=True, forbid_unknown_fields=True)


def _builder(cls: Any, record: Record, shapes: list[Shape], wire: type[msgspec.Struct] | None) -> Callable[[Any], Any]:
    """Return the conversion from the private Struct to the record.

    Args:
        cls: The record's class.
        record: Its fields.
        shapes: Their types.
        wire: Set for a NamedTuple, which also comes as an array: what its decoded JSON still
            has to be converted to.
    """
    plan = [
        (f"f{number}", field.attribute, field.name, shape.convert, shape.inner is not None or shape.schema == {})
        for number, (field, shape) in enumerate(zip(record.fields, shapes, strict=True))
    ]
    names = [field.name for field in record.fields]

    def convert(raw: Any) -> Any:
        if wire is not None:
            raw = _from_json(raw, wire, names, cls)
        values: dict[str, Any] = {}
        for slot, attribute, name, change, nullable in plan:
            value = getattr(raw, slot)
            if value is UNSET or (value is None and not nullable):
                continue
            values[attribute] = placed(change, value, name)
        try:
            return record.build(values)
        except TypeError as error:
            raise ValueError(str(error)) from error

    return convert


def _from_json(raw: Any, wire: type[msgspec.Struct], names: list[str], cls: Any) -> msgspec.Struct:
    if isinstance(raw, (list, tuple)):
        if len(raw) > len(names):
            raise ValueError(f"a {cls.__name__} has {len(names)} values ({', '.join(names)}), not {len(raw)}")
        raw = dict(zip(names, raw, strict=False))
    decoded: msgspec.Struct = convert_json(raw, wire)
    return decoded


def convert_json(value: Any, decode: Any) -> Any:
    """Convert decoded JSON to a type, as msgspec's strict JSON decoder would have.

    Raises:
        MisfitError: It does not fit; with the place inside the value.
        ValueError: It does not fit.
    """
    try:
        return msgspec.convert(value, decode)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`").lstrip(".")
        raise MisfitError(place, reason) if place else ValueError(reason) from None


def _in_words(record: Record, shapes: list[Shape]) -> str:
    words = [
        f"{field.name} ({shape.one}{'' if field.required else '; optional'})"
        for field, shape in zip(record.fields, shapes, strict=True)
    ]
    text = ", ".join(words)
    if len(text.encode("utf-8", "replace")) > _MOST_FIELDS_BYTES:
        text = ", ".join(field.name for field in record.fields)
    if len(text.encode("utf-8", "replace")) > _MOST_FIELDS_BYTES:
        return f"with {len(words)} fields"
    return f"with {text}"
