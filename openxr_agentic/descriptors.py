"""What the readers and writers of bare descriptors have in common."""

from __future__ import annotations

import os
import selectors
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

READ: Final = selectors.EVENT_READ
WRITE: Final = selectors.EVENT_WRITE


def read(descriptor: int, most: int) -> bytes:
    """Return what `os.read` does, and wait for it also where the descriptor is non-blocking."""
    while True:
        with suppress(BlockingIOError):
            return os.read(descriptor, most)
        await_ready(descriptor, READ)


def write(descriptor: int, data: Buffer) -> int:
    """Write as `os.write` does, and wait until some can be written also where the descriptor is non-blocking."""
    while True:
        with suppress(BlockingIOError):
            return os.write(descriptor, data)
        await_ready(descriptor, WRITE)


def await_ready(descriptor: int, event: int) -> None:
    """Wait until a non-blocking descriptor can be read or written, or has broken.

    Whether it blocks is not this process's choice: it shares that with whoever gave it the
    descriptor, and a parent on node.js makes it non-blocking.

    Args:
        descriptor: A pipe, a socket or a terminal.
        event: `READ` or `WRITE`.
    """
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, event)
        selector.select()
