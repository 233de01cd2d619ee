"""The audit log: one line of JSON for each call that an agent made, or was refused.

A call must never wait for a disk. So what is to be written goes into a queue of bounded size; a
thread makes lines of it, digests included, and writes them. Where the queue is full or
the disk refuses, lines are lost, and a line ``{"lost": n}`` says so as soon as one can be
written again.

The standard library's queue handler would make the text in the caller's thread, so the queue is
filled directly; its listener and its rotating file are used as they are, with their failures seen to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import queue
import re
import stat
import sys
import threading
import time
from datetime import datetime, timezone
from logging.handlers import QueueListener, RotatingFileHandler
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from openxr_agentic.errors import AgenticError, ConfigurationError
from openxr_agentic.file_lock import locked

if TYPE_CHECKING:
    from io import TextIOWrapper
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

log = logging.getLogger(__name__)

ArgumentsKept = Literal["digest", "text", "none"]

MOST_WAITING: Final = 10_000
"""How many calls may wait to be written; later ones are lost."""

MOST_WAITING_CHARACTERS: Final = 64 * 1024 * 1024
"""How many characters of arguments may wait to be written; calls that would exceed them are lost."""

MOST_CHARACTERS: Final = 1000
"""How much is kept of what a client may make as long as it likes: its name, the tool's, a reason."""

_PRIVATE: Final = 0o600

_ANOTHERS: Final = re.compile(r".+\.([0-9]+|lock)", re.DOTALL)
"""Names that the full files and the lock of another log have."""


class AuditError(AgenticError, OSError):
    """An audit log cannot be written where it should be."""


class _Call(NamedTuple):
    client: str
    transport: str
    tool: str
    app: str
    arguments: str
    outcome: str
    started: float
    duration: float
    error: str


