"""Reading a file that somebody else wrote, which may be endless, huge, or no file at all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class NotPlainFileError(ValueError):
    """What is at a path would be waited for, or has no end: a pipe, a device, or a file of the system's that blocks."""


def read_start(path: Path, count: int) -> bytes:
    """Return the first bytes of a file, without ever waiting for them.

    Args:
        path: The file.
        count: How many bytes at most. Ask for one more than is sensible, to see that there are too many.

    Raises:
        NotPlainFileError: It is not an ordinary file.
        OSError: It cannot be read.
        ValueError: The path cannot be one.
    """
    # Before it is opened: opening alone does something to some devices. os.path, unlike Path, does not raise.
    if os.path.exists(path) and not os.path.isfile(path):
        raise NotPlainFileError("it is not a file")
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            data: bytes | None = file.read(count)
    except BlockingIOError:
        data = None
    if data is None:  # an ordinary file by its kind only, as /proc/kmsg
        raise NotPlainFileError("it gives nothing unless it is waited for")
    return data


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
