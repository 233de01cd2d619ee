"""Sessions without graphics on a runtime that gives them no frames, as Monado 25.0 does."""

import runpy
import threading
from pathlib import Path

import pytest

import openxr_agentic as agentic

xr = pytest.importorskip("xr", exc_type=Exception)
from openxr_agentic.cli.demo.headless import frames  # noqa: E402 - it imports xr

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
CALL_ORDER_INVALID = -37


@pytest.fixture
def without_frames(mock_runtime):
    """The mock runtime; xrWaitFrame returns at once, and xrBeginFrame says that there was none."""
    mock_runtime.fail("xrWaitFrame", 0, times=10**9)
    mock_runtime.fail("xrBeginFrame", CALL_ORDER_INVALID, times=10**9)
    asked = mock_runtime.function_calls("xrBeginFrame")
    yield mock_runtime
    assert mock_runtime.function_calls("xrBeginFrame") == asked + 1  # a runtime may log each refusal


def test_the_demos_frames_go_on_and_its_tools_run(without_frames, xr_instance):
    stop, answers = threading.Event(), []

    def agent():
        try:
            answers.append(without_frames.call("tool", timeout=60))
        finally:
            stop.set()

    with agentic.AgenticExtension(xr_instance) as extension:
        extension.register_tool("tool", "Says that it ran.", None, lambda _arguments: "ran")
        thread = threading.Thread(target=agent)
        thread.start()
        count = sum(1 for _ in frames(xr_instance, stop))
        thread.join()
    assert (answers, count > 0) == (["ran"], True)


@pytest.mark.parametrize("example", ["registry_app", "headless_app", "context_loop"])
def test_an_example_goes_on_to_its_end(example, without_frames, monkeypatch):
    monkeypatch.setattr("sys.argv", [example, "--seconds", "0.1"])
    ended = without_frames.function_calls("xrEndSession")
    runpy.run_path(str(EXAMPLES / f"{example}.py"), run_name="__main__")
    assert without_frames.function_calls("xrEndSession") == ended + 1
