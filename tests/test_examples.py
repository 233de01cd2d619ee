"""The examples, run the way their first lines say."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("click")
pytest.importorskip("rich")

from agent_harness import run
from cli_harness import environment, finished, line_with, started
from mcp import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLES = Path(__file__).parent.parent / "examples"
CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "headless_app.py": ("Example_Echo", {"input": "hi"}, r"hi"),
    "registry_app.py": ("Example_list_cubes", {}, r"\[\]"),
    "self_serving_app.py": ("Example_uptime", {}, r"\d+\.\d+(e-\d+)?"),
    "context_loop.py": ("Example_SetCount", {"value": 5}, r'\{"old": \d+, "new": 5\}'),
}
each_example = pytest.mark.parametrize("example", sorted(CALLS))


@pytest.fixture
def env() -> Iterator[dict[str, str]]:
    """An environment with a runtime folder of its own, with a path short enough for a socket."""
    with TemporaryDirectory() as name:
        # Any free port, for the example that starts a server too.
        yield environment(Path(name), AGENTICXR_MCP_PORT="0")


def test_every_example_is_tested() -> None:
    # Those without a frame loop are in test_examples_tools.py.
    apps = [path.name for path in EXAMPLES.glob("*.py") if not path.name.startswith("tools_")]
    assert sorted(apps) == sorted(CALLS)


@each_example
def test_an_example_offers_its_tool_and_ends_cleanly_on_an_interrupt(example: str, env: dict[str, str]) -> None:
    tool, arguments, answer = CALLS[example]

    async def scenario() -> None:
        command = (sys.executable, str(EXAMPLES / example))
        async with started("run", "--port", "0", "--", *command, env=env) as process:
            url = re.search(r"http://\S+/mcp", await line_with(process.stderr, "serving MCP at"))
            assert url is not None
            await line_with(process.stderr, "connected to")
            async with Client(url[0]) as client:
                while tool not in {each.name for each in (await client.list_tools()).tools}:
                    pass  # each turn asks the server; the app registers at its own pace
                result = await client.call_tool(tool, arguments)
                assert re.fullmatch(answer, result.content[0].text)  # type: ignore[union-attr]
            process.send_signal(signal.SIGINT)
            _, stderr = await process.communicate()
            assert process.returncode == 0, stderr.decode()
            assert b"Traceback" not in stderr

    run(scenario())


@each_example
def test_an_example_ends_by_itself_when_its_time_is_over(example: str, env: dict[str, str]) -> None:
    async def scenario() -> None:
        command = (sys.executable, str(EXAMPLES / example), "--seconds", "0.2")
        code, _, stderr = await finished("run", "--port", "0", "--", *command, env=env)
        assert code == 0, stderr
        assert "Traceback" not in stderr

    run(scenario())
