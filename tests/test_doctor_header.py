"""`doctor --header`: the numbers, read out of headers in every style, without a compiler."""

import re
from pathlib import Path

import pytest
from doctor_harness import HEADER, PREFIX, ROOT, SECRET, secret_header

from openxr_agentic.doctor.header import HeaderError, read_header, read_text
from openxr_agentic.header_numbers import MAIN_THREAD_BIT, NAMES, PARAMETER_STRUCTURE, REGISTER_INFO_STRUCTURE

STRING = f"{PREFIX}PARAMETER_TYPE_STRING_METAX1"
KINDS = ("STRING", "NUMBER", "BOOLEAN", "ARRAY", "OBJECT")

# In the style of the headers that Meta generates; the values are made up.
PREVIEW = """\
/*
 * Copyright (c) Somebody; XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1 = 5
 */
#ifndef METAX1_AGENTIC_EXTERNAL_TOOL_H_
#define METAX1_AGENTIC_EXTERNAL_TOOL_H_ 1
#include <openxr/openxr.h>
#ifndef XR_METAX1_agentic_external_tool

// XR_METAX1_agentic_external_tool is a preprocessor guard. Do not pass it to API calls.
#define XR_METAX1_agentic_external_tool 1
#define XR_METAX1_agentic_external_tool_SPEC_VERSION 1
#define XR_METAX1_AGENTIC_EXTERNAL_TOOL_EXTENSION_NAME "XR_METAX1_agentic_external_tool"
static const XrStructureType XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1 = (XrStructureType) 1000613000;
static const XrStructureType XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1 = (XrStructureType) 1000613001;

typedef enum XrAgenticExternalToolParameterTypeMETAX1 {
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_STRING_METAX1 = 1,
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_NUMBER_METAX1 = 2,
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_BOOLEAN_METAX1 = 3,
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_ARRAY_METAX1 = 4,
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_OBJECT_METAX1 = 5,
    XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_METAX1_MAX_ENUM = 0x7FFFFFFF
} XrAgenticExternalToolParameterTypeMETAX1;
typedef XrFlags64 XrAgenticExternalToolCallbackInfoFlagsMETAX1;

// Flag bits for XrAgenticExternalToolCallbackInfoFlagsMETAX1
static const XrAgenticExternalToolCallbackInfoFlagsMETAX1 \
XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1 = 0x00000004;
#endif
#endif
"""
IN_PREVIEW = dict(zip(NAMES, (1000613000, 1000613001, 1, 2, 3, 4, 5, 4), strict=True))


def read(text):
    return read_text(text, Path("header.h"))


def value(definition, name=PARAMETER_STRUCTURE):
    return read(definition).numbers.get(name)


def test_a_header_in_the_style_of_metas_preview_headers_gives_every_number():
    reading = read(PREVIEW)
    assert reading.numbers == IN_PREVIEW
    assert (reading.missing, reading.unclear, reading.disagreeing) == ((), {}, {})


def test_another_suffix_and_line_ends_change_nothing():
    assert read(re.sub(r"METAX1\b", "META", PREVIEW)).numbers == IN_PREVIEW
    assert read(PREVIEW.replace("\n", "\r\n")).numbers == IN_PREVIEW


def test_our_own_header_is_read_alone_in_its_folder_and_with_other_numbers(tmp_path):
    (tmp_path / HEADER).parent.mkdir()
    (tmp_path / HEADER).write_text(secret_header(), encoding="utf-8")
    assert read_header(tmp_path / HEADER).numbers == SECRET
    assert read_header(tmp_path).numbers == SECRET
    assert read_header((tmp_path / HEADER).parent).numbers == SECRET
    assert len(read_header(ROOT / "native_headers").numbers) == len(NAMES)


def test_a_path_that_the_shell_did_not_expand_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "header.h").write_text(PREVIEW, encoding="utf-8")
    assert read_header(Path("~/header.h")).numbers == IN_PREVIEW


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_header_with_a_byte_order_mark_is_read(tmp_path, encoding):
    # In the first line, the mark would hide what is defined there.
    text = "\n".join(f"#define {name} {number}" for name, number in IN_PREVIEW.items())
    (tmp_path / "header.h").write_text(text, encoding=encoding)
    assert read_header(tmp_path / "header.h").numbers == IN_PREVIEW


