"""Types of parameters: their JSON schema, the extension's type, the words, and what a tool gets."""

# Every way of writing a type is tried, the old ones too.
# ruff: noqa: UP006, UP007, UP045, PYI061, F821

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import pathlib
import re
import sys
import typing
import uuid
from collections import abc
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict, TypeVar, Union

import annotated_types as at
import msgspec
import pydantic
import pytest
import typing_extensions

from openxr_agentic import DefinitionError, ParameterType
from openxr_agentic.schema.plan import plan, plan_of_schema, result_schema

STRING, NUMBER, BOOLEAN, ARRAY, OBJECT = ParameterType


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mode(enum.Enum):
    FAST = enum.auto()
    SLOW = enum.auto()


@dataclasses.dataclass
class Pose:
    """A pose.

    Attributes:
        position: Where, in metres.
    """

    position: tuple[float, float, float]
    yaw: Annotated[float, "Degrees", at.Ge(0), at.Lt(360)] = 0.0
    file: pathlib.Path | None = None
    tags: list[str] = dataclasses.field(default_factory=list)


class Vector(NamedTuple):
    x: float
    y: float = 1.0


class Window(TypedDict):
    width: int
    title: typing_extensions.NotRequired[Annotated[str, "Shown on top"]]


class Light(msgspec.Struct, forbid_unknown_fields=True):
    watts: int
    colour: str = "white"


class Model(pydantic.BaseModel):
    count: int = pydantic.Field(ge=3, description="How many")
    inner: Model | None = None


@dataclasses.dataclass
class Node:
    value: int
    children: list[Node] = dataclasses.field(default_factory=list)


def planned(annotation):
    return plan(annotation, "tool 't': parameter 'p'")


def read(annotation, text):
    """Decode strictly, as a call does."""
    made = planned(annotation)
    value = msgspec.json.decode(text, type=made.decode_type)
    return value if made.convert is None else made.convert(value)


# ---------------------------------------------------------------- simple types


