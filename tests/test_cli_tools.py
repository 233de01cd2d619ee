"""``openxr-agentic tools``: what an agent sees, and whom the command asks."""

from __future__ import annotations

import io
import json
import os
import re
import socket
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from agent_harness import echo, run, serving, until_connected
from cli_harness import environment, finished
from fake_app import ARRAY, NUMBER, FakeApp, FakeParameter
from old_server import OldServer, tool

from openxr_agentic.cli.asking.arguments import BadArgumentsError, Pair, typed_arguments
from openxr_agentic.cli.asking.schema_words import signature
from openxr_agentic.cli.asking.targets import Target, choose_target, endpoints_of, is_loopback
from openxr_agentic.cli.asking.tools import print_tools
from openxr_agentic.cli.console import stdout_console
from openxr_agentic.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
        return free


def cube_world() -> FakeApp:
    app = FakeApp(name="Cube World", label="cubes")
    position = FakeParameter("position", ARRAY, "Where, in metres", required=True, item_type=NUMBER)
    metadata = {
        "title": "Make a cube",
        "annotations": {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": True},
    }
    app.add(
        "create",
        echo,
        position,
        FakeParameter("name"),
        description="Create a cube.\nIt falls.",
        metadata=json.dumps(metadata),
    )
    return app


SHOWN = """\
create(position: number[], name?: string)
    Make a cube [changes things, not destructive, idempotent]
    Create a cube.
    It falls.
      position: Where, in metres
"""


def test_the_tools_are_shown_with_signature_title_hints_and_descriptions(folder: Path) -> None:
    async def scenario() -> None:
        app = cube_world()
        async with app.running(folder), serving() as server:
            await until_connected(server)
            for where in (server.endpoints.http, server.endpoints.sse, f"http://127.0.0.1:{server.endpoints.port}"):
                assert await finished("tools", "--url", where, env=environment(folder)) == (0, SHOWN, "")

    run(scenario())


@pytest.mark.parametrize("wanted", ["Cube World", "cubes", str(os.getpid())])
def test_an_app_is_asked_itself_by_name_label_or_process_id(folder: Path, wanted: str) -> None:
    async def scenario() -> None:
        async with cube_world().running(folder):
            assert await finished("tools", "--app", wanted, env=environment(folder)) == (0, SHOWN, "")

    run(scenario())


def test_json_is_what_tools_list_gives(folder: Path) -> None:
    listed = [
        tool("odd", {"x": {"type": "integer", "default": 2**70}}, required=["x"], additionalProperties=False),
        {"name": "with all", "title": "T", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    ]
    old = OldServer(listed)

    async def scenario() -> None:
        async with old.running() as url:
            code, stdout, stderr = await finished("tools", "--url", url, "--json", env=environment(folder))
        assert (code, json.loads(stdout), stderr) == (0, listed, "")

    run(scenario())


def test_an_app_without_tools_is_said_to_have_none(folder: Path) -> None:
    async def scenario() -> None:
        async with FakeApp(name="Empty").running(folder):
            code, stdout, stderr = await finished("tools", "--app", "Empty", env=environment(folder))
            assert (code, stdout) == (0, "")
            assert "the app Empty" in stderr
            assert "offers no tools now" in stderr

    run(scenario())


def test_what_the_server_says_of_a_short_list_is_told_beside_it(folder: Path) -> None:
    said = "2 more are kept\x1b[31m by the policy."

    async def scenario() -> None:
        for listed in ([tool("one")], []):
            old = OldServer(listed, meta={"openxr-agentic/absence": said})
            async with old.running() as url:
                code, stdout, stderr = await finished("tools", "--url", url, env=environment(folder))
                assert (code, stdout) == (0, "one()\n" if listed else "")
                assert stderr.endswith("openxr-agentic: 2 more are kept\\x1b[31m by the policy.\n")
                assert ("offers no tools now" in stderr) == (not listed)
                code, stdout, stderr = await finished("tools", "--json", "--url", url, env=environment(folder))
                assert (code, json.loads(stdout), stderr.count("\n")) == (0, listed, 1)

    run(scenario())


# ---------------------------------------------------------------- whom it asks


def test_the_default_is_the_server_on_the_port_of_the_environment(folder: Path) -> None:
    async def scenario() -> None:
        async with cube_world().running(folder), serving() as server:
            await until_connected(server)
            env = environment(folder, AGENTICXR_MCP_PORT=str(server.endpoints.port))
            assert await finished("tools", env=env) == (0, SHOWN, "")

    run(scenario())


def test_without_a_server_the_only_app_is_asked_and_that_is_said(folder: Path, port: int) -> None:
    async def scenario() -> None:
        env = environment(folder, AGENTICXR_MCP_PORT=str(port))
        async with cube_world().running(folder):
            code, stdout, stderr = await finished("tools", env=env)
            assert (code, stdout) == (0, SHOWN)
            assert f"Nothing serves MCP on 127.0.0.1:{port}; asking the app Cube World" in stderr
            async with FakeApp(name="Other", pid=os.getppid()).running(folder):
                code, stdout, stderr = await finished("tools", env=env)
                assert (code, stdout) == (1, "")
                for words in ("several apps", f"Cube World ({os.getpid()})", f"Other ({os.getppid()})", "--app"):
                    assert words in stderr
        code, stdout, stderr = await finished("tools", env=env)
        assert (code, stdout) == (1, "")
        for words in (f"127.0.0.1:{port}", "openxr-agentic run -- COMMAND", "--url"):
            assert words in stderr

    run(scenario())


def test_an_app_that_is_not_there_is_an_error_that_names_those_that_are(folder: Path) -> None:
    async def scenario() -> None:
        async with cube_world().running(folder):
            code, _, stderr = await finished("tools", "--app", "Cube", env=environment(folder))
            assert code == 1
            assert f"There is no app Cube. Running: Cube World ({os.getpid()})." in stderr
            async with FakeApp(name="Cube World", pid=os.getppid()).running(folder):
                code, _, stderr = await finished("tools", "--app", "Cube World", env=environment(folder))
                assert code == 1
                assert "process id" in stderr

    run(scenario())


def test_url_and_app_together_are_wrong_usage(folder: Path) -> None:
    async def scenario() -> None:
        words = ("tools", "--url", "http://127.0.0.1:1", "--app", "x")
        code, _, stderr = await finished(*words, env=environment(folder))
        assert (code, "one of --url and --app" in stderr) == (2, True)

    run(scenario())


@pytest.mark.parametrize(
    ("url", "transports"),
    [
        ("http://h:1/sse", [("http://h:1/sse", True)]),
        ("https://h/a/sse/", [("https://h/a/sse/", True)]),
        ("http://h:1/mcp", [("http://h:1/mcp", False)]),
        ("http://h/any?x=/sse", [("http://h/any?x=/sse", False)]),
        ("http://h:1", [("http://h:1/mcp", False), ("http://h:1/sse", True)]),
        ("http://[::1]:1/", [("http://[::1]:1/mcp", False), ("http://[::1]:1/sse", True)]),
    ],
)
def test_the_path_of_a_url_tells_the_transport(url: str, transports: list[tuple[str, bool]]) -> None:
    assert [tuple(endpoint) for endpoint in endpoints_of(url)] == transports


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("localhost:8720", "did you mean http://localhost:8720?"),
        ("127.0.0.1:8720", "did you mean http://127.0.0.1:8720?"),
        ("8720", "did you mean http://127.0.0.1:8720?"),
        ("", "write it as http://127.0.0.1:8720/mcp."),
        ("ftp://h/mcp", "write it as http://127.0.0.1:8720/mcp."),
        ("http://", "write it as http://127.0.0.1:8720/mcp."),
        ("http://h:x", "write it as http://127.0.0.1:8720/mcp."),
    ],
)
def test_what_is_no_url_is_refused_with_one_example(url: str, told: str) -> None:
    words = f"--url is {url!r}, which is no URL of an MCP server: {told}"
    with pytest.raises(ConfigurationError, match=f"^{re.escape(words)}$"):
        endpoints_of(url)


