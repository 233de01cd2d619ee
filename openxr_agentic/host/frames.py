"""The control channel's frames: values to bytes and back.

The format is described in ``native_headers/openxr_agentic/channel.h``. Nothing
here does I/O.
"""

from __future__ import annotations

import enum
import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from openxr_agentic.errors import AgenticError

VERSION: Final = 1
MAX_FRAME_BYTES: Final = 80 * 1024 * 1024
HEADER: Final = struct.Struct("<IBI")
_LENGTH_BYTES: Final = 4
_RESULT_HEAD: Final = struct.Struct("<BiBQQI")
_MAX_MILLISECONDS: Final = 0xFFFFFFFF
_NO_ITEM_TYPE: Final = 255
_MARKED_ERROR: Final = 1


class FrameType(enum.IntEnum):
    """What a frame is."""

    HELLO = 1
    LIST = 2
    CALL = 3
    RESULT = 4
    CANCEL = 5
    CHANGED = 6
    STATISTICS = 7
    ERROR = 8


class CallStatus(enum.IntEnum):
    """How an agent call ended."""

    DONE = 0
    FAILED = 1
    UNKNOWN_TOOL = 2
    TIMED_OUT = 3
    CANCELLED = 4
    CLOSING = 5
    REFUSED = 6


class FrameError(AgenticError, ValueError):
    """Bytes that are no frame, or a frame that does not hold what its type says."""


@dataclass(frozen=True)
class Hello:
    """Who answers on a channel."""

    version: int
    """The version chosen; 0: the app speaks none of those offered."""
    pid: int
    application_name: str
    label: str
    """What OPENXR_AGENTIC_CHANNEL was set to, when that is more than "1"."""
    host: str
    """Name and version of the host, for example "mock runtime 0.1.0"."""
    display_period_microseconds: int


@dataclass(frozen=True)
class Parameter:
    """A tool's parameter as the app registered it."""

    name: str
    description: str
    type: int
    """0 string, 1 number, 2 boolean, 3 array, 4 object; whatever the extension's own numbers are."""
    required: bool
    item_type: int | None
    """As `type`; None when the parameter is no array."""
    object_properties: str
    """JSON text; empty when the parameter is no object."""


@dataclass(frozen=True)
class Tool:
    """A tool as the app registered it."""

    name: str
    description: str
    main_thread: bool
    parameters: tuple[Parameter, ...]
    metadata: str = ""
    """What the app says of it beyond the extension, by convention a JSON object (``metadata.h``); empty: nothing."""


class CallResult(NamedTuple):
    """How a call ended, and what came back."""

    # A tuple, not a frozen dataclass: it is made on the way of every call.
    status: CallStatus
    result: int
    """The XrResult of the tool's callback; 0 where none was called."""
    text: str
    """The tool's result; with a status that is not DONE, why, in words."""
    queue_seconds: float
    callback_seconds: float
    error: bool = False
    """Whether the app marked the result as an error (``metadata.h``)."""


class Frame(NamedTuple):
    """A frame as it came in."""

    type: int
    id: int
    payload: bytes


class FrameSplitter:
    """Cuts what a stream delivers into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes.

        Raises:
            FrameError: The stream does not hold frames; nothing after this can be read.
        """
        # Nearly always one whole frame arrives, which needs no copy to a buffer.
        source: bytes | bytearray = data
        if self._rest:
            self._rest += data
            source = self._rest
        frames = []
        start = 0
        while len(source) - start >= HEADER.size:
            length, kind, request_id = HEADER.unpack_from(source, start)
            end = start + _LENGTH_BYTES + length
            if length < HEADER.size - _LENGTH_BYTES or length > MAX_FRAME_BYTES:
                raise FrameError(f"a frame claims {length} bytes")
            if end > len(source):
                break
            frames.append(Frame(kind, request_id, bytes(source[start + HEADER.size : end])))
            start = end
        if source is self._rest:
            del self._rest[:start]
        else:
            self._rest += data[start:]
        return frames


def encode(kind: int, request_id: int, payload: bytes = b"") -> bytes:
    """Return a frame.

    Raises:
        FrameError: It would be longer than a frame can be.
    """
    length = HEADER.size - _LENGTH_BYTES + len(payload)
    if length > MAX_FRAME_BYTES:
        raise FrameError(f"{length} bytes are too long for a frame; {MAX_FRAME_BYTES} is the most")
    return HEADER.pack(length, kind, request_id) + payload


def encode_hello(request_id: int, lowest: int = VERSION, highest: int = VERSION) -> bytes:
    """Return a client's first frame: the versions that it speaks."""
    return encode(FrameType.HELLO, request_id, struct.pack("<HH", lowest, highest))


