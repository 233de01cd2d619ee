"""What is printed, and where: results on stdout, everything about the work on stderr."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console

if TYPE_CHECKING:
    from collections.abc import Iterator

_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def stdout_console(stream: TextIO | None = None) -> Console:
    """Return a console for results; without control codes when the output is no terminal.

    Args:
        stream: What stands for stdout, see `stdout_for_results`; None: stdout itself.
    """
    if stream is not None:
        return Console(file=stream, highlight=False, soft_wrap=True, emoji=False)
    return _console(stderr=False)


def stderr_console() -> Console:
    """Return a console for messages about the work itself."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:  # a test's stand-in for the stream may not have it
        # A tool's answer may hold any character; the terminal's encoding may not.
        reconfigure(errors="backslashreplace")
    return Console(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)


def printable(text: str) -> str:
    """Return a text of somebody else's without what could steer the terminal; line ends and tabs stay."""
    return _UNPRINTABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


@contextmanager
def stdout_for_results() -> Iterator[TextIO]:
    """Keep stdout for this command's results while somebody else's code runs.

    What that code prints goes to stderr: from Python, from C, from its child processes, and also what it prints
    when this process exits.

    Yields:
        The real stdout.
    """
    try:
        number, to = sys.stdout.fileno(), sys.stderr.fileno()
    except (io.UnsupportedOperation, AttributeError):  # a test's stand-ins
        results = sys.stdout
        with redirect_stdout(sys.stderr):
            yield results
        return
    sys.stdout.flush()
    encoding = sys.stdout.encoding
    with os.fdopen(os.dup(number), "w", encoding=encoding, errors="backslashreplace") as kept:
        os.dup2(to, number)  # for good: see above
        with redirect_stdout(sys.stderr):
            yield kept


class _ConsoleHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._console = stderr_console()

    def emit(self, record: logging.LogRecord) -> None:
        style = "yellow" if record.levelno >= logging.WARNING else "dim"
        self._console.print(f"openxr-agentic: {record.getMessage()}", style=style, markup=False)


def log_to_stderr() -> None:
    """Show this package's log, from INFO on, as single lines on stderr."""
    logger = logging.getLogger("openxr_agentic")
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logger.handlers = [_ConsoleHandler()]
