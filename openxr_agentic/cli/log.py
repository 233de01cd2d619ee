"""The log on stderr: one line a message, from this package and from those that it uses."""

from __future__ import annotations

import logging
import os
import time
import traceback
from typing import Final

from openxr_agentic.cli.console import one_line, stderr_console

DEBUG_VARIABLE: Final = "OPENXR_AGENTIC_DEBUG"
"""When it is set, and not to "0": everything is logged, with tracebacks."""

REPEAT_SECONDS: Final = 10.0
"""How often at most another package's message from one place is shown."""

_OWN: Final = "openxr_agentic"


def log_to_stderr() -> None:
    """Show this package's log, from INFO on, as single lines on stderr."""
    logger = logging.getLogger(_OWN)
    logger.setLevel(logging.DEBUG if _debugging() else logging.INFO)
    logger.propagate = False
    logger.handlers = [_Lines()]


def log_others_to_stderr() -> None:
    """Show other packages' errors as single lines too, and few of them.

    What they warn of is mostly what a client did, and what they log of an error is its traceback, for each
    time: a client could fill a disk with it.
    """
    debugging = _debugging()
    logging.getLogger().handlers = [_Lines() if debugging else _FewLines()]
    if not debugging:
        # Its errors are requests that come while the server ends; what goes wrong in one, `mcp` logs too.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)


def _debugging() -> bool:
    return os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0")


class _Lines(logging.Handler):
    """Prints every record; never raises, for whoever logs has other work to do."""

    def __init__(self) -> None:
        super().__init__()
        self._console = stderr_console()
        self._debugging = _debugging()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._print(record)
        except Exception:  # noqa: BLE001 - a message that cannot be made into text is lost
            return

    def _print(self, record: logging.LogRecord, more: str = "") -> None:
        style = "yellow" if record.levelno >= logging.WARNING else "dim"
        self._console.print(f"openxr-agentic: {_words(record)}{more}", style=style, markup=False)
        if self._debugging and record.exc_info and record.exc_info[1] is not None:
            self._console.print("".join(traceback.format_exception(*record.exc_info)), style="dim", markup=False)


class _FewLines(_Lines):
    """Prints errors only, and those from one place in the code at most once in `REPEAT_SECONDS`."""

    _MOST_PLACES = 1000

    def __init__(self) -> None:
        super().__init__()
        self.setLevel(logging.ERROR)
        self._said: dict[tuple[str, int], float] = {}

    def emit(self, record: logging.LogRecord) -> None:
        place, now = (record.pathname, record.lineno), time.monotonic()
        last = self._said.get(place)
        if last is not None and now - last < REPEAT_SECONDS:
            return
        if len(self._said) >= self._MOST_PLACES:
            self._said.clear()
        self._said[place] = now
        super().emit(record)

    def _print(self, record: logging.LogRecord, more: str = "") -> None:
        super()._print(record, f" (set {DEBUG_VARIABLE}=1 to see more)")


def _words(record: logging.LogRecord) -> str:
    words = record.getMessage().strip()
    if record.name.partition(".")[0] != _OWN:
        words = f"{record.name}: {words}"
    error = record.exc_info[1] if record.exc_info else None
    if error is not None:
        words += f": {type(error).__name__}: {error}" if str(error) else f": {type(error).__name__}"
    return one_line(words)