@pytest.mark.parametrize(
    "expression",
    [
        "1000613004",
        "(1000613004)",
        "((XrStructureType)1000613004)",
        "( XrStructureType ) ( 1000613004 )",
        "static_cast<XrStructureType>(1000613004)",
        "XrStructureType(1000613004)",
        "0x3BA4248C",
        "0X3ba4248cU",
        "1000613004UL",
        "07351022214",
        "1000000000 + (614 - 1) * 1000 + 4",
        "(XrStructureType)(1000613000 | 4)",
        "BASE + 4",
        "(XrStructureType)(BASE) + 4",
        "1000613000 + \\\n    4",
        "1000613004 /* not 7 */ // nor 8",
    ],
)
@pytest.mark.parametrize("form", ["#define {} {}", "static const XrStructureType {} = {};", "enum X {{ {} = {} , }};"])
def test_a_number_is_read_in_every_form(form, expression):
    text = f"#define BASE 1000613000\n{form.format(PARAMETER_STRUCTURE, expression.strip())}\n"
    if form.startswith("#") or "//" not in expression:
        assert value(text) == 1000613004
    else:
        assert value(text.replace(";", "\n;").replace(" , ", "\n, ")) == 1000613004


@pytest.mark.parametrize(
    "text",
    [
        f"constexpr XrStructureType {PARAMETER_STRUCTURE}{{1000613004}};",
        f"const enum XrStructureType {PARAMETER_STRUCTURE} = 1000613004;",
        f"inline constexpr int {PARAMETER_STRUCTURE} = 1000613004;",
        f"  #  define   {PARAMETER_STRUCTURE}   1000613004  ",
    ],
)
def test_other_ways_to_write_a_constant_are_read_too(text):
    assert value(text) == 1000613004


@pytest.mark.parametrize(
    "text",
    [
        "static const int A = {}, B = {}, C = 7;",
        "constexpr int A{{{}}}, B{{{}}}, C(7);",
        "inline constexpr XrStructureType A = XrStructureType{{{}}}, B = XrStructureType({}), C = XrStructureType(7);",
        '[[maybe_unused]] static const int A [[x]] = {}, B [[x("a, b")]] = {}, C __attribute__((unused)) = 7;',
        "void f(const int a) {{ g(a, a); }} static const int A = {},\n  B = {},\n  C = 7;",
    ],
)
def test_a_declaration_may_hold_several_constants(text):
    names = [f"{PREFIX}PARAMETER_TYPE_{kind}_METAX1" for kind in KINDS[:3]]
    for short, name in zip("ABC", names, strict=True):
        text = re.sub(rf"\b{short}\b", name, text)
    assert read(text.format("5", "(1 << 4)")).numbers == dict(zip(names, (5, 16, 7), strict=True))


@pytest.mark.parametrize(
    "attribute",
    [
        "[[deprecated]]",
        '[[deprecated("text, with comma")]]',
        '[[deprecated("a ]] = 9")]]',
        "__attribute__((deprecated))",
        '__attribute__ ((deprecated("a, (b) = 9"), aligned(8)))',
    ],
)
@pytest.mark.parametrize("enum", ["enum X", "enum class X : uint32_t", "enum class [[nodiscard]] X : uint32_t"])
def test_attributes_of_members_are_passed_over(enum, attribute):
    names = [f"{PREFIX}PARAMETER_TYPE_{kind}_METAX1" for kind in KINDS[:3]]
    text = f"{enum} {{ {names[0]} {attribute} = 3, {names[1]} {attribute}, {names[2]} = {names[0]} + 4 }};"
    assert read(text).numbers == dict(zip(names, (3, 4, 7), strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "void f(const int P = 5, int b);",
        "static const int A = 1, *P = 5;",
        "static const int A = max(1, P = 5);",
        "enum X { P DEPRECATED = 5 };",
        "enum X { P [[deprecated = 5 };",
    ],
)
def test_what_only_looks_like_a_constant_is_not_taken(text):
    reading = read(re.sub(r"\bP\b", PARAMETER_STRUCTURE, text))
    assert reading.numbers == {}
    assert "enum" not in text or PARAMETER_STRUCTURE in reading.unclear


@pytest.mark.parametrize("expression", ["A" * 2**20, "1 " * 2**19])
def test_what_cannot_be_read_is_shown_in_part(expression):
    assert len(read(f"#define {PARAMETER_STRUCTURE} {expression}").unclear[PARAMETER_STRUCTURE]) < 600


