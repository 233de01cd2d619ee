"""Tool: a Python callable that agents can call, defined once and never changed.

`define` derives everything from the callable: its name, its description and those of
its parameters from the docstring, types and limits from the annotations. `tool` only
marks a callable, for discovery to define it later.

What a parameter may be is in schema/plan.py. Beside that:

* A parameter annotated with `ToolContext` (or `ToolContext | None`) is hidden from agents, and gets the call.
* `x: str | None` without a default must be given, and may be null. With a default it may be left out.
* A null for an argument that may be left out, and for which null is no value, means left out.
* Parameters without an annotation take the type of their default (a whole number stands
  for all numbers), and without a default every JSON value.
* A default that holds data (a list, a dict, a dataclass, ...) is copied for each call; any other stays the very
  object. A default that JSON cannot say is not told.
* Arguments that `functools.partial` has bound are hidden: an agent cannot change what the app decided.
* Parameters that are positional-only are called by their names as all others.
* `*args` and `**kwargs` are refused, unless the arguments are listed by hand (`parameters=`).
"""

from __future__ import annotations

import sys
import types
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from openxr_agentic.arguments.decoder import ArgumentsDecoder, Field
from openxr_agentic.async_run import DEFAULT_TIMEOUT, GRACE, run_awaitable
from openxr_agentic.definition.binding import Binding, bind
from openxr_agentic.definition.caller import make_caller
from openxr_agentic.definition.context import CURRENT, Arguments, ToolContext, current_call
from openxr_agentic.definition.options import (
    Mark,
    ToolAnnotations,
    ToolOptions,
    check_options,
    checked_annotations,
    checked_groups,
    checked_on_error,
    checked_sizing,
    checked_timeout,
    checked_unknown,
    mark_of,
    sanitize_tool_name,
    tool,
    tool_name,
)
from openxr_agentic.definition.signature import Target, read_signature, take_apart
from openxr_agentic.errors import DefinitionError, ToolTimeoutError
from openxr_agentic.parameters import MAX_DESCRIPTION_BYTES, ToolParameter, check_description
from openxr_agentic.schema.docstring import read_docstring
from openxr_agentic.schema.plan import result_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Unpack

    from openxr_agentic.definition.caller import Caller

__all__ = [
    "Arguments",
    "Mark",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolOptions",
    "current_call",
    "define",
    "mark_of",
    "sanitize_tool_name",
    "tool",
]

_PACKAGE = __name__.partition(".")[0]


