"""What names in postponed annotations mean.

`from __future__ import annotations` makes every annotation a text. Its names are
those of the function's module, of the functions around it and of its class.
"""

from __future__ import annotations

import contextlib
import sys
import types
from typing import TYPE_CHECKING, Any, NamedTuple

from openxr_agentic.errors import DefinitionError

if TYPE_CHECKING:
    from collections.abc import Mapping


class Names(NamedTuple):
    """Where names are looked up.

    Attributes:
        local: Names of the functions around, which hide those of the module.
        module: Names of the module.
        cls: Names of the class that the function stands in, the last resort.
    """

    local: Mapping[str, Any]
    module: dict[str, Any]
    cls: Mapping[str, Any]


NOWHERE = Names({}, {}, {})


def names_of(function: Any, cls: type | None = None) -> Names:
    """Return what a function's names mean, as seen from here.

    Args:
        function: The function. Where it was made inside a function that is still running, that
            one's local names count too.
        cls: The class that it belongs to, where it is a method.
    """
    module = getattr(function, "__globals__", None)
    if module is None:
        found = sys.modules.get(getattr(function, "__module__", None) or "")
        return Names({}, vars(found) if found is not None else {}, {})
    if function.__qualname__ == function.__name__:
        return Names({}, module, {})
    return Names(_local_names(function), module, _class_names(function, cls))


def kept_names(function: Any) -> Names | None:
    """Return the names that a function's annotations may need later, when the functions around it are done.

    Returns:
        None where nothing needs to be kept. Only classes, modules and what typing makes are kept, so that
        no object of the app is kept alive.
    """
    if not isinstance(function, types.FunctionType) or "<locals>" not in function.__qualname__:
        return None
    names = names_of(function)
    local = {name: value for name, value in names.local.items() if _is_type_like(value)}
    return names._replace(local=local)


def _is_type_like(value: object) -> bool:
    return isinstance(value, (type, types.ModuleType)) or type(value).__module__ in (
        "typing",
        "types",
        "typing_extensions",
    )


def _local_names(function: types.FunctionType) -> dict[str, Any]:
    local: dict[str, Any] = {}
    if "<locals>" in function.__qualname__ or "." in function.__qualname__:
        around = function.__qualname__.split(".")[:-1]
        frame = sys._getframe(1)  # noqa: SLF001 - the only way to a running function's names
        frames = []
        while frame is not None:
            if frame.f_globals is function.__globals__ and frame.f_code.co_name in around:
                frames.append(frame)
            frame = frame.f_back  # type: ignore[assignment]
        for found in reversed(frames):
            local.update(found.f_locals)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            local[name] = cell.cell_contents
    return local


def _class_names(function: types.FunctionType, cls: type | None) -> dict[str, Any]:
    space: dict[str, Any] = {}
    found: Any = function.__globals__
    path = function.__qualname__.split(".")[:-1]
    if "<locals>" not in path:
        for part in path:
            found = found.get(part) if isinstance(found, dict) else vars(found).get(part)
            if not isinstance(found, type):
                break
            space.update(vars(found))
    if cls is not None:
        for base in reversed(cls.__mro__[:-1]):
            space.update(vars(base))
    return space


def resolve(annotations: Mapping[str, Any], names: Names, where: str) -> dict[str, Any]:
    """Evaluate the annotations that are texts.

    Raises:
        DefinitionError: A name in one cannot be resolved, or it is no valid expression.
    """
    texts = {name: text for name, text in annotations.items() if isinstance(text, str)}
    if not texts:
        return dict(annotations)
    try:
        # All in one: compiling takes the time.
        values = eval(f"({','.join(f'({text})' for text in texts.values())},)", names.module, names.local)
        found = dict(zip(texts, values, strict=True))
    except Exception:  # noqa: BLE001 - one by one they tell which it is
        found = {name: evaluate(text, names, f"{where}: {_place(name)}") for name, text in texts.items()}
    return {**annotations, **found}


def evaluate(text: str, names: Names, where: str) -> Any:
    """Evaluate one annotation that is a text.

    Raises:
        DefinitionError: A name in it cannot be resolved, or it is no valid expression.
    """
    try:
        # The class's names come last: one of its methods may be called `list`.
        space = {**names.cls, **names.module, **names.local} if names.cls else names.local
        return eval(text, names.module, space)
    except NameError as error:
        raise DefinitionError(
            f"{where}: the name {error.name!r} in its annotation {text!r} cannot be resolved. Import it at run time "
            "(not under TYPE_CHECKING), or define it before the tool is registered."
        ) from None
    except Exception as error:  # noqa: BLE001 - an annotation may be any expression
        raise DefinitionError(
            f"{where}: its annotation {text!r} cannot be evaluated: {type(error).__name__}: {error}."
        ) from None


def _place(name: str) -> str:
    return "what it returns" if name == "return" else f"parameter {name!r}"
