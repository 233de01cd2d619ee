"""Builds the C programs that link the host core directly, mostly without an OpenXR front."""

import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HOST = ROOT / "openxr_agentic" / "host"
CC = os.environ.get("CC", "cc")
FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wpedantic", "-Wshadow", "-g", "-O1"]
SANITIZERS = {"plain": [], "memory": ["-fsanitize=address,undefined"], "threads": ["-fsanitize=thread"]}


@functools.cache
def folder():
    return tempfile.TemporaryDirectory(prefix="openxr-agentic-programs-")


@functools.cache
def works(sanitizer):
    """Whether the compiler and this system can run a program with the sanitizer."""
    if shutil.which(CC) is None:
        return False
    program = Path(folder().name, f"works_{sanitizer}")
    source = program.with_suffix(".c")
    source.write_text("int main(void) { return 0; }\n", encoding="utf-8")
    try:
        subprocess.run([CC, *SANITIZERS[sanitizer], source, "-o", program], check=True, capture_output=True)
        subprocess.run([program], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def core_sources():
    """The C files of the host core, without its two fronts."""
    return sorted(path for path in HOST.glob("*.c") if not path.name.startswith(("runtime", "layer")))


@functools.cache
def build(name, sanitizer="plain", *flags, front=None):
    """Compile ``native/<name>.c`` with the host core, and a front if one is named; return the program's path."""
    if not works(sanitizer):
        pytest.skip(f"{CC} cannot build and run a program for {sanitizer}")
    program = Path(folder().name, f"{name}_{sanitizer}")
    sources = [*core_sources(), *(sorted(HOST.glob(f"{front}*.c")) if front else ())]
    source = ROOT / "tests" / "native" / f"{name}.c"
    include = [f"-I{ROOT / 'native_headers'}", f"-I{HOST}"]
    command = [
        CC,
        *FLAGS,
        *SANITIZERS[sanitizer],
        *flags,
        *include,
        source,
        *sources,
        "-lpthread",
        "-o",
        program,
    ]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return program


def environment(**changes):
    """An environment for such a program: a sanitizer's finding is a failure."""
    reports = {"ASAN_OPTIONS": "detect_leaks=1", "UBSAN_OPTIONS": "halt_on_error=1", "TSAN_OPTIONS": "exitcode=66"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OPENXR", "XDG", "XR_"))}
    return {**inherited, **reports, **changes}
