"""When main-thread tools run: from which calls of the app, in which order, and within which budget."""

import contextlib
import threading
import time

import pytest

import openxr_agentic as agentic
from openxr_agentic.testing import MockCallError

xr = pytest.importorskip("xr", exc_type=Exception)
from runtime_helpers import begin_session, create_session, queued_states, session_extension  # noqa: E402 - it imports xr

pytestmark = pytest.mark.fronts("mock", "layer", "real")


class App:
    """An app on its main thread, and the agents that call its tools from other threads."""

    def __init__(self, runtime):
        names = agentic.enable_extension([session_extension(runtime)], required=True)
        self.runtime = runtime
        self.instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
        self.extension = agentic.AgenticExtension(self.instance)
        self.session = None
        self.ran = []
        self._agents = []

    def tool(self, name, act=None):
        def run(_arguments):
            self.ran.append(name)
            if act is not None:
                act()
            return "ran"

        self.extension.register_tool(name, "Says that it ran.", None, run)

    def call(self, name, timeout=60):
        """Have an agent call a tool; returns once the call waits for the main thread."""
        waiting = self.runtime.statistic("queued") + 1
        answer = []

        def play():
            try:
                answer.append(self.runtime.call(name, timeout=timeout))
            except MockCallError as error:
                answer.append(str(error))

        agent = threading.Thread(target=play)
        agent.start()
        while self.runtime.statistic("queued") < waiting and agent.is_alive():
            time.sleep(0.0005)

        def join():
            agent.join(60)
            return answer[0]

        self._agents.append(agent)
        return join

    def begin(self):
        self.session = create_session(self.instance, self.runtime)
        self.wait_for("READY")
        begin_session(self.session)

    def wait_for(self, state):
        while state not in queued_states(self.instance):
            pass

    def poll(self):
        with contextlib.suppress(xr.exception.EventUnavailable):
            xr.poll_event(self.instance)

    def frame(self):
        state = xr.wait_frame(self.session)
        xr.begin_frame(self.session)
        info = xr.FrameEndInfo(state.predicted_display_time, xr.EnvironmentBlendMode.OPAQUE, layers=[])
        xr.end_frame(self.session, info)

    def end(self):
        self.extension.close(timeout=0)
        if self.runtime.instances:
            xr.destroy_instance(self.instance)
        for agent in self._agents:
            agent.join(60)


@pytest.fixture
def new_app():
    made = []

    def make(runtime):
        made.append(App(runtime))
        return made[-1]

    with contextlib.ExitStack() as runtimes:

        def enter(runtime):
            runtimes.enter_context(runtime)
            return make(runtime)

        yield enter
        for app in made:
            app.end()


@pytest.fixture
def app(new_runtime, new_app):
    # A budget that a loaded machine does not use up: those that test it set their own.
    return new_app(new_runtime(display_period=0.001, pump_budget=10.0))


def test_in_a_session_each_frame_runs_what_waits_in_its_order(app):
    app.tool("one")
    app.tool("two")
    app.begin()
    answers = [app.call(name) for name in ("two", "one", "two")]
    app.frame()
    assert [answer() for answer in answers] == ["ran"] * 3
    assert app.ran == ["two", "one", "two"]


@pytest.mark.fronts("mock", "layer")  # a real runtime's frames have their own period
def test_in_a_session_with_frames_polling_runs_nothing(new_runtime, new_app):
    app = new_app(new_runtime(display_period=10.0))  # an app without a frame for ten of them has none
    app.tool("tool")
    app.begin()
    app.frame()
    answer = app.call("tool")
    for _ in range(20):
        app.poll()
    assert app.ran == []
    app.extension.close()
    xr.destroy_instance(app.instance)
    assert answer().startswith("call of ")


def test_in_a_session_that_stops_making_frames_polling_runs_tools(app):
    app.tool("tool")
    app.begin()
    app.frame()
    answer = app.call("tool")
    while not app.ran:
        app.poll()
    assert answer() == "ran"


def test_in_a_session_without_frames_polling_runs_what_waits(app):
    app.tool("tool")
    app.begin()  # without graphics, it may do without xrWaitFrame
    answer = app.call("tool")
    app.poll()
    assert answer() == "ran"


def test_without_a_session_polling_runs_what_waits(app):
    app.tool("tool")
    answer = app.call("tool")
    app.poll()
    assert answer() == "ran"