@pytest.mark.parametrize(("bit", "number"), [("1 << 6", 64), ("(XrFlags64)1ULL << 6", 64), ("0x40", 64)])
def test_a_bit_may_be_written_as_a_shift(bit, number):
    assert value(f"#define {MAIN_THREAD_BIT} ({bit})", MAIN_THREAD_BIT) == number


def test_members_without_a_value_follow_the_one_before():
    names = [f"{PREFIX}PARAMETER_TYPE_{kind}_METAX1" for kind in KINDS]
    numbers = read(f"enum E {{ {', '.join(names)} }};").numbers
    assert list(numbers.values()) == [0, 1, 2, 3, 4]
    numbers = read(
        f"enum E : int {{ {names[0]} = 0x10, {names[1]}, {names[2]} = {names[0]} + 4, {names[3]}, }};"
    ).numbers
    assert list(numbers.values()) == [16, 17, 20, 21]


def test_what_is_in_a_comment_or_a_text_is_no_definition():
    text = f'// #define {PARAMETER_STRUCTURE} 7\n/* \n#define {PARAMETER_STRUCTURE} 8\n*/ #define S "/*"\n'
    assert read(text).missing == NAMES
    assert value(f'{text}#define T "//"\n#define {PARAMETER_STRUCTURE} 9\n') == 9


def test_two_values_for_one_name_are_a_disagreement_and_none_is_chosen():
    text = f"#ifdef NEW\n#define {PARAMETER_STRUCTURE} 5\n#else\n#define {PARAMETER_STRUCTURE} 6\n#endif\n"
    reading = read(text)
    assert reading.disagreeing == {PARAMETER_STRUCTURE: (5, 6)}
    assert PARAMETER_STRUCTURE not in reading.numbers
    suffix = f"#define {PARAMETER_STRUCTURE} 5\n#define {PARAMETER_STRUCTURE.removesuffix('X1')} 6\n"
    assert read(suffix).disagreeing == {PARAMETER_STRUCTURE: (5, 6)}
    assert value(suffix.replace("6", "5")) == 5


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("ELSEWHERE + 1", "ELSEWHERE is defined elsewhere"),
        ("XR_BIT(3)", "XR_BIT is defined elsewhere"),
        (PARAMETER_STRUCTURE, "leads to itself"),
        ("__COUNTER__[0]", "__COUNTER__ is defined elsewhere"),
        ('"text"', "no expression that this reader knows"),
        ("1.5", "no expression that this reader knows"),
        ("1 << 9999999999", "no expression that this reader knows"),
        ("09", "09 is no number"),
        ("sizeof(int)", "no expression that this reader knows"),
        ("sizeof(int) ? 1 : 2", "no expression that this reader knows"),
        ("(" * 5000 + "1", "no expression that this reader knows"),
        # What looks like a cast, or like a cast as C++ writes it, and is none.
        ("((XR_META_PREVIEW_BASE) + 0)", "XR_META_PREVIEW_BASE is defined elsewhere"),
        ("(XR_META_PREVIEW_BASE) - 1", "XR_META_PREVIEW_BASE is defined elsewhere"),
        ("(make_type)(1)", "make_type is defined elsewhere"),
        ("make_type(1)", "make_type is defined elsewhere"),
        ("static_cast<make_type>(1)", "no expression that this reader knows"),
        ("alignof(7)", "no expression that this reader knows"),
        ("(int)sizeof(5)", "no expression that this reader knows"),
        ("(uint8_t)257", "a cast changes 257"),
        ("uint8_t(257) + 1", "a cast changes 257"),
        ("--1", "no expression that this reader knows"),
    ],
)
def test_what_cannot_be_read_is_said_and_not_guessed(expression, reason):
    reading = read(f"#define {PARAMETER_STRUCTURE} {expression}\n")
    assert PARAMETER_STRUCTURE not in reading.numbers
    assert reason in reading.unclear[PARAMETER_STRUCTURE]


@pytest.mark.parametrize(
    "cast",
    [
        "(int)",
        "(unsigned long int)",
        "(const uint16_t)",
        "std::uint32_t",
        "static_cast<std::size_t>",
        "(XrUnheardOf)",
        "(enum Named)",
        "Named",
        "(Alias)",
        "(AliasOfAlias)",
        "(Small)",
    ],
)
def test_casts_to_types_that_are_known_are_read(cast):
    types = "typedef enum Named { A } Alias; typedef Alias AliasOfAlias; enum class Small : uint8_t { B };"
    assert value(f"{types}\n#define {PARAMETER_STRUCTURE} {cast}(200) + 1\n") == 201
    assert value(f"{types}\n#define {PARAMETER_STRUCTURE} ({cast}(3) << 2 | 1)\n") == 13


