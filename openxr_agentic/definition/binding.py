"""From a signature to a tool's arguments: what agents are told, and how the function gets them.

There are three manners, by what the function takes:

* its own parameters, one argument each;
* one parameter marked with `Arguments`, whose fields are the arguments;
* the raw arguments, as a dict, where the parameters are listed by hand.
"""

from __future__ import annotations

import copy
import enum
import types
import typing
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import msgspec
from msgspec import UNSET

from openxr_agentic.arguments.decoder import REQUIRED, Field
from openxr_agentic.definition.context import Arguments, ToolContext
from openxr_agentic.definition.told import Argument, input_schema_of, told_of
from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import ToolParameter
from openxr_agentic.schema.fit import inlined
from openxr_agentic.schema.foreign import is_foreign
from openxr_agentic.schema.limits import Metadata, is_field_info
from openxr_agentic.schema.model import fields_of_model
from openxr_agentic.schema.plan import plan, plan_of_schema
from openxr_agentic.schema.records import is_record, json_value

if TYPE_CHECKING:
    from collections.abc import Callable

    from openxr_agentic.definition.signature import Parameter, Signature
    from openxr_agentic.schema.plan import ParameterPlan


class Slot(NamedTuple):
    """One argument of the Python call.

    Attributes:
        keyword: The name that it is passed by; "": by position.
        field: Number of the field that it is; None: it is the context.
        factory: Makes the default of a field that is left out; None: the field has it.
    """

    keyword: str
    field: int | None
    factory: Callable[[], Any] | None = None


class Binding(NamedTuple):
    """A tool's arguments.

    Attributes:
        fields: What an agent can give.
        told: For each, what the extension is told.
        input_schema: All of them as JSON schema.
        slots: The arguments of the Python call.
        gather: Makes the one argument that stands for all of a dict of those that were given; None: there is none.
    """

    fields: tuple[Field, ...]
    told: tuple[ToolParameter, ...]
    input_schema: dict[str, Any]
    slots: tuple[Slot, ...]
    gather: Callable[[dict[str, Any]], Any] | None = None


def bind(
    signature: Signature,
    described: Mapping[str, str],
    parameters: Iterable[ToolParameter] | Mapping[str, Any] | None,
    *,
    where: str,
    closed: bool,
    truncate: bool,
) -> Binding:
    """Work out a tool's arguments.

    Args:
        signature: What the function takes.
        described: Descriptions of parameters from the docstring.
        parameters: Parameters listed by hand, or a JSON schema of all arguments; None: the signature says it.
        where: For errors, as ``"tool 'X'"``.
        closed: Unknown arguments are refused; the input schema says so.
        truncate: Cut descriptions that are too long.

    Raises:
        DefinitionError: A parameter cannot be one of a tool.
    """
    taken = [parameter for parameter in signature.parameters if not _is_context(parameter.annotation)]
    gather: Callable[[dict[str, Any]], Any] | None = None
    if parameters is not None:
        arguments, gather = _by_hand(parameters, signature, taken, where), dict
        slots = _slots_around(signature)
    elif any(_is_arguments(parameter.annotation) for parameter in taken):
        arguments, gather = _of_model(signature, taken, described, where)
        slots = _slots_around(signature)
    else:
        arguments, slots = _of_signature(signature, described, where)
    fields, told = told_of(arguments, where, truncate=truncate)
    return Binding(fields, told, input_schema_of(arguments, closed=closed), slots, gather)


# ---------------------------------------------------------------- the function's own parameters


def _of_signature(
    signature: Signature, described: Mapping[str, str], where: str
) -> tuple[list[Argument], tuple[Slot, ...]]:
    if signature.variadic:
        stars = signature.variadic[-1]
        raise DefinitionError(
            f"{where}: it takes {' and '.join(signature.variadic)}, and agents can only give arguments that are "
            f"listed. Replace {stars} by a parameter that is a {'dict' if stars.startswith('**') else 'list'}, or list "
            "the arguments with parameters=[...]."
        )
    arguments: list[Argument] = []
    slots: list[Slot] = []
    for parameter in signature.parameters:
        keyword = "" if parameter.by_position else parameter.name
        if _is_context(parameter.annotation):
            slots.append(Slot(keyword, None))
            continue
        argument, factory = _argument(parameter, signature, described, where)
        slots.append(Slot(keyword, len(arguments), factory))
        arguments.append(argument)
    return arguments, tuple(slots)


