"""The API layer over the OpenXR runtime that is active: ``make test-real``."""

import re

import pytest
from layer_harness import ANSWERS, CORE_VALIDATION, environment, khronos_layers, run
from real_harness import why_not_here

from openxr_agentic import loader
from openxr_agentic.host import LAYER_NAME, layer_library_path, layer_manifest_path

pytestmark = [pytest.mark.real, pytest.mark.skipif(bool(why_not_here()), reason=why_not_here())]


def offers_headless():
    return "XR_MND_headless" in loader.instance_extensions(loader.load().get_instance_proc_addr)


def test_an_instance_alone_is_served_and_its_tools_run_while_it_polls():
    done = run(environment(), layer_library_path(), "--no-session")
    assert (done.returncode, [line for line in done.stdout.splitlines() if line in ANSWERS]) == (0, ANSWERS), done


def test_a_session_without_graphics_runs_tools_in_its_frames():
    if not offers_headless():
        pytest.skip("the active runtime has no XR_MND_headless")
    done = run(environment(), layer_library_path())
    assert (done.returncode, [line for line in done.stdout.splitlines() if line in ANSWERS]) == (0, ANSWERS), done


def test_core_validation_between_the_layer_and_the_runtime_has_no_complaint(tmp_path):
    complaints = tmp_path / "complaints"
    env = environment(
        LAYER_NAME,
        CORE_VALIDATION,
        folders=[layer_manifest_path().parent, khronos_layers()],
        XR_CORE_VALIDATION_EXPORT_TYPE="text",
        XR_CORE_VALIDATION_FILE_NAME=str(complaints),
    )
    done = run(env, layer_library_path(), "--no-session")
    assert done.returncode == 0, done
    assert set(re.findall(r"\[(VALID_\w+)", complaints.read_text())) == {"VALID_DEBUG"}
