"""What a tool may return, and the text that the agent gets for it."""

import array
import collections
import ctypes
import dataclasses
import datetime as dt
import decimal
import enum
import json
import math
import pathlib
import types
import typing
import uuid

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openxr_agentic.errors import ResultValueError
from openxr_agentic.results.encode import ENCODE, MOST_LEVELS, check_finite, encode_result


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    LOW = 1


class Word(str, enum.Enum):
    YES = "yes"


@dataclasses.dataclass
class Cube:
    name: str
    size: float
    kind: typing.ClassVar[str] = "cube"


class Point(typing.NamedTuple):
    x: float
    y: float


class Renamed(msgspec.Struct, rename="camel", tag="renamed", omit_defaults=True):
    some_name: int
    left_out: int = 5
    empty: list[int] = []
    unset: typing.Any = msgspec.UNSET


class Vector(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float)]


class Pose(ctypes.Structure):
    _fields_ = [("position", Vector), ("ids", ctypes.c_int * 2)]


UTC = dt.timezone.utc
ALIKE = [
    (None, "null"),
    (True, "true"),
    (20, "20"),
    (9007199254740993, "9007199254740993"),
    (2**200, str(2**200)),
    (0.1, "0.1"),
    (-0.0, "-0.0"),
    ({"b": 1, "a": [1, "x", None]}, '{"b":1,"a":[1,"x",null]}'),
    ({"é": "\0"}, '{"é":"\\u0000"}'),
    ((1, 2.5), "[1,2.5]"),
    (Point(1.0, 2.0), "[1.0,2.0]"),
    (Cube("a", 1.5), '{"name":"a","size":1.5}'),
    (Renamed(1), '{"type":"renamed","someName":1}'),
    (Renamed(1, 6, [1], 2), '{"type":"renamed","someName":1,"leftOut":6,"empty":[1],"unset":2}'),
    (Colour.RED, '"red"'),
    (Colour.PAIR, "[1,2]"),
    (Level.LOW, "1"),
    (dt.datetime(2025, 1, 31, 12, tzinfo=UTC), '"2025-01-31T12:00:00Z"'),
    (dt.datetime(2025, 1, 31, 12), '"2025-01-31T12:00:00"'),
    (dt.date(2025, 1, 31), '"2025-01-31"'),
    (dt.time(12, 30), '"12:30:00"'),
    (dt.timedelta(days=1, seconds=1.5), '"P1DT1.5S"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (decimal.Decimal("1.10"), '"1.10"'),
    (pathlib.PurePosixPath("/a/b"), '"/a/b"'),
    (b"abc", '"YWJj"'),
    (bytearray(b"abc"), '"YWJj"'),
    (memoryview(b"abc"), '"YWJj"'),
    (collections.OrderedDict(a=1), '{"a":1}'),
    (types.MappingProxyType({"a": 1}), '{"a":1}'),
    (collections.deque([1, 2]), "[1,2]"),
    (range(3), "[0,1,2]"),
    (array.array("d", [1.5]), "[1.5]"),
    ({"b": 1, "a": 2}.keys(), '["b","a"]'),
    ({"b": 1}.items(), '[["b",1]]'),
    (Pose(Vector(1, 2), (3, 4)), '{"position":{"x":1.0,"y":2.0},"ids":[3,4]}'),
    ({1: 2, 1.5: 3, uuid.UUID(int=1): 4}, '{"1":2,"1.5":3,"00000000-0000-0000-0000-000000000001":4}'),
    ({Colour.RED: 1, Level.LOW: 2, dt.date(2025, 1, 31): 3}, '{"red":1,"1":2,"2025-01-31":3}'),
    (msgspec.Raw(b'{"a":1}'), '{"a":1}'),
    ([{"a": pathlib.PurePosixPath("x")}], '[{"a":"x"}]'),
]


@pytest.mark.parametrize(("value", "text"), ALIKE, ids=repr)
def test_a_value_has_one_json_form_on_the_fast_way_and_on_the_careful_one(value, text):
    assert encode_result(value) == text.encode()
    assert ENCODE(value) == text.encode()
    check_finite(value)
    json.loads(text)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b", "a", "c"}, '["a","b","c"]'),
        ({"x": frozenset({3, 1, 2})}, '{"x":[1,2,3]}'),
        ({1, "a", None}, '["a",1,null]'),
        ({(2, 1), (1, 2)}, "[[1,2],[2,1]]"),
        ({True: 1, None: 2}, '{"true":1,"null":2}'),
    ],
    ids=repr,
)
def test_sets_are_sorted_and_keys_become_text(value, text):
    assert encode_result(value) == text.encode()


