"""Who lives how long: extensions, instances one after another, handles that come again, closing."""

import contextlib
import ctypes
import gc
import linecache
import subprocess
import sys
import threading
import weakref

import pytest

import openxr_agentic as agentic
from openxr_agentic import extension as extension_module
from openxr_agentic import registrations as table
from openxr_agentic._native import ffi, lib
from openxr_agentic.errors import XR_ERROR_RUNTIME_FAILURE, XR_ERROR_SIZE_INSUFFICIENT

pytestmark = pytest.mark.fronts("mock", "layer", "real")

REFUSED = (XR_ERROR_RUNTIME_FAILURE, 0, None, False)


def echo(arguments):
    return arguments


def statistics():
    numbers = ffi.new("OxaExchangeStatistics*")
    lib.oxa_exchange_statistics(numbers)
    return numbers


class Gate:
    """A tool that says when it runs, and waits until it may return."""

    def __init__(self):
        self.entered, self.leave = threading.Event(), threading.Event()

    def __call__(self, _arguments):
        self.entered.set()
        assert self.leave.wait(60)
        return "left"


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.leave.set()


@pytest.fixture
def in_background():
    """Run functions on threads; their results are had by joining."""
    started = []

    def start(function):
        results = []
        thread = threading.Thread(target=lambda: results.append(function()))
        thread.start()
        started.append(thread)

        def join():
            thread.join(60)
            return results[0]

        return join

    yield start
    for thread in started:
        thread.join(60)


class RecordingHost:
    """A host of a test's own: it answers registrations as it is told, and remembers callbacks."""

    def __init__(self):
        self.results = []
        self.registered = []
        self._register = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(self._on_register)
        look_up_type = ctypes.CFUNCTYPE(
            ctypes.c_int32, ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)
        )
        self.get_instance_proc_addr = look_up_type(self._on_look_up)

    def _on_look_up(self, _instance, name, function):
        if name != b"xrAgenticRegisterExternalToolMETAX1":
            return -7
        function[0] = ctypes.cast(self._register, ctypes.c_void_p).value
        return 0

    def _on_register(self, _instance, info):
        raw = ffi.cast("OxaToolRegisterInfo*", info)
        result = self.results.pop(0) if self.results else 0
        if result == 0:
            self.registered.append((raw.toolCallback, raw.toolUserData))
        return result

    def attach(self, handle=1):
        return agentic.AgenticExtension(handle, get_instance_proc_addr=self.get_instance_proc_addr)

    def call(self, index, arguments=b"{}"):
        """Fill in one C call; the result code and the text."""
        callback, user_data = self.registered[index]
        buffer, count = ffi.new("char[]", 1000), ffi.new("uint32_t*")
        result = callback(buffer, 1000, count, arguments, user_data)
        return result, ffi.string(buffer).decode()


# ---- closing


def test_a_closed_extension_refuses_late_calls_and_lets_go_of_its_callbacks(attach, instance, runtime):
    class Tool:
        def __call__(self, arguments):
            return arguments

    tool = Tool()
    gone = weakref.ref(tool)
    extension = attach(instance)
    extension.register_tool("tool", "", None, tool)
    runtime.raw_call("tool")
    assert statistics().held_results == 1
    del tool
    gc.collect()
    assert gone() is not None
    assert extension.close()
    gc.collect()
    assert gone() is None
    assert statistics().held_results == 0
    assert runtime.raw_call("tool", capacity=100) == REFUSED
    assert extension.close()


def test_what_the_host_may_call_is_kept_when_nobody_refers_to_the_extension(runtime, instance):
    agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr).register_tool(
        "tool", "", None, lambda _arguments: "alive"
    )
    gc.collect()
    assert runtime.call("tool") == "alive"
    table.forget(lambda key: key.instance == instance)


