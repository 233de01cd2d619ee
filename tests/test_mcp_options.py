"""What whoever starts the server can decide: the view of Meta's layer, the cap on results, the time of calls."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from agent_harness import Gate, echo, run, serving, text_of, until, until_connected
from fake_app import FAILED, NUMBER, Answer, FakeApp, FakeParameter
from mcp import MCPError
from mcp_types import ImageContent

from openxr_agentic.host import channel
from openxr_agentic.mcp.answering.contents import WARNING_KEY
from openxr_agentic.mcp.answering.options import LEAST_RESULT_BYTES, ServerOptions

if TYPE_CHECKING:
    from pathlib import Path

    from mcp_types import CallToolResult

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
MARKED = 1
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def answered(
    folder: Path,
    answer: str | Answer,
    metadata: dict[str, Any] | None = None,
    mode: str = "auto",
    **options: Any,
) -> CallToolResult:
    """What a client gets of a tool that answers so."""

    async def tool(arguments: str) -> str | Answer:
        return answer

    async def scenario() -> CallToolResult:
        app = FakeApp()
        app.add("tool", tool, metadata="" if metadata is None else json.dumps(metadata))
        async with app.running(folder), serving(options=ServerOptions(**options)) as server:
            await until_connected(server)
            async with server.client(mode=mode) as client:
                return await client.call_tool("tool", {})

    return run(scenario())


# ---- as Meta's layer would tell it


@ERAS
def test_as_meta_tells_what_the_extension_carries_and_nothing_more(folder: Path, mode: str) -> None:
    metadata = {
        "title": "T",
        "annotations": {"readOnlyHint": True},
        "inputSchema": {"type": "object", "properties": {"size": {"type": "number", "minimum": 0}}},
        "outputSchema": {"type": "object"},
        "enabled": False,
    }
    app = FakeApp()
    app.add("tool", echo, FakeParameter("size", NUMBER), description="Makes one.", metadata=json.dumps(metadata))

    async def scenario() -> None:
        async with app.running(folder), serving(options=ServerOptions(as_meta=True)) as server:
            await until_connected(server)
            async with server.client(mode=mode) as client:
                (tool,) = (await client.list_tools()).tools
                assert (tool.name, tool.description) == ("tool", "Makes one.")
                assert (tool.title, tool.annotations, tool.output_schema) == (None, None, None)
                assert tool.input_schema == {"type": "object", "properties": {"size": {"type": "number"}}}
                result = await client.call_tool("tool", {"size": 1})
                assert (text_of(result), result.structured_content) == ('{"size": 1}', None)

    run(scenario())


def test_as_meta_knows_no_error_but_by_its_words(folder: Path) -> None:
    assert answered(folder, Answer("Error: no", flags=MARKED), {}, as_meta=True).is_error
    assert not answered(folder, Answer("no", flags=MARKED), {}, as_meta=True).is_error


# ---- what a result is made of


@ERAS
def test_a_picture_comes_as_image_content(folder: Path, mode: str) -> None:
    data = base64.b64encode(PNG).decode()
    (item,) = answered(folder, f"data:image/png;base64,{data}", mode=mode).content
    assert isinstance(item, ImageContent)
    assert (item.data, item.mime_type) == (data, "image/png")
    assert text_of(answered(folder, f"data:image/png;base64,{data}", as_meta=True)).startswith("data:")


def test_whole_numbers_that_a_double_rounds_are_exact_and_said(folder: Path) -> None:
    text = '{"a": [{"id": 9007199254740993}], "b": 1}'
    result = answered(folder, text)
    assert text_of(result) == text
    assert result.structured_content == {"a": [{"id": 9007199254740993}], "b": 1}
    assert result.meta is not None
    assert "at a[0].id" in result.meta[WARNING_KEY]
    for harmless in ('{"a": 9007199254740991}', '{"a": "9007199254740993"}', '{"a": 0.12345678901234567}'):
        assert WARNING_KEY not in (answered(folder, harmless).meta or {})


# ---- the cap


def test_a_big_result_is_whole_unless_there_is_a_cap(folder: Path) -> None:
    text = "ß" * 2_500_000
    assert text_of(answered(folder, text)) == text


@pytest.mark.parametrize("limit", [LEAST_RESULT_BYTES, 300, 301, 1000])
def test_a_result_over_the_cap_is_cut_on_a_character_and_says_so_within_the_cap(folder: Path, limit: int) -> None:
    text = "世" * 1000
    result = answered(folder, text, max_result_bytes=limit)
    cut = text_of(result)
    assert limit - 3 < len(cut.encode()) <= limit
    kept, mark = cut.split("\n")
    assert set(kept) == {"世"}
    assert "3000" in mark
    assert str(limit) in mark
    assert not result.is_error


def test_a_result_of_exactly_the_cap_is_whole(folder: Path) -> None:
    text = "世" * 100
    assert text_of(answered(folder, text, max_result_bytes=300)) == text
    assert text_of(answered(folder, text + "x", max_result_bytes=300)) != text + "x"


def test_half_of_what_was_promised_is_an_error(folder: Path) -> None:
    text = json.dumps({"x": "y" * 1000})
    result = answered(folder, text, {"outputSchema": {"type": "object"}}, max_result_bytes=500)
    assert result.is_error
    assert text_of(result).startswith("Error: tool ran")
    assert len(text_of(result).encode()) <= 500
    free = answered(folder, text, {}, max_result_bytes=500)
    assert (free.is_error, free.structured_content) == (False, None)


def test_a_picture_over_the_cap_is_an_error_without_the_half_of_it(folder: Path) -> None:
    picture = "data:image/png;base64," + base64.b64encode(PNG * 10).decode()
    result = answered(folder, picture, max_result_bytes=1000)
    assert result.is_error
    assert "data:" not in text_of(result)
    assert str(len(picture.partition(",")[2])) in text_of(result)


@pytest.mark.parametrize(
    ("answer", "metadata"),
    [
        (Answer("x" * 5000, FAILED, -2), None),
        ("x" * 5000, {"outputSchema": {"type": "object"}}),
        (Answer("Error: " + "x" * 5000), None),
        ("data: " + "x" * 5000, None),
    ],
)
def test_the_cap_holds_for_whatever_comes_out(folder: Path, answer: str | Answer, metadata: Any) -> None:
    text = text_of(answered(folder, answer, metadata, max_result_bytes=LEAST_RESULT_BYTES))
    assert len(text.encode()) <= LEAST_RESULT_BYTES
    assert "xxx" in text
    assert "[Cut: " in text


# ---- the time of calls


def test_the_time_of_a_call_is_told_to_the_app(folder: Path) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving(options=ServerOptions(call_timeout=1.5)) as server:
            await until_connected(server)
            async with server.client() as client:
                await client.call_tool("tool", {})
        assert app.timeouts == [1500]

    run(scenario())


def test_an_app_that_says_nothing_is_given_up_and_its_call_withdrawn(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel, "SILENCE_SECONDS", 0.01)
    app = FakeApp()
    gate = Gate()
    app.add("stuck", gate)
    app.add("echo", echo)

    async def scenario() -> None:
        async with app.running(folder), serving(options=ServerOptions(call_timeout=0.01)) as server:
            await until_connected(server)
            async with server.client() as client:
                result = await client.call_tool("stuck", {})
                assert result.is_error
                assert "gave no answer within 0.01 s" in text_of(result)
                await until(lambda: len(app.cancelled) == 1)
                gate.opened.set()
                assert text_of(await client.call_tool("echo", {})) == "{}"

    run(scenario())


# ---- the list agrees with the app, also before the app has announced a change


@ERAS
def test_the_list_has_what_a_tool_has_just_registered_and_it_can_be_called(folder: Path, mode: str) -> None:
    app = FakeApp()

    async def grow(arguments: str) -> str:
        app.add("grown", echo, metadata='{"outputSchema": {"type": "object"}}')
        return "done"

    app.add("grow", grow)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(mode=mode) as client:
                await client.call_tool("grow", {})
                assert (await client.call_tool("grown", {"x": 1})).structured_content == {"x": 1}
                assert [tool.name for tool in (await client.list_tools()).tools] == ["grow", "grown"]

    run(scenario())


def test_a_call_of_a_tool_that_is_gone_is_a_clean_error(folder: Path) -> None:
    app = FakeApp()
    app.add("gone", echo)
    app.add("stays", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client() as client:
                await client.list_tools()
                del app.tools["gone"]
                with pytest.raises(MCPError, match="Unknown tool: gone"):
                    await client.call_tool("gone", {})
                assert [tool.name for tool in (await client.list_tools()).tools] == ["stays"]
                assert not (await client.call_tool("stays", {})).is_error

    run(scenario())


def test_an_app_that_cannot_be_followed_is_given_up_and_found_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openxr_agentic.mcp.apps.link.LIST_SECONDS", 0.01)
    app = FakeApp()
    app.add("tool", echo)
    app.mute = True

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until(lambda: app.seen > 1)
            app.mute = False
            await until_connected(server)
            async with server.client() as client:
                assert not (await client.call_tool("tool", {})).is_error

    run(scenario())


def test_an_answer_that_cannot_be_read_ends_the_connection_at_once(folder: Path) -> None:
    app = FakeApp()
    app.add("tool", echo)
    app.garbled = True

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until(lambda: app.seen > 1)
            app.garbled = False
            await until_connected(server)

    run(scenario())


def test_a_first_list_waits_for_the_app_that_is_being_started(folder: Path) -> None:
    app = FakeApp(label="mine")
    app.add("tool", echo)

    async def scenario() -> None:
        async with serving("mine", ends_with_app=True) as server, server.client() as client:
            listing = asyncio.ensure_future(client.list_tools())
            await asyncio.sleep(0)
            async with app.running(folder):
                assert [tool.name for tool in (await listing).tools] == ["tool"]

    run(scenario())


def test_a_first_list_without_any_app_does_not_wait_for_one(folder: Path) -> None:
    async def scenario() -> None:
        async with serving() as server, server.client() as client:
            assert (await client.list_tools()).tools == []

    run(scenario())


def test_an_app_that_does_not_tell_its_tools_holds_up_no_list(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("openxr_agentic.mcp.apps.link.REFRESH_SECONDS", 0.01)
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client() as client:
                app.mute = True
                assert [tool.name for tool in (await client.list_tools()).tools] == ["tool"]

    run(scenario())