@pytest.mark.parametrize(
    ("annotation", "kind", "schema", "notes"),
    [
        (str, STRING, {"type": "string"}, ""),
        (float, NUMBER, {"type": "number"}, ""),
        (int, NUMBER, {"type": "integer"}, "whole number"),
        (bool, BOOLEAN, {"type": "boolean"}, ""),
        (int | float, NUMBER, {"type": "number"}, ""),
        (dt.datetime, STRING, {"type": "string", "format": "date-time"}, "date and time in ISO 8601"),
        (dt.date, STRING, {"type": "string", "format": "date"}, "date as YYYY-MM-DD"),
        (dt.time, STRING, {"type": "string", "format": "time"}, "time as HH:MM:SS"),
        (dt.timedelta, STRING, {"type": "string", "format": "duration"}, "duration in ISO 8601, as PT1.5S"),
        (uuid.UUID, STRING, {"type": "string", "format": "uuid"}, "UUID"),
        (decimal.Decimal, STRING, {"type": "string", "format": "decimal"}, "decimal number as text"),
        (pathlib.Path, STRING, {"type": "string", "format": "path"}, "path"),
        (bytes, STRING, {"type": "string", "contentEncoding": "base64"}, "bytes in base64"),
        (Literal["a", "b"], STRING, {"type": "string", "enum": ["a", "b"]}, "one of: a, b"),
        (Literal[1, 2], NUMBER, {"type": "integer", "enum": [1, 2]}, "one of: 1, 2"),
        (Literal[True, False], BOOLEAN, {"type": "boolean"}, ""),
        (Literal["a,b", ""], STRING, {"type": "string", "enum": ["a,b", ""]}, 'one of: "a,b", ""'),
        (Colour, STRING, {"type": "string", "enum": ["red", "green"]}, "one of: red, green"),
        (Level, NUMBER, {"type": "integer", "enum": [1, 2]}, "one of: 1 (LOW), 2 (HIGH)"),
        (Mode, STRING, {"type": "string", "enum": ["FAST", "SLOW"]}, "one of: FAST, SLOW"),
        (Literal[Colour.RED], STRING, {"type": "string", "enum": ["red"]}, "one of: red"),
        (NewType("Metres", float), NUMBER, {"type": "number"}, ""),
        (typing_extensions.TypeAliasType("Name", str), STRING, {"type": "string"}, ""),
        (typing_extensions.LiteralString, STRING, {"type": "string"}, ""),
        (TypeVar("Bound", bound=float), NUMBER, {"type": "number"}, ""),
        (TypeVar("Either", int, float), NUMBER, {"type": "number"}, ""),
    ],
)
def test_a_type_has_a_kind_a_schema_and_the_words_that_its_kind_cannot_say(annotation, kind, schema, notes):
    made = planned(annotation)
    assert (made.type, made.json_schema, made.notes) == (kind, schema, notes)
    assert made.takes_text == (kind is STRING)


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (dt.datetime, '"2025-01-31T12:00:00Z"', dt.datetime(2025, 1, 31, 12, tzinfo=dt.timezone.utc)),
        (dt.date, '"2025-01-31"', dt.date(2025, 1, 31)),
        (dt.time, '"12:30:00"', dt.time(12, 30)),
        (dt.timedelta, '"PT1.5S"', dt.timedelta(seconds=1.5)),
        (uuid.UUID, '"12345678-1234-5678-1234-567812345678"', uuid.UUID("12345678-1234-5678-1234-567812345678")),
        (pathlib.Path, '"a/b"', pathlib.Path("a/b")),
        (pathlib.PurePosixPath, '"a/b"', pathlib.PurePosixPath("a/b")),
        (decimal.Decimal, '"0.10"', decimal.Decimal("0.10")),
        (bytes, '"aGk="', b"hi"),
        (Colour, '"red"', Colour.RED),
        (Colour, '"RED"', Colour.RED),
        (Level, "2", Level.HIGH),
        (Level, '"HIGH"', Level.HIGH),
        (Level, '"2"', Level.HIGH),
        (Mode, '"SLOW"', Mode.SLOW),
        (Mode, "2", Mode.SLOW),
        (Literal[Colour.RED, None], "null", None),
        (Optional[pathlib.Path], "null", None),
        (Optional[pathlib.Path], '"a"', pathlib.Path("a")),
        (list[pathlib.Path], '["a"]', [pathlib.Path("a")]),
        (set[Colour], '["red","RED"]', {Colour.RED}),
        (frozenset[int], "[1,1]", frozenset({1})),
        (tuple[float, float, float], "[1,2,3]", (1.0, 2.0, 3.0)),
        (tuple[Colour, ...], '["red"]', (Colour.RED,)),
        (tuple[Colour, pathlib.Path], '["red","a"]', (Colour.RED, pathlib.Path("a"))),
        (abc.Sequence[int], "[1]", [1]),
        (typing.Iterable[int], "[1]", [1]),
        (abc.Mapping[str, Colour], '{"a":"red"}', {"a": Colour.RED}),
        (dict[Colour, int], '{"red":1}', {Colour.RED: 1}),
        (dict[int, str], '{"1":"a"}', {1: "a"}),
        (Union[pathlib.Path, str], '"a"', pathlib.Path("a")),
        (Union[str, pathlib.Path], '"a"', "a"),
        (Any, '{"a":[1]}', {"a": [1]}),
        (Pose, '{"position":[1,2,3],"file":"a"}', Pose((1.0, 2.0, 3.0), 0.0, pathlib.Path("a"), [])),
        (Pose, '{"position":[1,2,3],"tags":null}', Pose((1.0, 2.0, 3.0))),
        (Vector, '{"x":2}', Vector(2.0)),
        (Vector, "[2,3]", Vector(2.0, 3.0)),
        (Window, '{"width":3}', {"width": 3}),
        (Light, '{"watts":3}', Light(3)),
        (Model, '{"count":3,"inner":{"count":4}}', Model(count=3, inner=Model(count=4))),
        (Node, '{"value":1,"children":[{"value":2,"children":[{"value":3}]}]}', Node(1, [Node(2, [Node(3)])])),
        (NewType("Thing", Colour), '"red"', Colour.RED),
    ],
)
def test_a_tool_gets_the_real_object(annotation, text, value):
    got = read(annotation, text)
    assert got == value
    assert type(got) is type(value)


