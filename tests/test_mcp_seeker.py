"""The search for running apps, when some of them do not answer."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("mcp")

from agent_harness import run
from fake_app import FakeApp

from openxr_agentic.mcp.apps import seeker
from openxr_agentic.mcp.apps.seeker import Seeker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from openxr_agentic.host.channel import ChannelClient


class Sleeper(FakeApp):
    """An app that was stopped in a debugger: its socket is there, and what is sent to it waits."""

    def __init__(self, name: str, pid: int) -> None:
        super().__init__(name=name, pid=pid)
        self.held: list[tuple[Any, ...]] = []

    def _take(self, *frame: Any) -> None:
        self.held.append(frame)

    def wake(self) -> None:
        for frame in self.held:
            super()._take(*frame)


@contextmanager
def processes(count: int) -> Iterator[list[int]]:
    """Start processes that do nothing, for their ids."""
    words = [sys.executable, "-c", "input()"]
    started = [subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) for _ in range(count)]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.communicate()


def names(found: list[ChannelClient]) -> list[str]:
    return [client.application_name for client in found]


def test_apps_that_do_not_answer_are_asked_once_and_hide_no_other_and_are_found_when_they_do(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seeker, "HELLO_SECONDS", 0.2)
    looking = Seeker(lambda client: client.application_name != "unwanted")

    async def scenario(pids: list[int]) -> None:
        asleep = [Sleeper(f"asleep {pid}", pid) for pid in pids]
        async with AsyncExitStack() as stack:
            for sleeper in asleep:
                await stack.enter_async_context(sleeper.running(folder))
            assert await looking.look() == []
            # Later searches wait for none of them.
            monkeypatch.setattr(seeker, "HELLO_SECONDS", None)
            for _ in range(3):
                assert await looking.look() == []
            awake = FakeApp(name="awake", pid=os.getpid())
            await stack.enter_async_context(awake.running(folder))
            (found,) = await looking.look()
            assert found.application_name == "awake"
            looking.settle(found)
            assert [len(sleeper.held) for sleeper in asleep] == [1] * len(asleep)
            asleep[0].wake()
            while not (late := await looking.look()):  # noqa: ASYNC110 - the search has no event for it
                await asyncio.sleep(0)
            assert names(late) == [asleep[0].name]
            for client in (found, *late):
                await client.close()

    with processes(3) as pids:
        run(scenario(pids))
