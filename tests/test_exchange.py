"""The two-call idiom, C call by C call: one agent call runs the tool once."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import openxr_agentic as agentic
from openxr_agentic.errors import (
    XR_ERROR_RUNTIME_FAILURE,
    XR_ERROR_SIZE_INSUFFICIENT,
    XR_ERROR_VALIDATION_FAILURE,
    XR_SUCCESS,
)

pytestmark = pytest.mark.fronts("mock", "layer", "real")


class Counted:
    """A tool that says how often it ran, with texts of the lengths it is given."""

    def __init__(self, *texts):
        self.texts = texts or ("result",)
        self.seen = []

    def __call__(self, arguments):
        self.seen.append(arguments)
        return self.texts[(len(self.seen) - 1) % len(self.texts)]

    @property
    def runs(self):
        return len(self.seen)


@pytest.fixture(autouse=True)
def default_limits():
    yield
    agentic.set_result_limits()


@pytest.fixture
def tool(extension):
    counted = Counted("first", "second", "third", "fourth")
    extension.register_tool("tool", "A tool.", None, counted)
    return counted


def test_a_size_query_runs_the_tool_and_the_fill_delivers_that_run(runtime, tool):
    assert runtime.raw_call("tool") == (XR_SUCCESS, 6, None, False)
    assert tool.runs == 1
    assert runtime.raw_call("tool", capacity=6) == (XR_SUCCESS, 6, b"first\0", False)
    assert tool.runs == 1


def test_a_fill_without_a_size_query_runs_the_tool(runtime, tool):
    assert runtime.raw_call("tool", capacity=100) == (XR_SUCCESS, 6, b"first\0", False)
    assert tool.runs == 1


def test_a_null_buffer_with_a_capacity_is_a_size_query(runtime, tool):
    assert runtime.raw_call("tool", capacity=10, null_buffer=True) == (XR_SUCCESS, 6, None, False)
    assert runtime.raw_call("tool", capacity=10).written == b"first\0"
    assert tool.runs == 1


def test_a_capacity_of_zero_with_a_buffer_is_a_size_query(runtime, tool):
    assert runtime.raw_call("tool", capacity=0, null_buffer=False) == (XR_SUCCESS, 6, None, False)
    assert runtime.raw_call("tool", capacity=10).written == b"first\0"
    assert tool.runs == 1


@pytest.mark.parametrize(("text", "count"), [("abc", 4), ("", 1), ("é", 3), ("名\U0001f600", 8)])
def test_counts_are_bytes_with_the_nul_exact_capacity_suffices_and_one_less_does_not(extension, runtime, text, count):
    counted = Counted(text)
    extension.register_tool("text", "Text.", None, counted)
    assert runtime.raw_call("text").count == count
    if count > 1:
        assert runtime.raw_call("text", capacity=count - 1) == (XR_ERROR_SIZE_INSUFFICIENT, count, None, False)
    assert runtime.raw_call("text", capacity=count) == (XR_SUCCESS, count, text.encode() + b"\0", False)
    assert counted.runs == 1


def test_a_too_small_buffer_is_untouched_and_the_retry_delivers_the_same_run(extension, runtime):
    counted = Counted("r" * 100)
    extension.register_tool("long", "Long.", None, counted)
    assert runtime.raw_call("long", capacity=5) == (XR_ERROR_SIZE_INSUFFICIENT, 101, None, False)
    assert runtime.raw_call("long", capacity=101) == (XR_SUCCESS, 101, b"r" * 100 + b"\0", False)
    assert counted.runs == 1


def test_without_a_count_pointer_the_call_is_refused_and_the_tool_does_not_run(runtime, tool):
    for capacity in (None, 100):
        refused = runtime.raw_call("tool", capacity=capacity, null_count=True)
        assert refused == (XR_ERROR_VALIDATION_FAILURE, None, None, False)
    assert tool.runs == 0


def test_null_arguments_and_an_empty_object_are_the_same_arguments(runtime, tool):
    runtime.raw_call("tool", None)
    assert runtime.raw_call("tool", "{}", 100).written == b"first\0"
    assert tool.seen == ["{}"]


def test_other_arguments_are_another_exchange(runtime, tool):
    runtime.raw_call("tool", '{"a":1}')
    runtime.raw_call("tool", '{"a": 1}')
    assert runtime.raw_call("tool", '{"a":1}', 100).written == b"first\0"
    assert runtime.raw_call("tool", '{"a": 1}', 100).written == b"second\0"
    assert tool.runs == 2


def test_a_new_size_query_never_answers_with_an_old_run(runtime, tool):
    runtime.raw_call("tool")
    runtime.raw_call("tool")
    assert runtime.raw_call("tool", capacity=100).written == b"second\0"
    assert runtime.raw_call("tool", capacity=100).written == b"third\0"


def test_a_size_query_after_a_refused_fill_keeps_that_run_once(runtime, tool):
    assert runtime.raw_call("tool", capacity=2).result == XR_ERROR_SIZE_INSUFFICIENT
    assert runtime.raw_call("tool").count == 6
    assert tool.runs == 1
    assert runtime.raw_call("tool").count == 7  # a new exchange: "second"
    assert tool.runs == 2
    assert runtime.raw_call("tool", capacity=100).written == b"second\0"


def test_agents_that_meet_in_a_refused_result_each_get_their_own_run(runtime, tool):
    assert runtime.raw_call("tool", capacity=2, thread="A").result == XR_ERROR_SIZE_INSUFFICIENT
    assert runtime.raw_call("tool", thread="B").count == 6  # it may be the same call, retried on another thread
    runtime.raw_call("tool", thread="A")
    texts = {runtime.raw_call("tool", capacity=100, thread=thread).written for thread in "AB"}
    assert texts == {b"first\0", b"second\0"}
    assert tool.runs == 2


def test_two_tools_queried_before_either_is_filled_run_once_each(extension, runtime, tool):
    other = Counted("other")
    extension.register_tool("other", "Another tool.", None, other)
    for name in ("tool", "other"):
        runtime.raw_call(name)
    assert runtime.raw_call("tool", capacity=100).written == b"first\0"
    assert runtime.raw_call("other", capacity=100).written == b"other\0"
    assert (tool.runs, other.runs) == (1, 1)


def test_a_fill_on_another_thread_delivers_the_result(runtime, tool):
    runtime.raw_call("tool", thread="one")
    assert runtime.raw_call("tool", capacity=100, thread="two").written == b"first\0"
    assert tool.runs == 1


def test_threads_with_the_same_arguments_each_get_their_own_run(runtime, tool):
    runtime.raw_call("tool", thread="one")
    runtime.raw_call("tool", thread="two")
    assert runtime.raw_call("tool", capacity=100, thread="one").written == b"first\0"
    assert runtime.raw_call("tool", capacity=100, thread="two").written == b"second\0"


def test_another_thread_gets_the_newest_held_result(runtime, tool):
    runtime.raw_call("tool", thread="one")
    runtime.raw_call("tool", thread="two")
    assert runtime.raw_call("tool", capacity=100, thread="three").written == b"second\0"


# ---- sizing


def test_sizing_in_bytes_answers_the_query_without_a_run(extension, runtime):
    counted = Counted("short")
    extension.register_tool("sized", "Sized.", None, counted, sizing=32)
    assert runtime.raw_call("sized") == (XR_SUCCESS, 32, None, False)
    assert runtime.raw_call("sized", capacity=31) == (XR_ERROR_SIZE_INSUFFICIENT, 32, None, False)
    assert counted.runs == 0
    assert runtime.raw_call("sized", capacity=32) == (XR_SUCCESS, 6, b"short\0", False)
    assert counted.runs == 1


def test_a_result_longer_than_the_sizing_is_held_and_delivered_to_the_retry(extension, runtime):
    counted = Counted("l" * 50)
    extension.register_tool("sized", "Sized.", None, counted, sizing=32)
    assert runtime.raw_call("sized", capacity=32) == (XR_ERROR_SIZE_INSUFFICIENT, 51, None, False)
    assert runtime.raw_call("sized").count == 51
    assert runtime.raw_call("sized", capacity=51).written == b"l" * 50 + b"\0"
    assert counted.runs == 1
    assert runtime.call("sized") == "l" * 50


def test_a_dry_run_answers_the_query_and_the_fill_runs_the_tool(extension, runtime):
    counted, dry = Counted("made 17"), Counted("made 00")
    extension.register_tool("dry", "Dry.", None, counted, sizing=dry)
    assert runtime.raw_call("dry", '{"a":1}') == (XR_SUCCESS, 8, None, False)
    assert (counted.seen, dry.seen) == ([], ['{"a":1}'])
    assert runtime.raw_call("dry", '{"a":1}', 8).written == b"made 17\0"
    assert (counted.runs, dry.runs) == (1, 1)


def test_a_dry_run_that_fails_answers_with_the_size_of_its_error(extension, runtime):
    def dry(arguments):
        raise ValueError("no")

    extension.register_tool("dry", "Dry.", None, Counted("ran"), sizing=dry)
    assert runtime.raw_call("dry").count == len("Error: dry failed: ValueError: no") + 1
    assert runtime.call("dry") == "ran"


# ---- bounds


def test_a_tool_holds_a_bounded_number_of_results_and_drops_the_oldest(extension, runtime):
    counted = Counted()
    extension.register_tool("many", "Many.", None, counted)
    agentic.set_result_limits(results_per_tool=3)
    for number in range(5):
        runtime.raw_call("many", f'{{"a":{number}}}')
    for number in range(2, 5):
        runtime.raw_call("many", f'{{"a":{number}}}', 100)
    assert counted.runs == 5
    runtime.raw_call("many", '{"a":0}', 100)
    assert counted.runs == 6


def test_all_held_results_take_a_bounded_number_of_bytes_but_the_newest_stays(extension, runtime):
    counted = Counted("r" * 1000)
    extension.register_tool("big", "Big.", None, counted)
    agentic.set_result_limits(total_bytes=500)
    runtime.raw_call("big", '{"a":1}')
    runtime.raw_call("big", '{"a":2}')
    assert runtime.raw_call("big", '{"a":2}', 2000).result == XR_SUCCESS
    assert counted.runs == 2
    runtime.raw_call("big", '{"a":1}', 2000)
    assert counted.runs == 3


def test_a_held_result_grows_too_old(extension, runtime):
    counted = Counted("first", "second")
    extension.register_tool("old", "Old.", None, counted)
    agentic.set_result_limits(seconds=0)
    while True:  # until the clock has moved between a query and its fill
        runs = counted.runs
        runtime.raw_call("old", '{"a":1}')
        runtime.raw_call("old", '{"a":2}')
        newest = runtime.raw_call("old", '{"a":2}', 100)
        assert newest.written == b"second\0"  # the newest is never dropped
        oldest = runtime.raw_call("old", '{"a":1}', 100)
        if counted.runs > runs + 2:
            break  # it was too old, and the tool ran again
        assert oldest.written == b"first\0"


@pytest.mark.parametrize("limits", [{"results_per_tool": 0}, {"total_bytes": -1}, {"seconds": -1}])
def test_result_limits_that_make_no_sense_are_refused(limits):
    with pytest.raises(ValueError, match="result limits must be at least"):
        agentic.set_result_limits(**limits)


# ---- random sequences against a plain model

TEXTS = ['{"a":1}', '{"a":2}', "{}", None]
SIZED = 12
LENGTHS = [3, 20, 9, 0, 15]
CALLS = st.tuples(
    st.sampled_from(["exact", "sized", "dry"]),
    st.sampled_from(["one", "two", None]),
    st.sampled_from(TEXTS),
    st.sampled_from([None, 0, 1, 4, 11, 12, 13, 64]),
)


class Model:
    """What protocol.md says must happen, as plainly as it can be written."""

    def __init__(self):
        self.held = []  # oldest first: [tool, thread, arguments, text, refused]
        self.runs = dict.fromkeys(("exact", "sized", "dry"), 0)

    def find(self, tool, thread, arguments, *, refused_only):
        matching = [
            held
            for held in reversed(self.held)
            if held[0] == tool and held[2] == arguments and (held[4] or not refused_only)
        ]
        return next((held for held in matching if held[1] == thread), matching[0] if matching else None)

    def call(self, tool, thread, arguments, capacity):  # noqa: PLR0911 - one for each of the protocol's answers
        arguments = arguments or "{}"
        query = not capacity
        held = self.find(tool, thread, arguments, refused_only=query)
        if held is not None:
            count = len(held[3]) + 1
            if query:
                held[1], held[4] = thread, False
                return XR_SUCCESS, count, None, False
            if capacity < count:
                held[4] = True
                return XR_ERROR_SIZE_INSUFFICIENT, count, None, False
            self.held.remove(held)
            return XR_SUCCESS, count, held[3].encode() + b"\0", False
        if query:
            self.held = [other for other in self.held if other[:3] != [tool, thread, arguments]]
        if tool == "sized" and (query or capacity < SIZED):
            return XR_SUCCESS if query else XR_ERROR_SIZE_INSUFFICIENT, SIZED, None, False
        if tool == "dry" and query:
            return XR_SUCCESS, len("dry run") + 1, None, False
        text = text_of_run(tool, self.runs[tool])
        self.runs[tool] += 1
        count = len(text) + 1
        if not query and capacity >= count:
            return XR_SUCCESS, count, text.encode() + b"\0", False
        self.held.append([tool, thread, arguments, text, not query])
        return XR_SUCCESS if query else XR_ERROR_SIZE_INSUFFICIENT, count, None, False


def text_of_run(tool, run):
    return f"{tool}{run}".ljust(LENGTHS[run % len(LENGTHS)], ".")


@pytest.mark.fronts("mock")  # slow, and of the app's side alone
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(CALLS, min_size=4, max_size=12))
def test_random_sequences_of_raw_calls_behave_as_the_model_says(runtime, instance, calls):
    # On one living instance: each example opens the slots again that the one before it parked.
    extension = agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)
    runs = dict.fromkeys(("exact", "sized", "dry"), 0)

    def counted(name):
        def run(_arguments):
            runs[name] += 1
            return text_of_run(name, runs[name] - 1)

        return run

    for name, sizing in (("exact", "exact"), ("sized", SIZED), ("dry", lambda _arguments: "dry run")):
        extension.register_tool(name, "A tool.", None, counted(name), sizing=sizing)
    tools = {tool.name: tool for tool in runtime.tools()}
    model = Model()
    for tool, thread, arguments, capacity in calls:
        expected = model.call(tool, thread, arguments, capacity)
        found = runtime.raw_call(tools[tool], arguments, capacity, thread=thread)
        assert found == expected
        assert runs == model.runs
    extension.close()
    for tool in tools.values():
        assert runtime.raw_call(tool, capacity=64) == (XR_ERROR_RUNTIME_FAILURE, 0, None, False)
