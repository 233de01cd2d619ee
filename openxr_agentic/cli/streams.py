"""This process's stdout and stderr, so that neither fails nor holds up the work.

A message on stderr is worth less than the work that it is about. So writing one never raises, whether its
reader has left or the disk is full. While a command serves, it never waits either: a thread writes, and
what nobody reads in time is dropped and counted. Results on stdout are the command's purpose: what cannot be
written there is its failure, told in one line.
"""

from __future__ import annotations

import errno
import io
import os
import queue
import sys
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar, Final, TextIO

from openxr_agentic.descriptors import WRITE, await_ready

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Buffer

MOST_WAITING: Final = 1000
"""How many pieces, usually lines, may wait to be written on stderr; later ones are lost."""

FLUSH_SECONDS: Final = 1.0
"""How long the end of a command waits for a reader of stderr."""


def guard_streams() -> None:
    """Put streams of this module in the places of `sys.stdout` and `sys.stderr`, for the rest of the process.

    One that was closed at the start stays None where it is stderr, which everybody expects; stdout gets a
    stream that fails as a closed descriptor does.
    """
    if sys.stderr is not None:
        sys.stderr = _text(_Messages(_raw(sys.stderr)), like=sys.stderr)
    sys.stdout = _text(_Results(None if sys.stdout is None else _raw(sys.stdout)), like=sys.stdout)


def stdout_failure() -> OSError | None:
    """Return why a result could not be written; None: all could. After a failure no more is written."""
    if _Results.failure is not None:
        sys.stdout = None  # the interpreter would try again at its end, and complain
    return _Results.failure


@contextmanager
def duplicate_for_results(descriptor: int, encoding: str) -> Iterator[TextIO]:
    """Open a duplicate of a descriptor for results; closed after the block.

    Args:
        descriptor: Stdout's.
        encoding: Of the text.
    """
    with (
        io.FileIO(os.dup(descriptor), "w") as raw,
        io.TextIOWrapper(io.BufferedWriter(_Results(raw)), encoding=encoding, errors="backslashreplace") as kept,
    ):
        yield kept


@contextmanager
def stderr_in_background() -> Iterator[None]:
    """Have a thread write what is printed on stderr, so that nobody waits for its reader.

    At the end of the block what waits is written, for `FLUSH_SECONDS` at most; where the reader does not read
    even then, nothing more is written at all.
    """
    stderr = _sink(sys.stderr)
    if not isinstance(stderr, _Messages):  # closed, or a test's stand-in
        yield
        return
    stderr.begin_background()
    try:
        yield
    finally:
        stderr.end_background()


def _raw(stream: TextIO) -> io.RawIOBase:
    buffer: Any = stream.buffer
    return getattr(buffer, "raw", buffer)  # type: ignore[no-any-return]  # with `python -u` there is no buffer


def _text(sink: io.RawIOBase, like: TextIO | None) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedWriter(sink),
        encoding="utf-8" if like is None else like.encoding,
        # A tool's answer may hold any character; the terminal's encoding may not.
        errors="backslashreplace",
        line_buffering=like is None or like is sys.stderr or like.isatty(),
    )


def _sink(stream: Any) -> object:
    return getattr(getattr(stream, "buffer", None), "raw", None)


def _write_all(raw: io.RawIOBase, data: bytes) -> None:
    left = memoryview(data)
    while left:
        written = raw.write(left)
        if written is None:  # it is non-blocking, and full
            await_ready(raw.fileno(), WRITE)
        else:
            left = left[written:]


class _Sink(io.RawIOBase):
    """What both streams are: a raw stream above another."""

    def __init__(self, raw: io.RawIOBase | None) -> None:
        self._raw = raw

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return super().fileno() if self._raw is None else self._raw.fileno()

    def isatty(self) -> bool:
        return self._raw is not None and self._raw.isatty()


class _Results(_Sink):
    """Writes, and remembers a failure."""

    failure: ClassVar[OSError | None] = None
    """Why something could not be written, by any of them."""

    def write(self, data: Buffer, /) -> int:
        whole = bytes(data)
        failure: OSError | None = None
        if self._raw is None:
            failure = OSError(errno.EBADF, os.strerror(errno.EBADF))
        else:
            try:
                _write_all(self._raw, whole)
            except OSError as error:
                failure = error
        if failure is not None:
            _Results.failure = failure
            raise failure
        return len(whole)


class _Messages(_Sink):
    """Writes at once, or by a thread; a failure is nobody's matter."""

    def __init__(self, raw: io.RawIOBase) -> None:
        super().__init__(raw)
        # No bound of its own: its lock could be asked for again by the same thread, from a destructor that logs.
        self._waiting: queue.SimpleQueue[bytes | threading.Event] = queue.SimpleQueue()
        self._lost = 0
        self._in_background = False
        self._stuck = False

    def write(self, data: Buffer, /) -> int:
        whole = bytes(data)
        if self._stuck:
            pass
        elif not self._in_background:
            self._put(whole)
        elif self._waiting.qsize() < MOST_WAITING:
            self._waiting.put(whole)
        else:
            self._lost += 1
        return len(whole)

    def begin_background(self) -> None:
        """Write by a thread from now on."""
        self._in_background = True
        # A daemon: nothing but its reader ends the wait for a full pipe.
        threading.Thread(target=self._write_waiting, name="openxr-agentic-stderr", daemon=True).start()

    def end_background(self) -> None:
        """Write what waits, and then at once again; or nothing any more, when there is no end of waiting."""
        done = threading.Event()
        self._waiting.put(done)
        self._stuck = not done.wait(FLUSH_SECONDS)
        self._in_background = False

    def _write_waiting(self) -> None:
        while True:
            found = self._waiting.get()
            lost, self._lost = self._lost, 0
            if lost:
                self._put(f"openxr-agentic: messages that nobody read in time are lost: {lost}\n".encode())
            if isinstance(found, threading.Event):
                found.set()
                return
            self._put(found)

    def _put(self, data: bytes) -> None:
        assert self._raw is not None
        with suppress(OSError, ValueError):  # the reader has left, the disk is full, the descriptor is closed
            _write_all(self._raw, data)
