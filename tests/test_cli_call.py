"""``openxr-agentic call``: from words in a shell to a tool, and back."""

from __future__ import annotations

import asyncio
import base64
import datetime as dt
import json
import math
import os
import pty
import re
import shlex
import signal
import socket
import ssl
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

import httpx2
from agent_harness import Gate, echo, run, serving, until, until_connected
from cli_harness import COMMAND, environment, finished, started
from fake_app import ARRAY, BOOLEAN, NUMBER, OBJECT, STRING, Answer, FakeApp, FakeParameter
from old_server import OldServer, text_result, tool

from openxr_agentic import __version__
from openxr_agentic.cli.asking import client as agent_client
from openxr_agentic.cli.asking.apps import FoundApp, NoSuchAppError
from openxr_agentic.cli.asking.arguments import (
    BadArgumentsError,
    pairs_of,
    read_arguments,
    split_pairs,
    typed_arguments,
)
from openxr_agentic.cli.asking.failures import AgentClientError
from openxr_agentic.cli.asking.targets import Endpoint, Target, endpoints_of
from openxr_agentic.cli.asking.tools import list_all

if TYPE_CHECKING:
    from collections.abc import Iterator

BIG = 2**64 + 1
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


def typed(schema: object, word: str) -> Any:
    """The value of ``x=...`` for an argument of that schema."""
    return typed_arguments("T", split_pairs([word]), {"properties": {"x": schema}, "$defs": DEFS})["x"]


DEFS = {"Point": {"type": "array", "items": {"type": "number"}}, "loop": {"$ref": "#/$defs/loop"}}
OPTIONAL_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}


# ---------------------------------------------------------------- key=value, by the schema


