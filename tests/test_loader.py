"""Where the OpenXR loader comes from, and what is said when there is none, or no runtime."""

import struct
import subprocess
import sys
from pathlib import Path

import pytest

import openxr_agentic as agentic
from openxr_agentic import loader
from openxr_agentic.testing import MockRuntime

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def no_loader_yet(monkeypatch):
    """As in a new process: no loader was loaded, and the system has none."""
    monkeypatch.setattr(loader, "_loaded", None)
    monkeypatch.setattr("ctypes.util.find_library", lambda _name: None)
    for name in [name for name in sys.modules if name == "xr" or name.startswith("xr.")]:
        monkeypatch.delitem(sys.modules, name)


def fake_xr(folder, text, loader_bytes=None):
    """Put a package `xr` into a folder, with a loader if it is given one."""
    package = folder / "xr"
    package.mkdir()
    (package / "__init__.py").write_text(text, encoding="utf-8")
    if loader_bytes is not None:
        library = package / "library" / loader._bundled_names()[0]
        library.parent.mkdir(parents=True)
        library.write_bytes(loader_bytes)


def test_an_xr_that_cannot_be_imported_is_quoted_and_only_a_live_attach_fails(no_loader_yet, monkeypatch, tmp_path):
    fake_xr(tmp_path, "raise OSError('/lib/libc.so.6: version GLIBC_2.99 not found')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(agentic.LoaderNotFoundError, match="OSError: .*GLIBC_2.99 not found"):
        agentic.AgenticExtension(1)
    assert not agentic.is_extension_available()
    with MockRuntime() as runtime:
        instance = runtime.create_instance()
        with agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr) as extension:
            extension.register_tool("tool", "", None, str)
            assert runtime.call("tool") == "{}"
        runtime.destroy_instance(instance)


def test_a_loader_for_another_processor_is_named_with_the_one_that_is_needed(no_loader_yet, monkeypatch, tmp_path):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 3, 0xB7) + bytes(44)
    fake_xr(tmp_path, "", header)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(agentic.LoaderNotFoundError, match="built for aarch64, and this Python needs x86_64"):
        loader.load()


def test_on_macos_there_is_no_loader_and_it_is_said(no_loader_yet, monkeypatch):
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(agentic.LoaderNotFoundError, match="There is no OpenXR loader here.*macOS"):
        loader.load()


def test_without_pyopenxr_and_system_loader_it_is_said_what_to_install(no_loader_yet, monkeypatch):
    monkeypatch.setattr(loader, "_pyopenxr_folder", lambda: None)
    with pytest.raises(
        agentic.LoaderNotFoundError, match="pip install pyopenxr.*xr-agentic doctor.*\n.*the system: it has no library"
    ):
        loader.load()


def test_the_loader_is_taken_from_pyopenxr_without_importing_it():
    program = "import sys; from openxr_agentic import loader; print(loader.load().path, 'xr' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    path, imported = done.stdout.split()
    assert Path(path).parts[-4:-2] == ("xr", "library")
    assert imported == "False"