def test_a_cast_to_a_small_type_of_the_file_is_none_of_a_large_number():
    types = "typedef uint8_t Byte; enum class Small : Byte { B };"
    assert value(f"{types}\n#define {PARAMETER_STRUCTURE} (Small)256\n") is None


def test_an_alias_of_a_macro_of_several_terms_is_open_too():
    text = f"#define P 1000990000 + 1\n#define Q P\n#define {PARAMETER_STRUCTURE} Q * 2\n"
    assert "brackets" in read(text).unclear[PARAMETER_STRUCTURE]


def test_any_number_of_members_may_follow_one_with_a_value():
    before = ", ".join(f"A{number}" for number in range(5000))
    assert value(f"enum E {{ {before}, {PARAMETER_STRUCTURE} }};") == 5000
    assert value(f"enum E {{ A = 7, {before}, {PARAMETER_STRUCTURE} }};") == 5008


@pytest.mark.parametrize(
    ("body", "numbers"),
    [
        ("A,\n#ifdef NEW\nOTHER,\n#endif\nB, C = 7, D", (0, None, 7, 8)),
        ("A,\n#ifdef NEW\nB,\n#else\nC,\n#endif\nD", (0, 1, None, None)),
        ("A\n#ifdef NEW\n, OTHER\n#endif\n, B, C = 7", (0, None, 7, None)),
        ("A,\n# if NEW\nOTHER = 4,\n# endif\nB = 5, C, D = 7", (0, 5, 6, 7)),
        ("A = 1,\n#if NEW\nB = 5,\n#elif OLD\nB = 6,\n#endif\nC = 7, D", (1, "several", 7, 8)),
        ("A = 1,\n#if NEW\nB = 5, C\n#endif\n", (1, 5, 6, None)),
        ("A\n#if NEW\n= 5\n#endif\n, B, C = 7", (None, None, 7, None)),
        ("A = 1\n#if NEW\n+ 5\n#endif\n, B, C = 7", (None, None, 7, None)),
        ("A,\n#define OTHER 1\n#pragma once\nB", (0, 1, None, None)),
    ],
)
def test_a_member_that_depends_on_a_condition_is_left_open(body, numbers):
    names = [f"{PREFIX}PARAMETER_TYPE_{kind}_METAX1" for kind in KINDS[:4]]
    for short, name in zip("ABCD", names, strict=True):
        body = re.sub(rf"\b{short}\b", name, body)
    reading = read(f"enum E {{\n{body}\n}};")
    assert reading.numbers == {
        name: number for name, number in zip(names, numbers, strict=True) if isinstance(number, int)
    }
    several = {name: (5, 6) for name, number in zip(names, numbers, strict=True) if number == "several"}
    assert reading.disagreeing == several
    left_open = [name for name in names if name in body and name not in several and name not in reading.numbers]
    assert all("depends on a condition in the header" in reading.unclear[name] for name in left_open)


def test_a_constant_of_which_a_part_depends_on_a_condition_is_not_taken():
    text = f"static const int\n#ifdef NEW\n{PARAMETER_STRUCTURE} = 5;\n#else\n{PARAMETER_STRUCTURE} = 6;\n#endif\n"
    assert value(text) is None
    text = f"#ifdef NEW\nstatic const int {PARAMETER_STRUCTURE} = 5;\n#endif\n"
    assert value(text) == 5


@pytest.mark.parametrize(
    "text",
    [
        "#define Q '\"' /* a \" comment\n#define {} 7\n*/\n",
        'const char *TEXT = "a; const int {} = 4; enum E {{ {} = 4 }};";',
        '#define T "\'" /*\n#define {} 7 */\n',
        "const char Q = '\\''; /* '\nconst int {} = 4; */",
        "/* never closed\n#define {} 7\n",
    ],
)
def test_a_text_may_hold_anything_and_defines_nothing(text):
    assert read(text.replace("{}", PARAMETER_STRUCTURE)).missing == NAMES


