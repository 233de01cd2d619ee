"""tools/cross.py: what it compiles, and that docs/platforms.md tells of every platform. Compiling is `make cross`."""

import importlib.util
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CROSS = ROOT / "tools" / "cross.py"


@pytest.fixture(scope="module")
def cross():
    return runpy.run_path(str(CROSS))


def test_each_front_is_linked_with_the_core_and_without_the_other(cross):
    runtime, layer, core = (
        {path.name for path in cross["host_sources"](front)} for front in ("runtime", "layer", None)
    )
    assert runtime & layer == core
    assert "runtime.c" in runtime - core
    assert "layer.c" in layer - core
    assert {"platform.c", "endpoint.c", "host.c"} <= core
    assert runtime | layer == {path.name for path in (ROOT / "openxr_agentic" / "host").glob("*.c")}


def test_every_platform_is_in_the_docs(cross):
    told = (ROOT / "docs" / "platforms.md").read_text(encoding="utf-8")
    for target in (*cross["PLATFORMS"], cross["REFUSED"]):
        assert f"`{target.name}`" in told, target.name


def test_the_platforms_that_are_promised_are_compiled_for(cross):
    assert {target.name for target in cross["PLATFORMS"]} >= {
        "windows-x86_64",
        "windows-arm64",
        "macos-arm64",
        "linux-x86_64",
        "linux-arm64",
    }


def test_32_bit_windows_is_refused_by_the_words_that_are_looked_for(cross):
    header = ROOT / "native_headers" / "openxr_agentic" / "platform.h"
    assert f'#error "{cross["REFUSAL"]}' in header.read_text(encoding="utf-8")


def test_the_c_tests_that_are_run_exist(cross):
    for unit in (*cross["UNITS"], *cross["POSIX_UNITS"]):
        assert (ROOT / "tests" / "native" / f"{unit}.c").is_file(), unit


def test_a_platform_that_there_is_not_is_refused_with_those_that_there_are():
    done = subprocess.run(
        [sys.executable, CROSS, "amiga"], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert done.returncode == 2
    assert "no such platform: amiga; there are windows-x86_64, " in done.stderr


def test_a_word_of_the_compiler_is_a_failure_that_names_the_file(cross):
    program = "import sys; sys.stderr.write('warning: something')"
    with pytest.raises(cross["CrossError"], match="a.c:\nwarning: something"):
        cross["checked"]("a.c", [sys.executable, "-c", program])


def test_the_loaders_that_an_app_goes_through_are_in_pyopenxr(cross):
    pyopenxr = importlib.util.find_spec("xr")
    assert pyopenxr is not None
    for loader in cross["LOADERS"].values():
        assert Path(pyopenxr.origin).parent.joinpath("library", loader).is_file(), loader


def test_a_program_under_wine_is_told_paths_of_its_own(cross, tmp_path):
    told = {
        target.system: cross["Build"](target, tmp_path, None).seen(Path("/a/b.json")) for target in cross["PLATFORMS"]
    }
    assert told == {"windows": "Z:\\a\\b.json", "macos": "/a/b.json", "linux": "/a/b.json"}
