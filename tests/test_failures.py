"""Exceptions in a tool: what the agent gets, what the log gets, and what is raised in the app."""

import asyncio
import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import openxr_agentic as agentic
from openxr_agentic import failures
from openxr_agentic._native import lib
from openxr_agentic.errors import XR_ERROR_RUNTIME_FAILURE, XR_SUCCESS
from openxr_agentic.testing import MockCallError

pytestmark = pytest.mark.fronts("mock", "layer", "real")


def raising(error):
    def tool(_arguments):
        raise error

    return tool


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("bad input"), "Error: tool failed: ValueError: bad input"),
        (KeyError("é"), "Error: tool failed: KeyError: 'é'"),
        (RuntimeError(), "Error: tool failed: RuntimeError"),
        (ValueError("a\0b"), "Error: tool failed: ValueError: a\\0b"),
        (ValueError("a\ud800b"), "Error: tool failed: ValueError: a\\ud800b"),
        (MemoryError(), "Error: tool failed: MemoryError"),
        (RecursionError("deep"), "Error: tool failed: RecursionError: deep"),
        (asyncio.CancelledError(), "Error: tool failed: CancelledError"),
    ],
)
def test_an_exception_becomes_text_for_the_agent(extension, runtime, caplog, error, text):
    extension.register_tool("tool", "", None, raising(error))
    assert runtime.call("tool") == text
    assert runtime.raw_call("tool", capacity=500).result == XR_SUCCESS
    assert "Traceback" not in text
    assert "Traceback" in caplog.text


def test_an_exception_whose_text_cannot_be_had_is_still_reported(extension, runtime):
    class UnspeakableError(Exception):
        def __str__(self):
            raise ValueError

    extension.register_tool("tool", "", None, raising(UnspeakableError()))
    assert runtime.call("tool") == "Error: tool failed: UnspeakableError: (its text cannot be had: ValueError)"


def test_a_tool_error_is_the_agents_own_text_with_a_tip_and_no_fault_in_the_log(extension, runtime, caplog):
    extension.register_tool("tool", "", None, raising(agentic.ToolError("no such cube", tip="list_cubes names them")))
    assert runtime.call("tool") == "Error: no such cube\nTip: list_cubes names them"
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_on_error_xr_gives_the_host_a_failing_result_and_a_count_of_zero(extension, runtime):
    extension.register_tool("tool", "", None, raising(ValueError("bad")), on_error="xr")
    assert runtime.raw_call("tool") == (XR_ERROR_RUNTIME_FAILURE, 0, None, False)
    assert runtime.raw_call("tool", capacity=100) == (XR_ERROR_RUNTIME_FAILURE, 0, None, False)
    with pytest.raises(MockCallError, match="XR_ERROR_RUNTIME_FAILURE"):
        runtime.call("tool")


@pytest.mark.parametrize("result", [None, 5, b"bytes", {"a": 1}, ["text"]])
def test_a_result_that_is_no_str_is_an_error_that_names_its_type(extension, runtime, result):
    extension.register_tool("tool", "", None, lambda _arguments: result)
    text = runtime.call("tool")
    assert text.startswith("Error: tool ran, but its result cannot be delivered: TypeError: the callback returned")
    assert type(result).__name__ in text


def test_a_result_with_a_nul_is_not_cut_short_silently(extension, runtime):
    extension.register_tool("tool", "", None, lambda _arguments: "before\0behind")
    assert "contains a NUL character" in runtime.call("tool")


def test_a_result_with_a_lone_surrogate_is_an_error(extension, runtime):
    extension.register_tool("tool", "", None, lambda _arguments: "a\ud800b")
    assert "cannot be delivered: UnicodeEncodeError" in runtime.call("tool")


@pytest.mark.parametrize("arguments", [b'{"a":"\xff"}', b"\xef\xbb\xbf{}", b"\xed\xa0\x80"])
def test_arguments_that_are_no_utf8_json_text_are_an_argument_error_and_the_tool_does_not_run(
    extension, runtime, arguments
):
    ran = []
    extension.register_tool("tool", "", None, ran.append)
    assert runtime.call("tool", arguments).startswith(
        "Error: tool was not run: its arguments are not valid UTF-8 JSON text: "
    )
    assert ran == []


