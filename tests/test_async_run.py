"""`async def` tools on a private loop of the calling thread."""

import asyncio
import contextlib
import contextvars
import gc
import logging
import os
import subprocess
import sys
import threading
import warnings
import weakref

import pytest

from openxr_agentic import async_run
from openxr_agentic.async_run import run_awaitable
from openxr_agentic.errors import ToolTimeoutError


@pytest.fixture(autouse=True)
def fresh_loop():
    """Each test starts without a kept loop, and leaves none."""
    vars(async_run._thread).clear()
    yield
    vars(async_run._thread).clear()


@pytest.fixture
def short_grace(monkeypatch):
    monkeypatch.setattr(async_run, "GRACE", 0.02)


async def threads_around_an_await():
    before = threading.get_ident()
    await asyncio.sleep(0)
    return before, threading.get_ident()


async def loop_in_use():
    return asyncio.get_running_loop()


async def forever():
    await asyncio.Event().wait()


async def stubborn():
    while True:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(60)


def test_both_halves_of_a_tool_run_on_the_thread_of_the_call():
    assert run_awaitable(threads_around_an_await(), "tool") == (threading.get_ident(),) * 2


def test_it_runs_where_a_loop_runs_already_and_that_loop_goes_on_as_before():
    async def app():
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        inner = run_awaitable(loop_in_use(), "tool")
        assert inner is not loop
        assert asyncio.get_running_loop() is loop
        assert asyncio.current_task() is task
        assert run_awaitable(threads_around_an_await(), "tool") == (threading.get_ident(),) * 2
        with pytest.raises(KeyError):
            run_awaitable(raising(KeyError("x")), "tool")
        assert asyncio.get_running_loop() is loop
        await asyncio.sleep(0)
        async with asyncio.timeout(5) if sys.version_info >= (3, 11) else asyncio.Lock():
            return "went on"

    assert asyncio.run(app()) == "went on"


def test_a_tool_may_call_another_async_tool():
    async def outer():
        loop = asyncio.get_running_loop()
        assert run_awaitable(loop_in_use(), "inner") is not loop
        await asyncio.sleep(0)
        return asyncio.get_running_loop() is loop

    assert run_awaitable(outer(), "outer")
    assert run_awaitable(outer(), "outer")


def test_a_thread_keeps_one_loop_and_closes_it_at_its_end():
    loops = []

    def calls():
        loops.extend(run_awaitable(loop_in_use(), "tool") for _ in range(3))

    thread = threading.Thread(target=calls)
    thread.start()
    thread.join()
    assert len(set(loops)) == 1
    assert loops[0].is_closed()
    assert run_awaitable(loop_in_use(), "tool") is not loops[0]


async def raising(error):
    await asyncio.sleep(0)
    raise error


@pytest.mark.parametrize("kind", [ValueError, asyncio.CancelledError, TimeoutError, RuntimeError, KeyboardInterrupt])
def test_what_a_tool_raises_comes_out_as_it_is(kind):
    error = kind("x")
    with pytest.raises(kind) as caught:
        run_awaitable(raising(error), "tool")
    assert type(caught.value) is kind
    assert run_awaitable(loop_in_use(), "tool").is_running() is False


def test_a_tool_that_takes_too_long_is_cancelled():
    cancelled = []

    async def tool():
        try:
            await forever()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(ToolTimeoutError, match=r"^slow took longer than 0\.01 s and was cancelled\.$"):
        run_awaitable(tool(), "slow", 0.01)
    assert cancelled == [True]
    assert run_awaitable(threads_around_an_await(), "tool")


def test_waiting_for_the_apps_own_loop_ends_with_an_error_that_says_why():
    async def app():
        done = threading.Event()
        asyncio.get_running_loop().call_soon(done.set)

        async def tool():
            while not done.is_set():  # noqa: ASYNC110 - the app's loop sets it
                await asyncio.sleep(0.001)

        with pytest.raises(ToolTimeoutError, match="event loop of the app is on the same thread and stands still"):
            run_awaitable(tool(), "tool", 0.02)
        await asyncio.sleep(0)
        assert done.is_set()

    asyncio.run(app())


