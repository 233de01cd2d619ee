"""A lock between processes, for the moment in which a file is read, changed and written."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_POLL_SECONDS = 0.01

if sys.platform == "win32":  # pragma: no cover - the other branch is what the tests run on
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def locked(file: str, timeout: float) -> Iterator[None]:
    """Hold the lock of a file, which is another file beside it, ``<file>.lock``.

    The system lets go of it when the process ends, however that happens. The lock's file stays:
    who deleted it could take it from under one who waits for it.

    Args:
        file: Path of the file; its folder exists.
        timeout: Seconds to wait for others who hold it, threads of this process among them.

    Raises:
        TimeoutError: Somebody else held it all the time.
        OSError: The lock's file cannot be made.
    """
    path = f"{file}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        until = time.monotonic() + timeout
        while True:
            try:
                _try_lock(descriptor)
                break
            except (BlockingIOError, PermissionError):  # the latter on Windows
                if time.monotonic() >= until:
                    raise TimeoutError(f"another process holds {path} for more than {timeout:g} s") from None
            time.sleep(_POLL_SECONDS)
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)