def test_the_token_of_the_environment_goes_to_the_url_that_was_given_and_to_no_app() -> None:
    environment = {"OPENXR_AGENTIC_TOKEN": "t"}
    assert choose_target("http://example.test/mcp", None, None, environment).token == "t"
    assert choose_target("http://127.0.0.1/mcp", None, None, {}).token is None
    assert Target().token is None


@pytest.mark.parametrize(
    ("url", "is_local"),
    [("http://127.0.0.1/", True), ("http://[::1]:1/", True), ("http://LOCALHOST:1/", True), ("http://10.0.0.1/", False),
     ("http://localhost.example.test/", False)],
)  # fmt: skip
def test_proxies_are_passed_by_for_this_machine_alone(url: str, is_local: bool) -> None:
    assert is_loopback(url) == is_local


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "string | null"),
        ({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}, "number[3]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, '("a" | "b")[]'),
        ({"type": "array"}, "any[]"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"const": "a"}, '"a"'),
        ({"$ref": "#/$defs/P"}, "number[]"),
        ({"$ref": "#/$defs/loop"}, "any"),
        ({"anyOf": [{"$ref": "#/$defs/nested"}, {"type": "null"}]}, "any[] | null"),
        ({}, "any"),
        ("nonsense", "any"),
        ({"type": 5, "enum": "abc", "anyOf": {}}, "any"),
    ],
)
def test_a_type_is_told_in_words_whatever_the_schema_is(schema: Any, words: str) -> None:
    nested: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/loop"}}
    point = {"type": "array", "items": {"type": "number"}}
    whole = {"properties": {"x": schema}, "$defs": {"P": point, "loop": {"$ref": "#/$defs/loop"}, "nested": nested}}
    assert signature("f", whole) == f"f(x?: {words})"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "default": 50, "minimum": 0, "maximum": 100}, "integer (0 to 100) = 50"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 1.5}, "number (at most 1.5, above 0)"),
        ({"type": "number", "minimum": 0, "exclusiveMaximum": 1}, "number (at least 0, below 1)"),
        ({"type": "integer", "multipleOf": 5}, "integer (a multiple of 5)"),
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"type": "string", "minLength": 1}, "string (at least 1 character)"),
        ({"type": "string", "minLength": 0, "maxLength": 20, "default": "a"}, 'string (at most 20 characters) = "a"'),
        ({"type": "string", "pattern": "^a+$"}, "string (like ^a+$)"),
        ({"type": "string", "pattern": "a" * 100}, f"string (like {'a' * 39}…)"),
        ({"type": "string", "default": "a" * 100}, f'string = "{"a" * 38}…'),
        ({"type": "array", "items": {"minimum": 0}, "maxItems": 3}, "any[] (at most 3 items, each at least 0)"),
        ({"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}, "number[3]"),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, "integer | null (at least 1)"),
        ({"type": "null", "default": None}, "null"),
        ({"enum": ["a", "b"], "default": "a", "format": "x"}, '"a" | "b" = "a"'),
        ({"type": "boolean", "default": False}, "boolean = false"),
        ({"type": "array", "default": []}, "any[] = []"),
        ({"type": "integer", "minimum": "x", "pattern": 5, "anyOf": 5, "maxItems": True}, "integer"),
        ({"$ref": "#/$defs/tree"}, "array"),
    ],
)  # fmt: skip
def test_defaults_limits_and_formats_are_told(schema: Any, words: str) -> None:
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    shown = signature("f", {"properties": {"x": schema}, "$defs": {"tree": tree}})
    assert shown == f"f(x?: {words})" or words == "array"


