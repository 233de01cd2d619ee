"""The agent's server, started by the app itself, in a process of its own.

    server = agentic.start_server()           # before xr.create_instance
    print(server.url)

The app's process gets no server thread: only a thread that passes on what the
server says, and sleeps otherwise. The server ends with the app, however that
ends: its stdin is a pipe of which only the app holds the other end.

    app process ── stdin: its end ends the server ──►  python -c … serve --json --app PID
                ◄─ stdout: the addresses, then messages ──
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openxr_agentic.errors import ServerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Self

log = logging.getLogger(__name__)

START_SECONDS: Final = 60.0
"""How long the server may take to listen; a slow machine needs a tenth of it."""

END_SECONDS: Final = 5.0
"""How long it may take to end by itself before it is killed."""

_Asked = tuple["int | None", tuple[str, ...]]  # port and options

_CHANNEL_VARIABLE: Final = "OPENXR_AGENTIC_CHANNEL"
_SERVER_VARIABLE: Final = "OPENXR_AGENTIC_SERVER_PROCESS"
"""Set in a server's own process: what starts an app's server there, as a sitecustomize does, must not."""

_CHANNEL_CLOSED: Final = ("", "0", "off", "false", "no")
_GIVEN_ITSELF: Final = {
    "--port": "use start_server(port=...)",
    "--app": "the server is this app's own",
    "--all": "the server is this app's own; openxr-agentic serve --all is for several apps",
    "--json": "what the server prints is read by start_server",
    "--stdio": "the server listens on a port; openxr-agentic serve --stdio is what a client starts itself",
}
_STDERR: Final = 2
_KEPT_LINES: Final = 40

# Not `-m`, which would first look for the server's modules in the folder that the app was started in.
_PROGRAM: Final = (
    "import sys; sys.path = [entry for entry in sys.path if entry] + [sys.argv.pop(1)]; "
    "from openxr_agentic.cli import main; main()"
)
_PACKAGES: Final = str(Path(__file__).resolve().parents[1])


def start_server(port: int | None = None, *, options: Sequence[str] = ()) -> ServerProcess:
    """Serve this app's tools to MCP clients, from a process of the server's own.

    Call it before `xr.create_instance`: the host reads there whether the app may
    be found, and this call is what permits it (it sets `OPENXR_AGENTIC_CHANNEL` in
    `os.environ`, unless that says so already). An instance that lives already
    stays unknown to the server, which then says on stderr that it waits for the
    app.

    It is of use where a host of this package is the runtime. Under Meta's layer,
    which has a server of its own on the same port, it would wait for ever, and
    may hold that port: do not call it there (docs/serving.md shows how to tell).

    A process has one server. Called again, as when a module is reloaded, this
    gives back the same object, and one that was stopped stays stopped. In a child
    of `multiprocessing`, which imports the app's modules too, and in a forked
    child of an app with a server, nothing is started: `why` says so.

    Args:
        port: Port of 127.0.0.1, or 0 for any free one. None: that of the
            environment variable `AGENTICXR_MCP_PORT`, else 8720.
        options: Further arguments of ``openxr-agentic serve``, each as a text of
            its own, as in ``["--read-only"]``; not those that say which app is
            served, where, and what is printed.

    Returns:
        The process's server. It ends with the app, however that ends; it is also
        a context manager, which stops it at the block's end.

    Raises:
        ServerError: The server could not be started (the text holds what it said:
            a port that is taken, a package that is missing), or it runs already
            with another port or other options.
    """
    if isinstance(options, (str, bytes)):
        raise TypeError(f"options is a list of arguments, each a text of its own, not {options!r}")
    for option in options:
        if advice := _GIVEN_ITSELF.get(option.partition("=")[0]):
            raise ServerError(f"options holds {option!r}, which is not for options: {advice}.")
    with _state.lock:
        server = _state.server or ServerProcess()
        server._ask(port, tuple(options))  # noqa: SLF001 - of this module
        _state.server = server  # only now: one that could not be started is no server
    return server


class ServerProcess:
    """This process's server, made by `start_server`; usable from any thread.

    In a child process, the object that a fork copied stands for nothing: it is
    not running, and stops nothing.
    """

    def __init__(self) -> None:
        self._owner = os.getpid()
        self._asked: _Asked = (None, ())
        self._stopped = False
        self._process: _Process | None = None

    def __repr__(self) -> str:
        return f"<ServerProcess {self.url if self.running else f'not running: {self.why}'}>"

    def __enter__(self) -> Self:
        if not self.running and not _in_child(self._owner):
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether the server runs, as this process's."""
        return self._process is not None and not _in_child(self._owner) and self._process.exit_code is None

    @property
    def why(self) -> str:
        """Why it does not run; empty while it does."""
        if reason := _in_child(self._owner):
            return reason
        if self.running:
            return ""
        if self._stopped:
            return "It was stopped, and stays so until start()."
        if self._process is not None:
            return f"It ended by itself, with exit code {self._process.exit_code}; start() starts it again."
        return "It was not started."

    @property
    def url(self) -> str:
        """Where clients connect by streamable HTTP: the last known address; empty before the first start."""
        return str(self._addresses.get("http", ""))

    @property
    def sse_url(self) -> str:
        """Where clients connect by HTTP+SSE, as with Meta's server."""
        return str(self._addresses.get("sse", ""))

    @property
    def port(self) -> int | None:
        """The port that clients connect to; None before the first start."""
        return self._addresses.get("port")

    @property
    def pid(self) -> int | None:
        """The server's process id; None while it does not run."""
        return self._process.pid if self._process is not None and self.running else None

    @property
    def _addresses(self) -> dict[str, Any]:
        return {} if self._process is None else self._process.addresses

    def start(self) -> None:
        """Start it, unless it runs; return when it listens.

        Raises:
            ServerError: It could not be started, or this is a child process.
        """
        with _state.lock:
            if reason := _in_child(self._owner):
                raise ServerError(reason)
            if not self.running:
                _open_channel()
                self._process = _Process(_command(*self._asked))
                self._stopped = False

    def stop(self) -> None:
        """End it, and wait until it has ended; it stays stopped until `start`. In a child process nothing happens."""
        with _state.lock:
            if not _in_child(self._owner):
                self._stopped = True
                if self._process is not None:
                    self._process.end()

    def _ask(self, port: int | None, options: tuple[str, ...]) -> None:
        """Be what `start_server` was asked for, or say why not."""
        if self.running and self._asked != (port, options):
            raise ServerError(
                f"This process has a server already, at {self.url}, with another port or other options: "
                "stop it, ask again, and call start() on what you get."
            )
        self._asked = (port, options)
        if reason := _in_child(self._owner):
            log.info("no server is started: %s", reason)
        elif not self._stopped:
            self.start()

    def _forget(self) -> None:
        """Let go, in a forked child, of what is the parent's."""
        if self._process is not None:
            self._process.forget()