def _argument(
    parameter: Parameter, signature: Signature, described: Mapping[str, str], where: str
) -> tuple[Argument, Callable[[], Any] | None]:
    name, annotation, default = parameter.name, parameter.annotation, parameter.default
    factory: Callable[[], Any] | None = None
    description = ""
    if annotation is REQUIRED:
        annotation = _type_of_default(default)
    if is_field_info(default):
        annotation = typing.Annotated[annotation, default]
        default = REQUIRED
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is not None:
        annotation, found = _simplified(annotation, metadata)
        description = found.description
        if default is REQUIRED and found.default is not msgspec.NODEFAULT:
            default = found.default
        factory = found.default_factory if default is REQUIRED else None
    known = plan(annotation, f"{where}: parameter {name!r}", signature.names)
    description = description or described.get(name, "")
    told: Any = UNSET
    if factory is not None:
        default = UNSET
    elif default is not REQUIRED:
        told = _told_default(default, known)
        if _is_mutable(default):
            factory, default = partial(copy.deepcopy, default), UNSET
        if default is None and not known.nullable:
            # `x: str = None`: None is what the tool gets for null, which means left out.
            known = known._replace(decode_type=Union[known.decode_type, None])  # noqa: UP007
    return Argument(Field(name, known, default, description, annotation), told), factory


def _simplified(annotation: Any, metadata: tuple[Any, ...]) -> tuple[Any, Metadata]:
    """Return a type without metadata that is description only, and what the metadata says.

    Plans are kept by their type: one with a description is a type of its own, and would never be met again.
    """
    if len(metadata) == 1 and type(metadata[0]) is str:
        found = Metadata(metadata)
        return annotation.__origin__, found
    found = Metadata(metadata)
    plain = not found.limits and not found.checks and not found.foreign
    return (annotation.__origin__ if plain else annotation), found


def _type_of_default(default: Any) -> Any:
    """Return the type of a parameter that has no annotation.

    Its default tells, as in ``scale=1.0``. A whole number as default accepts all numbers: ``scale=1`` may
    mean either.
    """
    if default is REQUIRED:
        return Any
    kind = type(default)
    if kind is int:
        return int | float
    if kind in (bool, float, str, list, dict, tuple) or isinstance(default, enum.Enum):
        return kind
    return Any


def _is_mutable(default: Any) -> bool:
    """Tell whether a default is copied for each call, so that no call changes it for the next.

    Only what holds data is. An object of any other class may be known by its identity, as a sentinel is.
    """
    if isinstance(default, (tuple, frozenset)):
        return any(map(_is_mutable, default))
    if isinstance(default, (list, dict, set, bytearray)):
        return True
    kind = type(default)
    return is_record(kind) or is_foreign(kind)


def _told_default(default: Any, known: ParameterPlan) -> Any:
    if isinstance(default, enum.Enum) and isinstance(default.value, int) and known.json_schema.get("type") == "string":
        return default.name  # agents know these members by name
    return json_value(default)


def _is_context(annotation: Any) -> bool:
    if annotation is ToolContext:
        return True
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        return _is_context(annotation.__origin__)
    if origin is Union or origin is types.UnionType:
        return any(member is ToolContext for member in typing.get_args(annotation))
    return False


# ---------------------------------------------------------------- one parameter for all


def _is_arguments(annotation: Any) -> bool:
    metadata = getattr(annotation, "__metadata__", ())
    return any(item is Arguments or isinstance(item, Arguments) for item in metadata)


def _slots_around(signature: Signature) -> tuple[Slot, ...]:
    """Return the slots of a function whose one parameter beside the context gets all arguments."""
    slots = [
        Slot("" if parameter.by_position else parameter.name, None if _is_context(parameter.annotation) else 0)
        for parameter in signature.parameters
    ]
    if not any(slot.field == 0 for slot in slots) and signature.variadic:
        slots.append(Slot("**", 0))
    return tuple(slots)


