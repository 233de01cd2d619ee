"""Arguments as agents really send them, and what a tool gets for them."""

import dataclasses
import datetime as dt
import decimal
import enum
import json
import logging
import math
import pathlib
import pickle
import typing
import uuid

import annotated_types as at
import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openxr_agentic.arguments.decoder import REQUIRED, ArgumentsDecoder, Field
from openxr_agentic.arguments.lenient import fit
from openxr_agentic.errors import ArgumentError
from openxr_agentic.schema.plan import plan


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Corner(enum.Enum):
    LEFT = (0, 0)
    RIGHT = (1, 0)


@dataclasses.dataclass
class Cube:
    name: str
    size: float = 1.0
    tags: list[int] = dataclasses.field(default_factory=list)


class Point(typing.NamedTuple):
    x: float
    y: float


Vector = tuple[float, float, float]


def decoder(ignore_unknown=False, /, **types):
    """A decoder of arguments of these types; a pair of a type and a default makes it optional."""
    fields = []
    for name, annotation in types.items():
        kind, default = annotation if isinstance(annotation, tuple) else (annotation, REQUIRED)
        fields.append(Field(name, plan(kind, name), default, python_type=kind))
    return ArgumentsDecoder("MyApp_X", fields, ignore_unknown)


def read(made, arguments):
    decoded = made.recover(arguments if isinstance(arguments, bytes) else arguments.encode())
    return tuple(getattr(decoded, name) for name in made.names)


def read_one(kind, json_text):
    return read(decoder(x=kind), f'{{"x":{json_text}}}')[0]


def faults(made, arguments):
    with pytest.raises(ArgumentError) as caught:
        made.recover(arguments if isinstance(arguments, bytes) else arguments.encode())
    str(caught.value).encode()
    return caught.value.faults


def refused(kind, json_text):
    found = faults(decoder(x=kind), f'{{"x":{json_text}}}')
    assert len(found) == 1
    return found[0]


# ---------------------------------------------------------------- the plain case


def test_the_strict_way_is_msgspecs_own_decoder():
    made = decoder(name=str, position=Vector)
    assert isinstance(made.strict, type(msgspec.json.Decoder().decode))
    decoded = made.strict(b'{"position":[1,2.5,3],"name":"a"}')
    assert (decoded.name, decoded.position) == ("a", (1.0, 2.5, 3.0))


@pytest.mark.parametrize(
    "arguments", [b'{"x":"5"}', b'{"y":5}', b"", b'{"x":1,"x2":1}', b"[" * 100_000, b'{"x":"\xff"}']
)
def test_the_strict_way_raises_for_what_it_does_not_know(arguments):
    with pytest.raises((msgspec.DecodeError, RecursionError)):
        decoder(x=int).strict(arguments)


@pytest.mark.parametrize(
    "names",
    [
        ["schema", "json", "copy", "model_dump", "model_config", "_x"],
        ["class", "__dict__", "__class__", "two words", "é", "", "argument_0", "argument_1", "if"],
    ],
)
def test_any_name_can_be_the_name_of_an_argument(names):
    made = ArgumentsDecoder("MyApp_X", [Field(name, plan(int, name)) for name in names])
    arguments = json.dumps({name: number for number, name in enumerate(names)})
    assert read(made, arguments) == tuple(range(len(names)))
    assert len(set(made.names)) == len(names)
    assert all(name.isidentifier() for name in made.names)
    assert faults(made, "{}")[0].startswith(f"{names[0]}: missing")


def test_a_default_arrives_as_the_object_that_it_is_and_is_never_converted():
    for default in ([1], {"a": 1}, object(), None, (1, 2), Colour.RED, {1}, Cube("a"), "text"):
        for kind in (list[int], pathlib.Path, Cube):
            assert read(decoder(x=(kind, default)), "{}")[0] is default
            assert decoder(x=(kind, default)).from_mapping(None).x is default


# ---------------------------------------------------------------- one value, many ways to send it