@pytest.mark.parametrize(
    ("schema", "word", "value"),
    [
        ({"type": "string"}, "x=12", "12"),
        ({"type": "string"}, "x=true", "true"),
        ({"type": "string"}, "x=null", "null"),
        ({"type": "string"}, 'x="quoted"', '"quoted"'),
        ({"type": "string"}, "x=", ""),
        ({"type": "string"}, "x=a=b", "a=b"),
        ({"type": "string"}, "x=Grüße 世界", "Grüße 世界"),
        ({"type": "number"}, "x=1.5", 1.5),
        ({"type": "number"}, "x=3", 3),
        ({"type": "integer"}, f"x={BIG}", BIG),
        ({"type": "integer"}, "x=3.0", 3.0),
        ({"type": "boolean"}, "x=false", False),
        ({"type": "array", "items": {"type": "number"}}, "x=[1, 2.5]", [1, 2.5]),
        ({"type": "object"}, 'x={"a": null}', {"a": None}),
        ({"properties": {"a": {}}}, 'x={"a": 1}', {"a": 1}),
        (OPTIONAL_TEXT, "x=null", None),
        (OPTIONAL_TEXT, 'x="null"', "null"),
        (OPTIONAL_TEXT, "x=5", "5"),
        (OPTIONAL_TEXT, "x=[1", "[1"),
        ({"type": ["integer", "null"]}, "x=null", None),
        ({"type": ["integer", "string"]}, "x=7", 7),
        ({"type": ["integer", "string"]}, "x=7.5", "7.5"),
        ({"enum": ["low", "high"]}, "x=low", "low"),
        ({"enum": [1, 2]}, "x=2", 2),
        ({"enum": ["1", 1]}, "x=1", "1"),
        ({"type": "string", "enum": ["null"]}, "x=null", "null"),
        ({"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, "x=null", None),
        ({"anyOf": [{"enum": ["a"]}, {"type": "integer"}]}, "x=4", 4),
        ({"const": True}, "x=true", True),
        ({"$ref": "#/$defs/Point"}, "x=[0, 1]", [0, 1]),
        ({"allOf": [{"$ref": "#/$defs/Point"}]}, "x=[0, 1]", [0, 1]),
        ({"$ref": "#/$defs/loop"}, "x=text", "text"),
        ({"$ref": "#/nowhere"}, "x=1", 1),
        ({}, "x=text", "text"),
        ({}, "x=1", 1),
        (True, "x=null", None),
    ],
)
def test_a_value_has_the_type_that_the_schema_says(schema: object, word: str, value: object) -> None:
    found = typed(schema, word)
    assert (found, type(found)) == (value, type(value))
    back = pairs_of({"x": value}, {"properties": {"x": schema}, "$defs": DEFS})
    assert back is not None
    (again,) = shlex.split(back)
    assert typed(schema, again) == value


@pytest.mark.parametrize(
    ("schema", "word", "expected", "to_type"),
    [
        ({"type": "integer"}, "x=1.5", "integer", "x=1"),
        ({"type": "integer"}, "x=true", "integer", "x=1"),
        ({"type": "integer", "minimum": 10}, "x=ten", "integer", "x=10"),
        ({"type": "number"}, "x=null", "number", "x=0.5"),
        ({"type": "number"}, "x=NaN", "number", "x=0.5"),
        ({"type": "number"}, "x=1e999", "number", "x=0.5"),
        ({"type": "boolean"}, "x=yes", "boolean", "x=true"),
        ({"type": "boolean"}, "x=1", "boolean", "x=true"),
        (
            {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3},
            "x=1,2,3",
            "number[3]",
            "0.5, 0.5",
        ),
        ({"type": "object"}, "x=[]", "object", "x={}"),
        ({"enum": ["low", "high"]}, "x=medium", '"low" | "high"', "x=low"),
        ({"enum": [1, 2]}, "x=true", "1 | 2", "x=1"),
        ({"type": ["integer", "null"]}, "x=text", "integer | null", "x=1"),
    ],
)
def test_a_value_of_another_type_is_refused_with_the_type_and_what_to_type(
    schema: object, word: str, expected: str, to_type: str
) -> None:
    with pytest.raises(BadArgumentsError) as refused:
        typed(schema, word)
    assert f"x must be {expected}, not " in str(refused.value)
    assert to_type in str(refused.value)


def test_all_faults_of_the_arguments_are_told_at_once() -> None:
    schema = tool("T", {"name": {"type": "string"}, "size": {"type": "number"}}, required=["name"])["inputSchema"]
    with pytest.raises(BadArgumentsError) as refused:
        typed_arguments("T", split_pairs(["size=big", "nmae=x"]), {**schema, "additionalProperties": False})
    for words in (
        "size must be number",
        "no argument nmae. Did you mean name?",
        "name is missing: string",
        "name=text",
    ):
        assert words in str(refused.value)


def test_an_unknown_name_is_sent_where_the_schema_allows_more() -> None:
    assert typed_arguments("T", split_pairs(["a=1", "b=x"]), {"properties": {}}) == {"a": 1, "b": "x"}
    more = {"properties": {}, "additionalProperties": {"type": "string"}}
    assert typed_arguments("T", split_pairs(["a=1"]), more) == {"a": "1"}


@pytest.mark.parametrize(("word", "told"), [("name", "key=value"), ("=1", "key=value"), ('{"a": 1}', "--arguments")])
def test_a_word_that_is_no_pair_is_refused(word: str, told: str) -> None:
    with pytest.raises(BadArgumentsError, match=told):
        split_pairs([word])


@pytest.mark.parametrize(
    ("words", "array"),
    [
        (["a=1", "a=2"], "'a=[1, 2]'"),
        (["kind=orc", "a=1", "kind=elf", "kind=x"], """'kind=["orc", "elf"]'"""),
        (["a=1", "a=b"], """'a=["1", "b"]'"""),
    ],
)
def test_a_name_that_is_given_twice_is_refused_with_how_several_values_are_written(
    words: list[str], array: str
) -> None:
    with pytest.raises(BadArgumentsError) as refused:
        split_pairs(words)
    assert "is given twice" in str(refused.value)
    assert str(refused.value).endswith(f": {array}.")


def test_an_example_of_an_array_is_no_empty_one() -> None:
    with pytest.raises(BadArgumentsError, match="""'x=\\["text"\\]'"""):
        typed({"type": "array", "items": {"type": "string"}, "default": []}, "x=a")


def test_an_example_of_a_text_with_a_format_has_that_format() -> None:
    schema = {"properties": {"x": {"type": "string", "format": "date"}}, "required": ["x"]}
    with pytest.raises(BadArgumentsError) as refused:
        typed_arguments("T", [], schema)
    example = str(refused.value).rpartition("x=")[2]
    assert dt.date.fromisoformat(example).isoformat() == example


def test_a_number_beyond_a_double_is_json_and_refused_as_what_it_is() -> None:
    with pytest.raises(BadArgumentsError) as refused:
        read_arguments('{"n": 1e400}')
    assert str(refused.value) == (
        "--arguments cannot be sent: the number 1e400 is beyond what a double can hold, at most about 1.8e308."
    )


# ---------------------------------------------------------------- --arguments


def test_arguments_come_from_text_a_file_or_stdin_with_exact_numbers(tmp_path: Path) -> None:
    file = tmp_path / "arguments.json"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps({"n": BIG}).encode())
    assert read_arguments(f"@{file}") == read_arguments(json.dumps({"n": BIG})) == {"n": BIG}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("{", "no JSON"),
        ("[1]", "an array"),
        ("5", "a number"),
        ("null", "null"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 1e999}', "beyond what a double can hold"),
        ('{"a": 1, "a": 2}', "twice"),
        ("[" * 100_000, "deep"),
        ('{"a": ' + "9" * 5000 + "}", "no JSON"),
        ("@/nowhere/at/all", "Cannot read the file /nowhere/at/all"),
    ],
)
def test_arguments_that_are_no_json_object_are_refused_with_the_reason(given: str, told: str) -> None:
    with pytest.raises(BadArgumentsError, match=told):
        read_arguments(given)


