"""Building against another header than ours: other numbers, other suffix, other style."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
HEADER = Path("meta_openxr_preview", "metax1_agentic_external_tool.h")

NUMBERS = {
    "XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1": 1000777001,
    "XR_TYPE_AGENTIC_EXTERNAL_TOOL_REGISTER_INFO_METAX1": 1000777003,
    "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_STRING_METAX1": 15,
    "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_NUMBER_METAX1": 14,
    "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_BOOLEAN_METAX1": 13,
    "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_ARRAY_METAX1": 12,
    "XR_AGENTIC_EXTERNAL_TOOL_PARAMETER_TYPE_OBJECT_METAX1": 11,
    "XR_AGENTIC_EXTERNAL_TOOL_CALLBACK_INFO_APPLICATION_MAIN_THREAD_BIT_METAX1": 64,
}


def other_header():
    """Ours, as somebody else would have written it: the suffix META, `static const` lines, own numbers."""
    text = (ROOT / "native_headers" / HEADER).read_text(encoding="utf-8")
    text = text.replace("#define OXA_NUMBERS_ARE_ASSUMED 1\n", "")
    text = re.sub(r"#define (XR_TYPE_\w+METAX1) .*", r"static const XrStructureType \1 = (XrStructureType)0;", text)
    text = re.sub(
        r"#define (XR_\w+MAIN_THREAD_BIT_METAX1) \\\n.*",
        r"static const XrAgenticExternalToolCallbackInfoFlagsMETAX1 \1 = 0;",
        text,
    )
    for name, value in NUMBERS.items():
        text, replaced = re.subn(rf"(\b{name} = )(\(XrStructureType\))?\d+", rf"\g<1>\g<2>{value}", text)
        assert replaced == 1, name
    text = text.replace('#include "../openxr_agentic/openxr_core.h"', "#include <openxr_agentic/openxr_core.h>")
    # Everything but the extension's own name in the suffix META.
    return re.sub(r"METAX1\b", "META", text)


@pytest.fixture(scope="module")
def other_build(tmp_path_factory):
    """A copy of the project, built against the other header."""
    folder = tmp_path_factory.mktemp("other build")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("openxr_agentic", "native_headers"):
        shutil.copytree(
            ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.so", "*.json", "__pycache__", "_binding.c")
        )
    include = folder / "official"
    (include / HEADER).parent.mkdir(parents=True)
    (include / HEADER).write_text(other_header(), encoding="utf-8")
    done = build(folder, str(include))
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def build(folder, include):
    return subprocess.run(
        [sys.executable, "setup.py", "-q", "build_ext", "--inplace"],
        cwd=folder,
        env={**os.environ, "OPENXR_AGENTIC_INCLUDE_DIR": include},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run_python(folder, *arguments):
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )


def test_the_binding_takes_its_numbers_from_the_header_that_is_first(other_build):
    program = (
        "import json, openxr_agentic as agentic\n"
        "assert agentic.__file__.startswith(__import__('os').getcwd())\n"
        "print(json.dumps(agentic.numbers_in_force()), agentic.EXTENSION_NAME)\n"
        "from openxr_agentic._native import ffi, lib; print(ffi.string(lib.oxa_register_function_name).decode())"
    )
    done = run_python(other_build, "-c", program)
    assert done.returncode == 0, done.stderr
    numbers, name, function = done.stdout.split(), *done.stdout.split()[-2:]
    found = json.loads(" ".join(numbers[:-2]))
    assert found == {key: [value, "header"] for key, value in NUMBERS.items()}
    assert name == "XR_METAX1_agentic_external_tool"
    assert function == "xrAgenticRegisterExternalToolMETA"


def test_the_demo_runs_on_that_build(other_build):
    done = run_python(other_build, "-m", "openxr_agentic", "demo")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_host_of_that_build_refuses_our_numbers(other_build):
    program = (
        "import openxr_agentic as agentic\n"
        "from openxr_agentic.testing import MockRuntime\n"
        "with MockRuntime() as runtime:\n"
        "    agentic.override_numbers({'XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_META': 1000990000})\n"
        "    instance = runtime.create_instance()\n"
        "    extension = agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)\n"
        "    parameter = agentic.ToolParameter('p', '', agentic.ParameterType.STRING)\n"
        "    try:\n"
        "        extension.register_tool('tool', '', [parameter], str)\n"
        "    except agentic.ResultError as error:\n"
        "        print(error.name)\n"
        "    runtime.destroy_instance(instance)\n"
    )
    done = run_python(other_build, "-c", program)
    assert done.stdout == "XR_ERROR_VALIDATION_FAILURE\n", done.stderr


def test_with_numbers_from_the_header_a_validation_failure_has_one_cause(other_build):
    program = (
        "import openxr_agentic as agentic\n"
        "from openxr_agentic.testing import MockRuntime\n"
        "with MockRuntime() as runtime:\n"
        "    instance = runtime.create_instance()\n"
        "    extension = agentic.AgenticExtension(instance, get_instance_proc_addr=runtime.get_instance_proc_addr)\n"
        "    runtime.fail('xrAgenticRegisterExternalToolMETA', -1)\n"
        "    try:\n"
        "        extension.register_tool('tool', '', None, str)\n"
        "    except agentic.ToolNameTakenError as error:\n"
        "        print(error.name)\n"
        "    runtime.destroy_instance(instance)\n"
    )
    done = run_python(other_build, "-c", program)
    assert done.stdout == "XR_ERROR_VALIDATION_FAILURE\n", done.stderr


def test_a_folder_that_is_none_and_a_header_of_something_else_stop_the_build_with_a_reason(other_build, tmp_path):
    done = build(other_build, "/no/such/folder")
    assert done.returncode != 0
    assert "OPENXR_AGENTIC_INCLUDE_DIR names '/no/such/folder', which is not a folder" in done.stderr
    (tmp_path / HEADER).parent.mkdir()
    (tmp_path / HEADER).write_text("/* something else */\n", encoding="utf-8")
    done = build(other_build, str(tmp_path))
    assert done.returncode != 0
    assert "does not declare XrAgenticExternalToolRegisterInfoMETAX1" in done.stderr