TAKEN = [
    (int, "20", 20),
    (int, "20.0", 20),
    (int, '"20"', 20),
    (int, '"20.0"', 20),
    (int, '" -3 "', -3),
    (int, "1e2", 100),
    (int, "9007199254740993", 9007199254740993),
    (int, '"9007199254740993"', 9007199254740993),
    (int, str(2**200), 2**200),
    (int, f'"{2**200}"', 2**200),
    (int | None, "null", None),
    (int | None, '"null"', None),
    (int | None, '"5"', 5),
    (float, "1", 1.0),
    (float, '"1.5"', 1.5),
    (float, '"-1e3"', -1000.0),
    (float, '"5"', 5.0),
    *((bool, text, True) for text in ("true", '"true"', '"True"', '"TRUE"', '"1"', "1", "1.0", '"yes"', '"on"')),
    *((bool, text, False) for text in ("false", '"false"', '"False"', '"FALSE"', '"0"', "0", "0.0", '"no"', '"off"')),
    (str, '"5"', "5"),
    (str, '"null"', "null"),
    (str, '"true"', "true"),
    (str, '"{\\"a\\":1}"', '{"a":1}'),
    (str, '"[1,2]"', "[1,2]"),
    (str, '""', ""),
    (str, '" padded "', " padded "),
    (str, '"a\\u0000b"', "a\0b"),
    (str, '"\\ud83d\\ude00"', "😀"),
    (str | None, '"null"', "null"),
    (list[int], '"[1,2]"', [1, 2]),
    (list[int], '["1",2.0]', [1, 2]),
    (list[str], '"[\\"a\\"]"', ["a"]),
    (list[str], '["5","null"]', ["5", "null"]),
    (list[list[int]], '"[\\"[1]\\"]"', [[1]]),
    (set[int], '["1"]', {1}),
    (Vector, "[1,2,3]", (1.0, 2.0, 3.0)),
    (Vector, '"[1, 2, 3]"', (1.0, 2.0, 3.0)),
    (Vector, '["1","2.5",3]', (1.0, 2.5, 3.0)),
    (dict[str, int], '"{\\"a\\":\\"1\\"}"', {"a": 1}),
    (dict[str, typing.Any], '{"a":"1"}', {"a": "1"}),
    (Cube, '{"name":"5","size":"2"}', Cube("5", 2.0)),
    (Cube, '"{\\"name\\":\\"a\\",\\"tags\\":\\"[1]\\"}"', Cube("a", 1.0, [1])),
    (Cube, '{"name":"a","size":null}', Cube("a")),
    (list[Cube], '[{"name":"a","size":"2"}]', [Cube("a", 2.0)]),
    (Point, '{"x":"1","y":2}', Point(1.0, 2.0)),
    (Point, '"[1,2]"', Point(1.0, 2.0)),
    (Colour, '"red"', Colour.RED),
    (Colour, '"RED"', Colour.RED),
    (Level, "2", Level.HIGH),
    (Level, '"HIGH"', Level.HIGH),
    (Level, '"2"', Level.HIGH),
    (Level, "2.0", Level.HIGH),
    (Corner, '"LEFT"', Corner.LEFT),
    (typing.Literal[1, 2, 3], '"2"', 2),
    (typing.Literal[1, 2, 3], "2.0", 2),
    (typing.Literal[True, False], '"true"', True),
    (typing.Literal["1", "2"], '"2"', "2"),
    (typing.Any, '"[1]"', "[1]"),
    (typing.Any, "[1]", [1]),
    (dt.datetime, '"2025-01-31T12:00:00Z"', dt.datetime(2025, 1, 31, 12, tzinfo=dt.timezone.utc)),
    (dt.date, '"2025-01-31"', dt.date(2025, 1, 31)),
    (uuid.UUID, f'"{uuid.UUID(int=5)}"', uuid.UUID(int=5)),
    (pathlib.Path, '"/a/b"', pathlib.Path("/a/b")),
    (decimal.Decimal, '"1.10"', decimal.Decimal("1.10")),
    (bytes, '"YWJj"', b"abc"),
    (list[dt.date], '"[\\"2025-01-31\\"]"', [dt.date(2025, 1, 31)]),
]