def test_arguments_from_a_closed_standard_input_are_refused() -> None:
    line = f"{shlex.join([*COMMAND, 'call', 'Tool', '--arguments', '-', '--url', 'http://127.0.0.1:9/mcp'])} <&-"
    done = subprocess.run(line, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: Cannot read standard input: it is closed.\n"


# ---------------------------------------------------------------- the whole way


def test_a_call_sends_typed_arguments_and_prints_the_text_as_it_is(folder: Path) -> None:
    app = FakeApp(name="Cube World")
    odd = "[bold]not bold[/] \x1b[31m " + "long " * 60 + "\r\nGrüße 世界 \t end"

    async def answer(arguments: str) -> str:
        return odd

    app.add("say", answer, FakeParameter("text"), FakeParameter("times", NUMBER), FakeParameter("loud", BOOLEAN))
    app.add("echo", echo, FakeParameter("data", OBJECT))

    async def scenario() -> None:
        env = environment(folder, COLUMNS="40")
        async with app.running(folder), serving() as server:
            await until_connected(server)
            for url in (server.endpoints.http, server.endpoints.sse):
                done = await finished("call", "say", "text=1", "times=2", "loud=true", "--url", url, env=env)
                assert done == (0, odd + "\n", "")
                assert json.loads(app.calls[-1][1]) == {"text": "1", "times": 2, "loud": True}
            origin = f"http://127.0.0.1:{server.endpoints.port}"
            data = json.dumps({"data": {"n": BIG}})
            code, stdout, _ = await finished("call", "echo", "--arguments", data, "--url", origin, env=env)
            assert (code, json.loads(stdout)) == (0, {"data": {"n": BIG}})
            assert str(BIG) in app.calls[-1][1]

    run(scenario())


def test_an_error_of_the_tool_is_its_result_with_exit_code_3(folder: Path) -> None:
    app = FakeApp()

    async def fail(arguments: str) -> Answer:
        return Answer("Error: no such cube.\nTip: make one.", flags=1)

    app.add("fail", fail)

    async def scenario() -> None:
        async with app.running(folder):
            env = environment(folder)
            done = await finished("call", "fail", "--app", str(app.pid), env=env)
            assert done == (3, "Error: no such cube.\nTip: make one.\n", "")
            code, stdout, _ = await finished("call", "fail", "--app", app.name, "--json", env=env)
            result = json.loads(stdout)
            assert (code, result["isError"], result["content"][0]["type"]) == (3, True, "text")

    run(scenario())


def app_that_fails(text: str) -> FakeApp:
    """An app with a tool that answers with that error."""
    app = FakeApp()

    async def fail(arguments: str) -> Answer:
        return Answer(text, flags=1)

    app.add("draw", fail, FakeParameter("size", ARRAY), FakeParameter("name", STRING), FakeParameter("on", BOOLEAN))
    return app


@pytest.mark.parametrize(
    ("tip", "typed_here"),
    [
        ('for example {"size":[1,1],"name":"a b"}', "'size=[1, 1]' 'name=a b'"),
        ('Send for example {"on": true}.', "on=true"),
        ('for example {"of another tool":1}', None),
        ("for example {size}", None),
        ("Cubes: red.", None),
    ],
)
def test_what_an_error_tells_agents_to_send_is_told_as_it_is_typed(
    folder: Path, tip: str, typed_here: str | None
) -> None:
    text = f'Error: wrong {{"size":2}}.\nTip: {tip}'

    async def scenario() -> None:
        async with app_that_fails(text).running(folder):
            code, stdout, stderr = await finished("call", "draw", "on=false", env=environment(folder))
            assert (code, stdout) == (3, text + "\n")
            assert re.findall(r"typed here, that is (.*)", stderr) == ([] if typed_here is None else [typed_here])

    run(scenario())


@pytest.mark.parametrize("words", [["--arguments", "{}"], ["--json"]])
def test_who_gave_or_wants_json_is_told_nothing_more(folder: Path, words: list[str]) -> None:
    async def scenario() -> None:
        async with app_that_fails('Error: wrong.\nTip: {"on":true}').running(folder):
            _, stdout, stderr = await finished("call", "draw", *words, env=environment(folder))
            assert "Tip:" in stdout
            assert "typed here" not in stderr

    run(scenario())


def test_arguments_that_do_not_fit_are_wrong_usage_and_nothing_is_called(folder: Path) -> None:
    app = FakeApp()
    app.add("create", echo, FakeParameter("size", NUMBER, required=True))

    async def scenario() -> None:
        env = environment(folder)
        async with app.running(folder):
            for words, told in (
                ((), "size is missing: number. Write for example size=0.5"),
                (("size=big",), 'size must be number, not "big"'),
                (("size=1", "--arguments", "{}"), "not both"),
                (("--arguments", "[]"), "an array"),
                (("size",), "key=value"),
                (("size=1", "--timeout", "nan"), "above 0"),
            ):
                code, stdout, stderr = await finished("call", "create", *words, "--app", app.name, env=env)
                assert (code, stdout) == (2, "")
                assert told in stderr
                assert "Traceback" not in stderr
            assert app.calls == []
            # As they are: what the tool says of missing ones can be tried too.
            done = await finished("call", "create", "--arguments", "{}", "--app", app.name, env=env)
            assert done == (0, "{}\n", "")

    run(scenario())


def test_an_unknown_tool_is_a_failure_with_the_servers_near_names(folder: Path) -> None:
    app = FakeApp()
    app.add("spawn_cube", echo)

    async def scenario() -> None:
        async with app.running(folder):
            code, stdout, stderr = await finished(
                "call", "spawn_cub", "a=1", "--app", app.name, env=environment(folder)
            )
        assert (code, stdout) == (1, "")
        assert "Unknown tool: spawn_cub. Did you mean spawn_cube?" in stderr

    run(scenario())


# ---------------------------------------------------------------- withdrawn calls


@pytest.mark.parametrize("way", ["http", "sse", "app"])
def test_ctrl_c_withdraws_the_call_at_the_app(folder: Path, way: str) -> None:
    app, gate = FakeApp(), Gate()
    app.add("wait", gate)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            where = ("--app", app.name) if way == "app" else ("--url", getattr(server.endpoints, way))
            async with started("call", "wait", *where, env=environment(folder)) as process:
                await gate.entered.wait()
                process.send_signal(signal.SIGINT)
                stdout, stderr = await process.communicate()
            assert (process.returncode, stdout) == (130, b"")
            (line,) = stderr.decode().splitlines()
            assert line.startswith("openxr-agentic: interrupted. The call is withdrawn: ")
            assert line.endswith("if it runs already, it runs on.")
            await until(lambda: len(app.cancelled) == 1)

    run(scenario())


@contextmanager
def in_a_process(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """An app in a process of its own; it is there in the block, and gone after it."""
    with subprocess.Popen(
        [sys.executable, "-c", AN_APP, os.fspath(Path(__file__).parent), os.fspath(folder)],
        stdout=subprocess.PIPE,
        text=True,
    ) as app:
        try:
            assert app.stdout is not None
            assert app.stdout.readline() == "there\n"
            yield app
        finally:
            app.kill()


AN_APP = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from fake_app import FakeApp

async def main():
    async with FakeApp(name="Cube World").running(Path(sys.argv[2])):
        print("there", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (signal.SIGKILL, "the app Cube World (process {pid}) went away."),
        (signal.SIGSTOP, "the app Cube World (process {pid}) does not answer: it did not answer within "),
    ],
)
def test_an_app_that_dies_or_is_stopped_before_it_is_asked_is_told_so(folder: Path, number: int, told: str) -> None:
    with in_a_process(folder) as app:
        target = Target(app=FoundApp(app.pid, "Cube World"))
        app.send_signal(number)
        if number == signal.SIGKILL:
            app.wait()
        with pytest.raises(NoSuchAppError) as failed:
            run(agent_client._ask(target, list_all, 60))
        assert str(failed.value).startswith(told.format(pid=app.pid))
        assert ("it may be stopped, as in a debugger" in str(failed.value)) == (number == signal.SIGSTOP)


def test_where_the_only_app_is_stopped_that_is_said_and_not_how_to_start_one(folder: Path) -> None:
    with in_a_process(folder) as app:
        app.send_signal(signal.SIGSTOP)
        code, stdout, stderr = run(finished("tools", env=environment(folder, AGENTICXR_MCP_PORT=str(free_port()))))
        assert (code, stdout) == (1, "")
        assert f"the app of process {app.pid} does not answer: it did not answer within" in stderr
        assert "it may be stopped" in stderr
        assert "Start one" not in stderr


def test_ctrl_c_is_told_to_an_old_server_before_the_connection_ends(folder: Path) -> None:
    old = OldServer([tool("wait")], answer=lambda params: None)

    async def scenario() -> None:
        async with (
            old.running() as url,
            started("call", "wait", "--url", f"{url}/sse", env=environment(folder)) as call,
        ):
            await until(lambda: "tools/call" in old.methods())
            call.send_signal(signal.SIGTERM)
            await call.communicate()
        assert call.returncode == 128 + signal.SIGTERM
        (withdrawn,) = [message for message in old.messages if message["method"] == "notifications/cancelled"]
        (called,) = [message for message in old.messages if message["method"] == "tools/call"]
        assert withdrawn["params"]["requestId"] == called["id"]
        # Only an answer to what follows says that it was read.
        assert old.methods()[-2:] == ["notifications/cancelled", "ping"]

    run(scenario())


def test_a_call_that_takes_too_long_is_withdrawn_at_the_app(folder: Path) -> None:
    app, gate = FakeApp(), Gate()
    app.add("wait", gate)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            exchange = agent_client._Exchange("the server", 1000)
            connection = agent_client._server(Endpoint(server.endpoints.http, sse=False), None, exchange)
            asked = asyncio.ensure_future(exchange.hold(connection, lambda client: client.call_tool("wait", {})))
            await gate.entered.wait()
            assert exchange._asking is not None
            exchange._asking.deadline = -math.inf  # the time is over
            with pytest.raises(AgentClientError, match="the server gave no answer within 1000 s"):
                await asked
            await until(lambda: len(app.cancelled) == 1)

    run(scenario())


def test_a_server_that_never_answers_is_a_failure_after_the_timeout(folder: Path) -> None:
    old = OldServer([tool("wait")], answer=lambda params: None)

    async def scenario() -> None:
        async with old.running() as url:
            words = ("call", "wait", "--timeout", "0.01", "--url", url)
            code, stdout, stderr = await finished(*words, env=environment(folder))
        assert (code, stdout) == (1, "")
        assert "gave no answer within 0.01 s. " in stderr
        assert stderr.endswith("it runs on.\n") == ("tools/call" in old.methods())
        assert stderr.endswith("Nothing was called.\n") == ("tools/call" not in old.methods())

    run(scenario())


# ---------------------------------------------------------------- old servers, and results that are no text


def test_an_old_server_is_called_over_sse_and_found_by_its_origin(folder: Path) -> None:
    old = OldServer([tool("greet", {"name": {"type": "string"}})])
    old.answer = lambda params: text_result("Hello", params["arguments"]["name"])

    async def scenario() -> None:
        async with old.running() as url:
            for where in (f"{url}/sse", url):
                old.messages.clear()
                done = await finished("call", "greet", "name=1", "--url", where, env=environment(folder))
                assert done == (0, "Hello\n1\n", "")
                (hello,) = [message["params"] for message in old.messages if message["method"] == "initialize"]
                assert hello["clientInfo"] == {"name": "openxr-agentic", "version": __version__}

    run(scenario())


def test_what_is_no_text_is_described_and_can_be_saved(folder: Path) -> None:
    content = [
        {"type": "text", "text": "Here:"},
        {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"},
        {"type": "audio", "data": base64.b64encode(bytes(5000)).decode(), "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a.txt", "mimeType": "text/plain", "text": "abc"}},
        {"type": "image", "data": "!", "mimeType": "image/png"},
    ]
    old = OldServer([tool("look"), tool("say")])
    old.answer = lambda params: {"content": content} if params["name"] == "look" else text_result("exactly")
    saved = folder / "picture.png"

    async def scenario() -> None:
        async with old.running() as url:
            env = environment(folder)
            code, stdout, stderr = await finished("call", "look", "--url", url, "--output", str(saved), env=env)
            assert (code, saved.read_bytes()) == (0, PNG)
            assert stdout.splitlines() == [
                "Here:",
                "[image, image/png, 264 bytes]",
                "[audio, audio/wav, 4.9 KiB]",
                "[resource: file:///a.txt, text/plain, 3 bytes]",
                "[image, image/png, no usable data]",
            ]
            assert f"saved 264 bytes to {saved}" in stderr
            _, stdout, _ = await finished("call", "look", "--url", url, env=env)
            assert "[image, image/png, 264 bytes; --output FILE saves it]" in stdout
            await finished("call", "say", "--url", url, "--output", str(saved), env=env)
            assert saved.read_bytes() == b"exactly"
            code, stdout, stderr = await finished("call", "say", "--url", url, "--output", "/nowhere/x", env=env)
            assert (code, stdout) == (1, "")
            assert "Nothing was called: /nowhere/x cannot be written: No such file or directory." in stderr
            assert len([method for method in old.methods() if method == "tools/call"]) == 3
            kept = folder / "kept"
            kept.write_text("kept")
            for path in (folder / "new", kept):
                code, _, _ = await finished(
                    "call", "none", "--url", "http://127.0.0.1:1", "--output", str(path), env=env
                )
                assert code == 1
            assert kept.read_text() == "kept"
            assert not (folder / "new").exists()

    run(scenario())


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_a_result_of_many_megabytes_comes_whole(folder: Path, transport: str) -> None:
    app = FakeApp()

    async def much(arguments: str) -> str:
        return "é" * 3_000_000

    app.add("much", much)

    async def scenario() -> None:
        async with app.running(folder), serving() as server:
            await until_connected(server)
            url = getattr(server.endpoints, transport)
            code, stdout, _ = await finished("call", "much", "--url", url, env=environment(folder))
            assert (code, stdout) == (0, "é" * 3_000_000 + "\n")

    run(scenario())


def test_an_answer_in_events_may_be_of_any_size(folder: Path) -> None:
    old = OldServer([tool("much")], answer=lambda params: text_result("x" * 3_000_000))

    async def scenario() -> None:
        async with old.running() as url:
            code, stdout, _ = await finished("call", "much", "--url", f"{url}/stream", env=environment(folder))
        assert (code, len(stdout)) == (0, 3_000_001)

    run(scenario())


def on_a_terminal(*words: str, env: dict[str, str]) -> bytes:
    """Run a command whose stdout is a terminal, and return what it wrote there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, *words], env=env, stdin=subprocess.DEVNULL, stdout=theirs):
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # how a terminal says that nobody is left at its other end
            while chunk := os.read(ours, 65536):
                shown += chunk
    os.close(ours)
    return shown


def test_a_result_cannot_steer_a_terminal_and_is_whole_in_a_pipe(folder: Path) -> None:
    app = FakeApp()
    text = "a\x1b]0;title\x07\x9b31m\u202eb\n"

    async def evil(arguments: str) -> str:
        return text

    app.add("evil", evil)

    async def scenario() -> None:
        env = environment(folder)
        async with app.running(folder):
            words = ("call", "evil", "--app", app.name)
            assert await finished(*words, env=env) == (0, text, "")
            shown = await asyncio.to_thread(on_a_terminal, *words, env=env)
            assert shown.decode().splitlines() == [r"a\x1b]0;title\x07\x9b31m\u202eb"]
            code, stdout, _ = await finished(*words, "--json", env=env)
            assert code == 0
            assert json.loads(stdout)["content"][0]["text"] == text
            assert not set(stdout) & set("\x1b\x07\x9b\u202e")

    run(scenario())


# ---------------------------------------------------------------- failures in one line


def test_an_answer_that_is_no_message_is_told_in_one_line(folder: Path) -> None:
    old = OldServer([tool("t")])

    async def scenario() -> None:
        async with old.running() as url:
            old.spoiled["tools/list"] = '{"jsonrpc": bad'
            code, stdout, stderr = await finished("tools", "--url", f"{url}/stream", env=environment(folder))
        assert (code, stdout) == (1, "")
        assert stderr.splitlines() == [f"Error: {url}/stream answered with what is no JSON-RPC message."]

    run(scenario())


async def answering(reply: bytes) -> asyncio.Server:
    """A server that gives the same bytes to everybody."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(reply)
        await writer.drain()
        await reader.read(100_000)
        writer.close()

    return await asyncio.start_server(serve, "127.0.0.1", 0)


def http(status: str, kind: str = "text/html", body: str = "<html>") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return (head + body).encode()


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (http("200 OK"), "no MCP server"),
        (http("404 Not Found"), "no MCP server"),
        (http("500 Oops"), "HTTP 500"),
        (http("200 OK", "application/json", "{}"), "no MCP server"),
        (http("403 Forbidden"), "does not let this client in"),
        (http("401 Unauthorized"), "--token-file"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "no HTTP server"),
        (b"", "no HTTP server"),
    ],
)
@pytest.mark.parametrize("path", ["/mcp", "/sse", ""])
def test_what_is_no_mcp_server_is_told_in_words(reply: bytes, told: str, path: str) -> None:
    async def scenario() -> None:
        server = await answering(reply)
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
            with pytest.raises(AgentClientError) as failed:
                await agent_client._ask(Target(endpoints_of(url)), list_all, 60)
        lines = str(failed.value).splitlines()
        assert told in lines[-1]
        assert len(lines) == 1

    run(scenario())


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden", "421 Misdirected Request"])
@pytest.mark.parametrize("path", ["/mcp", "/sse", ""])
def test_what_a_server_says_with_a_refusal_is_passed_on(status: str, path: str) -> None:
    async def scenario() -> None:
        server = await answering(http(status, "text/plain; charset=utf-8", "Start it with\x1b[31m --allow-host.\n"))
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
            with pytest.raises(AgentClientError, match=r"It says: Start it with\\x1b\[31m --allow-host\.$"):
                await agent_client._ask(Target(endpoints_of(url)), list_all, 60)

    run(scenario())


