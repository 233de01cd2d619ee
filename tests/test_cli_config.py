"""``openxr-agentic config``: what to paste into each client, and where."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("click")
pytest.importorskip("rich")

from click.testing import CliRunner

from openxr_agentic.cli.agent_commands import config
from openxr_agentic.cli.client_config import CLIENTS
from openxr_agentic.cli.group import command

if TYPE_CHECKING:
    from click.testing import Result

TOKEN = "very-secret-token"
URL = "http://127.0.0.1:8720/mcp"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment in which nothing is set that the command reads, but for the token."""
    for name in ("AGENTICXR_MCP_PORT", "XDG_RUNTIME_DIR", "TMPDIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENXR_AGENTIC_TOKEN", TOKEN)


def asked(*words: str) -> Result:
    result = CliRunner().invoke(command, ["config", *words], prog_name="openxr-agentic")
    assert TOKEN not in result.output
    return result


def pasted(*words: str) -> Any:
    """What a client reads from what is on stdout."""
    result = asked(*words)
    assert result.exit_code == 0, result.output
    if words[0] == "codex":
        return pytest.importorskip("tomllib").loads(result.stdout)
    return shlex.split(result.stdout) if result.stdout.startswith("claude ") else json.loads(result.stdout)


def test_there_is_a_snippet_for_each_client_that_the_help_names() -> None:
    (argument,) = [parameter for parameter in config.params if parameter.name == "client"]
    assert list(argument.type.choices) == list(CLIENTS)  # type: ignore[attr-defined]
    assert all(asked(client).exit_code == 0 for client in CLIENTS)


