"""Drives the host in this process, for tests. Bindings of ``host_control.h``.

The library, be it the mock runtime's or the API layer's, is the one that the OpenXR
loader uses as well: both open the same file.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openxr_agentic.errors import NativeBuildMissingError, ResultError
from openxr_agentic.host import library_path
from openxr_agentic.host.frames import CallStatus, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSION: Final = 2
COUNT_UNTOUCHED: Final = 0xC0DEC0DE
"""What `RawResult.count` is when the callback did not set it."""

# A handle is a pointer where pointers have 64 bits, and a 64-bit number elsewhere.
_Instance = ctypes.c_uint64 if ctypes.sizeof(ctypes.c_void_p) < ctypes.sizeof(ctypes.c_uint64) else ctypes.c_void_p


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 64),
        ("description", ctypes.c_char * 1024),
        ("type", ctypes.c_int32),
        ("required", ctypes.c_int32),
        ("item_type", ctypes.c_int32),
        ("object_properties", ctypes.c_char * 4096),
    )


class _Tool(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char * 64),
        ("description", ctypes.c_char * 1024),
        ("main_thread", ctypes.c_int32),
        ("parameter_count", ctypes.c_uint32),
        ("parameters", ctypes.POINTER(_Parameter)),
        ("callback", ctypes.c_void_p),
        ("user_data", ctypes.c_void_p),
    )


class _AgentCall(ctypes.Structure):
    _fields_ = (
        ("tool", ctypes.c_char_p),
        ("arguments", ctypes.c_char_p),
        ("thread", ctypes.c_char_p),
        ("timeout_ns", ctypes.c_int64),
        ("status", ctypes.c_int32),
        ("result", ctypes.c_int32),
        ("c_calls", ctypes.c_uint32),
        ("error", ctypes.c_int32),
        ("text_bytes", ctypes.c_uint64),
        ("text", ctypes.c_void_p),
    )


class _RawCall(ctypes.Structure):
    _fields_ = (
        ("callback", ctypes.c_void_p),
        ("user_data", ctypes.c_void_p),
        ("arguments", ctypes.c_char_p),
        ("thread", ctypes.c_char_p),
        ("capacity", ctypes.c_uint32),
        ("null_buffer", ctypes.c_int32),
        ("null_count", ctypes.c_int32),
        ("result", ctypes.c_int32),
        ("count", ctypes.c_uint32),
        ("written", ctypes.c_uint32),
        ("beyond", ctypes.c_int32),
        ("buffer", ctypes.c_void_p),
    )


def _function(result: Any, *arguments: Any) -> Any:
    """The type of a function pointer; calling one lets go of the GIL."""
    return ctypes.CFUNCTYPE(result, *arguments)


class _Table(ctypes.Structure):
    _fields_ = (
        ("size", ctypes.c_uint32),
        ("version", ctypes.c_uint32),
        ("set_option", _function(ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64)),
        ("set_number", _function(ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64)),
        ("reset", _function(None)),
        ("fail", _function(ctypes.c_int32, ctypes.c_char_p, ctypes.c_int32, ctypes.c_uint32, ctypes.c_int32)),
        ("instances", _function(ctypes.c_uint32, ctypes.POINTER(_Instance), ctypes.c_uint32)),
        ("function_calls", _function(ctypes.c_uint64, ctypes.c_char_p)),
        ("tool_count", _function(ctypes.c_int32, _Instance, ctypes.POINTER(ctypes.c_uint32))),
        ("tool", _function(ctypes.c_int32, _Instance, ctypes.c_uint32, ctypes.POINTER(_Tool))),
        ("metadata", _function(ctypes.c_int32, _Instance, ctypes.c_uint32, ctypes.POINTER(ctypes.c_void_p))),
        ("call", _function(ctypes.c_int32, _Instance, ctypes.POINTER(_AgentCall))),
        ("raw_call", _function(ctypes.c_int32, _Instance, ctypes.POINTER(_RawCall))),
        ("flood", _function(ctypes.c_int32, _Instance, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint32)),
        ("statistic", _function(ctypes.c_int64, _Instance, ctypes.c_char_p)),
        ("free_text", _function(None, ctypes.c_void_p)),
    )


@dataclass(frozen=True)
class RegisteredTool:
    """A tool as the host keeps it."""

    name: str
    description: str
    main_thread: bool
    parameters: tuple[Parameter, ...]
    callback: int
    """Address of the C function; for `HostControl.raw_call`."""
    user_data: int
    metadata: str
    """What the app says of it beyond the extension (``metadata.h``); empty: nothing."""


@dataclass(frozen=True)
class AgentResult:
    """How an agent call that the host played has ended."""

    status: CallStatus
    result: int
    """XrResult of the last C call."""
    text: str
    c_calls: int
    """How many C calls the two-call idiom took."""
    error: bool
    """Whether the app marked the result as an error."""


@dataclass(frozen=True)
class RawResult:
    """What one C call of a callback did."""

    result: int
    count: int
    written: int
    """Bytes from the buffer's start up to the last one that was changed."""
    wrote_beyond: bool
    """Whether bytes behind the buffer were changed."""
    buffer: bytes
    """The whole buffer after the call; empty when its pointer was NULL."""