class AuditLog:
    """A file with one JSON object a line for each call, readable by its owner only.

    It belongs to one server: a second one on the same file is refused, for two processes that
    rotate one file lose each other's lines. The lock is a file beside it, ``<file>.lock``, which stays.

    Args:
        file: Where it is kept; its folder exists. A file that is there is continued. Full ones
            become ``<file>.1``, ``<file>.2``, …, the newest first; so its own name must not end like
            those, nor in ``.lock``.
        arguments: What is kept of a call's arguments: their SHA-256 (``digest``), the text itself
            (``text``), or neither (``none``). Their size in bytes of UTF-8 is always kept.
        max_bytes: Size at which a file is full. A line that is longer by itself is kept whole.
        backups: How many full files are kept; at least 1.

    Raises:
        AuditError: The file cannot be written, or another server writes it.
        ConfigurationError: A number is too small.
    """

    def __init__(
        self,
        file: Path,
        *,
        arguments: ArgumentsKept = "digest",
        max_bytes: int = 10 * 1024 * 1024,
        backups: int = 5,
    ) -> None:
        if max_bytes < 1 or backups < 1:
            raise ConfigurationError(
                f"The audit log needs a size of at least 1 byte and at least 1 full file to keep, not "
                f"{max_bytes} and {backups}."
            )
        # A link stays a link: what is rotated is the file that it leads to.
        path = os.path.realpath(file)
        if _ANOTHERS.fullmatch(os.path.basename(path)):
            raise AuditError(
                f"The audit log {file} has the name of another log's full file or lock: choose one that ends "
                "neither in a number nor in .lock."
            )
        self._resources = contextlib.ExitStack()
        try:
            _require_file(path)
            self._resources.enter_context(locked(path, timeout=0))
            self._file = _RotatedFile(path, max_bytes, backups)
        except TimeoutError as error:
            raise AuditError(
                f"Another server writes the audit log {file}: give each server a file of its own."
            ) from error
        except OSError as error:
            self._resources.close()
            raise AuditError(
                f"The audit log {file} cannot be written: {error.strerror or error}. Choose a file in a folder that "
                "exists and that you may write to."
            ) from error
        self._closed = False
        self._writer = _Writer(self._file, arguments)
        self._writer.start()

    def record(
        self,
        *,
        client: str,
        transport: str,
        tool: str,
        app: str,
        arguments: str,
        outcome: str,
        started: float,
        duration: float,
        error: str = "",
    ) -> None:
        """Note one call. It never waits and never raises; after `close` it does nothing.

        Args:
            client: Who called, by its own account.
            transport: The way it came, as ``http``, ``sse`` or ``stdio``.
            tool: Name of the tool, as the client gave it.
            app: Name of the app; "" leaves it out of the line.
            arguments: The arguments as JSON text.
            outcome: How it ended, in one word.
            started: When it began, in seconds since the epoch (`time.time`).
            duration: How long it took, in seconds.
            error: Why it failed or was refused; "" leaves it out of the line.
        """
        if not self._closed:
            most = MOST_CHARACTERS
            self._writer.offer(
                _Call(
                    client[:most],
                    transport[:most],
                    tool[:most],
                    app[:most],
                    arguments,
                    outcome,
                    started,
                    duration,
                    error[:most],
                )
            )

    def close(self) -> None:
        """Write what waits, and let go of the file. A second time it does nothing."""
        if not self._closed:
            self._closed = True
            self._writer.stop()
            self._file.close()
            self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _require_file(path: str) -> None:
    """Raise OSError where the path is there and is no regular file: that could not be rotated."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(0, "it is no regular file")


# ---------------------------------------------------------------- the thread that writes


class _Writer(QueueListener):
    """Takes calls from its queue, on a thread of its own, and writes a line for each."""

    def __init__(self, file: _RotatedFile, arguments: ArgumentsKept) -> None:
        # Bounded by `offer`: a full queue would have no place for the mark that ends the thread.
        self._calls: queue.SimpleQueue[Any] = queue.SimpleQueue()
        super().__init__(self._calls, file)
        self._file = file
        self._arguments = arguments
        self._counting = threading.Lock()  # held for a few additions only
        self._waiting = 0
        self._waiting_characters = 0
        self._lost = 0
        self._complained = False

    def offer(self, call: _Call) -> None:
        """Queue a call, or count it as lost."""
        size = len(call.arguments)
        with self._counting:
            # However long one call's arguments are, it may wait alone.
            fits = not self._waiting or (
                self._waiting < MOST_WAITING and self._waiting_characters + size <= MOST_WAITING_CHARACTERS
            )
            if not fits:
                self._lost += 1
                return
            self._waiting += 1
            self._waiting_characters += size
        self._calls.put_nowait(call)

    def _settle(self, call: _Call, *, lost: int) -> None:
        with self._counting:
            self._waiting -= 1
            self._waiting_characters -= len(call.arguments)
            self._lost += lost

    def handle(self, record: Any) -> None:
        """Write one call; a failure is a loss, and said once until there is a success again."""
        try:
            self._write_lost()
            self._file.write(_line(record, self._arguments))
        except Exception as error:  # noqa: BLE001 - whatever it is, the thread goes on with the next call
            self._settle(record, lost=1)
            self._complain(error)
        else:
            self._settle(record, lost=0)
            self._complained = False

    def _write_lost(self) -> None:
        with self._counting:
            # In the midst of a flood it would be a line, and a warning, for each call.
            calm = self._waiting * 2 <= MOST_WAITING and self._waiting_characters * 2 <= MOST_WAITING_CHARACTERS
            lost = self._lost if calm else 0
        if lost:
            self._file.write(json.dumps({"time": _timestamp(time.time()), "lost": lost}))
            with self._counting:
                self._lost -= lost
            log.warning("the audit log %s has lost lines (%d), and is written again", self._file.baseFilename, lost)

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._complained = True
            log.warning(
                "the audit log %s cannot be written (%s): calls go on, and are not logged until it can",
                self._file.baseFilename,
                getattr(error, "strerror", None) or error,
            )

    def stop(self) -> None:
        """Write what waits, and what was lost last."""
        super().stop()
        try:
            self._write_lost()
        except Exception as error:  # noqa: BLE001 - who ends a server is not told by a traceback
            self._complain(error)
            log.warning("the audit log %s has lost lines (%d)", self._file.baseFilename, self._lost)


def _line(call: _Call, arguments: ArgumentsKept) -> str:
    # Half a surrogate pair is no text, but is what was sent, and is told from any other.
    sent = call.arguments.encode("utf-8", "surrogatepass")
    entry: dict[str, object] = {
        "time": _timestamp(call.started),
        "client": call.client,
        "transport": call.transport,
        **({"app": call.app} if call.app else {}),
        "tool": call.tool,
    }
    if arguments == "text":
        entry["arguments"] = call.arguments
    elif arguments == "digest":
        entry["arguments_sha256"] = hashlib.sha256(sent).hexdigest()
    entry |= {
        "arguments_bytes": len(sent),
        "outcome": call.outcome,
        "duration_ms": round(call.duration * 1000, 3),
        **({"error": call.error} if call.error else {}),
    }
    # ASCII only: no text that a client sends can end a line, for any reader's idea of a line.
    return json.dumps(entry)


def _timestamp(seconds: float) -> str:
    utc = datetime.fromtimestamp(seconds, timezone.utc)
    return utc.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# ---------------------------------------------------------------- the file


class _RotatedFile(RotatingFileHandler):
    """A rotating file that only its owner can read, and that says when it could not be written."""

    def __init__(self, path: str, max_bytes: int, backups: int) -> None:
        self._limit = max_bytes
        self._failure: BaseException | None = None
        super().__init__(path, maxBytes=max_bytes, backupCount=backups, encoding="ascii")

    def write(self, line: str) -> None:
        """Write one line.

        Raises:
            OSError: It is not, or not wholly, in the file.
        """
        self._failure = None
        self._follow_name()
        self.emit(logging.makeLogRecord({"msg": line}))
        if self._failure is not None:
            raise self._failure

    def _follow_name(self) -> None:
        """Let go of a file that somebody else moved or deleted: lines in it would be lost unseen."""
        if self.stream is not None:
            there = os.fstat(self.stream.fileno())
            try:
                current = os.path.samestat(there, os.stat(self.baseFilename))
            except FileNotFoundError:
                current = False
            if not current:
                self._let_go()

    def _let_go(self) -> None:
        stream, self.stream = self.stream, None
        if stream is not None:
            with contextlib.suppress(OSError):  # what was not written fails once more
                stream.close()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Keep the failure for `write`, where logging would print it."""
        self._failure = sys.exc_info()[1]
        self._let_go()

    def doRollover(self) -> None:  # noqa: N802 - logging's name
        """Begin a new file; where that fails, go on in the old one, and try when it has grown as much again."""
        size = os.path.getsize(self.baseFilename)
        if not size:
            return  # the line is longer than a file should be
        try:
            super().doRollover()
            self.maxBytes = self._limit
        except OSError as error:
            if self.maxBytes == self._limit:
                log.warning("the audit log %s cannot be rotated (%s), and grows", self.baseFilename, error.strerror)
            self.maxBytes = size + self._limit

    def _open(self) -> TextIOWrapper:
        stream = open(self.baseFilename, "a+", encoding=self.encoding, newline="\n", opener=_open_privately)  # noqa: SIM115
        try:
            if not _ends_with_line(self.baseFilename):
                stream.write("\n")  # one was cut off, by a full disk or a crash
        except BaseException:
            stream.close()
            raise
        return stream


def _ends_with_line(path: str) -> bool:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        return file.read() in (b"", b"\n")


def _open_privately(path: str, flags: int) -> int:
    descriptor = os.open(path, flags, _PRIVATE)
    if hasattr(os, "fchmod"):
        try:
            os.fchmod(descriptor, _PRIVATE)  # also one that was there before
        except BaseException:
            os.close(descriptor)
            raise
    return descriptor
