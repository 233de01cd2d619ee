"""Who is let in: Host, Origin and token, as rules and through a real server on both transports."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import httpx2
from agent_harness import echo, run, serving, text_of, until_connected
from cli_harness import environment, finished, line_with, started
from fake_app import FakeApp

from openxr_agentic.errors import ConfigurationError
from openxr_agentic.mcp.transports.access import Access
from openxr_agentic.mcp.transports.http import Endpoints, serve
from openxr_agentic.mcp.transports.ports import PortError, address_of, listen, port_holder

TOKEN = "correct-horse-battery"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TRANSPORTS = pytest.mark.parametrize("transport", ["http", "sse"])
PATHS = pytest.mark.parametrize(("method", "path"), [("POST", "/mcp"), ("GET", "/sse"), ("POST", "/messages/")])
LOCAL = ("127.0.0.1", 8720)


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


IPV6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


def status(
    access: Access, *, host: Any = "localhost:8720", origin: Any = (), local: tuple[str, int] | None = LOCAL
) -> int:
    """The status with which a request is refused, or 200."""
    hosts = [host] if isinstance(host, str) else list(host)
    origins = [origin] if isinstance(origin, str) else list(origin)
    refusal = access.refusal(hosts, origins, local)
    return 200 if refusal is None else refusal.status


# ---------------------------------------------------------------- the rules


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8720",
        "localhost:1",  # the other end of a tunnel
        "LOCALHOST:8720",
        "localhost.:8720",
        "127.0.0.1",
        "127.0.0.1:8720",
        "127.8.9.1:8720",
        "[::1]",
        "[::1]:8720",
        "[0:0:0:0:0:0:0:1]:8720",
        "[::ffff:127.0.0.1]:8720",
    ],
)
def test_every_loopback_name_is_answered_to(host: str) -> None:
    assert status(Access(), host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        (),
        "",
        ("localhost:8720", "localhost:8720"),
        ("localhost:8720", "evil.example"),
        "evil.example",
        "evil.example:8720",
        "localhost.evil.example",
        "127.0.0.1.evil.example:8720",
        "localhost:8720.evil.example",
        "localhost:8720@evil.example",
        "evil.example@localhost",
        "localhost:",
        "localhost:99999",
        "localhost:8720, evil.example",
        "localhost..",
        "local host",
        "[::1",
        "::1",
        "[::2]:8720",
        "[localhost]",
        "0.0.0.0:8720",
        "[::]:8720",
        "2130706433:8720",
        "0177.0.0.1",
        "127.1",
        "192.0.2.7:8720",
        "löcalhost",
        "*",
        "\u0661\u0662\u0667.0.0.1",
    ],
)
def test_no_other_host_is_answered_to(host: Any) -> None:
    assert status(Access(), host=host) == 421


def test_the_address_at_which_a_request_arrived_is_answered_to() -> None:
    here = ("192.0.2.7", 8720)
    assert status(Access(), host="192.0.2.7:8720", local=here) == 200
    assert status(Access(), host="192.0.2.8:8720", local=here) == 421
    assert status(Access(), host="192.0.2.7:8720", local=None) == 421
    assert status(Access(), host="[FE80:0::7]:8720", local=("fe80::7%eth0", 8720)) == 200
    assert status(Access(), host="192.0.2.7", local=("::ffff:192.0.2.7", 8720)) == 200


@pytest.mark.parametrize(
    ("allowed", "host", "expected"),
    [
        ("xr.example", "xr.example", 200),
        ("xr.example", "xr.example:8720", 200),
        ("XR.Example.", "xr.EXAMPLE.:1", 200),
        ("xr.example", "evil.xr.example", 421),
        ("xr.example", "xr.example.evil", 421),
        ("xr.example:8720", "xr.example:8720", 200),
        ("xr.example:8720", "xr.example:8721", 421),
        ("xr.example:8720", "xr.example", 421),
        ("xr.example:80", "xr.example", 200),
        ("xr.example:443", "xr.example", 200),  # as a proxy with TLS passes it on
        ("[2001:db8::1]:8720", "[2001:DB8:0::1]:8720", 200),
        ("192.0.2.7", "192.0.2.7:8720", 200),
    ],
)
def test_a_host_that_was_added_is_answered_to_at_the_port_that_was_named(
    allowed: str, host: str, expected: int
) -> None:
    access = Access(allow_hosts=("other.example", allowed))
    assert status(access, host=host) == expected
    assert status(access, host="localhost:8720") == 200


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ((), 200),
        ("http://localhost:8720", 200),
        ("http://localhost:3000", 200),
        ("https://localhost", 200),
        ("http://127.0.0.1:3000", 200),
        ("http://[::1]:3000", 200),
        ("HTTP://LOCALHOST.:3000", 200),
        ("", 403),
        ("null", 403),
        ("http://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost:8720@evil.example", 403),
        ("http://localhost/evil.example", 403),
        ("http://evil.example/http://localhost", 403),
        ("localhost:8720", 403),
        ("//localhost:8720", 403),
        ("file://", 403),
        ("file://localhost", 403),
        ("chrome-extension://abcdef", 403),
        ("http://192.0.2.7", 403),
        (("http://localhost:8720", "http://localhost:8720"), 403),
        (("http://localhost:8720", "http://evil.example"), 403),
    ],
)
def test_pages_of_loopback_names_may_ask_and_no_others(origin: Any, expected: int) -> None:
    assert status(Access(), origin=origin) == expected


@pytest.mark.parametrize(
    ("allowed", "origin", "expected"),
    [
        ("https://app.example", "https://app.example", 200),
        ("https://app.example/", "https://app.example", 200),
        ("https://App.Example:443", "https://app.example", 200),
        ("https://app.example", "https://app.example:443", 200),
        ("https://app.example", "http://app.example", 403),
        ("https://app.example", "https://app.example:8443", 403),
        ("https://app.example", "https://evil.app.example", 403),
        ("https://app.example", "null", 403),
        ("http://app.example:3000", "http://app.example:3000", 200),
        ("chrome-extension://abcdef", "chrome-extension://abcdef", 200),
        ("chrome-extension://abcdef", "chrome-extension://abcdeg", 403),
    ],
)
def test_a_page_that_was_added_may_ask(allowed: str, origin: str, expected: int) -> None:
    assert status(Access(allow_origins=(allowed,)), origin=origin) == expected


def test_the_servers_own_address_may_ask_but_not_its_neighbour_on_another_port() -> None:
    here = ("192.0.2.7", 8720)
    for origin, expected in (("http://192.0.2.7:8720", 200), ("http://192.0.2.7:80", 403)):
        assert status(Access(), host="192.0.2.7:8720", origin=origin, local=here) == expected


@pytest.mark.parametrize(
    "host", ["", "*", "*.example", "http://xr.example", "xr.example/mcp", "a b", "xr:port", "grün"]
)
def test_a_host_that_cannot_be_added_is_an_error_that_shows_how(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--allow-host .* is no host: .*xr.example:8720"):
        Access(allow_hosts=(host,))


@pytest.mark.parametrize("origin", ["", "*", "null", "app.example", "https://app.example/page", "https://*.example"])
def test_an_origin_that_cannot_be_added_is_an_error_that_shows_how(origin: str) -> None:
    with pytest.raises(ConfigurationError, match=r"--allow-origin .* is no origin: .*https://app.example"):
        Access(allow_origins=(origin,))


# ---------------------------------------------------------------- the token


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ("", "is empty"),
        ("short", "has 5 characters"),
        ("x" * 15, "has 15 characters"),
        ("with a space in it", "no spaces"),
        (" leading-space-in-it", "no spaces"),
        ("with\tone\ttab\tinside", "no spaces"),
        ("a-token-of-Grüße-und", "ASCII"),
        ("x" * 5000, "more than 4096"),
    ],
)
def test_a_token_that_cannot_be_used_is_an_error_that_does_not_show_it(tmp_path: Path, token: str, words: str) -> None:
    file = tmp_path / "token.txt"
    file.write_text(token, encoding="utf-8")
    file.chmod(0o600)
    for load, source in (
        (lambda: Access(token), "The token "),
        (lambda: Access.load(environment={"OPENXR_AGENTIC_TOKEN": token}), "OPENXR_AGENTIC_TOKEN "),
        (lambda: Access.load(file, environment={}), f"The token in {file} "),
    ):
        with pytest.raises(ConfigurationError, match=words) as caught:
            load()
        assert str(caught.value).startswith(source)
        assert len(token) < 6 or token not in str(caught.value)


def test_the_file_wins_over_the_variable_and_its_last_line_end_is_no_part_of_the_token(tmp_path: Path) -> None:
    file = tmp_path / "token.txt"
    file.touch(mode=0o600)
    variable = {"OPENXR_AGENTIC_TOKEN": "the-token-of-the-variable"}
    for end in ("", "\n", "\r\n"):
        file.write_bytes(f"{TOKEN}{end}".encode())
        assert Access.load(file, environment=variable).token == TOKEN
    assert Access.load(environment=variable).token == "the-token-of-the-variable"
    assert Access.load(environment={}).token is None
    file.write_text(f"{TOKEN}\n\n", encoding="ascii")
    with pytest.raises(ConfigurationError, match="no spaces"):
        Access.load(file, environment={})


def test_a_token_file_that_others_may_open_or_nobody_can_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "token.txt"
    file.write_text(TOKEN, encoding="ascii")
    for mode in (0o644, 0o640, 0o602):
        file.chmod(mode)
        with pytest.raises(ConfigurationError, match=f"mode {mode:o}.*chmod 600"):
            Access.load(file, environment={})
    with pytest.raises(ConfigurationError, match="none cannot be read: No such file"):
        Access.load(tmp_path / "none", environment={})


def test_the_token_is_not_in_the_objects_text() -> None:
    assert TOKEN not in repr(Access(TOKEN))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "2001:db8::1", "[::]", "::ffff:192.0.2.7"])
def test_beyond_loopback_a_token_is_asked_for(host: str) -> None:
    with pytest.raises(ConfigurationError, match=r"OPENXR_AGENTIC_TOKEN.*--token-file"):
        Access().require_token_beyond_loopback(host)
    Access(TOKEN).require_token_beyond_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "localhost", "::1", "[::1]", "::ffff:127.0.0.1"])
def test_on_loopback_no_token_is_asked_for(host: str) -> None:
    Access().require_token_beyond_loopback(host)


# ---------------------------------------------------------------- through a server


async def answered(url: str, method: str, **headers: str) -> httpx2.Response:
    """The head of an answer: a stream's body would never end."""
    async with httpx2.AsyncClient() as browser:
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
        async with browser.stream(method, url, headers=given) as answer:
            return answer


