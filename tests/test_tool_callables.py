"""Every kind of callable as a tool: methods, partials, objects, classes, wrappers."""

import enum
import functools
import gc

import pytest

from openxr_agentic import DefinitionError, ToolError
from openxr_agentic.definition.tool import define, mark_of, tool


def add(x: int, y: int) -> int:
    """Add two numbers."""
    return x + y


class Scene:
    """A scene."""

    class Mode(enum.Enum):
        SOLID = "solid"

    def __init__(self, name="main"):
        self.name = name
        self.closed = False

    @tool
    def spawn(self, count: int = 1) -> list:
        """Spawn."""
        return [self.name, count]

    def show(self, mode: "Mode") -> list:
        """Show."""
        return [self.name, mode]

    @tool
    @classmethod
    def make(cls, x: int = 1):
        """Make."""
        return cls, x

    @classmethod
    @tool
    def build(cls, x: int = 1):
        """Build."""
        return cls, x

    @tool
    @staticmethod
    def help(x: int = 1):
        """Help."""
        return x

    @staticmethod
    @tool
    def aid(x: int = 1):
        """Aid."""
        return x


def properties(defined):
    return list(defined.input_schema["properties"])


def test_each_object_gets_its_own_calls_and_self_is_no_parameter():
    first, second = Scene("a"), Scene("b")
    tools = [define(first.spawn), define(second.spawn)]
    assert [defined.execute({"count": 2}) for defined in tools] == [["a", 2], ["b", 2]]
    assert properties(tools[0]) == ["count"]


@pytest.mark.parametrize("name", ["make", "build"])
def test_class_methods_work_in_both_orders_of_the_decorators(name):
    class Derived(Scene): ...

    assert define(getattr(Scene, name)).execute({"x": 2}) == (Scene, 2)
    assert define(getattr(Derived, name)).execute() == (Derived, 1)
    assert properties(define(getattr(Scene(), name))) == ["x"]
    assert mark_of(vars(Scene)[name]) is mark_of(getattr(Scene, name)) is not None


@pytest.mark.parametrize("name", ["help", "aid"])
def test_static_methods_work_in_both_orders_of_the_decorators(name):
    assert define(getattr(Scene, name)).execute({"x": 2}) == 2
    assert define(vars(Scene)[name]).execute() == 1
    assert mark_of(vars(Scene)[name]) is not None


def test_a_name_of_the_class_is_found_in_a_methods_annotation():
    scene = Scene()
    assert define(scene.show).execute({"mode": "solid"}) == ["main", Scene.Mode.SOLID]


def test_a_method_that_is_not_bound_is_refused_with_advice():
    with pytest.raises(DefinitionError, match=r"first parameter is 'self'.*Register the method of an object"):
        define(Scene.spawn)


def test_a_classmethod_object_is_refused_with_advice():
    with pytest.raises(DefinitionError, match=r"not bound to its class yet. Register Class\.make"):
        define(vars(Scene)["make"])


# ---------------------------------------------------------------- owners


def test_a_tool_does_not_keep_its_object_alive_and_says_when_it_is_gone():
    scene = Scene()
    defined = define(scene.spawn)
    assert defined.execute() == ["main", 1]
    del scene
    gc.collect()
    with pytest.raises(ToolError, match="spawn was not run: its owner is gone: it was collected"):
        defined.execute()


def test_a_tool_of_a_closed_object_says_so_and_works_when_it_is_opened_again():
    scene = Scene()
    defined = define(scene.spawn)
    scene.closed = True
    with pytest.raises(ToolError, match="its owner is gone: it is closed"):
        defined.execute()
    scene.closed = False
    assert defined.execute() == ["main", 1]


def test_a_method_called_closed_does_not_close_anything():
    class Window:
        def closed(self):
            return True

        def show(self):
            """Show."""
            return "shown"

    window = Window()
    assert define(window.show).execute() == "shown"