def test_of_much_that_a_server_says_with_a_refusal_the_beginning_is_passed_on() -> None:
    async def scenario() -> None:
        server = await answering(http("403 Forbidden", "text/plain", "no " * 1000))
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
            with pytest.raises(AgentClientError, match=r"It says: (no )+.*…$") as failed:
                await agent_client._ask(Target(endpoints_of(url)), list_all, 60)
            assert len(str(failed.value)) < 700

    run(scenario())


def test_a_host_that_our_server_does_not_answer_to_is_told_with_what_to_do(folder: Path) -> None:
    async def scenario() -> None:
        async with FakeApp().running(folder), serving() as server:
            await until_connected(server)
            exchange = agent_client._Exchange("the server", 60)
            headers = {"Host": "elsewhere.example"}
            async with httpx2.AsyncClient(event_hooks={"response": [exchange.note_status]}, headers=headers) as client:
                await client.post(server.endpoints.http)
        assert exchange._status == 421
        assert "--allow-host NAME" in exchange._said

    run(scenario())


@pytest.mark.parametrize("path", ["/mcp", ""])
def test_who_holds_the_port_of_what_is_no_mcp_server_is_told(path: str) -> None:
    async def scenario() -> None:
        server = await answering(http("404 Not Found"))
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
            with pytest.raises(AgentClientError) as failed:
                await agent_client._ask(Target(endpoints_of(url)), list_all, 60)
        ways = ", at /mcp and /sse" if not path else ""
        assert str(failed.value).startswith(f"There is no MCP server at {url}: HTTP 404{ways}. The port is held by ")
        assert f"(process {os.getpid()})." in str(failed.value)

    run(scenario())


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
def test_nothing_but_the_words_is_printed_of_what_is_no_mcp_server(folder: Path, path: str) -> None:
    async def scenario() -> None:
        server = await answering(http("200 OK", "application/json", "{}"))
        async with server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"
            code, stdout, stderr = await finished("call", "x", "--url", url, env=environment(folder))
        assert (code, stdout) == (1, "")
        (line,) = stderr.splitlines()
        assert line.startswith("Error: There is no MCP server at")

    run(scenario())