@pytest.mark.parametrize(
    ("annotation", "text", "words"),
    [
        (dt.date, '"yesterday"', "Invalid RFC3339"),
        (uuid.UUID, '"1"', "Invalid UUID"),
        (decimal.Decimal, '"much"', "Invalid decimal"),
        (bytes, '"?"', "Invalid base64"),
        (Colour, '"blue"', "must be one of: red, green, not 'blue'"),
        (Level, "3", r"one of: 1 \(LOW\), 2 \(HIGH\)"),
        (Level, "true", "got `bool`"),
        (Literal[True], "false", "must be one of: true"),
        (tuple[float, float, float], "[1,2]", "length 3"),
        (tuple[float, float, float], "[1,2,3,4]", "length 3"),
        (Pose, '{"position":[1,2,3],"yaw":360}', "360"),
        (Pose, '{"position":[1,2,3],"colour":1}', "unknown field `colour`"),
        (Vector, "[1,2,3]", r"a Vector has 2 values \(x, y\), not 3"),
        (list[Vector], '[[1],["a"]]', r"\[1\]\.x: Expected"),
        (Node, '{"value":1,"children":[{"value":"a"}]}', r"children\[0\]\.value: Expected"),
        (Model, '{"count":1}', "count: .*greater than or equal to 3"),
        (dict[str, Colour], '{"a":"x"}', "a: must be one of"),
        (Union[dt.date, uuid.UUID], '"x"', "fits none"),
    ],
)
def test_what_does_not_fit_is_a_value_error_that_says_where_and_why(annotation, text, words):
    with pytest.raises(ValueError, match=words):
        read(annotation, text)


# ---------------------------------------------------------------- arrays


@pytest.mark.parametrize(
    "annotation", [list, list[Any], tuple, set, abc.Sequence, typing.List, typing.Tuple, typing.Iterable]
)
def test_an_array_of_anything_has_a_valid_item_type_and_says_that_items_may_be_anything(annotation):
    made = planned(annotation)
    assert (made.type, made.item_type, made.json_schema["items"]) == (ARRAY, STRING, {})
    assert made.notes == "items of any JSON type"
    assert made.lost


@pytest.mark.parametrize(
    ("annotation", "item", "notes"),
    [
        (list[float], NUMBER, ""),
        (list[int], NUMBER, "whole numbers"),
        (tuple[float, float, float], NUMBER, "3 numbers"),
        (tuple[int, float], NUMBER, "2 numbers: [0] whole number"),
        (list[tuple[float, float]], ARRAY, "arrays of 2 numbers"),
        (list[Colour], STRING, "Colour values, each one of: red, green"),
        (Annotated[list[float], at.Len(3, 3)], NUMBER, "3 numbers"),
        (Annotated[list[str], at.MinLen(1)], STRING, "at least 1 texts"),
        (Annotated[list[Annotated[int, at.Interval(ge=0, le=255)]], at.Len(0, 4)], NUMBER,
         "at most 4 whole numbers, each 0 to 255"),
        (list[Vector], OBJECT, "objects with x (number), y (number; optional)"),
    ],
)  # fmt: skip
def test_an_array_says_what_it_holds_and_how_many(annotation, item, notes):
    made = planned(annotation)
    assert (made.type, made.item_type, made.notes) == (ARRAY, item, notes)


