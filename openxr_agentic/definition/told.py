"""What agents are told of a tool's arguments: the extension's parameters, and one JSON schema of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import UNSET

from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import MAX_DESCRIPTION_BYTES, ToolParameter, check_description, truncate_text
from openxr_agentic.schema.shape import choices

if TYPE_CHECKING:
    from openxr_agentic.arguments.decoder import Field
    from openxr_agentic.schema.plan import ParameterPlan

_MOST_DEFAULT_BYTES = 120


class Argument(NamedTuple):
    """An argument before it is told.

    Attributes:
        field: The argument.
        default: Its default as the schema says it; UNSET: it has none, or none that JSON can say.
    """

    field: Field
    default: Any


def input_schema_of(arguments: list[Argument], *, closed: bool) -> dict[str, Any]:
    """Return the JSON schema of all arguments; `closed`: it refuses others."""
    properties: dict[str, Any] = {}
    for (name, known, _, description, _), default in arguments:
        schema = dict(known.json_schema)
        if description:
            schema["description"] = description
        if default is not UNSET:
            schema["default"] = default
        properties[name] = schema
    whole: dict[str, Any] = {"type": "object", "properties": properties}
    required = [argument.field.name for argument in arguments if argument.field.required]
    if required:  # an empty list breaks clients of the older JSON schema drafts
        whole["required"] = required
    if closed:
        whole["additionalProperties"] = False
    return whole


def told_of(
    arguments: list[Argument], where: str, *, truncate: bool
) -> tuple[tuple[Field, ...], tuple[ToolParameter, ...]]:
    """Return the fields, with what their parameters could not hold, and the parameters."""
    fields, told = [], []
    for field, default in arguments:
        known, required = field.plan, field.required
        notes, lost = _notes(known, required, default)
        text = field.description
        if 3 * len(text) > MAX_DESCRIPTION_BYTES:  # it may be too long: no need to count the bytes of others
            text = check_description(f"{where}: parameter {field.name!r}: description", text, truncate=truncate)
        if notes:
            text, cut = _with_notes(text, notes)
            lost = (*lost, *cut)
        try:
            told.append(
                ToolParameter(
                    field.name,
                    text,
                    known.type,
                    required,
                    item_type=known.item_type,
                    object_properties=known.object_properties,
                )
            )
        except DefinitionError as error:
            raise DefinitionError(f"{where}: {error}") from None
        fields.append(field._replace(plan=known._replace(lost=(*known.lost, *lost))) if lost else field)
    return tuple(fields), tuple(told)


def _notes(known: ParameterPlan, required: bool, default: Any) -> tuple[str, tuple[str, ...]]:
    """Return what the description says beside the author's words, and what it cannot say."""
    notes = [known.notes] if known.notes else []
    if required and known.nullable and known.json_schema != {}:
        notes.append("may be null")
    if default is UNSET or default is None:  # "not required" says that it is nothing then
        return "; ".join(notes), ()
    text = default if isinstance(default, str) and choices([default])[0] == f"one of: {default}" else _json(default)
    if len(text.encode("utf-8", "replace")) > _MOST_DEFAULT_BYTES:
        return "; ".join(notes), ("its default",)
    notes.append(f"default: {text}")
    return "; ".join(notes), ()


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()  # one line, with spaces


def _with_notes(text: str, notes: str) -> tuple[str, tuple[str, ...]]:
    if not text:
        return notes, ()
    whole = f"{text} ({notes})"
    if len(whole.encode()) <= MAX_DESCRIPTION_BYTES:
        return whole, ()
    room = MAX_DESCRIPTION_BYTES - len(f"... ({notes})".encode())
    return f"{truncate_text(text, room)}... ({notes})", ("the end of its description",)
