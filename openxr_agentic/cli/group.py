"""The click group: what all commands have in common."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from openxr_agentic import __version__
from openxr_agentic.cli import missing_extra
from openxr_agentic.cli.agent_commands import COMMANDS, WrongUsageError
from openxr_agentic.cli.console import printable
from openxr_agentic.cli.log import log_others_to_stderr, log_to_stderr
from openxr_agentic.cli.serving.options import ServingOptions, serving_options
from openxr_agentic.cli.streams import stderr_in_background
from openxr_agentic.errors import AgenticError, ConfigurationError
from openxr_agentic.mcp.transports.ports import choose_port

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Group(click.Group):
    """Turns the library's exceptions, which are written for people, into one line and an exit code.

    It is 2 for what was asked for wrongly, by an option, its file or a variable, and 1 for what failed.
    """

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except ConfigurationError as error:
            raise WrongUsageError(printable(str(error))) from error
        except AgenticError as error:
            raise click.ClickException(printable(str(error))) from error
        except click.ClickException as error:
            # A name of somebody else's may be in it, as a tool's or an app's.
            error.message = printable(error.message)  # type: ignore[misc]  # it is not shown yet
            raise
        except KeyboardInterrupt:  # raised by somebody else's code; Ctrl-C itself is `cli.interrupts`' matter
            raise click.exceptions.Exit(128 + signal.SIGINT) from None


class _RunFailure(click.ClickException):
    """`run` itself failed, not the command; env(1), nohup(1) and timeout(1) answer alike."""

    exit_code = 125


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 success, 1 failure (said on stderr), 2 wrong usage; `run` and `call` have more.",
)
@click.version_option(__version__)
def command() -> None:
    """Let AI agents call the tools of an OpenXR app, also without a headset."""
    log_to_stderr()


def _server_problem() -> str | None:
    from openxr_agentic.host.channel import channel_problem

    return missing_extra("mcp", "uvicorn") or channel_problem()


def _require_server() -> None:
    if complaint := _server_problem():
        raise click.ClickException(complaint)


@command.command()
@serving_options
@click.option("--app", metavar="NAME|PID", help="Which app, when there are several.")
@click.option("--all", "every_app", is_flag=True, help="Every app there is, each tool as APP__TOOL.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON object.")
@click.option("--until-stdin-closes", is_flag=True, hidden=True)  # for programs that start it: server_process.py
def serve(serving: ServingOptions, app: str | None, every_app: bool, as_json: bool, until_stdin_closes: bool) -> None:
    """Serve the tools of a running app to MCP clients.

    The app must run with OPENXR_AGENTIC_CHANNEL set, under a host of this
    package. One that is not there yet is waited for, and one that is started
    again is found again.

    Ends with exit code 0 on Ctrl-C and SIGTERM, once it serves; with --stdio
    also when the client closes stdin.
    """
    if app is not None and every_app:
        raise click.UsageError("Give one of --app and --all.")
    if serving.stdio and as_json:
        raise click.UsageError("--stdio opens no port, so --json cannot go with it.")
    _require_server()
    log_others_to_stderr()
    with stderr_in_background(), serving.open() as opened:
        from openxr_agentic.cli.serving.serve import choose_source, serve_source

        source = choose_source(app, every_app=every_app)
        serve_source(source, opened, as_json=as_json, until_stdin_closes=until_stdin_closes and not serving.stdio)


@command.command(
    context_settings={"allow_interspersed_args": False},
    # The backspace is click's mark for a paragraph whose lines stay as they are.
    epilog="""\b