def test_aliases_of_python_3_12_are_what_they_stand_for():
    if sys.version_info < (3, 12):
        pytest.skip("no `type` statement")
    space = {}
    exec("type Pair[T] = tuple[T, T]\ntype Json = dict[str, Json] | str\ntype Row = list[Pair[float]]", space)
    assert planned(space["Row"]).notes == "arrays of 2 numbers"
    assert planned(space["Pair"][int]).notes == "2 whole numbers"
    assert read(dict[str, space["Json"]], '{"a":{"b":{"c":"d"}}}') == {"a": {"b": {"c": "d"}}}


def test_a_tuple_of_fixed_length_is_an_array_of_that_length():
    schema = planned(tuple[float, float, float]).json_schema
    assert schema == {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}


# ---------------------------------------------------------------- objects


def test_an_object_tells_its_fields_with_descriptions_limits_defaults_and_what_is_required():
    assert planned(Pose).json_schema == {
        "type": "object",
        "properties": {
            "position": {
                "type": "array",
                "items": {"type": "number"},
                "minItems": 3,
                "maxItems": 3,
                "description": "Where, in metres.",
            },
            "yaw": {"type": "number", "minimum": 0, "exclusiveMaximum": 360, "description": "Degrees", "default": 0.0},
            "file": {"anyOf": [{"type": "string", "format": "path"}, {"type": "null"}], "default": None},
            "tags": {"type": "array", "items": {"type": "string"}, "default": []},
        },
        "required": ["position"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("annotation", [Pose, Vector, Window, Light, Model, Node, dict[str, Pose], list[Model]])
def test_schemas_stand_on_their_own(annotation):
    made = planned(annotation)
    for text in (msgspec.json.encode(made.json_schema), (made.object_properties or "").encode()):
        assert b"$ref" not in text
        assert b"$defs" not in text


def test_keys_that_a_typed_dict_does_not_require_are_optional_under_postponed_annotations():
    schema = planned(Window).json_schema
    assert schema["required"] == ["width"]
    assert schema["properties"]["title"]["description"] == "Shown on top"


def test_a_struct_that_msgspec_can_read_alone_is_left_to_it():
    made = planned(Light)
    assert (made.decode_type, made.convert) == (Light, None)


def test_a_recursive_type_is_described_once_and_is_an_object_where_it_comes_again():
    again = planned(Node).json_schema["properties"]["children"]["items"]
    assert again == {"type": "object", "description": "Node, as described around it"}


def test_generic_records_are_described_with_their_arguments():
    T = TypeVar("T")

    @dataclasses.dataclass
    class Box(typing.Generic[T]):
        inside: T

    Box.__annotations__["inside"] = T
    assert planned(Box[int]).json_schema["properties"] == {"inside": {"type": "integer"}}
    assert read(Box[Colour], '{"inside":"red"}').inside is Colour.RED


def test_a_choice_between_types_is_possible_inside_an_object():
    made = planned(dict[str, int | str])
    assert made.json_schema["additionalProperties"] == {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    assert read(dict[str, int | str], '{"a":1,"b":"x"}') == {"a": 1, "b": "x"}


def test_types_of_pydantics_own_are_described_and_checked_by_pydantic():
    assert planned(pydantic.AnyUrl).json_schema["format"] == "uri"
    with pytest.raises(ValueError, match="valid URL"):
        read(pydantic.AnyUrl, '"x"')
    assert planned(pydantic.JsonValue).json_schema == {}
    even = Annotated[int, pydantic.AfterValidator(lambda value: value * 2)]
    assert (planned(even).type, read(even, "2")) == (NUMBER, 4)


# ---------------------------------------------------------------- null


@pytest.mark.parametrize(
    "annotation",
    [Optional[str], Union[str, None], "str | None", Literal["a", None], Annotated[str | None, at.MinLen(1)]],
)
def test_a_nullable_type_keeps_its_kind_and_accepts_null(annotation):
    made = planned(annotation)
    assert (made.type, made.nullable) == (STRING, True)
    assert made.json_schema["anyOf"][1] == {"type": "null"}
    assert read(annotation, "null") is None
    assert read(annotation, '"a"') == "a"


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("annotation", "schema", "notes", "good", "bad"),
    [
        (Annotated[float, at.Ge(0), at.Le(1)], {"minimum": 0, "maximum": 1}, "0 to 1", "0.5", "2"),
        (Annotated[float, at.Gt(0)], {"exclusiveMinimum": 0}, "more than 0", "1", "0"),
        (Annotated[int, at.MultipleOf(5)], {"multipleOf": 5}, "whole number; a multiple of 5", "10", "7"),
        (Annotated[int, msgspec.Meta(lt=3)], {"exclusiveMaximum": 3}, "whole number; less than 3", "2", "3"),
        (Annotated[int, pydantic.Field(ge=0.5)], {"minimum": 0.5}, "whole number; at least 0.5", "1", "0"),
        (Annotated[int, at.Ge(2**70)], {"minimum": 2**70}, f"whole number; at least {2**70}", str(2**70), "1"),
        (Annotated[int | float, at.Ge(0)], {"minimum": 0}, "at least 0", "1", "-1"),
        (Annotated[str, at.Len(1, 3)], {"minLength": 1, "maxLength": 3}, "1 to 3 characters", '"ab"', '"abcd"'),
        (Annotated[str, msgspec.Meta(pattern="^a")], {"pattern": "^a"}, "matches ^a", '"ab"', '"b"'),
        (Annotated[str, pydantic.Field(pattern="^a")], {"pattern": "^a"}, "matches ^a", '"ab"', '"b"'),
        (Annotated[decimal.Decimal, at.Ge(1)], {}, "decimal number as text; at least 1", '"1.5"', '"0.5"'),
        (Annotated[int, at.Predicate(lambda value: value % 2)], {}, "whole number", "1", "2"),
    ],
)
def test_limits_are_told_and_enforced(annotation, schema, notes, good, bad):
    made = planned(annotation)
    assert {key: value for key, value in made.json_schema.items() if key not in ("type", "format")} == schema
    assert made.notes == notes
    read(annotation, good)
    with pytest.raises(ValueError, match="."):
        read(annotation, bad)


def test_a_time_zone_can_be_asked_for():
    aware = Annotated[dt.datetime, msgspec.Meta(tz=True)]
    assert planned(aware).notes == "date and time in ISO 8601; with a time zone"
    with pytest.raises(ValueError, match="timezone"):
        read(aware, '"2025-01-31T12:00:00"')


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (Annotated[str, at.Ge(0)], r"limit ge=0 does not apply to text.*list\[Annotated\[int, Ge\(0\)\]\]"),
        (Annotated[int, at.Len(1)], "limit min_length=1 does not apply to whole number"),
        (Annotated[str, pydantic.Field(pattern="[")], r"pattern '\[' is not a regular expression"),
    ],
)
def test_a_limit_that_does_not_apply_is_refused(annotation, words):
    with pytest.raises(DefinitionError, match=words):
        planned(annotation)


