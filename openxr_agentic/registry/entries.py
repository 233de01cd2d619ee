"""What a registry knows of a tool, inside and as it is told."""

from __future__ import annotations

import copy
import enum
import types
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

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
    """What is the same tool again after its module was reloaded or its notebook cell run again.

    Attributes:
        module: Name of the module that defines the function.
        qualname: The function's place in it.
        cls: The class that it was taken from, which may be a subclass of the one that defines it.
        place: Source file and line of a lambda, which has no name of its own.
    """

    module: str
    qualname: str
    cls: str
    place: str


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
        code = getattr(function, "__code__", None)
        is_lambda = isinstance(code, types.CodeType) and code.co_name == "<lambda>"
        return Identity(
            str(getattr(function, "__module__", None) or type(function).__module__),
            str(getattr(function, "__qualname__", None) or type(function).__qualname__),
            f"{cls.__module__}.{cls.__qualname__}" if cls is not None else "",
            f"{code.co_filename}:{code.co_firstlineno}" if is_lambda and code is not None else "",
        )

    @property
    def owner(self) -> object | None:
        """The living object whose method it is; None: it is no method, or the object is gone."""
        reference = self.tool._target.owner  # noqa: SLF001 - as above
        # Only methods are held weakly. A tool's own object, of a class or callable, is nobody else's.
        owner = reference() if isinstance(reference, weakref.ref) else None
        closed = getattr(owner, "closed", False)
        return owner if callable(closed) or not closed else None

    def is_again(self, other: Layer) -> bool:
        """Tell whether this is another one's function, defined again or as it is."""
        # What is discovered may have no name of its own: two functions that one function made are told apart
        # by the places at which they were found.
        if self.place and other.place:
            return self.place == other.place
        if self.identity != other.identity:
            return False
        mine, theirs = self.owner, other.owner
        return mine is theirs or mine is None or theirs is None

    def is_of(self, given: object) -> bool:
        """Tell whether this is a tool of that very function, method or class."""
        if not isinstance(given, types.MethodType):
            return self.tool.function is given
        bound_to = self.owner or self.tool._target.cls  # noqa: SLF001 - as above
        return self.tool.function is given.__func__ and bound_to is given.__self__
