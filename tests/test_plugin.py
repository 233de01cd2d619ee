"""The pytest plugin: its fixtures, and what it costs those who do not use it."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import openxr_agentic as agentic
from openxr_agentic.registry.registry import ToolRegistry
from openxr_agentic.testing import Agent, MockCallError, MockRuntime
from openxr_agentic.testing import plugin as plugin_module

ROOT = Path(__file__).resolve().parents[1]


def registry_of(*functions, **options):
    registry = ToolRegistry()
    for function in functions:
        registry.tool(**options)(function)
    return registry


def add(a: int, b: int) -> dict:
    """Add two numbers."""
    return {"sum": a + b}


def say(text: str = "nothing") -> str:
    """Say a text."""
    return text


def fail() -> None:
    """Fail."""
    raise agentic.ToolError("no light", tip="Open the curtains.")


@pytest.fixture
def calls(agent):
    """The agent, with three tools."""
    agent.attach(registry_of(add, say, fail))
    return agent


# ---------------------------------------------------------------- the fixtures


def test_an_agent_calls_tools_by_name_through_the_native_path(calls):
    assert calls.call("add", a=1, b=2) == {"sum": 3}
    assert calls.call("add", {"a": 1, "b": 2}) == {"sum": 3}
    assert calls.call("add", '{"a": 1, "b": 2}') == {"sum": 3}
    assert list(calls.tools) == ["add", "fail", "say"]
    assert [parameter.name for parameter in calls.tools["add"].parameters] == ["a", "b"]
    assert calls.runtime.tool("add").callback == calls.runtime.tool("say").callback  # a C function, not Python's


def test_a_result_is_read_as_json_where_it_is_json(calls):
    assert calls.call("say", text="two words") == "two words"
    assert calls.call("say", text="[1]") == [1]
    assert calls.text("say", text="[1]") == "[1]"
    assert calls.call("say") == "nothing"


def test_arguments_may_have_the_names_of_our_own_parameters(agent):
    def echo(tool: str, arguments: str, name: str) -> str:
        """Echo."""
        return tool + arguments + name

    agent.attach(registry_of(echo))
    assert agent.text("echo", tool="a", arguments="b", name="c") == "abc"


def test_an_error_is_no_result(calls):
    with pytest.raises(AssertionError, match=r"fail answered with an error\. Error: no light"):
        calls.call("fail")
    assert calls.error("fail") == calls.text("fail") == "Error: no light\nTip: Open the curtains."
    assert "b" in calls.error("add", a=1)


def test_a_result_is_no_error(calls):
    with pytest.raises(AssertionError, match=r'add answered with a result where an error was expected: \{"sum":3\}'):
        calls.error("add", a=1, b=2)


def test_a_failing_xr_result_is_an_error(agent):
    agent.attach(registry_of(fail, on_error="xr"))
    assert agent.error("fail")
    with pytest.raises(MockCallError):
        agent.call("fail")


def test_a_tool_that_is_not_there_is_named_with_those_that_are(calls):
    for method in (calls.call, calls.text, calls.error):
        with pytest.raises(AssertionError, match=r"no tool 'ad'\. Registered are: add, fail, say\."):
            method("ad")


def test_an_agent_without_tools_says_how_to_attach_them(agent):
    with pytest.raises(AssertionError, match=r"none; attach the registry first"):
        agent.call("add")


def test_arguments_are_given_together_or_by_name(calls):
    with pytest.raises(TypeError, match="not both"):
        calls.call("add", {"a": 1}, b=2)


def test_a_tool_that_takes_too_long_is_no_error_of_its_own(agent):
    def slow() -> None:
        """Take its time."""
        time.sleep(0.3)

    agent.attach(registry_of(slow, main_thread=False))
    agent.timeout = 0.05
    with pytest.raises(MockCallError, match="timed out"):
        agent.error("slow")


def test_a_test_may_make_other_instances_and_destroy_its_own(calls, mock_runtime, agentic_instance):
    other = mock_runtime.create_instance()
    assert calls.call("add", a=1, b=2) == {"sum": 3}
    mock_runtime.destroy_instance(other)
    calls.close()
    if isinstance(agentic_instance, int):
        mock_runtime.destroy_instance(agentic_instance)
    else:
        import xr

        xr.destroy_instance(agentic_instance)


def test_what_was_attached_is_taken_away(mock_runtime, agentic_instance):
    with Agent(mock_runtime, agentic_instance) as agent:
        attached = [agent.attach(registry_of(add)), agent.attach(registry_of(say))]
        assert list(agent.tools) == ["add", "say"]
        assert all(attachment.status().attached for attachment in attached)
    assert not any(attachment.status().attached for attachment in attached)


# ---------------------------------------------------------------- in people's own projects


TEST = """
from openxr_agentic.registry.registry import ToolRegistry

registry = ToolRegistry()

@registry.tool
def add(a: int, b: int) -> dict:
    "Add two numbers."
    return {"sum": a + b}
