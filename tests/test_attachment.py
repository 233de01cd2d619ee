"""A registry's tools on an XrInstance: registered, followed, refused, replaced, attached again."""

import asyncio
import contextlib
import gc
import json
import threading
import warnings

import pytest

import openxr_agentic as agentic
from openxr_agentic.definition.tool import ToolContext, current_call
from openxr_agentic.registry.registry import ToolRegistry

pytestmark = pytest.mark.fronts("mock", "layer", "real")

REGISTER = "xrAgenticRegisterExternalToolMETAX1"


@pytest.fixture
def registry():
    registry = ToolRegistry(prefix="MyApp_")

    @registry.tool(groups=["scene"], annotations={"readOnlyHint": True})
    def position(name: str = "cube") -> dict:
        """Tell where an object is."""
        return {"name": name, "position": [0, 1, 0]}

    return registry


@pytest.fixture
def on(runtime):
    """Attach a registry to an instance of the runtime's own library; detached at the end."""
    made = []

    def attach(registry, instance):
        made.append(registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr))
        return made[-1]

    yield attach
    for attachment in made:
        attachment.detach()


def names(runtime, instance=0):
    return [tool.name for tool in runtime.tools(instance=instance)]


def test_attaching_registers_what_is_there_and_what_is_added_later(registry, runtime, instance, on):
    attachment = on(registry, instance)
    assert json.loads(runtime.call("MyApp_position", {"name": "ball"})) == {"name": "ball", "position": [0, 1, 0]}
    registry.register("later", lambda: "late", "Comes later.")
    assert runtime.call("MyApp_later") == "late"
    assert attachment.status() == (True, None, ["MyApp_position", "MyApp_later"], {})


def test_through_the_khronos_loader_a_with_block_attaches_and_detaches(registry, runtime, xr_instance):
    with registry.attach(xr_instance):
        assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"
    assert runtime.raw_call("MyApp_position", capacity=100).result == -2


def test_a_disabled_tool_stays_native_answers_that_it_is_disabled_and_comes_back(registry, runtime, instance, on):
    on(registry, instance)
    registry.set_enabled("MyApp_position", False)
    assert runtime.call("MyApp_position") == "Error: MyApp_position was not run: it is disabled."
    assert names(runtime) == ["MyApp_position"]
    assert runtime.tool("MyApp_position").metadata["enabled"] is False
    registry.set_enabled("MyApp_position", True)
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"
    assert runtime.tool("MyApp_position").metadata["enabled"] is True


def test_a_tool_that_is_disabled_when_attaching_is_registered_when_it_is_first_enabled(registry, runtime, instance, on):
    registry.set_enabled("MyApp_position", False)
    on(registry, instance)
    assert names(runtime) == []
    registry.set_enabled("MyApp_position", True)
    assert names(runtime) == ["MyApp_position"]


def test_a_removed_tool_answers_that_it_was_removed_and_comes_back_with_its_name(registry, runtime, instance, on):
    on(registry, instance)
    registry.register("extra", lambda: "first", "Extra.")
    assert registry.unregister("extra")
    assert runtime.call("MyApp_extra") == "Error: MyApp_extra was not run: the app has removed it."
    registry.register("extra", lambda: "second", "Extra.")
    assert runtime.call("MyApp_extra") == "second"
    assert names(runtime) == ["MyApp_position", "MyApp_extra"]


def test_an_override_runs_under_the_old_registration_and_what_it_covered_comes_back(registry, runtime, instance, on):
    on(registry, instance)

    def position(name: str = "cube") -> str:
        return f"covered {name}"

    registry.register("position", position, "Tell where an object is.")
    assert runtime.call("MyApp_position") == "covered cube"
    registry.unregister("position")
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"


def test_a_replacement_with_other_parameters_warns_that_agents_still_see_the_first(registry, runtime, instance, on):
    on(registry, instance)
    with pytest.warns(RuntimeWarning, match="MyApp_position.*another description and parameters.*still see the first"):
        registry.register("position", lambda height: f"at {height}", "Tell where, from a height.")
    assert runtime.call("MyApp_position", {"height": 2}) == "at 2"


def test_calls_that_run_end_with_the_tool_that_they_began_with(registry, runtime, instance, on):
    entered, leave = threading.Event(), threading.Event()

    def slow() -> str:
        entered.set()
        assert leave.wait(60)
        return "old"

    registry.register("slow", slow, "Slow.", main_thread=False)
    on(registry, instance)
    texts = []
    call = threading.Thread(target=lambda: texts.append(runtime.call("MyApp_slow", timeout=60)))
    call.start()
    assert entered.wait(60)
    registry.register("slow", lambda: "new", "Slow.", main_thread=False, override=True)
    assert runtime.call("MyApp_slow") == "new"
    leave.set()
    call.join(60)
    assert texts == ["old"]


