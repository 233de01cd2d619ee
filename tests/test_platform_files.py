"""What the operating system brings stands in few files: all other C is C11, and the same everywhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("openxr_agentic/_native", "openxr_agentic/host", "native_headers")
# Clocks and locks; threads and processes; sockets and folders.
OF_THE_PLATFORM = {
    "native_headers/openxr_agentic/platform.h",
    "openxr_agentic/host/platform.c",
    "openxr_agentic/host/endpoint.c",
}
GENERATED = {"openxr_agentic/_native/_binding.c"}
C11 = {"errno.h", "math.h", "stdarg.h", "stdatomic.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"}
OTHERS_HEADERS = re.compile(r"Python\.h|openxr/\w+\.h|openxr_agentic/\w+\.h|meta_openxr_preview/\w+\.h")
INCLUDED = re.compile(r"^\s*#\s*include\s*<([^>]+)>", re.MULTILINE)


def c_files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            name = path.relative_to(ROOT).as_posix()
            if name not in GENERATED:
                yield name


@pytest.mark.parametrize("name", sorted(set(c_files()) - OF_THE_PLATFORM))
def test_no_header_of_an_operating_system_is_included(name):
    included = INCLUDED.findall((ROOT / name).read_text(encoding="utf-8"))
    foreign = [header for header in included if header not in C11 and not OTHERS_HEADERS.fullmatch(header)]
    assert foreign == []


def test_the_files_that_are_excepted_are_there_and_do_include_some():
    assert set(c_files()) >= OF_THE_PLATFORM
    for name in OF_THE_PLATFORM:
        included = set(INCLUDED.findall((ROOT / name).read_text(encoding="utf-8")))
        assert {header for header in included if not OTHERS_HEADERS.fullmatch(header)} - C11, name
