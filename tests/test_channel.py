"""The control channel of an app in another process: `ChannelClient` and bare streams."""

import asyncio
import contextlib
import os
import stat
import struct
import sys

import pytest
from channel_harness import ChannelApp, Stream, call_frame, text

from openxr_agentic.host.channel import ChannelClient, ChannelClosedError, ChannelError, find_apps, socket_folder
from openxr_agentic.host.frames import CallStatus, FrameType, Parameter, decode_error, decode_result, encode

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the channel is not available there yet"),
    pytest.mark.timeout(120),
]


@pytest.fixture
def folder(tmp_path_factory, monkeypatch):
    # A short path: the system limits a socket's to about 100 bytes.
    path = tmp_path_factory.mktemp("r")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    return path


@pytest.fixture
def start(folder):
    """Start an app; it ends with the test."""
    apps = []

    def make(**environment):
        apps.append(ChannelApp(folder, **environment))
        return apps[-1]

    yield make
    for app in apps:
        app.end()


@pytest.fixture
def app(start):
    return start()


async def until(condition):
    while not await condition():  # noqa: ASYNC110 - the condition is in another process
        await asyncio.sleep(0.001)


async def until_waiting(client, calls):
    async def enough():
        return (await client.statistics())["queued"] == calls

    await until(enough)


# ---- greeting and listing


def test_hello_says_who_answers(start):
    async def run():
        async with start(OPENXR_AGENTIC_CHANNEL="the label").client() as client:
            assert (client.application_name, client.label, client.host) == ("channel app", "the label", "test host 1")
            assert client.display_period == pytest.approx(1 / 90, rel=1e-3)
            assert [app.pid for app in find_apps()] == [client.pid]

    asyncio.run(run())


@pytest.mark.parametrize("value", ["1", "ON", "True", "yes"])
def test_a_channel_that_is_just_switched_on_has_no_label(start, value):
    async def run():
        async with start(OPENXR_AGENTIC_CHANNEL=value).client() as client:
            assert client.label == ""

    asyncio.run(run())


@pytest.mark.parametrize("value", ["", "0", "off", "False", "NO"])
def test_a_channel_is_off_unless_asked_for(start, value):
    app = start(OPENXR_AGENTIC_CHANNEL=value)
    assert not app.socket.exists()
    assert app.end() == ""


def test_a_label_that_is_none_is_reported_and_left_out(start):
    app = start(OPENXR_AGENTIC_CHANNEL="é" * 40)

    async def run():
        async with app.client() as client:
            assert client.label == ""

    asyncio.run(run())
    assert "no label" in app.end()


def test_the_list_holds_every_field_in_the_order_of_registration(app):
    async def run():
        async with app.client() as client:
            return await client.list_tools()

    tools = asyncio.run(run())
    names = ["echo", "worker_echo", "count", "slow", "main_slow", "big", "broken", "marked"]
    assert [tool.name for tool in tools] == names
    assert tools[0].description == "echo, by the app"
    assert (tools[0].main_thread, tools[1].main_thread) == (True, False)
    assert tools[0].parameters == (
        Parameter("text", "What to say é", 0, True, None, ""),
        Parameter("list", "", 3, False, 1, ""),
        Parameter("shape", "", 4, False, None, '{"type":"object"}'),
    )


def test_changes_are_told_in_batches(app):
    async def run():
        async with app.client() as client:
            told = []
            client.on_changed(lambda: told.append(client))
            app.tell("register 500")

            async def all_there():
                return len(await client.list_tools()) == 508 and told

            await until(all_there)
            assert len(told) < 50

    asyncio.run(run())


def test_the_list_holds_the_metadata_that_the_app_gives_unread(app):
    texts = {"worker_echo": '{"title": "Écho"}', "count": "no JSON"}
    for tool, metadata in texts.items():
        app.tell(f"metadata {tool} {metadata}")

    async def run():
        async with app.client() as client:
            assert {tool.name: tool.metadata for tool in await client.list_tools() if tool.metadata} == texts
            app.tell("metadata count")
            assert [tool.name for tool in await client.list_tools() if tool.metadata] == ["worker_echo"]
            (echo, *_) = await client.list_tools()
            assert len(echo.parameters) == 3

    asyncio.run(run())


