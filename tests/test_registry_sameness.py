"""ToolRegistry: no tool takes another one's name silently, though both share their code."""

import functools
import importlib
import itertools
import subprocess
import sys
import types

import pytest

from openxr_agentic.definition.tool import define
from openxr_agentic.errors import NameClashError
from openxr_agentic.registry.registry import ToolRegistry


def double(x: int = 0, y: int = 0) -> str:
    """Tell."""
    return f"{x} {y}"


def made(number):
    def tell() -> int:
        """Tell."""
        return number

    return tell


def made_with_default(number):
    def tell(x: int = number) -> int:
        """Tell."""
        return x

    return tell


def decorated(function):
    def wrapper() -> str:
        """Tell."""
        return function()

    return wrapper


def wrapped(times):
    def decorate(function):
        @functools.wraps(function)
        def wrapper():
            return times * function()

        return wrapper

    return decorate


def class_of(number):
    class Tell:
        """Tell."""

        def execute(self) -> int:
            return number

        @classmethod
        def tell(cls) -> int:
            """Tell."""
            return number

    return Tell


class Told:
    """Tell."""

    def __init__(self, number):
        self.number = number

    def __call__(self) -> int:
        return self.number

    def tell(self) -> int:
        """Tell."""
        return self.number


class Slotted:
    __slots__ = ("number",)

    def __init__(self, number):
        self.number = number

    def tell(self) -> int:
        """Tell."""
        return self.number


def one() -> str:
    """Tell."""
    return "one"


def two() -> str:
    """Tell."""
    return "two"


PAIRS = {
    "partials": (functools.partial(double, 1), functools.partial(double, 2)),
    "partials by name": (functools.partial(double, x=1), functools.partial(double, y=1)),
    "a function and a partial of it": (double, functools.partial(double, 1)),
    "partials of closures": (functools.partial(made(1)), functools.partial(made(2))),
    "partials of methods": (functools.partial(Told(1).tell), functools.partial(Told(2).tell)),
    "closures": (made(1), made(2)),
    "closures of equal values": (made(1), made(1)),
    "defaults": (made_with_default(1), made_with_default(2)),
    "wrappers without wraps": (decorated(one), decorated(two)),
    "wrappers of one function": (wrapped(1)(one), wrapped(2)(one)),
    "callable objects": (Told(1), Told(2)),
    "classes of one factory": (class_of(1), class_of(2)),
    "class methods of such": (class_of(1).tell, class_of(2).tell),
    "cached functions": (functools.lru_cache(made(1)), functools.lru_cache(made(2))),
    "static methods": (staticmethod(made(1)), staticmethod(made(2))),
}
if sys.version_info >= (3, 11):  # before, code does not know its columns
    PAIRS["lambdas of one line"] = (lambda: 1, lambda: 2)


@pytest.mark.parametrize("kind", PAIRS)
def test_two_callables_of_one_code_clash_in_both_orders_unless_override_says_so(kind):
    for first, second in itertools.permutations(PAIRS[kind]):
        registry = ToolRegistry()
        registry.register("x", first, "Tell.")
        before = registry.entry("x").tool
        with pytest.raises(NameClashError, match="override=True"):
            registry.register("x", second, "Tell.")
        assert registry.entry("x").tool is before
        registry.register("x", first, "Tell it.")
        assert registry.entry("x").tool.description == "Tell it."
        after = registry.register("x", second, "Tell.", override=True)
        assert registry.entry("x").tool is after


def test_methods_of_two_living_objects_with_slots_clash(registry):
    first, second = Slotted(1), Slotted(2)
    registry.register("x", first.tell)
    registry.register("x", first.tell)
    with pytest.raises(NameClashError, match="one method of two objects"):
        registry.register("x", second.tell)


def test_decorated_closures_of_one_factory_clash(registry):
    registry.tool(name="x")(made(1))
    with pytest.raises(NameClashError):
        registry.tool(name="x")(made(2))
    assert registry.execute("x") == 1


def test_an_equal_partial_of_one_function_is_the_same_tool_again(registry):
    for _ in range(2):
        registry.register("x", functools.partial(double, 1, y=(2, 3)))
    assert registry.execute("x") == "1 (2, 3)"


