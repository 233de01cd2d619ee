"""What can be called, and with what: every kind of callable, taken apart.

Plain functions are read from their code object: `inspect.signature` takes longer
than all the rest of a definition together. It is used for what is no plain function.
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic.arguments.decoder import REQUIRED
from openxr_agentic.definition.caller import says_closed
from openxr_agentic.errors import DefinitionError
from openxr_agentic.schema.names import Names, names_of, resolve

if TYPE_CHECKING:
    from collections.abc import Callable

_VARARGS, _VARKEYWORDS = inspect.CO_VARARGS, inspect.CO_VARKEYWORDS
_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ITERABLE_COROUTINE
_GENERATOR = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


class Parameter(NamedTuple):
    """One parameter of a callable.

    Attributes:
        name: Its name.
        annotation: Its type, as it stands in the source if that is text; `REQUIRED` if there is none.
        default: Its default; `REQUIRED` if it has none.
        by_position: It can be given by position.
        by_name: It can be given by name.
    """

    name: str
    annotation: Any
    default: Any
    by_position: bool
    by_name: bool


class Target(NamedTuple):
    """A callable, taken apart.

    Attributes:
        call: What is called, with the owner in front if there is one.
        owner: Returns what the call belongs to; None once it was collected. Not set: it belongs to nothing.
        function: Where the signature and the annotations are.
        skip: How many leading parameters are given already.
        bound: Names of parameters that are given already.
        name: Its name.
        doc: Its docstring, raw.
        cls: The class that it belongs to, where it belongs to one.
    """

    call: Callable[..., Any]
    owner: Callable[[], Any] | None
    function: Any
    skip: int
    bound: frozenset[str]
    name: str
    doc: str | None
    cls: type | None = None


class Signature(NamedTuple):
    """Parameters of a target, and what it returns.

    Attributes:
        parameters: Those that are not given already.
        returns: The return annotation, resolved; None if there is none.
        variadic: ``"*args"`` or ``"**options"``, as they are called; empty if there are none.
        names: What names in the annotations mean.
        is_async: It is an `async def`, or wraps one.
    """

    parameters: tuple[Parameter, ...]
    returns: Any
    variadic: tuple[str, ...]
    names: Names
    is_async: bool


def take_apart(given: Any, where: str) -> Target:
    """Find out what is called, whom it belongs to, and what is given already.

    Raises:
        DefinitionError: It cannot be called, or not without something that only its class can give.
    """
    try:
        for kind, read in _READERS:
            if isinstance(given, kind):
                return read(given, where)
        return _object(given, where)
    except DefinitionError:
        raise
    except Exception as error:  # an object, or one that stands for another (a proxy), may raise anything
        raise DefinitionError(f"{where}: it cannot be looked at: {type(error).__name__}: {error}.") from error


def _function(given: types.FunctionType, where: str) -> Target:
    return Target(given, None, given, 0, frozenset(), given.__name__, given.__doc__)


def _static(given: staticmethod[Any, Any], where: str) -> Target:
    return take_apart(given.__func__, where)


def _unbound(given: classmethod[Any, Any, Any], where: str) -> Target:
    raise DefinitionError(
        f"{where}: a classmethod object is not bound to its class yet. Register Class.{given.__func__.__name__} "
        "once the class is made, or mark it with @agentic.tool and let discovery find it."
    )


def _object(given: Any, where: str) -> Target:
    if not callable(given):
        raise DefinitionError(f"{where}: a {type(given).__name__} is not callable: {given!r}.")
    name = getattr(given, "__name__", None) or type(given).__name__
    call = type(given).__call__
    if not isinstance(call, types.FunctionType):  # implemented in C, as functools.lru_cache's wrapper
        return Target(given, None, given, 0, frozenset(), name, getattr(given, "__doc__", None))
    inner = take_apart(call, where)
    return inner._replace(
        owner=lambda: given, skip=1, name=name, doc=_own_doc(type(given)) or inner.doc, cls=type(given)
    )


def _partial(given: functools.partial[Any], where: str) -> Target:
    inner = take_apart(given.func, where)
    own = vars(given)  # what functools.update_wrapper copied, if it was called
    return inner._replace(
        call=given,
        owner=None,  # partial holds its function itself, and so a method's owner
        skip=inner.skip + len(given.args),
        bound=inner.bound | given.keywords.keys(),
        name=own.get("__name__") or inner.name,
        doc=own.get("__doc__") or inner.doc,
    )


def _method(given: types.MethodType, where: str) -> Target:
    owner = given.__self__
    inner = take_apart(given.__func__, where)
    doc = inner.doc or inspect.getdoc(given)
    if isinstance(owner, (type, types.ModuleType)):
        cls = owner if isinstance(owner, type) else None
        return inner._replace(call=given, skip=inner.skip + 1, doc=doc, cls=cls)
    try:
        says_closed(owner)
    except Exception as error:
        raise DefinitionError(
            f"{where}: its object does not tell whether it is closed: {type(error).__name__}: {error}. Register it "
            "once the object is ready, or give the attribute `closed` another name."
        ) from error
    reference: Callable[[], Any]
    try:
        reference = weakref.ref(owner)
    except TypeError:  # __slots__ without __weakref__
        reference = lambda: owner  # noqa: E731
    return inner._replace(owner=reference, skip=inner.skip + 1, doc=doc, cls=type(owner))


def _tool_class(cls: type, where: str) -> Target:
    """Make the class's one object, whose `execute` or `__call__` is the tool."""
    called = any("__call__" in vars(base) for base in cls.__mro__)  # every class has one of its metaclass, too
    if not called and not hasattr(cls, "execute"):
        raise DefinitionError(
            f"{where}: class {cls.__qualname__} needs a method `execute` or `__call__`, which is the tool."
        )
    try:
        made = cls()
        bound = made.execute if hasattr(made, "execute") else made
    except (Exception, SystemExit) as error:
        raise DefinitionError(
            f"{where}: class {cls.__qualname__} cannot be made without arguments: {type(error).__name__}: {error}. "
            "Give its constructor defaults, or register an object of it."
        ) from error
    inner = take_apart(bound, where)
    if inner.owner is not None:
        inner = inner._replace(owner=lambda: made)  # held here: nobody else does
    return inner._replace(name=cls.__name__, doc=_own_doc(cls) or inner.doc, cls=cls)


