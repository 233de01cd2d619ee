"""Advice on tools: what agents and their clients may stumble over, in a fixed order, in words that help."""

from typing import Annotated, Any

import pytest

from openxr_agentic.definition.tool import define
from openxr_agentic.parameters import ParameterType, ToolParameter
from openxr_agentic.registry.advice import Advice, check, report


def clean(size: Annotated[float, "Edge in metres"]) -> dict:
    """Create a cube in the scene and return its id and place."""
    return {}


def tool_named(name, **options):
    return define(clean, name=name, **options)


def kinds(*tools, **options):
    return [(advice.tool, advice.kind, advice.severity) for advice in check(tools, **options)]


def only(function, kind, **options):
    """The one piece of that kind on a function as a tool."""
    (found,) = [advice for advice in check([define(function, prefix="MyApp_", **options)]) if advice.kind == kind]
    return found


def test_there_is_nothing_to_say_of_a_good_tool():
    assert check([tool_named("MyApp_create_cube")]) == []
    assert check([]) == []
    assert report([]) == "Nothing to say: agents should get along with these tools."


# ---------------------------------------------------------------- names


def test_a_name_that_is_too_long_behind_a_clients_prefix_is_named_with_its_full_length():
    name, server = "MyApp_" + "x" * 44, "s" * 20
    (advice,) = check([tool_named(name), tool_named("MyApp_short")], server_name=server)
    assert (advice.tool, advice.kind, advice.severity) == (name, "name-length", "warning")
    assert f"50 characters, and with what clients put in front 77 characters as mcp__{server}__{name}" in advice.text
    assert f"71 characters as {server}:{name} (at most 60)" in advice.text
    assert advice.text.endswith("Shorten it, or the server's name, by 13 characters.")


@pytest.mark.parametrize(("length", "warned"), [(51, False), (52, True)])
def test_the_limit_itself_is_not_too_long(length, warned):
    name = "MyApp_".ljust(length, "x")
    assert len("mcp__openxr__") + 51 == 64
    prefixes = {"mcp__{server}__": 64}
    assert kinds(tool_named(name), client_prefixes=prefixes) == [(name, "name-length", "warning")] * warned


def test_the_prefixes_of_other_clients_can_be_given():
    found = check([tool_named("MyApp_create_cube")], client_prefixes={"{server}/": 10, "other.": 1000})
    assert [advice.kind for advice in found] == ["name-length"]
    assert "24 characters as openxr/MyApp_create_cube (at most 10)" in found[0].text
    assert "other." not in found[0].text


@pytest.mark.parametrize("name", ["create_cube", "spawn", "Create_Cube", "get-pose"])
def test_a_name_without_the_apps_prefix_may_meet_a_built_in_tool(name):
    (advice,) = check([tool_named(name)])
    assert (advice.kind, advice.severity) == ("name-prefix", "hint")
    assert f"MyApp_{name}" in advice.text


@pytest.mark.parametrize("name", ["MyApp_create_cube", "lamps_dim", "Kitchen-open_door"])
def test_any_word_that_is_no_verb_is_a_prefix(name):
    assert kinds(tool_named(name)) == []


def test_more_tools_than_clients_show_are_named_with_their_groups():
    many = [tool_named(f"MyApp_tool_{n}", groups=["scene"] if n % 3 else ["scene", "debug"]) for n in range(150)]
    (advice,) = check(many)
    assert (advice.tool, advice.kind, advice.severity) == ("", "tool-count", "warning")
    assert advice.text.startswith("150 tools are enabled, and some clients show no more than 100.")
    assert advice.text.endswith("there are: debug (50), scene (150).")
    assert check(many[:100]) == []


def test_without_groups_the_advice_is_to_make_some():
    (advice,) = check([tool_named(f"MyApp_tool_{n}") for n in range(101)])
    assert "Put them into groups" in advice.text


# ---------------------------------------------------------------- descriptions


def test_a_tool_without_a_description_is_a_warning():
    def spawn() -> None: ...

    with pytest.warns(UserWarning, match="no description"):
        advice = only(spawn, "description")
    assert advice == Advice(
        "MyApp_spawn", "description", "It has no description, and agents choose tools by that.", "warning"
    )


@pytest.mark.parametrize("text", ["Spawn cube.", "spawn_cube", "MyApp spawn cube", "Cube"])
def test_a_description_that_only_repeats_the_name_is_a_warning(text):
    def spawn_cube() -> None: ...

    advice = only(spawn_cube, "description", description=text)
    assert advice.severity == "warning"
    assert f"{text!r} says no more than its name" in advice.text