def test_close_waits_for_a_running_tool_without_holding_the_gil(attach, instance, runtime, gate, in_background):
    extension = attach(instance)
    extension.register_tool("tool", "", None, gate, main_thread=False)
    extension.register_tool("probe", "", None, echo, main_thread=False)
    call = in_background(lambda: runtime.raw_call("tool", capacity=100, thread="host"))
    assert gate.entered.wait(60)
    closing = in_background(extension.close)
    while runtime.raw_call("probe", capacity=100) != REFUSED:
        pass  # until close has begun
    gate.leave.set()
    assert closing() is True
    assert call().written == b"left\0"


def test_close_does_not_wait_for_ever_and_says_what_still_ran(attach, instance, runtime, gate, in_background):
    extension = attach(instance)
    extension.register_tool("slow", "", None, gate, main_thread=False)
    call = in_background(lambda: runtime.raw_call("slow", thread="host"))
    assert gate.entered.wait(60)
    with pytest.warns(RuntimeWarning, match="still running after 0.01 s: slow"):
        assert extension.close(timeout=0.01) is False
    gate.leave.set()
    assert call() == REFUSED  # nobody could fetch the result any more


@pytest.mark.parametrize("timeout", [None, -1, float("nan"), float("inf"), "5", True])
def test_a_timeout_that_makes_no_sense_is_refused_before_anything_is_closed(extension, runtime, timeout):
    extension.register_tool("tool", "", None, echo)
    with pytest.raises(ValueError, match="timeout must be a finite number of seconds"):
        extension.close(timeout)
    assert runtime.call("tool") == "{}"


def test_everybody_who_closes_waits_for_what_still_runs(attach, instance, runtime, gate, in_background):
    extension = attach(instance)
    extension.register_tool("tool", "", None, gate, main_thread=False)
    call = in_background(lambda: runtime.raw_call("tool", capacity=100, thread="host"))
    assert gate.entered.wait(60)
    with pytest.warns(RuntimeWarning, match="still running"):
        assert extension.close(timeout=0.01) is False
    with pytest.warns(RuntimeWarning, match="still running"):
        assert extension.close(timeout=0.01) is False
    gate.leave.set()
    assert extension.close(timeout=60) is True
    assert call().written == b"left\0"


class InterruptAt:
    """Raises KeyboardInterrupt at the n-th line that runs in extension.py, as Ctrl-C could.

    Lines that begin a `with` are left out: they are traced again on the way out, before
    __exit__ is called, where CPython itself takes no signal.
    """

    def __init__(self, line):
        self.left = line

    def _trace(self, frame, event, _argument):
        if frame.f_code.co_filename not in (extension_module.__file__, table.__file__):
            return None
        if event == "line" and not self._line(frame).startswith("with "):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self._trace

    @staticmethod
    def _line(frame):
        return linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()

    def __enter__(self):
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_):
        sys.settrace(None)


class Tool:
    def __call__(self, _arguments):
        return "ran"