@pytest.mark.parametrize("second", [one, two, made(1)])
def test_names_that_only_meet_once_they_are_sanitised_always_clash(registry, second):
    registry.register("v +", one)
    with pytest.raises(NameClashError, match=r"'v \+' and 'v \*' are both 'v__'"):
        registry.register("v *", second)
    registry.register("v +", one)
    assert [info.title for info in registry.available_tools()] == ["v +"]


def test_a_tool_that_is_registered_again_as_it_is_keeps_its_changed_name(registry):
    tool = registry.register("v +", one)
    assert registry.register(tool).name == "v__"
    assert registry.register(define(two)).name == "two"


CELLS = {
    "a closure": (
        "def make(x):\n    def tell() -> int:\n        'Tell.'\n        return x\n    return tell\nit = make({})"
    ),
    "a partial": "def tell(x: int) -> int:\n    'Tell.'\n    return x\nit = partial(tell, {})",
    "a callable object": (
        "class Tell:\n    'Tell.'\n    def __init__(self, x): self.x = x\n"
        "    def __call__(self) -> int: return self.x\nit = Tell({})"
    ),
    "a class": "class Tell:\n    'Tell.'\n    def execute(self) -> int: return {}\nit = Tell",
    "a wrapper without wraps": "@decorated\ndef tell():\n    return {}\nit = tell",
    "a wrapper": "@wrapped(1)\ndef tell() -> int:\n    'Tell.'\n    return {}\nit = tell",
    "a cached function": "@lru_cache\ndef tell() -> int:\n    'Tell.'\n    return {}\nit = tell",
    "an inherited class method": ("class Tell(Base):\n    number = {}\nit = Tell.tell"),
    "a lambda": "it = lambda: {}",
}


class Base:
    number = 0

    @classmethod
    def tell(cls) -> int:
        """Tell."""
        return cls.number


@pytest.mark.parametrize("kind", CELLS)
def test_what_a_cell_defines_anew_takes_the_place_of_the_one_before(registry, kind):
    notebook = {
        "__name__": "__main__",
        "partial": functools.partial,
        "lru_cache": functools.lru_cache,
        "decorated": decorated,
        "wrapped": wrapped,
        "Base": Base,
    }
    for number in (1, 2, 2):
        exec(CELLS[kind].format(number), notebook)
        registry.register("x", notebook["it"], "Tell.")
        assert int(registry.execute("x")) == number


def test_a_reloaded_module_with_closures_and_partials_updates_them_all(registry, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "its_registry", types.SimpleNamespace(registry=registry))
    text = (
        "from functools import partial\nfrom its_registry import registry\n"
        + CELLS["a closure"].replace("{}", "1")
        + "\nregistry.register('closure', it)\nregistry.tool(name='other')(make(2))\n"
        + CELLS["a partial"].replace("{}", "3")
        + "\nregistry.register('partial', it)\n"
    )
    (tmp_path / "with_state.py").write_text(text, encoding="utf-8")
    loaded = importlib.import_module("with_state")
    try:
        importlib.reload(loaded)
    finally:
        del sys.modules["with_state"]
    assert [registry.execute(name) for name in ("closure", "other", "partial")] == [1, 2, 3]


def test_a_function_that_holds_itself_is_compared_to_an_end(registry):
    def make():
        def tell() -> str:
            """Tell."""
            return str(tell)

        return tell

    registry.register("x", make())
    with pytest.raises(NameClashError):
        registry.register("x", make())


TWICE = """
import openxr_agentic as agentic
registry = agentic.ToolRegistry(settings=False)

@registry.tool
def spawn(x: int) -> int:
    'Spawn.'
    return x

@registry.tool
def spawn(name: str) -> str:
    'Spawn.'
    return name
"""


def test_a_name_used_twice_in_one_source_is_an_error_in_a_module_and_in_a_script(tmp_path, monkeypatch):
    (tmp_path / "named_twice.py").write_text(TWICE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NameClashError, match="spawn"):
        importlib.import_module("named_twice")
    done = subprocess.run([sys.executable, tmp_path / "named_twice.py"], capture_output=True, text=True, check=False)
    assert "NameClashError" in done.stderr