@PATHS
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "evil.example:8720"}, 421),
        ({"Host": "0.0.0.0:8720"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:8720"}, 0),
        ({"Host": "127.0.0.1"}, 0),
        ({"Host": "[::1]"}, 0),
        ({"Host": "xr.example"}, 0),
        ({"Host": "xr.example:443"}, 0),
        ({"Origin": "http://localhost:3000"}, 0),
        ({"Origin": "https://app.example"}, 0),
    ],
)
def test_only_loopback_and_added_names_pass_on_every_path(
    folder: Path, method: str, path: str, headers: dict[str, str], code: int
) -> None:
    access = Access(allow_hosts=("xr.example",), allow_origins=("https://app.example",))

    async def scenario() -> None:
        async with serving(access=access) as server:
            answer = await answered(f"http://127.0.0.1:{server.endpoints.port}{path}", method, **headers)
            if code:
                assert answer.status_code == code
            else:  # what the transport says is its own matter
                assert answer.status_code not in {401, 403, 421}

    run(scenario())


@PATHS
@pytest.mark.parametrize(
    "hosts", [[], ["Host: localhost", "Host: evil.example"], ["Host: evil.example", "Host: localhost"], ["Host:"]]
)
def test_a_request_with_no_host_or_two_is_refused(folder: Path, method: str, path: str, hosts: list[str]) -> None:
    async def scenario() -> None:
        async with serving() as server:
            for version in ("1.0", "1.1"):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.endpoints.port)
                lines = [f"{method} {path} HTTP/{version}", *hosts, "Content-Length: 0", "", ""]
                writer.write("\r\n".join(lines).encode())
                assert (await reader.readline()).split()[1] in (b"400", b"421")
                writer.close()

    run(scenario())


