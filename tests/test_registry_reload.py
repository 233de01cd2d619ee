"""ToolRegistry: what is defined again, discovered, and found again."""

import importlib
import sys
import types

import pytest

from openxr_agentic.errors import (
    DefinitionError,
    NameClashError,
    ToolDisabledError,
)
from openxr_agentic.registry.entries import Origin
from openxr_agentic.registry.events import ChangeKind, ToolsChanged
from openxr_agentic.registry.registry import ToolRegistry

ADDED, UPDATED, REMOVED, REFRESHED = ChangeKind


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make a module of a text, or write it anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = []

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        made.append(name)
        return name

    yield write
    for name in made:
        sys.modules.pop(name, None)


def spawn(count: int = 1) -> str:
    """Spawn cubes."""
    return f"{count} cubes"


def names(registry):
    return [info.name for info in registry.available_tools()]


# ---- defined again


def test_a_reloaded_module_updates_its_tools_in_place(registry, changes, module, monkeypatch):
    monkeypatch.setitem(sys.modules, "its_registry", types.SimpleNamespace(registry=registry))
    text = "from its_registry import registry\n@registry.tool\ndef tell() -> int:\n    'Tell.'\n    return {}\n"
    loaded = importlib.import_module(module("reloaded", text.format(1)))
    module("reloaded", text.format(22))
    importlib.reload(loaded)
    assert registry.execute("tell") == 22
    assert changes == [ToolsChanged(ADDED, "tell"), ToolsChanged(UPDATED, "tell")]


def test_a_notebook_cell_that_is_run_again_updates_in_place_and_another_cell_with_its_name_does_not(registry):
    cell = "@registry.tool\ndef tell() -> int:\n    'Tell.'\n    return {}\nregistry.register('same', tell)"
    notebook = {"registry": registry, "__name__": "__main__"}
    for number in (1, 2):
        exec(cell.format(number), notebook)
    assert (registry.execute("tell"), registry.execute("same")) == (2, 2)
    assert names(registry) == ["same", "tell"]
    with pytest.raises(NameClashError):
        exec("@registry.tool(name='tell')\ndef tell_more() -> int:\n    'Tell.'\n    return 3", notebook)
    assert registry.execute("tell") == 2


def test_a_class_that_is_defined_again_updates_its_tools_in_place(registry):
    cell = (
        "class Scene:\n    @registry.tool\n    @classmethod\n    def tell(cls) -> int:\n        'Tell.'\n"
        "        return {}"
    )
    for number in (1, 2):
        exec(cell.format(number), {"registry": registry, "__name__": "__main__"})
    assert registry.execute("tell") == 2


def test_one_class_method_taken_from_two_classes_is_two_tools(registry):
    class Base:
        @classmethod
        def tell(cls) -> str:
            """Tell."""
            return cls.__name__

    class Derived(Base):
        pass

    registry.register("tell", Base.tell)
    with pytest.raises(NameClashError):
        registry.register("tell", Derived.tell)


# ---- discovery and refresh

GOOD = "import openxr_agentic as agentic\n@agentic.tool\ndef {0}() -> str:\n    'Tell.'\n    return '{0}'\n"


def test_refresh_finds_discovered_tools_again_keeps_decorated_ones_and_clears_runtime_ones(registry, changes, module):
    registry.tool(spawn)
    assert registry.initialize(module("found_one", GOOD.format("found"))) == ()
    registry.register("temporary", spawn)
    registry.register("lasting", spawn, keep=True)
    assert names(registry) == ["found", "lasting", "spawn", "temporary"]
    assert registry.entry("found").origin is Origin.DISCOVERED
    changes.clear()
    assert registry.refresh() == ()
    assert names(registry) == ["found", "lasting", "spawn"]
    assert changes == [ToolsChanged(REFRESHED)]
    assert not registry.unregister("found")


def test_initialize_adds_to_what_was_discovered_and_clears_nothing(registry, module):
    registry.register("temporary", spawn)
    registry.initialize(module("found_one", GOOD.format("one")))
    registry.initialize(module("found_two", GOOD.format("two")), "found_one")
    assert names(registry) == ["one", "temporary", "two"]