def test_a_short_description_is_a_hint():
    def spawn() -> None:
        """Spawns one enemy."""

    assert only(spawn, "description").severity == "hint"


@pytest.mark.parametrize("used", [920, 921, 1023])
def test_a_description_near_its_limit_is_a_hint(used):
    def spawn(place: Annotated[str, "p" * used]) -> None:
        """Spawn an enemy at a place."""

    found = [
        advice.text
        for advice in check([define(spawn, prefix="MyApp_", description="d " * (used // 2) + "d" * (used % 2))])
        if advice.kind == "description-length"
    ]
    assert [text.split(" has ")[1].split(" bytes")[0] for text in found] == [f"{used} of at most 1023"] * (
        2 if used > 920 else 0
    )


# ---------------------------------------------------------------- results


def test_a_description_says_what_comes_back():
    def move(x: Annotated[float, "Metres"]) -> float:
        """Move the cube to the right."""
        return x

    def tells(x: Annotated[float, "Metres"]) -> float:
        """Move the cube to the right, and return how far it came."""
        return x

    assert only(move, "result").text.startswith("Its description says nothing of what it returns.")
    assert kinds(define(tells, prefix="MyApp_")) == []


def test_a_tool_that_returns_nothing_need_not_say_so():
    def move(x: Annotated[float, "Metres"]) -> None:
        """Move the cube to the right."""

    def silent(x: Annotated[float, "Metres"]):
        """Move the cube to the right."""

    assert kinds(define(move, prefix="MyApp_"), define(silent, prefix="MyApp_")) == []


def test_data_should_come_as_json():
    def get_pose() -> str:
        """Return the pose of the head in metres."""
        return "0 1 2"

    advice = only(get_pose, "result")
    assert advice.severity == "hint"
    assert "return a dict, a list or a dataclass" in advice.text


def test_postponed_annotations_are_understood():
    def get_pose() -> "str":
        """Return the pose of the head in metres."""

    def move() -> "None":
        """Move the cube to the right."""

    assert only(get_pose, "result")
    assert kinds(define(move, prefix="MyApp_")) == []


# ---------------------------------------------------------------- parameters


def test_each_parameter_is_described():
    def move(x: float, y: Annotated[float, "Y."], z: Annotated[float, "Metres upward"]) -> None:
        """Move the cube by so much."""

    found = [advice for advice in check([define(move, prefix="MyApp_")]) if advice.kind == "parameter-description"]
    assert [(advice.severity, advice.text.split("'")[1]) for advice in found] == [("warning", "x"), ("hint", "y")]


def test_notes_of_ours_are_no_description():
    def paint(colour: int = 3) -> None:
        """Paint the cube in a colour."""

    assert only(paint, "parameter-description").severity == "warning"


def test_required_parameters_come_first():
    listed = [
        ToolParameter("a", "First thing", ParameterType.STRING, required=True),
        ToolParameter("b", "Second thing", ParameterType.STRING),
        ToolParameter("c", "Third thing", ParameterType.STRING, required=True),
        ToolParameter("d", "Fourth thing", ParameterType.STRING, required=True),
    ]

    def move(**arguments) -> None:
        """Move the cube by so much."""

    advice = only(move, "parameter-order", parameters=listed)
    assert advice.severity == "hint"
    assert "behind optional ones: c, d." in advice.text
    assert kinds(define(move, prefix="MyApp_", parameters=listed[:2])) == []


def test_what_the_extensions_types_cannot_hold_is_named():
    def store(value: Annotated[Any, "What to store"]) -> None:
        """Store a value for later use."""

    advice = only(store, "lost-detail")
    assert advice.severity == "hint"
    assert "parameter 'value'" in advice.text
    assert "any JSON value is accepted" in advice.text


# ---------------------------------------------------------------- all together


def messy_tools():
    def create(a=1, *, b) -> int:
        """Create."""

    return [tool_named("zebra"), define(create), tool_named("MyApp_" + "x" * 57)]


def test_the_order_is_the_same_whatever_the_order_of_the_tools():
    tools = messy_tools()
    assert check(tools) == check(tools[::-1])
    assert [advice.tool for advice in check(tools)] == sorted(advice.tool for advice in check(tools))


def test_the_report_has_a_heading_for_each_tool_and_warnings_first():
    text = report(check(messy_tools()))
    lines = text.split("\n")
    assert [line for line in lines[:-1] if not line.startswith("  ")] == ["MyApp_" + "x" * 57, "create", "zebra"]
    of_create = lines[lines.index("create") + 1 : lines.index("zebra")]
    assert [line.split(":")[0].strip() for line in of_create] == ["warning"] * 3 + ["hint"] * 4
    assert lines[-1] == "4 warnings, 5 hints"