def encode_call(request_id: int, tool: str, arguments: str, timeout: float | None) -> bytes:
    """Return the frame that calls a tool.

    Args:
        request_id: Not in use by another call of this connection.
        tool: The tool's name.
        arguments: JSON text.
        timeout: Seconds, at least a millisecond is sent; None: the app's default.

    Raises:
        FrameError: A text cannot be sent: too long, not encodable as UTF-8, or with a NUL.
    """
    milliseconds = 0 if timeout is None else max(1, min(_MAX_MILLISECONDS, round(timeout * 1000)))
    try:
        name = tool.encode()
        text = arguments.encode()
    except UnicodeEncodeError as error:
        raise FrameError(f"the tool's name or arguments cannot be sent as UTF-8: {error}") from error
    if b"\0" in name or b"\0" in text:
        raise FrameError("the tool's name or arguments hold a NUL, which ends a text in C")
    return encode(
        FrameType.CALL,
        request_id,
        struct.pack(f"<II{len(name)}sI", milliseconds, len(name), name, len(text)) + text,
    )


def decode_result(payload: bytes) -> CallResult:
    """Read a RESULT frame's payload.

    Raises:
        FrameError: The payload does not hold a result.
    """
    try:
        status, result, flags, queue_ns, callback_ns, count = _RESULT_HEAD.unpack_from(payload)
        text = payload[_RESULT_HEAD.size :].decode()
        if count != len(payload) - _RESULT_HEAD.size:
            raise FrameError("a result's text is shorter or longer than it says")
        marked = flags & _MARKED_ERROR != 0  # other bits are of a newer app
        return CallResult(CallStatus(status), result, text, queue_ns / 1e9, callback_ns / 1e9, marked)
    except (struct.error, ValueError) as error:
        raise FrameError(f"a result cannot be read: {error}") from error


class _Reader:
    """Takes values off a payload, from its start."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._at = 0

    def integers(self, form: str) -> tuple[int, ...]:
        try:
            values = struct.unpack_from(form, self._payload, self._at)
        except struct.error as error:
            raise FrameError(f"a frame ends too early: {error}") from error
        self._at += struct.calcsize(form)
        return values

    def text(self) -> str:
        (count,) = self.integers("<I")
        start, self._at = self._at, self._at + count
        if self._at > len(self._payload):
            raise FrameError("a frame ends inside of a text")
        try:
            return self._payload[start : self._at].decode()
        except UnicodeDecodeError as error:
            raise FrameError(f"a text is not valid UTF-8: {error}") from error

    def end(self) -> None:
        if self._at != len(self._payload):
            raise FrameError("a frame is longer than what it holds")


def decode_hello(payload: bytes) -> Hello:
    """Read the app's HELLO.

    Raises:
        FrameError: The payload does not hold one.
    """
    reader = _Reader(payload)
    version, pid = reader.integers("<HI")
    name, label, host = reader.text(), reader.text(), reader.text()
    (period,) = reader.integers("<I")
    reader.end()
    return Hello(version, pid, name, label, host, period)


def decode_tools(payload: bytes) -> tuple[int, tuple[Tool, ...]]:
    """Read a LIST: the revision of the list, and its tools in the order of registration.

    Raises:
        FrameError: The payload does not hold a list.
    """
    reader = _Reader(payload)
    revision, count = reader.integers("<QI")
    tools = tuple(_decode_tool(reader) for _ in range(count))
    reader.end()
    return revision, tools


def _decode_tool(reader: _Reader) -> Tool:
    name, description = reader.text(), reader.text()
    (main_thread,) = reader.integers("<B")
    metadata = reader.text()
    (count,) = reader.integers("<I")
    parameters = tuple(_decode_parameter(reader) for _ in range(count))
    return Tool(name, description, bool(main_thread), parameters, metadata)


def _decode_parameter(reader: _Reader) -> Parameter:
    name, description = reader.text(), reader.text()
    kind, required, item_type = reader.integers("<BBB")
    return Parameter(
        name, description, kind, bool(required), None if item_type == _NO_ITEM_TYPE else item_type, reader.text()
    )


def decode_statistics(payload: bytes) -> dict[str, int]:
    """Read a STATISTICS frame's payload.

    Raises:
        FrameError: The payload does not hold statistics.
    """
    reader = _Reader(payload)
    (count,) = reader.integers("<I")
    statistics = {}
    for _ in range(count):
        name = reader.text()
        (statistics[name],) = reader.integers("<Q")
    reader.end()
    return statistics


def decode_error(payload: bytes) -> str:
    """Read an ERROR: what was wrong with a request.

    Raises:
        FrameError: The payload does not hold a text.
    """
    reader = _Reader(payload)
    text = reader.text()
    reader.end()
    return text
