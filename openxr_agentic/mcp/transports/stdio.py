"""MCP over this process's stdin and stdout, one JSON-RPC message a line.

From the moment that it serves, the two descriptors belong to the protocol
alone: duplicates of them carry the messages, no child process inherits these,
and descriptor 1 itself leads to stderr. So whatever prints, in Python or in C,
cannot break a message.

The package's own transport waits for the client's next line in a thread that
nothing can end but the client; a signal would end the command only after that.
Here the two threads that read and write are daemons.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import logging
import os
import queue
import sys
import threading
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from openxr_agentic import descriptors
from openxr_agentic.errors import AgenticError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from anyio.streams.memory import MemoryObjectSendStream
    from typing_extensions import Self

    from openxr_agentic.mcp.server import AgentServer

log = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 1.0
"""How long a client that does not read may hold up the end."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_CHUNK_BYTES: Final = 1 << 16
_SERVER_LEFT: Final = (anyio.ClosedResourceError, anyio.BrokenResourceError)


class StdioError(AgenticError, OSError):
    """Standard input or output cannot carry the protocol."""


async def serve_stdio(server: AgentServer, stop: asyncio.Event) -> None:
    """Serve one client on stdin and stdout until it leaves or `stop` is set.

    A call that still runs then is withdrawn. Stdin reads as empty and stdout
    leads to stderr for the rest of the process.

    Args:
        server: What answers.
        stop: The caller's wish to end; signals are the caller's matter too.

    Raises:
        StdioError: Stdin or stdout is closed.
    """
    stdin, stdout = _take_over()
    output = _Output(stdout)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    reading = (stdin, to_server, output, asyncio.get_running_loop())
    threading.Thread(target=_read, args=reading, name="openxr-agentic-stdin", daemon=True).start()
    serving = asyncio.ensure_future(server.run(from_client, output, server.create_initialization_options()))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait((serving, stopping, output.broken), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stopping.cancel()
        server.end_subscriptions()
        to_server.close()  # to the server as if the client had left
    await serving
    await output.flush()


def _take_over() -> tuple[int, int]:
    """Return descriptors of the client's own for stdin and stdout, and lead the standard ones elsewhere."""
    # Python knows which were closed at its start; by now such a number may be any other file's.
    if sys.__stdin__ is None or sys.__stdout__ is None:
        raise StdioError("Standard input or output is closed: --stdio is for an MCP client that starts this command.")
    stdin, stdout = _duplicate(_STDIN), _duplicate(_STDOUT)
    null = os.open(os.devnull, os.O_RDWR)
    # For Windows the children's handles are another thing than descriptors: whoever starts one names its streams.
    os.dup2(null, _STDIN)
    os.dup2(null if sys.stderr is None else _STDERR, _STDOUT)
    os.close(null)
    return stdin, stdout


def _duplicate(descriptor: int) -> int:
    """Return a duplicate that no child inherits, and that is not taken for stderr where that is closed."""
    duplicate = os.dup(descriptor)
    if duplicate != _STDERR:
        return duplicate
    try:
        return os.dup(descriptor)
    finally:
        os.close(duplicate)


def _read(
    stdin: int,
    to_server: MemoryObjectSendStream[SessionMessage | Exception],
    output: _Output,
    loop: asyncio.AbstractEventLoop,
) -> None:
    """Pass what the client sends on to the server, until either leaves. Runs in a thread of its own."""
    # The loop ends with the server, perhaps between any two lines here.
    with contextlib.suppress(RuntimeError, concurrent.futures.CancelledError, *_SERVER_LEFT):
        for line in _lines(stdin):
            message = _parse(line)
            if message is not None:
                output.expect_answer(message)
            # The next line is read when the server has taken this one: that is what slows a client down.
            _await_in(loop, output.refuse(line) if message is None else to_server.send(message))
        loop.call_soon_threadsafe(to_server.close)


def _parse(line: bytes) -> SessionMessage | None:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


def _await_in(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, None]) -> None:
    try:
        asyncio.run_coroutine_threadsafe(work, loop).result()
    except RuntimeError:  # the loop is closed
        work.close()
        raise


