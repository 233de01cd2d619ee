"""An app that exists only on the control channel.

It speaks the frames of ``native_headers/openxr_agentic/channel.h`` from
asyncio, so that the agent's server and the command line are tested without
OpenXR, and with faults that a real host cannot be asked for. Its tools are
coroutines: a test decides when one answers.
"""

from __future__ import annotations

import asyncio
import os
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

HELLO: Final = 1
LIST: Final = 2
CALL: Final = 3
RESULT: Final = 4
CANCEL: Final = 5
CHANGED: Final = 6
ERROR: Final = 8

DONE: Final = 0
FAILED: Final = 1
UNKNOWN_TOOL: Final = 2
TIMED_OUT: Final = 3
CANCELLED: Final = 4
CLOSING: Final = 5
REFUSED: Final = 6

STRING, NUMBER, BOOLEAN, ARRAY, OBJECT = range(5)
NO_ITEMS: Final = 255


@dataclass(frozen=True)
class Answer:
    """What a fake tool gives back when it is more than a text.

    Attributes:
        flags: 1: marked as an error.
    """

    text: str
    status: int = DONE
    result: int = 0
    flags: int = 0


@dataclass(frozen=True)
class FakeParameter:
    name: str
    type: int = STRING
    description: str = ""
    required: bool = False
    item_type: int = NO_ITEMS
    object_properties: str = ""


Callback = Callable[[str], Awaitable["str | Answer"]]


@dataclass(frozen=True)
class FakeTool:
    name: str
    callback: Callback
    description: str = ""
    parameters: tuple[FakeParameter, ...] = ()
    metadata: str = ""


