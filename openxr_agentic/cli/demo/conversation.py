"""The demo's conversation: what the agent asks, and what the right answers are."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Any, Final, TypeVar

from mcp_types import CallToolResult, TextContent, Tool
from rich.markup import escape

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator, Mapping, Sequence

    from mcp import Client
    from rich.console import Console

MEASURED_CALLS: Final = 50

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One call and its right answer."""

    tool: str
    answer: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    is_error: bool = False


def _cube(name: str, position: list[float], orientation: list[float], scale: list[float]) -> str:
    return json.dumps({"name": name, "position": position, "orientation": orientation, "scale": scale})


STEPS: Final = (
    Step("MyApp_HelloWorld", "Hello from an OpenXR app written in Python!"),
    Step("MyApp_Echo", "Grüße an 世界", {"input": "Grüße an 世界"}),
    Step(
        "create_cube",
        _cube("cube_1", [0, 1.5, -2], [0, 0, 0, 1], [0.05, 0.05, 0.05]),
        {"position": [0, 1.5, -2]},
    ),
    Step(
        "create_cube",
        _cube("marker", [0.25, 1, -1], [0, 1, 0, 0], [0.1, 0.1, 0.3]),
        {
            "name": "marker",
            "position": [0.25, 1, -1],
            "orientation": [0, 1, 0, 0],
            "scale": [0.1, 0.1, 0.3],
        },
    ),
    Step("list_cubes", '{"cubes": ["cube_1", "marker"], "on_main_thread": false}'),
    Step(
        "create_cube",
        'Error: position must be an array of 3 numbers, not "over there".\nTip: Send for example [0.5, 0.5, 0.5].',
        {"position": "over there"},
        is_error=True,
    ),
    Step("list_cubes", '{"cubes": ["cube_1", "marker"], "on_main_thread": false}'),
)

_NUMBERS: Final = {"type": "array", "items": {"type": "number"}}
SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "MyApp_HelloWorld": {},
    "MyApp_Echo": {"input": {"type": "string"}},
    "create_cube": {
        "name": {"type": "string"},
        "position": _NUMBERS,
        "orientation": _NUMBERS,
        "scale": _NUMBERS,
    },
    "list_cubes": {},
}
REQUIRED: Final[Mapping[str, Sequence[str]]] = {"MyApp_Echo": ["input"], "create_cube": ["position"]}


class Conversation:
    """Talks to the server as an agent does, prints it, and checks every answer.

    Attributes:
        answers: How many answers were checked.
        wrong: What differed from the right answer, in words; empty when nothing did.
    """

    def __init__(self, client: Client, console: Console) -> None:
        self.answers = 0
        self.wrong: list[str] = []
        self._client = client
        self._console = console

    async def hold(self) -> None:
        """Have the whole conversation."""
        await self._list()
        for step in STEPS:
            await self._call(step)
        await self._measure()

    async def _list(self) -> None:
        listed, milliseconds = await _timed(self._client.list_tools())
        self._say("lists the tools", milliseconds)
        for tool in listed.tools:
            self._console.print(f"    [cyan]{escape(_signature(tool))}[/]")
            self._console.print(f"        {escape(tool.description or '')}", style="dim")
        self._check("tools/list", _without_words(listed.tools), _expected_tools())

    async def _call(self, step: Step) -> None:
        result, milliseconds = await _timed(self._client.call_tool(step.tool, dict(step.arguments)))
        arguments = json.dumps(step.arguments, ensure_ascii=False)
        self._say(f"calls [cyan]{step.tool}[/] {escape(arguments)}", milliseconds)
        text = _text(result)
        for line in text.splitlines():
            self._console.print(f"    {escape(line)}", style="red" if result.is_error else "green")
        what = f"{step.tool} {arguments}"
        self._check(what, (text, bool(result.is_error)), (step.answer, step.is_error))

    async def _measure(self) -> None:
        self._console.print(f"\n[bold]Round trips[/], median of {MEASURED_CALLS} calls each")
        for step, why in (
            (STEPS[1], "on the main thread, once a frame at 90 Hz"),
            (STEPS[-1], "on a thread of the host, at once"),
        ):
            times = []
            for _ in range(MEASURED_CALLS):
                result, milliseconds = await _timed(self._client.call_tool(step.tool, dict(step.arguments)))
                times.append(milliseconds)
                self._check(step.tool, (_text(result), bool(result.is_error)), (step.answer, False))
            self._console.print(f"    {step.tool:<12}{median(times):8.1f} ms    {why}")

    def _say(self, what: str, milliseconds: float) -> None:
        self._console.print(f"\n[bold]Agent[/] {what}  [dim]({milliseconds:.1f} ms)[/]")

    def _check(self, what: str, given: object, right: object) -> None:
        self.answers += 1
        if given != right:
            self.wrong.append(f"{what}\n    right: {right!r}\n    given: {given!r}")


async def _timed(awaitable: Awaitable[T]) -> tuple[T, float]:
    begin = time.perf_counter()
    value = await awaitable
    return value, (time.perf_counter() - begin) * 1000


def _text(result: CallToolResult) -> str:
    return "\n".join(item.text for item in result.content if isinstance(item, TextContent))


def _signature(tool: Tool) -> str:
    required = tool.input_schema.get("required", [])
    parameters = [
        f"{name}{'' if name in required else '?'}: {_type(schema)}"
        for name, schema in tool.input_schema["properties"].items()
    ]
    return f"{tool.name}({', '.join(parameters)})"


def _type(schema: Mapping[str, Any]) -> str:
    return f"{schema['items']['type']}[]" if schema["type"] == "array" else str(schema["type"])


def _without_words(tools: Sequence[Tool]) -> list[tuple[str, object]]:
    """Names and schemas, without the descriptions, which are not the conversation's to judge."""

    def bare(schema: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
        for name, prop in schema["properties"].items():
            yield name, {key: value for key, value in prop.items() if key != "description"}

    return [(tool.name, {**tool.input_schema, "properties": dict(bare(tool.input_schema))}) for tool in tools]


def _expected_tools() -> list[tuple[str, object]]:
    expected: list[tuple[str, object]] = []
    for name, properties in SCHEMAS.items():
        schema: dict[str, object] = {"type": "object", "properties": properties}
        if name in REQUIRED:
            schema["required"] = REQUIRED[name]
        expected.append((name, schema))
    return expected
