"""Whether a callable is another one again: itself, or what a reload or a notebook cell made anew in its place.

Module and qualified name do not tell: all functions that one factory made share them, and so do all partials
of a function and all objects of a class. What tells is the code object. Code that is defined anew is another
object; what shares its code with the one before, but not its closure, defaults, bound arguments or object,
is another tool.
"""

from __future__ import annotations

import enum
import functools
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SIMPLE = (type(None), bool, int, float, complex, str, bytes)
_DEEPEST = 8


class Sameness(enum.IntEnum):
    """How two values go together; of several, the least counts, but for `REDEFINED`, which makes up for `EQUAL`."""

    OTHER = 0
    EQUAL = 1
    SAME = 2
    REDEFINED = 3


_OTHER, _EQUAL, _SAME, _REDEFINED = Sameness


def is_again(new: Any, old: Any) -> bool:
    """Tell whether a callable is another one, as it is or defined anew. Both have one module and qualified name."""
    if new is old:
        return True
    try:
        return _is_redefined(_innermost(new), _innermost(old)) or _compare(new, old, _DEEPEST) >= _SAME
    except Exception:  # noqa: BLE001 - what they hold may raise anything when it is looked at
        return False


def _innermost(given: Any) -> Any:
    while isinstance(given, (functools.partial, types.MethodType, staticmethod)):
        given = given.func if isinstance(given, functools.partial) else given.__func__
    return inspect.unwrap(given)


def _is_redefined(new: Any, old: Any) -> bool:
    return (
        isinstance(new, types.FunctionType)
        and isinstance(old, types.FunctionType)
        and new.__code__ is not old.__code__
        and named(new) == named(old)
        and not _stand_in_one_source(new, old)
    )


def _stand_in_one_source(new: types.FunctionType, old: types.FunctionType) -> bool:
    """Tell whether both are written in one file that is run for the first time: a name used twice, not a reload."""
    code, before = new.__code__, old.__code__
    if code.co_filename != before.co_filename or code.co_firstlineno == before.co_firstlineno:
        return False
    module = sys.modules.get(new.__module__)
    spec = getattr(module, "__spec__", None)
    if spec is None:  # a script; a notebook's cells have names of their own
        return getattr(module, "__file__", None) == code.co_filename
    return bool(getattr(spec, "_initializing", False))  # importlib.reload does not set it


def named(function: types.FunctionType) -> tuple[object, ...]:
    """Return what a function is called: module, place in it, and of a lambda, which has no name, where it stands."""
    return function.__module__, function.__qualname__, *place_of_lambda(function)


def place_of_lambda(function: Any) -> tuple[object, ...]:
    """Return file, line and column of a lambda; nothing of anything else."""
    code = getattr(function, "__code__", None)
    if not isinstance(code, types.CodeType) or code.co_name != "<lambda>":
        return ()
    positions: Iterable[Any] = getattr(code, "co_positions", tuple)()  # Python 3.11 and later
    columns = [column for line, _, column, _ in positions if line == code.co_firstlineno and column]
    return code.co_filename, code.co_firstlineno, min(columns, default=0)


def _compare(new: Any, old: Any, depth: int) -> Sameness:
    if new is old or not depth:
        return _SAME if new is old else _OTHER
    if isinstance(new, type) and isinstance(old, type):
        return _classes(new, old)
    if type(new) is not type(old):
        # An object of a class that was defined anew.
        both_callable = callable(new) and callable(old)
        redefined = both_callable and _classes(type(new), type(old)) is _REDEFINED
        return _REDEFINED if redefined else _OTHER
    if isinstance(new, _SIMPLE):
        return _EQUAL if new == old else _OTHER
    compare = next((compare for kind, compare in _KINDS if isinstance(new, kind)), _objects)
    return compare(new, old, depth - 1)


def _classes(new: type, old: type) -> Sameness:
    if (new.__module__, new.__qualname__) != (old.__module__, old.__qualname__):
        return _OTHER
    if "<locals>" not in new.__qualname__:
        return _REDEFINED  # a module has one class of a name at a time
    methods = vars(old)
    changed = any(_is_redefined(value, methods.get(name)) for name, value in vars(new).items())
    return _REDEFINED if changed else _OTHER


def _functions(new: types.FunctionType, old: types.FunctionType, depth: int) -> Sameness:
    if named(new) != named(old):
        return _OTHER
    if new.__code__ is not old.__code__:
        return _REDEFINED if _is_redefined(new, old) else _OTHER
    if new.__globals__ is not old.__globals__:
        return _OTHER
    defaults = _tuples(
        ((new.__defaults__ or ()), *(new.__kwdefaults__ or {}).items()),
        ((old.__defaults__ or ()), *(old.__kwdefaults__ or {}).items()),
        depth,
    )
    # Two cells that hold one value now need not later.
    cells = [_cells(*pair, depth) for pair in zip(new.__closure__ or (), old.__closure__ or (), strict=True)]
    return _least([defaults, *cells])


def _cells(new: types.CellType, old: types.CellType, depth: int) -> Sameness:
    if new is old:
        return _SAME
    found = _compare(new.cell_contents, old.cell_contents, depth)
    return _EQUAL if found is _SAME else found


def _methods(new: types.MethodType, old: types.MethodType, depth: int) -> Sameness:
    return _least([_compare(new.__func__, old.__func__, depth), _compare(new.__self__, old.__self__, depth)])


def _statics(new: staticmethod[Any, Any], old: staticmethod[Any, Any], depth: int) -> Sameness:
    return _compare(new.__func__, old.__func__, depth)


def _partials(new: functools.partial[Any], old: functools.partial[Any], depth: int) -> Sameness:
    bound = [(given.args, *sorted(given.keywords.items())) for given in (new, old)]
    return _least([_compare(new.func, old.func, depth), _tuples(bound[0], bound[1], depth)])


def _tuples(new: tuple[Any, ...], old: tuple[Any, ...], depth: int) -> Sameness:
    """Compare what cannot be set anew: here, equal is the same."""
    if len(new) != len(old):
        return _OTHER
    found = (_compare(*pair, depth) for pair in zip(new, old, strict=True))
    return _least(_SAME if one is _EQUAL else one for one in found)


def _objects(new: Any, old: Any, depth: int) -> Sameness:
    """Compare objects of one class: they are two, unless what they hold was defined anew, as what they decorate."""
    if not callable(new):
        return _OTHER
    mine, theirs = _held(new), _held(old)
    if mine.keys() != theirs.keys():
        return _OTHER
    return _least([_EQUAL, *(_compare(value, theirs[name], depth) for name, value in mine.items())])


def _held(given: Any) -> dict[str, Any]:
    held = getattr(given, "__dict__", {})
    return {name: value for name, value in held.items() if name == "__wrapped__" or not name.startswith("__")}


_KINDS: tuple[tuple[type, Callable[[Any, Any, int], Sameness]], ...] = (
    (types.FunctionType, _functions),
    (types.MethodType, _methods),
    (staticmethod, _statics),
    (functools.partial, _partials),
    (tuple, _tuples),
)


def _least(found: Iterable[Sameness]) -> Sameness:
    """Return what several values are together."""
    kinds = set(found)
    if _OTHER in kinds:
        return _OTHER
    if _REDEFINED in kinds:
        return _REDEFINED
    return min(kinds, default=_SAME)
