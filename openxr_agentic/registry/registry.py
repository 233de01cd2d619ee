"""ToolRegistry: the tools of an app, where they come from, which of them agents may call, and calling them.

Why it is safe to use from any thread: a tool is defined before a lock is taken, since that
may run the app's code. The table of names changes under the lock, in one step. To look a tool up takes none.
Subscribers are told, and files read and written, when the lock is free again.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any, TypeVar, overload

from openxr_agentic.definition.options import check_options, mark_of
from openxr_agentic.definition.options import tool as mark
from openxr_agentic.definition.tool import Tool
from openxr_agentic.errors import DefinitionError, ToolDisabledError
from openxr_agentic.registry import discovery
from openxr_agentic.registry.calls import run, run_async
from openxr_agentic.registry.class_body import class_body, when_class_is_made
from openxr_agentic.registry.definitions import Definitions
from openxr_agentic.registry.discovery import EntryPoints, Problem
from openxr_agentic.registry.entries import Layer, Origin
from openxr_agentic.registry.events import ChangeKind
from openxr_agentic.registry.settings import choices_of
from openxr_agentic.registry.tools import OfferedTools

if TYPE_CHECKING:
    import os
    import types
    from collections.abc import Callable, Collection, Iterable, Mapping

    from typing_extensions import Unpack

    from openxr_agentic.attachment import Attachment
    from openxr_agentic.definition.options import ToolOptions
    from openxr_agentic.registry.definitions import MoreOptions
    from openxr_agentic.registry.discovery import Marked
    from openxr_agentic.registry.settings import Settings

F = TypeVar("F")

logger = logging.getLogger("openxr_agentic")


class ToolRegistry(OfferedTools):
    """The tools that an app offers to agents. Usable from any thread.

        registry = ToolRegistry(prefix="MyApp_")

        @registry.tool
        def create_cube(position: tuple[float, float, float]) -> str:
            \"\"\"Create a cube in the scene.\"\"\"

    A tool comes from one of three origins: decorated with `tool`, discovered by `initialize`, or
    registered at run time by `register`. A run-time tool covers another one of its name, until `unregister`.
    Where a method takes a tool's name, the name as it was given, without the prefix, does too; where a tool is
    asked for by `entry`, the name for agents alone.

    Args:
        prefix: Put in front of each name, as ``"MyApp_"``.
        settings: Where the user's choices of enabled tools are kept. A `Settings`, or the path of a file; True:
            the user's own file (`default_file`); False: in memory alone. None: the file that
            OPENXR_AGENTIC_SETTINGS names, and in memory alone if it names none. In a file the
            app's name is the prefix without ``_`` or ``-`` at its end, else the program's name.
        ignore_unknown: Unknown arguments that are ignored, with one warning: their names, or True for all. ``reason``,
            ``sentiment`` and ``session_handle``, which agents add by themselves, are ignored anyway.
        strict_names: Refuse a name that would have to be changed for agents, instead of changing it.

    Attributes:
        prefix: As given.
        tools_changed: Event that tells subscribers of each change.

    Raises:
        ConfigurationError: The settings' file has no place.
    """

    def __init__(
        self,
        *,
        prefix: str = "",
        settings: Settings | str | os.PathLike[str] | bool | None = None,
        ignore_unknown: bool | Collection[str] = False,
        strict_names: bool = False,
    ) -> None:
        super().__init__(prefix, choices_of(settings, prefix.rstrip("_-")))
        self._definitions = Definitions(self, prefix, ignore_unknown, strict_names)
        self._targets: list[object] = []
        self._searches = 0
        self._newest_search = 0
        self._problems: tuple[Problem, ...] = ()

    # ---- defining tools

    @overload
    def tool(self, given: F, /) -> F: ...

    @overload
    def tool(self, /, **options: Unpack[ToolOptions]) -> Callable[[F], F]: ...

    def tool(self, given: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
        """Make a function, a class, or a static or class method a tool of this registry.

        Used as ``@registry.tool`` or as ``@registry.tool(name=..., ...)``. Over or under `@staticmethod` and
        `@classmethod` it means the same. A class is made once, at once, before its own name is known; its `execute`
        or `__call__` is the tool. A method needs an object: it is only marked, and `register_object` makes a tool
        of it for each object.

        Defined again, as by `importlib.reload` or in a notebook, it takes the place of the one before.

        Args:
            given: What to make a tool of.
            **options: See `ToolOptions`.

        Returns:
            The very object that was given.

        Raises:
            NameClashError: Another tool has the name.
            DefinitionError: It cannot be a tool. In a class body, Python before 3.12 raises a RuntimeError from it.
        """
        check_options(options)
        if given is not None:
            return self._decorate(given, options, sys._getframe(1))  # noqa: SLF001 - whether that is a class body
        return lambda decorated: self._decorate(decorated, options, sys._getframe(1))  # noqa: SLF001 - the same

    def _decorate(self, given: F, options: ToolOptions, frame: types.FrameType) -> F:
        mark_of(given)  # refuses what cannot be looked at
        if isinstance(given, str):
            raise DefinitionError(
                f"@registry.tool({given!r}): options have names. Write @registry.tool(name={given!r})."
            )
        body = class_body(given, frame)
        if body is None:
            self._put(self._definitions.define(given, options, Origin.DECORATED))
            return given

        def decorate_in(cls: type, name: str, found: Any) -> None:
            if isinstance(found, (staticmethod, classmethod)):
                self._put(self._definitions.define(getattr(cls, name), options, Origin.DECORATED))
            else:
                mark(**options)(found)

        when_class_is_made(body, given, decorate_in)
        return given

    @overload
    def register(self, name: Tool, /, *, keep: bool = False, override: bool = False) -> Tool: ...

    @overload
    def register(
        self,
        name: str | None,
        tool: Callable[..., Any] | Tool,
        description: str | None = None,
        enabled_by_default: bool | None = None,
        groups: Iterable[str] | str | None = None,
        *,
        keep: bool = False,
        override: bool = False,
        **options: Unpack[MoreOptions],
    ) -> Tool: ...

    def register(
        self,
        name: str | Tool | None,
        tool: Any = None,
        description: str | None = None,
        enabled_by_default: bool | None = None,
        groups: Iterable[str] | str | None = None,
        *,
        keep: bool = False,
        override: bool = False,
        **options: Unpack[MoreOptions],
    ) -> Tool:
        """Register a tool at run time. It covers a decorated or discovered one of its name.

        A bound method does not keep its object alive: once that is collected or closed, the tool says so.

        Args:
            name: Name for agents, without the prefix; None: the callable's own. Or a Tool, as it is.
            tool: The callable, marked or not, or a Tool.
            description: What it does, for agents. None: the docstring's first paragraph.
            enabled_by_default: Whether agents see it while the user has not decided. None: as it is marked, else True.
            groups: Names of groups that it belongs to. None: as it is marked.
            keep: `refresh` does not remove it.
            override: It may replace another run-time tool of its name.
            **options: The others of `ToolOptions`.

        Returns:
            The tool as it is in this registry, with its name for agents.

        Raises:
            NameClashError: Another run-time tool has the name, or two names became one when they were sanitised.
            DefinitionError: It cannot be a tool.
        """
        if isinstance(name, Tool):
            name, tool = None, name
        given = {"description": description, "enabled_by_default": enabled_by_default, "groups": groups}
        said = {**options, **{key: value for key, value in given.items() if value is not None}}
        if issubclass(type(tool), Tool):  # not isinstance: it asks the object, and a proxy may raise
            layer = self._definitions.adopt(tool, name, said)
        else:
            said |= {} if name is None else {"name": name}
            layer = self._definitions.define(tool, said, Origin.RUNTIME)
        self._put(layer._replace(keep=keep), override=override)
        return layer.tool

    def register_object(
        self, owner: object, *, prefix: str = "", keep: bool = False, override: bool = False
    ) -> list[Tool]:
        """Register the marked methods of an object at run time, bound to it; all, or none if one cannot be.

        Args:
            owner: The object. It is not kept alive.
            prefix: Put between the registry's prefix and each name, so that two objects of a class can both have tools.
            keep: As in `register`.
            override: As in `register`.

        Returns:
            The tools, in the order in which the methods are defined, those of base classes first.

        Raises:
            NameClashError: One of the names is taken, as by another object of the class.
            DefinitionError: No method is marked, or one cannot be a tool.
        """
        found = discovery.find([owner])
        if found.problems:
            problem = found.problems[0]
            if isinstance(problem.error, DefinitionError):
                raise problem.error
            raise DefinitionError(f"Its methods cannot be looked at: {problem}") from problem.error
        layers = []
        for marked in found.marked:
            options = {} if _says_prefix(marked.callable) else {"prefix": self.prefix + prefix}
            layer = self._definitions.define(marked.callable, options, Origin.RUNTIME)
            layers.append(layer._replace(keep=keep))
        with self._lock:
            trial = self._table.copy()
            kinds = [trial.put(layer, override=override) for layer in layers]
            self._table = trial
        for layer, kind in zip(layers, kinds, strict=True):
            self._fire(kind, layer.tool.name)
        return [layer.tool for layer in layers]

    def unregister(self, name: str) -> bool:
        """Remove a run-time tool. What it covered is back at once.

        Args:
            name: The tool's name.

        Returns:
            Whether there was one. Decorated and discovered tools stay.
        """
        with self._lock:
            layer = self._find(name)
            kind = self._table.remove_runtime(layer.tool.name) if layer is not None else None
        if layer is None or kind is None:
            return False
        self._fire(kind, layer.tool.name)
        return True

    # ---- discovery

    def initialize(self, *targets: object) -> tuple[Problem, ...]:
        """Discover marked tools, here and in all that was named before.

        Args:
            *targets: Modules, their dotted names, packages, objects, as `discovery.find` takes them. None at all:
                what installed packages offer as entry points.

        Returns:
            What could not be discovered; it is logged too, and does not keep the rest from being.
        """
        with self._lock:
            new = targets or (() if self._targets else (EntryPoints(),))
            self._targets += _missing(new, self._targets)
        return self._discover(clear=False)

    def refresh(self) -> tuple[Problem, ...]:
        """Discover all anew, remove run-time tools that are not to be kept, and read the user's choices again.

        Decorated tools stay. Until everything is found, all tools work as before; then they change in one
        step. Run-time tools that are registered meanwhile stay. A class that is found again unchanged keeps its object.

        Returns:
            What could not be discovered; it is logged too.
        """
        self._offer.user.load()
        return self._discover(clear=True)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What could not be discovered the last time."""
        return self._problems

    def _discover(self, *, clear: bool) -> tuple[Problem, ...]:
        # No lock is held while modules are imported: one may wait for a thread that waits for this registry.
        with self._lock:
            self._searches += 1
            search, targets = self._searches, tuple(self._targets)
            runtime = self._table.runtime_layers()
            known = {layer.place: layer for layer in self._table.discovered_layers()}
        cleared = [layer for layer in runtime if clear and not layer.keep]
        found = discovery.find(targets)
        problems = list(found.problems)
        layers = []
        for marked in found.marked:
            try:
                layers.append(self._discovered(marked, known))
            except (Exception, SystemExit) as error:  # noqa: BLE001, PERF203 - one broken tool does not stop the rest
                problems.append(Problem(f"{marked.module}.{marked.qualname}", error))
        with self._lock:
            if search < self._newest_search:  # one that began later is done already, and found more
                layers, problems = self._table.discovered_layers(), list(self._problems)
            self._newest_search = max(search, self._newest_search)
            self._table, clashes = self._table.swapped(layers, cleared)
            problems += [Problem("discovery", clash) for clash in clashes]
            self._problems = tuple(problems)
        for problem in problems:
            logger.warning("Not discovered: %s", problem)
        self._fire(ChangeKind.REFRESHED, None)
        return tuple(problems)

    def _discovered(self, marked: Marked, known: Mapping[str, Layer]) -> Layer:
        place = f"{marked.module}.{marked.qualname}"
        before = known.get(place)
        if before is not None and before.is_of(marked.callable):
            return before
        return self._definitions.define(marked.callable, {}, Origin.DISCOVERED, place=place)

    # ---- agents

    def attach(self, instance: Any, *, get_instance_proc_addr: Any = None) -> Attachment:
        """Offer the tools to agents on an XrInstance: those that are there, and those that come later.

        Used as ``with registry.attach(instance):``. Detach before the instance is destroyed. Where agents
        cannot be offered tools, one warning says so, and the app goes on: `Attachment.status` has the reason.

        Args:
            instance: As for `AgenticExtension`.
            get_instance_proc_addr: As for `AgenticExtension`.

        Raises:
            InstanceError: `instance` is not an XrInstance, or none that lives.
            AgenticError: As `AgenticExtension`, where the mistake is the app's.
        """
        from openxr_agentic.attachment import Attachment  # the rest of a registry needs no OpenXR

        return Attachment(self, instance, get_instance_proc_addr=get_instance_proc_addr)

    # ---- calls

    def execute(self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """Call a tool from Python, on this thread. Needs no OpenXR.

        Args:
            name: The tool's name.
            arguments: By name: JSON's own values, or instances of the parameters' types. None: none.
            timeout: Seconds that an `async def` tool may take; None: its own. Another function cannot be
                interrupted: that it took longer is logged.

        Returns:
            What the tool returned.

        Raises:
            UnknownToolError: There is no tool of that name; with names that are like it.
            ToolDisabledError: It is disabled, or a filter hides it.
            ArgumentError: The arguments do not fit; with every fault. The tool was not run.
            ToolTimeoutError: It is async, and took too long.
            BaseException: What the tool raises, as it is.
        """
        return run(self._callable(name), arguments, timeout)

    async def execute_async(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,
        in_thread: bool = False,
    ) -> Any:
        """Call a tool from a coroutine. Needs no OpenXR.

        An `async def` tool runs on the running loop, and is cancelled with the caller. Another one runs at once, in
        place, and holds up the loop meanwhile: it may be made for this very thread.

        Args:
            name: The tool's name.
            arguments: As in `execute`.
            timeout: Seconds that it may take; None: its own. As in `execute`, unless it runs in a thread.
            in_thread: Run it on another thread. When its time is over or the caller is cancelled, nobody waits
                for it any more, and it goes on to its end.

        Returns:
            What the tool returned.

        Raises:
            ToolTimeoutError: It is async or in a thread, and took too long.
            BaseException: As in `execute`.
        """
        return await run_async(self._callable(name), arguments, timeout, in_thread=in_thread)

    def _callable(self, name: str) -> Tool:
        tool = self._known(name).tool
        refusal = self._offer.refusal(tool)
        if refusal is not None:
            raise ToolDisabledError(tool.name, refusal)
        return tool

    def __repr__(self) -> str:
        prefix = f" {self.prefix!r}" if self.prefix else ""
        return f"<ToolRegistry{prefix}: {len(self._tops())} tools>"


def _missing(targets: Iterable[object], known: list[object]) -> list[object]:
    # Not under the `with` that needs it: see what `registrations` says of loops.
    return [target for target in targets if not any(target is each for each in known)]


def _says_prefix(given: Any) -> bool:
    marked = mark_of(given)
    return marked is not None and "prefix" in marked.options
