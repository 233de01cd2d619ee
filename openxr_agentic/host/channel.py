"""A client of the control channel: finds apps, lists their tools, calls them.

    for app in find_apps():
        client = await ChannelClient.connect(app.path)
        result = await client.call("MyApp_Echo", '{"input": "hi"}')

One client is one connection, for one event loop. Calls may overlap; each is
answered when it has ended.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import re
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openxr_agentic.errors import AgenticError
from openxr_agentic.host.frames import (
    CallResult,
    CallStatus,
    Frame,
    FrameError,
    FrameSplitter,
    FrameType,
    Hello,
    Parameter,
    Tool,
    decode_error,
    decode_hello,
    decode_result,
    decode_statistics,
    decode_tools,
    encode,
    encode_call,
    encode_hello,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "App",
    "CallResult",
    "CallStatus",
    "ChannelClient",
    "ChannelClosedError",
    "ChannelError",
    "ChannelTimeoutError",
    "Parameter",
    "Tool",
    "channel_problem",
    "find_apps",
    "socket_folder",
]

SILENCE_SECONDS: Final = 2.0
"""How much longer than a call's own time an app may take to say that the time is over."""

_NO_CHANNEL = "The control channel, by which agents reach an app on a host of this package, is not there on Windows yet"
_SOCKET_NAME = re.compile(r"([1-9][0-9]*)\.sock")


class ChannelError(AgenticError):
    """A request over the control channel could not be answered."""


class ChannelClosedError(ChannelError, ConnectionError):
    """The connection to the app is over; whether a pending call ran is unknown."""


class ChannelTimeoutError(ChannelError, TimeoutError):
    """The app does not answer; whether a pending call ran is unknown."""


class App(NamedTuple):
    """A process that has a control channel."""

    pid: int
    path: Path


def channel_problem() -> str | None:
    """Return why this system has no control channel; None where it has."""
    if sys.platform == "win32":
        return f"{_NO_CHANNEL}."
    return None


def socket_folder() -> Path:
    """Return the folder of this user's channels, whether or not it exists."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        return Path(runtime, "openxr-agentic")
    temporary = os.environ.get("TMPDIR", "")
    if not temporary.startswith("/"):
        temporary = "/tmp"
    return Path(temporary, f"openxr-agentic-{os.geteuid()}")


def find_apps() -> list[App]:
    """Return the running apps of this user that have a control channel, by process id."""
    if sys.platform == "win32":
        return []
    folder = socket_folder()
    try:
        status = folder.lstat()
        # Somebody else's folder under /tmp could hold anything.
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return []
        paths = sorted(folder.iterdir())
    except OSError:
        return []
    matches = ((path, _SOCKET_NAME.fullmatch(path.name)) for path in paths)
    apps = [App(int(match[1]), path) for path, match in matches if match]
    return sorted(app for app in apps if _runs(app.pid) and app.path.is_socket())


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError):
        return False
    return True


class ChannelClient:
    """A connection to one app. Made by `connect`.

    Attributes:
        path: The app's socket.
        application_name: What the app calls itself in xrCreateInstance.
        label: What OPENXR_AGENTIC_CHANNEL was set to, when that is more than "1".
        host: The host's name and version.
        pid: The app's process id.
        display_period: Seconds between two frames.
        closed: Done when the connection is over, whoever ended it.
    """

    def __init__(self, connection: _Connection, hello: Hello, path: str) -> None:
        self._connection = connection
        self.path = Path(path)
        self.closed = connection.closed
        self.application_name = hello.application_name
        self.label = hello.label
        self.host = hello.host
        self.pid = hello.pid
        self.display_period = hello.display_period_microseconds / 1e6

    @classmethod
    async def connect(cls, path: str | os.PathLike[str]) -> ChannelClient:
        """Connect to the app behind a socket, and exchange greetings.

        Raises:
            ChannelError: The app speaks no version of the channel that this client speaks.
            OSError: There is no such socket, or nobody listens (ChannelClosedError: any more).
        """
        if sys.platform == "win32":  # for type checkers too, which know no Unix sockets there
            raise ChannelError(_NO_CHANNEL)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_unix_connection(_Connection, os.fspath(path))
        try:
            hello: Hello = await connection.request(encode_hello, decode_hello)
        except BaseException:
            connection.abort()
            raise
        if hello.version == 0:
            connection.abort()
            raise ChannelError(f"the app behind {os.fspath(path)} speaks another version of the control channel")
        return cls(connection, hello, os.fspath(path))

    async def list_tools(self) -> tuple[Tool, ...]:
        """Return the app's tools, in the order of registration.

        Raises:
            ChannelClosedError: The connection is over.
        """
        tools: tuple[Tool, ...]
        _revision, tools = await self._connection.request(_encode_list, decode_tools)
        return tools

    async def call(self, tool: str, arguments: str = "{}", timeout: float | None = None) -> CallResult:
        """Run a tool in the app. Cancelling the awaiting task takes the call back.

        Args:
            tool: The tool's name.
            arguments: JSON text, passed on as it is.
            timeout: Seconds until the app gives the call up; None: the app's default.

        Returns:
            How the call ended, also when the tool failed or never ran.

        Raises:
            ChannelClosedError: The connection was over, or was lost before the answer.
            FrameError: The arguments cannot be sent.
            ChannelTimeoutError: `timeout` was given, and the app said nothing, not even
                that it had given the call up: it may be stopped in a debugger.
        """
        connection = self._connection
        request_id = connection.free_id()
        future = connection.send(request_id, encode_call(request_id, tool, arguments, timeout), decode_result)
        # A timer costs a tenth of what a task for asyncio.wait_for would, and this is on the way of every call.
        guard = None if timeout is None else connection.call_later(timeout + SILENCE_SECONDS, _fail_silent, future)
        try:
            result: CallResult = await future
        except (asyncio.CancelledError, ChannelTimeoutError):
            connection.take_back(request_id)
            raise
        finally:
            if guard is not None:
                guard.cancel()
        return result

    async def statistics(self) -> dict[str, int]:
        """Return the host's counters by name.

        Raises:
            ChannelClosedError: The connection is over.
        """
        statistics: dict[str, int] = await self._connection.request(_encode_statistics, decode_statistics)
        return statistics

    def on_changed(self, callback: Callable[[], object] | None) -> None:
        """Have `callback` run in the event loop whenever the app's list of tools, or metadata in it, has changed."""
        self._connection.changed = callback

    async def close(self) -> None:
        """End the connection. The app withdraws what was still under way."""
        self._connection.close()
        await asyncio.shield(self.closed)


