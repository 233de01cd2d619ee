"""docs/quest.md and docs/platforms.md: what they name is there."""

import re
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import openxr_agentic as agentic
from openxr_agentic import errors

ROOT = Path(__file__).resolve().parent.parent
PAGES = {name: (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("quest.md", "platforms.md")}
TEXT = "\n".join(PAGES.values())


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(\w+(?:Error|Warning))`", TEXT))))
def test_every_exception_that_is_named_is_one_of_ours(name):
    from openxr_agentic.host import channel

    assert hasattr(agentic, name) or hasattr(errors, name) or hasattr(channel, name)


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bXR_ERROR_\w+", TEXT))))
def test_every_result_that_is_named_is_known(name):
    assert name in errors._RESULT_NAMES.values()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"\bagentic\.(\w+)\(", TEXT))))
def test_every_function_that_is_named_is_public(name):
    assert name in agentic.__all__


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_a_file_or_a_heading(page):
    headings = re.findall(r"^#+ (.+)$", PAGES[page], re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\((?!https:)([^)]+)\)", PAGES[page]):
        file, _, anchor = target.partition("#")
        assert (ROOT / "docs" / file).exists() if file else anchor in anchors, target


def test_apps_are_told_that_metas_runtimes_have_no_headless_sessions():
    row = next(line for line in PAGES["quest.md"].splitlines() if line.startswith("| `XR_ERROR_EXTENSION_NOT_PRESENT`"))
    assert "XR_MND_headless" in row
    assert "(#what-your-app-must-do-differently-there)" in row


def test_the_first_app_of_the_page_is_served_and_called_as_the_page_says(folder):
    pytest.importorskip("mcp")
    pytest.importorskip("rich")
    pytest.importorskip("xr", exc_type=Exception)
    from agent_harness import run
    from cli_harness import environment, finished, line_with, started

    (app,) = re.findall(r"Save this as `first\.py`.*?```python\n(.*?)```", PAGES["quest.md"], re.DOTALL)
    file = folder / "first.py"
    file.write_text(dedent(app), encoding="utf-8")
    env = environment(folder, AGENTICXR_MCP_PORT="0")
    command = PAGES["quest.md"].partition("openxr-agentic call ")[2].partition("\n")[0].split()

    async def scenario():
        code, stdout, stderr = await finished("check", str(file), env=env)  # it does not start the app
        assert (code, "MyApp_greet(name: string)" in stdout) == (0, True), stderr
        async with started("run", "--", sys.executable, str(file), env=env) as process:
            assert "attached=True" in await line_with(process.stdout, "AttachmentStatus(")
            await line_with(process.stderr, "connected to")
            code, stdout, stderr = await finished("call", *command, env=env)
            assert (code, stdout) == (0, "Hello, Ada!\n"), stderr
            _, stdout, _ = await finished("tools", env=env)
            assert stdout.startswith("MyApp_greet(name: string)\n")

    run(scenario())


def test_every_result_that_a_registration_can_give_is_explained():
    for name in ("VALIDATION_FAILURE", "FEATURE_UNSUPPORTED", "FUNCTION_UNSUPPORTED", "EXTENSION_NOT_PRESENT"):
        assert f"XR_ERROR_{name}" in PAGES["quest.md"]