@TRANSPORTS
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_with_the_token_is_served_as_ever(folder: Path, transport: str, mode: str) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving(access=Access(TOKEN)) as server:
            await until_connected(server)
            async with server.client(transport, mode, headers=BEARER) as client:
                assert text_of(await client.call_tool("tool", {"x": 1})) == '{"x": 1}'

    run(scenario())


@TRANSPORTS
def test_a_client_without_the_token_gets_nowhere(folder: Path, transport: str) -> None:
    async def scenario() -> None:
        async with serving(access=Access(TOKEN)) as server:
            for headers in (None, {"Authorization": "Bearer wrong-horse-battery"}):
                with pytest.raises(Exception) as caught:  # noqa: PT011 - each transport has its own
                    async with server.client(transport, headers=headers) as client:
                        await client.list_tools()
                said = "".join(traceback.format_exception(caught.value))
                assert ("401 Unauthorized" if transport == "sse" else "Server returned an error response") in said

    run(scenario())


@PATHS
@pytest.mark.parametrize(
    ("sent", "passes"),
    [
        (None, False),
        ("", False),
        ("Bearer", False),
        (TOKEN, False),
        (f"Basic {TOKEN}", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN.upper()}", False),
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN}", True),
    ],
)
def test_every_path_asks_for_the_right_token_and_says_so(
    folder: Path, method: str, path: str, sent: str | None, passes: bool
) -> None:
    async def scenario() -> None:
        async with serving(access=Access(TOKEN)) as server:
            headers = {} if sent is None else {"Authorization": sent}
            answer = await answered(f"http://127.0.0.1:{server.endpoints.port}{path}", method, **headers)
            assert (answer.status_code != 401) is passes
            if not passes:
                assert answer.headers["WWW-Authenticate"].startswith("Bearer")

    run(scenario())


