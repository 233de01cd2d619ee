"""`doctor --discover`: the numbers of hosts that keep them secret, and of hosts that give nothing away."""

import asyncio
import os
import signal

import doctor_harness
import pytest
from agent_harness import run, serving
from doctor_harness import PREFIX, SECRET, secret_runtime
from old_server import OldServer, tool

from openxr_agentic import header_numbers, host
from openxr_agentic.doctor import discovery, trial_host
from openxr_agentic.doctor.discovery import ABSURD, KINDS, Attempt, DiscoveryError, discover
from openxr_agentic.doctor.witness import mcp_witness
from openxr_agentic.header_numbers import (
    MAIN_THREAD_BIT,
    PARAMETER_STRUCTURE,
    REGISTER_INFO_STRUCTURE,
    parameter_type_number,
)

ASSUMED = {name: number.value for name, number in header_numbers.numbers_in_force().items()}
REFUSED = -1


class FakeHost:
    """A host with the secret numbers, which may be told to check less and to show less."""

    def __init__(self, **changes):
        self.numbers = {**SECRET, **changes}
        self.types = {kind: self.numbers[parameter_type_number(kind)] for kind in KINDS}
        self.checks_info = self.checks_structure = self.checks_types = self.checks_bits = True
        self.refuses_nested_arrays = False
        self.shows = True
        self.answers = True
        self.calls_on_main_thread_always = False
        self.refusal = REFUSED
        self.registered = {}

    async def attempt(self, attempts, *, until_accepted=False):
        results = []
        for attempt in attempts:
            results.append(0 if self._accepts(attempt) else self.refusal)
            if results[-1] == 0:
                self.registered[attempt.tool] = attempt
                if until_accepted:
                    break
        return results

    def _accepts(self, attempt):
        if attempt.tool in self.registered:
            return False
        if self.checks_info and attempt.info_type != self.numbers[REGISTER_INFO_STRUCTURE]:
            return False
        if self.checks_bits and attempt.flags & ~self.numbers[MAIN_THREAD_BIT]:
            return False
        return attempt.parameter is None or self._accepts_parameter(*attempt.parameter)

    def _accepts_parameter(self, structure, kind, item):
        if self.checks_structure and structure != self.numbers[PARAMETER_STRUCTURE]:
            return False
        if not self.checks_types:
            return True
        array = self.types["ARRAY"]
        if kind not in self.types.values():
            return False
        return kind != array or (item in self.types.values() and not (self.refuses_nested_arrays and item == array))

    async def shown_types(self, tools):
        names = {number: kind.lower() for kind, number in self.types.items()}
        shown = {tool: self.registered[tool].parameter for tool in tools if tool in self.registered}
        return {tool: names.get(kind, "string") for tool, (_, kind, _) in shown.items()} if self.shows else None

    async def runs_on_main_thread(self, tool):
        if not self.answers:
            return None
        return self.calls_on_main_thread_always or bool(self.registered[tool].flags & self.numbers[MAIN_THREAD_BIT])


def found_in(host_):
    return asyncio.run(discover(host_, ASSUMED))


def test_every_number_of_a_strict_host_is_found_and_witnessed():
    found = found_in(FakeHost())
    assert found.numbers == SECRET
    assert found.open == {}
    assert "agents see a parameter of that type as 'array'" in found.how[parameter_type_number("ARRAY")]
    assert "with it a call comes on the main thread" in found.how[MAIN_THREAD_BIT]


def test_a_host_of_the_numbers_in_force_confirms_them():
    assert found_in(FakeHost(**ASSUMED)).numbers == ASSUMED


def test_a_host_that_accepts_an_absurd_structure_type_stops_the_search_at_once():
    lenient = FakeHost()
    lenient.checks_info = False
    with pytest.raises(DiscoveryError, match=f"structure type is {ABSURD}.*does not check"):
        found_in(lenient)
    assert len(lenient.registered) == 1


def test_a_host_that_refuses_for_another_reason_is_not_asked_further():
    closed = FakeHost()
    closed.refusal = -9
    with pytest.raises(DiscoveryError, match="XR_ERROR_EXTENSION_NOT_PRESENT.*another one than wrong numbers"):
        found_in(closed)


def test_a_host_that_numbers_otherwise_is_given_up_with_what_was_tried():
    with pytest.raises(DiscoveryError, match="none of 32001 structure types from 1000000000 to 1000999031"):
        found_in(FakeHost(**{REGISTER_INFO_STRUCTURE: 77}))


def test_a_parameter_structure_that_is_not_checked_is_left_open_and_the_types_are_found():
    lenient = FakeHost()
    lenient.checks_structure = False
    found = found_in(lenient)
    assert "does not check it" in found.open[PARAMETER_STRUCTURE]
    assert {**found.numbers, PARAMETER_STRUCTURE: 0} == {**SECRET, PARAMETER_STRUCTURE: 0}


