"""Calling a registry's tools from Python: no OpenXR, and the tool's own exceptions."""

import asyncio
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from openxr_agentic.definition.tool import ToolContext
from openxr_agentic.errors import ArgumentError, ToolDisabledError, ToolTimeoutError, UnknownToolError
from openxr_agentic.parameters import ParameterType, ToolParameter
from openxr_agentic.registry.registry import ToolRegistry

pytestmark = pytest.mark.fronts("mock", "layer", "real")

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def registry():
    registry = ToolRegistry(prefix="MyApp_", settings=False)

    @registry.tool
    def spawn_cube(count: int = 1) -> str:
        """Spawn cubes."""
        return f"{count} cubes"

    @registry.tool
    def fail() -> None:
        """Fail."""
        raise LookupError("of the tool")

    @registry.tool
    async def fail_later() -> None:
        """Fail after an await."""
        await asyncio.sleep(0)
        raise LookupError("of the tool")

    @registry.tool(timeout=30)
    async def wait() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    @registry.tool
    async def loop() -> int:
        """Tell its loop."""
        return id(asyncio.get_running_loop())

    @registry.tool
    def thread(context: ToolContext) -> tuple[int, str, bool]:
        """Tell its thread."""
        assert context.thread == threading.get_ident()
        return context.thread, context.tool_name, context.registry is registry

    return registry


def both_ways(registry, name, arguments=None):
    """Call a tool from a function and from a coroutine, and return or raise what both did."""

    def outcome(call):
        try:
            return call(), None
        except (LookupError, ValueError, RuntimeError, ToolDisabledError) as error:
            return (type(error), str(error)), error

    one, _ = outcome(lambda: registry.execute(name, arguments))
    other, error = outcome(lambda: asyncio.run(registry.execute_async(name, arguments)))
    assert one == other
    if error is not None:
        raise error
    return one


def test_a_tool_without_parameters_is_called_with_none_or_no_arguments(registry):
    assert both_ways(registry, "spawn_cube") == "1 cubes"
    assert both_ways(registry, "spawn_cube", None) == "1 cubes"
    assert both_ways(registry, "spawn_cube", {}) == "1 cubes"
    assert both_ways(registry, "spawn_cube", {"count": 2}) == "2 cubes"


def test_an_unknown_tool_is_an_error_that_offers_near_names(registry):
    for name in ("spawn_cub", "MyApp_spawncube", "Spawn_Cube2"):
        with pytest.raises(UnknownToolError, match="Did you mean 'MyApp_spawn_cube'") as caught:
            both_ways(registry, name)
        assert caught.value.near[0] == "MyApp_spawn_cube"
    with pytest.raises(UnknownToolError, match=r"no tool named 'xyz'\.$"):
        both_ways(registry, "xyz")
    for name in ("", None):
        with pytest.raises(UnknownToolError):
            both_ways(registry, name)


def test_near_names_are_those_that_can_be_called(registry):
    registry.set_enabled("spawn_cube", False)
    with pytest.raises(UnknownToolError, match=r"no tool named 'spawn_cub'\.$"):
        registry.execute("spawn_cub")


def test_a_disabled_tool_says_so_and_does_not_run(registry):
    registry.set_enabled("fail", False)
    with pytest.raises(ToolDisabledError, match="MyApp_fail was not run: it is disabled") as caught:
        both_ways(registry, "fail")
    assert caught.value.tool_name == "MyApp_fail"
    assert registry.entry("MyApp_fail").refusal == caught.value.reason


@pytest.mark.parametrize("name", ["fail", "fail_later"])
def test_the_tools_own_exception_comes_out_as_it_is(registry, name):
    with pytest.raises(LookupError, match="^of the tool$") as caught:
        both_ways(registry, name)
    assert type(caught.value) is LookupError
    assert caught.value.__cause__ is None


def test_arguments_that_do_not_fit_are_told_and_unknown_ones_can_be_ignored(registry):
    with pytest.raises(ArgumentError, match="2 faults"):
        both_ways(registry, "spawn_cube", {"count": "many", "cuont": 1})
    tolerant = ToolRegistry(ignore_unknown=["session"])
    tolerant.register("count", lambda x=1: x, "Count.")
    assert tolerant.execute("count", {"x": 2, "session": "s"}) == 2
    with pytest.raises(ArgumentError):
        tolerant.execute("count", {"y": 2})


