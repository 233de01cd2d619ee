"""ToolRegistry: how tools come into it by hand, and how their names meet."""

import inspect
import pickle

import pytest

from openxr_agentic.definition.options import ToolOptions
from openxr_agentic.definition.tool import define, sanitize_tool_name
from openxr_agentic.definition.tool import tool as mark
from openxr_agentic.errors import (
    DefinitionError,
    NameClashError,
)
from openxr_agentic.registry.definitions import MoreOptions
from openxr_agentic.registry.entries import Origin
from openxr_agentic.registry.events import ChangeKind, ToolsChanged
from openxr_agentic.registry.registry import ToolRegistry

ADDED, UPDATED, REMOVED, REFRESHED = ChangeKind


def spawn(count: int = 1) -> str:
    """Spawn cubes."""
    return f"{count} cubes"


def spawn_otherwise(count: int = 1) -> str:
    """Spawn spheres."""
    return f"{count} spheres"


def names(registry):
    return [info.name for info in registry.available_tools()]


# ---- decorating


def test_the_decorator_returns_the_function_itself_which_can_still_be_called_pickled_and_inspected(registry):
    assert registry.tool(spawn) is spawn
    assert registry.tool(name="other")(spawn) is spawn
    assert spawn(2) == "2 cubes"
    assert pickle.loads(pickle.dumps(spawn)) is spawn
    assert list(inspect.signature(spawn).parameters) == ["count"]
    assert names(registry) == ["other", "spawn"]


def test_the_decorator_takes_every_option(registry):
    @registry.tool(
        name="fetch",
        title="Fetch",
        description="Fetches.",
        groups=["io", "net"],
        enabled_by_default=False,
        annotations={"readOnlyHint": True},
        main_thread=False,
        sizing=100,
        parameters={"type": "object", "properties": {"url": {"type": "string"}}},
    )
    def any_name(arguments):
        return arguments["url"]

    tool = registry.entry("fetch").tool
    assert (tool.title, tool.description, tool.groups) == ("Fetch", "Fetches.", ("io", "net"))
    assert (tool.enabled_by_default, tool.main_thread, tool.sizing) == (False, False, 100)
    assert tool.annotations == {"readOnlyHint": True}
    assert tool.registry is registry
    with pytest.raises(TypeError, match="'nmae' is no option"):
        registry.tool(nmae="x")
    with pytest.raises(DefinitionError, match="Write @registry.tool\\(name='fetch'\\)"):
        registry.tool("fetch")


def test_register_takes_every_option_that_the_decorator_takes():
    own = {"name", "description", "enabled_by_default", "groups", "registry"}
    assert MoreOptions.__annotations__.keys() == ToolOptions.__annotations__.keys() - own


def test_a_name_must_not_be_empty_and_what_is_registered_must_be_callable(registry):
    for name in ("", "  "):
        with pytest.raises(DefinitionError, match="name is empty"):
            registry.register(name, spawn)
    with pytest.raises(DefinitionError, match="not callable"):
        registry.register("x", None)
    assert registry.available_tools() == []


def test_static_and_class_methods_are_tools_in_both_orders_also_of_a_local_class(registry):
    class Scene:
        @registry.tool
        @staticmethod
        def over_static(x: int) -> int:
            """Add 1."""
            return x + 1

        @staticmethod
        @registry.tool
        def under_static(x: int) -> int:
            """Add 2."""
            return x + 2

        @registry.tool(groups="cls")
        @classmethod
        def over_class(cls, x: int) -> str:
            """Tell the class."""
            return f"{cls.__name__} {x}"

        @classmethod
        @registry.tool
        def under_class(cls, x: int) -> str:
            """Tell the class."""
            return f"{cls.__name__} {x}"

    assert names(registry) == ["over_class", "over_static", "under_class", "under_static"]
    assert [registry.execute(name, {"x": 1}) for name in names(registry)] == ["Scene 1", 2, "Scene 1", 3]
    assert all(list(info.input_schema["properties"]) == ["x"] for info in registry.available_tools())
    assert not [name for name in vars(Scene) if "openxr_agentic" in name]