# ---------------------------------------------------------------- what cannot be expressed


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        (tuple[int, str], "tuple of whole number, text mixes types.*dataclass"),
        (tuple[()], "always empty"),
        (int | str, "whole number or text may be of several JSON types"),
        (list[int | str], "items of an array of whole numbers or texts may be of several"),
        (Literal["a", 1], "several JSON types"),
        (None, "can only be null"),
        (Literal[None], "can only be null"),
        (Literal[b"a"], "JSON has no bytes"),
        (complex, "complex cannot be expressed in JSON"),
        (abc.Callable[[], int], "cannot be expressed in JSON"),
        (dict[float, int], r"keys of a JSON object are texts.*dict\[str"),
        ([float], "is not a type"),
        (any, "built-in function any.* is not a type"),
        (enum.Flag("Bits", "A B"), "Bits is a Flag"),
        (enum.Enum("Empty", ""), "has no members"),
        ("Missing", "name 'Missing' in its annotation"),
        (list["Missing"], "name 'Missing' in its annotation"),
    ],
)
def test_what_cannot_be_expressed_is_refused_with_the_place_and_the_reason(annotation, words):
    with pytest.raises(DefinitionError, match=f"tool 't': parameter 'p': .*{words}"):
        planned(annotation)


def test_a_numpy_array_is_refused_with_advice():
    numpy = pytest.importorskip("numpy")
    with pytest.raises(DefinitionError, match="ndarray cannot .* Take a list of numbers"):
        planned(numpy.ndarray)


