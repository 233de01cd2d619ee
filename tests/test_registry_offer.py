"""ToolRegistry: which tools are listed, which are offered to agents, and who is told of changes."""

import copy
import json
import logging
import pickle

import pytest

from openxr_agentic.errors import (
    NameClashError,
    ToolDisabledError,
    UnknownGroupError,
    UnknownToolError,
)
from openxr_agentic.registry.events import ChangeKind, ToolsChanged

ADDED, UPDATED, REMOVED, REFRESHED = ChangeKind


def spawn(count: int = 1) -> str:
    """Spawn cubes."""
    return f"{count} cubes"


def names(registry):
    return [info.name for info in registry.available_tools()]


# ---- listing


def test_available_tools_are_sorted_and_tell_all_that_json_can_say(registry):
    registry.register("b", spawn, title="B", annotations={"readOnlyHint": True}, groups=["g"])
    registry.register("a", spawn, enabled_by_default=False)
    assert names(registry) == ["b"]
    assert [info.name for info in registry.available_tools(ignore_enabled_state=True)] == ["a", "b"]
    told = registry.available_tools()[0].to_dict()
    assert (
        json.loads(json.dumps(told))
        == told
        == {
            "name": "b",
            "title": "B",
            "description": "Spawn cubes.",
            "inputSchema": {
                "type": "object",
                "properties": {"count": {"type": "integer", "default": 1}},
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": True},
            "groups": ["g"],
        }
    )
    before = copy.deepcopy(told)
    told["inputSchema"]["properties"].clear()
    assert registry.available_tools()[0].to_dict() == before


def test_the_output_schema_is_told_where_results_are_objects(registry):
    @registry.tool
    def tell() -> dict[str, int]:
        """Tell."""
        return {}

    info = registry.available_tools()[0]
    assert info.to_dict()["outputSchema"] == info.output_schema
    assert info.output_schema["type"] == "object"


def test_filters_hide_tools_whatever_the_user_decided_until_they_are_removed(registry, changes):
    for number in range(150):
        registry.register(f"tool_{number:03}", spawn, groups="few" if number < 10 else "many")
    changes.clear()
    remove = registry.add_filter(lambda info: "few" in info.groups)
    assert len(registry.available_tools()) == len(registry.available_tools(ignore_enabled_state=True)) == 10
    assert len(registry.settings()) == 150
    assert registry.entry("tool_149").enabled
    with pytest.raises(ToolDisabledError, match="the app does not offer it at the moment"):
        registry.execute("tool_149")
    assert "tool-count" not in [advice.kind for advice in registry.check()]
    remove()
    remove()
    assert len(registry.available_tools()) == 150
    assert "tool-count" in [advice.kind for advice in registry.check()]
    assert changes == [ToolsChanged(REFRESHED)] * 2


def test_a_filter_that_fails_hides_the_tool_and_is_logged_once(registry, caplog):
    registry.tool(spawn)
    registry.add_filter(lambda info: info.nonsense)
    assert names(registry) == names(registry) == []
    assert caplog.text.count("The filter") == 1
    with pytest.raises(TypeError, match="must be callable"):
        registry.add_filter("scene")


def test_settings_tell_of_every_tool_what_it_is_and_what_the_user_decided(registry):
    registry.register("a", spawn, enabled_by_default=False, groups="g")
    registry.register("b", spawn)
    registry.set_enabled("a", True)
    assert [tuple(setting) for setting in registry.settings()] == [
        ("a", "Spawn cubes.", "Spawn cubes.", ("g",), True, False, True),
        ("b", "Spawn cubes.", "Spawn cubes.", (), True, True, None),
    ]


# ---- enabling


def test_a_tool_is_enabled_and_disabled_by_name_and_goes_back_to_its_default(registry, changes):
    registry.tool(spawn)
    changes.clear()
    for enabled in (False, False, True, None):
        registry.set_enabled("spawn", enabled)
        assert registry.is_enabled("spawn") is (enabled is not False)
    assert changes == [ToolsChanged(UPDATED, "spawn")] * 2  # disabled, enabled


def test_a_group_is_enabled_and_disabled_as_a_whole(registry, changes):
    registry.register("a", spawn, groups=["g", "h"])
    registry.register("b", spawn, groups="g")
    registry.register("c", spawn, groups="h")
    assert registry.groups() == {"g": ["a", "b"], "h": ["a", "c"]}
    changes.clear()
    registry.set_enabled(group="g", enabled=False)
    assert names(registry) == ["c"]
    assert changes == [ToolsChanged(UPDATED, "a"), ToolsChanged(UPDATED, "b")]


def test_what_cannot_be_enabled_is_an_error_that_says_why(registry):
    registry.register("spawn", spawn, groups="scene")
    with pytest.raises(UnknownToolError, match="Did you mean 'spawn'"):
        registry.set_enabled("spwan", False)
    with pytest.raises(UnknownGroupError, match="'scnee'. Did you mean 'scene'"):
        registry.set_enabled(group="scnee", enabled=False)
    with pytest.raises(TypeError, match="True, False or None, not 'false'"):
        registry.set_enabled("spawn", "false")
    with pytest.raises(TypeError, match="one of them"):
        registry.set_enabled("spawn", True, group="scene")
    with pytest.raises(UnknownToolError):
        registry.is_enabled("spwan")


# ---- events


def test_notify_tells_subscribers_of_an_update_and_changes_nothing(registry, changes):
    registry.tool(spawn)
    registry.notify_availability_changed("spawn")
    assert changes == [ToolsChanged(ADDED, "spawn"), ToolsChanged(UPDATED, "spawn")]
    with pytest.raises(UnknownToolError):
        registry.notify_availability_changed("spwan")


def test_a_subscriber_that_fails_is_logged_and_keeps_neither_the_change_nor_others_from_being(registry, caplog):
    told = []

    def fail(_change):
        raise RuntimeError("no")

    registry.tools_changed.subscribe(fail)
    unsubscribe = registry.tools_changed.subscribe(told.append)
    registry.tools_changed.subscribe(told.append)
    with caplog.at_level(logging.ERROR):
        registry.tool(spawn)
    assert told == [ToolsChanged(ADDED, "spawn")] * 2
    assert "RuntimeError: no" in caplog.text
    unsubscribe()
    unsubscribe()
    registry.notify_availability_changed("spawn")
    assert len(told) == 3
    with pytest.raises(TypeError, match="must be callable"):
        registry.tools_changed.subscribe(None)


def test_a_subscriber_may_use_and_change_the_registry(registry):
    def register_another(change):
        if change == ToolsChanged(ADDED, "spawn"):
            registry.register("another", spawn)
            registry.unregister("another")

    registry.tools_changed.subscribe(register_another)
    registry.tool(spawn)
    assert names(registry) == ["spawn"]


def test_the_errors_are_builtins_and_survive_pickling():
    for error in (UnknownToolError("a", ("b",)), UnknownGroupError("a"), ToolDisabledError("a", "it is disabled")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))
    assert issubclass(UnknownToolError, KeyError)
    assert issubclass(NameClashError, ValueError)
    assert str(UnknownToolError("a", ("b", "c"))) == "There is no tool named 'a'. Did you mean 'b' or 'c'?"
