"""What is printed, and where: results on stdout, everything about the work on stderr."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any, Final, TextIO

from rich.console import Console

from openxr_agentic.cli.streams import duplicate_for_results

if TYPE_CHECKING:
    from collections.abc import Iterator

# Control characters, and those that turn the direction of what follows.
_UNPRINTABLE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class _SafeConsole(Console):
    """A console on which no text can steer the terminal, whoever wrote it: styles are given beside the text."""

    def print(self, *objects: Any, **how: Any) -> None:
        super().print(*(printable(each) if isinstance(each, str) else each for each in objects), **how)


def stdout_console(stream: TextIO | None = None) -> Console:
    """Return a console for results; without control codes when the output is no terminal.

    Args:
        stream: What stands for stdout, see `stdout_for_results`; None: stdout itself.
    """
    if stream is not None:
        return _SafeConsole(file=stream, highlight=False, soft_wrap=True, emoji=False)
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
    return _SafeConsole(stderr=stderr, highlight=False, soft_wrap=True, emoji=False)


def printable(text: str) -> str:
    """Return a text of somebody else's without what could steer the terminal; line ends and tabs stay."""
    return _UNPRINTABLE.sub(_escaped, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """Return a text of somebody else's as `printable` does, and in one line."""
    return printable(text).replace("\n", "\\n")


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"  # noqa: PLR2004


def json_text(value: object, indent: int | None = None) -> str:
    """Return a value as JSON for people and programs, in which nothing can steer a terminal."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    # Inside of its texts only: JSON itself has no such character.
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
    with duplicate_for_results(number, encoding) as kept:
        os.dup2(to, number)  # for good: see above
        with redirect_stdout(sys.stderr):
            yield kept