def test_a_token_beyond_ascii_is_a_wrong_one_and_no_fault(folder: Path) -> None:
    async def scenario() -> None:
        async with serving(access=Access(TOKEN)) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.endpoints.port)
            writer.write(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\xfe\r\n\r\n")
            assert (await reader.readline()).split()[1] == b"401"
            writer.close()

    run(scenario())


@PATHS
def test_host_and_origin_are_looked_at_before_the_token(folder: Path, method: str, path: str) -> None:
    async def scenario() -> None:
        async with serving(access=Access(TOKEN)) as server:
            url = f"http://127.0.0.1:{server.endpoints.port}{path}"
            for headers, code in (({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403)):
                for token in ({}, BEARER):
                    assert (await answered(url, method, **headers, **token)).status_code == code

    run(scenario())


def test_a_page_that_was_added_can_ask_its_browser_and_read_the_answer(folder: Path) -> None:
    page = "https://app.example"
    access = Access(TOKEN, allow_origins=("https://App.Example:443/", "http://localhost:3000"))

    async def scenario() -> None:
        async with serving(access=access) as server, httpx2.AsyncClient() as browser:
            asked = {
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization,content-type,mcp-protocol-version",
            }
            for origin in (page, "http://localhost:3000"):
                answer = await browser.options(server.endpoints.http, headers={"Origin": origin, **asked})
                assert answer.status_code == 200
                assert answer.headers["Access-Control-Allow-Origin"] == origin
                assert "authorization" in answer.headers["Access-Control-Allow-Headers"]
            answer = await browser.post(server.endpoints.http, headers={"Origin": page, **BEARER}, json={})
            assert answer.headers["Access-Control-Allow-Origin"] == page
            assert "Mcp-Session-Id" in answer.headers["Access-Control-Expose-Headers"]
            stranger = {"Origin": "https://evil.example", **asked}
            assert (await browser.options(server.endpoints.http, headers=stranger)).status_code == 403

    run(scenario())


def test_a_server_that_others_can_reach_does_not_start_without_a_token() -> None:
    async def scenario() -> None:
        listener = listen(0, "0.0.0.0")
        with pytest.raises(ConfigurationError, match="needs a token"):
            await serve(None, listener, asyncio.Event())  # type: ignore[arg-type]
        assert listener.fileno() == -1

    run(scenario())


# ---------------------------------------------------------------- addresses


@IPV6
@TRANSPORTS
def test_clients_are_served_at_an_ipv6_address(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving(host="::1") as server:
            assert server.endpoints.http == f"http://[::1]:{server.endpoints.port}/mcp"
            await until_connected(server)
            async with server.client(transport) as client:
                assert text_of(await client.call_tool("tool", {})) == "{}"

    run(scenario())


@TRANSPORTS
def test_the_url_of_a_server_on_all_addresses_leads_to_it(folder: Path, transport: str) -> None:
    app = FakeApp()
    app.add("tool", echo)

    async def scenario() -> None:
        async with app.running(folder), serving(host="0.0.0.0", access=Access(TOKEN)) as server:
            assert server.endpoints.everywhere
            assert "0.0.0.0" not in server.endpoints.http
            await until_connected(server)
            async with server.client(transport, headers=BEARER) as client:
                assert text_of(await client.call_tool("tool", {})) == "{}"

    run(scenario())


@IPV6
def test_all_addresses_are_those_of_ipv4_too_and_one_is_only_that() -> None:
    with listen(0, "::") as listener:
        assert Endpoints.of(listener).everywhere
        socket.create_connection(("127.0.0.1", listener.getsockname()[1])).close()
        socket.create_connection(("::1", listener.getsockname()[1])).close()
    with listen(0, "::1") as listener, pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", listener.getsockname()[1]))


def test_localhost_and_brackets_are_understood() -> None:
    with listen(0, "localhost") as listener:
        assert listener.getsockname()[0] == "127.0.0.1"
    if has_ipv6():
        with listen(0, "[::1]") as listener:
            assert listener.getsockname()[0] == "::1"
            assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize(
    "host", ["", "example.com", "127.0.0.1:8720", "127.0.0.256", "[127.0.0.1", "::g", "http://::1"]
)
def test_a_host_that_is_no_address_is_an_error_that_names_it(host: str) -> None:
    with pytest.raises(ConfigurationError, match="--host is .*which is no address: give") as caught:
        listen(0, host)
    assert repr(host) in str(caught.value)


def test_an_address_of_another_machine_is_an_error() -> None:
    with pytest.raises(PortError, match="192.0.2.77: it is no address of this machine"):
        listen(0, "192.0.2.77")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a port")
def test_a_taken_port_names_the_address_and_not_who_listens_on_another() -> None:
    with listen(0, "127.0.0.2") as other:
        port = other.getsockname()[1]
        listen(port, "127.0.0.3").close()
        assert port_holder(port, address_of("127.0.0.3")) is None
        with pytest.raises(PortError, match=f"Port {port} of 127.0.0.2 is taken by"):
            listen(port, "127.0.0.2")
        with pytest.raises(PortError, match=f"Port {port} of 0.0.0.0 is taken by"):
            listen(port, "0.0.0.0")


# ---------------------------------------------------------------- the command line


def test_serve_asks_for_the_token_of_its_file_and_never_shows_it(folder: Path) -> None:
    file = folder / "token.txt"
    file.touch(mode=0o600)
    file.write_text(f"{TOKEN}\n", encoding="ascii")

    async def scenario() -> None:
        options = ("--port", "0", "--json", "--token-file", str(file), "--allow-host", "xr.example")
        async with started("serve", *options, env=environment(folder)) as server:
            assert server.stdout is not None
            said = await server.stdout.readline()
            url = json.loads(said)["http"]
            assert (await answered(url, "POST", Host="xr.example")).status_code == 401
            assert (await answered(url, "POST", Host="xr.example", **BEARER)).status_code not in {401, 421}
            command = await asyncio.to_thread(Path(f"/proc/{server.pid}/cmdline").read_bytes)
            server.terminate()
            stdout, stderr = await server.communicate()
        assert TOKEN.encode() not in b"".join((said, stdout, stderr, command))

    run(scenario())


def test_serve_says_that_a_token_is_needed_and_where_it_listens(folder: Path) -> None:
    async def scenario() -> None:
        env = environment(folder, OPENXR_AGENTIC_TOKEN=TOKEN)
        async with started("serve", "--port", "0", "--host", "0.0.0.0", env=env) as server:
            assert "every address" in await line_with(server.stderr, "listens on")
            assert "Authorization: Bearer TOKEN" in await line_with(server.stderr, "must send")
            advice = await line_with(server.stderr, "for Claude Code")
            assert "see: openxr-agentic config claude-code --url http://" in advice
            assert advice.endswith("/mcp --token\n")

    run(scenario())


def test_a_token_of_a_file_is_referred_to_by_that_file(folder: Path) -> None:
    file = folder / "a token"
    file.write_text(TOKEN)
    file.chmod(0o600)

    async def scenario() -> None:
        words = ("serve", "--port", "0", "--token-file", str(file))
        async with started(*words, env=environment(folder)) as server:
            advice = await line_with(server.stderr, "for Claude Code")
            assert advice.rstrip().endswith(f"/mcp --token-file '{file}'")

    run(scenario())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "needs a token"),
        (("--host", "example.com"), "--host is 'example.com'"),
        (("--allow-host", "*"), "--allow-host '*'"),
        (("--allow-origin", "null"), "--allow-origin 'null'"),
        (("--token-file", "/nowhere/token"), "token file /nowhere/token cannot be read"),
    ],
)
def test_a_wrong_option_is_one_line_and_wrong_usage(folder: Path, options: tuple[str, ...], words: str) -> None:
    async def scenario() -> None:
        for command in (("serve", *options), ("run", *options, "--", "true")):
            got, stdout, stderr = await finished(*command, env=environment(folder))
            assert (got, stdout) == (2, "")
            (line,) = stderr.splitlines()
            assert line.startswith("Error: ")
            assert words in line

    run(scenario())


def test_run_serves_with_the_token_and_keeps_it_from_the_app(folder: Path) -> None:
    async def scenario() -> None:
        env = environment(folder, OPENXR_AGENTIC_TOKEN=TOKEN)
        code, stdout, stderr = await finished("run", "--port", "0", "--", "env", env=env)
        assert code == 0
        assert "OPENXR_AGENTIC_CHANNEL=" in stdout
        assert TOKEN not in stdout + stderr
        assert "clients must send the token" in stderr

    run(scenario())