@pytest.mark.fronts("mock")  # slow, and of the app's side alone
def test_a_tool_that_fails_ten_thousand_times_answers_each_time_and_logs_one_traceback(extension, runtime, caplog):
    extension.register_tool("tool", "", None, raising(ValueError("bad")))
    for _ in range(10_000):
        assert runtime.raw_call("tool", capacity=100).written == b"Error: tool failed: ValueError: bad\0"
    assert caplog.text.count("Traceback") == 1
    assert len(caplog.records) < 100


def test_the_log_counts_what_it_did_not_write(extension, runtime, caplog, monkeypatch):
    extension.register_tool("tool", "", None, raising(ValueError("bad")))
    for _ in range(3):
        runtime.raw_call("tool", capacity=100)
    monkeypatch.setattr(failures, "REPEAT_SECONDS", 0)
    runtime.raw_call("tool", capacity=100)
    assert [record.message for record in caplog.records] == [
        "Tool tool failed: ValueError: bad",
        "Tool tool failed: ValueError: bad (2 times more since it was last said)",
    ]


def test_the_log_does_not_count_what_it_wrote(extension, runtime, caplog, monkeypatch):
    extension.register_tool("tool", "", None, raising(ValueError("bad")))
    runtime.raw_call("tool", capacity=100)
    monkeypatch.setattr(failures, "REPEAT_SECONDS", 0)
    runtime.raw_call("tool", capacity=100)
    assert [record.message for record in caplog.records] == ["Tool tool failed: ValueError: bad"] * 2
    monkeypatch.undo()
    runtime.raw_call("tool", capacity=100)
    monkeypatch.setattr(failures, "REPEAT_SECONDS", 0)
    runtime.raw_call("tool", capacity=100)
    assert caplog.records[-1].message.endswith("bad (1 time more since it was last said)")


def test_a_tool_that_takes_too_long_is_told_once_by_name_and_logged_with_where_it_waited(instance, caplog, runtime):
    registry = agentic.ToolRegistry(prefix="T_", settings=False)

    @registry.tool(timeout=0.01, description="Wait.")
    async def wait():
        await asyncio.Event().wait()  # here

    registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)
    assert runtime.call("T_wait") == "Error: T_wait took longer than 0.01 s and was cancelled."
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    line = next(number for number, line in enumerate(lines, 1) if line.endswith("# here"))
    assert record.message == (
        f"Tool T_wait took longer than 0.01 s and was cancelled. It waited at {__file__}:{line}, in wait."
    )
    assert record.exc_info is None


def test_a_tool_whose_other_tool_takes_too_long_failed_itself(extension, runtime, caplog):
    extension.register_tool("tool", "", None, raising(agentic.ToolTimeoutError("other took longer than 1 s.")))
    assert runtime.call("tool") == "Error: tool failed: other took longer than 1 s."


def test_failures_of_different_kinds_are_each_logged_once(extension, runtime, caplog):
    errors = [ValueError("a"), TypeError("b"), ValueError("c")]
    turn = iter(errors * 2)
    extension.register_tool("tool", "", None, lambda _arguments: raising(next(turn))(None))
    for _ in range(6):
        runtime.raw_call("tool", capacity=100)
    assert caplog.text.count("Traceback") == 2  # by class and place


# ---- what ends a program


def reached(steps):
    """Run some Python on this thread, where an exception that is due would be raised."""
    for step in range(100):
        steps.append(step)


class Quit(SystemExit):
    def __init__(self, code, why):
        super().__init__(code)
        self.why = why

    def __init_subclass__(cls):
        raise TypeError("no subclasses")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(7), SystemExit("words"), Quit(3, "bored")])
def test_what_ends_the_program_answers_the_host_and_that_very_exception_is_raised_in_the_app(extension, runtime, error):
    extension.register_tool("tool", "", None, raising(error))
    (tool,) = runtime.tools()
    steps = []
    with pytest.raises(type(error)) as caught:  # noqa: PT012 - where it is raised is the interpreter's choice
        runtime.raw_call(tool, capacity=100)
        reached(steps)
    assert caught.value is error
    assert len(steps) < 100
    # The next call works, and nothing is raised twice.
    extension.register_tool("other", "", None, lambda _arguments: "fine")
    assert runtime.call("other") == "fine"
    extension.raise_pending()


