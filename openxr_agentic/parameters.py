"""A tool's name, description and parameters, as the extension's fixed-size fields hold them.

The limits are those of Meta's page on custom tools: the fields are char arrays
of 64, 1024 and 4096 bytes, one of which is the terminating NUL. They count
bytes of UTF-8, not characters. What does not fit is refused when the object is
made, not when it is registered.
"""

from __future__ import annotations

import enum
import json
import warnings
from collections.abc import Mapping
from typing import Any

from openxr_agentic.errors import DefinitionError

MAX_NAME_BYTES = 63
MAX_DESCRIPTION_BYTES = 1023
MAX_OBJECT_PROPERTIES_BYTES = 4095


class ParameterType(enum.Enum):
    """The extension's five parameter types; the values are JSON's names for them."""

    STRING = "string"
    NUMBER = "number"
    BOOLEAN = "boolean"
    ARRAY = "array"
    OBJECT = "object"


class ToolParameter:
    """One parameter of a tool: immutable, and valid from the moment it exists.

    Args:
        name: Up to 63 bytes of UTF-8, not empty.
        description: Up to 1023 bytes of UTF-8. Agents call tools by it.
        type: One of the extension's five types.
        required: Whether the agent must supply the parameter.
        item_type: The type of an ARRAY's items; required for ARRAY, refused otherwise.
        object_properties: For OBJECT: a JSON schema, as JSON text or as a mapping, at
            most 4095 bytes as JSON. Either a whole object schema, or the map of its
            properties, which is put into one. None: an object of any shape.
        truncate: Cut a description that is too long at the last whole character that
            fits, with a warning, instead of refusing it. Names are never cut: two
            names could meet.

    Raises:
        DefinitionError: A text is too long, holds a NUL or a lone surrogate, a name is
            empty, or the types do not fit each other. It names the field, the bytes
            and the limit.
    """

    __slots__ = ("_description", "_item_type", "_name", "_object_properties", "_required", "_type")

    _name: str
    _description: str
    _type: ParameterType
    _required: bool
    _item_type: ParameterType | None
    _object_properties: str | None

    def __init__(
        self,
        name: str,
        description: str,
        type: ParameterType,  # noqa: A002 - the extension's own word for it
        required: bool = False,
        *,
        item_type: ParameterType | None = None,
        object_properties: str | Mapping[str, Any] | None = None,
        truncate: bool = False,
    ) -> None:
        checked_name = check_name("a parameter's name", name)
        where = f"parameter {checked_name!r}"
        if not isinstance(type, ParameterType):
            raise DefinitionError(f"{where}: type must be a ParameterType, not {type!r}.")
        if not isinstance(required, bool):
            raise DefinitionError(f"{where}: required must be True or False, not {required!r}.")
        _check_item_type(where, type, item_type)
        put = object.__setattr__
        put(self, "_name", checked_name)
        put(self, "_description", check_description(f"{where}: description", description, truncate=truncate))
        put(self, "_type", type)
        put(self, "_required", required)
        put(self, "_item_type", item_type)
        put(self, "_object_properties", _object_properties(where, type, object_properties))

    @property
    def name(self) -> str:
        """Name of the parameter."""
        return self._name

    @property
    def description(self) -> str:
        """What it does, for the agent."""
        return self._description

    @property
    def type(self) -> ParameterType:
        """Its type."""
        return self._type

    @property
    def required(self) -> bool:
        """Whether the agent must supply it."""
        return self._required

    @property
    def item_type(self) -> ParameterType | None:
        """The type of an ARRAY's items; None for other types."""
        return self._item_type

    @property
    def object_properties(self) -> str | None:
        """The whole object schema as JSON text, as it is sent; None for other types than OBJECT."""
        return self._object_properties

    def _key(self) -> tuple[object, ...]:
        return tuple(getattr(self, slot) for slot in self.__slots__)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a ToolParameter cannot be changed ({name}); make another one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a ToolParameter cannot be changed ({name}); make another one")

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ToolParameter) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[object, ...]:
        state = (self.name, self.description, self.type, self.required, self.item_type, self.object_properties)
        return (_rebuild_parameter, state)

    def __repr__(self) -> str:
        extra = f", item_type={self.item_type}" if self.item_type else ""
        extra += f", object_properties={self.object_properties!r}" if self.object_properties else ""
        return f"ToolParameter({self.name!r}, {self.description!r}, {self.type}, required={self.required}{extra})"


def _rebuild_parameter(
    name: str,
    description: str,
    kind: ParameterType,
    required: bool,
    item_type: ParameterType | None,
    object_properties: str | None,
) -> ToolParameter:
    return ToolParameter(name, description, kind, required, item_type=item_type, object_properties=object_properties)


def check_name(field: str, name: str) -> str:
    """Return a tool's or parameter's name if it fits its field.

    Raises:
        DefinitionError: It is empty, too long, or not text that the field can hold.
    """
    text = _check_text(field, name, MAX_NAME_BYTES, advice="Choose a shorter name.")
    if not text:
        raise DefinitionError(f"{field} is empty.")
    return text


