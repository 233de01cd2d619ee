"""What agents' calls cost a 90 Hz frame loop, and what its frames cost the calls."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import time
from functools import partial
from typing import Any, NamedTuple

from mcp import Client

from benchmarks.mcp import processes
from benchmarks.mcp.flood import TOOL, flood
from benchmarks.mcp.rounds import BrokenError, collect, percentile

BUDGET_NS = 2_000_000
"""The host's default; see OPENXR_AGENTIC_PUMP_BUDGET_MS."""

MOST_LATE_ALONE = 0.01
"""Where the loop alone is late more often, the machine leaves it no room, and the round does not count."""

SETTLING_SECONDS = 0.1
FIGURES = (
    "pump_over_budget_share",
    "sequential_call_frames_p50",
    "sequential_call_frames_p99",
    "late_frames_added",
    "flood_calls",
)


class Frame(NamedTuple):
    """A frame: how many periods it took, and the thread's CPU times at which its calls began and ended."""

    periods: int
    calls: list[list[int]]


class Round(NamedTuple):
    """What one round measured.

    Attributes:
        alone: The frames without an agent.
        flooded: Those under a flood.
        in_turn: How many frames each call of a single agent took.
        flood_calls: How many calls the flood was.
    """

    alone: list[Frame]
    flooded: list[Frame]
    in_turn: list[float]
    flood_calls: int


async def measure(rounds: int, seconds: float) -> dict[str, float | None]:
    """Play the rounds and return the figures; None where no round counts."""
    played = await collect(rounds, partial(play, seconds), counts)
    print(f"frame loop: {played} (by the frames that are late without an agent); {seconds:g} s of each kind in each")
    figures: dict[str, float | None] = dict.fromkeys(FIGURES)
    if played.counted:
        flooded = [frame for one in played.counted for frame in one.flooded]
        alone = [frame for one in played.counted for frame in one.alone]
        in_turn = [frames for one in played.counted for frames in one.in_turn]
        pumped = [frame for frame in flooded if frame.calls]
        _print_pump(pumped)
        print(
            f"  late: {late_share(alone):.2%} of {len(alone)} frames without an agent, "
            f"{late_share(flooded):.2%} of {len(flooded)} under a flood"
        )
        figures |= {
            "pump_over_budget_share": sum(map(is_over_budget, pumped)) / len(pumped),
            "sequential_call_frames_p50": percentile(in_turn, 0.5),
            "sequential_call_frames_p99": percentile(in_turn, 0.99),
            "late_frames_added": late_share(flooded) - late_share(alone),
            "flood_calls": sum(one.flood_calls for one in played.counted),
        }
    return figures | {"frame_rounds": len(played.counted), "frame_rounds_dropped": played.dropped}


def counts(one: Round) -> bool:
    """Tell whether the machine left the frame loop room, and a flood reached it."""
    return bool(one.alone) and late_share(one.alone) <= MOST_LATE_ALONE and any(frame.calls for frame in one.flooded)


def _print_pump(pumped: list[Frame]) -> None:
    runs = [ended - began for frame in pumped for began, ended in frame.calls]
    gaps = [
        after[0] - before[1] for frame in pumped for before, after in zip(frame.calls, frame.calls[1:], strict=False)
    ]
    used = [pump_ns(frame) / 1e3 for frame in pumped]
    print(
        f"  pump under a flood, CPU time: p50 {percentile(used, 0.5):.0f} us, p99 {percentile(used, 0.99):.0f} us, "
        f"at most {max(used):.0f} us; "
        f"a call {percentile(runs, 0.5) / 1e3:.0f} us, and {percentile(gaps or [0], 0.5) / 1e3:.0f} us to the next"
    )


def late_share(frames: list[Frame]) -> float:
    """Return the share of frames that came a period late, or more."""
    return sum(frame.periods > 1 for frame in frames) / len(frames)


def pump_ns(frame: Frame) -> float:
    """Return the thread's CPU time from the first call's begin to the last one's end."""
    return frame.calls[-1][1] - frame.calls[0][0]


def is_over_budget(frame: Frame) -> bool:
    """Tell whether the pump used more than its budget and one call, the frame's last, on top.

    What the pump itself needs before the first call and after the last one cannot be seen from inside of the tool.
    It is what lies between two calls; and as it belongs to each call, it would stand on both sides.
    """
    began, ended = frame.calls[-1]
    return pump_ns(frame) > BUDGET_NS + (ended - began)


async def play(seconds: float) -> Round:
    """Play one round, with new processes: the app has a core of its own, agent and server have the other."""
    cores = processes.two_cores()
    async with processes.ours("frames", app_core=cores.other, server_core=cores.one) as running:
        processes.place(processes.THIS_PROCESS, cores.one)
        async with Client(running.url) as client:
            await processes.listed_tool(client, TOOL)
            await call_in_turn(client, SETTLING_SECONDS)
            taken: list[int] = []
            flood_calls = 0
            phases: dict[str, tuple[float, float]] = {}
            for phase in random.sample(("alone", "flooded", "in turn"), 3):
                began = time.monotonic()
                if phase == "alone":
                    await asyncio.sleep(SETTLING_SECONDS + seconds)
                elif phase == "flooded":
                    flood_calls = flood(running.channel.path, SETTLING_SECONDS + seconds)
                else:
                    taken = await call_in_turn(client, SETTLING_SECONDS + seconds)
                phases[phase] = (began + SETTLING_SECONDS, time.monotonic())
        record = await _record_of(running)
    alone, flooded = (frames_of(record, *phases[phase]) for phase in ("alone", "flooded"))
    return Round(alone, flooded, [nanoseconds / record["period"] for nanoseconds in taken], flood_calls)


async def call_in_turn(client: Client, seconds: float) -> list[int]:
    """Call the tool for so long, call after call, and return the nanoseconds that each took.

    Raises:
        BrokenError: A call was not answered with its own number.
    """
    taken: list[int] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.perf_counter_ns()
        result = await client.call_tool(TOOL, {"number": len(taken)})
        ended = time.perf_counter_ns()
        if result.is_error or getattr(result.content[0], "text", None) != str(len(taken)):
            raise BrokenError(f"call {len(taken)} of a single agent was answered with {result.content}")
        taken.append(ended - began)
    return taken


async def _record_of(running: processes.Ours) -> dict[str, Any]:
    """End the app, and return its `benchmarks.mcp.app.Record`."""
    process = running.app.process
    process.send_signal(signal.SIGTERM)
    assert process.stdout is not None
    text = await process.stdout.read()
    if await process.wait() != 0:
        raise BrokenError(f"the app failed:\n{running.app.output()}")
    record: dict[str, Any] = json.loads(text)
    return record


def frames_of(record: dict[str, Any], began: float, ended: float) -> list[Frame]:
    """Return the frames of a phase; the calls of a frame ran just before its work began."""
    frames = []
    before = 0
    for at, calls, periods in record["frames"]:
        if began <= at / 1e9 < ended:
            frames.append(Frame(periods, record["calls"][before:calls]))
        before = calls
    return frames
