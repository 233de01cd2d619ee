"""What a check says, and how checks are run."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import NamedTuple


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
        why: Why it matters; empty where that is plain.
        remedy: The command or step that mends it; empty where nothing needs mending.
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

    def as_json(self) -> dict[str, str]:
        """Return it for ``doctor --json``."""
        return {**self._asdict(), "severity": self.severity.value, "section": self.section}


Check = Callable[[], "Iterator[Finding]"]


def ok(name: str, what: str, why: str = "") -> Finding:
    """Return a finding that all is well."""
    return Finding(name, Severity.OK, what, why)


def hint(name: str, what: str, why: str = "", remedy: str = "") -> Finding:
    """Return a finding that may be of interest."""
    return Finding(name, Severity.HINT, what, why, remedy)


def warning(name: str, what: str, why: str, remedy: str) -> Finding:
    """Return a finding that not every app needs to heed."""
    return Finding(name, Severity.WARNING, what, why, remedy)


def problem(name: str, what: str, why: str, remedy: str) -> Finding:
    """Return a finding that stops apps from working."""
    return Finding(name, Severity.PROBLEM, what, why, remedy)


def run(check: Check) -> Iterator[Finding]:
    """Run a check; a failure of its own becomes its last finding."""
    try:
        yield from check()
    except Exception as error:  # noqa: BLE001 - the doctor looks at broken things, and must not be stopped by one
        section = check.__module__.rpartition(".")[2].replace("openxr_", "")
        yield warning(
            f"{section}.check-failed",
            f"The check {check.__name__!r} could not be made: {type(error).__name__}: {error}",
            "What it looks at may be broken in a way that nobody thought of.",
            "Please report it, with the output of: openxr-agentic doctor --json",
        )