@pytest.mark.fronts("mock", "layer")  # only they count look-ups
def test_detached_and_attached_to_the_next_instance_every_enabled_tool_is_registered_again(runtime, registry, on):
    looked_up = []
    for _ in range(3):
        instance = runtime.create_instance()
        attachment = on(registry, instance)
        assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"
        looked_up.append(runtime.function_calls("xrGetInstanceProcAddr"))
        attachment.detach()
        runtime.destroy_instance(instance)
        registry.register(f"tool{len(looked_up)}", lambda: "ran", "Another.")
    assert looked_up == sorted(set(looked_up))  # the function is fetched anew each time


def test_detached_and_attached_to_the_same_instance_its_tools_are_opened_again(runtime, registry, instance, on):
    on(registry, instance).detach()
    assert runtime.raw_call("MyApp_position", capacity=100).result == -2
    on(registry, instance)
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"
    assert names(runtime) == ["MyApp_position"]


def test_a_detached_registry_is_followed_no_more(runtime, registry, instance, on):
    attachment = on(registry, instance)
    attachment.detach()
    registry.register("later", lambda: "late", "Later.")
    assert names(runtime) == ["MyApp_position"]
    assert attachment.status().reason == "It was detached."


@pytest.mark.fronts("mock")  # the loader, and so the layer, has one instance at a time
def test_two_instances_can_be_attached_at_once(runtime, registry, on):
    instances = [runtime.create_instance() for _ in range(2)]
    for instance in instances:
        on(registry, instance)
    registry.register("later", lambda: "late", "Later.")
    assert [runtime.call("MyApp_later", instance=instance) for instance in instances] == ["late", "late"]
    for instance in instances:
        runtime.destroy_instance(instance)


def test_without_the_extension_there_is_one_warning_status_says_why_and_all_else_goes_on(registry, runtime):
    instance = runtime.create_instance([])
    registry.register("another", lambda: "ran", "Another.")
    with pytest.warns(RuntimeWarning, match="No tool is offered.*without XR_METAX1") as caught:
        attachment = registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)
    assert len(caught) == 1
    status = attachment.status()
    assert (status.attached, status.tools) == (False, [])
    assert "enable_extension" in status.reason
    assert registry.execute("another") == "ran"
    registry.register("later", lambda: "late", "Later.")
    assert attachment.detach()
    runtime.destroy_instance(instance)


def test_numbers_that_the_host_refuses_give_one_warning_for_all_tools(registry, runtime, instance):
    registry.register("another", lambda: "ran", "Another.")
    runtime.fail(REGISTER, -1, times=100)
    with pytest.warns(RuntimeWarning, match="No tool is offered.*numbers") as caught:
        attachment = registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)
    assert len(caught) == 1
    assert "openxr-agentic doctor" in str(caught[0].message)
    status = attachment.status()
    assert not status.attached
    # The warning says it once, in full.
    assert {status.reason} == set(status.refused.values())
    assert status.reason.startswith("XR_ERROR_VALIDATION_FAILURE: ")
    assert len(status.reason) < 120
    attachment.detach()


def test_one_name_that_is_taken_does_not_stop_the_others(registry, runtime, instance, attach, on, caplog):
    attach(instance).register_tool("MyApp_position", "", None, str)
    registry.register("another", lambda: "ran", "Another.")
    attachment = on(registry, instance)
    assert runtime.call("MyApp_another") == "ran"
    assert list(attachment.status().refused) == ["MyApp_position"]
    assert "MyApp_position is not offered to agents" in caplog.text


def many_parameters():
    """A function of 65 parameters: one more than the host takes."""
    space = {}
    exec(f"def aaa({', '.join(f'p{number}: int' for number in range(65))}) -> None:\n    'Takes too much.'", space)
    return space["aaa"]


def test_one_tool_that_the_host_refuses_does_not_stop_the_others_wherever_it_stands(registry, runtime, instance, on):
    for name in ("aaa", "zzz"):
        registry.register(name, many_parameters())
    attachment = on(registry, instance)
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"
    status = attachment.status()
    assert (status.attached, sorted(status.refused)) == (True, ["MyApp_aaa", "MyApp_zzz"])
    assert all("65 parameters" in reason for reason in status.refused.values())


def test_where_warnings_are_errors_the_native_side_still_follows(registry, runtime, instance, on):
    on(registry, instance)
    for name in ("a", "b", "c"):
        registry.register(name, lambda: "first", "First.")
    registry.register("position", lambda: "covers", "Another.")  # the error is a subscriber's, and logged
    assert runtime.call("MyApp_position") == "covers"
    registry.unregister("position")
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"
    assert runtime.tool("MyApp_position").metadata["title"] == "Tell where an object is."


