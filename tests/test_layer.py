"""The API layer: by itself in C, through the Khronos loader, and beside the layers that others use."""

import json
import re
import shutil
import subprocess

import host_programs
import pytest
from layer_harness import ANSWERS, API_DUMP, CORE_VALIDATION, khronos_layers, over_mock, run

from openxr_agentic.host import LAYER_NAME, layer_library_path, layer_manifest_path, library_path

PATIENCE = "-DOXA_DESTROY_PATIENCE_NS=200000000"


@pytest.mark.timeout(300)
@pytest.mark.parametrize("sanitizer", ["memory", "threads"])
def test_the_layer_keeps_its_promises(sanitizer):
    program = host_programs.build("layer_unit", sanitizer, PATIENCE, front="layer")
    run = subprocess.run([program], check=False, capture_output=True, text=True, env=host_programs.environment())
    assert run.returncode == 0, run.stderr


def test_no_lock_is_taken_while_the_queue_is_empty():
    program = host_programs.build("layer_locks", "plain", "-Wl,--wrap=pthread_mutex_lock", front="layer")
    run = subprocess.run([program], check=True, capture_output=True, text=True, env=host_programs.environment())
    assert run.stdout == "0 locks with an empty queue\nsome with a call\n"


def test_the_library_exports_two_functions_and_nothing_else():
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", layer_library_path()], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1] for line in listed.stdout.splitlines()}
    assert names == {"xrNegotiateLoaderApiLayerInterface", "oxaGetHostControl"}


# ---- through the Khronos loader


def test_an_app_finds_the_layer_by_the_loaders_variables_alone():
    done = run(over_mock(), layer_library_path())
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, ANSWERS, "")


def test_it_works_under_a_folder_with_accents_cjk_and_a_space(tmp_path):
    folder = tmp_path / "é 層" / "api_layers"
    shutil.copytree(layer_manifest_path().parent, folder)
    library = shutil.copy(layer_library_path(), folder.parent)
    done = run(over_mock(folders=[folder]), library)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, ANSWERS, "")


def test_an_app_may_enable_the_layer_itself():
    env = over_mock()
    del env["XR_ENABLE_API_LAYERS"]
    done = run(env, layer_library_path(), "--layer", LAYER_NAME)
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, ANSWERS, "")


def test_installed_as_an_implicit_layer_it_is_there_unless_its_variable_disables_it(tmp_path):
    folder = tmp_path / "openxr" / "1" / "api_layers" / "implicit.d"
    folder.mkdir(parents=True)
    manifest = json.loads(layer_manifest_path().read_text(encoding="utf-8"))
    manifest["api_layer"]["library_path"] = str(layer_library_path())
    (folder / "layer.json").write_text(json.dumps(manifest), encoding="utf-8")
    env = over_mock(XDG_DATA_HOME=str(tmp_path))
    del env["XR_API_LAYER_PATH"], env["XR_ENABLE_API_LAYERS"]
    assert run(env, layer_library_path()).stdout.splitlines() == ANSWERS
    disabled = run({**env, manifest["api_layer"]["disable_environment"]: "1"}, layer_library_path())
    assert "xr.exception.ExtensionNotPresentError" in disabled.stderr


@pytest.mark.parametrize("order", ["above", "below", "between"])
def test_core_validation_has_no_complaint_and_the_extension_goes_no_further_down(order, tmp_path):
    layers = {
        "above": [LAYER_NAME, CORE_VALIDATION, API_DUMP],
        "below": [CORE_VALIDATION, API_DUMP, LAYER_NAME],
        "between": [CORE_VALIDATION, LAYER_NAME, API_DUMP],
    }[order]
    complaints, dump = tmp_path / "complaints", tmp_path / "dump"
    done = run(
        over_mock(
            *layers,
            folders=[layer_manifest_path().parent, khronos_layers()],
            XR_CORE_VALIDATION_EXPORT_TYPE="text",
            XR_CORE_VALIDATION_FILE_NAME=str(complaints),
            XR_API_DUMP_EXPORT_TYPE="text",
            XR_API_DUMP_FILE_NAME=str(dump),
        ),
        layer_library_path(),
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer")]
    assert (done.returncode, answers) == (0, ANSWERS), done.stderr
    # It says when it begins and ends, and would say VALID_WARNING or VALID_ERROR.
    assert set(re.findall(r"\[(VALID_\w+)", complaints.read_text())) == {"VALID_DEBUG"}
    seen = dump.read_text()
    created = [part for part in seen.split("XrResult ") if part.startswith("xrCreateInstance")]
    asked = ["XR_METAX1_agentic_external_tool" in part for part in created]
    assert asked == [order == "below"] * 2  # above our layer, the dump sees what the app enables
    assert "xrWaitFrame" in seen


def test_over_a_runtime_that_has_the_extension_the_layer_is_not_there():
    done = run(over_mock(offers=True), library_path())
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, ANSWERS, "")


@pytest.mark.parametrize("mock_offers", [True, False])
def test_the_processs_channel_is_the_serving_hosts(mock_offers, tmp_path):
    env = over_mock(offers=mock_offers, OPENXR_AGENTIC_CHANNEL="1", XDG_RUNTIME_DIR=str(tmp_path))
    done = run(env, library_path() if mock_offers else layer_library_path())
    host = "mock runtime" if mock_offers else "API layer"
    assert [line for line in done.stdout.splitlines() if line not in ANSWERS] == [f"channel {host} 0.1.0"] * 2
    assert (done.returncode, done.stderr) == (0, "")