def test_a_server_that_leaves_during_a_call_is_told_in_words(folder: Path) -> None:
    app, gate = FakeApp(), Gate()
    app.add("wait", gate)

    async def scenario() -> None:
        async with app.running(folder):
            port = free_port()
            async with started("serve", "--port", str(port), env=environment(folder)) as server:
                await until(lambda: app.clients == 1)
                words = ("call", "wait", "--url", f"http://127.0.0.1:{port}/mcp")
                async with started(*words, env=environment(folder)) as call:
                    await gate.entered.wait()
                    os.kill(server.pid, signal.SIGKILL)
                    stdout, stderr = await call.communicate()
        assert (call.returncode, stdout) == (1, b"")
        (line,) = stderr.decode().splitlines()
        assert "whether the tool ran is unknown" in line

    run(scenario())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_https_to_a_server_without_tls_is_told_in_words() -> None:
    async def scenario() -> None:
        server = await answering(http("200 OK"))
        async with server:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
            with pytest.raises(AgentClientError, match="Is it http:// instead of https://?"):
                await agent_client._ask(Target(endpoints_of(url)), list_all, 60)

    run(scenario())


def self_signed(folder: Path) -> ssl.SSLContext:
    """A server's TLS with a certificate that nobody trusts."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.timezone.utc)
    day = dt.timedelta(days=1)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), now - day, now + day)
    file = folder / "certificate.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    file.write_bytes(key.private_bytes(*form) + certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


def test_a_certificate_that_nobody_trusts_is_told_in_words(folder: Path) -> None:
    async def nobody(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def scenario() -> None:
        # Its complaint about the client that leaves is no matter of this test.
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        server = await asyncio.start_server(nobody, "127.0.0.1", 0, ssl=self_signed(folder))
        async with server:
            url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
            with pytest.raises(AgentClientError, match="The certificate of .* is not trusted: "):
                await agent_client._ask(Target(endpoints_of(url)), list_all, 60)

    run(scenario())


# ---------------------------------------------------------------- tokens


def test_the_token_comes_from_the_file_else_from_the_environment(folder: Path) -> None:
    old = OldServer([tool("x")], token="s3cret")
    file = folder / "token"
    file.write_text("s3cret\n")

    async def scenario() -> None:
        async with old.running() as url:
            env = environment(folder, OPENXR_AGENTIC_TOKEN="wrong", HTTP_PROXY="http://127.0.0.1:1")
            code, _, stderr = await finished("call", "x", "--url", url, env=env)
            assert code == 1
            assert "HTTP 401" in stderr
            assert "wrong" not in stderr
            code, _, _ = await finished("call", "x", "--url", url, "--token-file", str(file), env=env)
            assert code == 0
            code, _, _ = await finished("call", "x", "--url", url, env={**env, "OPENXR_AGENTIC_TOKEN": "s3cret"})
            assert code == 0
        assert set(old.tokens) == {"Bearer wrong", "Bearer s3cret"}

    run(scenario())


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"\xff", "é".encode()])
def test_a_token_that_is_none_is_wrong_usage_and_is_not_shown(folder: Path, content: bytes) -> None:
    file = folder / "token"
    file.write_bytes(content)

    async def scenario() -> None:
        words = ("call", "x", "--url", "http://127.0.0.1:1/mcp", "--token-file", str(file))
        code, _, stderr = await finished(*words, env=environment(folder))
        assert code == 2
        assert f"no usable token in the file {file}" in stderr
        assert "two words" not in stderr

    run(scenario())
