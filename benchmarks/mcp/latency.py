"""A call through our whole path, against the same tool on the mcp package's own server."""

from __future__ import annotations

import gc
import random
import statistics
import time
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING

from mcp import Client

from benchmarks.mcp import processes
from benchmarks.mcp.rounds import BrokenError, collect, percentile

if TYPE_CHECKING:
    from mcp_types import CallToolResult

WARM_UP = 150
AGAIN_P99 = (0.9, 1.1)
ARGUMENTS = {"text": "hi"}
PERCENTILES = {"p50": 0.5, "p99": 0.99}

Taken = dict[str, list[float]]
"""The nanoseconds of each call, by arm: ours, plain, again (plain once more), lookup (plain with LOOK_UP)."""


async def measure(rounds: int, calls: int) -> dict[str, float | None]:
    """Play the rounds and return the ratios; None where no round counts."""
    played = await collect(rounds, partial(play, calls), lambda taken: _in(AGAIN_P99, _ratio(taken, "again", 0.99)))
    print(f"calls of an idle app: {played} (by their A/A p99); {calls} calls an arm in each, medians:")
    counted = played.counted
    for arm in counted[0] if counted else ():
        p50, p99 = (statistics.median(percentile(taken[arm], share) for taken in counted) for share in (0.5, 0.99))
        print(f"  {arm:8} p50 {p50 / 1e3:6.0f} us   p99 {p99 / 1e3:6.0f} us")
    figures: dict[str, float | None] = {}
    for name, base in (("call_vs_plain_mcp", "plain"), ("call_vs_lookup_mcp", "lookup")):
        for label, share in PERCENTILES.items():
            ratios = [_ratio(taken, "ours", share, base) for taken in counted]
            figures[f"{name}_{label}"] = statistics.median(ratios) if ratios else None
    return figures | {"call_rounds": len(counted), "call_rounds_dropped": played.dropped}


def _ratio(taken: Taken, arm: str, share: float, base: str = "plain") -> float:
    # Twice as many calls are a steadier base; but "again" is what it is compared with.
    against = taken["plain"] + taken["again"] if (arm, base) == ("ours", "plain") else taken[base]
    return percentile(taken[arm], share) / percentile(against, share)


def _in(limits: tuple[float, float], value: float) -> bool:
    return limits[0] <= value <= limits[1]


async def play(calls: int) -> Taken:
    """Play one round, with new processes.

    One agent calls all servers in turn, in random order, over one session each. Agent and servers have a core
    each; the app shares the agent's, which waits for it: so every hop of a call goes to the other core.

    Raises:
        BrokenError: The servers do not answer alike.
    """
    cores = processes.two_cores()
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(processes.ours("idle", app_core=cores.one, server_core=cores.other))
        clients = {"ours": await stack.enter_async_context(Client(running.url))}
        tool = await processes.listed_tool(clients["ours"], "echo")
        expected = await clients["ours"].call_tool("echo", ARGUMENTS)
        for arm in ("plain", "again", "lookup"):
            url = await stack.enter_async_context(
                processes.plain(
                    tool,
                    structured=expected.structured_content is not None,
                    look_up=arm == "lookup",
                    core=cores.other,
                )
            )
            clients[arm] = await stack.enter_async_context(Client(url))
            await processes.listed_tool(clients[arm], "echo")
            _compare(arm, await clients[arm].call_tool("echo", ARGUMENTS), expected)
        processes.place(processes.THIS_PROCESS, cores.one)
        return await _interleaved(clients, calls)


async def _interleaved(clients: dict[str, Client], calls: int) -> Taken:
    taken: Taken = {arm: [] for arm in clients}
    arms = list(clients)
    gc.collect()
    gc.freeze()
    for turn in range(WARM_UP + calls):
        random.shuffle(arms)
        for arm in arms:
            began = time.perf_counter_ns()
            result = await clients[arm].call_tool("echo", ARGUMENTS)
            ended = time.perf_counter_ns()
            if result.is_error:
                raise BrokenError(f"{arm} answered call {turn} with {result.content}")
            if turn >= WARM_UP:
                taken[arm].append(ended - began)
    return taken


def _compare(arm: str, result: CallToolResult, expected: CallToolResult) -> None:
    if (result.content, result.structured_content, result.is_error) != (
        expected.content,
        expected.structured_content,
        expected.is_error,
    ):
        raise BrokenError(f"{arm} answers {result!r}, ours {expected!r}")
