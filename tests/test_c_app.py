"""A C app without Python drives the mock runtime and offers tools."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from openxr_agentic.host import layer_library_path, library_path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(__file__).resolve().parent / "native" / "c_app.c"
CC = os.environ.get("CC", "cc")


@pytest.fixture(scope="module", params=[(), ("-DOXA_USE_OWN_OPENXR_DECLARATIONS",)], ids=["installed", "own"])
def app(request, tmp_path_factory):
    """The compiled app: with the OpenXR header that is installed, if any, and with our declarations."""
    if shutil.which(CC) is None:
        pytest.skip(f"no C compiler {CC}")
    path = tmp_path_factory.mktemp("c_app") / "c_app"
    flags = ["-std=c11", "-D_DEFAULT_SOURCE", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'native_headers'}"]
    subprocess.run([CC, *flags, *request.param, SOURCE, "-o", path, "-lpthread", "-ldl"], check=True)
    return path


def test_a_c_app_offers_tools_and_an_agent_calls_them(app):
    run = subprocess.run([app, library_path()], capture_output=True, text=True, check=False, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    states = re.findall(r"session is (\w+)", run.stdout)
    up = ["IDLE", "READY", "SYNCHRONIZED", "VISIBLE", "FOCUSED"]
    down = ["VISIBLE", "SYNCHRONIZED", "STOPPING", "IDLE", "EXITING"]
    assert states == (up + down) * 2
    assert run.stdout.endswith("all right\n")


each_library = pytest.mark.parametrize("library", [library_path(), layer_library_path()], ids=["mock", "layer"])


@each_library
def test_the_library_needs_no_python(library):
    dynamic = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    assert "python" not in dynamic.lower()
    assert not re.search(r"\b_?Py\w", symbols)


@each_library
def test_the_library_stays_in_memory_when_the_loader_closes_it(library):
    # Its threads and Python's own handle need it after xrDestroyInstance.
    dynamic = subprocess.run(["readelf", "-dW", library], capture_output=True, text=True, check=True).stdout
    assert "NODELETE" in dynamic
