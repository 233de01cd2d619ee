"""Looks for what makes tools hard to use for agents, though they work.

That is Meta's advice for custom tools (a prefix, clear descriptions, structured results), the limits of agents'
clients on names and on the number of tools, and what the extension's five parameter types cannot say.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Literal, NamedTuple

from openxr_agentic.parameters import MAX_DESCRIPTION_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openxr_agentic.definition.tool import Tool

Severity = Literal["warning", "hint"]
Kind = Literal[
    "tool-count",
    "name-length",
    "name-prefix",
    "description",
    "description-length",
    "result",
    "parameter-description",
    "parameter-order",
    "lost-detail",
]

MOST_TOOLS = 100
SERVER_NAME = "openxr"

# What clients put in front of a tool's name, and how long the whole may be for them: Claude Code, by the limit of
# the models behind it; and Cursor, which hides what is longer.
CLIENT_PREFIXES: Mapping[str, int] = {"mcp__{server}__": 64, "{server}:": 60}

_FEWEST_WORDS = 4
_NEARLY_FULL = MAX_DESCRIPTION_BYTES * 9 // 10
# First words of a name that are no app's prefix.
_VERB = re.compile(
    "add|apply|attach|change|check|clear|close|connect|copy|count|create|delete|destroy|detach|disable|disconnect|do|"
    "draw|edit|enable|execute|export|fetch|find|get|grab|hide|import|insert|is|list|load|lock|look|make|measure|move|"
    "open|pause|place|play|press|query|read|release|remove|rename|render|reset|resume|rotate|run|save|scale|search|"
    "select|send|set|show|spawn|start|stop|switch|take|teleport|toggle|turn|undo|unload|unlock|update|use|wait|write",
    re.IGNORECASE,
)
_TELLS_RESULT = re.compile(
    r"\b(return|give|tell|answer|report|list|get|read|find|fetch|show|count|measure|describe|search|check|query)"
    r"(s|es|ed|ing)?\b|\b(result|whether|how (many|much|far|long))\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"(^|_)(get|list|find|query|search|describe|inspect|read)(_|$)", re.IGNORECASE)


class Advice(NamedTuple):
    """One piece of advice.

    Attributes:
        tool: The tool's name; "" where it is about all of them.
        kind: What it is about.
        text: What is wrong, and what to do.
        severity: ``"warning"``: some agents cannot use it, or have to guess; ``"hint"``: they could use it better.
    """

    tool: str
    kind: Kind
    text: str
    severity: Severity


def check(
    tools: Iterable[Tool], *, server_name: str = SERVER_NAME, client_prefixes: Mapping[str, int] = CLIENT_PREFIXES
) -> list[Advice]:
    """Look for what agents or their clients may stumble over.

    Args:
        tools: The tools that agents would see.
        server_name: The name under which users add the server to their client.
        client_prefixes: What clients put in front of a tool's name, where ``{server}`` stands for the server's name,
            and how many characters the whole may have.

    Returns:
        What concerns all tools, then the tools by name.
    """
    ordered = sorted(tools, key=lambda tool: tool.name)
    prefixes = {prefix.replace("{server}", server_name): limit for prefix, limit in client_prefixes.items()}
    advices = list(_of_number(ordered))
    for tool in ordered:
        advices += _of_name(tool, prefixes)
        for examine in _CHECKS:
            advices += examine(tool)
    return advices


def report(advices: Iterable[Advice]) -> str:
    """Return the advices as text for people: one heading a tool, one line each, warnings first."""
    groups: dict[str, list[Advice]] = {}
    for advice in advices:
        groups.setdefault(advice.tool, []).append(advice)
    if not groups:
        return "Nothing to say: agents should get along with these tools."
    lines: list[str] = []
    for tool, group in groups.items():
        lines.append(tool or "all tools")
        lines += (
            f"  {advice.severity}: {advice.text}" for advice in sorted(group, key=lambda one: one.severity == "hint")
        )
    counts = Counter(advice.severity for group in groups.values() for advice in group)
    severities: tuple[Severity, ...] = ("warning", "hint")
    lines.append(", ".join(_counted(counts[severity], severity) for severity in severities if counts[severity]))
    return "\n".join(lines)


# ---------------------------------------------------------------- all tools, and their names


def _of_number(tools: list[Tool]) -> Iterator[Advice]:
    if len(tools) <= MOST_TOOLS:
        return
    groups = Counter(group for tool in tools for group in tool.groups)
    how = "Put them into groups (groups=), and disable what is not needed all the time."
    if groups:
        named = ", ".join(f"{name} ({count})" for name, count in sorted(groups.items()))
        how = f"Disable groups that are not needed all the time; there are: {named}."
    text = f"{len(tools)} tools are enabled, and some clients show no more than {MOST_TOOLS}. {how}"
    yield Advice("", "tool-count", text, "warning")


def _of_name(tool: Tool, prefixes: Mapping[str, int]) -> Iterator[Advice]:
    name = tool.name
    over = {prefix: len(prefix + name) - limit for prefix, limit in prefixes.items()}
    too_long = [
        f"{len(prefix + name)} characters as {prefix + name} (at most {prefixes[prefix]})"
        for prefix, excess in over.items()
        if excess > 0
    ]
    if too_long:
        text = (
            f"Its name has {len(name)} characters, and with what clients put in front {' and '.join(too_long)}: they "
            f"refuse or hide it. Shorten it, or the server's name, by {_counted(max(over.values()), 'character')}."
        )
        yield Advice(name, "name-length", text, "warning")
    first, separator, _ = name.replace("-", "_").partition("_")
    if not separator or _VERB.fullmatch(first):
        text = f"Its name has no prefix and may meet that of a built-in tool. Name it after the app, as MyApp_{name}."
        yield Advice(name, "name-prefix", text, "hint")


# ---------------------------------------------------------------- what agents are told


def _of_description(tool: Tool) -> Iterator[Advice]:
    name, description = tool.name, tool.description
    if description == name:
        yield Advice(name, "description", "It has no description, and agents choose tools by that.", "warning")
    elif _letters(name).endswith(_letters(description)):
        text = f"Its description {description!r} says no more than its name. Say what it does, to what, and when."
        yield Advice(name, "description", text, "warning")
    elif len(description.split()) < _FEWEST_WORDS:
        text = f"Its description {description!r} is short. Say what it does, to what, and what it returns."
        yield Advice(name, "description", text, "hint")
    used = len(description.encode())
    if used > _NEARLY_FULL:
        yield Advice(name, "description-length", f"Its description {_filled(used)}", "hint")


def _of_result(tool: Tool) -> Iterator[Advice]:
    returns = _return_annotation(tool.function)
    if returns in (None, type(None), "None"):
        return
    if returns in (str, "str") and _ASKS.search(tool.name):
        text = "It returns text. Agents read data better from JSON: return a dict, a list or a dataclass."
        yield Advice(tool.name, "result", text, "hint")
    if tool.description != tool.name and tool.output_schema is None and not _TELLS_RESULT.search(tool.description):
        text = "Its description says nothing of what it returns. Say what an agent gets back, and in which units."
        yield Advice(tool.name, "result", text, "hint")


def _of_parameters(tool: Tool) -> Iterator[Advice]:
    name = tool.name
    for field, told in zip(tool.fields, tool.parameters, strict=True):
        own = field.description.strip()
        if not own:
            text = f"Parameter {field.name!r} has no description. Say what it is, its unit, and an example."
            yield Advice(name, "parameter-description", text, "warning")
        elif _letters(own) == _letters(field.name):
            text = f"The description of parameter {field.name!r} says no more than its name. Say its unit or meaning."
            yield Advice(name, "parameter-description", text, "hint")
        used = len(told.description.encode())
        if used > _NEARLY_FULL:
            text = f"The description of parameter {field.name!r} {_filled(used)}"
            yield Advice(name, "description-length", text, "hint")
        if field.plan.lost:
            text = (
                f"Agents are not told all of parameter {field.name!r}, because the extension's types cannot hold it: "
                f"{'; '.join(field.plan.lost)}. Calls are checked all the same. Simplify its type, or describe it."
            )
            yield Advice(name, "lost-detail", text, "hint")
    given = [parameter.required for parameter in tool.parameters]
    if given != sorted(given, reverse=True):
        late = [p.name for n, p in enumerate(tool.parameters) if p.required and not all(given[:n])]
        text = f"Required parameters stand behind optional ones: {', '.join(late)}. Put those that must be given first."
        yield Advice(name, "parameter-order", text, "hint")


_CHECKS: tuple[Callable[[Tool], Iterator[Advice]], ...] = (_of_description, _of_result, _of_parameters)


# ---------------------------------------------------------------- words


def _return_annotation(function: object) -> object:
    """Return what a function is annotated to return, as it stands there; None also where that is not known."""
    try:
        annotations = getattr(getattr(function, "func", function), "__annotations__", {})
        return annotations.get("return")
    except Exception:  # noqa: BLE001 - Python 3.14 evaluates them here, and a name may be missing
        return None


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _filled(used: int) -> str:
    return (
        f"has {used} of at most {MAX_DESCRIPTION_BYTES} bytes. Shorten it: what is longer is refused, and agents read "
        "it before each task."
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
