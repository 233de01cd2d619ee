"""Ctrl-C and other signals that end a command, before and after a command deals with them itself.

Python's own answer to Ctrl-C is an exception, wherever it happens to be: in an import, it is a traceback, and in one of
the import system's own locks it is lost. While a command has nothing to put in order, ending at once is
better, and that is what a signal does here.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

END_SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What a user or a system sends to end a command."""


def end_at_once_on_signals() -> None:
    """Have each signal that ends a command end this process quietly, with exit code 128 + n.

    A command with something to put in order takes the signals over meanwhile (`cli.serving.processes.on_end_signals`).
    Signals that whoever started the process has it ignore, as nohup does, stay ignored.
    """
    for number in END_SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            handle(number, lambda received, _: os._exit(128 + received))


def handle(number: int, handler: Callable[[int, Any], Any] | int | None) -> None:
    """Set what a signal does; on another thread than the main one, nothing changes."""
    with suppress(ValueError):
        signal.signal(number, handler)
