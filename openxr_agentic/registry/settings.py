"""Which tools the user has enabled and disabled, kept on disk.

One JSON file for all apps:

    {"version": 1, "apps": {"MyApp": {"tools": {"MyApp_Spawn": false}}}}

Only what the user decided is in it, also of tools that are not there at the moment. What
else is in the file stays as it is. Every write reads the file again, under a lock between
processes, changes its own names, and puts a whole new file in the place of the old one. So a
crash leaves the old file or the new one, and what two processes change both counts.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import weakref
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic.errors import ConfigurationError
from openxr_agentic.file_lock import locked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

logger = logging.getLogger("openxr_agentic")

SETTINGS_VARIABLE = "OPENXR_AGENTIC_SETTINGS"
_VERSION = 1
_LOCK_SECONDS = 5.0


def default_file() -> Path:
    """Return the settings' file of this user.

    It is what OPENXR_AGENTIC_SETTINGS names, else ``openxr-agentic/settings.json`` in the user's
    configuration folder: ``$XDG_CONFIG_HOME`` or ``~/.config``; ``%APPDATA%`` on Windows;
    ``~/Library/Application Support`` on macOS.

    Raises:
        ConfigurationError: The system does not say where this user's folder is.
    """
    named = os.environ.get(SETTINGS_VARIABLE)
    if named:
        return Path(named)
    try:
        return _config_folder() / "openxr-agentic" / "settings.json"
    except RuntimeError as error:
        raise ConfigurationError(
            f"The settings' file has no place: {error} Name one with {SETTINGS_VARIABLE}, or give the registry a path."
        ) from None


def _config_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    named = os.environ.get("XDG_CONFIG_HOME", "")
    return Path(named) if Path(named).is_absolute() else Path.home() / ".config"


class Change(NamedTuple):
    """What the user decided before and after a change, by tool name."""

    before: Mapping[str, bool]
    after: Mapping[str, bool]


class Choices:
    """The user's choices, in memory alone. Usable from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._choices: Mapping[str, bool] = MappingProxyType({})
        self._told: tuple[weakref.WeakMethod[Callable[[Change], None]], ...] = ()

    def subscribe(self, method: Callable[[Change], None]) -> None:
        """Have a bound method told of each change, on the thread that makes it and outside of the lock.

        Args:
            method: Gets the change. Its object is not kept alive.
        """
        with self._lock:
            self._told = (*(known for known in self._told if known() is not None), weakref.WeakMethod(method))

    @property
    def choices(self) -> Mapping[str, bool]:
        """What the user decided, by tool name; never changed in place."""
        return self._choices

    def load(self) -> None:
        """Read again what others may have changed, and tell of it."""
        with self._lock:
            change = Change(self._choices, self._loaded())
        self._tell(change)

    def change(self, choices: Mapping[str, bool | None]) -> Change:
        """Take what the user decided.

        Args:
            choices: By tool name; None: not decided any more.

        Returns:
            All choices before and after; between them are those of other processes too, which a file may have had.
        """
        with self._lock:
            change = Change(self._choices, self._taken(choices))
        self._tell(change)
        return change

    def _loaded(self) -> Mapping[str, bool]:
        """Read again what others may have changed, and return all choices. The lock is held."""
        return self._choices

    def _taken(self, choices: Mapping[str, bool | None]) -> Mapping[str, bool]:
        """Take choices, and return all of them. The lock is held."""
        self._choices = _changed(self._choices, choices)
        return self._choices

    def _tell(self, change: Change) -> None:
        if change.before == change.after:
            return
        for reference in self._told:
            method = reference()
            if method is not None:
                method(change)