def test_a_parameter_structure_of_another_extension_is_left_open_with_the_types():
    found = found_in(FakeHost(**{PARAMETER_STRUCTURE: 1000700000}))
    assert set(found.open) == {PARAMETER_STRUCTURE, *map(parameter_type_number, KINDS)}
    assert found.numbers[MAIN_THREAD_BIT] == SECRET[MAIN_THREAD_BIT]


def test_an_array_of_arrays_need_not_be_accepted():
    strict = FakeHost()
    strict.refuses_nested_arrays = True
    assert found_in(strict).numbers == SECRET


def test_types_that_nobody_shows_are_told_by_the_documented_order_where_there_is_one_order():
    ordered = {parameter_type_number(kind): 7 + index for index, kind in enumerate(KINDS)}
    blind = FakeHost(**ordered)
    blind.shows = False
    found = found_in(blind)
    assert found.numbers == {**SECRET, **ordered}
    assert "documented order" in found.how[parameter_type_number("STRING")]
    blind = FakeHost()  # its numbers are in no order
    blind.shows = False
    assert set(found_in(blind).open) == set(map(parameter_type_number, KINDS))


def test_where_the_documented_order_fits_in_several_places_the_types_are_left_open():
    lenient = FakeHost()
    lenient.shows = lenient.checks_types = False
    assert set(found_in(lenient).open) == set(map(parameter_type_number, KINDS))


def test_a_host_that_takes_unknown_types_for_strings_gives_the_others_away_and_the_order_the_string():
    ordered = {parameter_type_number(kind): 7 + index for index, kind in enumerate(KINDS)}
    lenient = FakeHost(**ordered)
    lenient.checks_types = False
    found = found_in(lenient)
    assert found.numbers == {**SECRET, **ordered}
    assert "as 'number'" in found.how[parameter_type_number("NUMBER")]
    assert "documented order" in found.how[parameter_type_number("STRING")]


def test_a_host_that_accepts_every_bit_gives_the_right_one_away_by_the_thread():
    lenient = FakeHost()
    lenient.checks_bits = False
    assert found_in(lenient).numbers[MAIN_THREAD_BIT] == SECRET[MAIN_THREAD_BIT]
    lenient = FakeHost()
    lenient.checks_bits = False
    lenient.calls_on_main_thread_always = True
    assert "accepts 64 bits" in found_in(lenient).open[MAIN_THREAD_BIT]


def test_the_only_bit_that_is_accepted_needs_no_call():
    silent = FakeHost()
    silent.answers = False
    found = found_in(silent)
    assert found.numbers[MAIN_THREAD_BIT] == SECRET[MAIN_THREAD_BIT]
    assert "no call of it was seen" in found.how[MAIN_THREAD_BIT]


def test_where_every_call_comes_on_the_main_thread_the_thread_is_no_evidence():
    single_threaded = FakeHost()
    single_threaded.calls_on_main_thread_always = True
    how = found_in(single_threaded).how[MAIN_THREAD_BIT]
    assert "the only bit that the host accepts; calls come on the main thread without it too" in how


# ---- on the real thing


@pytest.fixture
def folder(monkeypatch, tmp_path_factory):
    # Short enough for a socket.
    return doctor_harness.isolate(monkeypatch, tmp_path_factory.mktemp("d"))


@pytest.fixture
def secret(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(secret_runtime()))


def test_the_numbers_of_a_mock_that_was_built_with_secret_ones_are_found_over_its_channel(secret):
    found = run(trial_host.discover_here(None))
    assert found.numbers == SECRET
    assert found.open == {}
    assert "with it a call comes on the main thread" in found.how[MAIN_THREAD_BIT]
    assert "agents see" in found.how[parameter_type_number("OBJECT")]


@pytest.mark.parametrize("transport", ["http", "sse"])
def test_the_numbers_are_found_over_an_mcp_server_as_well(secret, monkeypatch, transport):
    monkeypatch.setattr(trial_host.secrets, "token_hex", lambda _bytes: "test")

    async def scenario():
        async with serving("doctor-test") as server:
            return await trial_host.discover_here(getattr(server.endpoints, transport))

    found = run(scenario())
    assert found.numbers == SECRET
    assert "agents see" in found.how[parameter_type_number("NUMBER")]