def is_free(lock):
    """Whether another thread gets the lock at once."""
    taken = []

    def take():
        taken.append(lock.acquire(blocking=False))
        if taken[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join(60)
    return taken[0]


def test_close_that_was_interrupted_anywhere_can_be_called_again(attach, instance):
    lines = 0
    while True:
        lines += 1
        tools = [Tool(), Tool()]
        gone = [weakref.ref(tool) for tool in tools]
        extension = attach(instance)
        for number, tool in enumerate(tools):
            extension.register_tool(f"tool{number}", "", None, tool)
        del tools, tool
        interrupt = InterruptAt(lines)
        try:
            with interrupt:
                extension.close()
        except KeyboardInterrupt:
            assert is_free(table.lock)
            assert extension.close() is True
        gc.collect()
        assert [reference() for reference in gone] == [None, None]
        if interrupt.left > 0:
            break
    assert lines > 20


@pytest.mark.parametrize("handle_was_used", [False, True])
def test_a_registration_that_was_interrupted_anywhere_can_be_tried_again_and_keeps_nothing(
    attach, runtime, handle_was_used
):
    lines = 0
    while True:
        lines += 1
        handle = runtime.create_instance()
        if handle_was_used:  # as on Monado, where the next instance often gets the handle of the last one
            for key in list(table.registrations):
                table.registrations[key._replace(instance=handle)] = table.registrations.pop(key)
            assert len(table.registrations) == (lines > 1)
        extension = attach(handle)
        tool = Tool()
        gone = weakref.ref(tool)
        interrupt = InterruptAt(lines)
        try:
            with interrupt:
                extension.register_tool("tool", "", None, tool)
        except KeyboardInterrupt:
            assert is_free(table.lock)
            with contextlib.suppress(agentic.ToolNameTakenError):  # the first one may have come through
                extension.register_tool("tool", "", None, tool)
        del tool
        assert runtime.call("tool", instance=handle) == "ran"
        extension.close()
        gc.collect()
        assert gone() is None
        runtime.destroy_instance(handle)
        if interrupt.left > 0:
            break
    assert lines > 20


def test_a_registration_that_fails_keeps_nothing(extension, runtime):
    tool = Tool()
    gone = weakref.ref(tool)
    for result in (-1, -2, -12):
        runtime.fail("xrAgenticRegisterExternalToolMETAX1", result)
        with pytest.raises(agentic.AgenticError):
            extension.register_tool("tool", "", None, tool)
    before = statistics().slots
    del tool
    gc.collect()
    assert gone() is None
    assert statistics().slots == before


def test_where_warnings_are_errors_a_changed_definition_changes_nothing(attach, instance, runtime):
    first = attach(instance)
    first.register_tool("tool", "Old.", None, echo)
    first.close()
    second = attach(instance)
    with pytest.raises(RuntimeWarning):  # as this test suite has it
        second.register_tool("tool", "New.", None, echo)
    assert runtime.raw_call("tool", capacity=9) == REFUSED
    second.register_tool("tool", "Old.", None, echo)
    assert runtime.call("tool") == "{}"


def test_letting_go_of_a_callback_may_run_code_that_uses_the_extension(attach, instance):
    extension = attach(instance)
    names = []

    class Last(Tool):
        def __del__(self):
            thread = threading.Thread(target=lambda: names.append(extension.tool_names))
            thread.start()
            thread.join(60)
            assert not thread.is_alive()

    extension.register_tool("tool", "", None, Last())
    table.forget(lambda _key: True)
    assert names == [[]]


def test_close_from_inside_a_tool_does_not_wait_for_that_tool(attach, instance, runtime):
    extension = attach(instance)

    def tool(_arguments):
        assert extension.close(timeout=60)
        return "closed from inside"

    extension.register_tool("tool", "", None, tool)
    assert runtime.raw_call("tool", capacity=100).written == b"closed from inside\0"
    assert runtime.raw_call("tool", capacity=100) == REFUSED


def test_a_tool_may_call_another_tool_and_register_one(extension, runtime):
    def outer(_arguments):
        extension.register_tool("inner", "", None, lambda _arguments: "inner")
        return f"outer of {runtime.call('inner')}"

    extension.register_tool("outer", "", None, outer)
    assert runtime.call("outer") == "outer of inner"


def test_leaving_the_with_block_closes(runtime, instance):
    with agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr) as extension:
        extension.register_tool("tool", "", None, echo)
    assert runtime.raw_call("tool", capacity=9) == REFUSED
    assert "closed" in repr(extension)


# ---- instances one after another, and the same one again


def test_attaching_again_to_a_living_instance_opens_its_tools_again(attach, instance, runtime):
    first = attach(instance)
    first.register_tool("tool", "A tool.", None, lambda _arguments: "first")
    first.close()
    assert runtime.raw_call("tool", capacity=100) == REFUSED
    second = attach(instance)
    second.register_tool("tool", "A tool.", None, lambda _arguments: "second")
    assert runtime.call("tool") == "second"
    assert len(runtime.tools()) == 1