class _Process:
    """One run of the server, which is listening when this is made.

    Attributes:
        pid: Its process id.
        addresses: What ``serve --json`` prints.
    """

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                env={**os.environ, "PYTHONIOENCODING": "utf-8", _SERVER_VARIABLE: "1"},
                **_APART,
            )
        except OSError as error:
            raise ServerError(f"The server could not be started: {error}.") from error
        self.pid = self._process.pid
        self.addresses: dict[str, Any] = {}
        self._ending = False
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)  # before it listens
        self._begun: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read, name="openxr-agentic-server", daemon=True)
        self._reader.start()
        try:
            self.addresses = self._await_addresses()
        except BaseException:
            self._process.kill()
            self.end()
            raise

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.poll()

    def end(self) -> None:
        """End it in order, or by force when it takes too long."""
        self._ending = True
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()  # what it waits for
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(END_SECONDS)

    def forget(self) -> None:
        """Close this process's copies of the pipes, so that the server ends with the parent alone."""
        self._process.returncode = 0  # not this process's to wait for
        null = os.open(os.devnull, os.O_RDWR)
        for pipe in (self._process.stdin, self._process.stdout):
            # Its `close` would take a lock that a thread of the parent may have held.
            with suppress(OSError, ValueError):  # it is closed already
                os.dup2(null, pipe.fileno(), inheritable=False)  # type: ignore[union-attr]
        os.close(null)

    def _await_addresses(self) -> dict[str, Any]:
        try:
            addresses = self._begun.get(timeout=START_SECONDS)
        except queue.Empty:
            raise ServerError(f"The server did not start within {START_SECONDS:g} seconds.{self._words()}") from None
        if addresses is None:
            raise ServerError(f"The server could not be started (exit code {self._process.wait()}).{self._words()}")
        return addresses

    def _words(self) -> str:
        said = "\n".join(self._said).removeprefix("Error: ").strip()
        return f" It said: {said}" if said else ""

    def _read(self) -> None:
        """Take the addresses out of what it writes, and pass the rest on to this process's stderr."""
        assert self._process.stdout is not None
        listening = False
        with self._process.stdout as lines:
            for line in lines:
                if listening:
                    _say(line)
                elif (addresses := _parse(line)) is None:
                    self._said.append(line.rstrip())
                else:
                    listening = True
                    _say("".join(f"{said}\n" for said in self._said))  # warnings, say
                    self._begun.put(addresses)
        # Waited for here, whatever the app does: an ended server stays no zombie.
        code = self._process.wait()
        self._begun.put(None)
        if listening and not self._ending:
            _say(f"openxr-agentic: the server ended by itself, with exit code {code}\n")
            with suppress(OSError):
                self._process.stdin.close()  # type: ignore[union-attr]


