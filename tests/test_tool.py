"""Definitions of one tool: names, descriptions, parameters, defaults, marks, and what is refused."""

from __future__ import annotations

import asyncio
import enum
import functools
import inspect
import pickle
from typing import Annotated

import msgspec
import pydantic
import pytest

from openxr_agentic import DefinitionError, ParameterType, ToolParameter
from openxr_agentic.definition.tool import (
    current_call,
    define,
    mark_of,
    sanitize_tool_name,
    tool,
)
from openxr_agentic.errors import ArgumentError, ToolTimeoutError
from openxr_agentic.registry.registry import ToolRegistry

STRING, NUMBER, BOOLEAN, ARRAY, OBJECT = ParameterType


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


def move(position: tuple[float, float, float], name: Annotated[str | None, "Which"] = None, *, times: int = 1) -> dict:
    """Move an object.

    At once.

    Args:
        position: Where to
        name: not this
        times: How often
    """
    return {"position": position, "name": name, "times": times}


def told(defined):
    return {parameter.name: parameter.description for parameter in defined.parameters}


# ---------------------------------------------------------------- what is derived


def test_everything_is_derived_from_the_signature_and_the_docstring():
    defined = define(move)
    assert (defined.name, defined.title, defined.description) == ("move", "Move an object.", "Move an object.")
    assert defined.parameters == (
        ToolParameter("position", "Where to (3 numbers)", ARRAY, True, item_type=NUMBER),
        ToolParameter("name", "Which", STRING),
        ToolParameter("times", "How often (whole number; default: 1)", NUMBER),
    )
    assert defined.output_schema == {"type": "object"}
    assert defined.execute({"position": [1, 2, 3]}) == {"position": (1.0, 2.0, 3.0), "name": None, "times": 1}


def test_the_input_schema_is_whole():
    assert define(move).input_schema == {
        "type": "object",
        "properties": {
            "position": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 3,
                "maxItems": 3,
                "description": "Where to",
            },
            "name": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "Which", "default": None},
            "times": {"type": "integer", "description": "How often", "default": 1},
        },
        "required": ["position"],
        "additionalProperties": False,
    }


def test_a_tool_without_required_parameters_has_no_list_of_them():
    assert define(lambda: 1, name="n", description="d").input_schema == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


def test_a_tool_that_tolerates_unknown_arguments_says_so_in_its_schema():
    for tolerated in (True, ["extra"], "extra"):
        assert "additionalProperties" not in define(move, ignore_unknown=tolerated).input_schema


def test_options_win_over_what_is_derived():
    defined = define(
        move,
        name="go",
        prefix="My_",
        title="T",
        description="D",
        groups=["a", "b", "a"],
        enabled_by_default=False,
        main_thread=False,
        on_error="xr",
        timeout=None,
        annotations={"readOnlyHint": True, "title": "x"},
    )
    assert (defined.name, defined.title, defined.description, defined.groups) == ("My_go", "T", "D", ("a", "b"))
    assert (defined.enabled_by_default, defined.main_thread, defined.on_error, defined.timeout) == (
        False,
        False,
        "xr",
        None,
    )
    assert defined.annotations == {"readOnlyHint": True, "title": "x"}


def test_a_tool_cannot_be_changed():
    with pytest.raises(AttributeError):
        define(move).name = "x"


def test_a_single_text_is_one_group():
    assert define(move, groups="scene").groups == ("scene",)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("name", ["GetPose", "resolve-id", "a", "x_1"])
def test_a_valid_name_is_unchanged(name):
    assert sanitize_tool_name(name) == name
    assert define(move, name=name).name == name