@pytest.mark.parametrize(("kind", "text", "value"), TAKEN, ids=repr)
def test_what_can_only_mean_one_thing_is_taken(kind, text, value):
    got = read_one(kind, text)
    assert got == value
    assert type(got) is type(value)


REFUSED = [
    *(
        (int, text)
        for text in ("20.5", '"20.5"', "true", '"abc"', '""', '"0x10"', '"1_000"', '"1,000"', '"020"', '"+5"')
    ),
    *(
        (int, text)
        for text in ('"NaN"', "1e400", '"1e400"', "1e30", "9" * 5000, f'"{"9" * 5000}"', '"٣"', "[5]", "null")
    ),
    *((float, text) for text in ('"NaN"', '"Infinity"', '"1e400"', "1e400", "true", '"1,5"', '""', "[1]", "null")),
    *((bool, text) for text in ('"maybe"', '""', "2", "-1", "0.5", "[true]", "null", '"none"', '"t"')),
    *((str, text) for text in ("5", "true", "null", "[]", '{"a":1}')),
    *((list[int], text) for text in ("5", '"5"', '"1,2"', '"[1"', '[1,"x"]', "[1.5]", "{}", "null", '"[[1]]"')),
    *((list[str], text) for text in ('"a"', '"a,b"', "[5]")),
    *((Vector, text) for text in ("[1,2]", "[1,2,3,4]", '"[1,2]"', '{"x":1}', "[1,2,true]", "[1,2,null]")),
    *((Cube, text) for text in ("{}", '{"name":5}', '{"name":"a","sise":1}', '"cube"', "[]", '{"name":null}')),
    *((Colour, text) for text in ('"green"', '"Red"', "5", "null")),
    *((Level, text) for text in ("3", '"3"', "true", '"low"', "1.5")),
    *((typing.Literal[1, 2], text) for text in ("3", '"3"', "true", "1.5")),
    *((typing.Literal["a", "b"], text) for text in ('"c"', '"A"', "1")),
    *((kind, '"nonsense"') for kind in (dt.datetime, dt.date, uuid.UUID, decimal.Decimal)),
    (dt.datetime, "5"),
    (bytes, '"%%%"'),
    (dict[str, int], '{"a":"x"}'),
    (typing.Annotated[int, msgspec.Meta(ge=0, le=10)], "11"),
    (typing.Annotated[int, msgspec.Meta(ge=0, le=10)], '"11"'),
    (typing.Annotated[str, msgspec.Meta(pattern="^a")], '"b"'),
    (typing.Annotated[list[int], msgspec.Meta(max_length=1)], '"[1,2]"'),
]


@pytest.mark.parametrize(("kind", "text"), REFUSED, ids=repr)
def test_what_could_mean_something_else_is_refused(kind, text):
    fault = refused(kind, text)
    assert fault.startswith("x: got ")
    assert ", expected " in fault
    assert len(fault) < 500