def test_an_exception_that_ends_the_program_passes_by_the_tools_that_run_before_the_app(extension, runtime):
    """One call inside another, and one queued behind: neither is what gets interrupted."""
    ran = []
    extension.register_tool("quit", "", None, raising(SystemExit(4)))

    def outer(_arguments):
        ran.append(runtime.call("quit"))
        reached(ran)
        return "outer"

    extension.register_tool("outer", "", None, outer)
    texts = []
    with pytest.raises(SystemExit) as caught:  # noqa: PT012
        texts.append(runtime.call("outer"))
        reached(texts)
    assert caught.value.code == 4
    assert ran[0] == "Error: quit was interrupted: the app is being stopped."
    assert ran[1:] == list(range(100))


def test_sys_exit_in_a_tool_ends_the_process_with_its_code():
    program = (
        "import sys, openxr_agentic as agentic\n"
        "from openxr_agentic.testing import MockRuntime\n"
        "with MockRuntime() as runtime:\n"
        "    instance = runtime.create_instance()\n"
        "    extension = agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)\n"
        "    extension.register_tool('tool', '', None, lambda arguments: sys.exit(4))\n"
        "    tool = runtime.tool('tool')\n"
        "    runtime.destroy_instance(instance)\n"
        "runtime = MockRuntime().__enter__()\n"
        "runtime.raw_call(tool, capacity=100)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (4, "")


def test_an_interrupted_main_thread_tool_reaches_the_app_through_its_frame_loop(extension, runtime):
    extension.register_tool("tool", "", None, raising(KeyboardInterrupt()))
    text, steps = [], []
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        text.append(runtime.call("tool"))
        reached(steps)
    assert text in ([], ["Error: tool was interrupted: the app is being stopped."])


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_on_another_thread_it_is_logged_and_raised_by_raise_pending(extension, runtime, caplog, error):
    extension.register_tool("tool", "", None, raising(error), main_thread=False)
    assert runtime.call("tool").startswith(f"Error: tool failed: {type(error).__name__}")
    assert [record.levelno for record in caplog.records] == [logging.CRITICAL]
    with pytest.raises(type(error)) as caught:
        extension.raise_pending()
    assert caught.value is error
    extension.raise_pending()  # once


def test_another_base_exception_on_the_main_thread_is_raised_by_close_after_it_has_freed(attach, instance, runtime):
    class Stop(BaseException):
        pass

    extension = attach(instance)
    extension.register_tool("tool", "", None, raising(Stop("now")))
    (tool,) = runtime.tools()
    assert runtime.raw_call(tool, capacity=100).written == b"Error: tool failed: Stop: now\0"
    with pytest.raises(Stop, match="now"):
        extension.close()
    assert runtime.raw_call(tool, capacity=100) == (XR_ERROR_RUNTIME_FAILURE, 0, None, False)
    assert extension.close()


def test_several_kept_exceptions_are_raised_one_by_one_the_oldest_first(extension, runtime):
    errors = iter([GeneratorExit(1), GeneratorExit(2)])
    extension.register_tool("tool", "", None, lambda _arguments: raising(next(errors))(None), main_thread=False)
    for _ in range(2):
        runtime.call("tool")
    for number in (1, 2):
        with pytest.raises(GeneratorExit) as caught:
            extension.raise_pending()
        assert caught.value.args == (number,)


class CruelFilter(logging.Filter):
    def filter(self, record):
        raise RuntimeError("the app's own log handling is broken")


@pytest.fixture
def broken_log():
    log, cruel = logging.getLogger("openxr_agentic"), CruelFilter()
    log.addFilter(cruel)
    yield
    log.removeFilter(cruel)


def test_a_failure_in_the_report_itself_answers_and_goes_to_the_unraisable_hook(
    extension, runtime, broken_log, monkeypatch
):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(unraisable.exc_value))
    error = ValueError("bad")
    extension.register_tool("tool", "", None, raising(error), main_thread=False)
    assert runtime.call("tool") == "Error: the tool failed, and so did the description of its error."
    assert seen[0] is error
    assert isinstance(seen[1], RuntimeError)