@pytest.mark.parametrize("text", ["", "null", "5", '{"a":1}', "né\n"])
def test_text_is_the_result_itself(text):
    assert encode_result(text) == text
    assert encode_result(type("Text", (str,), {})(text)) == text


def test_an_enum_member_that_is_text_is_the_result_itself_too():
    assert encode_result(Word.YES) == "yes"
    assert encode_result([Word.YES]) == b'["yes"]'


def test_subclasses_of_builtins_are_what_they_are_made_of():
    class Odd(int):
        def __repr__(self):
            return "odd"

        __str__ = __repr__

    class Day(dt.datetime):
        pass

    assert encode_result([Odd(3), type("F", (float,), {})(1.5), type("L", (list,), {})([1])]) == b"[3,1.5,[1]]"
    assert encode_result([Day(2025, 1, 31)]) == b'["2025-01-31T00:00:00"]'


def test_a_dataclass_field_that_was_never_set_is_left_out():
    @dataclasses.dataclass
    class Late:
        a: int
        b: int = dataclasses.field(init=False)

    assert encode_result(Late(1)) == ENCODE(Late(1)) == b'{"a":1}'


def test_pydantic_models_are_written_as_pydantic_dumps_them():
    pydantic = pytest.importorskip("pydantic")

    class Model(pydantic.BaseModel):
        long_name: int = pydantic.Field(alias="longName")
        when: dt.date = dt.date(2025, 1, 31)
        size: float = 1.0

    expected = b'{"longName":1,"when":"2025-01-31","size":1.0}'
    assert encode_result(Model(longName=1)) == expected
    assert ENCODE([Model(longName=1)]) == b"[" + expected + b"]"
    with pytest.raises(ResultValueError, match=r'result\[0\]\["size"\] is nan'):
        check_finite([Model(longName=1, size=math.nan)])


def test_numpy_values_are_numbers_lists_and_times():
    np = pytest.importorskip("numpy")
    value = {
        "float": np.float64(1.5),
        "small": np.float32(0.5),
        "int": np.int64(3),
        "bool": np.bool_(True),
        "text": np.str_("a"),
        "array": np.arange(4, dtype=np.float32).reshape(2, 2),
        "empty": np.zeros((0, 3)),
        "one": np.array(5),
        "time": np.datetime64("2025-01-31T12:00:00.123456789"),
        "times": np.array(["2025-01-31"], dtype="datetime64[ns]"),
        "span": np.timedelta64(1500, "ms"),
        "long": np.longdouble(2.5),
    }
    expected = (
        b'{"float":1.5,"small":0.5,"int":3,"bool":true,"text":"a","array":[[0.0,1.0],[2.0,3.0]],"empty":[],"one":5,'
        b'"time":"2025-01-31T12:00:00.123456789","times":["2025-01-31T00:00:00.000000000"],"span":"PT1.5S","long":2.5}'
    )
    assert encode_result(value) == ENCODE(value) == expected
    assert encode_result({np.int64(3): 1}) == b'{"3":1}'


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda np: np.array([1.0, math.nan]), r"result\[1\] is nan"),
        (lambda np: np.float64("inf"), "the result is inf"),
        (lambda np: np.complex128(1j), r"is of type complex: return \[z.real, z.imag\]"),
        (lambda np: np.datetime64("NaT", "s"), "NaT is no time"),
        (lambda np: np.timedelta64(1, "Y"), "no fixed length"),
    ],
)
def test_numpy_values_without_a_json_form_are_refused(make, words):
    np = pytest.importorskip("numpy")
    with pytest.raises(ResultValueError, match=words):
        encode_result(make(np))


def cycle():
    value = {"a": []}
    value["a"].append(value)
    return value