def _lines(stdin: int) -> Iterator[bytes]:
    """Yield the lines that are not blank; one without an end is no message."""
    rest: list[bytes] = []
    # Not an io object: at exit the interpreter would wait for one that a thread reads from.
    while chunk := _read_some(stdin):
        first, *others = chunk.split(b"\n")
        rest.append(first)
        for begun in others:
            line = b"".join(rest)
            rest = [begun]
            if line.strip():
                yield line


def _read_some(stdin: int) -> bytes:
    try:
        return descriptors.read(stdin, _CHUNK_BYTES)
    except OSError:  # a terminal that hung up
        return b""


class _Output:
    """The client's end of what the server sends: a stream as `Server.run` takes it.

    A thread writes whole lines, in the order in which they were sent; who sends
    waits for its line, so that no more lines wait than there are senders.

    Attributes:
        broken: Done when the client does not read any more.
    """

    def __init__(self, stdout: int) -> None:
        self._stdout = stdout
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]]] = queue.SimpleQueue()
        self._complained = False
        self._unanswered: set[str | int] = set()
        self.broken: asyncio.Future[None] = self._loop.create_future()
        threading.Thread(target=self._write, name="openxr-agentic-stdout", daemon=True).start()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def aclose(self) -> None:
        """Do nothing: stdout ends with the process."""

    async def send(self, message: SessionMessage) -> None:
        """Write a message; cancelled, it is written all the same, for half a line would break the next one.

        An answer to nothing that was asked is dropped: of two requests with one id, sent at the same time, the
        client could not tell whose it is.
        """
        told = message.message
        if isinstance(told, (types.JSONRPCResponse, types.JSONRPCError)) and told.id is not None:
            if told.id not in self._unanswered:
                return
            self._unanswered.remove(told.id)
        await self._send_line(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    def expect_answer(self, message: SessionMessage) -> None:
        """Let through one answer with this message's id, if it is a request. Called by the thread that reads."""
        if isinstance(message.message, types.JSONRPCRequest):
            self._unanswered.add(message.message.id)

    async def refuse(self, line: bytes) -> None:
        """Answer a line that is no JSON-RPC message, as JSON-RPC says: with its id where it has one."""
        code, identifier = types.INVALID_REQUEST, None
        try:
            given: Any = json.loads(line)
        except (ValueError, RecursionError):
            code = types.PARSE_ERROR
        else:
            identifier = given.get("id") if isinstance(given, dict) else None
            if type(identifier) not in (str, int) or identifier in self._unanswered:
                identifier = None
        if not self._complained:
            self._complained = True
            log.warning("the client sends lines that are no JSON-RPC messages; each is answered with an error")
        error = {"code": code, "message": "This line is no JSON-RPC message: send one JSON object a line, in UTF-8."}
        answer = {"jsonrpc": "2.0", "id": identifier, "error": error}
        with contextlib.suppress(anyio.BrokenResourceError):
            await self._send_line(json.dumps(answer).encode())

    async def flush(self) -> None:
        """Wait until everything is written, unless the client does not read."""
        with contextlib.suppress(anyio.BrokenResourceError, asyncio.TimeoutError):
            await asyncio.wait_for(self._send_line(b""), FLUSH_SECONDS)

    async def _send_line(self, line: bytes) -> None:
        if self.broken.done():
            raise anyio.BrokenResourceError
        written = self._loop.create_future()
        self._lines.put((line + b"\n" if line else b"", written))
        await asyncio.wait((written, self.broken), return_when=asyncio.FIRST_COMPLETED)

    def _write(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            while True:
                line, written = self._lines.get()
                left = memoryview(line)
                try:
                    while left:
                        left = left[descriptors.write(self._stdout, left) :]
                except OSError:
                    self._loop.call_soon_threadsafe(_finish, self.broken)
                    return
                self._loop.call_soon_threadsafe(_finish, written)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
