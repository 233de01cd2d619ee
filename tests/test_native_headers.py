"""Our own OpenXR declarations say what the Khronos header says, name by name.

What is compared is read off our headers' preprocessed text, so a declaration
cannot be added and left out here. Nothing is run: the numbers are taken from
an object file, which also checks an ABI whose C library is not installed.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEADERS = ROOT / "native_headers"
SOURCES = Path(__file__).resolve().parent / "native"
OWN = "-DOXA_USE_OWN_OPENXR_DECLARATIONS"
CC = os.environ.get("CC", "cc")

# A second ABI costs nothing where the compiler has it.
ABIS = [(), ("-m32",)] if platform.machine() == "x86_64" else [()]

# Macros with arguments, at values where a wrong shift or mask shows.
MACRO_SAMPLES = [
    "XR_MAKE_VERSION(1, 2, 3)",
    "XR_MAKE_VERSION(0x1234, 0xFFFF, 0xFFFFFFFF)",
    "XR_VERSION_MAJOR(0x123456789ABCDEF0)",
    "XR_VERSION_MINOR(0x123456789ABCDEF0)",
    "XR_VERSION_PATCH(0x123456789ABCDEF0)",
    *(
        f"{macro}({result})"
        for macro in ("XR_SUCCEEDED", "XR_FAILED", "XR_UNQUALIFIED_SUCCESS")
        for result in (-1, 0, 1)
    ),
]

# Macros that stand for no number: how functions and handles are declared.
NOT_NUMBERS = {"XR_MAY_ALIAS", "XR_DEFINE_HANDLE", "XR_DEFINE_ATOM"}


def compile_c(*arguments: str | Path) -> str:
    command = [CC, "-std=c11", "-ffreestanding", f"-I{HEADERS}", *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def khronos_header() -> str:
    """The preprocessed text of the Khronos header, or a skip without it."""
    if shutil.which(CC) is None:
        missing = f"no C compiler {CC}"
    else:
        probe = subprocess.run(
            [CC, "-ffreestanding", "-E", "-x", "c", "-"],
            input="#include <openxr/openxr.h>\n",
            capture_output=True,
            text=True,
            check=False,
        )
        if probe.returncode == 0:
            return probe.stdout
        missing = "openxr/openxr.h is not installed (Debian: libopenxr-dev)"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def own_text(tmp_path: Path, *flags: str) -> str:
    source = tmp_path / "own.c"
    source.write_text("#include <openxr_agentic/loader_negotiation.h>\n")
    return compile_c(OWN, "-E", "-P", *flags, source)


def without_attributes(text: str) -> str:
    return re.sub(r"__attribute__\(\(\w+\)\)", "", text)


def struct_fields(body: str) -> list[str]:
    """The names that a structure's body declares: of `float x, y; char name[64];`: x, y, name."""
    return [
        re.search(r"(\w+)\s*(?:\[[^]]*\])?\s*$", declarator)[1]
        for declaration in body.split(";")
        if declaration.strip()
        for declarator in declaration.split(",")
    ]


def rows_of(text: str, macros: str) -> list[str]:
    """One row for all that our headers declare, in the words of declarations_table.c."""
    text = without_attributes(text)
    rows = []
    for name, body in re.findall(r"\bstruct\s+(Xr\w+)\s*\{([^}]*)\}", text):
        rows.append(f"SIZE({name})")
        rows += [f"FIELD({name}, {field})" for field in struct_fields(body)]
    for name, body in re.findall(r"\benum\s+(Xr\w+)\s*\{([^}]*)\}", text):
        rows.append(f"SIZE({name})")
        rows += [f"VALUE({enumerator})" for enumerator in re.findall(r"(\w+)\s*=", body)]
    rows += [f"SIZE({name})" for name in re.findall(r"\btypedef\s[^;{}()]*?\b(Xr\w+)\s*;", text)]
    rows += [f"SIZE({name})" for name in re.findall(r"\(\s*\*\s*(PFN_xr\w+)\s*\)", text)]
    for name, has_arguments in re.findall(r"^#define (XR_\w+)(\()?", macros, re.MULTILINE):
        if name not in NOT_NUMBERS and not has_arguments:
            rows.append(f"VALUE({name})")
    return rows + [f"VALUE({sample})" for sample in MACRO_SAMPLES]


