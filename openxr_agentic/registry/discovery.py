"""Finds the tools that `@agentic.tool` marked, in modules, packages, entry points and objects.

What is found where:

* In a module: marked functions and classes, and the marked static and class methods of its classes. A method
  needs an object, so it is found in an object that is a target itself.
* A function or class counts where it is defined, so that importing it elsewhere makes no other tool of it. A
  module that names it in `__all__` offers it as its own. What no module defines by name (a function that another
  function made, a `functools.partial`, a callable object) counts wherever it is found. Nothing is found twice.
* A package stands for its own module alone, and ``"myapp.tools.*"`` for all modules in it too, but for `__main__`,
  which is a program. As with pkgutil, folders without an `__init__.py` are passed over there.

The order is that of the targets; in a package, of the modules' names; in a module, of definition.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import sys
import types
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic.definition.options import mark_of
from openxr_agentic.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "openxr_agentic.tools"
_RECURSIVE = ".*"
_HERE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "")  # all of this package


class EntryPoints(NamedTuple):
    """A target: what installed packages offer as entry points. Each names a module, or an object in one.

    Attributes:
        group: The entry points' group.
    """

    group: str = ENTRY_POINT_GROUP


class Marked(NamedTuple):
    """A marked callable.

    Attributes:
        callable: What to define a tool of: a function, a class, or a method bound to its class or object.
        module: Name of the module that it belongs to.
        qualname: Its place in there, as ``"Scene.reset"``. After a reload, module and place name the same tool.
    """

    callable: Any
    module: str
    qualname: str


class Problem(NamedTuple):
    """Something that could not be looked through; everything else was.

    Attributes:
        where: What it is, as ``"module myapp.tools"``.
        error: What happened.
    """

    where: str
    error: BaseException

    def __str__(self) -> str:
        error = self.error
        if isinstance(error, DefinitionError):
            text = str(error)
        else:
            text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        text = f"{self.where}: {text.removesuffix('.')}{_place(error)}."
        if isinstance(error, SystemExit) and self.where.startswith("module "):
            text += " It ended the program when it was imported; let it do so under if __name__ == '__main__' only."
        return text


class Found(NamedTuple):
    """What `find` found.

    Attributes:
        marked: Marked callables, each once.
        problems: What could not be looked through.
    """

    marked: list[Marked]
    problems: list[Problem]


def find(targets: Iterable[object]) -> Found:
    """Find marked callables.

    A module is imported if it is not yet, and never twice; one that failed is tried again by the next `find`.

    Args:
        targets: Each of them is one of

            * a module or its dotted name; ``"myapp.tools.*"`` is a package and all modules in it, at any depth;
            * `EntryPoints()`: what installed packages offer;
            * a marked callable;
            * a class, for its marked static and class methods;
            * any other object, for the marked methods of its class, bound to it.

    Returns:
        What was found, and what could not be looked through: a module that failed or exited when it
        was imported, an entry point that leads nowhere, an object in which nothing is marked.

    Raises:
        TypeError: `targets` is one text.
        KeyboardInterrupt: The user interrupted while a module was imported.
    """
    if isinstance(targets, str):
        raise TypeError(f"find takes a list of targets, not one text: [{targets!r}].")
    search = _Search()
    for target in targets:
        search.look_at(target)
    return search.found


class _Search:
    """One run of `find`."""

    def __init__(self) -> None:
        self.found = Found([], [])
        self._seen: set[object] = set()
        self._failed: set[str] = set()
        self._listed_anew = False

    def look_at(self, target: object) -> None:
        try:
            self._look_at(target)
        except DefinitionError as error:
            self._report("target", error)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - an object may raise anything when it is looked at
            self._report(f"target of type {type(target).__qualname__}", error)

    def _look_at(self, target: object) -> None:
        if isinstance(target, str):
            self._look_at_name(target)
        elif isinstance(target, EntryPoints):
            self._look_at_entry_points(target.group)
        elif isinstance(target, types.ModuleType):
            self._add(_in_module(target))
        else:
            marked = list(_in_object(target))
            self._add(marked)
            if not marked:
                kind = f"{type(target).__module__}.{type(target).__qualname__}"
                raise DefinitionError(
                    f"Nothing in this {kind} object is marked with @agentic.tool. Mark its methods, or register it "
                    "with ToolRegistry.register."
                )

    def _add(self, marked: Iterable[Marked]) -> None:
        for one in marked:
            found = one.callable
            # Each look at a method makes another object of it.
            bound = isinstance(found, types.MethodType)
            key = (id(found.__func__), id(found.__self__)) if bound else id(found)
            if key not in self._seen:
                self._seen.add(key)
                self.found.marked.append(one)

    def _report(self, where: str, error: BaseException) -> None:
        self.found.problems.append(Problem(where, error))

    def _look_at_name(self, name: str) -> None:
        package = name.removesuffix(_RECURSIVE)
        module = self._imported(package)
        if module is None:
            return
        self.look_at(module)
        if package != name:
            import pkgutil

            for found in pkgutil.iter_modules(getattr(module, "__path__", None) or ()):
                if found.name != "__main__":
                    self._look_at_name(f"{package}.{found.name}{_RECURSIVE if found.ispkg else ''}")

    def _look_at_entry_points(self, group: str) -> None:
        from importlib.metadata import entry_points

        for point in sorted(entry_points(group=group), key=lambda point: (_distribution(point), point.name)):
            module = self._imported(_module_of(point))
            if module is None:
                continue
            target, error = _attribute(module, point)
            if error is None:
                self.look_at(target)
            else:
                self._report(f"entry point {point.name} = {point.value} of {_distribution(point)}", error)

    def _imported(self, name: str) -> Any:
        """Return a module, imported if it was not yet; None, and the failure is reported, if it cannot be."""
        if name in self._failed:
            return None
        if name not in sys.modules:
            package = name.rpartition(".")[0]
            # First, so that one that is broken is run once, not once for each module in it.
            if package and self._imported(package) is None:
                return None
            if not self._listed_anew:
                importlib.invalidate_caches()  # or a file that was written just now may be missed
                self._listed_anew = True
        module, error = _import(name)
        if error is not None:
            self._failed.add(name)
            self._report(f"module {name}", error)
        return module


def _import(name: str) -> tuple[Any, BaseException | None]:
    try:
        if name not in sys.modules and _is_running_program(name):
            return sys.modules["__main__"], None
        return importlib.import_module(name), None  # also if it is there: another thread may be importing it
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a module may raise anything
        return None, error


def _module_of(point: EntryPoint) -> str:
    return point.value.partition(":")[0].strip()


def _attribute(module: Any, point: EntryPoint) -> tuple[Any, BaseException | None]:
    path = point.value.partition(":")[2].partition("[")[0].strip()  # behind it, there may be [extras]
    try:
        return functools.reduce(getattr, filter(None, path.split(".")), module), None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as _import
        return None, error


def _is_running_program(name: str) -> bool:
    """Tell whether a module is the program itself: importing it would run all of it again, as another module."""
    main = sys.modules.get("__main__")
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if spec is not None:  # python -m
        return bool(spec.name == name)
    if file is None:
        return False
    found = importlib.util.find_spec(name)
    return found is not None and os.path.realpath(found.origin or "") == os.path.realpath(file)


# ---------------------------------------------------------------- what is marked in one target


def _in_module(module: types.ModuleType) -> Iterator[Marked]:
    offered = vars(module).get("__all__")
    names = frozenset(offered) if isinstance(offered, (list, tuple)) else frozenset()
    for name, value in list(vars(module).items()):  # a list: another thread may import something meanwhile
        # Not isinstance: it asks the object, and one that stands for another (a proxy) may raise.
        is_class = issubclass(type(value), type)
        if not is_class and not _is_marked(value):
            continue
        home, qualname = _home(value)
        if home is None:
            home, qualname = module.__name__, name
        if home != module.__name__ and name not in names:
            continue
        if _is_marked(value):
            yield Marked(value, home, qualname)
        if is_class:
            yield from _in_class(value)


def _home(value: Any) -> tuple[str | None, str]:
    """Return the module in which it is defined by name, and its place there; None: there is none."""
    own: Any = value.__dict__
    if isinstance(value, (type, types.FunctionType)):
        module, qualname = value.__module__, value.__qualname__
    else:  # what functools.update_wrapper copied, if it was called; its class's is not meant
        module, qualname = own.get("__module__"), own.get("__qualname__", "")
    return (None if "<locals>" in qualname else module), qualname


def _in_class(cls: type) -> Iterator[Marked]:
    for name, value in list(vars(cls).items()):
        place = f"{cls.__qualname__}.{name}"
        if isinstance(value, (staticmethod, classmethod)) and _is_marked(value):
            yield Marked(value.__get__(None, cls), cls.__module__, place)
        elif issubclass(type(value), type) and value.__qualname__ == place:
            if _is_marked(value):
                yield Marked(value, cls.__module__, place)
            yield from _in_class(value)


def _in_object(target: Any) -> Iterator[Marked]:
    if _is_marked(target):
        yield Marked(target, *_identity(target))
    if isinstance(target, type):
        yield from _in_class(target)
        return
    cls = type(target)
    # In order of definition, those of base classes first; what a class overrides is what its own says.
    attributes: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        attributes.update(vars(base))
    for name, value in attributes.items():
        if not isinstance(value, type) and _is_marked(value):
            yield Marked(value.__get__(target, cls), cls.__module__, f"{cls.__qualname__}.{name}")


def _identity(target: Any) -> tuple[str, str]:
    function = target.__func__ if isinstance(target, types.MethodType) else target
    home, qualname = _home(function)
    return (type(target).__module__, type(target).__qualname__) if home is None else (home, qualname)


def _is_marked(value: Any) -> bool:
    try:
        return mark_of(value) is not None
    except Exception:  # noqa: BLE001 - an object that stands for another (a proxy) may raise anything
        return False


# ---------------------------------------------------------------- words for problems


def _place(error: BaseException) -> str:
    """Return where in the user's code it was raised."""
    place, traceback = "", error.__traceback__
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if not file.startswith(("<frozen ", importlib.__file__, _HERE)):
            place = f" ({file}:{traceback.tb_lineno})"
        traceback = traceback.tb_next
    return place


def _distribution(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an unknown package"
