"""Which port is chosen, and what is said of one that cannot be had."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from openxr_agentic.errors import ConfigurationError
from openxr_agentic.mcp.transports.ports import PortError, choose_port, listen, port_holder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("option", "environment", "port"),
    [
        (None, {}, 8720),
        (None, {"AGENTICXR_MCP_PORT": ""}, 8720),
        (None, {"AGENTICXR_MCP_PORT": " 9000 "}, 9000),
        ("9001", {"AGENTICXR_MCP_PORT": "9000"}, 9001),
        (9002, {"AGENTICXR_MCP_PORT": "abc"}, 9002),
        ("0", {}, 0),
        ("1024", {}, 1024),
        ("65535", {}, 65535),
    ],
)
def test_the_option_wins_over_the_environment_over_the_default(
    option: str | int | None, environment: dict[str, str], port: int
) -> None:
    assert choose_port(option, environment) == port


@pytest.mark.parametrize("value", ["1023", "65536", "-1", "+9000", "9_000", "9000.0", "0x2328", "9" * 5000])
def test_a_value_that_is_no_usable_port_is_named_with_its_source(value: str) -> None:
    with pytest.raises(ConfigurationError, match="AGENTICXR_MCP_PORT") as caught:
        choose_port(None, {"AGENTICXR_MCP_PORT": value})
    assert repr(value) in str(caught.value)
    with pytest.raises(ConfigurationError, match="--port"):
        choose_port(value)


def test_a_free_port_is_listened_on_at_loopback_without_nagles_delay() -> None:
    with listen(0) as listener:
        host, port = listener.getsockname()
        assert (host, port > 0) == ("127.0.0.1", True)
        # asyncio asks for this before it sets TCP_NODELAY on what it accepts.
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a port")
def test_a_taken_port_is_an_error_that_names_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        assert f"(process {os.getpid()})" in str(port_holder(port))
        with pytest.raises(PortError, match=rf"Port {port} is taken by .*\(process {os.getpid()}\)"):
            listen(port)
    assert port_holder(port) is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a port")
@pytest.mark.parametrize(
    ("arguments", "ours"),
    [
        (("-c", "HOLD; 'from openxr_agentic.cli import main'", "packages", "serve"), True),
        (("-m", "openxr_agentic", "serve"), True),
        (("bin/openxr-agentic", "serve"), True),
        (("-c", "HOLD", "openxr_agentic/examples/app.py"), False),
    ],
)
def test_a_holder_of_ours_is_named_as_what_it_is(tmp_path: Path, arguments: tuple[str, ...], ours: bool) -> None:
    hold = "import sys; listening = __import__('socket').socket(fileno={}); print(flush=True); sys.stdin.read()"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        number, port = listening.fileno(), listening.getsockname()[1]
        program = hold.format(number)
        for file in ("openxr_agentic.py", "bin/openxr-agentic"):
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(program)
        holder = subprocess.Popen(
            [sys.executable, *(word.replace("HOLD", program) for word in arguments)],
            cwd=tmp_path,
            pass_fds=[number],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        with holder:
            assert holder.stdout is not None
            holder.stdout.readline()
            listening.close()
            found = port_holder(port)
            assert found is not None
            assert (found.process, found.is_ours) == (holder.pid, ours)
            assert str(found).startswith("openxr-agentic ") == ours
            holder.communicate()


def test_a_port_can_be_listened_on_again_right_after_its_server_ended() -> None:
    with listen(0) as first, socket.create_connection(first.getsockname()) as client:
        address = first.getsockname()
        accepted, _ = first.accept()
        accepted.close()  # the side that closes first keeps the address for minutes
        client.recv(1)
    listen(address[1]).close()