def test_a_name_that_clients_refuse_is_changed_and_kept_as_title():
    defined = define(move, name="scene.get pose/left")
    assert (defined.name, defined.title) == ("scene_get_pose_left", "scene.get pose/left")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": "a.b", "strict_name": True}, "'a.b' has characters other than ASCII.*'a_b'"),
        ({"name": ""}, "name is empty"),
        ({"name": " "}, "name is empty"),
        ({"name": "名前"}, "Nothing of the tool's name"),
        ({"name": "n" * 60, "prefix": "MyApp_"}, "66 bytes of UTF-8; the limit is 63"),
        ({"name": 5}, "must be text, not 5"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused(options, words):
    with pytest.raises(DefinitionError, match=words):
        define(move, **options)


def test_a_lambda_needs_a_name():
    with pytest.raises(DefinitionError, match="has no name"):
        define(lambda: 1, description="d")


# ---------------------------------------------------------------- descriptions


def test_without_a_description_the_name_is_used_with_a_warning_at_the_users_line():
    def bare(): ...

    with pytest.warns(UserWarning, match="tool 'bare' has no description") as caught:
        assert define(bare).description == "bare"
    assert caught[0].filename == __file__


def test_a_description_that_is_too_long_is_refused_or_cut():
    with pytest.raises(DefinitionError, match="tool 'move': description has 1024 bytes"):
        define(move, description="d" * 1022 + "é")
    with pytest.warns(UserWarning, match="cut from 1024 to 1022 bytes"):
        assert define(move, description="d" * 1022 + "é", truncate=True).description == "d" * 1022


def test_notes_are_never_cut_the_authors_words_are_and_that_is_recorded():
    def paint(colour: Annotated[Colour, "é" * 511]):
        """Paint."""

    defined = define(paint)
    text = told(defined)["colour"]
    assert len(text.encode()) <= 1023
    assert text.endswith("é... (one of: red, green)")
    assert defined.fields[0].plan.lost == ("the end of its description",)
    assert defined.input_schema["properties"]["colour"]["description"] == "é" * 511


def test_descriptions_come_from_annotated_fields_and_metas():
    def f(
        a: Annotated[int, "metres"],
        b: Annotated[int, pydantic.Field(description="from a Field", ge=0)],
        c: Annotated[int, msgspec.Meta(description="from a Meta", le=9)],
        d: int = pydantic.Field(4, description="a default that is a Field", ge=0),
        e: Annotated[Annotated[int, "inner"], "outer"] = 1,
    ):
        """F."""

    defined = define(f)
    assert told(defined) == {
        "a": "metres (whole number)",
        "b": "from a Field (whole number; at least 0)",
        "c": "from a Meta (whole number; at most 9)",
        "d": "a default that is a Field (whole number; at least 0; default: 4)",
        "e": "outer (whole number; default: 1)",
    }
    with pytest.raises(ArgumentError, match="b: got -1"):
        defined.execute({"a": 1, "b": -1, "c": 1})


def test_a_long_default_is_not_told_but_in_the_schema():
    def f(words: str = "w" * 200):
        """F."""

    defined = define(f)
    assert told(defined)["words"] == ""
    assert defined.fields[0].plan.lost == ("its default",)
    assert defined.input_schema["properties"]["words"]["default"] == "w" * 200


# ---------------------------------------------------------------- options that are refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"annotations": {"readonlyHint": True}}, "no 'readonlyHint'. Did you mean 'readOnlyHint'"),
        ({"annotations": {"read_only_hint": True}}, "Did you mean 'readOnlyHint'"),
        ({"annotations": {"cost": 1}}, "It has title, readOnlyHint"),
        ({"annotations": {"readOnlyHint": 1}}, "readOnlyHint must be True or False"),
        ({"annotations": {"title": 1}}, "title must be text"),
        ({"annotations": 5}, "annotations must be a dict"),
        ({"groups": [""]}, "groups must be texts"),
        ({"on_error": "raise"}, "on_error must be"),
        ({"timeout": 0}, "timeout must be seconds"),
        ({"sizing": "most"}, "sizing must be"),
        ({"sizing": 0}, "sizing must be"),
        ({"timeout": "5"}, "timeout must be seconds"),
        ({"ignore_unknown": [1]}, "ignore_unknown must be"),
        ({"description": 5}, "description must be text"),
    ],
)
def test_an_option_of_the_wrong_kind_is_refused(options, words):
    with pytest.raises(DefinitionError, match=words):
        define(move, **options)