@pytest.mark.parametrize("ending", ["end", "destroy"])
def test_when_a_session_has_ended_polling_runs_tools_again(app, ending):
    app.tool("tool")
    app.begin()
    app.frame()
    if ending == "end":
        xr.request_exit_session(app.session)
        app.wait_for("STOPPING")
        xr.end_session(app.session)
    else:
        xr.destroy_session(app.session)
    answer = app.call("tool")
    app.poll()
    assert answer() == "ran"


def test_polling_runs_tools_once_a_display_period(new_runtime, new_app):
    app = new_app(new_runtime(display_period=10.0, pump_budget=0.0))
    app.tool("tool")
    answers = [app.call("tool") for _ in range(2)]
    for _ in range(50):
        app.poll()
    assert len(app.ran) == 1  # the budget of nothing is spent by the first, and the next period is far
    app.extension.close()
    xr.destroy_instance(app.instance)
    assert sorted(answer()[:8] for answer in answers) == ["call of ", "ran"]


def test_what_is_over_the_budget_waits_for_the_next_frames_in_its_order(new_runtime, new_app):
    app = new_app(new_runtime(display_period=0.001, pump_budget=0.0))
    names = ["one", "two", "three"]
    for name in names:
        app.tool(name)
    app.begin()
    answers = [app.call(name) for name in names]
    for count in (1, 2, 3):
        app.frame()
        assert app.ran == names[:count]
    assert [answer() for answer in answers] == ["ran"] * 3


def test_polling_runs_tools_where_frames_are_another_threads(app):
    app.tool("tool")
    app.begin()
    stop = threading.Event()

    def frames():
        while not stop.is_set():
            app.frame()

    thread = threading.Thread(target=frames)
    thread.start()
    answer = app.call("tool")
    try:
        while not app.ran:
            app.poll()
        assert answer() == "ran"
    finally:
        stop.set()
        thread.join()


def test_a_call_that_timed_out_in_the_queue_never_runs(app):
    app.tool("tool")
    answer = app.call("tool", timeout=0.01)
    assert "xrPollEvent" in answer()
    app.poll()
    assert app.ran == []
    assert app.runtime.statistic("calls_withdrawn") == 1


def test_a_pump_inside_of_a_tool_runs_nothing(app):
    seen = []
    app.tool("inner")
    app.tool("outer", lambda: (app.poll(), seen.extend(app.ran)))
    answers = [app.call("outer"), app.call("inner")]
    app.poll()
    assert [answer() for answer in answers] == ["ran"] * 2
    assert (seen, app.ran) == (["outer"], ["outer", "inner"])


@pytest.mark.parametrize("call", ["poll", "frame"])
def test_a_tool_may_destroy_the_instance_that_is_running_it(app, call):
    app.tool("last", lambda: xr.destroy_instance(app.instance))
    if call == "frame":
        app.begin()
    answer = app.call("last")
    with pytest.raises(xr.exception.HandleInvalidError):
        getattr(app, call)()
    assert answer() == "ran"
    assert app.runtime.instances == []


def test_a_tool_that_replaces_the_instance_answers(app):
    made = []

    def replace():
        xr.destroy_instance(app.instance)
        names = agentic.enable_extension([], required=True)
        app.instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
        made.append(agentic.AgenticExtension(app.instance))

    app.tool("replace", replace)
    answer = app.call("replace")
    with contextlib.suppress(xr.exception.HandleInvalidError):  # the new one's handle may be the same
        app.poll()
    assert answer() == "ran"
    made[0].close()


def test_an_instance_that_enabled_nothing_runs_nothing_and_has_no_function(runtime):
    handle = runtime.create_instance([])
    with pytest.raises(agentic.ExtensionNotEnabledError):
        agentic.AgenticExtension(handle, get_instance_proc_addr=runtime.get_instance_proc_addr)
    runtime.destroy_instance(handle)


def test_instances_one_after_another_are_each_served(runtime):
    for number in range(3):
        handle = runtime.create_instance()
        with agentic.AgenticExtension(handle, get_instance_proc_addr=runtime.get_instance_proc_addr) as extension:
            extension.register_tool(f"tool{number}", "Says ran.", None, lambda _arguments: "ran")
            assert [tool.name for tool in runtime.tools()] == [f"tool{number}"]
            assert runtime.call(f"tool{number}") == "ran"
        runtime.destroy_instance(handle)


@pytest.mark.fronts("mock", "layer")  # a real runtime has no faults on demand
def test_a_fault_of_the_runtime_reaches_the_app(app):
    app.begin()
    app.runtime.fail("xrWaitFrame", -13)
    with pytest.raises(xr.exception.InstanceLostError):
        app.frame()
    app.frame()