def _fail_silent(future: asyncio.Future[Any]) -> None:
    if not future.done():
        future.set_exception(
            ChannelTimeoutError("the app does not answer: it may be stopped in a debugger, or be overloaded")
        )


def _encode_list(request_id: int) -> bytes:
    return encode(FrameType.LIST, request_id)


def _encode_statistics(request_id: int) -> bytes:
    return encode(FrameType.STATISTICS, request_id)


class _Connection(asyncio.Protocol):
    """Requests and their answers on one stream.

    It is on the way of every agent call: a request is one future in a dict, with
    no task, queue or lock of its own.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._splitter = FrameSplitter()
        self._pending: dict[int, tuple[Callable[[bytes], Any], asyncio.Future[Any]]] = {}
        self._ids = itertools.cycle(range(1, 0xFFFFFFFF))
        self._broken: FrameError | None = None
        self.changed: Callable[[], object] | None = None
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def free_id(self) -> int:
        request_id = next(self._ids)
        while request_id in self._pending:
            request_id = next(self._ids)
        return request_id

    def send(self, request_id: int, frame: bytes, decode: Callable[[bytes], Any]) -> asyncio.Future[Any]:
        transport = self._transport
        if transport is None:
            raise ChannelClosedError("the connection to the app is closed")
        future = self._loop.create_future()
        self._pending[request_id] = (decode, future)
        transport.write(frame)
        return future

    async def request(self, make: Callable[[int], bytes], decode: Callable[[bytes], Any]) -> Any:
        request_id = self.free_id()
        try:
            return await self.send(request_id, make(request_id), decode)
        finally:
            self._pending.pop(request_id, None)

    def call_later(self, seconds: float, function: Callable[..., object], *arguments: object) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, function, *arguments)

    def take_back(self, request_id: int) -> None:
        # The answer that the app gives all the same finds nobody, and is dropped.
        if self._pending.pop(request_id, None) is not None and self._transport is not None:
            self._transport.write(encode(FrameType.CANCEL, request_id))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a stream's is a Transport

    def data_received(self, data: bytes) -> None:
        try:
            for frame in self._splitter.feed(data):
                self._receive(frame)
        except FrameError as error:
            self._broken = error
            self.abort()

    def _receive(self, frame: Frame) -> None:
        if frame.type == FrameType.CHANGED:
            if self.changed is not None:
                self.changed()
            return
        decode, future = self._pending.pop(frame.id, (None, None))
        if decode is None or future is None or future.done():
            return
        try:
            if frame.type == FrameType.ERROR:
                future.set_exception(ChannelError(f"the app refused a request: {decode_error(frame.payload)}"))
            else:
                future.set_result(decode(frame.payload))
        except FrameError as error:
            future.set_exception(ChannelClosedError(f"the app's answer cannot be read: {error}"))
            raise

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        reason = self._broken or error
        text = "the connection to the app was lost" + (f": {reason}" if reason else "")
        pending, self._pending = self._pending, {}
        for _decode, future in pending.values():
            if not future.done():
                future.set_exception(ChannelClosedError(text))
        if not self.closed.done():
            self.closed.set_result(None)
