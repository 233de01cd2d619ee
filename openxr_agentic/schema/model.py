"""A type whose fields are a tool's parameters: `Annotated[MyParams, Arguments]`."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import UNSET

from openxr_agentic.errors import DefinitionError
from openxr_agentic.schema.foreign import foreign_shape, is_foreign
from openxr_agentic.schema.limits import Metadata
from openxr_agentic.schema.plan import ParameterPlan, plan, plan_of_schema, scope_of
from openxr_agentic.schema.records import is_record, json_value, record_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from openxr_agentic.schema.names import Names

    Gather = Callable[[dict[str, Any]], Any]


class ModelField(NamedTuple):
    """A field of such a type.

    Attributes:
        name: Its name in JSON.
        plan: Its type.
        required: It must be given.
        default: Its default, as the schema says it; UNSET: none that JSON can say.
        description: For the agent.
        annotation: Its Python type.
    """

    name: str
    plan: ParameterPlan
    required: bool
    default: Any
    description: str
    annotation: Any


def fields_of_model(model: Any, where: str, names: Names) -> tuple[list[ModelField], Gather]:
    """Take the type apart.

    Args:
        model: A dataclass, Struct, TypedDict, NamedTuple or pydantic model.
        where: What it belongs to, for errors.
        names: What names in it mean.

    Returns:
        Its fields, and what makes a value of those that were given, by their names in JSON. That
        raises ValueError if the type refuses them.

    Raises:
        DefinitionError: It has no named fields, or one of them cannot be a parameter.
    """
    cls = typing.get_origin(model) or model
    if is_foreign(cls):
        return _of_pydantic(model, where, names)
    if is_record(cls):
        return _of_record(cls, where, names)
    raise DefinitionError(
        f"{where}: {model!r} cannot stand for all arguments, because it has no named fields. Use a dataclass, "
        "a msgspec Struct, a TypedDict, a NamedTuple or a pydantic model."
    )


def _of_record(cls: Any, where: str, names: Names) -> tuple[list[ModelField], Gather]:
    record = record_of(cls, scope_of(where, names))
    fields = []
    for field in record.fields:
        known = plan(field.annotation, f"{where}: field {field.name!r}", names)
        metadata = Metadata(getattr(field.annotation, "__metadata__", ()))
        told = UNSET if field.default is UNSET else json_value(field.default)
        description = field.description or metadata.description
        fields.append(ModelField(field.name, known, field.required, told, description, field.annotation))
    attributes = {field.name: field.attribute for field in record.fields}

    def gather(given: dict[str, Any]) -> Any:
        try:
            return record.build({attributes[name]: value for name, value in given.items()})
        except TypeError as error:
            raise ValueError(str(error)) from error

    return fields, gather


def _of_pydantic(model: Any, where: str, names: Names) -> tuple[list[ModelField], Gather]:
    shape = foreign_shape(model, scope_of(where, names))
    properties = shape.schema.get("properties")
    if not isinstance(properties, dict) or shape.convert is None:
        raise DefinitionError(f"{where}: {model!r} cannot stand for all arguments, because it has no named fields.")
    required = shape.schema.get("required", ())
    fields = [
        ModelField(
            name,
            plan_of_schema(part, f"{where}: field {name!r}"),
            name in required,
            part.get("default", UNSET),
            part.get("description", ""),
            Any,
        )
        for name, part in properties.items()
    ]
    return fields, shape.convert
