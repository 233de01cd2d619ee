"""What the agent's way into an app costs the agent, and the app's frames.

    python -m benchmarks.mcp [ROUNDS [CALLS]]

ROUNDS that count are played of each part, 5 by default. A round that other programs spoilt is repeated, as long as
no more than three times as many are played; a figure that no round is left for is null. CALLS, 600 by default, are
those of each server in a round; for each, the frame loop runs 5 ms alone, 5 ms with one agent and 5 ms under a
flood. The processes are placed on two cores, in real time where the system allows that. The last line is one JSON
object:

    call_vs_plain_mcp_*         a call through our whole path (official client, HTTP, control channel, host, C, Python;
                                app idle, any thread) over a call of the same tool on the mcp package's own low-level
                                server, in that server's process; interleaved in one run. Rounds count in which the
                                99th percentiles of two such plain servers differ by at most a tenth
    call_vs_lookup_mcp_*        the same over a plain server that is told how to find a tool's schema, as ours is
    pump_over_budget_share      share of frames under a flood in which main-thread tools took more of the thread's CPU
                                time than the budget (2 ms) and one call
    sequential_call_frames_*    how many frames a call of a main-thread tool takes, one agent, call after call
    late_frames_added           share of frames that are late under a flood on the raw channel, less the same without
                                an agent. Rounds count in which the loop alone is late in at most 1 % of its frames
    flood_calls                 how many calls that flood was, each answered in its turn
    *_rounds, *_rounds_dropped  how many rounds counted, and how many did not

The frame loop: 90 Hz, 4 ms of Python work of its own, a tool of 0.2 ms. A call that is not answered as it must
be ends the benchmark with exit code 1.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

from benchmarks.mcp import frames, latency, processes
from benchmarks.mcp.rounds import BrokenError
from openxr_agentic.cli.serving.processes import on_end_signals

if TYPE_CHECKING:
    import signal
    from collections.abc import Coroutine

DEFAULTS = (5, 600)
SECONDS_OF_FRAMES = 0.005

LIMITS = {
    "call_vs_plain_mcp_p50": 1.15,
    "call_vs_plain_mcp_p99": 1.2,
    "pump_over_budget_share": 0.001,
    "sequential_call_frames_p50": 1.1,
    "sequential_call_frames_p99": 1.5,
    "late_frames_added": 0.005,
}


async def main(rounds: int, calls: int) -> None:
    """Run the benchmark and print its figures."""
    figures = await latency.measure(rounds, calls)
    figures |= await frames.measure(rounds, calls * SECONDS_OF_FRAMES)
    print("in real time" if processes.real_time() else "not in real time: other programs disturb")
    for name, limit in LIMITS.items():
        value = figures[name]
        verdict = "no round counts" if value is None else f"{value:7.4f}  {'meets' if value <= limit else 'MISSES'}"
        print(f"  {name:28} {verdict} {limit}")
    print(json.dumps({name: value if value is None else round(value, 4) for name, value in figures.items()}))


async def _until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Await the work; a signal that should end it cancels it, so that no process of it stays behind."""
    task = asyncio.ensure_future(work)

    def cancel(_number: signal.Signals) -> None:
        task.cancel()

    with on_end_signals(cancel):
        await task


def run(arguments: list[str]) -> None:
    """Run the benchmark as the command line asks for it."""
    given = [int(argument) for argument in arguments]
    rounds, calls = (*given, *DEFAULTS[len(given) :])
    try:
        asyncio.run(_until_signal(main(rounds, calls)))
    except BrokenError as error:
        raise SystemExit(f"Error: {error}") from None
    except asyncio.CancelledError:
        raise SystemExit("Error: interrupted") from None


if __name__ == "__main__":
    run(sys.argv[1:])
