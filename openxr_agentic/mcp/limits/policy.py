"""Which tools agents may use: rules on a tool's name, groups, annotations and app.

A policy is what the user of the server decides, beside what the app enables
itself. It fails closed: where a rule would need what cannot be read, the tool is
refused.

    GLOB                          the tool's name, as the app registered it
    tool:GLOB                     the same, for a name with a colon in it
    group:GLOB                    one of the tool's groups
    annotation:NAME[=true|false]  one of MCP's four hints; without a value: true
    app:GLOB                      the name of the app that the tool belongs to

Globs are those of `fnmatch.fnmatchcase`: upper and lower case differ.
"""

from __future__ import annotations

import difflib
import re
import sys
from fnmatch import translate
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openxr_agentic.errors import ConfigurationError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

READ_ONLY_HINT: Final = "readOnlyHint"
_DEFAULTS: Final = {READ_ONLY_HINT: False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
"""MCP's defaults: what holds of a tool whose app sends no such hint."""

_READ_ONLY_DEFAULTS: Final = {"destructiveHint": False, "idempotentHint": True}
"""What holds instead of a read-only tool: MCP gives these two no meaning there, and reading destroys nothing."""

_KINDS: Final = ("tool", "group", "annotation", "app")
_VALUES: Final = {"true": True, "false": False}
_KEYS: Final = ("read_only", "allow", "deny")
_MOST_RULES_SHOWN: Final = 5


class PolicyError(ConfigurationError):
    """A policy file or a rule that cannot be used."""


class Subject(NamedTuple):
    """A tool, as the rules of a policy see it.

    Attributes:
        name: The tool's name as its app registered it, without what a server puts in front.
        groups: The groups it belongs to.
        annotations: MCP's hints as the app sent them, by their names in JSON; a hint that
            the app did not send is not in it.
        readable: False when the app sent metadata that cannot be read: then `groups` and
            `annotations` are unknown, not empty.
        app: The name of its app; "" when there is but one.
    """

    name: str
    groups: tuple[str, ...]
    annotations: Mapping[str, object]
    readable: bool = True
    app: str = ""


class _UnknownError(Exception):
    """Whether a rule fits cannot be known; the text says why."""


class _Rule(NamedTuple):
    text: str
    kind: str
    pattern: re.Pattern[str]
    hint: str = ""
    value: bool = True

    def judge(self, subject: Subject) -> tuple[str | None, str | None]:
        """Return what of the subject fits, in words, and why that cannot be known; at most one of them."""
        try:
            return self._match(subject), None
        except _UnknownError as reason:
            return None, str(reason)

    def _match(self, subject: Subject) -> str | None:
        if self.kind == "annotation":
            value, is_default = _hint(subject, self.hint)
            if value is not self.value:
                return None
            said = f"tools with {self.hint} {str(value).lower()}"
            return f"{said}, which is what holds of a tool that does not say" if is_default else said
        if self.kind == "group":
            return next((f"the group {group!r}" for group in _groups(subject) if self.pattern.match(group)), None)
        text = subject.app if self.kind == "app" else subject.name
        return f"the {self.kind} {text!r}" if self.pattern.match(text) else None


def _groups(subject: Subject) -> tuple[str, ...]:
    _require_readable(subject)
    if not all(isinstance(group, str) for group in subject.groups):
        raise _UnknownError("the tool's groups are not all text")
    return subject.groups


def _hint(subject: Subject, name: str) -> tuple[bool, bool]:
    """Return a hint's value, and whether it is a default."""
    _require_readable(subject)
    if name in subject.annotations:
        value = subject.annotations[name]
        if isinstance(value, bool):
            return value, False
        raise _UnknownError(f"the tool's {name} is neither true nor false")
    if name in _READ_ONLY_DEFAULTS and _hint(subject, READ_ONLY_HINT)[0]:
        return _READ_ONLY_DEFAULTS[name], True
    return _DEFAULTS[name], True


def _require_readable(subject: Subject) -> None:
    if not subject.readable:
        raise _UnknownError("the tool's metadata cannot be read")


class Policy:
    """What a server lets agents use; made by `load`, and then never changed.

    A tool is refused if any deny rule fits it. Else it is allowed if there are
    no allow rules, or one of them fits. Read-only mode refuses, of what is left, all
    but the tools whose readOnlyHint is true.
    """

    def __init__(
        self, allow: Sequence[_Rule] = (), deny: Sequence[_Rule] = (), *, read_only: bool = False, source: str = ""
    ) -> None:
        self._allow = tuple(allow)
        self._deny = tuple(deny)
        self._read_only = read_only
        self._source = source

    @classmethod
    def load(
        cls,
        file: Path | None = None,
        *,
        allow: Sequence[str] = (),
        deny: Sequence[str] = (),
        read_only: bool = False,
    ) -> Policy:
        """Read a policy file, and add to it what options ask for.

        Args:
            file: A TOML file (UTF-8) with any of the keys ``read_only`` (true or false), ``allow``
                and ``deny`` (lists of rules). None: there is none.
            allow: More allow rules.
            deny: More deny rules.
            read_only: Whether read-only mode is asked for; the file may ask for it too.

        Raises:
            PolicyError: The file cannot be read, or something in it or in a rule is wrong.
        """
        given = {} if file is None else _read(file)
        where = f"{file}: "
        asked = given.get("read_only", False)
        if not isinstance(asked, bool):
            raise PolicyError(f"{where}read_only is {_quoted(asked)}; write true or false, without quotes.")
        return cls(
            [*_rules_of_file(where, "allow", given.get("allow", [])), *(_rule(text, "--allow: ") for text in allow)],
            [*_rules_of_file(where, "deny", given.get("deny", [])), *(_rule(text, "--deny: ") for text in deny)],
            read_only=read_only or asked,
            source="" if file is None else str(file),
        )

    @property
    def open(self) -> bool:
        """Whether nothing is limited, so that no tool need be looked at."""
        return not (self._read_only or self._allow or self._deny)

    def refusal(self, subject: Subject) -> str | None:
        """Return why a tool is refused, or None when it is allowed.

        Returns:
            The reason, for an agent, to stand behind "the server refuses this:", as
            ``its policy denies the group 'admin' (rule 'group:admin')``.
        """
        return self._denial(subject) or self._not_allowed(subject) or self._not_read_only(subject)

    def _denial(self, subject: Subject) -> str | None:
        doubt = None
        for rule in self._deny:
            found, unknown = rule.judge(subject)
            if found is not None:
                return f"its policy denies {found} (rule {rule.text!r})"
            if unknown is not None and doubt is None:
                doubt = f"its policy has the deny rule {rule.text!r}, and {unknown}"
        return doubt

    def _not_allowed(self, subject: Subject) -> str | None:
        if not self._allow:
            return None
        doubt = None
        for rule in self._allow:
            found, unknown = rule.judge(subject)
            if found is not None:
                return None
            doubt = doubt or unknown
        shown = [repr(rule.text) for rule in self._allow[:_MOST_RULES_SHOWN]]
        if (more := len(self._allow) - len(shown)) > 0:
            shown.append(f"{more} more")
        return f"its policy allows only what fits {' or '.join(shown)}{f', and {doubt}' if doubt else ''}"

    def _not_read_only(self, subject: Subject) -> str | None:
        if not self._read_only:
            return None
        try:
            value, _ = _hint(subject, READ_ONLY_HINT)
        except _UnknownError as reason:
            return f"it is in read-only mode, and {reason}"
        return None if value else f"it is in read-only mode, and the tool's {READ_ONLY_HINT} is not true"

    def describe(self) -> str:
        """Return one line for the start message, as ``read-only, 1 allow rule, 2 deny rules (policy.toml)``."""
        parts = ["read-only"] if self._read_only else []
        for word, rules in (("allow", self._allow), ("deny", self._deny)):
            if rules:
                parts.append(f"{len(rules)} {word} rule{'' if len(rules) == 1 else 's'}")
        said = ", ".join(parts) or "every tool is allowed"
        return f"{said} ({self._source})" if self._source else said


# ---------------------------------------------------------------- reading


def _read(file: Path) -> dict[str, Any]:
    try:
        text = file.read_bytes().decode("utf-8-sig")  # an editor may have put a mark in front
    except OSError as error:
        raise PolicyError(f"The policy file {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise PolicyError(f"The policy file {file} is not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
    try:
        given: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(f"The policy file {file} is not TOML: {error}.") from error
    for key in given:
        if key not in _KEYS:
            raise PolicyError(f"{file}: there is no key {key!r}{_near(key, _KEYS)} The keys are {', '.join(_KEYS)}.")
    return given


def _rules_of_file(where: str, key: str, entries: object) -> Iterator[_Rule]:
    if not isinstance(entries, list):
        raise PolicyError(f'{where}{key} is {_quoted(entries)}; write a list of rules, as {key} = ["MyApp_*"].')
    for number, entry in enumerate(entries, start=1):
        place = f"{where}{key}, entry {number}: "
        if not isinstance(entry, str):
            raise PolicyError(f"{place}{_quoted(entry)} is no rule; write it in quotes.")
        yield _rule(entry, place)


def _rule(text: str, where: str) -> _Rule:
    kind, colon, pattern = text.partition(":")
    # Space around a pattern would make a rule that never fits, and a deny rule that never fits is a hole.
    kind, pattern = (kind.strip(), pattern.strip()) if colon else ("tool", text.strip())
    if kind not in _KINDS:
        raise PolicyError(
            f"{where}the rule {text!r} is of no known kind{_near(kind, _KINDS)} Write a tool's name or "
            f"{', '.join(f'{known}:…' for known in _KINDS)} (tool:… also for a name with a colon)."
        )
    if not pattern:
        raise PolicyError(f"{where}the rule {text!r} has an empty pattern. Say what it is for; * fits everything.")
    if kind != "annotation":
        return _Rule(text, kind, re.compile(translate(pattern)))
    hint, equals, value = (part.strip() for part in pattern.partition("="))
    if hint not in _DEFAULTS:
        raise PolicyError(
            f"{where}the rule {text!r} names an unknown annotation{_near(hint, _DEFAULTS)} "
            f"The annotations are {', '.join(_DEFAULTS)}."
        )
    if equals and value not in _VALUES:
        raise PolicyError(f"{where}the rule {text!r} has a value that is neither true nor false.")
    return _Rule(text, kind, re.compile(""), hint, _VALUES[value] if equals else True)


def _near(name: str, known: Iterable[str]) -> str:
    """Return the end of a sentence: whether a name that is known was meant."""
    folded = {word.lower().replace("_", ""): word for word in known}
    found = difflib.get_close_matches(name.lower().replace("_", "").replace("-", ""), list(folded), n=1)
    return f"; did you mean {folded[found[0]]!r}?" if found else "."


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"  # noqa: PLR2004 - enough to find it again
