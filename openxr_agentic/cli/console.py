"""What is printed, and where: results on stdout, everything about the work on stderr."""

from __future__ import annotations

import logging
import sys

from rich.console import Console


def stdout_console() -> Console:
    """Return a console for results; without control codes when the output is no terminal."""
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