def test_a_future_of_the_apps_own_loop_is_an_error_at_once():
    async def app():
        future = asyncio.get_running_loop().create_future()

        async def tool():
            return await future

        with pytest.raises(RuntimeError, match="different loop"):
            run_awaitable(tool(), "tool", None)

    asyncio.run(app())


def test_what_a_cancelled_tool_returns_after_all_counts():
    async def tool():
        try:
            await forever()
        except asyncio.CancelledError:
            return "half of it"

    assert run_awaitable(tool(), "tool", 0.01) == "half of it"


def test_a_tool_that_ignores_its_cancellation_is_given_up(short_grace, caplog):
    with pytest.raises(ToolTimeoutError, match=r"took longer than 0\.01 s and does not end when cancelled"):
        run_awaitable(stubborn(), "tool", 0.01)
    assert run_awaitable(threads_around_an_await(), "tool")
    gc.collect()


def test_without_a_timeout_it_may_take_as_long_as_it_likes():
    async def tool():
        await asyncio.sleep(0.02)
        return 1

    assert run_awaitable(tool(), "tool", None) == 1


def test_tasks_that_are_left_behind_are_cancelled():
    left = []

    async def tool():
        left.append(asyncio.get_running_loop().create_task(forever()))
        await asyncio.sleep(0)

    run_awaitable(tool(), "tool")
    assert left[0].cancelled()


def test_a_task_left_behind_that_does_not_end_is_reported_and_never_runs_in_a_later_call(short_grace, caplog):
    async def tool():
        left = asyncio.get_running_loop().create_task(stubborn())
        await asyncio.sleep(0)
        return asyncio.get_running_loop(), weakref.ref(left)

    loop, _left = run_awaitable(tool(), "tool")
    assert "Tool tool left a task behind" in caplog.text
    assert loop.is_closed()
    assert run_awaitable(loop_in_use(), "tool") is not loop


def test_an_asynchronous_generator_that_is_dropped_is_closed_in_the_same_call():
    closed = []

    async def numbers():
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    async def tool():
        generator = numbers()
        return await anext(generator)

    for calls in (1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert run_awaitable(tool(), "tool") == 1
        assert len(closed) == calls


def test_it_sees_the_callers_context_and_does_not_change_it():
    name = contextvars.ContextVar("name")
    name.set("caller")

    async def tool():
        seen = name.get()
        name.set("tool")
        return seen

    assert run_awaitable(tool(), "tool") == "caller"
    assert name.get() == "caller"


def test_any_awaitable_can_be_run():
    class Ready:
        def __await__(self):
            yield from asyncio.sleep(0).__await__()
            return 5

    assert run_awaitable(Ready(), "tool") == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="POSIX only")
def test_a_forked_child_has_a_loop_of_its_own_and_leaves_the_parents_alone():
    program = """
import asyncio, os, threading
from openxr_agentic.async_run import run_awaitable
async def loop_in_use(): return asyncio.get_running_loop()
async def woken():
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    threading.Timer(0.05, loop.call_soon_threadsafe, [done.set_result, "woken"]).start()
    return await done
parents = run_awaitable(loop_in_use(), "tool")
child = os.fork()
if child == 0:
    os._exit(run_awaitable(loop_in_use(), "tool") is parents or parents.is_closed())
assert os.waitpid(child, 0)[1] == 0
assert run_awaitable(loop_in_use(), "tool") is parents
print(run_awaitable(woken(), "tool", 20))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "woken\n", "")


def test_nothing_is_said_at_exit_and_asyncio_is_not_imported_before_it_is_needed():
    program = """
import sys
from openxr_agentic.async_run import run_awaitable
assert "asyncio" not in sys.modules
async def tool(): return 5
print(run_awaitable(tool(), "tool"))
"""
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", program],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "5\n", "")


def test_the_coroutine_is_not_reported_as_never_awaited_when_it_ran(caplog):
    with caplog.at_level(logging.DEBUG):
        for _ in range(100):
            run_awaitable(loop_in_use(), "tool")
    assert "never" not in caplog.text
