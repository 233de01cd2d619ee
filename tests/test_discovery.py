"""Discovery: which tools are found where, what is imported for that, and what one broken part costs."""

import functools
import importlib
import subprocess
import sys
import textwrap

import pytest

from openxr_agentic.definition.tool import define, tool
from openxr_agentic.errors import DefinitionError
from openxr_agentic.registry import discovery
from openxr_agentic.registry.discovery import EntryPoints, Marked, find

MARK = "from openxr_agentic.definition.tool import tool\n"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write modules under tmp_path, which is on sys.path; they are forgotten at the end."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # a reload in the same second must see the new source

    def write(**sources):
        for name, source in sources.items():
            file = tmp_path / f"{name.replace('__in__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(MARK + textwrap.dedent(source), encoding="utf-8")

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def named(found):
    """What was found, as "module:qualname"."""
    return [f"{one.module}:{one.qualname}" for one in found.marked]


def problems(found):
    return [str(problem) for problem in found.problems]


def test_marked_functions_classes_and_static_and_class_methods_are_found_in_order_of_definition(write):
    write(
        scene="""
        @tool
        def spawn(): "Spawn."

        def helper(): "Not marked."

        class Scene:
            @tool
            def method(self): "It needs an object."
            @staticmethod
            @tool
            def reset(): "Reset."
            @tool
            @classmethod
            def count(cls): "Count."; return cls.__name__
            class Light:
                @tool
                @staticmethod
                def dim(): "Dim."

        @tool(name="stateful")
        class Counter:
            "Count."
            def execute(self): return 1

        class Derived(Scene): pass
        """
    )
    found = find(["scene"])
    assert named(found) == [
        "scene:spawn",
        "scene:Scene.reset",
        "scene:Scene.count",
        "scene:Scene.Light.dim",
        "scene:Counter",
    ]
    assert found.problems == []
    assert found.marked[2].callable() == "Scene"
    assert [define(one.callable).name for one in found.marked] == ["spawn", "reset", "count", "dim", "stateful"]


def test_a_tool_is_found_once_although_it_is_imported_into_several_modules(write):
    write(
        one="@tool\ndef spawn(): 'Spawn.'",
        two="from one import spawn\n@tool\ndef destroy(): 'Destroy.'",
        three="from one import *\nalias = spawn",
    )
    assert named(find(["three", "two"])) == ["two:destroy"]
    assert named(find(["three", "two", "one", "one"])) == ["two:destroy", "one:spawn"]


def test_a_package_that_lists_imported_tools_in_all_offers_them(write):
    write(
        kit__in____init__="from kit.lamps import lamp, Lamps, hidden\n__all__ = ['lamp', 'Lamps']",
        kit__in__lamps="""
        @tool
        def lamp(): "Lamp."
        @tool
        def hidden(): "Hidden."
        class Lamps:
            @tool
            @staticmethod
            def all_off(): "All off."
        """,
    )
    expected = ["kit.lamps:lamp", "kit.lamps:Lamps.all_off"]
    assert named(find(["kit"])) == expected
    assert named(find(["kit.*"])) == [*expected, "kit.lamps:hidden"]


def test_what_no_module_defines_by_name_counts_where_it_is_found(write):
    write(
        factory="""
        import functools
        def make(colour):
            @tool(name=f"spawn_{colour}")
            def spawn(): "Spawn."
            return spawn
        def plainly_wrapped(function):
            return lambda: function()
        def wrapped(function):
            @functools.wraps(function)
            def wrapper(): return function()
            return wrapper
        """,
        shop="""
        import functools
        from factory import make, plainly_wrapped, wrapped
        red = make("red")
        blue = make("blue")
        bound = tool(name="bound")(functools.partial(print, "x"))
        @tool(name="lambda")
        @plainly_wrapped
        def first(): "First."
        @wrapped
        @tool
        def second(): "Second."
        @functools.lru_cache
        @tool
        def third(): "Third."
        """,
        customer="from shop import second, third",
    )
    assert named(find(["factory"])) == []
    assert named(find(["shop"])) == [
        "shop:red", "shop:blue", "shop:bound", "shop:first", "shop:second", "shop:third"
    ]  # fmt: skip
    assert named(find(["customer"])) == []


def test_methods_are_found_in_an_object_and_bound_to_it():
    class Base:
        @tool
        def spawn(self):
            """Spawn."""
            return self.name

        @tool
        def hidden(self):
            """Hide it in the derived class."""

    class Scene(Base):
        def __init__(self, name):
            self.name = name

        def hidden(self):
            """Override without a mark."""

        @tool
        @classmethod
        def count(cls):
            """Count."""

        @property
        def explosive(self):
            raise RuntimeError("discovery must not read properties")

    first, second = Scene("first"), Scene("second")
    found = find([first, second, first])
    assert [one.qualname.rpartition(".")[2] for one in found.marked] == ["spawn", "count", "spawn"]
    assert [one.callable() for one in found.marked if one.qualname.endswith("spawn")] == ["first", "second"]
    assert found.problems == []