def test_what_must_not_be_lost_is_kept_before_the_log_can_fail(extension, runtime, broken_log, monkeypatch):
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: None)
    extension.register_tool("tool", "", None, raising(GeneratorExit("kept")), main_thread=False)
    runtime.call("tool")
    with pytest.raises(GeneratorExit, match="kept"):
        extension.raise_pending()


def test_a_tool_error_without_its_own_set_up_is_still_the_agents_text(extension, runtime):
    class Careless(agentic.ToolError):
        def __init__(self, text):
            self.text = text

        def __str__(self):
            return self.text

    extension.register_tool("tool", "", None, raising(Careless("no such cube")))
    assert runtime.call("tool") == "Error: no such cube"


def test_kept_exceptions_are_bounded_and_logged_once_a_kind(extension, runtime, caplog):
    extension.register_tool("tool", "", None, raising(GeneratorExit()), main_thread=False)
    for _ in range(300):
        runtime.call("tool")
    assert caplog.text.count("Traceback") == 1
    kept = 0
    while True:
        try:
            extension.raise_pending()
            break
        except GeneratorExit:
            kept += 1
    assert kept == failures.MOST_KEPT


def test_the_stages_of_a_run_are_numbered_as_in_c():
    stages = (lib.OXA_STAGE_ARGUMENTS, lib.OXA_STAGE_TOOL, lib.OXA_STAGE_RESULT)
    assert stages == (failures.ARGUMENTS, failures.TOOL, failures.RESULT)


def test_failures_on_many_native_threads_each_get_their_own_text(extension, runtime):
    def tool(arguments):
        raise ValueError(arguments)

    extension.register_tool("tool", "", None, tool, main_thread=False)
    texts = {}

    def play(number):
        for _ in range(50):
            texts[number] = runtime.call("tool", str(number), thread=f"thread {number}")
            assert texts[number] == f"Error: tool failed: ValueError: {number}"

    threads = [threading.Thread(target=play, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 8


FRAME_LOOP = """
import ctypes, signal, threading
import xr
import openxr_agentic as agentic
from openxr_agentic.testing import MockCallError, MockRuntime

def tool(arguments):
    signal.raise_signal(signal.SIGINT)  # Ctrl-C, while the tool runs inside xrWaitFrame
    return "not reached"

with MockRuntime(layer=LAYER) as runtime:
    names = agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME])
    instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
    extension = agentic.AgenticExtension(instance)
    extension.register_tool("tool", "Is interrupted.", None, tool)
    system = xr.get_system(instance, xr.SystemGetInfo(xr.FormFactor.HEAD_MOUNTED_DISPLAY))
    session = xr.create_session(instance, xr.SessionCreateInfo(system_id=system))
    xr.poll_event(instance), xr.poll_event(instance)  # IDLE, READY
    xr.begin_session(session, xr.SessionBeginInfo(xr.ViewConfigurationType.PRIMARY_STEREO))
    answers = []
    agent = threading.Thread(target=lambda: answers.append(runtime.call("tool", timeout=60)))
    agent.start()
    try:
        while True:
            frame = xr.wait_frame(session)
            xr.begin_frame(session)
            xr.end_frame(session, xr.FrameEndInfo(frame.predicted_display_time, xr.EnvironmentBlendMode.OPAQUE))
    except KeyboardInterrupt:
        print("interrupted")
    agent.join()
    print(answers)
    print(extension.close())
    xr.destroy_session(session)
    xr.destroy_instance(instance)
"""


@pytest.mark.fronts("mock", "layer")  # a process of its own, with a session of the mock runtime
def test_ctrl_c_during_a_call_reaches_the_apps_frame_loop_and_everything_closes_cleanly(front):
    program = FRAME_LOOP.replace("LAYER", str(front == "layer"))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False)
    assert done.stdout.splitlines() == [
        "interrupted",
        "['Error: tool was interrupted: the app is being stopped.']",
        "True",
    ], done
    assert (done.returncode, done.stderr) == (0, "")