class Settings(Choices):
    """The user's choices for one app, kept in a file. Usable from any thread, and from several processes.

    Where the file cannot be read or written, that is logged, once, and the choices are kept in
    memory. A broken file is moved aside, to ``<name>.broken-<n>``, and logged. Several registries may
    share one; each tells its subscribers of every change that concerns its tools.

    Args:
        app: Name of the app, the key of its part of the file.
        file: The file; need not exist, nor its folder. None: `default_file`.

    Raises:
        ConfigurationError: `app` is empty, or there is no place for the file.
    """

    def __init__(self, app: str, file: str | os.PathLike[str] | None = None) -> None:
        if not isinstance(app, str) or not app:
            raise ConfigurationError(f"Settings need the app's name, as Settings('MyApp'), not {app!r}.")
        super().__init__()
        self.app = app
        # Of a symbolic link what it points to: os.replace would replace the link.
        self._path = os.path.realpath(default_file() if file is None else file)
        self._unsaved: dict[str, bool | None] = {}
        self._warned: set[str] = set()
        self.load()

    @property
    def file(self) -> Path:
        """The file, with symbolic links followed."""
        return Path(self._path)

    def _loaded(self) -> Mapping[str, bool]:
        """Read the file again. What could not be written before counts on."""
        try:
            content = self._read()
        except _BrokenError as broken:
            content = self._set_aside(broken)
        except (OSError, _OfAnotherVersionError) as error:
            self._warn(f"cannot be read: {error}. Tools are as by default")
            content = {}
        self._choose(content)
        return self._choices

    def _set_aside(self, broken: _BrokenError) -> dict[str, Any]:
        try:
            with locked(self._path, _LOCK_SECONDS):
                return self._read_or_set_aside()
        except (OSError, _OfAnotherVersionError) as error:
            self._warn(f"is broken: {broken}. It cannot be moved aside: {error}. Tools are as by default")
            return {}

    def _taken(self, choices: Mapping[str, bool | None]) -> Mapping[str, bool]:
        """Write what the user decided."""
        self._unsaved.update(choices)
        try:
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            with locked(self._path, _LOCK_SECONDS):
                content = self._read_or_set_aside()
                self._choose(content)
                self._write(content)
        except (OSError, _OfAnotherVersionError) as error:
            self._warn(f"cannot be written: {error}. What is enabled and disabled counts until the app ends")
            self._choices = _changed(self._choices, self._unsaved)
        else:
            self._unsaved.clear()
            self._warned.clear()
        return self._choices

    def _choose(self, content: dict[str, Any]) -> None:
        """Take the choices of a file's content, and put those into it that are not written yet."""
        mine: dict[str, Any] = content.setdefault("apps", {}).setdefault(self.app, {})
        self._choices = _changed(mine.get("tools", {}), self._unsaved)
        mine["tools"] = dict(self._choices)

    # ---- the file

    def _read(self) -> dict[str, Any]:
        """Return the file's content.

        Raises:
            OSError: It cannot be read.
            _BrokenError: It is not what this module writes.
            _OfAnotherVersionError: Another version of this module wrote it.
        """
        try:
            with open(self._path, encoding="utf-8") as file:
                content = json.load(file)
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError) as error:
            raise _BrokenError(f"it is no JSON: {error}") from error
        return self._checked(content)

    def _checked(self, content: Any) -> dict[str, Any]:
        if not isinstance(content, dict):
            raise _BrokenError("it is not a JSON object")
        if content.get("version", _VERSION) != _VERSION:
            raise _OfAnotherVersionError(
                f"it has version {content['version']!r}, and this openxr-agentic knows {_VERSION}; update it"
            )
        found: Any = content
        for key in ("apps", self.app, "tools"):
            found = found.get(key, {})
            if not isinstance(found, dict):
                raise _BrokenError(f"{key!r} in it is not an object")
        for name, choice in found.items():
            if not isinstance(choice, bool):
                raise _BrokenError(f"tool {name!r} of {self.app} is neither true nor false")
        return content

    def _read_or_set_aside(self) -> dict[str, Any]:
        """Return the file's content; a broken file is moved aside, and is no content. The lock is held."""
        try:
            return self._read()
        except _BrokenError as error:
            aside = self._free_name()
            os.rename(self._path, aside)
            logger.warning(
                "The settings' file %s is broken: %s. It is kept as %s, and tools are as by default.",
                self._path,
                error,
                aside,
            )
            return {}

    def _free_name(self) -> str:
        number = 1
        while os.path.lexists(f"{self._path}.broken-{number}"):
            number += 1
        return f"{self._path}.broken-{number}"

    def _write(self, content: dict[str, Any]) -> None:
        text = json.dumps({"version": _VERSION, **content}, indent=2, sort_keys=True) + "\n"
        folder, name = os.path.split(self._path)
        import tempfile  # slow to import, and few apps write settings

        descriptor, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        try:
            with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())  # else a power cut may leave an empty file under the name
            os.replace(temporary, self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _warn(self, text: str) -> None:
        if text not in self._warned:
            self._warned.add(text)
            logger.warning("The settings' file %s %s.", self._path, text)


class _BrokenError(Exception):
    """The file is not what this module writes; its text says how."""


class _OfAnotherVersionError(Exception):
    """The file is of a format that this module does not know; its text says which."""


def choices_of(given: Settings | str | os.PathLike[str] | bool | None, app: str) -> Choices:
    """Return where choices are kept.

    Args:
        given: As for `ToolRegistry`.
        app: The app's name; empty: that of the program.
    """
    if isinstance(given, Settings):
        return given
    if given is None:
        given = bool(os.environ.get(SETTINGS_VARIABLE))
    if given is False:
        return Choices()
    program = Path(sys.argv[0]).stem if sys.argv else ""
    return Settings(app or program or "python", None if given is True else given)


def _changed(choices: Mapping[str, bool], changes: Mapping[str, bool | None]) -> Mapping[str, bool]:
    both = {**choices, **changes}
    return MappingProxyType({name: choice for name, choice in both.items() if choice is not None})