def test_attaching_where_warnings_are_errors_leaves_nothing_behind(registry, runtime, instance, on):
    on(registry, instance).detach()
    registry.register("position", lambda: "covers", "Another.")
    with pytest.raises(RuntimeWarning, match="still see the first one"):
        registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)
    assert runtime.raw_call("MyApp_position", capacity=100).result == -2
    registry.unregister("position")
    on(registry, instance)
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"


def test_a_call_from_python_and_one_of_the_host_inside_of_each_other_keep_apart(registry, runtime, instance, on):
    other = ToolRegistry(settings=False)
    seen = []

    def inner(context: ToolContext) -> str:
        seen.append((current_call().tool_name, context.registry is registry))
        return "inner"

    registry.register("inner", inner, "Inner.")
    on(registry, instance)

    @other.tool
    def outer() -> str:
        """Call the host's way."""
        text = runtime.call("MyApp_inner")
        seen.append((current_call().tool_name, current_call().registry is other))
        return text

    assert other.execute("outer") == "inner"
    assert seen == [("MyApp_inner", True), ("outer", True)]


def test_attaching_twice_to_one_instance_is_an_error_that_says_so(registry, runtime, instance, on):
    on(registry, instance)
    with pytest.raises(agentic.InstanceError, match="attached to this instance already"):
        registry.attach(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"


def test_attaching_to_no_instance_is_an_error(registry, runtime):
    with pytest.raises(agentic.InstanceError, match="needs an instance"):
        registry.attach(None)


def test_a_host_of_ours_gets_title_annotations_groups_and_whole_schemas(registry, runtime, instance, on):
    on(registry, instance)
    metadata = runtime.tool("MyApp_position").metadata
    assert metadata["title"] == "Tell where an object is."
    assert metadata["annotations"] == {"readOnlyHint": True}
    assert metadata["groups"] == ["scene"]
    assert metadata["inputSchema"]["properties"]["name"] == {"type": "string", "default": "cube"}
    assert metadata["enabled"] is True


def test_a_failed_run_is_marked_as_an_error_and_a_text_that_looks_like_one_is_not(registry, runtime, instance, on):
    registry.register("looks", lambda: "Error: is a word", "Looks like an error.")

    def fails() -> None:
        raise agentic.ToolError("no")

    registry.register("fails", fails, "Fails.")
    on(registry, instance)
    assert runtime.call_result("MyApp_looks") == ("Error: is a word", False)
    assert runtime.call_result("MyApp_fails") == ("Error: no", True)
    assert runtime.call_result("MyApp_position", {"nam": 1}).error


def test_a_dry_run_that_fails_does_not_mark_the_run_that_succeeds(registry, runtime, instance, on):
    def dry() -> str:
        raise ValueError

    registry.register("dry", lambda: "made", "Makes something.", sizing=dry)
    on(registry, instance)
    assert runtime.call_result("MyApp_dry") == ("made", False)


def test_another_host_takes_no_metadata_and_everything_works(registry, runtime, instance, on):
    runtime.fail("oxaGetToolMetadataInterface", -7, lookup=True)
    on(registry, instance)
    assert runtime.tool("MyApp_position").metadata is None
    assert json.loads(runtime.call("MyApp_position"))["name"] == "cube"
    registry.set_enabled("MyApp_position", False)
    assert "disabled" in runtime.call("MyApp_position")


def test_argument_faults_reach_the_agent_all_at_once_and_the_tool_does_not_run(registry, runtime, instance, on):
    ran = []

    def place(x: int, y: int, label: str = "") -> None:
        ran.append((x, y))

    registry.register("place", place, "Place something.")
    on(registry, instance)
    text = runtime.call("MyApp_place", '{"x": "left", "lable": "a"}')
    assert text.startswith("Error: MyApp_place was not run: 3 faults in its arguments:")
    assert all(part in text for part in ("x", "y", "lable", "label"))
    assert ran == []
    assert runtime.call("MyApp_place", '{"x": "2", "y": 3.0}') == "null"
    assert ran == [(2, 3)]


# ---- the current call


def test_a_tool_knows_its_call_on_native_threads_and_nothing_leaks_to_the_next(registry, runtime, instance, on):
    seen = []

    def outer(context: ToolContext) -> str:
        seen.append((context.tool_name, current_call().tool_name, context.registry is registry))
        return runtime.call("MyApp_inner", thread="another")

    def inner() -> str:
        seen.append(current_call().tool_name)
        return "inner"

    registry.register("outer", outer, "Outer.", main_thread=False)
    registry.register("inner", inner, "Inner.", main_thread=False)
    on(registry, instance)
    assert runtime.call("MyApp_outer", thread="one") == "inner"
    assert seen == [("MyApp_outer", "MyApp_outer", True), "MyApp_inner"]
    assert current_call() is None


def test_a_thread_local_lives_as_long_as_the_native_thread(registry, runtime, instance, on):
    local = threading.local()

    def count() -> int:
        local.calls = getattr(local, "calls", 0) + 1
        return local.calls

    registry.register("count", count, "Counts.", main_thread=False)
    on(registry, instance)
    assert [runtime.call("MyApp_count", thread="one") for _ in range(3)] == ["1", "2", "3"]
    assert runtime.call("MyApp_count", thread="two") == "1"


# ---- threads and frames


def test_a_main_thread_tool_waits_for_the_first_pump_and_never_runs_elsewhere(registry, runtime, instance, on):
    ran_on = []
    registry.register("where", lambda: ran_on.append(threading.get_ident()) or "here", "Where it runs.")
    on(registry, instance)
    texts = []
    agent = threading.Thread(target=lambda: texts.append(runtime.call("MyApp_where", timeout=60)))
    agent.start()
    while runtime.statistic("queued") == 0:
        pass  # headless, and nobody pumps yet
    assert ran_on == []
    runtime.call("MyApp_position")  # from the main thread: runs what is before it, in its turn
    agent.join(60)
    assert texts == ["here"]
    assert ran_on == [threading.get_ident()]


def test_both_halves_of_an_async_main_thread_tool_run_on_the_main_thread(registry, runtime, instance, on):
    async def halves() -> list:
        first = threading.get_ident()
        await asyncio.sleep(0)
        return [first, threading.get_ident(), current_call().tool_name]

    registry.register("halves", halves, "Both halves.")
    on(registry, instance)
    me = threading.get_ident()
    assert json.loads(runtime.call("MyApp_halves")) == [me, me, "MyApp_halves"]


def test_an_async_tool_runs_where_the_apps_own_loop_runs_already(registry, runtime, instance, on):
    async def tool() -> str:
        await asyncio.sleep(0)
        return "ran"

    registry.register("tool", tool, "Async.")
    on(registry, instance)

    async def app() -> str:
        return runtime.call("MyApp_tool")

    assert asyncio.run(app()) == "ran"


def test_a_queue_of_slow_tools_keeps_the_budget_and_the_rest_waits_for_the_next_frames(registry, new_runtime):
    with new_runtime(pump_budget=0.010, display_period=0.001) as runtime:
        xr = pytest.importorskip("xr", exc_type=Exception)
        names = agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME])
        instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
        frames, ran = [0], []

        def slow() -> None:
            ran.append(frames[0])
            leave.wait(0.005)

        leave = threading.Event()
        registry.register("slow", slow, "Takes 5 ms.")
        with registry.attach(instance):
            call = {"target": runtime.call, "args": ("MyApp_slow",), "kwargs": {"timeout": 60}}
            agents = [threading.Thread(**call) for _ in range(20)]
            for agent in agents:
                agent.start()
            while runtime.statistic("queued") < 20:
                pass
            while any(agent.is_alive() for agent in agents):
                frames[0] += 1
                with contextlib.suppress(xr.EventUnavailable):
                    xr.poll_event(instance)  # no session runs: this is what pumps
        assert len(ran) == 20
        assert max(ran.count(frame) for frame in set(ran)) <= 3  # 10 ms, and the one that crosses it
        assert ran == sorted(ran)
        xr.destroy_instance(instance)


