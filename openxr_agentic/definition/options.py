"""What can be said of a tool beside its function: options, and the mark that carries them."""

from __future__ import annotations

import re
import types
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, TypeVar, overload

from openxr_agentic.errors import DefinitionError
from openxr_agentic.parameters import check_name
from openxr_agentic.schema.names import Names, kept_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from typing_extensions import Unpack

    from openxr_agentic.parameters import ToolParameter

    Sizing = Literal["exact"] | int | Callable[[str], str]

F = TypeVar("F")

_MARK = "__openxr_agentic_tool__"
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class ToolAnnotations(TypedDict, total=False):
    """What MCP lets a server say of a tool's behaviour; clients may show it, or ask the user by it.

    Attributes:
        title: A title for people.
        readOnlyHint: It changes nothing.
        destructiveHint: It may delete or overwrite something.
        idempotentHint: Calling it again with the same arguments changes nothing more.
        openWorldHint: It reaches out of the app.
    """

    title: str
    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class ToolOptions(TypedDict, total=False):
    """Options of a definition; all may be left out.

    Attributes:
        name: Name for agents. Default: the callable's own. Characters other than ASCII letters, digits, ``_`` and
            ``-`` become ``_`` each, and the name as it was given becomes the title.
        prefix: Put in front of the name, as ``"MyApp_"``.
        title: Title for people. Default: the description's first line.
        description: What it does, for agents. Default: the docstring's first paragraph.
        groups: Names of groups that it belongs to; one text is one group.
        enabled_by_default: Whether agents see it while the user has not decided.
        annotations: Hints for MCP clients, see `ToolAnnotations`.
        main_thread: Run it on the app's main thread.
        sizing: How a size query is answered: ``"exact"`` runs the tool and holds its result; a number is the most
            bytes that a result takes, NUL included; a callable is a dry run, which takes the tool's
            arguments and returns what the tool would, without doing it.
        on_error: ``"result"``: a failure becomes text for the agent; ``"xr"``: a failing XrResult.
        parameters: The arguments listed by hand, as ToolParameters or as one JSON schema of an object. The function
            then takes the dict of arguments, or ``**arguments``.
        ignore_unknown: Unknown arguments that are ignored: their names, or True for all. ``reason``, ``sentiment``
            and ``session_handle``, which agents add by themselves, are ignored anyway.
        timeout: Seconds that an `async def` tool may take; None: any time. Others cannot be interrupted.
        strict_name: Refuse a name that would have to be changed, instead of changing it.
        truncate: Cut descriptions that are too long, with a warning, instead of refusing them.
        registry: The registry that it belongs to, for `ToolContext.registry`.
    """

    name: str | None
    prefix: str
    title: str | None
    description: str | None
    groups: Iterable[str] | str | None
    enabled_by_default: bool
    annotations: ToolAnnotations | Mapping[str, Any] | None
    main_thread: bool
    sizing: Sizing
    on_error: Literal["result", "xr"]
    parameters: Iterable[ToolParameter] | Mapping[str, Any] | None
    ignore_unknown: bool | Collection[str]
    timeout: float | None
    strict_name: bool
    truncate: bool
    registry: Any


_OPTIONS = frozenset(ToolOptions.__annotations__)
_FLAGS = frozenset({"enabled_by_default", "main_thread", "strict_name", "truncate"})


class Mark(NamedTuple):
    """What `tool` leaves on a callable.

    Attributes:
        options: The options given.
        names: Names that its annotations need once the function around it is done; None: none.
    """

    options: ToolOptions
    names: Names | None


@overload
def tool(given: F, /) -> F: ...


@overload
def tool(**options: Unpack[ToolOptions]) -> Callable[[F], F]: ...


def tool(given: Any = None, /, **options: Unpack[ToolOptions]) -> Any:
    """Mark a function, method or class as a tool, for discovery to find; nothing else changes.

    Used as ``@tool`` or as ``@tool(name=..., ...)``. Over or under `@staticmethod` and `@classmethod` it means
    the same. A marked class is made once, when it is found; its `execute` or `__call__` is the tool.

    Args:
        given: What to mark.
        **options: See `ToolOptions`.

    Returns:
        The very object that was given.

    Raises:
        DefinitionError: The name is empty, or the object cannot be marked.
    """
    check_options(options)
    if given is None:
        return lambda marked: _marked(marked, options)
    return _marked(given, options)


def _marked(given: F, options: ToolOptions) -> F:
    if isinstance(given, str):
        raise DefinitionError(f"@tool({given!r}): options have names. Write @tool(name={given!r}).")
    function = given.__func__ if isinstance(given, (staticmethod, classmethod)) else given
    if not callable(function) or isinstance(function, types.MethodType):
        raise DefinitionError(
            f"{given!r} cannot be marked as a tool. Mark the function in its class, or register the method itself."
        )
    try:
        setattr(function, _MARK, Mark(options, kept_names(function)))
    except (AttributeError, TypeError):
        raise DefinitionError(
            f"{given!r} cannot be marked as a tool, because it takes no attributes. Register it with a ToolRegistry, "
            "or wrap it in a function."
        ) from None
    return given


def mark_of(found: Any) -> Mark | None:
    """Return the mark that `tool` left on a function, method or class; None: there is none.

    A subclass of a marked class is not marked by that.

    Raises:
        DefinitionError: It raises when it is looked at.
    """
    try:
        if isinstance(found, (staticmethod, classmethod, types.MethodType)):
            found = found.__func__
        attributes = getattr(found, "__dict__", None)
        mark = attributes.get(_MARK) if attributes is not None else None
        return mark if isinstance(mark, Mark) else None
    except Exception as error:  # an object, or one that stands for another (a proxy), may raise anything
        raise DefinitionError(
            f"A {type(found).__name__} object cannot be looked at for a tool: {type(error).__name__}: {error}."
        ) from error


