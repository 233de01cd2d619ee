"""MockRuntime: how it is selected for the loader, and what it leaves behind."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import openxr_agentic as agentic
from openxr_agentic import host, loader
from openxr_agentic.host.frames import CallStatus
from openxr_agentic.testing import MockCallError, MockRuntime, MockRuntimeError
from openxr_agentic.testing.variables import ChangedVariables

ROOT = Path(__file__).resolve().parents[1]


def offered():
    return loader.instance_extensions(loader.load().get_instance_proc_addr)


def test_the_environment_is_set_inside_and_restored_behind(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", "the user's own")
    with MockRuntime():
        assert os.environ["XR_RUNTIME_JSON"] == str(host.manifest_path())
    assert os.environ["XR_RUNTIME_JSON"] == "the user's own"
    monkeypatch.delenv("XR_RUNTIME_JSON")
    with MockRuntime():
        pass
    assert "XR_RUNTIME_JSON" not in os.environ


def test_with_the_layer_the_users_own_layers_stay_behind_it_and_all_is_restored(monkeypatch, tmp_path):
    monkeypatch.delenv("XR_ENABLE_API_LAYERS", raising=False)
    monkeypatch.setenv("XR_API_LAYER_PATH", str(tmp_path))
    before = dict(os.environ)
    with MockRuntime(layer=True):
        assert os.environ["XR_ENABLE_API_LAYERS"] == host.LAYER_NAME
        assert os.environ["XR_API_LAYER_PATH"] == f"{host.layer_manifest_path().parent}{os.pathsep}{tmp_path}"
        assert agentic.EXTENSION_NAME in offered()
    assert dict(os.environ) == before


@pytest.mark.parametrize(("before", "after"), [(None, "/of-xr"), ("/own", f"/own{os.pathsep}/of-xr")])
def test_what_others_append_to_a_variable_meanwhile_stays(monkeypatch, before, after):
    # As `import xr` does, once in a process.
    if before is None:
        monkeypatch.delenv("XR_API_LAYER_PATH", raising=False)
    else:
        monkeypatch.setenv("XR_API_LAYER_PATH", before)
    changed = ChangedVariables({"XR_API_LAYER_PATH": f"/ours{os.pathsep}{before or '/default'}"})
    os.environ["XR_API_LAYER_PATH"] += f"{os.pathsep}/of-xr"
    changed.restore()
    assert os.environ["XR_API_LAYER_PATH"] == after


def test_the_layer_always_offers_the_extension():
    with pytest.raises(ValueError, match="contradicts"):
        MockRuntime(layer=True, extension=False)


def test_the_environment_is_restored_when_the_block_raises(monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", "the user's own")
    with pytest.raises(ZeroDivisionError), MockRuntime():
        raise ZeroDivisionError
    assert os.environ["XR_RUNTIME_JSON"] == "the user's own"


def test_it_works_from_any_working_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with MockRuntime():
        assert agentic.EXTENSION_NAME in offered()


def test_the_manifest_names_the_library_relative_to_itself_and_has_no_byte_order_mark():
    data = host.manifest_path().read_bytes()
    assert json.loads(data.decode("utf-8"))["runtime"]["library_path"] == f"./{host.library_path().name}"
    assert data[:1] == b"{"


PROGRAM = """
import xr, openxr_agentic as agentic
from openxr_agentic.testing import MockRuntime
with MockRuntime() as runtime:
    instance = xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=agentic.enable_extension([])))
    with agentic.AgenticExtension(instance) as extension:
        extension.register_tool("tool", "A tool.", None, lambda arguments: "fine")
        print(runtime.call("tool"))
    xr.destroy_instance(instance)