def test_choices_that_a_text_could_both_mean_are_refused():
    assert fit("1", {"enum": [1, True]}) == "1"
    assert fit("1", {"enum": [1, "a"]}) == 1
    assert fit("1", {"anyOf": [{"type": "integer"}, {"type": "boolean"}]}) == "1"
    assert fit("5", {"type": ["integer", "boolean"]}) == 5
    assert fit("5", {"anyOf": [{"type": "integer"}, {"type": "string"}]}) == "5"
    assert fit(["1"], {"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}) == [1]


def test_null_for_what_may_be_omitted_means_omitted():
    assert read(decoder(limit=(int, 10)), '{"limit":null}') == (10,)
    assert read(decoder(limit=(int, 10)), '{"limit": null , "limit": null }') == (10,)
    assert read(decoder(name=(str, None)), '{"name":null}') == (None,)
    assert read(decoder(name=(str, "a")), '{"name":"null"}') == ("null",)
    assert read(decoder(name=(str | None, "a")), '{"name":null}') == (None,)
    assert read(decoder(cube=(Cube, 5)), '{"cube":null}') == (5,)
    assert read(decoder(x=str | None), '{"x":null}') == (None,)
    assert faults(decoder(x=str | None), "{}") == ["x: missing, expected text or null"]


# ---------------------------------------------------------------- the text as a whole


@pytest.mark.parametrize("arguments", [b"", b"  \r\n\t ", b"null", b" null ", b"{}", b' "{}" ', b'""', b'"null"'])
def test_no_arguments_can_be_said_in_many_ways(arguments):
    assert read(decoder(), arguments) == ()
    assert read(decoder(x=(int, 5)), arguments) == (5,)
    assert faults(decoder(x=int), arguments) == ["x: missing, expected a number (whole number)"]


@pytest.mark.parametrize("arguments", [b"[]", b"5", b'"5"', b"true", b'"abc"', b'"[]"', b'"\\"{}\\""'])
def test_arguments_that_are_no_object_are_refused(arguments):
    assert faults(decoder(), arguments)[0].startswith("its arguments ")


def test_arguments_that_were_encoded_twice_are_read_once_more_and_no_further():
    once = json.dumps({"x": "20", "name": '{"a":1}'})
    made = decoder(x=int, name=str)
    assert read(made, json.dumps(once)) == (20, '{"a":1}')
    assert faults(made, json.dumps(json.dumps(once)))[0].startswith("its arguments must be a JSON object")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (b'{"x":"\xff"}', "its arguments are not valid UTF-8, at byte 6"),
        (b'{"x":"\xed\xa0\x80"}', "its arguments are not valid UTF-8, at byte 6"),
        (b"\xef\xbb\xbf{}", "its arguments are not JSON: they begin with a byte order mark"),
        ('{"x":1}'.encode("utf-16"), "its arguments are not valid UTF-8, at byte 0"),
        (b'{"x":' + b"[" * 1_000_000, "its arguments are not JSON that can be read: nested too deeply"),
        (b"[" * 100_000, "its arguments must be a JSON object, not [[["),
        (b'{"x":NaN}', "its arguments are not JSON: NaN is no JSON number"),
        (b'{"x":-Infinity}', "its arguments are not JSON: -Infinity is no JSON number"),
        (b'{"x":"\\ud800"}', "its arguments are not JSON in UTF-8: a text in them has a lone surrogate"),
        (b'{"\\udfff":1}', "its arguments are not JSON in UTF-8: a text in them has a lone surrogate"),
        (b'{"x":1,}', "its arguments are not JSON: trailing comma in object (byte 7)"),
        (b"{'x':1}", "its arguments are not JSON: "),
        (b'{"x":1', "its arguments are not JSON: "),
        (b'{"x":1} {"x":2}', "its arguments are not JSON: "),
        (b'"{', "its arguments are not JSON: "),
        (b'"{}" x', "its arguments are not JSON: "),
    ],
)
def test_what_is_no_json_is_refused_with_the_reason(arguments, fault):
    found = faults(decoder(x=int), arguments)
    assert len(found) == 1
    assert found[0].startswith(fault)


def test_of_equal_names_the_last_counts():
    assert read(decoder(x=int), '{"x":1,"x":2}') == (2,)
    assert read(decoder(x=int), '{"x":"a","x":"2"}') == (2,)


# ---------------------------------------------------------------- faults


def test_every_fault_is_told_at_once_with_what_came_and_what_was_expected():
    made = decoder(position=Vector, colour=Colour, count=(typing.Annotated[int, msgspec.Meta(ge=0, le=10)], 1), on=bool)
    with pytest.raises(ArgumentError) as caught:
        made.recover(b'{"positon":[1,2,3],"colour":"bleu","count":"300","on":"maybe"}')
    assert str(caught.value) == (
        "MyApp_X was not run: 5 faults in its arguments:\n"
        "- position: missing, expected an array (3 numbers)\n"
        '- colour: got "bleu", expected text (one of: red, blue), did you mean "blue"?\n'
        '- count: got "300", expected a number (whole number; 0 to 10)\n'
        '- on: got "maybe", expected true or false\n'
        '- positon: there is no such argument, did you mean "position"?'
    )
    assert caught.value.tip == 'for example {"position":[1,1,1]}'
    assert len(caught.value.faults) == 5


