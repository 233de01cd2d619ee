"""The commands of those who build an app: what runs, what agents see, what is wrong, how clients are connected."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from openxr_agentic.cli import missing_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openxr_agentic.cli.asking.targets import Target

WRONG_USAGE: Final = 2


class WrongUsageError(click.ClickException):
    """What was typed cannot be done; in one line, where click would add its own."""

    exit_code = WRONG_USAGE


def _seconds(ctx: click.Context, param: click.Parameter, value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise click.BadParameter(f"{value!r} is no time: give a number of seconds above 0.", ctx, param)
    return seconds


def _where_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which server or app is asked."""
    for option in (
        click.option(
            "--token-file", metavar="FILE", help="File with the server's token.  [default: OPENXR_AGENTIC_TOKEN]"
        ),
        click.option("--app", metavar="NAME|PID", help="Ask this running app itself, without a server."),
        click.option("--url", metavar="URL", help="Ask this MCP server: .../sse is HTTP+SSE, else streamable HTTP."),
    ):
        command = option(command)
    return command


def _target(url: str | None, app: str | None, token_file: str | None) -> Target:
    if complaint := missing_extra("mcp"):
        raise click.ClickException(complaint)
    from openxr_agentic.cli.asking.targets import choose_target

    if url is not None and app is not None:
        raise WrongUsageError("Give one of --url and --app.")
    return choose_target(url, app, token_file)


@click.command(epilog="Exit code 0, also when no app runs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON array of objects.")
def apps(as_json: bool) -> None:
    """List your running apps that agents can reach.

    An app is listed when it has a control channel: OPENXR_AGENTIC_CHANNEL is set
    and it runs on this package's mock runtime. One that does not answer is
    listed with the reason.
    """
    from openxr_agentic.cli.asking.apps import show_apps

    show_apps(as_json=as_json)


@click.command(epilog="Exit codes: 0 listed, 1 no answer (said on stderr), 2 wrong usage.")
@_where_options
@click.option("--json", "as_json", is_flag=True, help="Print the tools as tools/list has them, a JSON array.")
def tools(url: str | None, app: str | None, token_file: str | None, as_json: bool) -> None:
    """List the tools that an agent sees.

    Asks the server on the default port (AGENTICXR_MCP_PORT, else 8720), ours or
    Meta's. Where none runs, and one app does, asks that app itself.
    """
    target = _target(url, app, token_file)
    from openxr_agentic.cli.asking.tools import show_tools

    show_tools(target, as_json=as_json)


@click.command(
    epilog="""\b
Exit codes:
  0    the tool's result was printed
  1    no answer, no such tool, or FILE cannot be written (said on stderr)
  2    wrong usage, or arguments that do not fit; nothing was sent
  3    the answer is an error: the tool's own, or why it was not run or gave
       no answer (denied, arguments refused, app away, timed out)
  130  Ctrl-C; the call was withdrawn (128 + n for signal n)""",
)
@click.argument("tool")
@click.argument("pairs", metavar="[KEY=VALUE]...", nargs=-1)
@click.option("--arguments", metavar="JSON|@FILE|-", help="All arguments as a JSON object, sent as they are.")
@_where_options
@click.option("--timeout", default="300", callback=_seconds, metavar="S", help="Seconds to wait.  [default: 300]")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Save the first image, audio or file of the result; where there is none, its text.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole result as MCP has it, a JSON object.")
@click.pass_context
def call(
    ctx: click.Context,
    tool: str,
    pairs: Sequence[str],
    arguments: str | None,
    url: str | None,
    app: str | None,
    token_file: str | None,
    timeout: float,
    output: Path | None,
    as_json: bool,
) -> None:
    """Call TOOL as an agent does, and print its result.

    The tool's schema says which types the values have: text stays text, all
    else is JSON, as in count=3 on=true 'position=[0, 1.5, -2]'. Only names and
    outermost types are checked before it is called.

    Whom it asks is as for `tools`.
    """
    from openxr_agentic.cli.asking.arguments import BadArgumentsError, read_arguments, split_pairs

    if pairs and arguments is not None:
        raise WrongUsageError("Give arguments as key=value or with --arguments, not both.")
    try:
        split = split_pairs(pairs)
        given = None if arguments is None else read_arguments(arguments)
        target = _target(url, app, token_file)
        from openxr_agentic.cli.asking.call import Request, call_tool

        code = call_tool(target, Request(tool, split, given, timeout), as_json=as_json, output=output)
    except BadArgumentsError as error:
        raise WrongUsageError(str(error)) from error
    ctx.exit(code)


@click.command(
    epilog="Exit codes: 0 fine, hints and warnings allowed; 1 something cannot be registered, or MODULE cannot be "
    "imported; with --strict 1 for warnings too; 2 wrong usage.",
)
@click.argument("module", metavar="MODULE[:REGISTRY]")
@click.option(
    "--server-name", default="openxr", metavar="NAME", help="The server's name in clients.  [default: openxr]"
)
@click.option("--strict", is_flag=True, help="Let warnings fail too.")
@click.option("--traceback", "with_traceback", is_flag=True, help="Show where MODULE failed, in full, on stderr.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def check(ctx: click.Context, module: str, server_name: str, strict: bool, with_traceback: bool, as_json: bool) -> None:
    """Check the tools of MODULE as agents would see them.

    MODULE is imported: a module's name, or a Python file. Checked are the tools
    of its registries, or of REGISTRY alone, and what is marked with
    @agentic.tool but in no registry. No OpenXR runtime is needed. What MODULE
    prints goes to stderr.
    """
    from openxr_agentic.cli.check import check_module

    ctx.exit(
        check_module(module, server_name=server_name, strict=strict, as_json=as_json, with_traceback=with_traceback)
    )


@click.command(epilog="Exit codes: 0 printed, 2 wrong usage.")
@click.argument("client", type=click.Choice(["claude-code", "claude-desktop", "cursor", "vscode", "codex"]))
@click.argument("app_command", metavar="[-- COMMAND...]", nargs=-1)
@click.option("--url", metavar="URL", help="The server's URL.  [default: that of --port]")
@click.option("--port", help="The server's port on 127.0.0.1.  [default: AGENTICXR_MCP_PORT, else 8720]")
@click.option("--stdio", is_flag=True, help="The client starts the server itself.  [claude-desktop: always]")
@click.option("--name", default="openxr", metavar="NAME", help="The server's name in the client.  [default: openxr]")
@click.option("--token", is_flag=True, help="The server wants a token: refer to OPENXR_AGENTIC_TOKEN.")
@click.option("--token-file", metavar="FILE", help="As --token; says how to set the variable from this file.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: client, path, snippet and more.")
def config(
    client: str,
    app_command: Sequence[str],
    url: str | None,
    port: str | None,
    stdio: bool,
    name: str,
    token: bool,
    token_file: str | None,
    as_json: bool,
) -> None:
    """Print what to paste into an agent's settings.

    What to paste is on stdout, and nothing else; where it goes is on stderr. A
    token is never printed.

    With --stdio and a COMMAND behind --, the client starts that app too, as
    `run` does, with full paths instead of those that lead from this folder.
    """
    from openxr_agentic.cli.client_config import choose_server, show_config

    server = choose_server(
        client,
        name=name,
        url=url,
        port=port,
        stdio=stdio,
        token=token or token_file is not None,
        app_command=app_command,
    )
    show_config(client, server, token_file, as_json=as_json)


COMMANDS: Final = (apps, tools, call, check, config)