def test_a_class_and_a_marked_callable_can_be_targets():
    class Scene:
        @tool
        @staticmethod
        def reset():
            """Reset."""

        @tool
        def spawn(self):
            """Spawn."""

    @tool
    def single():
        """Single."""

    found = find([Scene, single, Scene().spawn, tool(functools.partial(single))])
    place = "test_a_class_and_a_marked_callable_can_be_targets.<locals>"
    assert [one.callable for one in found.marked][:2] == [Scene.reset, single]
    assert found.marked[0].qualname == f"{place}.Scene.reset"
    assert len(found.marked) == 4


def test_an_object_in_which_nothing_is_marked_is_reported():
    found = find([object(), 17])
    assert found.marked == []
    assert problems(found) == [
        f"target: Nothing in this builtins.{kind} object is marked with @agentic.tool. Mark its methods, or register "
        "it with ToolRegistry.register."
        for kind in ("object", "int")
    ]


def test_one_text_is_refused():
    with pytest.raises(TypeError, match=r"list of targets, not one text: \['scene'\]"):
        find("scene")


# ---------------------------------------------------------------- what is imported


def test_a_package_imports_only_itself(write):
    write(kit__in____init__="", kit__in__lamps="raise AssertionError('not asked for')")
    assert find(["kit"]).problems == []
    assert "kit.lamps" not in sys.modules


def test_a_package_with_a_star_imports_all_below_it_but_its_program(write):
    write(
        kit__in____init__="",
        kit__in____main__="raise SystemExit('a program must not be run')",
        kit__in__deep__in____init__="@tool\ndef first(): 'First.'",
        kit__in__deep__in__deeper="@tool\ndef second(): 'Second.'",
        kit__in__lamps="@tool\ndef third(): 'Third.'",
        kitchen="raise AssertionError('not asked for')",
    )
    found = find(["kit.*"])
    assert named(found) == ["kit.deep:first", "kit.deep.deeper:second", "kit.lamps:third"]
    assert found.problems == []
    assert named(find(["kit.deep.*"])) == ["kit.deep:first", "kit.deep.deeper:second"]
    assert named(find(["kit.lamps.*"])) == ["kit.lamps:third"]


def test_no_module_is_imported_twice(write):
    write(
        counting="runs = []",
        kit__in____init__="import counting; counting.runs.append(__name__)\nfrom kit import lamps",
        kit__in__lamps="import counting; counting.runs.append(__name__)\n@tool\ndef lamp(): 'Lamp.'",
    )
    find(["kit.lamps", "kit.*", "kit", "kit.*"])
    find(["kit.*"])
    assert sys.modules["counting"].runs == ["kit", "kit.lamps"]


@pytest.mark.parametrize("how", [["program.py"], ["-m", "program"]])
def test_the_running_program_is_not_imported_again(how, tmp_path):
    (tmp_path / "program.py").write_text(
        MARK
        + "print('run')\n@tool\ndef spawn(): 'Spawn.'\n"
        + "from openxr_agentic.registry.discovery import find\n"
        + "found = find(['program'])\nprint(found.problems, found.marked[0].callable is spawn)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, *how], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.split("\n")[:2] == ["run", "[] True"]


def test_names_that_a_module_makes_when_asked_are_not_asked_for(write):
    write(lazy="__all__ = ['heavy']\ndef __getattr__(name): raise AssertionError('not asked for')")
    assert find(["lazy"]) == ([], [])


def test_an_object_that_stands_for_another_is_passed_over(write):
    write(
        proxies="""
        class Proxy:
            def __getattribute__(self, name): raise RuntimeError("outside of its context")
        request = Proxy()
        @tool
        def spawn(): "Spawn."
        """
    )
    assert named(find(["proxies"])) == ["proxies:spawn"]


def test_a_reload_brings_the_new_function_under_the_same_name(write):
    write(scene="@tool\ndef spawn(): 'Spawn.'")
    before = find(["scene"])
    write(scene="# moved\n@tool\ndef spawn(): 'Spawn a cube.'")
    importlib.reload(sys.modules["scene"])
    after = find(["scene"])
    assert named(after) == named(before) == ["scene:spawn"]
    assert after.marked[0].callable is not before.marked[0].callable
    assert after.marked[0].callable.__doc__ == "Spawn a cube."
    assert find([sys.modules["scene"]]) == after


# ---------------------------------------------------------------- what is broken


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ImportError('no lamp')", r"module bad: ImportError: no lamp \(.*bad\.py:2\)\.$"),
        ("import nonsense_xyz", r"module bad: ModuleNotFoundError: No module named 'nonsense_xyz' \(.*bad\.py:2\)\.$"),
        ("def (:", r"module bad: SyntaxError: invalid syntax \(bad\.py, line 2\)\.$"),
        ("raise SystemExit(3)", r"module bad: SystemExit: 3 \(.*bad\.py:2\)\. .*__name__ == '__main__' only\.$"),
        ("import sys; sys.exit()", r"module bad: SystemExit \(.*"),
        ("tool(name='')", r"module bad: A tool's name is empty\. Leave it out .* \(.*bad\.py:2\)\.$"),
        ("1 / 0", r"module bad: ZeroDivisionError: division by zero \(.*bad\.py:2\)\.$"),
    ],
)
def test_a_broken_module_is_reported_and_does_not_stop_the_rest(write, source, said):
    write(bad=source, good="\n".join(f"@tool\ndef good_{n}(): 'Good.'" for n in range(5)))
    found = find(["bad", "good", "bad"])
    assert named(found) == [f"good:good_{n}" for n in range(5)]
    assert len(found.problems) == 1
    assert found.problems[0].where == "module bad"
    assert pytest.raises(AssertionError, match=said).matches(AssertionError(str(found.problems[0])))


