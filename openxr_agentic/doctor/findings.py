"""What a check says, and how checks are run."""

from __future__ import annotations

import enum
import re
import shlex
from collections.abc import Callable, Iterator
from typing import NamedTuple

LONGEST_SHOWN = 200
"""How many characters of one name, or of one text from a file, are shown."""

_LONGEST_TEXT = 4000
# No system has such a part of a path, and no loader such a name.
_LONG_PART = re.compile(r"[^\s/\\:;]{256,}")


class Severity(str, enum.Enum):
    """How much a finding matters."""

    OK = "ok"
    """As it should be."""
    HINT = "hint"
    """Nothing is wrong, but it may not be what is wanted."""
    WARNING = "warning"
    """Something will not work that not every app needs."""
    PROBLEM = "problem"
    """An app with tools for agents will not work."""


class Finding(NamedTuple):
    """One thing that a check found.

    Attributes:
        id: A fixed name: the section, a dot, and what was found, as ``"runtime.missing-library"``.
        severity: How much it matters.
        what: What was found, in one sentence or a few words.
        why: Why it matters; empty only where all is well.
        remedy: The command or step that mends it; empty only where all is well.
    """

    id: str
    severity: Severity
    what: str
    why: str = ""
    remedy: str = ""

    @property
    def section(self) -> str:
        """The part of the chain that it is about."""
        return self.id.partition(".")[0]

    def shortened(self) -> Finding:
        """Return it with bounded texts: a manifest may give a layer a name of a megabyte."""
        return self._replace(what=shortened(self.what), why=shortened(self.why), remedy=shortened(self.remedy))

    def as_json(self) -> dict[str, str]:
        """Return it for ``doctor --json``."""
        return {**self._asdict(), "severity": self.severity.value, "section": self.section}


def clipped(text: str, longest: int = LONGEST_SHOWN) -> str:
    """Return the beginning of a text of somebody else's, with an ellipsis where it is cut."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def shortened(text: str) -> str:
    """Return a text of ours, in which texts of somebody else's may stand, with a bounded length."""
    text = _LONG_PART.sub(lambda found: clipped(found[0]), text)
    half = _LONGEST_TEXT // 2
    # What we say stands at both ends.
    return text if len(text) <= _LONGEST_TEXT else f"{text[:half]}…{text[-half:]}"


def export(variable: str, value: str) -> str:
    """Return the command by which a shell sets a variable, or unsets it where the value is empty."""
    return f"export {variable}={shlex.quote(value)}" if value else f"unset {variable}"


Check = Callable[[], "Iterator[Finding]"]


def ok(name: str, what: str, why: str = "") -> Finding:
    """Return a finding that all is well."""
    return Finding(name, Severity.OK, what, why)


def hint(name: str, what: str, why: str, remedy: str) -> Finding:
    """Return a finding that may be of interest."""
    return Finding(name, Severity.HINT, what, why, remedy)


def warning(name: str, what: str, why: str, remedy: str) -> Finding:
    """Return a finding that not every app needs to heed."""
    return Finding(name, Severity.WARNING, what, why, remedy)


def problem(name: str, what: str, why: str, remedy: str) -> Finding:
    """Return a finding that stops apps from working."""
    return Finding(name, Severity.PROBLEM, what, why, remedy)


def run(check: Check, section: str) -> Iterator[Finding]:
    """Run a check of a section; a failure of its own becomes its last finding. Every text is bounded here."""
    try:
        for finding in check():
            yield finding.shortened()
    except Exception as error:  # noqa: BLE001 - the doctor looks at broken things, and must not be stopped by one
        yield warning(
            f"{section}.check-failed",
            f"The check {check.__name__!r} could not be made: {type(error).__name__}: {error}",
            "What it looks at may be broken in a way that nobody thought of.",
            "Please report it, with the output of: openxr-agentic doctor --json",
        ).shortened()