def test_a_tool_opened_again_with_another_definition_warns_what_agents_still_see(attach, instance):
    first = attach(instance)
    first.register_tool("tool", "Old.", None, echo)
    first.close()
    with pytest.warns(RuntimeWarning, match="another description and main_thread.*still see the first"):
        attach(instance).register_tool("tool", "New.", None, echo, main_thread=False)


def test_a_name_open_on_another_extension_of_the_instance_is_taken(attach, instance, runtime):
    attach(instance).register_tool("tool", "", None, lambda _arguments: "first")
    with pytest.raises(agentic.ToolNameTakenError):
        attach(instance).register_tool("tool", "", None, lambda _arguments: "second")
    assert runtime.call("tool") == "first"


def test_a_reused_handle_gets_a_new_generation_and_the_old_slot_is_freed():
    host = RecordingHost()
    before = statistics().slots
    for closed in (True, False, True):
        extension = host.attach()
        extension.register_tool("tool", "", None, lambda _arguments: "run")
        if closed:
            extension.close()
    extension = host.attach()
    extension.register_tool("tool", "", None, lambda _arguments: "newest")
    assert len({user_data for _, user_data in host.registered}) == 4
    assert [host.call(index)[0] for index in range(3)] == [XR_ERROR_RUNTIME_FAILURE] * 3
    assert host.call(3) == (0, "newest")
    assert statistics().slots == before + 1
    extension.close()


def test_a_parked_tool_is_not_opened_by_another_failure_than_a_taken_name():
    host = RecordingHost()
    first = host.attach()
    first.register_tool("tool", "", None, echo)
    first.close()
    second = host.attach()
    host.results = [-2]
    with pytest.raises(agentic.ResultError, match="XR_ERROR_RUNTIME_FAILURE"):
        second.register_tool("tool", "", None, echo)
    assert host.call(0)[0] == XR_ERROR_RUNTIME_FAILURE
    host.results = [-1]
    second.register_tool("tool", "", None, echo)
    assert host.call(0) == (0, "{}")
    second.close()


def test_twenty_instances_one_after_another_keep_nothing_and_only_the_last_one_runs(runtime):
    xr = pytest.importorskip("xr", exc_type=Exception)
    ran, before = [], None
    for round_number in range(20):
        names = agentic.enable_extension([])
        handle = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
        extension = agentic.AgenticExtension(handle)
        extension.register_tool("tool", "", None, lambda _arguments, number=round_number: ran.append(number) or "ran")
        gc.collect()
        kept = (statistics().slots, len(table.registrations))
        before = before or kept
        assert kept == before
        if round_number < 19:
            tool = runtime.tool("tool")
            xr.destroy_instance(handle)  # not closed: the app forgot
    assert runtime.call("tool") == "ran"
    assert runtime.raw_call(tool, capacity=100) == REFUSED
    assert ran == [19]
    extension.close()
    xr.destroy_instance(handle)


def test_parked_slots_of_many_instances_are_bounded():
    host = RecordingHost()
    for handle in range(1, 60):
        extension = host.attach(handle)
        extension.register_tool("tool", "", None, echo)
        extension.close()
    parked = {key.instance for key in table.registrations if key.instance < 60}
    assert len(parked) <= 16
    assert max(parked) == 59


@pytest.mark.fronts("mock")  # the loader, and so the layer, has one instance at a time
def test_two_instances_at_once_keep_their_tools_apart(runtime, attach):
    handles = [runtime.create_instance() for _ in range(2)]
    for number, handle in enumerate(handles):
        attach(handle).register_tool("tool", "", None, lambda _arguments, number=number: f"instance {number}")
    assert [runtime.call("tool", instance=handle) for handle in handles] == ["instance 0", "instance 1"]
    runtime.destroy_instance(handles[0])
    assert runtime.call("tool", instance=handles[1]) == "instance 1"
    runtime.destroy_instance(handles[1])