@pytest.mark.parametrize("annotation", [Any, object])
def test_any_value_is_told_as_text_of_any_json_value_and_recorded_as_lost(annotation):
    made = planned(annotation)
    assert (made.type, made.json_schema, made.notes) == (STRING, {}, "any JSON value")
    assert made.lost == ("any JSON value is accepted",)


# ---------------------------------------------------------------- plans and results


def test_plans_of_built_in_types_are_kept_and_unions_keep_their_order():
    assert planned(list[int]) is planned(list[int])
    first, second = planned(Union[pathlib.Path, str]), planned(Union[str, pathlib.Path])
    assert (first.notes, second.notes) == ("path or text", "text or path")


@pytest.mark.parametrize("annotation", [None, str, int, list[int], Any, Vector, Optional[Pose], complex])
def test_a_result_that_is_no_object_has_no_schema(annotation):
    assert result_schema(annotation) is None


def test_the_schema_of_a_result_says_what_comes_out():
    assert result_schema(dict) == {"type": "object"}
    schema = result_schema(Pose)
    assert schema["required"] == ["position", "yaw", "file", "tags"]
    assert "additionalProperties" not in schema
    assert result_schema(Model)["properties"]["count"]["type"] == "integer"
    holder = dataclasses.make_dataclass("Holder", [("at", Vector), ("mode", Mode)])
    assert result_schema(holder)["properties"] == {"at": {"type": "array"}, "mode": {"enum": [1, 2]}}


# ---------------------------------------------------------------- limits of every type


def _accepts(annotation, text):
    made = plan(annotation, "x")
    try:
        decoded = msgspec.json.decode(text, type=made.decode_type)
        return made.convert is None or made.convert(decoded) is not None
    except ValueError:
        return False


@pytest.mark.parametrize(
    ("annotation", "good", "bad"),
    [
        (Annotated[dt.datetime, at.Ge(dt.datetime(2020, 1, 1))], '"2020-01-01T00:00:00"', '"2019-01-01T00:00:00"'),
        (Annotated[dt.datetime, at.Ge(dt.datetime(2020, 1, 1))], '"2020-01-01T00:00:00"', '"2021-01-01T00:00:00Z"'),
        (
            Annotated[dt.datetime, at.Lt(dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc))],
            '"2019-01-01T00:00:00Z"',
            '"2019-01-01T00:00:00"',
        ),
        (Annotated[dt.time, at.Ge(dt.time(12))], '"12:00:00"', '"11:00:00"'),
        (Annotated[dt.date, at.Ge(dt.date(2020, 1, 1))], '"2020-01-01"', '"2019-12-31"'),
        (Annotated[dt.timedelta, at.MultipleOf(dt.timedelta(minutes=1))], '"PT60S"', '"PT61S"'),
        (Annotated[decimal.Decimal, at.Ge(0.1)], '"0.1"', '"0.09"'),
        (Annotated[float, at.Gt(0), at.Ge(0)], "0.5", "0"),
        (Annotated[float, at.Gt(0), at.Ge(1)], "1", "0.5"),
        (Annotated[int, at.Ge(5), at.Ge(0)], "5", "4"),
        (Annotated[int, at.Le(0), at.Le(5)], "0", "1"),
        (Annotated[int, at.MultipleOf(2), at.MultipleOf(3)], "6", "4"),
        (Annotated[int, at.MultipleOf(3), at.MultipleOf(2)], "6", "9"),
        (Annotated[str, at.MinLen(2), at.MinLen(1)], '"ab"', '"a"'),
        (Annotated[float, at.Le(float("inf"))], "1", '"a"'),
        (Annotated[float, at.Le(10**400)], "1", '"a"'),
        (Annotated[float, at.MultipleOf(decimal.Decimal("0.5"))], "1.5", "1.25"),
        (Annotated[pathlib.Path, at.MaxLen(2)], '"ab"', '"abc"'),
        (Annotated[bytes, at.MaxLen(2)], '"YWI="', '"YWJj"'),
    ],
)
def test_a_limit_holds_and_the_strictest_of_several_wins(annotation, good, bad):
    assert (_accepts(annotation, good), _accepts(annotation, bad)) == (True, False)


