"""What the agent's server makes of the metadata and the error marks of an app."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from agent_harness import echo, run, serving, text_of, until, until_connected
from fake_app import ARRAY, NUMBER, OBJECT, Answer, FakeApp, FakeParameter
from mcp import MCPError
from mcp_types import CallToolResult, Tool, ToolAnnotations

from openxr_agentic.mcp.answering.json_objects import MAX_NESTING, read_object

if TYPE_CHECKING:
    from pathlib import Path

ERAS = pytest.mark.parametrize("mode", ["legacy", "auto"])
MARKED = 1
AN_OBJECT: dict[str, Any] = {"type": "object", "properties": {"x": {}}}


def listed(app: FakeApp, folder: Path, mode: str = "auto") -> dict[str, Tool]:
    """What a client is told of the app's tools."""

    async def scenario() -> dict[str, Tool]:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(mode=mode) as client:
                return {tool.name: tool for tool in (await client.list_tools()).tools}

    return run(scenario())


def answered(folder: Path, answer: str | Answer, metadata: dict[str, Any] | str = "", mode: str = "auto") -> Any:
    """What a client gets of a tool with that metadata that answers so."""

    async def tool(arguments: str) -> str | Answer:
        return answer

    async def scenario() -> CallToolResult:
        app = FakeApp()
        app.add("tool", tool, metadata=metadata if isinstance(metadata, str) else json.dumps(metadata))
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(mode=mode) as client:
                return await client.call_tool("tool", {})

    return run(scenario())


# ---- tools/list


@ERAS
def test_a_tool_with_metadata_is_listed_with_all_that_it_says(folder: Path, mode: str) -> None:
    schema = {
        "type": "object",
        "properties": {"size": {"type": "number", "minimum": 0, "default": 1.5}},
        "additionalProperties": False,
    }
    metadata = {
        "title": "Würfel",
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "title": "Cube"},
        "groups": ["scene"],
        "inputSchema": schema,
        "outputSchema": AN_OBJECT,
        "enabled": True,
        "ofANewerApp": 1,
    }
    app = FakeApp()
    app.add("tool", echo, FakeParameter("size", NUMBER), description="Makes one.", metadata=json.dumps(metadata))
    (tool,) = listed(app, folder, mode).values()
    assert (tool.name, tool.title, tool.description) == ("tool", "Würfel", "Makes one.")
    assert tool.input_schema == schema
    assert tool.output_schema == AN_OBJECT
    assert tool.annotations == ToolAnnotations(read_only_hint=True, destructive_hint=False, title="Cube")


def test_what_the_metadata_leaves_out_is_as_the_extension_says(folder: Path) -> None:
    app = FakeApp()
    app.add("tool", echo, FakeParameter("size", NUMBER), metadata='{"title": "T"}')
    app.add("bare", echo)
    tools = listed(app, folder)
    assert tools["tool"].title == "T"
    assert tools["tool"].input_schema == {"type": "object", "properties": {"size": {"type": "number"}}}
    for tool in tools.values():
        assert (tool.annotations, tool.output_schema) == (None, None)


@ERAS
def test_schemas_reach_clients_in_a_form_that_all_of_them_take(folder: Path, mode: str) -> None:
    app = FakeApp()
    app.add("bare", echo, metadata='{"inputSchema": {"required": []}}')
    app.add("number", echo, metadata='{"outputSchema": {"type": "number"}}')
    app.add("either", echo, metadata='{"outputSchema": {"anyOf": [{"type": "object"}, {"type": "null"}]}}')
    tools = listed(app, folder, mode)
    assert tools["bare"].input_schema == {"type": "object", "properties": {}}
    assert (tools["number"].output_schema, tools["either"].output_schema) == (None, None)