class HostControl:
    """A host library's controls. An `instance` of 0 stands for the newest living one.

    Every method may be used on any thread, and lets go of the GIL.
    """

    def __init__(self, table: _Table) -> None:
        self._table = table

    def set_option(self, name: str, value: int) -> None:
        """Set an option for instances that are created from now on (see ``host_control.h``).

        Raises:
            ValueError: There is no such option, or its value is out of range.
        """
        if self._table.set_option(name.encode(), value) != 0:
            raise ValueError(f"the mock runtime has no option {name!r} that can be {value}")

    def set_number(self, name: str, value: int) -> None:
        """Set one of the extension's numbers that the host expects, by the header's name.

        Raises:
            ValueError: There is no such number.
        """
        if self._table.set_number(name.encode(), value) != 0:
            raise ValueError(f"the extension has no number {name!r}")

    def reset(self) -> None:
        """Return to the default options and numbers, and forget all faults."""
        self._table.reset()

    def fail(self, function: str, result: int, *, times: int = 1, lookup: bool = False) -> None:
        """Have the next calls of an OpenXR function, or its next look-ups, return `result`.

        Raises:
            ValueError: The mock runtime has no such function.
        """
        if self._table.fail(function.encode(), result, times, int(lookup)) != 0:
            raise ValueError(f"the mock runtime has no function {function!r}")

    def instances(self) -> list[int]:
        """Return the handles of the living instances, the oldest first."""
        count = self._table.instances(None, 0)
        handles = (_Instance * (count + 1))()
        # Another thread may create or destroy one in between.
        count = min(count, self._table.instances(handles, count))
        return [handle or 0 for handle in handles[:count]]

    def function_calls(self, function: str) -> int:
        """Return how often an OpenXR function of the mock was called in this process."""
        calls: int = self._table.function_calls(function.encode())
        return calls

    def tools(self, instance: int = 0) -> list[RegisteredTool]:
        """Return the registered tools, in the order of registration.

        Raises:
            ResultError: There is no such instance.
        """
        count = ctypes.c_uint32()
        _check("tool_count", self._table.tool_count(instance, ctypes.byref(count)))
        tools = []
        for index in range(count.value):
            tool = _Tool()
            _check("tool", self._table.tool(instance, index, ctypes.byref(tool)))
            tools.append(_registered_tool(tool, self._metadata(instance, index)))
        return tools

    def _metadata(self, instance: int, index: int) -> str:
        text = ctypes.c_void_p()
        _check("metadata", self._table.metadata(instance, index, ctypes.byref(text)))
        try:
            return ctypes.string_at(text).decode()
        finally:
            self._table.free_text(text)

    def call(
        self,
        tool: str,
        arguments: str | bytes | None = "{}",
        *,
        thread: str | None = None,
        timeout: float = 0.0,
        instance: int = 0,
    ) -> AgentResult:
        """Call a tool as the host does for an agent, and wait until the call has ended.

        Args:
            tool: The tool's name.
            arguments: JSON text; bytes are passed on unchecked; None is passed on as NULL.
            thread: None: where the tool wants to run. Else the kept native thread of
                that name, whatever the tool wants.
            timeout: Seconds; 0 for the host's default.
            instance: An instance's handle.

        Raises:
            ResultError: There is no such instance.
        """
        call = _AgentCall(
            tool=tool.encode(),
            arguments=_text(arguments),
            thread=_text(thread),
            timeout_ns=round(timeout * 1e9),
        )
        _check("call", self._table.call(instance, ctypes.byref(call)))
        try:
            text = ctypes.string_at(call.text, call.text_bytes).decode()
        finally:
            self._table.free_text(call.text)
        return AgentResult(CallStatus(call.status), call.result, text, call.c_calls, call.error != 0)

    def raw_call(
        self,
        callback: int,
        user_data: int,
        arguments: str | bytes | None = "{}",
        *,
        capacity: int = 0,
        null_buffer: bool = False,
        null_count: bool = False,
        thread: str | None = None,
        instance: int = 0,
    ) -> RawResult:
        """Make exactly one C call of a callback, past the queue.

        Args:
            callback: The C function's address.
            user_data: What it is given as userData.
            arguments: As in `call`.
            capacity: Bytes of the buffer, and what the callback is told.
            null_buffer: Give no buffer, whatever the capacity.
            null_count: Give no pointer for the count.
            thread: None: the calling thread; else the kept native thread of that name.
            instance: An instance's handle; without `thread`, none needs to live.

        Raises:
            ResultError: There is no such instance, or it was destroyed meanwhile.
        """
        call = _RawCall(
            callback=callback,
            user_data=user_data,
            arguments=_text(arguments),
            thread=_text(thread),
            capacity=capacity,
            null_buffer=int(null_buffer),
            null_count=int(null_count),
        )
        _check("raw_call", self._table.raw_call(instance, ctypes.byref(call)))
        try:
            buffer = ctypes.string_at(call.buffer, capacity) if call.buffer else b""
        finally:
            self._table.free_text(call.buffer)
        return RawResult(call.result, call.count, call.written, bool(call.beyond), buffer)

    def flood(self, tool: str, arguments: str | bytes | None = "{}", *, threads: int = 1, instance: int = 0) -> None:
        """Have native threads call a tool over and over, until the instance is destroyed.

        Raises:
            ResultError: There is no such instance or tool.
        """
        _check("flood", self._table.flood(instance, tool.encode(), _text(arguments), threads))

    def statistic(self, name: str, instance: int = 0) -> int:
        """Return one of the host's counters (see ``host_control.h``).

        Raises:
            ValueError: There is no such counter, or no such instance.
        """
        value: int = self._table.statistic(instance, name.encode())
        if value < 0:
            raise ValueError(f"there is no statistic {name!r}, or no such instance")
        return value


