"""``openxr-agentic config``: what to paste into a client's settings, and where."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from openxr_agentic.cli.asking.targets import endpoints_of
from openxr_agentic.errors import ConfigurationError
from openxr_agentic.mcp.transports.access import TOKEN_VARIABLE
from openxr_agentic.mcp.transports.ports import HTTP_PATH, LOOPBACK, choose_port

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CLIENTS: Final = ("claude-code", "claude-desktop", "cursor", "vscode", "codex")

_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
# Clients start a stdio server with few variables. By these two the server finds the folder of the apps' channels.
_FOLDER_VARIABLES: Final = ("XDG_RUNTIME_DIR", "TMPDIR")
_HAVE_FOLDERS: Final = ("vscode", "codex")
"""Clients that can be told in which folder a server is started."""

_SYSTEMS: Final = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}


class Server(NamedTuple):
    """The server that a client is to know.

    Attributes:
        name: Its name in the client.
        url: Where it is; None: the client starts it and speaks stdio.
        token: Whether it wants a token.
        app_command: The app that the client starts with it, as `run` does; empty: it serves an app that runs.
    """

    name: str
    url: str | None
    token: bool = False
    app_command: tuple[str, ...] = ()

    @property
    def sse(self) -> bool:
        """Whether it is HTTP+SSE."""
        return self.url is not None and endpoints_of(self.url)[0].sse


class Snippet(NamedTuple):
    """What to paste.

    Attributes:
        client: The client's name, as in `CLIENTS`.
        kind: ``"command"``, ``"json"`` or ``"toml"``.
        text: What to paste.
        paths: Where, by system; empty: into a terminal.
        notes: What else to know, a sentence each.
    """

    client: str
    kind: str
    text: str
    paths: dict[str, str]
    notes: tuple[str, ...] = ()


def choose_server(
    client: str,
    *,
    name: str,
    url: str | None,
    port: str | None,
    stdio: bool,
    token: bool,
    app_command: Sequence[str] = (),
    environment: Mapping[str, str] = os.environ,
) -> Server:
    """Return the server that the options mean.

    Raises:
        ConfigurationError: They contradict each other, or the client cannot do what they say.
    """
    if not _NAME.fullmatch(name):
        raise ConfigurationError(f"--name is {name!r}: clients take letters, digits, - and _ only.")
    if sum((url is not None, port is not None, stdio)) > 1:
        raise ConfigurationError("Give one of --url, --port and --stdio.")
    if client == "claude-desktop" and (url is not None or port is not None):
        raise ConfigurationError(
            "Claude Desktop starts its servers itself and speaks stdio to them: leave out --url and --port. "
            "The server finds the running app by itself."
        )
    if stdio or client == "claude-desktop":
        return Server(name, None, token, _from_anywhere(app_command))
    if app_command:
        raise ConfigurationError(
            "COMMAND is an app that the client starts, so --stdio goes with it. A server with an address is started "
            "by you: openxr-agentic run -- COMMAND."
        )
    if url is None:
        number = choose_port(port, environment)
        if number == 0:
            raise ConfigurationError("Port 0 is another port each time: give the server's with --port or --url.")
        url = f"http://{LOOPBACK}:{number}"
    found = Server(name, endpoints_of(url)[0].url, token)
    if client == "codex" and found.sse:
        raise ConfigurationError(
            f"Codex speaks no HTTP+SSE: give the URL of streamable HTTP, which ends in {HTTP_PATH} here, or --stdio."
        )
    return found


def snippet_for(client: str, server: Server) -> Snippet:
    """Return what to paste for a client."""
    return _MAKERS[client](server)


def show_config(client: str, server: Server, token_file: str | None, *, as_json: bool) -> None:
    """Print what to paste on stdout, and on stderr where.

    Args:
        client: One of `CLIENTS`.
        server: The server.
        token_file: File with the token, for the advice alone: it is not read.
        as_json: Print one JSON object with all of it on stdout.
    """
    snippet = snippet_for(client, server)
    system = sys.platform if sys.platform in _SYSTEMS else "linux"
    notes = list(snippet.notes)
    if server.app_command and client not in _HAVE_FOLDERS:
        notes.append(
            "The client starts the app in a folder of its own choice: what the app opens by relative paths is not "
            "found there."
        )
    if server.token:
        notes.append(_about_token(client, server, token_file))
    if as_json:
        told = {
            "client": snippet.client,
            "kind": snippet.kind,
            "path": snippet.paths.get(system),
            "paths": {_SYSTEMS[name]: path for name, path in snippet.paths.items()},
            "snippet": snippet.text,
            "notes": notes,
        }
        click.echo(json.dumps(told, ensure_ascii=False, indent=2))
        return
    click.echo(_where(snippet, system), err=True)
    for note in notes:
        click.echo(f"# {note}", err=True)
    click.echo(snippet.text)


def _where(snippet: Snippet, system: str) -> str:
    if not snippet.paths:
        return "# Run in a terminal, in the folder in which you use the client:"
    here = snippet.paths[system]
    others = {path: "" for name, path in snippet.paths.items() if path != here}
    lines = [f"# Put into {here}"]
    for path in others:
        names = [_SYSTEMS[name] for name, one in snippet.paths.items() if one == path]
        lines.append(f"#   ({' and '.join(names)}: {path})")
    return "\n".join(lines)


def _about_token(client: str, server: Server, token_file: str | None) -> str:
    if server.url is None:
        return "No token is needed for a server that the client starts itself."
    if client == "vscode":
        return "VS Code asks for the token when it starts the server, and keeps it as a secret."
    before = f"Before you start the client, set {TOKEN_VARIABLE} in its environment to the server's token"
    if token_file is None:
        return f"{before}."
    if os.name == "nt":
        return f"{before}, in PowerShell: $env:{TOKEN_VARIABLE} = (Get-Content -Raw '{token_file}').Trim()"
    return f'{before}: export {TOKEN_VARIABLE}="$(cat {shlex.quote(token_file)})"'


# ---------------------------------------------------------------- one for each client


def _claude_code(server: Server) -> Snippet:
    if server.url is None:
        program = _started_by_client(server)
        # --env takes all words up to the next option: the name must not follow it.
        variables = [word for name, value in program["env"].items() for word in ("--env", f"{name}={value}")]
        words = ["claude", "mcp", "add", *variables, "--transport", "stdio", server.name, "--"]
        return Snippet("claude-code", "command", _shell([*words, program["command"], *program["args"]]), {})
    transport = "sse" if server.sse else "http"
    if not server.token:
        return Snippet(
            "claude-code",
            "command",
            _shell(["claude", "mcp", "add", "--transport", transport, server.name, server.url]),
            {},
        )
    # A command would be expanded by some shells, and the token kept in the settings; the project's file keeps the name.
    entry = {"type": transport, "url": server.url, "headers": _bearer(f"${{{TOKEN_VARIABLE}}}")}
    return Snippet(
        "claude-code",
        "json",
        _json({"mcpServers": {server.name: entry}}),
        dict.fromkeys(_SYSTEMS, ".mcp.json"),
        ("In the folder of your project. " + _MERGE.format(key="mcpServers"),),
    )


def _claude_desktop(server: Server) -> Snippet:
    file = "claude_desktop_config.json"
    return Snippet(
        "claude-desktop",
        "json",
        _json({"mcpServers": {server.name: _without_empty(_started_by_client(server))}}),
        {
            "linux": f"~/.config/Claude/{file}",
            "darwin": f"~/Library/Application Support/Claude/{file}",
            "win32": f"%APPDATA%\\Claude\\{file}",
        },
        (_MERGE.format(key="mcpServers") + " Then quit Claude Desktop and start it again.",),
    )


def _cursor(server: Server) -> Snippet:
    return Snippet(
        "cursor",
        "json",
        _json({"mcpServers": {server.name: _entry(server, _bearer(f"${{env:{TOKEN_VARIABLE}}}"))}}),
        {
            "linux": "~/.cursor/mcp.json",
            "darwin": "~/.cursor/mcp.json",
            "win32": "%USERPROFILE%\\.cursor\\mcp.json",
        },
        ("For one project only: .cursor/mcp.json in its folder. " + _MERGE.format(key="mcpServers"),),
    )


def _vscode(server: Server) -> Snippet:
    # Variables of the environment are not replaced in headers; what VS Code asks for and keeps is.
    asked = f"{server.name}-token"
    entry = _entry(server, _bearer(f"${{input:{asked}}}"))
    kind = "stdio" if server.url is None else "sse" if server.sse else "http"
    if server.app_command:
        entry["cwd"] = os.getcwd()
    whole: dict[str, Any] = {"servers": {server.name: {"type": kind, **entry}}}
    notes = ["In the folder of your project; for all of them, use the command MCP: Open User Configuration."]
    if server.token:
        whole = {
            "inputs": [{"type": "promptString", "id": asked, "description": "Token of the server", "password": True}],
            **whole,
        }
    notes.append(_MERGE.format(key="servers"))
    return Snippet("vscode", "json", _json(whole), dict.fromkeys(_SYSTEMS, ".vscode/mcp.json"), tuple(notes))


def _codex(server: Server) -> Snippet:
    lines = [f"[mcp_servers.{server.name}]"]
    if server.url is None:
        program = _started_by_client(server)
        lines += [f"command = {_toml(program['command'])}", f"args = [{', '.join(map(_toml, program['args']))}]"]
        if server.app_command:
            lines.append(f"cwd = {_toml(os.getcwd())}")
        if program["env"]:
            pairs = ", ".join(f"{variable} = {_toml(value)}" for variable, value in program["env"].items())
            lines.append(f"env = {{ {pairs} }}")
    else:
        lines.append(f"url = {_toml(server.url)}")
        if server.token:
            lines.append(f"bearer_token_env_var = {_toml(TOKEN_VARIABLE)}")
    return Snippet(
        "codex",
        "toml",
        "\n".join(lines),
        {
            "linux": "~/.codex/config.toml",
            "darwin": "~/.codex/config.toml",
            "win32": "%USERPROFILE%\\.codex\\config.toml",
        },
        ("At its end is a good place.",),
    )


_MAKERS: Final[Mapping[str, Callable[[Server], Snippet]]] = {
    "claude-code": _claude_code,
    "claude-desktop": _claude_desktop,
    "cursor": _cursor,
    "vscode": _vscode,
    "codex": _codex,
}

_MERGE: Final = 'Where the file has "{key}" already, add what is inside of it.'


# ---------------------------------------------------------------- parts


def _entry(server: Server, headers: Mapping[str, str]) -> dict[str, Any]:
    if server.url is None:
        return _without_empty(_started_by_client(server))
    return {"url": server.url, **({"headers": dict(headers)} if server.token else {})}


def _bearer(reference: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {reference}"}


def _from_anywhere(command: Sequence[str]) -> tuple[str, ...]:
    """Return an app's command as it can be started in any folder, and with hardly an environment.

    Raises:
        ConfigurationError: There is no such program here.
    """
    if not command:
        return ()
    program = shutil.which(command[0])
    if program is None and re.fullmatch(r"python[0-9.]*", command[0]):
        program = sys.executable
    if program is None:
        raise ConfigurationError(f"COMMAND starts with {command[0]!r}, and there is no such program here.")
    # Not resolved: a virtual environment's Python is a link to another one.
    return (
        os.path.abspath(program),
        *(os.path.abspath(word) if Path(word).is_file() else word for word in command[1:]),
    )


def _started_by_client(server: Server) -> dict[str, Any]:
    """Return how a client starts the server, from any folder and with hardly an environment."""
    beside = Path(sys.executable).parent / ("openxr-agentic.exe" if os.name == "nt" else "openxr-agentic")
    found = str(beside) if beside.is_file() else shutil.which("openxr-agentic")
    serve = ["run", "--stdio", "--", *server.app_command] if server.app_command else ["serve", "--stdio"]
    folder = next((name for name in _FOLDER_VARIABLES if os.environ.get(name, "").startswith("/")), None)
    return {
        "command": os.path.abspath(found) if found else sys.executable,
        "args": [*([] if found else ["-m", "openxr_agentic"]), *serve],
        "env": {folder: os.environ[folder]} if folder else {},
    }


def _without_empty(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value}


def _shell(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _toml(text: str) -> str:
    # TOML's basic strings are JSON's, but for one control character.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
