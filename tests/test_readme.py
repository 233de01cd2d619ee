"""What README and docs promise: their Python runs, their tables are complete, their links lead somewhere."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import openxr_agentic as agentic
from openxr_agentic import host
from openxr_agentic.testing import MockRuntime

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_quick_starts_tool_can_be_called_and_its_test_passes():
    quick_start, _text, _client, test, with_pytest = python_blocks(README)
    answers = []
    with MockRuntime() as runtime:
        names = {"call": lambda: answers.append(runtime.call("MyApp_create_cube", {"position": [0, 1, 0]}))}
        exec(quick_start.replace("    ...  # your", "    call()  # your"), names)
    assert [json.loads(answer) for answer in answers] == [{"created": "cube_1", "position": [0, 1, 0]}]
    assert names["create_cube"]((1, 2, 3)) == {"created": "cube_1", "position": (1, 2, 3)}
    exec(test, {"registry": names["registry"]})
    exec(with_pytest, {"registry": names["registry"]})


def test_the_pytest_example_passes_with_the_plugin(agent):
    quick_start, *_, with_pytest = python_blocks(README)
    names = {}
    exec(quick_start[: quick_start.index("info = ")], names)
    exec(with_pytest, names)
    names["test_a_cube_is_made"](agent)


def test_the_level_below_registers_a_tool_too(runtime, xr_instance):
    _quick_start, text, *_ = python_blocks(README)
    names = {}
    exec(text, names)
    with names["register"](xr_instance):
        assert runtime.call("MyApp_Echo", {"input": "hi"}) == "hi"


def test_the_client_lists_and_calls_the_tools_of_an_app_started_as_the_readme_says(tmp_path):
    """App and server apart, by the three lines of the README; the client is its second block."""
    _quick_start, _text, client, *_ = python_blocks(README)
    environment = {
        **os.environ,
        "XR_RUNTIME_JSON": str(host.manifest_path()),
        "OPENXR_AGENTIC_CHANNEL": "readme",
        "AGENTICXR_MCP_PORT": "0",
    }
    app = [sys.executable, str(ROOT / "examples" / "registry_app.py")]
    server = [sys.executable, "-m", "openxr_agentic", "serve", "--app", "readme", "--json"]
    running = subprocess.Popen(app, env=environment, cwd=tmp_path)
    serving = subprocess.Popen(server, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        url = json.loads(serving.stdout.readline())["http"]
        program = client.replace("http://127.0.0.1:8720/mcp", url)
        while True:  # until the server has found the app
            done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
            if not done.stdout.startswith("[]"):
                break
    finally:
        serving.terminate()
        running.send_signal(signal.SIGINT)
        serving.communicate(timeout=60)
        running.wait(60)
    tools, answer = done.stdout.splitlines()
    assert "Example_list_cubes" in tools
    assert answer == "[]"
    assert running.returncode == 0


def test_the_example_test_of_the_testing_page_passes(tmp_path):
    block, _plugin = python_blocks((ROOT / "docs" / "testing.md").read_text(encoding="utf-8"))
    (tmp_path / "test_example.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_override_of_the_assumptions_page_works():
    (block,) = python_blocks((ROOT / "docs" / "assumptions.md").read_text(encoding="utf-8"))
    try:
        exec(block, {})
        assert agentic.numbers_in_force()["XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1"] == (1000123000, "override")
    finally:
        agentic.override_numbers(None)


def test_every_environment_variable_of_the_code_is_in_the_readmes_table():
    used = set()
    folders = {ROOT / "openxr_agentic", Path(agentic.__file__).parent}  # C and Python may be apart: an installed wheel
    for file in (file for folder in folders for file in folder.rglob("*.[pch]*")):
        if file.suffix in (".py", ".c", ".h") and file.name != "_binding.c":
            used |= set(re.findall(r'"((?:OPENXR_AGENTIC|AGENTICXR)_[A-Z_]+)"', file.read_text(encoding="utf-8")))
    documented = set(re.findall(r"^\| `([A-Z_]+)`", README, re.MULTILINE))
    assert used == documented - {"XR_RUNTIME_JSON", "XR_API_LAYER_PATH", "XR_ENABLE_API_LAYERS"}  # the loader's


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
