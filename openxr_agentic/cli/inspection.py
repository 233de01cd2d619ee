"""Looks into a module of the user's for what an app would offer to agents. Needs no OpenXR runtime."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import os
import sys
import threading
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic.cli.console import stderr_console
from openxr_agentic.errors import AgenticError, ExtensionNotAvailableError, RuntimeNotFoundError
from openxr_agentic.registry import discovery
from openxr_agentic.registry.advice import Advice, check
from openxr_agentic.registry.registry import ToolRegistry

if TYPE_CHECKING:
    import types
    from collections.abc import Iterator, Mapping

    from openxr_agentic.definition.tool import Tool
    from openxr_agentic.registry.discovery import Marked

_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")


class ModuleError(AgenticError):
    """A module cannot be imported, or has nothing to look at.

    Attributes:
        fault: The same for programs.
    """

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class Fault(NamedTuple):
    """Something that cannot be a tool, or a module that cannot be imported.

    Attributes:
        what: What it is, as ``"scene.create_cube"``.
        text: What is wrong.
        file: Where, in the user's code; None: not known.
        line: The line in there.
    """

    what: str
    text: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = "" if self.file is None else f" ({self.file}:{self.line})"
        return f"{self.what}: {self.text.rstrip('.')}{place}."


class Inspected(NamedTuple):
    """What a module offers.

    Attributes:
        module: Its name.
        registries: Its registries by their names in there.
        tools: What agents would be told of each tool, as tools/list has it, by the tool's name.
        notes: By a tool's name, why agents cannot call it as things are.
        faults: What cannot be a tool.
        advice: What agents or their clients may stumble over.
    """

    module: str
    registries: dict[str, ToolRegistry]
    tools: dict[str, dict[str, Any]]
    notes: dict[str, str]
    faults: list[Fault]
    advice: list[Advice]


def inspect_module(spec: str, server_name: str) -> Inspected:
    """Import a module and look at the tools in it.

    Args:
        spec: A module's name or the path of a Python file; behind a colon, the name of a registry in there.
        server_name: The name under which users add the server to their client.

    Raises:
        ModuleError: It cannot be imported, or there is no such registry, or no tool at all.
    """
    name, attribute = split_spec(spec)
    with _telling_of_a_long_wait(name):
        module = import_module(name)
    registries = _named(module, attribute, name) if attribute else _registries(module)
    offered: dict[str, Tool] = {}
    looked = Inspected(module.__name__, registries, {}, {}, [], [])
    known: set[int] = set()
    for registry in registries.values():
        looked.faults.extend(_of_problem(problem) for problem in registry.problems)
        for entry in registry.entries():
            known.add(id(entry.tool.function))
            _add(looked, entry.tool, entry.refusal and f"not offered: {entry.refusal}")
            if entry.refusal is None:
                offered[entry.tool.name] = entry.tool
    if not attribute:
        offered.update(_marked_only(module, looked, known))
    if not looked.registries and not looked.tools and not looked.faults:
        raise ModuleError(Fault(name, "there is no ToolRegistry in it, and nothing in it is marked with @agentic.tool"))
    if not looked.tools and not looked.faults:
        text = (
            "there are no tools: nothing is registered when the module is imported, and nothing in it is marked "
            "with @agentic.tool. Tools that are registered later, in a function, cannot be seen here."
        )
        looked.advice.append(Advice("", "tool-count", text, "warning"))
    looked.advice.extend(check(offered.values(), server_name=server_name))
    return looked


def _add(looked: Inspected, tool: Tool, note: str | None) -> None:
    info = tool.registry.available_tools(ignore_enabled_state=True) if tool.registry is not None else []
    told = next((one.to_dict() for one in info if one.name == tool.name), {"name": tool.name})
    looked.tools[tool.name] = told
    if note is not None:
        looked.notes[tool.name] = note


# ---------------------------------------------------------------- importing

_PATIENCE_SECONDS = 5.0
_STARTS = "An app's start belongs under if __name__ == '__main__', where check leaves it alone"


@contextmanager
def _telling_of_a_long_wait(name: str) -> Iterator[None]:
    """Say what is going on where an import takes long: a module that starts its app never ends."""
    text = f"still importing {name} ... {_STARTS}."
    timer = threading.Timer(_PATIENCE_SECONDS, stderr_console().print, [text], {"markup": False})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def split_spec(spec: str) -> tuple[str, str]:
    """Return module and registry of ``MODULE[:REGISTRY]``; a Windows path keeps its drive."""
    head, separator, tail = spec.rpartition(":")
    if separator and head and all(part.isidentifier() for part in tail.split(".")):
        return head, tail
    return spec, ""


def import_module(name: str) -> types.ModuleType:
    """Import a module by its dotted name, or the Python file at a path.

    Raises:
        ModuleError: It cannot be imported; with the place in the user's code.
    """
    sys.path.insert(0, os.getcwd())
    path = Path(name)
    is_path = name.endswith(".py") or path.is_file()
    if is_path and not path.is_file():
        raise ModuleError(Fault(name, "there is no such file"))
    try:
        if not is_path:
            importlib.invalidate_caches()
            return importlib.import_module(name)
        return _import_file(path.resolve())
    except ModuleError:
        raise
    except (Exception, SystemExit) as error:
        text = _said(error)
        if isinstance(error, ModuleNotFoundError) and not is_path and _is_or_holds(error.name, name):
            raise ModuleError(
                Fault(name, f"there is no such module here or among the installed ones ({text})")
            ) from error
        if isinstance(error, SystemExit):
            text += ": it ended the program when it was imported; let it do so under if __name__ == '__main__' only"
        if isinstance(error, (RuntimeNotFoundError, ExtensionNotAvailableError)):
            text = f"{text.rstrip('.')}. {_STARTS}"
        elif _is_of_openxr(error):
            text += "; what is wrong with OpenXR here is said by: openxr-agentic doctor"
        raise ModuleError(Fault(f"cannot import {name}", text, *place_of(error))) from error


def _is_or_holds(missing: str | None, name: str) -> bool:
    return missing is not None and (name == missing or name.startswith(f"{missing}."))


def _is_of_openxr(error: BaseException) -> bool:
    """Whether pyopenxr is missing, cannot be imported, or raised this: a module may make its instance when imported."""
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    names = [frame.f_globals.get("__name__") for frame in frames]
    if isinstance(error, ModuleNotFoundError):
        names.append(error.name)
    return any(str(name).partition(".")[0] == "xr" for name in names)


def _import_file(path: Path) -> types.ModuleType:
    folder, names = path.parent, [path.stem]
    while (folder / "__init__.py").is_file():  # in a package, its own imports are relative to that
        names.insert(0, folder.name)
        folder = folder.parent
    sys.path.insert(0, str(folder))
    if len(names) > 1:
        return importlib.import_module(".".join(names[:-1] if path.stem == "__init__" else names))
    # A program may be called like a module that is loaded already.
    name = path.stem if path.stem not in sys.modules else f"checked_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ModuleError(Fault(str(path), "it is no Python file"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- registries


def _registries(module: types.ModuleType) -> dict[str, ToolRegistry]:
    found: dict[str, ToolRegistry] = {}
    for name, value in list(vars(module).items()):
        # Not isinstance: a proxy may raise.
        if issubclass(type(value), ToolRegistry) and all(value is not other for other in found.values()):
            found[name] = value
    return found


def _named(module: Any, attribute: str, name: str) -> dict[str, ToolRegistry]:
    there = _registries(module)
    has = f". It has: {', '.join(there)}" if there else ", and no registry of another name"
    try:
        value: Any = functools.reduce(getattr, attribute.split("."), module)
    except AttributeError:
        raise ModuleError(Fault(name, f"it has no {attribute}{has}")) from None
    if not issubclass(type(value), ToolRegistry):
        what = f"its {attribute} is a {type(value).__name__}, not a ToolRegistry"
        raise ModuleError(Fault(name, f"{what}{has}"))
    return {attribute: value}


# ---------------------------------------------------------------- marked, and in no registry


def _marked_only(module: types.ModuleType, looked: Inspected, known: set[int]) -> Mapping[str, Tool]:
    """Define what is marked and in no registry of the module; returns the tools by name."""
    prefixes = {registry.prefix for registry in looked.registries.values()}
    trial = ToolRegistry(prefix=prefixes.pop() if len(prefixes) == 1 else "", settings=False)
    looked_at = discovery.find([module])
    looked.faults.extend(map(_of_problem, looked_at.problems))
    made: dict[str, Tool] = {}
    stand_ins: list[object] = []  # a registry does not keep an object alive
    for marked, note in [*((one, _NOT_REGISTERED) for one in looked_at.marked), *_methods(module, stand_ins)]:
        function = getattr(marked.callable, "__func__", marked.callable)
        if id(function) in known:
            continue
        known.add(id(function))
        try:
            tool = trial.register(None, marked.callable)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a class that is marked is made here
            looked.faults.append(Fault(f"{marked.module}.{marked.qualname}", _said(error), *_place_of_code(function)))
            continue
        made[tool.name] = tool
        _add(looked, tool, note)
    return made


_NOT_REGISTERED = "marked, and in no registry yet: registry.initialize(...) or registry.register(...) offers it"


def _methods(module: types.ModuleType, stand_ins: list[object]) -> Iterator[tuple[Marked, str]]:
    """Find the marked methods of the module's classes, bound to objects that were never initialised."""
    for cls in [value for value in vars(module).values() if issubclass(type(value), type)]:
        if cls.__module__ != module.__name__:
            continue
        try:
            stand_in = object.__new__(cls)
        except TypeError:  # abstract, or made in C
            continue
        stand_ins.append(stand_in)
        note = f"a method of {cls.__qualname__}: registry.register_object(...) offers it, for each object"
        for marked in discovery.find([stand_in]).marked:
            if getattr(marked.callable, "__self__", None) is stand_in:
                yield marked, note


# ---------------------------------------------------------------- words, and places in the user's code


def _said(error: BaseException) -> str:
    cause = error.__cause__
    if isinstance(error, RuntimeError) and isinstance(cause, AgenticError):
        error = cause  # Python before 3.12 wraps what is raised in a class body
    if isinstance(error, AgenticError):
        return str(error)
    text = (error.msg if isinstance(error, SyntaxError) else str(error)).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def place_of(error: BaseException) -> tuple[str | None, int | None]:
    """Return file and line in the user's code at which an exception was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno
    file, line = None, None
    traceback = error.__traceback__
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not name.startswith(("<frozen ", importlib.__file__, _PACKAGE)):
            file, line = name, traceback.tb_lineno
        traceback = traceback.tb_next
    return file, line


def _place_of_code(function: Any) -> tuple[str | None, int | None]:
    try:
        code = getattr(inspect.unwrap(function), "__code__", None)
        if code is not None:
            return code.co_filename, code.co_firstlineno
        return inspect.getsourcefile(function), inspect.getsourcelines(function)[1]
    except (OSError, TypeError, ValueError):
        return None, None


def _of_problem(problem: discovery.Problem) -> Fault:
    return Fault(problem.where, _said(problem.error), *place_of(problem.error))