def test_one_fault_is_one_sentence():
    with pytest.raises(ArgumentError, match=r"^MyApp_X was not run: x: got \[1\], expected text\.$"):
        decoder(x=str).recover(b'{"x":[1]}')


def test_a_fault_inside_a_value_names_its_place():
    cubes = '[{"name":"a"},{"name":"b","size":"big"}]'
    assert "(at [1].size: expected number or null, got string)" in refused(list[Cube], cubes)
    assert "(at [2]: expected number, got null)" in refused(Vector, "[1,2,null]")
    assert "expected an object with name, size (optional), tags (optional)" in refused(Cube, "{}")


def test_a_conversion_says_what_is_wrong_and_may_raise_anything():
    def failing(value):
        raise {"value": ValueError("no even number"), "key": KeyError("x")}[value]

    odd = plan(str, "x")._replace(convert=failing)
    made = ArgumentsDecoder("MyApp_X", [Field("x", odd)])
    assert faults(made, '{"x":"value"}') == ['x: got "value" (no even number), expected text']
    assert faults(made, '{"x":"key"}') == ["x: got \"key\" ('x'), expected text"]
    assert faults(made, '{"x":"other"}') == ["x: got \"other\" ('other'), expected text"]


def test_an_unknown_argument_is_a_fault_that_names_the_near_one_or_all():
    assert faults(decoder(), '{"a":1}') == ["a: there is no such argument, the tool takes none"]
    made = decoder(colour=(str, ""), size=(int, 1))
    assert faults(made, '{"Color":"red"}') == ['Color: there is no such argument, did you mean "colour"?']
    assert faults(made, '{"zzz":1}') == ["zzz: there is no such argument, there are colour, size"]


def test_long_and_strange_values_are_shown_short_and_whole_faults_stay_few():
    assert len(refused(int, f'"{"x" * 100_000}"')) < 200
    made = decoder(x=int)
    many = json.dumps({f"k{number}\n\x7f": 1 for number in range(1000)} | {"x" * 100_000: 1})
    with pytest.raises(ArgumentError) as caught:
        made.recover(many.encode())
    assert len(caught.value.faults) == 1002
    assert str(caught.value).endswith("\n- and 982 more")
    assert len(str(caught.value)) < 4000


def test_unknown_arguments_are_tolerated_where_asked_with_one_warning(caplog):
    for tolerated in (True, ["_meta", "progress"], {"_meta"}):
        caplog.clear()
        made = decoder(tolerated, x=int)
        for _ in range(3):
            assert read(made, '{"x":1,"_meta":{"a":1}}') == (1,)
        warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
        assert warnings == ["Tool MyApp_X has no argument _meta, and ignores it"]
    assert faults(decoder(["_meta"], x=int), '{"x":1,"_mega":1}') == [
        "_mega: there is no such argument, there are x",
    ]


@pytest.mark.parametrize("name", ["reason", "sentiment", "session_handle"])
def test_what_agents_are_known_to_add_fails_no_call_and_reaches_a_parameter_of_its_name(name, caplog):
    made = decoder(x=int)
    assert read(made, f'{{"x":1,"{name}":{{"a":"why"}}}}') == (1,)
    assert made.from_mapping({"x": 1, name: "why"}).x == 1
    assert not caplog.records  # nobody can do anything about it
    assert faults(made, f'{{"y":1,"{name}":"why"}}') == [
        "x: missing, expected a number (whole number)",
        "y: there is no such argument, there are x",
    ]
    declared = decoder(**{name: str})
    assert read(declared, f'{{"{name}":"why"}}') == ("why",)
    assert faults(declared, f'{{"{name}":1}}') == [f"{name}: got 1, expected text"]