def test_a_schema_that_holds_itself_ends() -> None:
    tree = {"type": "array", "items": {"$ref": "#/$defs/tree"}}
    assert signature("f", {"properties": {"x": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}}).endswith("[])")


def referring(**step: Any) -> dict[str, Any]:
    """A short schema whose every part stands for many of the next one."""
    steps = {f"x{number}": json.loads(json.dumps(step).replace("NEXT", f"x{number + 1}")) for number in range(12)}
    return {"properties": {"a": {"$ref": "#/$defs/x0"}}, "$defs": {**steps, "x12": {"type": "string"}}}


MANY = [{"$ref": "#/$defs/NEXT"}] * 10


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (referring(anyOf=MANY), "…"),
        (referring(allOf=MANY), "any"),
        (referring(type="array", minItems=10, items=MANY[0]), "[]"),
        (
            referring(
                type="object", required=list("abcdefghij"), properties=dict(zip("abcdefghij", MANY, strict=True))
            ),
            "object",
        ),
        ({"properties": {"a": {"enum": ["x" * 100_000]}}}, "…"),
        ({"properties": {"a": {"type": ["string", ["list"], {}] * 1000}}}, "string"),
    ],
)
def test_what_a_schema_costs_is_bounded_however_often_it_refers_to_its_parts(schema: Any, words: str) -> None:
    told = signature("f", schema)
    assert words in told
    assert len(told) < 10_000
    with pytest.raises(BadArgumentsError) as refused:
        typed_arguments("f", [Pair("a", "{")], {**schema, "required": ["a", "b"]})
    assert len(str(refused.value)) < 10_000


@pytest.mark.parametrize("schema", [None, 5, {"properties": []}, {"properties": {"x": None}, "required": 5}])
def test_a_tool_with_any_schema_is_shown_without_control_codes(schema: Any) -> None:
    stream = io.StringIO()
    print_tools(
        stdout_console(stream), [{"name": "x\x1b[2J", "inputSchema": schema, "description": "[red]a\x07[/red]"}]
    )
    shown = stream.getvalue()
    assert shown.startswith("x\\x1b[2J(")
    assert "[red]a\\x07[/red]" in shown
    assert "\x1b" not in shown
