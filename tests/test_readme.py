"""What README and docs promise: their Python runs, their tables are complete, their links lead somewhere."""

import re
from pathlib import Path

import pytest

import openxr_agentic as agentic
from openxr_agentic.testing import MockRuntime

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(text):
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_quick_start_registers_a_tool_that_an_agent_can_call():
    quick_start, test = python_blocks(README)
    answers = []
    with MockRuntime() as runtime:
        names = {"call": lambda: answers.append(runtime.call("MyApp_CreateCube", {"position": [0, 1, 0]}))}
        exec(quick_start.replace("    ...  # your", "    call()  # your"), names)
    assert answers == ['{"created": "cube_1", "position": [0, 1, 0]}']

    def register_my_tools(extension):
        extension.register_tool("MyApp_CreateCube", "Makes a cube.", None, names["create_cube"])

    exec(test, {**names, "register_my_tools": register_my_tools, "agentic": agentic})


def test_the_example_test_of_the_testing_page_passes():
    (block,) = python_blocks((ROOT / "docs" / "testing.md").read_text(encoding="utf-8"))
    names = {}
    exec(block, names)
    names["test_the_cube_is_created"]()


def test_the_override_of_the_assumptions_page_works():
    (block,) = python_blocks((ROOT / "docs" / "assumptions.md").read_text(encoding="utf-8"))
    try:
        exec(block, {})
        assert agentic.numbers_in_force()["XR_TYPE_AGENTIC_EXTERNAL_TOOL_PARAMETER_METAX1"] == (1000123000, "override")
    finally:
        agentic.override_numbers(None)


def test_every_environment_variable_of_the_code_is_in_the_readmes_table():
    used = set()
    for file in (ROOT / "openxr_agentic").rglob("*.[pch]*"):
        if file.suffix in (".py", ".c", ".h") and file.name != "_binding.c":
            used |= set(re.findall(r'"((?:OPENXR_AGENTIC|AGENTICXR)_[A-Z_]+)"', file.read_text(encoding="utf-8")))
    documented = set(re.findall(r"^\| `([A-Z_]+)`", README, re.MULTILINE))
    assert used == documented - {"XR_RUNTIME_JSON"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