Exit codes: that of COMMAND, 128 + n when signal n ended it, and
  0    --stdio ended COMMAND, as the client had left
  2    wrong usage
  125  the server could not start
  126  COMMAND cannot be executed
  127  COMMAND was not found""",
)
@serving_options
@click.option("--layer", is_flag=True, help="Over the active OpenXR runtime, not the mock.")
@click.option("--json", "as_json", is_flag=True, help="Print the addresses as one JSON object, on stderr.")
@click.argument("app_command", metavar="COMMAND...", nargs=-1, required=True)
@click.pass_context
def run(ctx: click.Context, serving: ServingOptions, layer: bool, as_json: bool, app_command: Sequence[str]) -> None:
    """Run COMMAND without a headset and serve its tools.

    COMMAND is an OpenXR app; it gets this package's mock runtime, and nothing in
    it has to change. Write -- before it. With --layer it gets this package's API
    layer instead, on top of the runtime and the layers that it has anyway.

    Ctrl-C interrupts COMMAND; a third one kills it.

    With --stdio, what COMMAND prints goes to stderr and its stdin is empty. When
    the client closes stdin, COMMAND is ended: by SIGTERM, after 5 seconds by force.
    """
    if serving.stdio and as_json:
        raise click.UsageError("--stdio opens no port, so --json cannot go with it.")
    if complaint := _server_problem():
        raise _RunFailure(complaint)
    log_others_to_stderr()
    try:
        with stderr_in_background(), serving.open() as opened:
            from openxr_agentic.cli.serving.run import run_app

            code = run_app(app_command, opened, as_json=as_json, layer=layer)
    except ConfigurationError:
        raise  # wrong usage, as with the other commands
    except AgenticError as error:
        raise _RunFailure(str(error)) from error
    ctx.exit(code)


@command.command()
@click.option("--serve", "keep_serving", is_flag=True, help="Then keep serving, for your own client.")
@click.option("--port", help="Port of 127.0.0.1.  [default: a free one; with --serve as for serve]")
@click.option("--json", "as_json", is_flag=True, help="Print what came out as one JSON object.")
@click.pass_context
def demo(ctx: click.Context, keep_serving: bool, port: str | None, as_json: bool) -> None:
    """Show the whole path, from an agent to an OpenXR app.

    Starts a headless app and its server, and calls the tools as an agent does.

    Exit code 0 only when every answer was the right one.
    """
    _require_server()
    chosen = choose_port("0" if port is None and not keep_serving else port)
    from openxr_agentic.cli.demo.show import show

    ctx.exit(show(chosen, keep_serving=keep_serving, as_json=as_json))


@command.command(
    epilog="Exit codes: 0 no problem (--header, --discover: every number was found), 1 otherwise, 2 wrong usage."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON object.")
@click.option(
    "--header",
    type=click.Path(),
    metavar="FILE",
    help="Instead: read the extension's numbers out of Meta's header, and print the settings to keep.",
)
@click.option("--discover", is_flag=True, help="Instead: find the numbers by asking a host that refuses ours.")
@click.option(
    "--url", metavar="URL", help="With --discover: the host's MCP server (Meta's: http://localhost:8720/sse)."
)
@click.option("--yes", is_flag=True, help="With --discover: do not ask first.")
@click.pass_context
def doctor(ctx: click.Context, as_json: bool, header: str | None, discover: bool, url: str | None, yes: bool) -> None:
    """Say what is wrong between an app and an agent, and what mends it.

    Examines Python and this package, OpenXR's loader, runtime and API layers,
    who offers the extension, its numbers, the port and the control channel, in
    the environment that it is started in. To examine that of an app:
    openxr-agentic run -- openxr-agentic doctor
    """
    if sum((as_json, header is not None, discover)) > 1:
        raise click.UsageError("--json, --header and --discover cannot be given together.")
    if not discover and (url is not None or yes):
        raise click.UsageError("--url and --yes go with --discover.")
    if header == "":  # as a variable that is not set; as a path, it would be this folder
        raise click.UsageError("--header is empty: give the path of Meta's header.")
    from openxr_agentic.cli import doctor as printer

    if header is not None:
        ctx.exit(printer.show_header(Path(header)))
    if discover:
        ctx.exit(printer.discover(url, confirmed=yes))
    ctx.exit(printer.examine(as_json=as_json))


for _command in COMMANDS:
    command.add_command(_command)