def test_what_agents_add_by_themselves_keeps_no_tool_from_running(registry, agent):
    @registry.tool(parameters=[ToolParameter("reason", "Why", ParameterType.STRING)])
    def given(**arguments: object) -> dict:
        """Return the arguments."""
        return arguments

    @registry.tool(parameters=[ToolParameter("count", "How many", ParameterType.NUMBER)])
    def listed(**arguments: object) -> dict:
        """Return the arguments that are listed."""
        return arguments

    agent.attach(registry)
    added = {"reason": "the user asked for it"}
    for call in (lambda name: both_ways(registry, name, added), lambda name: agent.call(f"MyApp_{name}", added)):
        assert call("spawn_cube") == "1 cubes"
        assert call("given") == added
        assert call("listed") == {}


def test_a_tool_that_takes_too_long_is_cancelled_when_the_time_of_the_call_is_over(registry):
    with pytest.raises(ToolTimeoutError, match="MyApp_wait took longer than 0.01 s"):
        registry.execute("wait", timeout=0.01)
    for in_thread in (False, True):
        with pytest.raises(ToolTimeoutError, match="MyApp_wait took longer than 0.01 s"):
            asyncio.run(registry.execute_async("wait", timeout=0.01, in_thread=in_thread))
    assert registry.entry("MyApp_wait").tool.timeout == 30
    with pytest.raises(ValueError, match="timeout must be seconds"):
        registry.execute("wait", timeout=0)


def test_cancelling_the_caller_cancels_an_async_tool(registry):
    cancelled = threading.Event()

    @registry.tool
    async def wait_and_tell() -> None:
        """Wait for ever, and tell of the end."""
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async def cancel():
        task = asyncio.ensure_future(registry.execute_async("wait_and_tell"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(cancel())
    assert cancelled.is_set()


def test_an_async_tool_runs_on_the_running_loop_and_others_in_place_unless_asked(registry):
    async def call():
        here = threading.get_ident(), "MyApp_thread", True
        assert await registry.execute_async("loop") == id(asyncio.get_running_loop())
        assert await registry.execute_async("loop", in_thread=True) != id(asyncio.get_running_loop())
        assert await registry.execute_async("thread") == here
        elsewhere = await registry.execute_async("thread", in_thread=True)
        assert elsewhere[0] != here[0]
        assert elsewhere[1:] == here[1:]

    asyncio.run(call())


def test_nobody_waits_for_a_function_in_a_thread_when_its_time_is_over(registry):
    go_on, ended = threading.Event(), threading.Event()

    @registry.tool
    def block() -> None:
        """Block."""
        go_on.wait(60)
        ended.set()
        raise LookupError("that nobody hears")

    async def call():
        with pytest.raises(ToolTimeoutError, match="its result is dropped"):
            await registry.execute_async("block", timeout=0.01, in_thread=True)
        assert not ended.is_set()
        go_on.set()

    asyncio.run(call())
    assert ended.wait(60)


def test_a_function_that_took_longer_than_asked_is_logged_and_its_result_counts(registry, caplog):
    @registry.tool
    def slow() -> str:
        """Be slow."""
        return "done" if not threading.Event().wait(0.02) else ""

    with caplog.at_level(logging.WARNING):
        assert registry.execute("slow", timeout=0.001) == "done"
        assert asyncio.run(registry.execute_async("slow", timeout=0.001)) == "done"
        assert registry.execute("slow", timeout=60) == "done"
    assert caplog.text.count("a function cannot be interrupted") == 2


def test_a_tool_may_call_another_one_of_its_registry(registry):
    @registry.tool
    def twice(context: ToolContext) -> str:
        """Spawn twice."""
        return " and ".join(context.registry.execute("spawn_cube", {"count": count}) for count in (1, 2))

    assert both_ways(registry, "twice") == "1 cubes and 2 cubes"


def test_a_registry_needs_neither_openxr_nor_the_native_library():
    program = (
        "import sys\n"
        "from openxr_agentic.registry.registry import ToolRegistry\n"
        "registry = ToolRegistry()\n"
        "registry.register('one', lambda: 1, 'One.')\n"
        "assert registry.execute('one') == 1\n"
        "print(*sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    unwanted = {"xr", "_cffi_backend", "pydantic", "numpy", "mcp", "asyncio", "openxr_agentic._native"}
    assert not unwanted & set(done.stdout.split())
