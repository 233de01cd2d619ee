"""docs/unity-and-meta.md: every row has a proof, and every proof is a test that there is."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import openxr_agentic as agentic

TESTS = Path(__file__).resolve().parent
PAGE = (TESTS.parent / "docs" / "unity-and-meta.md").read_text(encoding="utf-8")
ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
PROOF = re.compile(r"`([\w.]*)::(\w+)`")

# The members of Unity's two classes and the names of Meta's page.
MEMBERS = re.findall(
    r"\S+",
    """
ExecuteToolAsync GetAllToolsForSettings ToolSettingsEntry GetAvailableTools McpToolInfo HasTool Initialize
NotifyToolAvailabilityChanged RefreshTools RegisterTool RegisterTool<TParams> SanitizeToolName UnregisterTool
ToolsChanged ToolChangeEventArgs Added Updated Removed Refreshed McpTool Annotations Description EnabledByDefault Groups
Name Title AllowMultiple IUnityMcpTool IUnityMcpTool<TParams> McpSchema McpDescription TypeCache JObject
RegisterAgenticTool AgenticToolParameter AgenticToolCallback callbackFlags ApplicationMainThreadBit
ErrorValidationFailure ParamType IsRequired ArrayItemType ObjectProperties String Number Boolean Array Object
XR_METAX1_AGENTIC_EXTERNAL_TOOL_EXTENSION_NAME enabledExtensionNames xrGetInstanceProcAddr
xrAgenticRegisterExternalToolMETAX1 XrAgenticExternalToolParameterMETAX1 XrAgenticExternalToolRegisterInfoMETAX1
type next paramName paramDescription paramType isRequired arrayItemType objectProperties toolName toolDescription
toolParameterCount toolParameters toolCallback toolCallbackInfoFlags toolUserData resultBuffer resultBufferCountOutput
XR_ERROR_SIZE_INSUFFICIENT snprintf
""",
)


@cache
def names_in(file):
    tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in tree.body if isinstance(node, functions) and node.name.startswith("test_")}


def proofs(cell):
    """The tests that a cell names; ``::name`` is in the file named before it."""
    found, file = [], ""
    for named, test in PROOF.findall(cell):
        file = named or file
        found.append((file, test))
    return found


def test_there_are_as_many_tables_as_headings_say():
    headings = [row for row in ROWS if row[-1] == "Proof"]
    assert len(headings) == 7
    assert len(ROWS) > 80


@pytest.mark.parametrize("row", [row for row in ROWS if row[-1] != "Proof"], ids=lambda row: row[0])
def test_a_row_has_three_cells_and_is_proved_by_tests_that_there_are(row):
    assert len(row) == 3
    assert all(row)
    named = proofs(row[2])
    assert named
    assert PROOF.sub("", row[2]).strip(", ") == ""
    for file, test in named:
        assert test in names_in(file), f"{file}::{test}"


@pytest.mark.parametrize("member", MEMBERS)
def test_every_member_of_the_three_pages_is_in_a_row(member):
    assert any(re.search(rf"(?<!\w){re.escape(member)}(?!\w)", row[0]) for row in ROWS)


def test_the_names_of_ours_in_the_tables_are_there():
    known = {*dir(agentic), *dir(agentic.ToolRegistry)}
    for row in ROWS:
        for name in re.findall(r"`registry\.(\w+)", row[1]):
            assert name in known or hasattr(agentic.ToolRegistry(), name), name
        for name in re.findall(r"`([A-Z][a-zA-Z]+(?:Error|Info|Setting|Kind|Parameter|Annotations))\b", row[1]):
            assert name in known, name