# ---- owners


class Scene:
    def __init__(self):
        self.closed = False

    def name(self) -> str:
        """Tell the scene's name."""
        return "the scene"


def test_a_tool_of_a_closed_or_collected_object_answers_that_its_owner_is_gone(registry, runtime, instance, on):
    scene = Scene()
    registry.register("scene", scene.name)
    on(registry, instance)
    assert runtime.call("MyApp_scene") == "the scene"
    scene.closed = True
    assert "its owner is gone: it is closed" in runtime.call("MyApp_scene")
    scene.closed = False
    del scene
    gc.collect()
    assert "its owner is gone: it was collected" in runtime.call("MyApp_scene")


def test_twenty_threads_may_change_a_registry_that_is_attached(registry, runtime, instance, on):
    on(registry, instance)
    failures = []

    def change(number):
        try:
            for turn in range(20):
                registry.register(f"tool{number}", lambda turn=turn: str(turn), "A tool.", override=True)
                registry.set_enabled(f"tool{number}", turn % 2 == 0)
                runtime.call(f"MyApp_tool{number}", thread=f"thread {number}")
            registry.set_enabled(f"tool{number}", True)
        except Exception as error:  # noqa: BLE001 - it is looked at below
            failures.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=change, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert failures == []
    assert sorted(names(runtime)) == sorted(["MyApp_position", *(f"MyApp_tool{number}" for number in range(20))])
    assert {runtime.call(f"MyApp_tool{number}", thread="one") for number in range(20)} == {"19"}