def test_an_option_that_there_is_not_is_a_type_error():
    with pytest.raises(TypeError, match="'colour' is no option of a tool"):
        define(move, colour=1)


def test_a_dry_run_gets_the_tools_arguments():
    def size(position, name, *, times):
        return {"times": times}

    defined = define(move, sizing=size)
    run = defined.dry_runner()
    assert run(defined.decoder.recover(b'{"position":[1,2,3],"times":4}')) == {"times": 4}
    assert define(move).dry_runner() is None


# ---------------------------------------------------------------- marks


@tool(name="Marked_Tool", groups="g")
def marked(x: int = 1) -> int:
    """Marked."""
    return x


def test_a_marked_function_is_the_very_same_function():
    def plain():
        """P."""

    assert tool(plain) is plain
    assert marked(5) == 5
    assert pickle.loads(pickle.dumps(marked)) is marked
    assert inspect.signature(marked).parameters["x"].default == 1


def test_a_definition_takes_the_marks_options_unless_given_others():
    assert (define(marked).name, define(marked).groups) == ("Marked_Tool", ("g",))
    assert define(marked, name="other").name == "other"
    assert mark_of(marked).options == {"name": "Marked_Tool", "groups": "g"}
    assert mark_of(move) is None


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (lambda: tool("name"), r"@tool\(name='name'\)"),
        (lambda: tool(name=""), "name is empty"),
        (lambda: tool(len), "takes no attributes"),
        (lambda: tool([].append), "takes no attributes"),
        (lambda: tool(5), "cannot be marked"),
    ],
)
def test_what_cannot_be_marked_is_refused(mark, words):
    with pytest.raises(DefinitionError, match=words):
        mark()


def test_a_subclass_of_a_marked_class_is_not_marked():
    @tool
    class Base:
        def execute(self): ...

    class Derived(Base): ...

    assert mark_of(Base) is not None
    assert mark_of(Derived) is None


# ---------------------------------------------------------------- async


async def wait(seconds: float = 0.0) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return current_call().tool_name


def test_an_async_tool_runs_from_synchronous_code_and_from_a_coroutine():
    defined = define(wait)
    assert defined.is_async
    assert defined.execute() == "wait"
    assert asyncio.run(defined.execute_async()) == "wait"
    assert asyncio.run(define(move).execute_async({"position": [1, 2, 3]}))["times"] == 1


def test_an_async_tool_that_takes_too_long_is_cancelled():
    defined = define(wait, timeout=0.05)
    with pytest.raises(ToolTimeoutError, match="wait took longer than 0.05 s"):
        defined.execute({"seconds": 30})
    with pytest.raises(ToolTimeoutError, match="wait took longer than 0.05 s"):
        asyncio.run(defined.execute_async({"seconds": 30}))


def test_a_synchronous_wrapper_of_an_async_function_is_awaited():
    @functools.wraps(wait)
    def wrapper(*args, **kwargs):
        return wait(*args, **kwargs)

    assert define(wrapper).execute() == "wait"


@pytest.mark.parametrize("option", ["enabled_by_default", "main_thread", "strict_name", "truncate"])
@pytest.mark.parametrize("given", ["no", 0, None])
def test_an_option_that_is_on_or_off_takes_nothing_else(option, given):
    def tell() -> str:
        """Tell."""
        return ""

    with pytest.raises(DefinitionError, match=f"{option} must be True or False, not {given!r}"):
        define(tell, **{option: given})
    with pytest.raises(DefinitionError, match=option):
        tool(**{option: given})


def test_a_tool_that_is_defined_already_is_enabled_by_default_or_not():
    def tell() -> str:
        """Tell."""
        return ""

    with pytest.raises(DefinitionError, match="enabled_by_default must be True or False, not 'no'"):
        ToolRegistry(settings=False).register(None, define(tell), enabled_by_default="no")
