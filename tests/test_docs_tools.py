"""docs/tools.md: its Python runs as it stands, and what it says of types and null is so."""

import asyncio
import enum
import json
import re
import sys
import threading
import types
from pathlib import Path
from typing import Any, Literal

import pytest

import openxr_agentic as agentic

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FILE = re.compile(r"# (\S+\.py)\n")


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A module to run the blocks in; those that are files are written where they can be imported."""
    for block in BLOCKS:
        if name := FILE.match(block):
            file = tmp_path / name[1]
            file.parent.mkdir(exist_ok=True)
            file.write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("OPENXR_AGENTIC_SETTINGS", raising=False)
    made = types.ModuleType("page_of_tools")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    yield made
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_scene"]:
        del sys.modules[name]


def run_page(program):
    for block in BLOCKS:
        if not FILE.match(block):
            exec(compile(block, "docs/tools.md", "exec"), vars(program))


def test_every_block_runs_in_its_order(program, mock_runtime, capsys):
    pytest.importorskip("xr", exc_type=Exception)
    run_page(program)
    assert mock_runtime.instances == []
    printed = capsys.readouterr().out
    for line in re.findall(r"^    (MyApp_set_volume was not run.*|- .*)$", PAGE, re.MULTILINE):
        assert line in printed


def test_the_tools_of_the_page_work_natively_too(program, agent):
    pytest.importorskip("xr", exc_type=Exception)
    blocks = [block for block in BLOCKS if "import xr" not in block and not FILE.match(block)]
    for block in blocks:
        exec(compile(block, "docs/tools.md", "exec"), vars(program))
    agent.attach(program.registry)
    assert agent.call("MyApp_create_cube", position=[0, 1, 0])["position"] == [0, 1, 0]
    assert agent.error("MyApp_open_door", door="vault") == (
        "Error: The vault is locked.\nTip: Call MyApp_find_key first."
    )
    assert agent.call("MyApp_where_am_i") == {"tool": "MyApp_where_am_i", "main": False}


def test_links_within_the_page_lead_to_its_headings():
    names = re.findall(r"^#+ (.*)$", PAGE, re.MULTILINE)
    headings = {re.sub(r"[^\w -]", "", name.lower()).replace(" ", "-") for name in names}
    for link in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert link in headings


class Color(enum.Enum):
    RED = "red"


class Layer(enum.IntEnum):
    UI = 1
    WORLD = 2


class Mixed(enum.Enum):
    A = (1, 2)
    B = 3


def rows(heading):
    """The cells of the table below a heading."""
    table = re.search(r"\n\|.*?\n\n", PAGE.partition(f"\n{heading}\n")[2], re.DOTALL)[0].strip().splitlines()[2:]
    return [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in table]


@pytest.mark.parametrize(
    ("annotation", "sent", "got"),
    [
        (int, ["20.0", '"20"', '"20.0"'], 20),
        (float, ["1.5", '"1.5"'], 1.5),
        (bool, ['"true"', '"yes"', '"on"', '"1"', "1"], True),
        (bool, ['"false"', '"no"', '"off"', '"0"', "0"], False),
        (Color, ['"red"', '"RED"'], Color.RED),
        (Literal[1, 2], ["1.0", '"1"'], 1),
        (Layer, ["1", '"1"', '"UI"'], Layer.UI),
        (Mixed, ['"B"', "3"], Mixed.B),
        (list[float], ['"[1, 2]"', '["1", 2]'], [1.0, 2.0]),
        (set[str], ['["a", "a"]'], {"a"}),
        (dict[str, float], ['"{\\"a\\": 1}"'], {"a": 1.0}),
        (int | None, ['"null"', "null"], None),
        (Any, ['"text"'], "text"),
    ],
)
def test_what_the_table_says_that_agents_may_send_is_taken(annotation, sent, got):
    def take(value):
        return value

    take.__annotations__ = {"value": annotation}
    tool = agentic.define(take, description="Take a value.")
    for text in sent:
        assert tool.decoder.recover(f'{{"value": {text}}}'.encode()).value == got


def test_the_table_of_defaults_says_what_is_so():
    checked = 0
    for parameter, left_out, null_sent in rows("### Defaults and null"):
        namespace = {}
        exec(f"def take({parameter.strip('`')}):\n    'Take a value.'\n    return x", namespace)
        tool = agentic.define(namespace["take"])
        for said, arguments in ((left_out, "{}"), (null_sent, '{"x": null}')):
            try:
                got = tool.call_struct(tool.decoder.recover(arguments.encode()))
            except agentic.ArgumentError:
                assert said == "an error"
            else:
                assert re.match(re.escape(json.dumps(got) if got is not None else "None"), said.replace("`", ""))
            checked += 1
    assert checked == 12


def test_the_words_and_types_of_the_table_are_those_that_the_extension_is_told():
    names = {
        "int": (int, "NUMBER", "whole number"),
        "Literal": (Literal["a", "b"], "STRING", "one of: a, b"),
        "IntEnum": (Layer, "NUMBER", "one of: 1 (UI), 2 (WORLD)"),
        "tuple[float, float, float]": (tuple[float, float, float], "ARRAY", "3 numbers"),
        "Any": (Any, "STRING", "any JSON value"),
    }
    table = rows("## Types")
    for name, (annotation, kind, words) in names.items():
        row = next(row for row in table if row[0].startswith(f"`{name}"))

        def take(value):
            return value

        take.__annotations__ = {"value": annotation}
        (told,) = agentic.define(take, description="Take a value.").parameters
        assert (told.type.name, told.description) == (kind, words)
        assert row[1].startswith(kind)
        assert row[2] == words


def test_every_option_of_a_tool_is_on_the_page():
    from openxr_agentic.definition.options import ToolOptions

    for option in ToolOptions.__annotations__.keys() - {"registry"}:
        assert f"`{option}=" in PAGE or f"{option}=" in PAGE, option


def test_every_public_method_of_a_registry_is_on_the_page():
    for name in dir(agentic.ToolRegistry):
        if not name.startswith("_") and name not in ("groups", "entries"):
            assert name in PAGE, name


def test_the_async_tool_of_the_page_is_cancelled_when_its_time_is_over():
    registry = agentic.ToolRegistry()

    @registry.tool(timeout=0.01)
    async def wait() -> None:
        """Wait without end."""
        await asyncio.Event().wait()

    with pytest.raises(agentic.ToolTimeoutError):
        registry.execute("wait")


def test_subscribers_are_told_on_the_thread_that_made_the_change():
    registry = agentic.ToolRegistry()
    threads = []
    registry.tools_changed.subscribe(lambda _change: threads.append(threading.get_ident()))
    thread = threading.Thread(target=registry.register, args=("ping", lambda: "pong", "Answer."))
    thread.start()
    own = thread.ident
    thread.join()
    registry.unregister("ping")
    assert threads == [own, threading.get_ident()]


def test_a_function_that_is_decorated_twice_is_one_tool():
    registry = agentic.ToolRegistry()

    @registry.tool(groups="outer")
    @registry.tool(groups="inner")
    def ping() -> str:
        """Answer."""
        return "pong"

    (info,) = registry.available_tools()
    assert info.groups == ("outer",)