def test_an_apostrophe_in_a_number_begins_no_text():
    assert value(f"#define LONG 1'000 /*\n*/\n#define {PARAMETER_STRUCTURE} 7\n") == 7
    assert value(f"#error don't\n#define {PARAMETER_STRUCTURE} 7\n") == 7


def test_a_number_that_is_clear_in_one_place_and_not_in_another_is_not_taken():
    reading = read(f"#define {PARAMETER_STRUCTURE} 5\n#define {PARAMETER_STRUCTURE} ELSEWHERE\n")
    assert PARAMETER_STRUCTURE not in reading.numbers
    assert PARAMETER_STRUCTURE in reading.unclear


def test_a_missing_number_is_said_with_similar_names_that_are_not_used():
    reading = read(PREVIEW.replace("REGISTER_INFO_METAX1", "REGISTRATION_INFO_METAX1"))
    assert reading.missing == (REGISTER_INFO_STRUCTURE,)
    assert reading.similar == {
        REGISTER_INFO_STRUCTURE: ("XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTRATION_INFO_METAX1",),
    }
    assert REGISTER_INFO_STRUCTURE not in reading.numbers


def test_a_file_that_says_nothing_of_the_extension_is_refused(tmp_path):
    path = tmp_path / "openxr.h"
    path.write_text("#define XR_TYPE_VIEW 7\n", encoding="utf-8")
    with pytest.raises(HeaderError, match="defines none of the extension's numbers.*metax1_agentic_external_tool.h"):
        read_header(path)
    with pytest.raises(HeaderError, match="cannot be read"):
        read_header(tmp_path / "missing.h")
    with pytest.raises(HeaderError, match="holds no metax1_agentic_external_tool.h .looked for at .*_preview"):
        read_header(tmp_path)
    with pytest.raises(HeaderError, match="cannot be read: it is not a file"):
        read_header(Path("/dev/zero"))
    path.write_bytes(bytes(range(256)) * 10)
    with pytest.raises(HeaderError, match="defines none"):
        read_header(path)


# ---- what a hostile or careless header must not do


@pytest.mark.parametrize("value", ["-3", "2147483648", "0x" + "f" * 50_000, "1 << 63 << 63"])
def test_a_value_that_the_number_cannot_have_is_left_open(value):
    reading = read(f"#define {PARAMETER_STRUCTURE} {value}")
    assert reading.numbers == {}
    assert PARAMETER_STRUCTURE in reading.unclear


def test_two_numbers_that_must_differ_and_do_not_are_both_left_open():
    names = [name for name in NAMES if name.startswith("XR_TYPE_")]
    reading = read("".join(f"#define {name} 1000990000\n" for name in names))
    assert reading.numbers == {}
    assert all("must differ" in reading.unclear[name] for name in names)


def test_a_macro_is_text_and_not_a_value():
    text = f"#define P 1000990000 + 1\n#define {PARAMETER_STRUCTURE} P*2\n"
    assert "brackets" in read(text).unclear[PARAMETER_STRUCTURE]
    text = f"#define P (1000990000 + 1)\n#define {PARAMETER_STRUCTURE} P+2\n"
    assert read(text).numbers[PARAMETER_STRUCTURE] == 1000990003
    text = f"#define P 1000990000 + 1\n#define {PARAMETER_STRUCTURE} P\n"
    assert read(text).numbers[PARAMETER_STRUCTURE] == 1000990001


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"#define A{n} (A{n + 1}+A{n + 1})\n" for n in range(45)) + f"#define A45 1\n#define {NAMES[0]} A0\n",
        "".join(f"#define A{n} (A{n + 1}*A{n + 1})\n" for n in range(40)) + f"#define A40 9\n#define {NAMES[0]} A0\n",
        "const " * 8000,
        "enum " * 60_000,
        "const a = " * 60_000,
        "[[a" * 60_000,
        '__attribute__((a("' * 60_000,
        "".join(f"#define XR_AGENTIC_EXTERNAL_TOOL_{n} 1\n" for n in range(20_000)),
        '"a\\' * 300_000 + "\n",
        "/*a" * 300_000,
        "#define A x" + " " * 1_000_000 + "x",
    ],
    ids=[
        *("doubling", "squaring", "const", "enum", "values", "brackets", "attributes", "names"),
        *("texts", "comments", "spaces"),
    ],
)
def test_no_header_takes_more_than_its_length_is_worth(text):
    assert read(text).numbers == {}