BROKEN = {
    "no JSON": "{oops",
    "no object": "[]",
    "too deep": '{"inputSchema": ' + '{"x":' * 200 + "1" + "}" * 201,
    "much too deep": "[" * 60_000,
    "a title that is none": '{"title": 5}',
    "a switch that is none": '{"enabled": "no"}',
    "an annotation that is none": '{"annotations": {"readOnlyHint": "no"}}',
    "a schema that is none": '{"inputSchema": true}',
    "arguments that are no object": '{"inputSchema": {"type": "array"}}',
    "properties that are none": '{"inputSchema": {"properties": {"a": 1}}}',
    "an output schema whose properties are none": '{"outputSchema": {"type": "object", "properties": {"a": 1}}}',
    "an output schema that is none": '{"outputSchema": {"type": "object", "minProperties": "some"}}',
    "a schema of no known kind": '{"outputSchema": {"type": "object", "$schema": 5}}',
    "a number that no JSON holds": '{"inputSchema": {"default": 1e400}}',
    "half a character": '{"title": "\\ud800"}',
}


@ERAS
@pytest.mark.parametrize("metadata", [pytest.param(text, id=fault) for fault, text in BROKEN.items()])
def test_broken_metadata_hides_neither_its_tool_nor_the_others_and_is_logged_once(
    folder: Path, caplog: pytest.LogCaptureFixture, metadata: str, mode: str
) -> None:
    app = FakeApp()
    app.add("broken", echo, FakeParameter("size", NUMBER), description="Kept.", metadata=metadata)
    app.add("whole", echo, metadata='{"title": "Whole"}')

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client(mode=mode) as client:
                await client.list_tools()
                app.add("later", echo)
                app.announce()
                await until(lambda: "later" in server.link.offers)
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert list(tools) == ["broken", "whole", "later"]
                assert (tools["broken"].title, tools["broken"].description) == (None, "Kept.")
                assert tools["broken"].input_schema == {"type": "object", "properties": {"size": {"type": "number"}}}
                assert tools["whole"].title == "Whole"
                assert text_of(await client.call_tool("broken", {"size": 1})) == '{"size": 1}'

    run(scenario())
    complaints = [record.getMessage() for record in caplog.records if "metadata of tool" in record.getMessage()]
    assert len(complaints) == 1
    assert "'broken'" in complaints[0]
    assert "\n" not in complaints[0]


def test_object_properties_that_nest_too_deep_for_a_message_are_left_out(folder: Path) -> None:
    deep = '{"x":' * 300 + "{}" + "}" * 300
    app = FakeApp()
    app.add("tool", echo, FakeParameter("deep", OBJECT, object_properties=deep))
    (tool,) = listed(app, folder).values()
    assert tool.input_schema == {"type": "object", "properties": {"deep": {"type": "object"}}}


def test_a_disabled_tool_is_not_listed_and_a_call_of_it_is_passed_on(folder: Path) -> None:
    app = FakeApp()
    app.add("spawn_cube", echo, metadata='{"enabled": false}')

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            async with server.client() as client:
                assert (await client.list_tools()).tools == []
                assert text_of(await client.call_tool("spawn_cube", {"a": 1})) == '{"a": 1}'
                with pytest.raises(MCPError, match=r"Unknown tool: spawn_cub\.$"):  # no hint to what is hidden
                    await client.call_tool("spawn_cub", {})
                async with client.listen(tools_list_changed=True) as changes:
                    app.add("spawn_cube", echo, metadata='{"enabled": true}')
                    app.announce()
                    await anext(changes)
                    assert [tool.name for tool in (await client.list_tools()).tools] == ["spawn_cube"]

    run(scenario())


# ---- tools/call


@pytest.mark.parametrize(
    ("answer", "metadata", "is_error"),
    [
        (Answer("Error: no", flags=MARKED), "{}", True),
        (Answer("no such cube", flags=MARKED), "{}", True),
        (Answer("no such cube", flags=MARKED), "", True),
        (Answer("Error: is the word that was asked for"), "{}", False),
        (Answer("Error: is the word that was asked for"), "{broken, but from an app that can mark", False),
        (Answer("Error: no"), "", True),
        (Answer("fine"), "", False),
        (Answer("fine", flags=0xFE), "{}", False),
    ],
)
def test_the_mark_says_what_is_an_error_and_without_metadata_the_text_does_too(
    folder: Path, answer: Answer, metadata: str, is_error: bool
) -> None:
    result = answered(folder, answer, metadata)
    assert result.is_error is is_error
    assert text_of(result) == answer.text
    assert result.structured_content is None