def deep(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


class Unlucky(collections.abc.Mapping):
    def __getitem__(self, key):
        raise RuntimeError("no luck")

    def __iter__(self):
        yield "a"

    def __len__(self):
        return 1


class PointerHolder(ctypes.Structure):
    _fields_ = [("next", ctypes.POINTER(ctypes.c_int))]


async def coroutine():
    pass


REFUSED = [
    (lambda: {"items": [1.0, {"x": math.nan}]}, r'^result\["items"\]\[1\]\["x"\] is nan, and JSON has only finite num'),
    (lambda: -math.inf, "^the result is -inf"),
    (lambda: [1.0, math.inf], r"^result\[1\] is inf"),
    (lambda: decimal.Decimal("NaN"), "NaN is no finite number"),
    (lambda: {math.nan: 1}, r'^result\["\(a key\)"\] is nan'),
    (lambda: "a\0b", "^the result is text with a NUL character at position 1"),
    (lambda: "a\ud800", r"^the result has a lone surrogate \(U\+D800\) at position 1"),
    (lambda: ["\udfff"], r"^result\[0\] has a lone surrogate"),
    (lambda: {"\udfff": 1}, "has a lone surrogate"),
    (lambda: pathlib.PurePosixPath("\udcff"), "has a lone surrogate"),
    (lambda: {1: 2, "1": 3}, '^the result has two keys that both become "1"'),
    (lambda: {(1, 2): 3}, "is a tuple, which cannot be the name of a JSON member"),
    (cycle, r'^result\["a"\]\[0\] is a container that holds itself'),
    (lambda: deep(MOST_LEVELS + 1), f"^the result has more than {MOST_LEVELS} levels"),
    (lambda: deep(100_000), f"^the result has more than {MOST_LEVELS} levels"),
    (lambda: 10**5000, "^the result is an integer of more than 4300 digits"),
    (lambda: (n for n in [1]), "generator, which might never end: return a list of it"),
    (lambda: iter([1]), "which might never end"),
    (lambda: [ValueError("x")], r"^result\[0\] is of type ValueError: raise it instead"),
    (lambda: 1j, r"complex: return \[z.real, z.imag\]"),
    (lambda: Cube, "is the class Cube itself: return an object of it"),
    (lambda: Colour, "is the class Colour itself"),
    (object, "is of type object, which has no JSON form: return a dict"),
    (lambda: print, "is of type builtin_function_or_method, which has no JSON form"),
    (lambda: msgspec.UNSET, "is of type UnsetType"),
    (lambda: msgspec.Raw(b"{bad"), "cannot be turned into JSON: DecodeError"),
    (Unlucky, "cannot be turned into JSON: RuntimeError: no luck"),
    (PointerHolder, r'^result\["next"\] is of type LP_c_int'),
]


@pytest.mark.parametrize(("make", "words"), REFUSED)
def test_what_json_cannot_say_is_refused_with_its_place_and_advice(make, words):
    value = make()
    with pytest.raises(ResultValueError, match=words) as caught:
        encode_result(value)
    str(caught.value).encode()
    while isinstance(value, list) and value:  # not deeper than the interpreter can free
        value = value[0] if len(value) == 1 else None


def test_a_coroutine_that_was_not_awaited_is_refused():
    value = coroutine()
    with pytest.raises(ResultValueError, match="not awaited"):
        encode_result(value)
    value.close()


def test_as_many_levels_as_allowed_are_written():
    assert encode_result(deep(MOST_LEVELS)) == b"[" * MOST_LEVELS + b"]" * MOST_LEVELS


def test_the_same_object_in_two_places_is_no_cycle():
    shared = [1]
    assert encode_result([shared, shared, {"a": shared}]) == b'[[1],[1],{"a":[1]}]'


def test_what_became_null_on_the_fast_way_is_told_from_none():
    check_finite({"parent": None})
    check_finite("null")
    with pytest.raises(ResultValueError, match=r'result\["parent"\] is nan'):
        check_finite({"parent": math.nan})


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(plain.filter(lambda value: not isinstance(value, str)))
def test_plain_values_are_the_same_on_both_ways_and_read_back_equal(value):
    assert encode_result(value) == ENCODE(value)
    assert json.loads(ENCODE(value)) == json.loads(json.dumps(value))


anything = st.recursive(
    st.one_of(
        st.none(), st.integers(), st.floats(), st.text(st.characters()), st.binary(), st.decimals(),
        st.complex_numbers(),
        st.datetimes(timezones=st.none() | st.timezones()), st.timedeltas(), st.uuids(), st.just(object()),
    ),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers() | st.none() | st.floats(), inner),
)  # fmt: skip


@given(anything)
def test_every_value_is_strict_json_or_refused(value):
    try:
        text = encode_result(value)
    except ResultValueError as error:
        str(error).encode()
    else:
        if isinstance(text, bytes):
            json.loads(text, parse_constant=pytest.fail)
