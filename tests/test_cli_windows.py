"""Where there is no control channel, which is Windows today, the commands that need one say so at once."""

import asyncio
import sys

import pytest

from openxr_agentic.host.channel import ChannelClient, ChannelError, channel_problem

click_testing = pytest.importorskip("click.testing")


@pytest.fixture
def on_windows(monkeypatch):
    from openxr_agentic.cli.group import command

    monkeypatch.setattr(sys, "platform", "win32")
    return command


@pytest.mark.parametrize(
    ("arguments", "code"), [(["serve", "--port", "0"], 1), (["run", "--port", "0", "--", "no-such-app"], 125)]
)
def test_a_command_that_serves_says_that_there_is_no_channel(on_windows, arguments, code):
    result = click_testing.CliRunner().invoke(on_windows, arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert "control channel" in result.stderr
    assert "not there on Windows yet" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["apps"],
        ["apps", "--json"],
        ["tools"],
        ["tools", "--app", "My app"],
        ["call", "MyApp_tool"],
        ["call", "--app", "1", "MyApp_tool"],
    ],
)
def test_a_command_that_would_ask_an_app_itself_says_that_there_is_no_channel(on_windows, monkeypatch, arguments):
    monkeypatch.setenv("AGENTICXR_MCP_PORT", "0")  # there is no server to ask either
    result = click_testing.CliRunner().invoke(on_windows, arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "not there on Windows yet" in result.stderr
    assert "openxr-agentic run" not in result.stderr  # which is refused there too
    assert ("--url" in result.stderr) == (arguments[0] != "apps")


def test_a_server_can_be_asked_all_the_same(on_windows):
    from openxr_agentic.cli.asking.targets import choose_target

    assert choose_target("http://localhost:8720/sse", None, None, {}).endpoints[0].sse


def test_a_client_is_refused_by_name(monkeypatch):
    assert channel_problem() is None
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(ChannelError, match="not there on Windows yet"):
        asyncio.run(ChannelClient.connect("no-such-socket"))