def test_a_tool_that_its_class_does_not_have_in_the_end_is_an_error(registry):
    with pytest.raises((DefinitionError, RuntimeError)) as caught:

        class Scene:
            @registry.tool
            def spawn(self) -> None:
                """Spawn."""

            spawn = None  # noqa: F811 - this is the mistake

    error = caught.value if isinstance(caught.value, DefinitionError) else caught.value.__cause__
    assert "has no attribute that is the tool 'spawn'" in str(error)
    assert registry.available_tools() == []


def test_a_class_is_made_once_and_keeps_its_state_between_calls(registry):
    @registry.tool
    class Counter:
        """Count calls."""

        made = 0

        def __init__(self):
            type(self).made += 1
            self.calls = 0

        def execute(self, by: int = 1) -> int:
            self.calls += by
            return self.calls

    assert [registry.execute("Counter"), registry.execute("Counter", {"by": 2})] == [1, 3]
    assert Counter.made == 1


# ---- run-time tools


def test_a_runtime_tool_covers_a_decorated_one_and_what_it_covered_is_back_at_once(registry, changes):
    registry.tool(spawn)
    registry.register("spawn", spawn_otherwise, "Other.", False, ["fun"])
    covering = registry.entry("spawn")
    assert (covering.origin, covering.tool.description, covering.tool.groups) == (Origin.RUNTIME, "Other.", ("fun",))
    assert not covering.enabled
    registry.set_enabled("spawn", True)
    assert registry.execute("spawn") == "1 spheres"
    assert registry.unregister("spawn") is True
    assert registry.entry("spawn").origin is Origin.DECORATED
    assert registry.execute("spawn") == "1 cubes"
    assert changes == [ToolsChanged(ADDED, "spawn"), *3 * [ToolsChanged(UPDATED, "spawn")]]


def test_unregister_removes_runtime_tools_only(registry, changes):
    registry.tool(spawn)
    registry.register("extra", spawn)
    changes.clear()
    assert registry.unregister("spawn") is False
    assert registry.unregister("nothing") is False
    assert registry.unregister("extra") is True
    assert registry.unregister("extra") is False
    assert names(registry) == ["spawn"]
    assert changes == [ToolsChanged(REMOVED, "extra")]


def test_what_is_decorated_under_a_runtime_tool_changes_nothing_for_agents(registry, changes):
    registry.register("spawn", spawn_otherwise)
    registry.tool(spawn)
    assert changes == [ToolsChanged(ADDED, "spawn")]
    assert registry.execute("spawn") == "1 spheres"
    registry.unregister("spawn")
    assert registry.execute("spawn") == "1 cubes"
    assert changes[1:] == [ToolsChanged(UPDATED, "spawn")]


def test_a_runtime_tool_takes_what_it_is_not_given_from_the_callable_and_its_mark(registry):
    @mark(name="marked", groups="g", enabled_by_default=False)
    def function() -> None:
        """Do it."""

    tool = registry.register(None, function)
    assert (tool.name, tool.description, tool.groups, tool.enabled_by_default) == ("marked", "Do it.", ("g",), False)
    tool = registry.register("named", function, "Say it.", True, "h", title="Title")
    assert (tool.name, tool.description, tool.groups, tool.enabled_by_default) == ("named", "Say it.", ("h",), True)
    assert tool.title == "Title"


def test_a_tool_that_is_defined_already_is_taken_as_it_is_or_under_another_name():
    registry = ToolRegistry(prefix="MyApp_")
    defined = define(spawn)
    assert registry.register(defined).name == "spawn"
    again = registry.register("create", defined, groups="g")
    assert (again.name, again.groups, again.registry) == ("MyApp_create", ("g",), registry)
    assert defined.registry is None
    with pytest.raises(ValueError, match="MyApp_create was not run"):
        registry.execute("create", {"count": "many"})
    with pytest.raises(DefinitionError, match="defined already, so title cannot be given"):
        registry.register("create", defined, title="x")