def test_one_broken_tool_or_module_is_reported_and_does_not_stop_the_rest(registry, module, caplog):
    bad = "@agentic.tool\ndef bad(x: complex) -> str:\n    'Bad.'\n"
    problems = registry.initialize(
        module("found_one", "".join(map(GOOD.format, "abcde")) + bad), module("broken", "1 / 0"), "not_there"
    )
    assert names(registry) == list("abcde")
    assert len(problems) == 3
    assert registry.problems == problems
    assert "complex" in str(problems[-1])
    assert caplog.text.count("Not discovered") == 3


def test_discovered_tools_that_clash_are_all_reported_and_none_of_them_is_taken(registry, module):
    for order in (("found_one", "found_two"), ("found_two", "found_one")):
        registry = ToolRegistry()
        module("found_one", GOOD.format("same") + GOOD.format("one"))
        module("found_two", GOOD.format("same"))
        problems = registry.initialize(*order)
        assert names(registry) == ["one"]
        assert "found_one.same" in str(problems[0])
        assert "found_two.same" in str(problems[0])


def test_a_discovered_tool_that_clashes_with_a_decorated_one_is_reported(registry, module):
    registry.tool(name="found")(spawn)
    (problem,) = registry.initialize(module("found_one", GOOD.format("found")))
    assert isinstance(problem.error, NameClashError)
    assert registry.execute("found") == "1 cubes"


def test_two_tools_that_one_function_made_are_not_taken_for_one(registry, module):
    text = (
        "import openxr_agentic as agentic\ndef make(x):\n    @agentic.tool\n    def tell() -> int:\n"
        "        'Tell.'\n        return x\n    return tell\none, two = make(1), make(2)\n"
    )
    (problem,) = registry.initialize(module("made", text))
    assert isinstance(problem.error, NameClashError)


def test_a_class_that_is_found_again_keeps_its_object_and_a_reloaded_one_gets_another(registry, module):
    text = (
        "import openxr_agentic as agentic\n@agentic.tool\nclass Counter:\n    'Count.'\n    calls = 0\n"
        "    def execute(self) -> int:\n        self.calls += 1\n        return self.calls\n"
    )
    registry.initialize(module("counter", text))
    assert registry.execute("Counter") == 1
    registry.refresh()
    assert registry.execute("Counter") == 2
    importlib.reload(sys.modules["counter"])
    registry.refresh()
    assert registry.execute("Counter") == 1


def test_disabled_tools_stay_disabled_unlisted_and_uncalled_after_rediscovery(registry, module):
    registry.initialize(module("found_one", GOOD.format("found")))
    registry.register("extra", spawn)
    registry.set_enabled("found", False)
    registry.set_enabled("extra", False)
    registry.refresh()
    registry.register("extra", spawn)
    assert names(registry) == []
    for name in ("found", "extra"):
        with pytest.raises(ToolDisabledError, match=f"{name} was not run: it is disabled"):
            registry.execute(name)


@pytest.mark.parametrize("raised", ["SystemExit(3)", "ValueError('no')"])
def test_a_tool_class_that_fails_or_exits_when_it_is_made_is_reported_and_the_good_tools_are_there(
    registry, module, raised
):
    text = (
        "import openxr_agentic as agentic\n@agentic.tool\nclass Bad:\n    'Bad.'\n    def __init__(self):\n"
        f"        raise {raised}\n    def execute(self) -> str:\n        return ''\n"
    )
    (problem,) = registry.initialize(module("found_one", text + GOOD.format("found")))
    assert names(registry) == ["found"]
    assert "found_one.Bad" in str(problem)
    assert f"class Bad cannot be made without arguments: {raised.partition('(')[0]}" in str(problem)
    with pytest.raises(DefinitionError, match="cannot be made"):
        registry.register(None, sys.modules["found_one"].Bad)


def test_an_object_that_exits_when_it_is_looked_at_is_reported(registry, module):
    class Exiting:
        @property
        def __dict__(self):
            raise SystemExit

    problems = registry.initialize(Exiting(), module("found_one", GOOD.format("found")))
    assert len(problems) == 1
    assert names(registry) == ["found"]