@pytest.mark.parametrize(
    "annotation",
    [
        Annotated[float, at.Gt(float("nan"))],
        Annotated[float, at.Lt(float("-inf"))],
        Annotated[float, at.Ge("a")],
        Annotated[float, at.Ge(True)],
        Annotated[float, at.MultipleOf(0)],
        Annotated[float, at.MultipleOf(float("inf"))],
        Annotated[int, at.Ge(5), at.Le(4)],
        Annotated[int, at.Gt(5), at.Le(5)],
        Annotated[str, at.MinLen(-1)],
        Annotated[str, msgspec.Meta(min_length=3), at.MaxLen(2)],
        Annotated[dt.datetime, at.Ge(5)],
        Annotated[dt.date, at.Ge(dt.datetime(2020, 1, 1))],
        Annotated[dt.date, at.MultipleOf(2)],
        Annotated[dt.datetime, at.Ge(dt.datetime(2020, 1, 1)), msgspec.Meta(tz=True)],
        Annotated[dt.datetime, at.Ge(dt.datetime(2020, 1, 1)), at.Ge(dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc))],
        Annotated[dt.datetime, msgspec.Meta(tz=False), msgspec.Meta(tz=True)],
        Annotated[uuid.UUID, at.MaxLen(2)],
        Annotated[bytes, msgspec.Meta(pattern="a")],
    ],
)
def test_a_limit_that_can_be_none_is_refused_with_words(annotation):
    with pytest.raises(DefinitionError, match="x: "):
        plan(annotation, "x")


def test_a_length_of_bytes_is_told_in_bytes_and_left_out_of_the_schema():
    made = plan(Annotated[bytes, at.MaxLen(2)], "x")
    assert made.json_schema == {"type": "string", "contentEncoding": "base64"}
    assert made.notes == "bytes in base64; at most 2 bytes"


def test_an_aliass_own_stricter_limit_stays_in_the_schema():
    positive = NewType("positive", Annotated[int, at.Ge(5)])
    made = plan(Annotated[positive, at.Ge(0)], "x")
    assert made.json_schema["minimum"] == 5
    assert not _accepts(Annotated[positive, at.Ge(0)], "4")


def test_a_patterns_flags_are_kept():
    assert _accepts(Annotated[str, at.MinLen(1), pydantic.Field(pattern="a")], '"a"')

    class Pattern:
        pattern = re.compile("abc", re.IGNORECASE)

    assert _accepts(Annotated[str, Pattern()], '"ABC"')
    assert not _accepts(Annotated[str, Pattern()], '"x"')


@pytest.mark.parametrize("schema", [5, None, "a", [], {"description": 5}])
def test_what_is_no_schema_is_refused_with_words(schema):
    with pytest.raises(DefinitionError, match="x: .*JSON schema"):
        plan_of_schema(schema, "x")