class Tool(msgspec.Struct, frozen=True, eq=False, weakref=True, kw_only=True):
    """A callable that agents can call. Immutable; made by `define`.

    Attributes:
        name: Name for agents, prefix included: at most 63 of ``A-Z a-z 0-9 _ -``.
        title: Title for people.
        description: What it does, for agents.
        parameters: Its parameters, as the extension is told of them.
        fields: Its arguments.
        input_schema: JSON schema of its arguments: an object without any `$ref`.
        output_schema: JSON schema of its results, where they are objects with a known type; None else.
        annotations: Hints for MCP clients, by MCP's names.
        groups: Groups that it belongs to.
        enabled_by_default: Whether agents see it while the user has not decided.
        main_thread: It runs on the app's main thread.
        sizing: How a size query is answered.
        on_error: What becomes of a failure: ``"result"`` or ``"xr"``.
        ignore_unknown: Unknown arguments that are ignored.
        function: The callable that was given; of a bound method, its function.
        is_async: It is an `async def`, or wraps one.
        timeout: Seconds that it may take, if it is async; None: any time.
        registry: The registry that it belongs to; None: none.
        decoder: Decodes its arguments.
    """

    name: str
    title: str
    description: str
    parameters: tuple[ToolParameter, ...]
    fields: tuple[Field, ...]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    annotations: dict[str, Any]
    groups: tuple[str, ...]
    enabled_by_default: bool
    main_thread: bool
    sizing: Any
    on_error: Literal["result", "xr"]
    ignore_unknown: bool | frozenset[str]
    function: Any
    is_async: bool
    timeout: float | None
    registry: Any
    decoder: ArgumentsDecoder
    _target: Target
    _binding: Binding
    _start: Caller | None = None
    _call: Caller | None = None

    @property
    def origin(self) -> str:
        """Where the callable is defined, for messages: ``"module.name (file:line)"``."""
        function = self._target.function
        place = f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', self.name)}"
        code = getattr(function, "__code__", None)
        return f"{place} ({code.co_filename}:{code.co_firstlineno})" if code is not None else place

    @property
    def starter(self) -> Caller:
        """The function that starts the tool with decoded arguments; it returns a coroutine if the tool is async."""
        made = self._start
        if made is None:
            made = make_caller(
                self.name,
                self._target.call,
                self._target.owner,
                self._binding.slots,
                self.decoder.names,
                gather=self._binding.gather,
                names=[field.name for field in self.fields],
                registry=self.registry,
            )
            msgspec.structs.force_setattr(self, "_start", made)
        return made

    @property
    def caller(self) -> Caller:
        """The function behind `call_struct`: made at first use, and quicker to call when it is kept."""
        made = self._call
        if made is None:
            made = partial(_run_async, self.starter, self.name, self.timeout) if self.is_async else self.starter
            msgspec.structs.force_setattr(self, "_call", made)
        return made

    def dry_runner(self) -> Caller | None:
        """Return what runs the dry run of `sizing` with decoded arguments; None: there is none."""
        if not callable(self.sizing):
            return None
        run = make_caller(
            self.name,
            self.sizing,
            None,
            self._binding.slots,
            self.decoder.names,
            gather=self._binding.gather,
            names=[field.name for field in self.fields],
            registry=self.registry,
        )
        return partial(_run_async, run, self.name, self.timeout) if self.is_async else run

    def call_struct(self, arguments: msgspec.Struct) -> Any:
        """Call the function with decoded arguments, and return what it returns.

        An async tool runs to its end on this thread, on a loop of its own.

        Raises:
            ToolError: The object that it belongs to is closed or was collected.
            ArgumentError: The type that stands for all arguments refuses them.
            ToolTimeoutError: It is async, and took too long.
            BaseException: What the function raises.
        """
        return self.caller(arguments)

    def execute(self, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call the tool from Python, on this thread.

        Args:
            arguments: Arguments by name: JSON's own values, or instances of the parameters' types. None: none.

        Returns:
            What the function returned.

        Raises:
            ArgumentError: The arguments do not fit; with every fault.
            BaseException: As in `call_struct`.
        """
        decoded = self.decoder.from_mapping(arguments)
        token = CURRENT.set(ToolContext(self.name, self.registry))
        try:
            return self.caller(decoded)
        finally:
            CURRENT.reset(token)

    async def execute_async(self, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call the tool from a coroutine: an async tool on the running loop, any other at once.

        Args:
            arguments: As in `execute`.

        Returns:
            What the function returned.

        Raises:
            ArgumentError: The arguments do not fit; with every fault.
            BaseException: As in `call_struct`.
        """
        if not self.is_async:
            return self.execute(arguments)
        import asyncio

        decoded = self.decoder.from_mapping(arguments)
        token = CURRENT.set(ToolContext(self.name, self.registry))
        try:
            started = self.starter(decoded)
            task = asyncio.ensure_future(started)  # it keeps the context that is set here
        finally:
            CURRENT.reset(token)
        try:
            done, _ = await asyncio.wait({task}, timeout=self.timeout)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if done:
            return task.result()
        task.cancel()
        await asyncio.wait({task}, timeout=GRACE)
        raise ToolTimeoutError(f"{self.name} took longer than {self.timeout:g} s and was cancelled.")

    def __repr__(self) -> str:
        return f"<Tool {self.name} from {self.origin}>"


def _run_async(start: Caller, name: str, timeout: float | None, arguments: msgspec.Struct) -> Any:
    started = start(arguments)
    return run_awaitable(started, name, timeout) if hasattr(started, "__await__") else started


def define(given: Any, **options: Unpack[ToolOptions]) -> Tool:
    """Make a Tool of a callable.

    That may be a function, a bound method, a `functools.partial`, a callable object, an `async def`, or a class
    (which is made, once, without arguments). A bound method does not keep its object alive: once
    that is collected, or has a true attribute `closed`, a call answers that the owner is gone.

    Args:
        given: The callable. Where it is marked, the mark's options count unless given here.
        **options: See `ToolOptions`.

    Raises:
        DefinitionError: It cannot be a tool: which, where, why, and what to do.

    Warns:
        UserWarning: It has no description; its name is used.
    """
    check_options(options)
    mark = mark_of(given)
    if mark is not None:
        options = {**mark.options, **options}
    option: Callable[..., Any] = options.get
    asked = option("name")
    target = take_apart(given, f"tool {asked!r}" if asked else f"tool {_described(given)}")
    if asked is None and target.name == "<lambda>":
        raise DefinitionError(f"{target.function!r} has no name. Give the tool one with name=.")
    name, original = tool_name(
        target.name if asked is None else asked, option("prefix", ""), option("strict_name", False)
    )
    where = f"tool {name!r}"
    truncate = bool(option("truncate", False))
    signature = read_signature(target, mark.names if mark is not None else None, where)
    doc = read_docstring(target.doc)
    described = doc.parameters
    own_doc = getattr(target.function, "__doc__", None)
    if own_doc is not target.doc:
        described = {**described, **read_docstring(own_doc).parameters}
    ignored = checked_unknown(option("ignore_unknown", False), where)
    binding = bind(signature, described, option("parameters"), where=where, closed=ignored is False, truncate=truncate)
    description = _description(option("description"), doc.summary, name, where, truncate=truncate)
    return Tool(
        name=name,
        title=option("title") or original or description.strip().partition("\n")[0],
        description=description,
        parameters=binding.told,
        fields=binding.fields,
        input_schema=binding.input_schema,
        output_schema=result_schema(signature.returns, signature.names),
        annotations=checked_annotations(option("annotations"), where),
        groups=checked_groups(option("groups"), where),
        enabled_by_default=bool(option("enabled_by_default", True)),
        main_thread=bool(option("main_thread", True)),
        sizing=checked_sizing(option("sizing", "exact"), where),
        on_error=checked_on_error(option("on_error", "result"), where),
        ignore_unknown=ignored,
        # Of a bound method only the function: its object is not ours to keep alive.
        function=given.__func__ if isinstance(given, types.MethodType) else given,
        is_async=signature.is_async,
        timeout=checked_timeout(option("timeout", DEFAULT_TIMEOUT), where),
        registry=option("registry"),
        decoder=ArgumentsDecoder(name, binding.fields, ignored),
        _target=target,
        _binding=binding,
    )


def _described(given: Any) -> str:
    return repr(getattr(given, "__qualname__", None) or type(given).__name__)


def _description(given: str | None, from_doc: str, name: str, where: str, *, truncate: bool) -> str:
    text = from_doc if given is None else given
    if not isinstance(text, str):
        raise DefinitionError(f"{where}: description must be text, not {text!r}.")
    if not text.strip():
        warnings.warn(
            f"{where} has no description, so agents only get its name. Give it a docstring, or description=.",
            stacklevel=outside(),
        )
        return name
    if 3 * len(text) > MAX_DESCRIPTION_BYTES or not text.isascii() or "\0" in text:
        return check_description(f"{where}: description", text, truncate=truncate)
    return text


def outside() -> int:
    """Return the stacklevel of the first frame that is not of this package."""
    level, frame = 1, sys._getframe(1)  # noqa: SLF001 - warnings itself counts frames
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame, level = frame.f_back, level + 1
    return level