def test_changed_metadata_is_a_change_of_the_list(app):
    async def run():
        async with app.client() as client:
            told = asyncio.Event()
            client.on_changed(told.set)
            for metadata in ('{"enabled": false}', ""):
                told.clear()
                app.tell(f"metadata echo {metadata}")
                await told.wait()
                assert (await client.list_tools())[0].metadata == metadata

    asyncio.run(run())


# ---- calls


@pytest.mark.parametrize("tool", ["echo", "worker_echo"])
@pytest.mark.parametrize("arguments", ['{"text": "é\U0001f600"}', "", "{}", "x" * 3_000_000])
def test_texts_pass_through_unchanged(app, tool, arguments):
    async def run():
        async with app.client() as client:
            return await client.call(tool, arguments)

    result = asyncio.run(run())
    assert (result.status, result.result, result.text) == (CallStatus.DONE, 0, arguments)
    assert result.queue_seconds >= 0
    assert result.callback_seconds > 0


def test_overlapping_calls_are_each_answered_with_their_own_result(app):
    async def run():
        async with app.client() as one, app.client() as other:
            calls = [client.call("echo", str(i)) for i in range(200) for client in (one, other)]
            return [result.text for result in await asyncio.gather(*calls)]

    assert asyncio.run(run()) == [str(i) for i in range(200) for _ in range(2)]


def test_a_call_that_brings_no_result_says_why(app):
    async def run():
        async with app.client() as client:
            unknown, broken = await client.call("nothing"), await client.call("broken")
            assert (unknown.status, unknown.text) == (CallStatus.UNKNOWN_TOOL, "No tool is named nothing.")
            assert (broken.status, broken.result) == (CallStatus.FAILED, -2)
            assert "-2" in broken.text

    asyncio.run(run())


def test_a_result_says_whether_the_app_marked_it_as_an_error(app):
    async def run():
        async with app.client() as client:
            results = [await client.call("marked", arguments) for arguments in ("mark", "{}", "mark")]
            assert [result.error for result in results] == [True, False, True]
            assert {(result.status, result.text) for result in results} == {(CallStatus.DONE, "told")}

    asyncio.run(run())


def test_a_call_that_timed_out_in_the_queue_never_runs(app):
    async def run():
        async with app.client() as client:
            app.tell("pause")
            result = await client.call("count", timeout=0.001)
            assert result.status == CallStatus.TIMED_OUT
            assert "xrWaitFrame" in result.text
            app.tell("resume")
            assert (await client.call("echo")).status == CallStatus.DONE
            statistics = await client.statistics()
            assert (statistics["calls_timed_out"], statistics["calls_withdrawn"]) == (1, 1)

    asyncio.run(run())
    assert app.tell("counted") == "0"


def test_the_late_result_of_a_call_that_timed_out_is_dropped(app):
    async def run():
        async with app.client() as client:
            result = await client.call("slow", timeout=0.001)
            assert result.status == CallStatus.TIMED_OUT
            app.tell("open")
            assert (await client.call("worker_echo", "next")).text == "next"

    asyncio.run(run())