def test_what_agents_are_known_to_add_is_no_way_to_misspell_a_parameter():
    made = decoder(reasons=(str, "d"))
    assert faults(made, '{"reason":"x"}') == ['reason: there is no such argument, did you mean "reasons"?']
    assert read(made, '{"reasons":"x","reason":"why"}') == ("x",)  # which was not misspelt
    assert read(made, '{"sentiment":"x"}') == ("d",)


def test_an_argument_error_can_be_pickled():
    error = ArgumentError("MyApp_X", ["a: wrong", "b: wrong"], tip="do this")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.faults, again.tip, again.tool_name) == (str(error), error.faults, "do this", "MyApp_X")


# ---------------------------------------------------------------- from Python


def from_python(kind, value):
    return decoder(x=kind).from_mapping({"x": value}).x


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (Colour, Colour.RED),
        (Level, Level.LOW),
        (Corner, Corner.LEFT),
        (Cube, Cube("a")),
        (Cube | None, Cube("a")),
        (typing.Annotated[Cube, "a cube"], Cube("a")),
        (pathlib.Path, pathlib.Path("a")),
        (dt.datetime, dt.datetime(2025, 1, 31, tzinfo=dt.timezone.utc)),
        (uuid.UUID, uuid.UUID(int=1)),
        (Point, Point(1.0, 2.0)),
    ],
    ids=repr,
)
def test_an_instance_that_is_right_already_is_taken_as_it_is(kind, value):
    assert from_python(kind, value) is value


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (int, 5, 5),
        (int, "5", 5),
        (int, 2**100, 2**100),
        (float, 1, 1.0),
        (str, "5", "5"),
        (bytes, b"abc", b"abc"),
        (Vector, [1, 2, 3], (1.0, 2.0, 3.0)),
        (list[Colour], [Colour.RED, "blue"], [Colour.RED, Colour.BLUE]),
        (list[Cube], (Cube("a"),), [Cube("a")]),
        (Corner, "LEFT", Corner.LEFT),
        (Cube, {"name": "a"}, Cube("a")),
        (int | None, None, None),
        (typing.TypedDict("Size", {"x": int}), {"x": "1"}, {"x": 1}),
    ],
    ids=repr,
)
def test_a_value_from_python_is_read_as_its_json_would_be(kind, value, expected):
    assert from_python(kind, value) == expected


def test_enum_members_that_agents_know_by_name_are_taken_without_their_type_too():
    made = ArgumentsDecoder("MyApp_X", [Field("x", plan(Corner, "x"))])
    assert made.from_mapping({"x": Corner.RIGHT}).x is Corner.RIGHT