def check_description(field: str, description: str, *, truncate: bool = False) -> str:
    """Return a description if it fits its field, or what fits of it.

    Raises:
        DefinitionError: It is too long and not to be truncated, or not text that the field can hold.
    """
    if not truncate:
        advice = "Shorten it, or pass truncate=True to have it cut."
        return _check_text(field, description, MAX_DESCRIPTION_BYTES, advice=advice)
    whole = _check_text(field, description, None)
    fitting = truncate_text(whole, MAX_DESCRIPTION_BYTES)
    if fitting != whole:
        warnings.warn(
            f"{field} was cut from {len(whole.encode())} to {len(fitting.encode())} bytes "
            f"(limit {MAX_DESCRIPTION_BYTES}).",
            stacklevel=3,
        )
    return fitting


def truncate_text(text: str, limit: int) -> str:
    """Return the longest beginning of a text that takes at most `limit` bytes of UTF-8.

    Never ends inside a character, nor between a character and the combining
    marks, joiners and modifiers that belong to it.

    Raises:
        UnicodeEncodeError: The text has a lone surrogate.
    """
    data = text.encode()
    if len(data) <= limit:
        return text
    fitting = data[:limit].decode("utf-8", "ignore")  # what is ignored is the character that the limit cuts into
    cut = len(fitting)
    while 0 < cut < len(text) and (_continues(text[cut]) or text[cut - 1] == "\u200d"):
        cut -= 1
    return text[:cut] or fitting


def _continues(character: str) -> bool:
    import unicodedata

    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or character == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _check_text(field: str, text: str, limit: int | None, *, advice: str = "") -> str:
    if not isinstance(text, str):
        raise DefinitionError(f"{field} must be a str, not {type(text).__name__}.")
    text = str.__str__(text)  # of a subclass, such as an Enum with text values, only the text
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DefinitionError(
            f"{field} has a lone surrogate (U+{ord(text[error.start]):04X}) at position {error.start}, "
            "which UTF-8 cannot express."
        ) from None
    if b"\0" in data:
        raise DefinitionError(
            f"{field} has a NUL character at byte {data.index(0)}: the host would read only what stands before it."
        )
    if limit is not None and len(data) > limit:
        raise DefinitionError(f"{field} has {len(data)} bytes of UTF-8; the limit is {limit}. {advice}")
    return text


def _check_item_type(where: str, kind: ParameterType, item_type: ParameterType | None) -> None:
    if kind is not ParameterType.ARRAY:
        if item_type is not None:
            raise DefinitionError(f"{where}: item_type is for ARRAY only, and the type is {kind.name}.")
        return
    if item_type is None:
        raise DefinitionError(f"{where}: an ARRAY needs an item_type, such as ParameterType.NUMBER.")
    if not isinstance(item_type, ParameterType):
        raise DefinitionError(f"{where}: item_type must be a ParameterType, not {item_type!r}.")


def _object_properties(where: str, kind: ParameterType, properties: str | Mapping[str, Any] | None) -> str | None:
    field = f"{where}: object_properties"
    if kind is not ParameterType.OBJECT:
        if properties is not None:
            raise DefinitionError(f"{field} is for OBJECT only, and the type is {kind.name}.")
        return None
    schema: Any = {} if properties is None else properties
    if isinstance(properties, str):
        # Before the JSON reader: its message for these would not name the field.
        _check_text(field, properties, None)
        try:
            schema = json.loads(properties, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise DefinitionError(f"{field} is not JSON: {error or 'nested too deeply'}.") from None
    if not isinstance(schema, Mapping):
        raise DefinitionError(f"{field} must be a JSON object (a schema), not {type(schema).__name__}.")
    schema = dict(schema)
    whole = schema if _is_whole_schema(schema) else {"type": "object", "properties": schema}
    _check_properties(field, whole.get("properties", {}))
    if isinstance(properties, str) and whole is schema:
        text = properties
    else:
        try:
            text = json.dumps(whole, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        except (TypeError, ValueError, RecursionError) as error:
            raise DefinitionError(f"{field} cannot be written as JSON: {error}.") from None
    return _check_text(
        field,
        text,
        MAX_OBJECT_PROPERTIES_BYTES,
        advice="Describe fewer properties, or shorten their descriptions; a schema is never cut.",
    )


def _is_whole_schema(schema: dict[str, Any]) -> bool:
    """Tell an object schema from the map of its properties.

    In a map every value is a schema, that is an object (or a boolean). So a keyword of
    JSON schema whose value is anything else marks a whole schema, also where a property
    could have that name, such as "type".
    """
    marked = any(key in _KEYWORDS and not isinstance(value, (Mapping, bool)) for key, value in schema.items())
    return marked or _holds_properties(schema)


_KEYWORDS = frozenset(("type", "required", "allOf", "anyOf", "oneOf", "enum", "title", "description", "$ref"))


def _check_properties(field: str, properties: object) -> None:
    if not isinstance(properties, Mapping):
        raise DefinitionError(f"{field}: the properties must be an object of names and schemas, not {properties!r}.")
    for name, schema in properties.items():
        if not isinstance(schema, (Mapping, bool)):
            raise DefinitionError(
                f'{field}: property {name!r} must be a schema such as {{"type": "number"}}, not {schema!r}.'
            )


def _holds_properties(schema: dict[str, Any]) -> bool:
    inner = schema.get("properties")
    return isinstance(inner, Mapping) and all(isinstance(value, (Mapping, bool)) for value in inner.values())


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
