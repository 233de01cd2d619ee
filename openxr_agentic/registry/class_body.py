"""A decorator inside a class body: what it got can only be told apart once the class is made.

Under `@staticmethod` or `@classmethod` a decorator gets a plain function, as it does for a
method; over `@classmethod` it gets what is bound to no class yet. Python tells every value
in a class body when the class is made (`__set_name__`). A decorated function has no such hook and must stay
what it is, so a value of our own is put beside it, and takes itself away again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openxr_agentic.errors import DefinitionError

if TYPE_CHECKING:
    import types
    from collections.abc import Callable, Iterator, MutableMapping

    Then = Callable[[type, str, Any], None]

_MOST_WRAPPERS = 100  # a wrapper may say that it wraps itself


def class_body(given: Any, frame: types.FrameType) -> MutableMapping[str, Any] | None:
    """Return the namespace of the class body in which something is being decorated; None: it is in none.

    Args:
        given: What is decorated.
        frame: The frame that decorates it.
    """
    function = given.__func__ if isinstance(given, (staticmethod, classmethod)) else given
    outer, _, _ = str(getattr(function, "__qualname__", "")).rpartition(".")
    if isinstance(function, type) or not outer or outer.endswith("<locals>"):
        return None
    namespace: MutableMapping[str, Any] = frame.f_locals  # of a class body the namespace itself, not a copy
    return namespace if namespace.get("__qualname__") == outer else None


def when_class_is_made(namespace: MutableMapping[str, Any], given: Any, then: Then) -> None:
    """Have a function called when the class of a body is made.

    Args:
        namespace: What `class_body` returned.
        given: What is decorated.
        then: Gets the class, the name under which `given` is in it, and what is there: `given` itself, or what
            other decorators made of it.
    """
    namespace[f"__openxr_agentic_tool_{id(given)}__"] = _Hook(given, then)


class _Hook:
    def __init__(self, given: Any, then: Then) -> None:
        self._given = given
        self._then = then

    def __set_name__(self, owner: type, name: str) -> None:
        delattr(owner, name)
        function = next(_inside(self._given))
        for attribute, value in list(vars(owner).items()):
            if any(inner is function for inner in _inside(value)):
                self._then(owner, attribute, value)
                return
        raise DefinitionError(
            f"{owner.__qualname__} has no attribute that is the tool {getattr(function, '__name__', function)!r}: "
            "another one of its name, or a decorator above @tool, took its place. Put @tool above that decorator."
        )


def _inside(value: Any) -> Iterator[Any]:
    """Yield a value, and what it wraps."""
    inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
    for _ in range(_MOST_WRAPPERS):
        yield inner
        inner = getattr(inner, "__dict__", {}).get("__wrapped__")
        if inner is None:
            return
