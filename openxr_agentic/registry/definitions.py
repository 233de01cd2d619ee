"""How a registry defines tools: with its own defaults, under names of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

import msgspec

from openxr_agentic.arguments.decoder import ArgumentsDecoder
from openxr_agentic.definition.options import ToolOptions, check_flag, checked_groups, mark_of, tool_name
from openxr_agentic.definition.tool import Tool, define
from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import check_description
from openxr_agentic.registry.entries import Layer, Origin

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from openxr_agentic.definition.options import Sizing, ToolAnnotations
    from openxr_agentic.parameters import ToolParameter


class MoreOptions(TypedDict, total=False):
    """The options of `ToolOptions` that `ToolRegistry.register` has no parameters for; see there."""

    prefix: str
    title: str | None
    annotations: ToolAnnotations | Mapping[str, Any] | None
    main_thread: bool
    sizing: Sizing
    on_error: Any
    parameters: Iterable[ToolParameter] | Mapping[str, Any] | None
    ignore_unknown: bool | Collection[str]
    timeout: float | None
    strict_name: bool
    truncate: bool


class Definitions(NamedTuple):
    """What a registry's definitions have in common.

    Attributes:
        registry: The registry.
        prefix: Put in front of each name that has no other prefix.
        ignore_unknown: Unknown arguments that are ignored, where a tool does not say.
        strict_names: Names that would have to be changed are refused, where a tool does not say.
    """

    registry: Any
    prefix: str
    ignore_unknown: bool | Collection[str]
    strict_names: bool

    def define(self, given: Any, options: Mapping[str, Any], origin: Origin, *, place: str = "") -> Layer:
        """Define a tool.

        Args:
            given: The callable, which may be marked.
            options: What was said where it was given to the registry: some of `ToolOptions`.
            origin: How it came.
            place: Where it was discovered.

        Raises:
            DefinitionError: It cannot be a tool.
        """
        marked = mark_of(given)
        said: dict[str, Any] = {**(marked.options if marked is not None else {}), **options}
        asked = said.get("name")
        complete = {
            "prefix": self.prefix,
            "ignore_unknown": self.ignore_unknown,
            "strict_name": self.strict_names,
            **said,
            "registry": self.registry,
        }
        tool = define(given, **cast("ToolOptions", complete))
        own_name = tool._target.name if asked is None else asked  # noqa: SLF001 - its name before it was changed
        return Layer(tool, origin, complete["prefix"] + own_name, place)

    def adopt(self, tool: Tool, name: str | None, options: Mapping[str, Any]) -> Layer:
        """Take a tool that is defined already: a copy of it that belongs to this registry.

        Args:
            tool: The tool.
            name: Its name here, without the prefix; None: as it is.
            options: `description`, `enabled_by_default` and `groups`, where they are to be others.

        Raises:
            DefinitionError: The name or another option cannot be used.
        """
        where = f"tool {tool.name!r}"
        unfit = options.keys() - {"description", "enabled_by_default", "groups"}
        if unfit:
            raise DefinitionError(
                f"{where} is defined already, so {min(unfit)} cannot be given here. Give it to define()."
            )
        asked = tool.name if name is None else self.prefix + name
        changes: dict[str, Any] = dict(options)
        if name is not None:
            changes["name"], _ = tool_name(name, self.prefix, self.strict_names)
            changes["decoder"] = ArgumentsDecoder(changes["name"], tool.fields, tool.ignore_unknown)
        if "enabled_by_default" in changes:
            check_flag("enabled_by_default", changes["enabled_by_default"])
        if "description" in changes:
            changes["description"] = check_description(f"{where}: description", changes["description"])
        if "groups" in changes:
            changes["groups"] = checked_groups(changes["groups"], where)
        # What it made of its name and its registry for its calls is not taken along.
        copy = msgspec.structs.replace(tool, **changes, registry=self.registry, _start=None, _call=None)
        return Layer(copy, Origin.RUNTIME, asked)