def test_the_loader_of_an_imported_xr_is_the_one_in_use():
    program = (
        "import xr; from openxr_agentic import loader; import ctypes\n"
        "own = ctypes.cast(xr.library.openxr_loader_library.xrGetInstanceProcAddr, ctypes.c_void_p).value\n"
        "print(loader.load().get_instance_proc_addr == own)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "True"


# ---- no runtime


@pytest.fixture
def no_runtime(monkeypatch, tmp_path):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(tmp_path / "missing.json"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


NO_RUNTIME = r"XR_RUNTIME_JSON=.*missing.json, and that file does not exist.*openxr-agentic run"


def test_attaching_without_a_runtime_shows_the_variable_whether_the_file_exists_and_the_mock(no_runtime):
    with pytest.raises(agentic.RuntimeNotFoundError, match=NO_RUNTIME):
        agentic.AgenticExtension(None)


def test_requiring_the_extension_without_a_runtime_raises_and_not_requiring_it_warns(no_runtime):
    with pytest.raises(agentic.RuntimeNotFoundError, match=NO_RUNTIME):
        agentic.enable_extension([], required=True)
    with pytest.warns(agentic.ExtensionUnavailableWarning, match=NO_RUNTIME):
        assert agentic.enable_extension(["XR_MND_headless"]) == ["XR_MND_headless"]
    assert not agentic.is_extension_available()


def test_a_missing_runtime_never_ends_the_process(no_runtime):
    program = (
        "import openxr_agentic as agentic\n"
        "try:\n    agentic.enable_extension([], required=True)\n"
        "except agentic.AgenticError as error:\n    print('caught', type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "caught RuntimeNotFoundError"


def test_the_active_runtime_is_looked_for_where_the_loader_does(monkeypatch, tmp_path):
    monkeypatch.delenv("XR_RUNTIME_JSON", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    manifest = tmp_path / "openxr" / "1" / "active_runtime.json"
    manifest.parent.mkdir(parents=True)
    manifest.write_text("{}", encoding="utf-8")
    how, found = loader.active_runtime()
    assert found == manifest
    assert str(manifest) in how


# ---- enable_extension


def test_the_extension_is_added_once_at_the_end_and_the_callers_list_is_left_alone(runtime):
    given = ["XR_KHR_opengl_enable", "XR_MND_headless"]
    assert agentic.enable_extension(given) == ["XR_KHR_opengl_enable", "XR_MND_headless", agentic.EXTENSION_NAME]
    assert given == ["XR_KHR_opengl_enable", "XR_MND_headless"]


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ([], ["XR_METAX1_agentic_external_tool"]),
        ((), ["XR_METAX1_agentic_external_tool"]),
        ([b"XR_MND_headless"], [b"XR_MND_headless", b"XR_METAX1_agentic_external_tool"]),
        (["XR_METAX1_agentic_external_tool", "XR_B"], ["XR_METAX1_agentic_external_tool", "XR_B"]),
        ([b"XR_METAX1_agentic_external_tool", "XR_B"], [b"XR_METAX1_agentic_external_tool", "XR_B"]),
        (["XR_B", "XR_METAX1_agentic_external_tool"] * 2, ["XR_B", "XR_METAX1_agentic_external_tool", "XR_B"]),
    ],
)
def test_names_keep_their_order_and_kind(runtime, given, result):
    assert agentic.enable_extension(given) == result


@pytest.mark.parametrize("given", ["XR_MND_headless", b"XR_MND_headless", [5]])
def test_what_are_no_names_is_refused(runtime, given):
    with pytest.raises(TypeError, match="name"):
        agentic.enable_extension(given)


def test_a_runtime_without_the_extension_leaves_it_out_with_a_warning_or_raises_when_required():
    with MockRuntime(extension=False):
        with pytest.warns(agentic.ExtensionUnavailableWarning, match="left out, and the app goes on"):
            assert agentic.enable_extension(["XR_B", agentic.EXTENSION_NAME]) == ["XR_B"]
        with pytest.raises(
            agentic.ExtensionNotAvailableError, match="does not offer XR_METAX1.*XR_RUNTIME_JSON=.*xr-agentic doctor"
        ):
            agentic.enable_extension([], required=True)
        assert not agentic.is_extension_available()


def test_an_app_starts_without_the_extension_where_nobody_offers_it():
    xr = pytest.importorskip("xr", exc_type=Exception)
    with MockRuntime(extension=False) as runtime:
        with pytest.warns(agentic.ExtensionUnavailableWarning):
            names = agentic.enable_extension(["XR_MND_headless"])
        instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=names))
        assert len(runtime.instances) == 1
        xr.destroy_instance(instance)


def test_with_the_mock_the_extension_is_available(runtime):
    assert agentic.is_extension_available()


@pytest.mark.parametrize("result", [-9, -36, -51])
def test_where_the_environment_is_at_fault_the_doctor_is_named(result):
    assert str(agentic.ResultError("xrCreateInstance", result)).count("openxr-agentic doctor") == 1


def test_an_enumeration_that_fails_is_shown_by_name(runtime):
    runtime.fail("xrEnumerateInstanceExtensionProperties", -4)
    with pytest.raises(agentic.ResultError, match="XR_ERROR_API_VERSION_UNSUPPORTED"):
        loader.instance_extensions(runtime.get_instance_proc_addr)