def _parse(line: str) -> dict[str, Any] | None:
    try:
        addresses = json.loads(line)
    except ValueError:
        return None
    return addresses if isinstance(addresses, dict) and "http" in addresses else None


def _say(text: str) -> None:
    # Past sys.stderr, whose lock a daemon thread must not hold when the interpreter ends.
    with suppress(OSError):  # stderr is closed
        os.write(_STDERR, text.encode(errors="replace"))


def _command(port: int | None, options: tuple[str, ...]) -> list[str]:
    if not sys.executable or getattr(sys, "frozen", False):
        raise ServerError(
            "The server cannot be started from this program, as it holds its own Python. "
            f"Set {_CHANNEL_VARIABLE}=1 for it, and start the server beside it: openxr-agentic serve"
        )
    command = [sys.executable, "-c", _PROGRAM, _PACKAGES]
    command += ["serve", "--json", "--until-stdin-closes", "--app", str(os.getpid())]
    return [*command, *([] if port is None else ["--port", str(port)]), *options]


def _apart() -> dict[str, Any]:
    """Return what keeps a Ctrl-C in the terminal from the server: the app decides when it ends."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    return {"start_new_session": True}


_APART: Final = _apart()


def _open_channel() -> None:
    """Let the host, which asks the C library's environment, open the app's control channel."""
    if os.environ.get(_CHANNEL_VARIABLE, "").lower() in _CHANNEL_CLOSED:
        os.environ[_CHANNEL_VARIABLE] = "1"


def _in_child(owner: int) -> str:
    """Return why this process is one that must not have a server; empty when it may have one."""
    if owner != os.getpid():
        return f"This is a forked child of process {owner}, which alone has the server."
    if os.environ.get(_SERVER_VARIABLE):
        return "This is the process of an app's server, which starts none itself."
    # Its children always have it; whoever else has not imported it need not.
    module = sys.modules.get("multiprocessing.process")
    if module is not None and (
        module.parent_process() is not None
        # While a spawned child imports the app's main module, it is not yet told its parent.
        or getattr(module.current_process(), "_inheriting", False)
        # The process that forks children for the others may import the app's modules for them.
        or any("multiprocessing.forkserver" in argument for argument in sys.orig_argv)
    ):
        return "This is a child process of multiprocessing: the server is its parent's."
    return ""


class _State:
    """The server of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.server: ServerProcess | None = None

    def at_exit(self) -> None:
        # A thread that is just starting a server must not hold up the exit: what it starts ends with the process.
        if self.server is not None and self.lock.acquire(timeout=END_SECONDS):
            self.server.stop()

    def after_fork_in_child(self) -> None:
        self.lock = threading.RLock()  # the copy may be held by a thread that the child does not have
        if self.server is not None:
            self.server._forget()  # noqa: SLF001 - of this module


_state = _State()
atexit.register(_state.at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.after_fork_in_child)