def test_pydantic_models_are_taken_as_they_are_and_as_dictionaries():
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        a: int
        b: bool = False

    value = Model(a=1)
    assert from_python(Model, value) is value
    assert from_python(Model, {"a": "1", "b": None}) == value
    assert read_one(Model, '{"a":"1","b":"false"}') == value
    assert "got" in refused(Model, '{"a":"x"}')


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": math.nan}, "x is nan, and JSON has only finite numbers"),
        ({"x": object()}, "x is of type object, which has no JSON form"),
        ({"x": "\ud800"}, "x has a lone surrogate"),
        ({"x": [1]}, r"got \[1\], expected a number"),
        ({"x": Colour.RED}, 'got "RED", expected a number'),
        ({}, "x: missing"),
        (None, "x: missing"),
        ({"x": 1, "y": 2}, "y: there is no such argument"),
        ({"x": 1, 2: 3}, "mapping with text as keys"),
        ([1], "mapping with text as keys"),
    ],
)
def test_wrong_arguments_from_python_have_the_same_kind_of_error(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        decoder(x=int).from_mapping(arguments)


# ---------------------------------------------------------------- any input at all

MADE = decoder(
    text=(str, ""),
    count=(int, 0),
    ratio=(float, 0.0),
    on=(bool, False),
    position=(Vector, None),
    tags=(list[str], ()),
    cube=(Cube, None),
    colour=(Colour, None),
    level=(Level, None),
    path=(pathlib.Path, None),
    table=(dict[str, int], None),
    choice=(typing.Literal[1, 2], 1),
    maybe=(int | None, None),
    anything=(typing.Any, None),
)
NAMES = [field.name for field in MADE.fields]

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["1", "true", "null", "[1,2,3]"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=10,
)


def never_raises_anything_else(arguments):
    try:
        MADE.recover(arguments)
    except ArgumentError as error:
        " ".join([str(error), error.tip or "", *error.faults]).encode()


@given(st.binary())
@example(b'{"text":"\\ud800"}')
@example(b'{"count":' + b"9" * 5000 + b"}")
@example(b'{"anything":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
@example(b'{"tags":"' + b"[" * 100_000 + b'"}')
def test_any_bytes_are_decoded_or_refused(arguments):
    never_raises_anything_else(arguments)


@given(st.dictionaries(st.sampled_from(NAMES) | st.text(), json_values))
def test_any_json_object_is_decoded_or_refused(arguments):
    never_raises_anything_else(json.dumps(arguments).encode())
    never_raises_anything_else(json.dumps(json.dumps(arguments, ensure_ascii=False)).encode())


@given(st.data())
def test_any_damaged_arguments_are_decoded_or_refused(data):
    whole = json.dumps({"count": 5, "cube": {"name": "a"}, "position": [1, 2, 3], "colour": "red", "on": "no"}).encode()
    cut = data.draw(st.integers(0, len(whole)))
    never_raises_anything_else(
        whole[:cut] + data.draw(st.binary(max_size=3)) + whole[cut + data.draw(st.integers(0, 3)) :]
    )


valid = st.fixed_dictionaries(
    {},
    optional={
        "text": st.text(), "count": st.integers(), "ratio": st.floats(allow_nan=False, allow_infinity=False),
        "on": st.booleans(), "position": st.tuples(*[st.floats(-1e9, 1e9)] * 3), "tags": st.lists(st.text()),
        "cube": st.fixed_dictionaries({"name": st.text()}, optional={"tags": st.lists(st.integers())}),
        "colour": st.sampled_from(["red", "blue"]), "level": st.sampled_from([1, 2]), "path": st.text(),
        "table": st.dictionaries(st.text(), st.integers()), "choice": st.sampled_from([1, 2]),
        "maybe": st.none() | st.integers(),
    },
)  # fmt: skip


@given(valid)
def test_the_strict_and_the_lenient_way_agree_on_valid_arguments(arguments):
    text = msgspec.json.encode(arguments)
    strict = MADE.strict(text)
    one_by_one = MADE._built(MADE._split(text), MADE._read)
    from_mapping = MADE.from_mapping(arguments)
    for name in MADE.names:
        assert getattr(strict, name) == getattr(one_by_one, name) == getattr(from_mapping, name)
        assert type(getattr(strict, name)) is type(getattr(one_by_one, name))


@given(json_values, st.sampled_from([int, float, bool, Vector, list[int], Cube, Level, int | None, dict[str, int]]))
def test_lenient_reading_keeps_what_was_right_already(value, kind):
    strict = decoder(x=kind).strict
    text = msgspec.json.encode(value)
    try:
        right = strict(b'{"x":%s}' % text).x
    except (ValueError, msgspec.MsgspecError):
        return
    fitted = fit(msgspec.json.decode(text), plan(kind, "x").json_schema)
    again = strict(b'{"x":%s}' % msgspec.json.encode(fitted)).x
    assert (again, type(again)) == (right, type(right))


# ---------------------------------------------------------------- reasons and tips


class Strict(msgspec.Struct, forbid_unknown_fields=True):
    name: int
    size: int = 0
    runs: typing.ClassVar[list[int]] = []

    def __post_init__(self):
        Strict.runs.append(self.name)
        if self.name == 1:
            raise ValueError("bad name")


@dataclasses.dataclass
class Chain:
    value: int
    rest: "Chain"


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (Strict, '{"name":1}', "(bad name)"),
        (Strict, '{"nmae":2}', 'unknown field nmae, did you mean "name"?)'),
        (Strict, "{}", "(object missing required field name)"),
        (Cube, '{"name":"a","sise":2}', 'did you mean "size"?'),
        (Point, '{"x":1,"yy":2}', 'did you mean "y"?'),
        (Cube | None, '{"name":"a","sise":2}', 'did you mean "size"?'),
        (list[Cube], '[{"name":"a","sise":2}]', 'at [0]: object contains unknown field sise, did you mean "size"?'),
        (dict[str, list[Cube]], '{"q":[{"name":"a","sise":2}]}', 'did you mean "size"?'),
        (dict[int, int], '{"a":3}', "(a key: expected integer, got string)"),
        (dict[str, dict[int, int]], '{"q":{"a":3}}', "a key: expected integer"),
        (typing.Annotated[dict[str, int], at.MinLen(1)], "{}", "length >= 1"),
    ],
)
def test_the_reason_of_a_fault_in_an_object_is_told_at_every_depth(kind, text, words):
    assert words in faults(decoder(x=kind), f'{{"x":{text}}}')[0]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Chain, '{"value":1}'),
        (typing.Annotated[dict[str, int], at.MinLen(1)], "{}"),
        (Strict, '{"name":1}'),  # the example itself
    ],
)
def test_an_example_that_would_be_refused_is_not_given(kind, text):
    with pytest.raises(ArgumentError) as caught:
        decoder(x=kind).recover(f'{{"x":{text}}}'.encode())
    assert caught.value.tip is None


