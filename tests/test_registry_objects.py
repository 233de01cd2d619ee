"""ToolRegistry: methods of objects."""

import functools
import gc
import types
import weakref

import pytest

import openxr_agentic as agentic
from openxr_agentic.errors import (
    DefinitionError,
    NameClashError,
    ToolError,
)
from openxr_agentic.registry.events import ChangeKind, ToolsChanged
from openxr_agentic.registry.registry import ToolRegistry


def names(registry):
    return [info.name for info in registry.available_tools()]


class Scene:
    tools = ToolRegistry(prefix="Unused_", settings=False)

    def __init__(self, name="scene"):
        self.name = name
        self.closed = False

    @tools.tool
    def tell(self) -> str:
        """Tell its name."""
        return self.name

    @tools.tool(name="shout")
    def tell_loudly(self) -> str:
        """Tell its name loudly."""
        return self.name.upper()


def test_a_method_is_only_marked_in_its_class_and_each_object_gets_its_own_call():
    assert Scene.tools.available_tools() == []
    registry = ToolRegistry(prefix="MyApp_")
    left, right = Scene("left"), Scene("right")
    registry.register_object(left, prefix="left_")
    assert [tool.name for tool in registry.register_object(right, prefix="right_")] == [
        "MyApp_right_tell",
        "MyApp_right_shout",
    ]
    assert registry.execute("MyApp_left_tell") == "left"
    assert registry.execute("right_shout") == "RIGHT"
    registry.register("one", right.tell)
    registry.register(None, left.tell)
    assert (registry.execute("one"), registry.execute("tell")) == ("right", "left")


def test_the_same_method_of_another_living_object_clashes_with_advice_and_registers_nothing(registry, changes):
    first, second = Scene("first"), Scene("second")
    registry.register(None, first.tell)
    with pytest.raises(NameClashError, match=r"one method of two objects.*register_object\(object, prefix"):
        registry.register_object(second)
    assert names(registry) == ["tell"]
    assert changes == [ToolsChanged(ChangeKind.ADDED, "tell")]
    registry.register_object(second, override=True)
    assert registry.execute("tell") == "second"


@pytest.mark.parametrize("gone", ["collected", "closed"])
def test_a_method_of_an_object_that_is_gone_says_so_and_another_object_may_take_its_name(registry, gone):
    first, second = Scene("first"), Scene("second")
    registry.register_object(first)
    if gone == "closed":
        first.closed = True
    else:
        del first
        gc.collect()
    with pytest.raises(ToolError, match="its owner is gone"):
        registry.execute("tell")
    registry.register_object(second)
    assert registry.execute("tell") == "second"


def test_an_object_without_marked_methods_is_refused(registry):
    with pytest.raises(DefinitionError, match="is marked with @agentic.tool"):
        registry.register_object(object())


def test_a_marked_method_keeps_its_mark_under_another_decorator(registry):
    def doubled(function):
        @functools.wraps(function)
        def both(*args, **kwargs):
            return 2 * function(*args, **kwargs)

        return both

    class Counter:
        @doubled
        @registry.tool
        def count(self, x: int) -> int:
            """Count."""
            return x

    counter = Counter()
    registry.register_object(counter)
    assert registry.execute("count", {"x": 2}) == 4


# ---- objects that raise when they are looked at


class Raising:
    ready = True

    @property
    def closed(self):
        if not self.ready:
            raise RuntimeError("the engine is down")
        return False

    def tell(self) -> str:
        """Tell."""
        return "told"


def test_an_owner_whose_closed_raises_is_refused_at_registration_and_gone_at_a_call(registry):
    owner = Raising()
    registry.register("tell", owner.tell)
    assert registry.execute("tell") == "told"
    owner.ready = False
    with pytest.raises(ToolError, match="its owner is gone"):
        registry.execute("tell")
    with pytest.raises(DefinitionError, match="does not tell whether it is closed: RuntimeError: the engine is down"):
        registry.register("again", owner.tell)
    other = Raising()
    other.ready = True
    registry.register("tell", other.tell)  # the first one's name is free
    assert registry.execute("tell") == "told"


def test_a_proxy_that_raises_is_refused_and_never_breaks_discovery(registry):
    scene = Scene()
    proxy = weakref.proxy(scene)
    method = types.MethodType(Scene.tell, proxy)
    registry.register("tell", method)
    assert registry.execute("tell") == "scene"
    del scene
    gc.collect()
    with pytest.raises(ToolError, match="its owner is gone"):
        registry.execute("tell")
    for given in (proxy, types.MethodType(Scene.tell, proxy)):
        with pytest.raises(DefinitionError, match="ReferenceError"):
            registry.register("other", given)
        with pytest.raises(DefinitionError, match="ReferenceError"):
            registry.tool(given)
    with pytest.raises(DefinitionError, match="ReferenceError"):
        registry.register_object(proxy)
    (problem,) = registry.initialize(proxy)
    assert "weakly-referenced object no longer exists" in str(problem)
    assert [info.name for info in registry.available_tools()] == ["tell"]


def test_an_object_that_is_false_is_an_owner_all_the_same():
    class Group(list):
        @agentic.tool
        def count(self) -> int:
            """Count."""
            return len(self)

    registry, group = ToolRegistry(settings=False), Group()
    registry.initialize(group)
    before = registry.entry("count").tool
    registry.refresh()
    assert registry.entry("count").tool is before
    with pytest.raises(NameClashError):
        registry.tool(Group().count)