def _of_model(
    signature: Signature, taken: list[Parameter], described: Mapping[str, str], where: str
) -> tuple[list[Argument], Callable[[dict[str, Any]], Any]]:
    if len(taken) > 1 or signature.variadic:
        others = [parameter.name for parameter in taken if not _is_arguments(parameter.annotation)]
        others += signature.variadic
        raise DefinitionError(
            f"{where}: a parameter marked with Arguments stands for all arguments, and the function takes "
            f"{', '.join(others)} as well. Make {'it a field' if len(others) == 1 else 'them fields'} of the marked "
            "type."
        )
    model = taken[0].annotation.__origin__
    properties, gather = fields_of_model(model, f"{where}: parameter {taken[0].name!r}", signature.names)
    arguments = []
    for found in properties:
        description = found.description or described.get(found.name, "")
        default = REQUIRED if found.required else UNSET
        arguments.append(Argument(Field(found.name, found.plan, default, description, found.annotation), found.default))
    return arguments, gather


def _by_hand(
    parameters: Iterable[ToolParameter] | Mapping[str, Any], signature: Signature, taken: list[Parameter], where: str
) -> list[Argument]:
    takes_keywords = any(stars.startswith("**") for stars in signature.variadic)
    if len(taken) != 1 and not (takes_keywords and not taken):
        names = ", ".join(parameter.name for parameter in taken) or "none"
        raise DefinitionError(
            f"{where}: with parameters= the function takes one parameter, the dict of arguments (or **arguments), and "
            f"this one has {names}. Leave parameters= out to have them derived from the signature."
        )
    if isinstance(parameters, Mapping):
        return _of_schema(dict(parameters), where)
    if isinstance(parameters, ToolParameter) or not isinstance(parameters, Iterable):
        parameters = (parameters,)  # refused below, but for one that was only not put into a list
    arguments = []
    for parameter in parameters:
        if not isinstance(parameter, ToolParameter):
            raise DefinitionError(
                f"{where}: parameters must be ToolParameter objects or one JSON schema as a dict, not {parameter!r}."
            )
        known = plan_of_schema(_schema_of_parameter(parameter), f"{where}: parameter {parameter.name!r}")
        default = REQUIRED if parameter.required else UNSET
        arguments.append(Argument(Field(parameter.name, known, default, parameter.description), UNSET))
    _refuse_twins(arguments, where)
    return arguments


def _refuse_twins(arguments: list[Argument], where: str) -> None:
    names = [argument.field.name for argument in arguments]
    twin = next((name for name in names if names.count(name) > 1), None)
    if twin is not None:
        raise DefinitionError(f"{where} has two parameters named {twin!r}.")


def _schema_of_parameter(parameter: ToolParameter) -> dict[str, Any]:
    if parameter.object_properties is not None:
        schema: dict[str, Any] = inlined(msgspec.json.decode(parameter.object_properties))
        return {"type": "object", **schema}
    schema = {"type": parameter.type.value}
    if parameter.item_type is not None:
        schema["items"] = {"type": parameter.item_type.value}
    return schema


def _of_schema(schema: dict[str, Any], where: str) -> list[Argument]:
    place = f"{where}: parameters"
    try:
        schema = inlined(schema)
    except DefinitionError as error:
        raise DefinitionError(f"{place}: {error}") from None
    properties = schema.get("properties", {})
    if schema.get("type", "object") != "object" or not isinstance(properties, dict):
        raise DefinitionError(
            f"{place} must be the JSON schema of an object, as {{'type': 'object', 'properties': {{...}}}}."
        )
    required = schema.get("required", [])
    if not isinstance(required, (list, tuple)) or not all(isinstance(name, str) for name in required):
        raise DefinitionError(f'{where}: "required" must be a list of names, not {required!r}.')
    unknown = [name for name in required if name not in properties]
    if unknown:
        raise DefinitionError(f"{place}: {unknown[0]!r} is required, and not among the properties.")
    if schema.get("additionalProperties"):
        raise DefinitionError(
            f"{place}: agents can only give arguments that are listed. Remove additionalProperties, or take them in "
            "one argument that is an object."
        )
    arguments = []
    for name, part in properties.items():
        known = plan_of_schema(part, f"{where}: parameter {name!r}")
        field = Field(name, known, REQUIRED if name in required else UNSET, part.get("description", ""))
        arguments.append(Argument(field, part.get("default", UNSET)))
    return arguments