def sanitize_tool_name(name: str) -> str:
    """Return a name as all clients accept it.

    Each character other than ASCII letters, digits, ``_`` and ``-`` becomes ``_``. A name that is fine is
    returned as it is. Length is not looked at.
    """
    return _UNUSABLE.sub("_", name)


def check_options(options: ToolOptions) -> None:
    """Check what can be checked before the callable is known.

    Raises:
        TypeError: There is no such option.
        DefinitionError: The name is empty, or what is on or off is neither True nor False.
    """
    unknown = options.keys() - _OPTIONS
    if unknown:
        raise TypeError(f"{min(unknown)!r} is no option of a tool; the options are {', '.join(sorted(_OPTIONS))}.")
    if options.get("name") is not None and not str(options["name"]).strip():
        raise DefinitionError("A tool's name is empty. Leave it out to use the function's own.")
    for flag in _FLAGS & options.keys():
        check_flag(flag, options.get(flag))


def check_flag(option: str, given: Any) -> None:
    """Check an option that is on or off.

    Raises:
        DefinitionError: It is neither True nor False.
    """
    if not isinstance(given, bool):
        raise DefinitionError(f"A tool's {option} must be True or False, not {given!r}.")


def tool_name(asked: str, prefix: str, strict: bool) -> tuple[str, str]:
    """Return the name for agents, and the name as asked for where that had to be changed.

    Raises:
        DefinitionError: It is no text, too long, or has to be changed and must not be.
    """
    if not isinstance(asked, str) or not isinstance(prefix, str):
        raise DefinitionError(f"A tool's name and prefix must be text, not {asked!r} and {prefix!r}.")
    whole = prefix + asked
    name = sanitize_tool_name(whole)
    if name != whole:
        if strict:
            raise DefinitionError(
                f"The tool's name {whole!r} has characters other than ASCII letters, digits, _ and -. "
                f"A name that all clients accept is {name!r}."
            )
        if not name.strip("_-"):
            raise DefinitionError(f"Nothing of the tool's name {whole!r} is left in ASCII. Choose a name with name=.")
    return check_name("a tool's name", name), asked if name != whole else ""


def checked_annotations(given: Any, where: str) -> dict[str, Any]:
    """Return hints for MCP clients, by MCP's names.

    Raises:
        DefinitionError: MCP has no such hint, or its value is of another type.
    """
    if given is None:
        return {}
    if not hasattr(given, "keys"):
        raise DefinitionError(f"{where}: annotations must be a dict such as {{'readOnlyHint': True}}, not {given!r}.")
    found = dict(given)
    for key, value in found.items():
        if key == "title":
            if not isinstance(value, str):
                raise DefinitionError(f"{where}: annotations: title must be text, not {value!r}.")
        elif key not in _HINTS:
            near = _near(key)
            raise DefinitionError(
                f"{where}: annotations: MCP has no {key!r}. "
                + (f"Did you mean {near!r}?" if near else f"It has title, {', '.join(_HINTS)}.")
            )
        elif not isinstance(value, bool):
            raise DefinitionError(f"{where}: annotations: {key} must be True or False, not {value!r}.")
    return found


def _near(key: object) -> str | None:
    import difflib

    plain = str(key).replace("_", "").lower()
    near = difflib.get_close_matches(plain, [hint.lower() for hint in _HINTS], 1, 0.6)
    return next((hint for hint in _HINTS if near and hint.lower() == near[0]), None)


def checked_groups(given: Any, where: str) -> tuple[str, ...]:
    """Return the names of groups, each once.

    Raises:
        DefinitionError: One is empty or no text.
    """
    if given is None:
        return ()
    groups = (given,) if isinstance(given, str) else tuple(given)
    unfit = next((group for group in groups if not isinstance(group, str) or not group), None)
    if unfit is not None:
        raise DefinitionError(f"{where}: groups must be texts that are not empty, not {unfit!r}.")
    return tuple(dict.fromkeys(groups))


def checked_unknown(given: Any, where: str) -> bool | frozenset[str]:
    """Return which unknown arguments are ignored.

    Raises:
        DefinitionError: It is neither a bool nor names.
    """
    if isinstance(given, bool):
        return given
    names = (given,) if isinstance(given, str) else tuple(given)
    unfit = next((name for name in names if not isinstance(name, str)), None)
    if unfit is not None:
        raise DefinitionError(f"{where}: ignore_unknown must be True, False or names of arguments, not {unfit!r}.")
    return frozenset(names)


def checked_on_error(given: Any, where: str) -> Literal["result", "xr"]:
    """Return what becomes of a failure.

    Raises:
        DefinitionError: It is neither "result" nor "xr".
    """
    if given == "result":
        return "result"
    if given == "xr":
        return "xr"
    raise DefinitionError(f"{where}: on_error must be 'result' or 'xr', not {given!r}.")


def checked_sizing(given: Any, where: str) -> Any:
    """Return how a size query is answered.

    Raises:
        DefinitionError: It is neither "exact", nor a number of bytes, nor a callable.
    """
    is_size = isinstance(given, int) and not isinstance(given, bool) and 1 <= given < 2**32
    if given == "exact" or is_size or callable(given):
        return given
    raise DefinitionError(f"{where}: sizing must be 'exact', a number of bytes from 1 or a callable, not {given!r}.")


def checked_timeout(given: Any, where: str) -> float | None:
    """Return the seconds that an async tool may take.

    Raises:
        DefinitionError: It is no number of seconds.
    """
    if given is not None and (isinstance(given, bool) or not isinstance(given, (int, float)) or not given > 0):
        raise DefinitionError(f"{where}: timeout must be seconds, more than 0, or None, not {given!r}.")
    return given