def test_an_example_that_is_accepted_is_given():
    with pytest.raises(ArgumentError) as caught:
        decoder(x=Cube).recover(b'{"x":{}}')
    assert caught.value.tip == 'for example {"x":{"name":"text"}}'


def test_a_failing_conversion_is_not_repeated_on_the_same_value():
    Strict.runs.clear()
    faults(decoder(x=Strict, y=int), '{"x":{"name":1,"size":3},"y":"a"}')
    assert Strict.runs == [1, 1]  # once for the reason, once for the example


@pytest.mark.parametrize(
    "text",
    ["9007199254740993.0", '"9007199254740993.0"', '"9007199254740991.4"', '"4503599627370497.3"', '"1e16"'],
)
def test_a_whole_number_that_a_double_may_have_changed_is_refused(text):
    faults(decoder(x=int), f'{{"x":{text}}}')


@pytest.mark.parametrize(("text", "value"), [("9007199254740991.0", 2**53 - 1), ('"9007199254740993"', 2**53 + 1)])
def test_a_whole_number_that_is_exact_is_read(text, value):
    assert read_one(int, text) == value


@pytest.mark.parametrize(
    "text",
    ['"NaN"', '"inf"', '"1_000"', '"007"', '"\u0661"', '"1e99999999999999999999"', "0.1234567890123456789", "true"],
)
def test_a_decimal_is_a_json_number_and_loses_no_digit(text):
    faults(decoder(x=decimal.Decimal), f'{{"x":{text}}}')


@pytest.mark.parametrize(("text", "value"), [('"1.50"', "1.50"), ("0.1", "0.1"), ("5", "5"), ('" 1E+3"', "1E+3")])
def test_a_decimal_is_read_exactly(text, value):
    assert str(read_one(decimal.Decimal, text)) == value


def test_an_enum_of_booleans_is_read_by_value_and_by_name():
    class Switch(enum.Enum):
        ON = True
        OFF = False

    assert [read_one(Switch, text) for text in ("true", '"OFF"')] == [Switch.ON, Switch.OFF]
    faults(decoder(x=Switch), '{"x":1}')
    faults(decoder(x=Level), '{"x":true}')


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (typing.Literal[1] | float, "2", 2.0),
        (list[typing.Literal[1] | float], "[2,1]", [2.0, 1]),
        (typing.Literal[1] | float | None, "2", 2.0),
        (typing.Annotated[int, at.Ge(5)] | float, "2", 2.0),
    ],
)
def test_a_whole_number_that_one_member_refuses_may_be_anothers_number(kind, text, value):
    assert read_one(kind, text) == value