def test_a_cancelled_task_takes_its_call_back(app):
    async def run():
        async with app.client() as client:
            app.tell("pause")
            task = asyncio.create_task(client.call("count"))
            await until_waiting(client, 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until_waiting(client, 0)
            app.tell("resume")
            assert (await client.call("echo")).status == CallStatus.DONE

    asyncio.run(run())
    assert app.tell("counted") == "0"


def test_a_blocked_tool_blocks_nothing_else(app):
    async def run():
        async with app.client() as client:
            slow = asyncio.create_task(client.call("slow"))
            await asyncio.to_thread(app.tell, "gated 1")
            assert (await client.call("echo", "1")).text == "1"
            assert (await client.call("worker_echo", "2")).text == "2"
            assert len(await client.list_tools()) == 8
            assert not slow.done()
            app.tell("open")
            assert (await slow).text == "passed"

    asyncio.run(run())


def test_a_vanished_client_takes_its_waiting_calls_along(app):
    async def run():
        async with app.client() as stays:
            leaves = await app.connect()
            app.tell("pause")
            lost = [asyncio.create_task(leaves.call("count")) for _ in range(5)]
            await until_waiting(stays, 5)
            await leaves.close()
            results = await asyncio.gather(*lost, return_exceptions=True)
            assert all(isinstance(result, ChannelClosedError) for result in results)
            await until_waiting(stays, 0)
            app.tell("resume")
            assert (await stays.call("echo", "still here")).text == "still here"

    asyncio.run(run())
    assert app.tell("counted") == "0"


def test_a_call_whose_client_vanished_while_it_ran_ends_quietly(app):
    async def run():
        async with app.client() as stays:
            leaves = await app.connect()
            lost = asyncio.create_task(leaves.call("slow"))
            await asyncio.to_thread(app.tell, "gated 1")
            await leaves.close()
            await asyncio.gather(lost, return_exceptions=True)
            app.tell("open")

            async def ended():
                return (await stays.statistics())["calls"] == 1

            await until(ended)
            assert (await stays.call("echo", "next")).text == "next"

    asyncio.run(run())


# ---- the app's end


def test_the_end_of_the_instance_answers_waiting_calls_and_removes_the_socket(app):
    async def run():
        client = await app.connect()
        app.tell("pause")
        waiting = [asyncio.create_task(client.call("count")) for _ in range(3)]
        await until_waiting(client, 3)
        assert await asyncio.to_thread(app.tell, "destroy") == "ok"
        assert [result.status for result in await asyncio.gather(*waiting)] == [CallStatus.CLOSING] * 3
        await client.closed
        with pytest.raises(ChannelClosedError, match="closed"):
            await client.call("echo")

    asyncio.run(run())
    assert not app.socket.exists()
    assert find_apps() == []


def test_a_crashed_app_fails_its_calls_and_the_next_app_cleans_up(app, start):
    async def run():
        client = await app.connect()
        pending = asyncio.create_task(client.call("slow"))
        await asyncio.to_thread(app.tell, "gated 1")
        app.kill()
        with pytest.raises(ChannelClosedError, match="lost"):
            await pending
        await client.closed

    asyncio.run(run())
    assert app.socket.exists()
    assert find_apps() == []
    following = start()
    assert not app.socket.exists()
    assert [(found.pid, found.path) for found in find_apps()] == [(following.pid, following.socket)]


def test_a_forked_child_neither_serves_nor_removes_the_socket(app):
    child = int(app.tell("fork").split()[1])

    async def run():
        async with app.client() as client:
            assert (await client.call("echo", "parent")).text == "parent"
            app.kill()
            await client.closed
        with pytest.raises(ConnectionRefusedError):
            await app.connect()

    try:
        asyncio.run(run())
    finally:
        os.kill(child, 9)


def test_the_first_instance_of_a_process_keeps_the_channel(app):
    assert app.tell("second") == "ok"

    async def run():
        async with app.client() as client:
            assert (await client.call("echo", "first")).text == "first"

    asyncio.run(run())
    assert "has one already" in app.end()


# ---- where the socket is


def test_the_socket_and_its_folder_are_closed_to_others(folder, start):
    private = folder / "openxr-agentic"
    private.mkdir(mode=0o755)
    app = start()
    assert stat.S_IMODE(private.lstat().st_mode) == 0o700
    assert stat.S_IMODE(app.socket.lstat().st_mode) == 0o600


def test_a_folder_that_is_a_link_is_not_used(folder, start):
    (folder / "elsewhere").mkdir()
    (folder / "openxr-agentic").symlink_to(folder / "elsewhere")
    app = start()
    assert list((folder / "elsewhere").iterdir()) == []
    assert find_apps() == []
    assert "is not a folder" in app.end()


def test_a_path_that_is_too_long_is_reported_with_advice(folder, start):
    deep = folder / ("x" * 100)
    deep.mkdir()
    assert "shorter path" in start(XDG_RUNTIME_DIR=str(deep)).end()


def test_without_a_runtime_folder_the_temporary_one_is_used(folder, start, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "relative")
    monkeypatch.setenv("TMPDIR", str(folder))
    app = start(XDG_RUNTIME_DIR="relative", TMPDIR=str(folder))
    assert socket_folder() == folder / f"openxr-agentic-{os.geteuid()}"
    assert [found.pid for found in find_apps()] == [app.pid]


def test_what_is_no_socket_of_a_living_process_is_not_found(folder):
    private = folder / "openxr-agentic"
    assert find_apps() == []
    private.mkdir()
    for name in ("1x.sock", "sock", f"{os.getpid()}.sock", f"{2**40}.sock"):
        (private / name).touch()
    assert find_apps() == []


# ---- clients that misbehave

HELLO = FrameType.HELLO
CALL = FrameType.CALL


@pytest.mark.parametrize(
    ("greet", "data"),
    [
        pytest.param(True, struct.pack("<I", 0) + b"\0" * 5, id="empty frame"),
        pytest.param(True, struct.pack("<IBI", 0x7FFFFFFF, 3, 2), id="endless frame"),
        pytest.param(False, encode(FrameType.LIST, 2), id="no hello"),
        pytest.param(False, encode(HELLO, 1, b"\1\0"), id="short hello"),
        pytest.param(False, encode(HELLO, 1, b"\1\0\1\0\0"), id="long hello"),
        pytest.param(True, encode(HELLO, 2, b"\1\0\1\0"), id="second hello"),
        pytest.param(True, encode(FrameType.LIST, 2, b"x"), id="long list"),
        pytest.param(True, encode(FrameType.CANCEL, 2, b"x"), id="long cancel"),
        pytest.param(True, encode(FrameType.STATISTICS, 2, b"x"), id="long statistics"),
        pytest.param(True, encode(CALL, 2, b"\0\0\0\0" + text(b"echo")), id="call without arguments"),
        pytest.param(True, encode(CALL, 2, b"\0\0\0\0" + text(b"echo") + b"\xff\xff\xff\xff{}"), id="text too long"),
        pytest.param(True, encode(CALL, 2, b"\0\0\0\0" + text(b"echo") + text(b"{}") + b"x"), id="rest behind call"),
        pytest.param(True, call_frame(2, b"echo", b"a\0b"), id="text with NUL"),
        pytest.param(True, call_frame(2, b"echo", b"\xff"), id="not UTF-8"),
    ],
)
def test_what_is_no_frame_ends_only_that_connection(app, greet, data):
    async def run():
        async with app.client() as other:
            stream = await Stream.open(app, greet=greet)
            stream.send(data)
            assert await stream.frame() is None
            await stream.close()
            assert (await other.call("echo", "fine")).text == "fine"

    asyncio.run(run())


def test_a_request_of_an_unknown_type_is_answered_with_an_error(app):
    async def run():
        stream = await Stream.open(app)
        stream.send(encode(77, 5, b"of a newer client"))
        frame = await stream.frame()
        assert (frame.type, frame.id) == (FrameType.ERROR, 5)
        assert "does not know" in decode_error(frame.payload)
        stream.send(call_frame(6, b"echo"))
        assert (await stream.frame()).id == 6
        await stream.close()

    asyncio.run(run())


@pytest.mark.parametrize(("lowest", "highest"), [(0, 0), (2, 9)])
def test_a_client_of_other_versions_is_turned_away(app, monkeypatch, lowest, highest):
    versions = encode(HELLO, 1, struct.pack("<HH", lowest, highest))
    monkeypatch.setattr("openxr_agentic.host.channel.encode_hello", lambda _id: versions)

    async def run():
        with pytest.raises(ChannelError, match="another version"):
            await app.connect()

    asyncio.run(run())


def test_frames_may_arrive_in_any_pieces(app):
    async def run():
        stream = await Stream.open(app)
        data = call_frame(2, b"echo", b"one") + call_frame(3, b"echo", b"two")
        for i in range(len(data)):
            stream.send(data[i : i + 1])
            await asyncio.sleep(0)
        results = [decode_result((await stream.frame()).payload).text for _ in range(2)]
        assert results == ["one", "two"]
        await stream.close()

    asyncio.run(run())


def test_an_id_that_is_under_way_is_refused(app):
    async def run():
        stream = await Stream.open(app)
        stream.send(call_frame(9, b"slow") + call_frame(9, b"echo"))
        frame = await stream.frame()
        refused = decode_result(frame.payload)
        assert (frame.id, refused.status) == (9, CallStatus.REFUSED)
        app.tell("open")
        assert decode_result((await stream.frame()).payload).text == "passed"
        stream.send(call_frame(9, b"echo", b"again"))
        assert decode_result((await stream.frame()).payload).text == "again"
        await stream.close()

    asyncio.run(run())


def test_a_cancelled_call_is_answered_once(app):
    async def run():
        stream = await Stream.open(app)
        app.tell("pause")
        stream.send(call_frame(4, b"count") + encode(FrameType.CANCEL, 4) * 3 + encode(FrameType.CANCEL, 5))
        frame = await stream.frame()
        assert (frame.id, decode_result(frame.payload).status) == (4, CallStatus.CANCELLED)
        app.tell("resume")
        stream.send(call_frame(6, b"echo", b"next"))
        assert (await stream.frame()).id == 6
        await stream.close()

    asyncio.run(run())


def test_a_client_that_does_not_read_is_dropped(app):
    async def run():
        async with app.client() as other:
            greedy = await Stream.open(app)
            greedy.writer.transport.pause_reading()
            for request_id in range(2, 6):
                greedy.send(call_frame(request_id, b"big", b"60000000"))

            async def ran():
                return (await other.statistics())["calls"] >= 4

            await until(ran)
            assert (await other.call("echo", "fine")).text == "fine"
            greedy.writer.transport.resume_reading()
            frames = 0
            while await greedy.frame() is not None:
                frames += 1
            assert frames < 4
            await greedy.close()

    asyncio.run(run())


def test_too_many_clients_are_turned_away_and_the_others_stay(app):
    async def run():
        async with contextlib.AsyncExitStack() as stack:
            clients = [await stack.enter_async_context(app.client()) for _ in range(32)]
            with pytest.raises(ConnectionError):
                await app.connect()
            results = await asyncio.gather(*(client.call("echo", "here") for client in clients))
            assert {result.text for result in results} == {"here"}

    asyncio.run(run())


# ---- apps that misbehave


async def end(writer):
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


def test_an_app_that_sends_no_frames_is_hung_up_on(folder):
    async def serve(_reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await end(writer)

    async def run():
        async with await asyncio.start_unix_server(serve, folder / "s"):
            with pytest.raises(ChannelClosedError, match="claims"):
                await ChannelClient.connect(folder / "s")

    asyncio.run(run())


def test_an_answer_that_cannot_be_read_fails_the_request(folder):
    async def serve(reader, writer):
        await reader.read(100)
        writer.write(encode(HELLO, 1, b"short"))
        await end(writer)

    async def run():
        async with await asyncio.start_unix_server(serve, folder / "s"):
            with pytest.raises(ChannelClosedError, match="cannot be read"):
                await ChannelClient.connect(folder / "s")

    asyncio.run(run())