@dataclass
class FakeApp:
    """One app's end of the channel.

    Attributes:
        calls: What was called so far: (tool, arguments).
        cancelled: Ids of the calls that a client withdrew.
        timeouts: What each call's client allowed, in milliseconds.
        mute: Whether it leaves requests for its list unanswered.
        garbled: Whether it answers them with what cannot be read.
        seen: How often a client has said hello.
    """

    tools: dict[str, FakeTool] = field(default_factory=dict)
    name: str = "Fake App"
    label: str = ""
    pid: int = field(default_factory=os.getpid)
    calls: list[tuple[str, str]] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    timeouts: list[int] = field(default_factory=list)
    seen: int = 0
    mute: bool = False
    garbled: bool = False
    _revision: int = 0
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _connections: set[asyncio.Task[None]] = field(default_factory=set)
    _listeners: set[asyncio.StreamWriter] = field(default_factory=set)

    def add(
        self,
        name: str,
        callback: Callback,
        *parameters: FakeParameter,
        description: str = "",
        metadata: str = "",
    ) -> None:
        """Register a tool, or change it, silently: see `announce`."""
        self.tools[name] = FakeTool(name, callback, description, parameters, metadata)
        self._revision += 1

    def announce(self, times: int = 1) -> None:
        """Tell every client that the list of tools changed."""
        for _ in range(times):
            for writer in self._listeners:
                writer.write(_frame(CHANGED, 0, struct.pack("<Q", self._revision)))

    @property
    def clients(self) -> int:
        """How many clients have said hello and not left."""
        return len(self._listeners)

    @asynccontextmanager
    async def running(self, folder: Path) -> AsyncIterator[Path]:
        """Offer the channel as ``<folder>/openxr-agentic/<pid>.sock`` until the block ends."""
        parent = folder / "openxr-agentic"
        parent.mkdir(mode=0o700, exist_ok=True)
        path = parent / f"{self.pid}.sock"
        server = await asyncio.start_unix_server(self._serve, path)
        path.chmod(0o600)
        try:
            yield path
        finally:
            server.close()
            for writer in self._writers:
                writer.close()
            await asyncio.gather(*self._connections)
            path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        connection = asyncio.current_task()
        assert connection is not None
        self._connections.add(connection)
        running: dict[int, asyncio.Task[None]] = {}
        try:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    length, kind, identifier = struct.unpack("<IBI", await reader.readexactly(9))
                    payload = await reader.readexactly(length - 5)
                    self._take(writer, running, kind, identifier, payload)
        finally:
            for task in running.values():
                task.cancel()
            self._listeners.discard(writer)
            self._writers.discard(writer)
            self._connections.discard(connection)
            writer.close()

    def _take(
        self,
        writer: asyncio.StreamWriter,
        running: dict[int, asyncio.Task[None]],
        kind: int,
        identifier: int,
        payload: bytes,
    ) -> None:
        if kind == HELLO:
            hello = struct.pack("<HI", 1, self.pid)
            hello += _text(self.name) + _text(self.label) + _text("fake host")
            writer.write(_frame(HELLO, identifier, hello + struct.pack("<I", 11_111)))
            self._listeners.add(writer)
            self.seen += 1
        elif kind == LIST and self.mute:
            pass
        elif kind == LIST and self.garbled:
            writer.write(_frame(ERROR, identifier, b"\xff\xff\xff\xff"))
        elif kind == LIST:
            writer.write(_frame(LIST, identifier, self._list()))
        elif kind == CALL:
            self.timeouts.append(*struct.unpack_from("<I", payload))
            tool, offset = _read_text(payload, 4)
            arguments, _ = _read_text(payload, offset)
            running[identifier] = asyncio.ensure_future(self._call(writer, identifier, tool, arguments))
        elif kind == CANCEL:
            self.cancelled.append(identifier)
            if (task := running.get(identifier)) is not None and task.cancel():
                writer.write(_result(identifier, Answer("withdrawn", CANCELLED)))
        else:
            writer.write(_frame(ERROR, identifier, _text(f"unknown frame type {kind}")))

    async def _call(self, writer: asyncio.StreamWriter, identifier: int, tool: str, arguments: str) -> None:
        self.calls.append((tool, arguments))
        if tool not in self.tools:
            answer: str | Answer = Answer(f"no tool is named {tool}", UNKNOWN_TOOL)
        else:
            try:
                answer = await self.tools[tool].callback(arguments)
            except ValueError as error:  # what the app cannot answer, it says in an ERROR frame
                writer.write(_frame(ERROR, identifier, _text(str(error))))
                return
        if isinstance(answer, str):
            answer = Answer(answer)
        writer.write(_result(identifier, answer))

    def _list(self) -> bytes:
        parts = [struct.pack("<QI", self._revision, len(self.tools))]
        for tool in self.tools.values():
            parts += [_text(tool.name), _text(tool.description)]
            parts += [b"\1", _text(tool.metadata), struct.pack("<I", len(tool.parameters))]
            for parameter in tool.parameters:
                parts += [_text(parameter.name), _text(parameter.description)]
                parts.append(bytes([parameter.type, parameter.required, parameter.item_type]))
                parts.append(_text(parameter.object_properties))
        return b"".join(parts)


def _frame(kind: int, identifier: int, payload: bytes) -> bytes:
    return struct.pack("<IBI", 5 + len(payload), kind, identifier) + payload


def _result(identifier: int, answer: Answer) -> bytes:
    head = struct.pack("<BiBQQ", answer.status, answer.result, answer.flags, 0, 0)
    return _frame(RESULT, identifier, head + _text(answer.text))


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack("<I", len(encoded)) + encoded


def _read_text(payload: bytes, offset: int) -> tuple[str, int]:
    (size,) = struct.unpack_from("<I", payload, offset)
    start = offset + 4
    return payload[start : start + size].decode(), start + size


async def _main() -> None:
    """Be an app until killed: what ``openxr-agentic run`` may start in a test."""

    async def environment(arguments: str) -> str:
        return os.environ["XR_RUNTIME_JSON"]

    app = FakeApp(label=os.environ["OPENXR_AGENTIC_CHANNEL"])
    app.add("runtime", environment)
    async with app.running(Path(os.environ["XDG_RUNTIME_DIR"])):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_main())