# ---- destroying


def test_destroying_with_a_running_callback_ends_and_the_late_call_is_refused(new_runtime, in_background, gate):
    with new_runtime(destroy_waits=True) as runtime:
        handle = runtime.create_instance()
        extension = agentic.AgenticExtension(handle, get_instance_proc_addr=runtime.get_instance_proc_addr)
        extension.register_tool("tool", "", None, gate, main_thread=False)
        tool = runtime.tool("tool")
        call = in_background(lambda: runtime.raw_call("tool", capacity=100, thread="host"))
        assert gate.entered.wait(60)
        destroying = in_background(lambda: runtime.destroy_instance(handle) or "destroyed")
        closing = in_background(extension.close)
        gate.leave.set()
        assert destroying() == "destroyed"
        assert closing() is True
        assert call().written == b"left\0"
        assert runtime.raw_call(tool, capacity=100) == REFUSED


def test_destroying_with_calls_waiting_answers_them_and_runs_none(runtime, attach, in_background):
    ran = []
    handle = runtime.create_instance()
    extension = attach(handle)
    extension.register_tool("tool", "", None, lambda _arguments: ran.append(1) or "ran")

    def play():
        with pytest.raises(agentic.AgenticError) as caught:
            runtime.call("tool", instance=handle, timeout=60)
        return str(caught.value)

    answer = in_background(play)
    while runtime.statistic("queued", instance=handle) == 0:
        pass
    extension.close()
    runtime.destroy_instance(handle)
    assert "closing" in answer()
    assert ran == []


# ---- arguments


def test_arguments_are_the_tools_own_after_the_host_has_overwritten_them(extension, runtime):
    seen = []
    extension.register_tool("tool", "", None, lambda arguments: seen.append(arguments) or "ran")
    assert runtime.call("tool", '{"a":1}') == "ran"  # this host overwrites its buffer behind the call
    assert seen == ['{"a":1}']


def test_a_held_result_is_compared_with_arguments_that_are_copies(runtime, extension):
    extension.register_tool("tool", "", None, lambda arguments: arguments * 2)
    (tool,) = runtime.tools()
    callback, user_data = ffi.cast("OxaToolCallback", tool.callback), ffi.cast("void*", tool.user_data)
    arguments, count, buffer = ffi.new("char[]", b'{"a":1}'), ffi.new("uint32_t*"), ffi.new("char[]", 100)
    assert callback(ffi.NULL, 0, count, arguments, user_data) == 0
    arguments[5] = b"2"
    assert callback(buffer, 3, count, arguments, user_data) == XR_ERROR_SIZE_INSUFFICIENT
    assert callback(buffer, 100, count, arguments, user_data) == 0
    assert ffi.string(buffer) == b'{"a":2}{"a":2}'


# ---- interpreters


def test_registering_inside_a_subinterpreter_is_refused_clearly(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "try:\n"
        "    import _xxsubinterpreters as interpreters\n"
        "except ImportError:\n"
        "    try:\n"
        "        import _interpreters as interpreters\n"
        "    except ImportError:\n"
        "        print('refused: this Python has none'); sys.exit()\n"
        "import os\n"
        "code = '''\n"
        "import sys\n"
        f"sys.path[:] = {sys.path!r}\n"
        "try:\n"
        "    import openxr_agentic as agentic\n"
        "    agentic.AgenticExtension(1, get_instance_proc_addr=1)\n"
        "except Exception as error:\n"
        "    print('refused:', type(error).__name__, error, flush=True)\n"
        "'''\n"
        "try:\n"
        "    interpreter = interpreters.create(isolated=False)\n"
        "except TypeError:\n"
        "    interpreter = interpreters.create('legacy')\n"
        "error = interpreters.run_string(interpreter, code)\n"
        "if error: print(error)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout.startswith("refused: "), done
    assert "Error" in done.stdout or "none" in done.stdout