def test_an_object_that_cannot_be_referenced_weakly_is_kept():
    class Slotted:
        __slots__ = ()

        def show(self):
            """Show."""
            return "shown"

    assert define(Slotted().show).execute() == "shown"


# ---------------------------------------------------------------- partial


@pytest.mark.parametrize(
    "given",
    [functools.partial(add, y=10), functools.update_wrapper(functools.partial(add, y=10), add)],
    ids=["plain", "update_wrapper"],
)
def test_arguments_bound_by_partial_are_hidden(given):
    defined = define(given)
    assert (defined.name, defined.description, properties(defined)) == ("add", "Add two numbers.", ["x"])
    assert defined.execute({"x": 1}) == 11


def test_partials_of_partials_and_of_methods_work():
    scene = Scene()
    assert define(functools.partial(functools.partial(add, 1), 2)).execute() == 3
    assert define(functools.partial(add, 1)).execute({"y": 2}) == 3
    assert define(functools.partial(scene.spawn, count=3)).execute() == ["main", 3]


def test_parameters_after_a_bound_one_are_given_by_name():
    def f(a: int, b: int, c: int, /, d: int, *, e: int = 5):
        """F."""
        return a, b, c, d, e

    assert define(functools.partial(f, 1, d=4)).execute({"b": 2, "c": 3}) == (1, 2, 3, 4, 5)


# ---------------------------------------------------------------- objects and classes


class Counter:
    """Count calls."""

    made = 0

    def __init__(self):
        Counter.made += 1
        self.calls = 0

    def execute(self, step: int = 1) -> int:
        """Execute.

        Args:
            step: How many
        """
        self.calls += step
        return self.calls


class Doubler:
    def __call__(self, x: int) -> int:
        """Double."""
        return 2 * x


def test_a_class_is_made_once_and_keeps_its_state():
    before = Counter.made
    defined = define(Counter)
    assert [defined.execute(), defined.execute({"step": 2})] == [1, 3]
    assert Counter.made == before + 1
    assert (defined.name, defined.description) == ("Counter", "Count calls.")
    assert defined.parameters[0].description == "How many (whole number; default: 1)"


def test_a_class_or_an_object_with_call_is_a_tool():
    for given in (Doubler, Doubler()):
        defined = define(given)
        assert (defined.name, defined.description, defined.execute({"x": 2})) == ("Doubler", "Double.", 4)


def test_a_class_that_needs_arguments_or_has_nothing_to_call_is_refused():
    class Needs:
        def __init__(self, x): ...

        def execute(self): ...

    class Nothing: ...

    with pytest.raises(DefinitionError, match="Needs cannot be made without arguments: TypeError"):
        define(Needs)
    with pytest.raises(DefinitionError, match="needs a method `execute` or `__call__`"):
        define(Nothing)


def test_what_is_not_callable_is_refused():
    with pytest.raises(DefinitionError, match="a int is not callable: 5"):
        define(5)


# ---------------------------------------------------------------- wrappers


def test_a_wrapped_function_is_called_through_its_wrapper():
    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            return "logged", function(*args, **kwargs)

        return wrapper

    defined = define(logged(add))
    assert properties(defined) == ["x", "y"]
    assert defined.execute({"x": 1, "y": 2}) == ("logged", 3)


def test_a_cached_function_is_a_tool():
    assert define(functools.lru_cache(add)).execute({"x": 1, "y": 2}) == 3


def test_a_function_implemented_in_c_is_a_tool_if_it_has_a_signature():
    assert define(len, description="Length").execute({"obj": [1, 2]}) == 2
    with pytest.raises(DefinitionError, match="its signature cannot be read"):
        define(max, description="Most")


def test_generators_are_refused():
    def counting():
        """Count."""
        yield 1

    async def waiting():
        """Wait."""
        yield 1

    for given in (counting, waiting):
        with pytest.raises(DefinitionError, match="it yields, and a tool returns one result"):
            define(given)


def test_the_origin_names_the_function_and_its_line():
    assert define(add).origin.startswith(f"{__name__}.add ({__file__}:")