_READERS: tuple[tuple[type, Callable[[Any, str], Target]], ...] = (
    (types.FunctionType, _function),
    (functools.partial, _partial),
    (types.MethodType, _method),
    (staticmethod, _static),
    (classmethod, _unbound),
    (type, _tool_class),
)


def _own_doc(cls: type) -> str | None:
    """Return a class's docstring, but not the signature that dataclass writes there."""
    doc = cls.__doc__
    return None if doc is None or doc.startswith(f"{cls.__name__}(") else doc


def read_signature(target: Target, names: Names | None, where: str) -> Signature:
    """Read what a target takes and returns, with names in annotations resolved.

    Args:
        target: The callable.
        names: Names that were kept when it was marked; None: they are looked up now.
        where: For errors.

    Raises:
        DefinitionError: It has no signature, is a generator, or an annotation cannot be resolved.
    """
    function = target.function
    if (
        type(function) is types.FunctionType
        and not hasattr(function, "__wrapped__")
        and "__signature__" not in vars(function)
    ):
        parameters, variadic = _from_code(function)
        annotated, flags = function, function.__code__.co_flags
    else:
        parameters, variadic = _from_inspect(function, where)
        annotated = inspect.unwrap(function)
        flags = _flags(function) | _flags(annotated)
    if flags & _GENERATOR:
        raise DefinitionError(f"{where}: it yields, and a tool returns one result. Return a list instead.")
    annotations = _annotations(annotated, where)
    space = names or names_of(annotated, target.cls)
    resolved = resolve(annotations, space, where)
    left = [
        parameter._replace(annotation=resolved.get(parameter.name, REQUIRED)) for parameter in _left(parameters, target)
    ]
    if left and target.skip == 0 and left[0].name in ("self", "cls"):
        raise DefinitionError(
            f"{where}: its first parameter is {left[0].name!r}, so it is a method that is not bound. Register the "
            "method of an object (scene.spawn), or mark it with @agentic.tool and register the object."
        )
    return Signature(tuple(left), resolved.get("return"), variadic, space, bool(flags & _COROUTINE))


def _left(parameters: list[Parameter], target: Target) -> list[Parameter]:
    """Return the parameters that are not given already.

    Those that an app has bound are hidden from agents altogether: what it has
    decided, an agent cannot change.
    """
    if not target.skip and not target.bound:
        return parameters
    skip = target.skip
    positional = [parameter for parameter in parameters if parameter.by_position]
    skipped = {parameter.name for parameter in positional[:skip]}
    left = [parameter for parameter in parameters if parameter.name not in skipped | target.bound]
    if target.bound:
        left = [parameter._replace(by_position=not parameter.by_name) for parameter in left]
    return left


def _from_code(function: types.FunctionType) -> tuple[list[Parameter], tuple[str, ...]]:
    code = function.__code__
    names = code.co_varnames
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    only_position = code.co_posonlyargcount
    defaults = function.__defaults__ or ()
    first_default = count - len(defaults)
    parameters = [
        Parameter(
            names[number],
            REQUIRED,
            defaults[number - first_default] if number >= first_default else REQUIRED,
            True,
            number >= only_position,
        )
        for number in range(count)
    ]
    named = function.__kwdefaults__ or {}
    parameters += [
        Parameter(name, REQUIRED, named.get(name, REQUIRED), False, True)
        for name in names[count : count + keyword_only]
    ]
    if not code.co_flags & (_VARARGS | _VARKEYWORDS):
        return parameters, ()
    variadic, place = [], count + keyword_only
    if code.co_flags & _VARARGS:
        variadic.append(f"*{names[place]}")
        place += 1
    if code.co_flags & _VARKEYWORDS:
        variadic.append(f"**{names[place]}")
    return parameters, tuple(variadic)


def _from_inspect(function: Any, where: str) -> tuple[list[Parameter], tuple[str, ...]]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise DefinitionError(
            f"{where}: its signature cannot be read: {error}. Wrap it in a function with annotations."
        ) from None
    parameters, variadic = [], []
    for found in signature.parameters.values():
        if found.kind is found.VAR_POSITIONAL:
            variadic.append(f"*{found.name}")
        elif found.kind is found.VAR_KEYWORD:
            variadic.append(f"**{found.name}")
        else:
            parameters.append(
                Parameter(
                    found.name,
                    REQUIRED,
                    REQUIRED if found.default is found.empty else found.default,
                    found.kind is not found.KEYWORD_ONLY,
                    found.kind is not found.POSITIONAL_ONLY,
                )
            )
    return parameters, tuple(variadic)


def _flags(function: Any) -> int:
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return int(code.co_flags) if isinstance(code, types.CodeType) else 0


def _annotations(function: Any, where: str) -> dict[str, Any]:
    try:
        return getattr(function, "__annotations__", None) or {}
    except NameError as error:  # Python 3.14 evaluates them here
        raise DefinitionError(
            f"{where}: the name {error.name!r} in its annotations cannot be resolved. Import it at run time (not under "
            "TYPE_CHECKING), or define it before the tool."
        ) from None
