"""tools/check_wheel.py refuses what must not be published; building and installing is `make wheel-test`."""

import io
import json
import runpy
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from openxr_agentic.host import manifests

ROOT = Path(__file__).resolve().parent.parent
NAME = "openxr_agentic-0.1.0-cp310-abi3-manylinux_2_34_x86_64.whl"
INFO = "openxr_agentic-0.1.0.dist-info"


@pytest.fixture(scope="module")
def check():
    return runpy.run_path(str(ROOT / "tools" / "check_wheel.py"))


def contents():
    return {
        "openxr_agentic/__init__.py": "",
        "openxr_agentic/py.typed": "",
        "openxr_agentic/_native/_binding.abi3.so": "",
        "openxr_agentic/host/libopenxr_agentic_mock.so": "",
        "openxr_agentic/host/libopenxr_agentic_layer.so": "",
        "openxr_agentic/host/openxr_agentic_mock.json": manifests.runtime_manifest("libopenxr_agentic_mock.so"),
        "openxr_agentic/host/api_layers/openxr_agentic_layer.json": manifests.layer_manifest(
            "libopenxr_agentic_layer.so"
        ),
        f"{INFO}/licenses/LICENSE": "MIT",
        f"{INFO}/METADATA": "",
    }


def wheel(tmp_path, files, name=NAME):
    path = tmp_path / name
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
    return path


def test_a_whole_wheel_is_accepted(check, tmp_path):
    check["check_wheel"](wheel(tmp_path, contents()))


@pytest.mark.parametrize(
    "name", ["openxr_agentic-0.1.0-cp311-cp311-linux_x86_64.whl", "openxr_agentic-0.1.0-py3-none-any.whl"]
)
def test_a_wheel_for_one_python_only_is_refused(check, tmp_path, name):
    with pytest.raises(check["WheelError"], match="cp310-abi3"):
        check["check_wheel"](wheel(tmp_path, contents(), name))


@pytest.mark.parametrize(
    "lost", ["openxr_agentic/py.typed", f"{INFO}/licenses/LICENSE", "openxr_agentic/_native/_binding.abi3.so"]
)
def test_a_wheel_that_lacks_a_file_is_refused(check, tmp_path, lost):
    files = contents()
    del files[lost]
    with pytest.raises(check["WheelError"], match="lacks"):
        check["check_wheel"](wheel(tmp_path, files))


@pytest.mark.parametrize("stray", ["tests/test_x.py", "openxr_agentic/host/core.h"])
def test_a_wheel_with_a_stray_file_is_refused_by_its_name(check, tmp_path, stray):
    with pytest.raises(check["WheelError"], match=stray):
        check["check_wheel"](wheel(tmp_path, {**contents(), stray: ""}))


@pytest.mark.parametrize("library", ["libopenxr_agentic_layer.so", "/tmp/libopenxr_agentic_layer.so", "../no_such.so"])
def test_a_manifest_that_leads_out_of_the_wheel_is_refused(check, tmp_path, library):
    layer = json.dumps({"file_format_version": "1.0.0", "api_layer": {"library_path": library}})
    files = {**contents(), "openxr_agentic/host/api_layers/openxr_agentic_layer.json": layer}
    with pytest.raises(check["WheelError"], match="which is not in the wheel"):
        check["check_wheel"](wheel(tmp_path, files))


def test_a_wheel_without_one_of_the_manifests_is_refused(check, tmp_path):
    files = contents()
    del files["openxr_agentic/host/openxr_agentic_mock.json"]
    with pytest.raises(check["WheelError"], match="not for a runtime and an API layer"):
        check["check_wheel"](wheel(tmp_path, files))


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (["setup.py", "pyproject.toml", "LICENSE"], "lacks"),
        (["setup.py", "openxr_agentic/_native/_binding.c"], "what a build made: openxr_agentic/_native/_binding.c"),
    ],
)
def test_an_sdist_that_cannot_be_built_from_or_was_built_in_is_refused(check, tmp_path, files, reason):
    path = tmp_path / "openxr_agentic-0.1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in files:
            archive.addfile(tarfile.TarInfo(f"openxr_agentic-0.1.0/{name}"), io.BytesIO())
    with pytest.raises(check["WheelError"], match=reason):
        check["check_sdist"](path)


@pytest.mark.parametrize("content", [b"", b"no archive", "half"])
def test_a_file_that_is_no_whole_archive_is_refused_by_its_name(check, tmp_path, content):
    sdist = tmp_path / "openxr_agentic-0.1.0.tar.gz"
    with tarfile.open(sdist, "w:gz") as archive:
        archive.add(ROOT / "LICENSE", "openxr_agentic-0.1.0/LICENSE")
    for kind, path in (("check_sdist", sdist), ("check_wheel", wheel(tmp_path, contents()))):
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if content == "half" else content)
        with pytest.raises(check["WheelError"], match=f"{path.name} cannot be read: ."):
            check[kind](path)


def test_the_tests_that_run_on_every_python_exist(check):
    for name in check["FAST_TESTS"]:
        assert (ROOT / "tests" / f"test_{name}.py").is_file(), name
    for name in check["OF_THE_SOURCES"]:
        assert (ROOT / "tests" / name).is_file(), name


def test_a_python_that_is_none_or_too_old_is_not_tried(check):
    assert check["describe"](str(ROOT / "no_such_python")) is None
    assert check["describe"](sys.executable).version == ".".join(map(str, sys.version_info[:3]))


def test_a_free_threaded_python_is_refused_by_the_build_with_the_words_that_are_looked_for(check):
    # There is none here: an ordinary one that says it is.
    program = (
        "import runpy, sys, sysconfig\n"
        "real = sysconfig.get_config_var\n"
        "sysconfig.get_config_var = lambda name: 1 if name == 'Py_GIL_DISABLED' else real(name)\n"
        "sys.argv = ['setup.py', '--version']\n"
        "runpy.run_path('setup.py', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False, cwd=ROOT
    )
    assert done.returncode == 1
    assert check["REFUSALS"][0] in done.stderr
    assert "Use an ordinary build of Python 3.10 or newer" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_free_threaded_python_does_not_take_a_wheel_for_the_stable_abi():
    tags = pytest.importorskip("packaging.tags")
    free_threaded = set(tags.cpython_tags((3, 14), abis=["cp314t"], platforms=["manylinux_2_34_x86_64"]))
    ordinary = set(tags.cpython_tags((3, 14), abis=["cp314"], platforms=["manylinux_2_34_x86_64"]))
    (ours,) = tags.parse_tag("cp310-abi3-manylinux_2_34_x86_64")
    assert ours in ordinary
    assert ours not in free_threaded