@pytest.mark.parametrize("properties", [{"p": True}, {"p": {}}, {}, None, {"p": {"type": ["string"]}}])
def test_a_schema_that_says_nothing_of_the_first_parameter_is_passed_over(properties):
    odd = {"name": "odd", "inputSchema": {"type": "object", "properties": properties}}

    async def scenario():
        server = OldServer([odd, tool("other", {"p": {"type": "array"}})])
        async with server.running() as place, mcp_witness(f"{place}/sse") as witness:
            return await witness.tools()

    shown = run(scenario())
    assert shown["odd"] in ("", "['string']")
    assert shown["other"] == "array"


@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
@pytest.mark.parametrize("result", [{"content": 3, "tools": 3}, {"tools": [tool("odd", [1, 2])]}])
def test_an_odd_answer_of_the_mcp_server_ends_the_search_in_one_line(method, result):
    server = OldServer()
    reply = server._reply
    server._reply = lambda message: {"result": result} if message["method"] == method else reply(message)

    async def scenario():
        async with server.running() as place, mcp_witness(f"{place}/sse") as witness:
            await (witness.tools() if method == "tools/list" else witness.call("tool"))

    with pytest.raises(
        DiscoveryError, match=r"The MCP server at http://127.0.0.1:\d+/sse gives odd answers: ."
    ) as error:
        run(scenario())
    assert "\n" not in str(error.value)


def test_an_error_of_the_search_itself_comes_through_the_client_as_it_is():
    async def scenario():
        async with OldServer().running() as server, mcp_witness(f"{server}/sse"):
            raise DiscoveryError("the host is closed")

    with pytest.raises(DiscoveryError, match="^the host is closed$"):
        run(scenario())


def test_after_the_first_tool_that_is_accepted_no_more_are_registered(secret):
    async def scenario():
        async with trial_host.trial() as host_:
            tools = [Attempt(name, SECRET[REGISTER_INFO_STRUCTURE]) for name in "abc"]
            return [await host_.attempt(tools, until_accepted=True), await host_.attempt(tools)]

    assert run(scenario()) == [[0], [REFUSED, 0, 0]]


def test_wrong_numbers_in_force_do_not_mislead_the_search(secret, monkeypatch):
    monkeypatch.setenv("OPENXR_AGENTIC_NUMBERS", f'{{"{PREFIX}PARAMETER_TYPE_STRING_METAX1": 9}}')
    assert run(trial_host.discover_here(None)).numbers == SECRET


def test_without_a_runtime_it_is_said_that_nothing_can_be_tried(folder):
    with pytest.raises(DiscoveryError, match="No tool can be tried here.*XR_ERROR_RUNTIME_UNAVAILABLE"):
        run(trial_host.discover_here(None))


def test_an_address_where_nobody_answers_is_named(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(host.manifest_path()))
    with pytest.raises(DiscoveryError, match="No MCP server answers at http://127.0.0.1:9/mcp"):
        run(trial_host.discover_here("http://127.0.0.1:9/mcp"))


def test_a_host_that_crashes_on_a_trial_is_reported_with_its_signal(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(host.manifest_path()))
    monkeypatch.setattr(discovery, "ABSURD", 2**40)  # which does not fit the structure: the child fails

    with pytest.raises(DiscoveryError, match="ended .exit code 1.*OverflowError"):
        run(trial_host.discover_here(None))


HANGING = """\
#include <unistd.h>
int xrNegotiateLoaderRuntimeInterface(void) { for (;;) pause(); }
"""


def test_a_host_that_hangs_is_given_up_at_one_deadline_and_its_process_with_it(folder, monkeypatch):
    monkeypatch.setenv("XR_RUNTIME_JSON", str(doctor_harness.compiled_runtime(folder, HANGING)))
    monkeypatch.setattr(trial_host, "LIMIT_SECONDS", 1.0)
    monkeypatch.setattr(trial_host, "_END_SECONDS", 10_000.0)  # nobody waits for it to end of itself
    started = remembered(monkeypatch)
    with pytest.raises(DiscoveryError, match="given up after 1 s, and nothing is known.*hangs"):
        run(trial_host.discover_here(None))
    assert started[0].returncode == -signal.SIGKILL


def remembered(monkeypatch):
    """The child processes that are started from now on."""
    started = []
    create = asyncio.create_subprocess_exec

    async def remembering(*arguments, **options):
        started.append(await create(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", remembering)
    return started


def test_the_whole_search_takes_no_longer_than_the_documentation_says():
    page = (doctor_harness.ROOT / "docs" / "doctor.md").read_text(encoding="utf-8")
    assert f"given up after {trial_host.LIMIT_SECONDS:.0f} seconds" in page


def test_no_process_of_the_search_is_left(secret, monkeypatch):
    started = remembered(monkeypatch)
    run(trial_host.discover_here(None))
    (child,) = started
    assert child.returncode == 0
    with pytest.raises(ProcessLookupError):
        os.kill(child.pid, 0)