def load(library: Path | None = None) -> HostControl:
    """Open a host's library, and return its controls.

    Args:
        library: `layer_library_path()`; None: the mock runtime's.

    Raises:
        NativeBuildMissingError: It is not built, or of another version than this package.
    """
    path = library_path() if library is None else library
    try:
        get_control: Callable[[int], Any] = ctypes.CDLL(str(path)).oxaGetHostControl
    except (OSError, AttributeError) as error:
        raise NativeBuildMissingError(f"The host's library {path} cannot be used: {error}. Build it again.") from error
    get_control.argtypes = (ctypes.c_uint32,)  # type: ignore[attr-defined]
    get_control.restype = ctypes.POINTER(_Table)  # type: ignore[attr-defined]
    table = get_control(VERSION)
    if not table or table.contents.size != ctypes.sizeof(_Table):
        raise NativeBuildMissingError(f"The host's library {path} is of another version. Build it again.")
    return HostControl(table.contents)


def _check(function: str, result: int) -> None:
    if result != 0:
        raise ResultError(f"The mock runtime's {function}", result)


def _text(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _registered_tool(tool: _Tool, metadata: str) -> RegisteredTool:
    parameters = tuple(
        Parameter(
            parameter.name.decode(),
            parameter.description.decode(),
            parameter.type,
            bool(parameter.required),
            None if parameter.item_type < 0 else parameter.item_type,
            parameter.object_properties.decode(),
        )
        for parameter in tool.parameters[: tool.parameter_count]
    )
    return RegisteredTool(
        tool.name.decode(),
        tool.description.decode(),
        bool(tool.main_thread),
        parameters,
        tool.callback or 0,
        tool.user_data or 0,
        metadata,
    )