def test_one_broken_tool_does_not_hide_the_others_of_its_module(write):
    write(
        tools="\n".join(f"@tool\ndef good_{n}(): 'Good.'" for n in range(5))
        + "\n@tool\ndef bad(x: complex): 'A complex number cannot be said in JSON.'"
    )
    found = find(["tools"])
    *good, bad = found.marked
    assert [define(one.callable).name for one in good] == [f"good_{n}" for n in range(5)]
    with pytest.raises(DefinitionError, match=r"tool 'bad'.*complex"):
        define(bad.callable)


def test_a_broken_package_is_run_once_and_reported_once(write):
    write(
        counting="runs = []",
        kit__in____init__="import counting; counting.runs.append(1)\nraise RuntimeError('no light')",
        kit__in__lamps="",
        kit__in__doors="",
    )
    found = find(["kit.*", "kit.lamps", "kit.doors"])
    assert [problem.where for problem in found.problems] == ["module kit"]
    assert sys.modules["counting"].runs == [1]


def test_a_module_that_was_mended_is_found_by_the_next_find(write):
    write(scene="raise ImportError")
    assert find(["scene"]).problems
    write(scene="@tool\ndef spawn(): 'Spawn.'")
    assert named(find(["scene"])) == ["scene:spawn"]


@pytest.mark.parametrize("name", ["", ".relative", "nonsense_xyz", "json.nonsense", "*", "json.decoder.nonsense.*"])
def test_a_name_that_leads_nowhere_is_reported(name):
    found = find([name])
    assert found.marked == []
    assert len(found.problems) == 1


def test_ctrl_c_while_importing_is_not_taken_for_a_broken_module(write):
    write(slow="raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        find(["slow"])


# ---------------------------------------------------------------- entry points


def install(tmp_path, name, text):
    folder = tmp_path / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(text, encoding="utf-8")


def test_entry_points_are_looked_at_when_asked_for(write, tmp_path):
    write(
        plug_lamps="@tool\ndef lamp(): 'Lamp.'\nclass Lamps:\n    @tool\n    def dim(self): 'Dim.'\nlamps = Lamps()",
        plug_broken="raise ImportError('no light')",
    )
    install(
        tmp_path,
        "plug",
        f"[{discovery.ENTRY_POINT_GROUP}]\n"
        "a = plug_lamps\nb = plug_lamps:lamps\nc = plug_lamps:lamp\nd = plug_broken\ne = plug_broken:other\n"
        "f = plug_lamps:nonsense.deeper\n[other.group]\nlamp = plug_lamps:lamp\n",
    )
    assert find([]) == ([], [])
    assert "plug_lamps" not in sys.modules
    found = find([EntryPoints()])
    assert named(found) == ["plug_lamps:lamp", "plug_lamps:Lamps.dim"]
    assert problems(found)[0].startswith("module plug_broken: ImportError: no light (")
    assert problems(found)[1:] == [
        "entry point f = plug_lamps:nonsense.deeper of plug: AttributeError: module 'plug_lamps' has no attribute "
        "'nonsense'."
    ]
    assert find([EntryPoints("other.group")]).marked == [
        Marked(sys.modules["plug_lamps"].lamp, "plug_lamps", "lamp")
    ]  # fmt: skip