@ERAS
def test_an_object_that_was_promised_comes_structured_beside_its_text(folder: Path, mode: str) -> None:
    text = '{"x": [1, null, {"y": null}], "big": 123456789012345678901, "é": "\\u0000"}'
    result = answered(folder, text, {"outputSchema": AN_OBJECT}, mode)
    assert text_of(result) == text
    assert result.structured_content == json.loads(text)
    assert not result.is_error


@ERAS
def test_an_object_comes_structured_without_an_output_schema_too(folder: Path, mode: str) -> None:
    for metadata in ("", "{}", '{"outputSchema": {"type": "array"}}'):
        result = answered(folder, ' {"x": 1}', metadata, mode)
        assert (text_of(result), result.structured_content) == (' {"x": 1}', {"x": 1})


@pytest.mark.parametrize("text", ["{oops", "[1]", "done", "", '{"x": 1e400}', '{"x":' * 150 + "1" + "}" * 150])
def test_what_is_no_object_that_a_message_can_hold_is_text_alone(folder: Path, text: str) -> None:
    result = answered(folder, text)
    assert (text_of(result), result.structured_content, result.is_error) == (text, None, False)


def test_a_parameter_of_a_type_that_is_not_known_yet_hides_nothing(folder: Path) -> None:
    app = FakeApp()
    app.add("newer", echo, FakeParameter("p", 77), FakeParameter("q", ARRAY, item_type=77))
    app.add("whole", echo)
    tools = listed(app, folder)
    assert list(tools) == ["newer", "whole"]
    assert tools["newer"].input_schema["properties"] == {"p": {}, "q": {"type": "array", "items": {}}}


@pytest.mark.parametrize(
    ("schema", "text", "words"),
    [
        (
            {"type": "object", "properties": {"x": {"type": "number"}}},
            '{"x": "no"}',
            "$.x: 'no' is not of type 'number'",
        ),
        ({"type": "object", "properties": {"x": {"$ref": "#/gone"}}}, '{"x": 1}', "output schema cannot be used"),
    ],
)
@ERAS
def test_an_object_that_clients_would_drop_is_an_error_that_holds_the_text(
    folder: Path, schema: dict[str, Any], text: str, words: str, mode: str
) -> None:
    result = answered(folder, text, {"outputSchema": schema}, mode)
    assert result.is_error
    assert words in text_of(result)
    assert f"\n{text}\n" in text_of(result)


def test_an_error_needs_no_object(folder: Path) -> None:
    result = answered(folder, Answer('{"why": "no"}', flags=MARKED), {"outputSchema": AN_OBJECT})
    assert result.is_error
    assert (text_of(result), result.structured_content) == ('{"why": "no"}', None)


@pytest.mark.parametrize("text", ["done", "[1]", "null", '{"x": 1e400}', '{"x": NaN}', '{"x":' * 150 + "1" + "}" * 150])
def test_a_promised_object_that_does_not_come_is_an_error_that_holds_the_text(folder: Path, text: str) -> None:
    result = answered(folder, text, {"outputSchema": AN_OBJECT})
    assert result.is_error
    assert text_of(result).startswith("Error: tool ran, but its result is not the JSON object")
    assert f"\n{text}\n" in text_of(result)
    assert result.structured_content is None


def test_what_nests_as_deep_as_it_may_still_reaches_the_client(folder: Path) -> None:
    def nested(levels: int) -> str:
        return '{"x":' * levels + "1" + "}" * levels

    result = answered(folder, nested(MAX_NESTING), {"outputSchema": AN_OBJECT})
    assert json.dumps(result.structured_content, separators=(",", ":")) == nested(MAX_NESTING)
    with pytest.raises(ValueError, match=f"more than {MAX_NESTING} levels"):
        read_object(nested(MAX_NESTING + 1))