def test_the_prefix_is_put_in_front_and_names_are_found_with_and_without_it():
    registry = ToolRegistry(prefix="MyApp_")
    registry.tool(spawn)
    registry.register("scene.get pose/left", spawn)
    registry.tool(name="own", prefix="Other_")(spawn)
    assert names(registry) == ["MyApp_scene_get_pose_left", "MyApp_spawn", "Other_own"]
    for name in ("spawn", "MyApp_spawn", "scene.get pose/left", "MyApp_scene_get_pose_left", "Other_own"):
        assert registry.has_tool(name)
    assert not registry.has_tool("own")
    assert registry.entry("spawn") is None
    assert registry.entry("MyApp_spawn").tool.name == "MyApp_spawn"
    assert not registry.has_tool("")
    assert registry.unregister("scene.get pose/left")


# ---- names that meet


def test_the_same_name_twice_is_an_error_that_names_both_and_with_override_the_second_replaces_the_first(
    registry, changes
):
    registry.register("spawn", spawn)
    with pytest.raises(NameClashError, match=r"'spawn' is taken: by .*\.spawn \(.*\.spawn_otherwise \(.*override=True"):
        registry.register("spawn", spawn_otherwise)
    assert registry.execute("spawn") == "1 cubes"
    registry.register("spawn", spawn_otherwise, override=True)
    assert registry.execute("spawn") == "1 spheres"
    assert changes == [ToolsChanged(ADDED, "spawn"), ToolsChanged(UPDATED, "spawn")]
    assert registry.unregister("spawn")
    assert not registry.has_tool("spawn")


def test_two_decorated_functions_of_one_name_are_an_error(registry):
    registry.tool(spawn)
    with pytest.raises(NameClashError, match="Give one of them another name with name="):
        registry.tool(name="spawn")(spawn_otherwise)
    assert registry.execute("spawn") == "1 cubes"


def test_two_lambdas_of_one_name_are_two_functions(registry):
    registry.register("roll", lambda: 1, "Roll.")
    with pytest.raises(NameClashError):
        registry.register("roll", lambda: 2, "Roll.")


@pytest.mark.parametrize("order", [("get.pose", "get_pose"), ("get_pose", "get.pose")])
@pytest.mark.parametrize("second", ["decorated", "run-time"])
def test_names_that_meet_when_they_are_sanitised_are_an_error_in_every_order(registry, order, second):
    first_name, second_name = order
    ways = {
        "decorated": lambda: registry.tool(name=second_name)(spawn_otherwise),
        "run-time": lambda: registry.register(second_name, spawn_otherwise, override=True),
    }
    registry.tool(name=first_name)(spawn)
    with pytest.raises(NameClashError, match="are both 'get_pose' for agents"):
        ways[second]()
    assert registry.execute("get_pose") == "1 cubes"


def test_names_are_sanitised_for_clients_with_the_original_as_title_and_valid_ones_stay(registry):
    assert registry.register("scene.get pose/left", spawn).name == "scene_get_pose_left"
    assert registry.entry("scene_get_pose_left").tool.title == "scene.get pose/left"
    for valid in ("GetPose", "resolve-id", "a"):
        assert sanitize_tool_name(valid) == valid
        assert registry.register(valid, spawn).name == valid
    strict = ToolRegistry(strict_names=True)
    with pytest.raises(DefinitionError, match="A name that all clients accept is 'scene_get_pose'"):
        strict.register("scene.get pose", spawn)


def test_one_long_name_is_refused_and_does_not_hide_the_others(registry):
    registry.register("n" * 63, spawn)
    with pytest.raises(DefinitionError, match="63"):
        registry.register("n" * 64, spawn)
    assert names(registry) == ["n" * 63]


def test_a_description_that_is_too_long_is_refused_or_cut_on_a_character_with_one_warning(registry):
    text = "d" * 1022 + "é"
    with pytest.raises(DefinitionError, match="1024 bytes"):
        registry.register("spawn", spawn, text)
    with pytest.warns(UserWarning, match="cut") as warned:
        tool = registry.register("spawn", spawn, text, truncate=True)
    assert len(warned) == 1
    assert tool.description.encode().decode() == "d" * 1022