def test_the_default_is_the_server_on_the_default_port(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pasted("claude-code") == ["claude", "mcp", "add", "--transport", "http", "openxr", URL]
    assert pasted("cursor") == {"mcpServers": {"openxr": {"url": URL}}}
    assert pasted("vscode") == {"servers": {"openxr": {"type": "http", "url": URL}}}
    assert pasted("codex") == {"mcp_servers": {"openxr": {"url": URL}}}
    monkeypatch.setenv("AGENTICXR_MCP_PORT", "9000")
    assert pasted("cursor", "--name", "my-app")["mcpServers"]["my-app"]["url"] == "http://127.0.0.1:9000/mcp"
    assert pasted("cursor", "--port", "9001")["mcpServers"]["openxr"]["url"] == "http://127.0.0.1:9001/mcp"


def test_a_url_of_http_sse_is_told_to_the_clients_that_speak_it() -> None:
    sse = ("--url", "http://127.0.0.1:8720/sse")
    assert pasted("claude-code", *sse) == ["claude", "mcp", "add", "--transport", "sse", "openxr", sse[1]]
    assert pasted("vscode", *sse)["servers"]["openxr"] == {"type": "sse", "url": sse[1]}
    assert pasted("cursor", *sse)["mcpServers"]["openxr"] == {"url": sse[1]}
    refused = asked("codex", *sse)
    assert (refused.exit_code, "Codex speaks no HTTP+SSE" in refused.stderr) == (2, True)


def test_a_token_is_referred_to_as_each_client_can() -> None:
    bearer = {"claude-code": "${OPENXR_AGENTIC_TOKEN}", "cursor": "${env:OPENXR_AGENTIC_TOKEN}"}
    for client, reference in bearer.items():
        entry = pasted(client, "--token")["mcpServers"]["openxr"]
        assert entry["headers"] == {"Authorization": f"Bearer {reference}"}
        assert entry["url"] == URL
    vscode = pasted("vscode", "--token")
    (asks,) = vscode["inputs"]
    assert vscode["servers"]["openxr"]["headers"] == {"Authorization": f"Bearer ${{input:{asks['id']}}}"}
    assert (asks["type"], asks["password"]) == ("promptString", True)
    assert pasted("codex", "--token")["mcp_servers"]["openxr"]["bearer_token_env_var"] == "OPENXR_AGENTIC_TOKEN"


def test_how_to_set_the_token_is_said_without_reading_the_file() -> None:
    said = asked("cursor", "--token-file", "/no such/token").stderr
    if os.name == "posix":
        assert """export OPENXR_AGENTIC_TOKEN="$(cat '/no such/token')\"""" in said
    assert "VS Code asks for the token" in asked("vscode", "--token").stderr
    assert "No token is needed" in asked("claude-desktop", "--token").stderr


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_starts_the_server_by_an_absolute_path_and_finds_the_apps_folder(
    client: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1 0")
    given = pasted(client, *(() if client == "claude-desktop" else ("--stdio",)))
    if client == "claude-code":
        head, program = given[: given.index("--")], given[given.index("--") + 1 :]
        assert shlex.join(head) == "claude mcp add --env 'XDG_RUNTIME_DIR=/run/user/1 0' --transport stdio openxr"
        entry = {"command": program[0], "args": program[1:], "env": {"XDG_RUNTIME_DIR": "/run/user/1 0"}}
    else:
        entry = given[{"vscode": "servers", "codex": "mcp_servers"}.get(client, "mcpServers")]["openxr"]
    assert Path(entry["command"]).is_absolute()
    assert Path(entry["command"]).is_file()
    assert entry["args"][-2:] == ["serve", "--stdio"]
    assert entry["env"] == {"XDG_RUNTIME_DIR": "/run/user/1 0"}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_starts_an_app_by_full_paths_and_in_its_folder_where_it_can(
    client: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").touch()
    words = (
        client,
        *(() if client == "claude-desktop" else ("--stdio",)),
        "--",
        "python3",
        "app.py",
        "--port",
        "none.py",
    )
    given = pasted(*words)
    if client == "claude-code":
        program = given[given.index("--") + 1 :]
        entry = {"args": program[1:]}
    else:
        entry = given[{"vscode": "servers", "codex": "mcp_servers"}.get(client, "mcpServers")]["openxr"]
    command = entry["args"][entry["args"].index("run") :]
    assert command[:3] == ["run", "--stdio", "--"]
    assert command[3] == shutil.which("python3")
    assert command[4:] == [str(tmp_path / "app.py"), "--port", "none.py"]
    in_folder = client in ("vscode", "codex")
    assert entry.get("cwd") == (str(tmp_path) if in_folder else None)
    assert ("folder of its own choice" in asked(*words).stderr) != in_folder


def test_an_apps_python_that_is_not_on_the_path_is_the_one_that_runs_this(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    args = pasted("claude-desktop", "--", "python", "app.py")["mcpServers"]["openxr"]["args"]
    assert args[args.index("--") + 1] == sys.executable


def test_without_an_installed_command_python_itself_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/bin/python3")
    monkeypatch.setenv("PATH", "/nowhere")
    entry = pasted("claude-desktop")["mcpServers"]["openxr"]
    assert entry == {"command": "/nowhere/bin/python3", "args": ["-m", "openxr_agentic", "serve", "--stdio"]}


@pytest.mark.parametrize(
    ("system", "client", "path"),
    [
        ("linux", "claude-desktop", "~/.config/Claude/claude_desktop_config.json"),
        ("darwin", "claude-desktop", "~/Library/Application Support/Claude/claude_desktop_config.json"),
        ("win32", "claude-desktop", "%APPDATA%\\Claude\\claude_desktop_config.json"),
        ("linux", "cursor", "~/.cursor/mcp.json"),
        ("win32", "cursor", "%USERPROFILE%\\.cursor\\mcp.json"),
        ("darwin", "vscode", ".vscode/mcp.json"),
        ("linux", "codex", "~/.codex/config.toml"),
        ("freebsd14", "codex", "~/.codex/config.toml"),
    ],
)
def test_the_place_on_this_system_is_said_first(
    system: str, client: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openxr_agentic.cli.client_config.sys.platform", system)
    assert asked(client).stderr.splitlines()[0] == f"# Put into {path}"
    assert json.loads(asked(client, "--json").stdout)["path"] == path


def test_json_has_the_snippet_that_is_printed_and_all_places() -> None:
    for client in CLIENTS:
        told = json.loads(asked(client, "--json").stdout)
        assert told["client"] == client
        assert told["snippet"] + "\n" == asked(client).stdout
        assert told["kind"] == {"claude-code": "command", "codex": "toml"}.get(client, "json")
        assert set(told["paths"]) == (set() if client == "claude-code" else {"Linux", "macOS", "Windows"})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("cursor", "--", "python", "app.py"), "so --stdio goes with it"),
        (("cursor", "--stdio", "--", "no-such-program", "app.py"), "starts with 'no-such-program', and there is no"),
        (("emacs",), "claude-code"),
        (("cursor", "--name", "my app"), "--name is 'my app'"),
        (("cursor", "--url", URL, "--stdio"), "one of --url, --port and --stdio"),
        (("claude-desktop", "--port", "9000"), "Claude Desktop starts its servers itself"),
        (("cursor", "--port", "80"), "1024 to 65535"),
        (("cursor", "--port", "0"), "another port each time"),
        (("cursor", "--url", "localhost"), "no URL"),
    ],
)
def test_what_cannot_be_is_wrong_usage_with_the_reason(words: tuple[str, ...], told: str) -> None:
    result = asked(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