"""


def run_pytest(folder, source, *options, installed=True, before=""):
    """Run pytest in a project of its own, which has the plugin as an installed package has it."""
    (folder / "test_app.py").write_text(source, encoding="utf-8")
    if installed:
        info = folder / "openxr_agentic_of_this_test-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: openxr-agentic\nVersion: 1.0\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(
            "[pytest11]\nopenxr_agentic = openxr_agentic.testing.plugin\n", encoding="utf-8"
        )
    (folder / "run.py").write_text(
        f"import sys\nsys.path[:0] = [{str(folder)!r}, {str(ROOT)!r}]\n{before}\nimport pytest\n"
        "sys.exit(pytest.main())",
        encoding="utf-8",
    )
    return subprocess.run(
        [sys.executable, "run.py", "-q", "-p", "no:cacheprovider", "--rootdir", folder, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )


def outcome(done, **expected):
    summary = done.stdout.strip().split("\n")[-1]
    for kind, number in expected.items():
        assert f"{number} {kind}" in summary, done.stdout + done.stderr
    assert "warning" not in summary, done.stdout


def test_the_project_names_the_plugin():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'[project.entry-points.pytest11]\nopenxr_agentic = "{plugin_module.__name__}"\n' in text


def test_a_project_uses_the_fixtures_without_any_set_up(tmp_path):
    source = TEST + (
        "def test_it(agent):\n    agent.attach(registry)\n    assert agent.call('add', a=1, b=2) == {'sum': 3}\n"
        "def test_again(agent):\n    agent.attach(registry)\n    assert 'a' in agent.error('add', b=2)\n"
    )
    outcome(run_pytest(tmp_path, source, "-W", "error"), passed=2)


def test_it_works_where_pyopenxr_cannot_be_imported(tmp_path):
    source = TEST + (
        "def test_it(agent, agentic_instance):\n"
        "    assert type(agentic_instance) is int\n    agent.attach(registry)\n"
        "    assert agent.call('add', a=1, b=2) == {'sum': 3}\n"
    )
    outcome(run_pytest(tmp_path, source, "-W", "error", before="sys.modules['xr'] = None"), passed=1)


def test_a_failing_test_leaves_nothing_behind_for_the_next(tmp_path):
    source = TEST + (
        "def test_it(agent):\n    agent.attach(registry)\n    assert agent.call('add', a=1, b=2) == 4\n"
        "def test_again(agent):\n    assert agent.tools == {}\n    agent.attach(registry)\n"
        "    assert agent.call('add', a=1, b=2) == {'sum': 3}\n"
    )
    done = run_pytest(tmp_path, source, "-W", "error")
    outcome(done, failed=1, passed=1)
    assert "{'sum': 3} == 4" in done.stdout


def test_a_project_can_have_another_runtime(tmp_path):
    source = (
        "import pytest\nimport openxr_agentic\nfrom openxr_agentic.testing import MockRuntime\n"
        "@pytest.fixture\ndef mock_runtime():\n"
        "    with MockRuntime(extension=False) as runtime:\n        yield runtime\n"
        "def test_it(mock_runtime):\n    assert not openxr_agentic.is_extension_available()\n"
    )
    outcome(run_pytest(tmp_path, source, "-W", "error"), passed=1)


def test_a_project_that_does_not_use_it_pays_next_to_nothing(tmp_path):
    """Beyond what pytest itself imports, that is the package's own light part, and nothing native."""
    source = (
        "import os, sys\ndef test_it():\n"
        "    assert 'openxr_agentic.testing.plugin' in sys.modules\n"
        "    assert not {'xr', 'msgspec', 'mcp', '_cffi_backend'} & sys.modules.keys()\n"
        "    ours = {name for name in sys.modules if name.startswith('openxr_agentic')}\n"
        "    assert ours == {'openxr_agentic', 'openxr_agentic.errors', 'openxr_agentic.parameters',\n"
        "                    'openxr_agentic.testing', 'openxr_agentic.testing.plugin'}\n"
        "    assert 'XR_RUNTIME_JSON' not in os.environ\n"
    )
    outcome(run_pytest(tmp_path, source, "-W", "error"), passed=1)


def test_its_fixtures_say_what_they_are(tmp_path):
    done = run_pytest(tmp_path, "", "--fixtures")
    for line in (
        "mock_runtime -- ",
        "agentic_instance -- ",
        "agent -- ",
        "    An agent that calls the tools registered on `agentic_instance`",
    ):
        assert line in done.stdout


def test_the_testing_package_gives_its_names_when_asked():
    program = (
        "import sys, openxr_agentic.testing as testing\n"
        "assert not {'ctypes', 'openxr_agentic.testing.mock_runtime'} & sys.modules.keys()\n"
        "assert all(getattr(testing, name) and name in dir(testing) for name in testing.__all__)\n"
        "print(hasattr(testing, 'nonsense'))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout == "False\n"


def test_an_agent_can_be_made_without_pytest():
    with MockRuntime() as runtime:
        instance = runtime.create_instance()
        with Agent(runtime, instance) as agent:
            agent.attach(registry_of(say))
            assert json.loads(agent.text("say", text="17")) == agent.call("say", text="17") == 17
        runtime.destroy_instance(instance)