def table(folder: Path, rows: list[str], *flags: str) -> list[tuple[str, int]]:
    """Each row with the numbers that the compiler has for it."""
    folder.mkdir()
    (folder / "rows.h").write_text("\n".join(rows))
    compile_c(*flags, f"-I{folder}", "-c", SOURCES / "declarations_table.c", "-o", folder / "table.o")
    subprocess.run(
        ["objcopy", "-O", "binary", "--only-section=.oxa_table", folder / "table.o", folder / "table"], check=True
    )
    labels = [row for row in rows for _ in range(2 if row.startswith("FIELD") else 1)]
    numbers = [number for (number,) in struct.iter_unpack("=q", (folder / "table").read_bytes())]
    return list(zip(labels, numbers, strict=True))


@pytest.mark.parametrize("abi", ABIS, ids=lambda abi: " ".join(abi) or "native")
def test_every_size_offset_and_value_equals_the_khronos_headers(khronos_header, tmp_path, abi):
    rows = rows_of(own_text(tmp_path, *abi), own_text(tmp_path, *abi, "-dM"))
    assert len(rows) > 500
    ours = table(tmp_path / "ours", rows, OWN, *abi)
    theirs = table(tmp_path / "theirs", rows, *abi)
    different = [(row, mine, other) for (row, mine), (_, other) in zip(ours, theirs, strict=True) if mine != other]
    assert different == []


def test_the_comparison_covers_every_name_that_our_headers_declare(tmp_path):
    text, macros = own_text(tmp_path), own_text(tmp_path, "-dM")
    compared = set(re.findall(r"\w+", " ".join(rows_of(text, macros))))
    declared = set(re.findall(r"\b(?:Xr|XR_|PFN_xr)\w+", text))
    declared |= set(re.findall(r"^#define (XR_\w+)", macros, re.MULTILINE))
    tags_of_handles = {name for name in declared if name.endswith("_T")}
    assert declared - compared - NOT_NUMBERS - tags_of_handles == set()


def test_every_function_signature_agrees_with_the_khronos_prototype(khronos_header):
    compile_c("-Werror", "-fsyntax-only", SOURCES / "function_signatures.c")


def names_in_list(which: str) -> set[str]:
    text = (HEADERS / "openxr_agentic" / "openxr_lists.h").read_text()
    body = re.search(rf"#define OXA_CORE_{which}\(entry\)(.*?)[^\\]\n\n", text, re.DOTALL)[1]
    return set(re.findall(r"\bentry\((\w+)", body))


def test_the_lists_hold_all_functions_of_core_1_0(khronos_header):
    # Extensions and OpenXR 1.1 carry a vendor's suffix, or come after the 1.0 part of the file.
    header = subprocess.run(
        [CC, "-ffreestanding", "-E", "-dD", "-x", "c", "-"],
        input="#include <openxr/openxr.h>\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    core = re.split(r"#define XR_(?!VERSION_1_0)(?:KHR_|EXT_|VERSION_)\w+ 1\n", header.split("XR_VERSION_1_0 1")[1])[0]
    functions = set(re.findall(r"\*\s*PFN_(xr\w+)\)", core)) - {"xrVoidFunction"}
    assert names_in_list("FUNCTIONS") == functions


@pytest.mark.parametrize(("enumeration", "which"), [("XrResult", "RESULTS"), ("XrStructureType", "STRUCTURE_TYPES")])
def test_the_lists_hold_all_results_and_structure_types_of_core_1_0(khronos_header, enumeration, which):
    body = re.search(rf"enum {enumeration}\s*\{{(.*?)\}}", khronos_header, re.DOTALL)[1]
    # Numbers of a thousand million and more belong to extensions, also to those that 1.1 took in.
    core = {name for name, value in re.findall(r"(\w+) = (-?\d+)\b", body) if abs(int(value)) < 1_000_000_000}
    assert names_in_list(which) == core - {name for name in core if name.endswith("_MAX_ENUM")}