"""


def test_it_works_under_a_folder_with_accents_cjk_and_a_space(tmp_path):
    folder = tmp_path / "un dossier été 名前"
    shutil.copytree(ROOT / "openxr_agentic", folder / "openxr_agentic")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, cwd=folder, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_a_runtime_that_the_loader_holds_already_is_released(tmp_path):
    # Another runtime: a copy of the library, which the loader takes for a stranger.
    shutil.copy(host.library_path(), tmp_path)
    shutil.copy(host.manifest_path(), tmp_path)
    program = (
        "import os; from openxr_agentic import loader; from openxr_agentic.testing import MockRuntime\n"
        "enumerate_extensions = lambda: loader.instance_extensions(loader.load().get_instance_proc_addr)\n"
        "enumerate_extensions()\n"
        "with MockRuntime() as runtime:\n"
        "    before = runtime.function_calls('xrEnumerateInstanceExtensionProperties')\n"
        "    enumerate_extensions()\n"
        "    print(runtime.function_calls('xrEnumerateInstanceExtensionProperties') > before)\n"
    )
    environment = {**os.environ, "XR_RUNTIME_JSON": str(tmp_path / host.manifest_path().name)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")
    living = program.replace(
        "enumerate_extensions()\n",
        "from openxr_agentic.testing import raw_instance\nraw_instance.create(loader.load().get_instance_proc_addr)\n",
        1,
    )
    done = subprocess.run(
        [sys.executable, "-c", living], capture_output=True, text=True, env=environment, cwd=ROOT, check=False
    )
    assert "MockRuntimeError: The OpenXR loader of this process holds another runtime" in done.stderr


def test_leaving_lets_the_loader_go_on_with_the_users_own_runtime(monkeypatch, tmp_path):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(tmp_path / "missing.json"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    with MockRuntime():
        assert agentic.EXTENSION_NAME in offered()
    with pytest.raises(agentic.RuntimeNotFoundError):
        offered()


def test_an_instance_that_a_failed_test_left_behind_does_not_break_the_next_one():
    xr = pytest.importorskip("xr", exc_type=Exception)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), MockRuntime() as runtime:  # noqa: PT012 - a test that fails
            xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=agentic.enable_extension([])))
            runtime.create_instance()
            raise ZeroDivisionError
    with pytest.warns(RuntimeWarning, match="left with 1 living instance"), MockRuntime():
        xr.create_instance(xr.InstanceCreateInfo(enabled_extension_names=agentic.enable_extension([])))
    with MockRuntime() as runtime:
        assert runtime.instances == []


def test_what_c_would_cut_or_wrap_is_refused(extension, runtime):
    extension.register_tool("tool", "", None, str)
    for call in (
        lambda: runtime.call("tool\0more"),
        lambda: runtime.call("tool", b'{"a":"\0b"}'),
        lambda: runtime.call("tool", timeout=-1),
        lambda: runtime.call("tool", timeout=float("nan")),
        lambda: runtime.raw_call("tool", capacity=2**32),
        lambda: runtime.raw_call("tool", capacity=-1),
        lambda: runtime.fail("xrWaitFrame", 2**40),
    ):
        with pytest.raises(ValueError, match="NUL|timeout|32 bits"):
            call()


def test_an_instance_that_is_not_there_is_said_to_be_missing(runtime):
    for call in (lambda: runtime.tools(instance=5), lambda: runtime.call("tool", instance=5)):
        with pytest.raises(MockRuntimeError, match="no living instance 0x5"):
            call()


def test_a_call_error_can_be_pickled():
    error = MockCallError("tool", CallStatus.FAILED, -2, "why")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.status, again.result) == (str(error), CallStatus.FAILED, -2)


def test_only_one_can_be_entered_and_it_can_be_entered_again(runtime):
    with pytest.raises(MockRuntimeError, match="entered already"), MockRuntime():
        pass
    assert runtime.instances == []


def test_it_must_be_entered_before_it_is_used():
    with pytest.raises(MockRuntimeError, match="not entered"):
        MockRuntime().tools()


@pytest.mark.parametrize("options", [{"numbers": {"nonsense": 1}}, {"pump_budget": -1.0}])
def test_options_that_make_no_sense_are_refused_and_change_nothing(options):
    before = os.environ.get("XR_RUNTIME_JSON")
    with pytest.raises(ValueError, match="no (number|option)"), MockRuntime(**options):
        pass
    assert os.environ.get("XR_RUNTIME_JSON") == before
    with MockRuntime():
        pass


@pytest.mark.fronts("mock", "layer")
def test_faults_end_after_their_times_and_with_the_block(xr_instance, runtime):
    import xr

    runtime.fail("xrGetSystem", -13, times=2)
    info = xr.SystemGetInfo(form_factor=xr.FormFactor.HEAD_MOUNTED_DISPLAY)
    for _ in range(2):
        with pytest.raises(xr.InstanceLostError):
            xr.get_system(xr_instance, info)
    assert xr.get_system(xr_instance, info)
    with pytest.raises(ValueError, match="no function 'xrNothing'"):
        runtime.fail("xrNothing", -1)


@pytest.mark.fronts("mock", "layer", "real")
def test_a_call_that_nobody_pumps_times_out_and_names_what_the_app_does_not_call(extension, runtime):
    from concurrent.futures import ThreadPoolExecutor

    ran = []
    extension.register_tool("tool", "", None, lambda _arguments: ran.append(1) or "ran")
    with ThreadPoolExecutor() as pool, pytest.raises(MockCallError, match="timed out.*xrPollEvent"):
        pool.submit(runtime.call, "tool", timeout=0.01).result()
    assert ran == []


@pytest.mark.fronts("mock", "layer", "real")
def test_a_call_on_the_instances_thread_pumps_while_it_waits(extension, runtime):
    import threading

    threads = []
    extension.register_tool("tool", "", None, lambda _arguments: threads.append(threading.get_ident()) or "ran")
    assert runtime.call("tool") == "ran"
    assert threads == [threading.get_ident()]


@pytest.mark.fronts("mock", "layer", "real")
def test_a_tool_without_the_main_thread_flag_runs_on_a_native_thread(extension, runtime):
    import threading

    threads = []
    extension.register_tool(
        "tool", "", None, lambda _arguments: threads.append(threading.get_ident()) or "ran", main_thread=False
    )
    assert runtime.call("tool") == "ran"
    assert threads != [threading.get_ident()]


@pytest.mark.fronts("mock", "layer", "real")
def test_a_named_native_thread_is_kept(extension, runtime):
    import threading

    threads = []
    extension.register_tool("tool", "", None, lambda _arguments: threads.append(threading.get_ident()) or "ran")
    for name in ("one", "two", "one"):
        runtime.call("tool", thread=name)
    assert threads[0] == threads[2] != threads[1]
