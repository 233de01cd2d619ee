"""What a registry knows of a tool, inside and as it is told."""

from __future__ import annotations

import copy
import enum
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from openxr_agentic.definition.caller import is_closed
from openxr_agentic.registry import sameness

if TYPE_CHECKING:
    from openxr_agentic.definition.tool import Tool


class Origin(enum.Enum):
    """How a tool came into a registry."""

    DECORATED = "decorated"
    DISCOVERED = "discovered"
    RUNTIME = "run-time"


class ToolInfo(msgspec.Struct, frozen=True):
    """A tool as agents' clients are told of it.

    Attributes:
        name: Name for agents.
        title: Title for people.
        description: What it does, for agents.
        input_schema: JSON schema of its arguments.
        output_schema: JSON schema of its results; None: not known, or not an object.
        annotations: MCP's hints about its behaviour.
        groups: Groups that it belongs to.
    """

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    groups: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return a new dict that JSON can say, with the names that MCP has for them.

        `outputSchema` is left out where there is none. MCP knows no `groups`.
        """
        told: dict[str, Any] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": copy.deepcopy(self.input_schema),
            "annotations": dict(self.annotations),
            "groups": list(self.groups),
        }
        if self.output_schema is not None:
            told["outputSchema"] = copy.deepcopy(self.output_schema)
        return told


def info_of(tool: Tool) -> ToolInfo:
    """Return what clients are told of a tool."""
    return ToolInfo(
        tool.name,
        tool.title,
        tool.description,
        tool.input_schema,
        tool.output_schema,
        tool.annotations,
        tool.groups,
    )


class ToolSetting(NamedTuple):
    """A tool as a page of settings shows it.

    Attributes:
        name: Name for agents.
        title: Title for people.
        description: What it does.
        groups: Groups that it belongs to.
        enabled: Whether it is enabled now.
        enabled_by_default: Whether it is while the user has not decided.
        user_choice: What the user decided; None: nothing.
    """

    name: str
    title: str
    description: str
    groups: tuple[str, ...]
    enabled: bool
    enabled_by_default: bool
    user_choice: bool | None


class ToolEntry(NamedTuple):
    """A tool and its state in a registry, at one moment.

    Attributes:
        tool: What is called.
        origin: How it came into the registry.
        enabled: Whether it is enabled, by default or by the user.
        refusal: Why it is not to be called now, as ``"it is disabled"``; None: it may be.
    """

    tool: Tool
    origin: Origin
    enabled: bool
    refusal: str | None


class Identity(NamedTuple):
    """What a tool still is after its module was reloaded or its notebook cell run again; others may be it, too.

    Attributes:
        module: Name of the module that defines the function.
        qualname: The function's place in it.
        cls: The class that it was taken from, which may be a subclass of the one that defines it.
        place: Where a lambda stands, which has no name of its own; empty for all else.
    """

    module: str
    qualname: str
    cls: str
    place: tuple[object, ...]


class Layer(NamedTuple):
    """A tool under its name, from one origin; a name can have one of each.

    Attributes:
        tool: What is called.
        origin: Where it came from.
        asked: Its name as it was asked for, prefix included, before it was sanitised.
        place: Where it was discovered: module and place in it.
        keep: A run-time tool that stays when the registry is refreshed.
    """

    tool: Tool
    origin: Origin
    asked: str
    place: str = ""
    keep: bool = False

    @property
    def identity(self) -> Identity:
        """What it is, beside its name."""
        target = self.tool._target  # noqa: SLF001 - what a tool consists of, for this package
        function, cls = target.function, target.cls
        return Identity(
            str(getattr(function, "__module__", None) or type(function).__module__),
            str(getattr(function, "__qualname__", None) or type(function).__qualname__),
            f"{cls.__module__}.{cls.__qualname__}" if cls is not None else "",
            sameness.place_of_lambda(function),
        )

    @property
    def owner(self) -> object | None:
        """The living object whose method it is; None: it is no method, or the object is gone."""
        reference = self.tool._target.owner  # noqa: SLF001 - as above
        owner = reference() if reference is not None and self._is_method else None
        return None if is_closed(owner) else owner

    @property
    def _is_method(self) -> bool:
        """Whether it belongs to an object that is not the tool itself, as one of a class or a callable object is."""
        function, reference = self.tool.function, self.tool._target.owner  # noqa: SLF001 - as above
        return reference is not None and not issubclass(type(function), type) and reference() is not function

    def is_again(self, other: Layer) -> bool:
        """Tell whether this is another one's function, defined again or as it is."""
        # What is discovered may have no name of its own: two functions that one function made are told apart
        # by the places at which they were found.
        if self.place and other.place:
            return self.place == other.place
        if self.identity != other.identity:
            return False
        if self._is_method and other._is_method:
            mine, theirs = self.owner, other.owner
            if mine is not theirs or mine is None:
                return mine is None or theirs is None
        return sameness.is_again(_given(self.tool), _given(other.tool))

    def is_copy(self, other: Layer) -> bool:
        """Tell whether both come of one definition, as when a Tool is registered again under the name it has."""
        return self.tool._target is other.tool._target  # noqa: SLF001 - as above

    def is_of(self, given: object) -> bool:
        """Tell whether this is a tool of that very function, method or class."""
        if not isinstance(given, types.MethodType):
            return self.tool.function is given
        owner = self.owner
        bound_to = owner if owner is not None else self.tool._target.cls  # noqa: SLF001 - as above
        return self.tool.function is given.__func__ and bound_to is given.__self__


def _given(tool: Tool) -> Any:
    """Return what a tool was defined of; of an object's method, its function."""
    call = tool._target.call  # noqa: SLF001 - what a tool consists of, for this package
    is_class_method = isinstance(call, types.MethodType) and call.__func__ is tool.function
    return call if is_class_method else tool.function
