"""The app of `benchmarks.mcp`: the tools that agents call, and a frame loop that keeps a record.

    python -m benchmarks.mcp.app (idle | frames)

Both run until SIGTERM. `frames` then prints its `Record` as one JSON object.
"""

from __future__ import annotations

import gc
import json
import signal
import sys
import threading
import time
from array import array
from dataclasses import dataclass, field

import xr

import openxr_agentic as agentic
from openxr_agentic.cli.demo.headless import frames

WORK_MS = 4.0
TOOL_MS = 0.2

registry = agentic.ToolRegistry(settings=False)


@registry.tool(main_thread=False)
def echo(text: str) -> dict[str, str]:
    """Return the text."""
    return {"text": text}


def _numbers() -> array[int]:
    return array("q")


@dataclass
class Record:
    """What happened in the frame loop, in nanoseconds; in arrays, which give Python's garbage collector no work.

    Attributes:
        period: From frame to frame.
        frames: Three numbers for each frame: when it began (time.monotonic_ns), how many calls had run until then,
            and how many periods lie between it and the one before.
        calls: Two numbers for each call of the tool: the main thread's CPU time when it began and when it ended.
    """

    period: int = 0
    frames: array[int] = field(default_factory=_numbers)
    calls: array[int] = field(default_factory=_numbers)

    def as_json(self) -> str:
        """Return it with a list for each frame and for each call."""
        frames = list(zip(*[iter(self.frames)] * 3, strict=True))
        calls = list(zip(*[iter(self.calls)] * 2, strict=True))
        return json.dumps({"period": self.period, "frames": frames, "calls": calls})


class Work:
    """A fixed amount of Python work: as much as is done in so many milliseconds when nothing interrupts it."""

    def __init__(self, milliseconds: float) -> None:
        sample = 20_000
        fastest = min(self._timed(sample) for _ in range(31))
        self._turns = round(sample * milliseconds * 1e6 / fastest)

    @staticmethod
    def _do(turns: int) -> int:
        total = 0
        for number in range(turns):
            total += number * number
        return total

    def _timed(self, turns: int) -> int:
        began = time.perf_counter_ns()
        self._do(turns)
        return time.perf_counter_ns() - began

    def __call__(self) -> None:
        """Do it."""
        self._do(self._turns)


def offer_move(record: Record) -> None:
    """Register the main-thread tool; its answer is the call's own number."""
    work = Work(TOOL_MS)

    @registry.tool(main_thread=True)
    def move(number: int) -> int:
        """Do some work, and return the number."""
        began = time.thread_time_ns()
        work()
        record.calls.extend((began, time.thread_time_ns()))
        return number


def run_frames(instance: xr.Instance, stop: threading.Event, record: Record) -> None:
    """Run the frame loop; the host runs the main thread's tools in its xrWaitFrame."""
    work = Work(WORK_MS)
    last = 0
    for frame in frames(instance, stop):
        period, display_time = int(frame.predicted_display_period), int(frame.predicted_display_time)
        periods = round((display_time - last) / period) if last else 1
        record.frames.extend((time.monotonic_ns(), len(record.calls) // 2, periods))
        record.period, last = period, display_time
        work()


def main(mode: str) -> None:
    """Run until SIGTERM."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    record = Record()
    if mode == "frames":
        offer_move(record)
    instance = xr.create_instance(
        xr.InstanceCreateInfo(
            application_info=xr.ApplicationInfo(application_name="benchmark"),
            enabled_extension_names=agentic.enable_extension([xr.MND_HEADLESS_EXTENSION_NAME], required=True),
        )
    )
    with registry.attach(instance):
        gc.collect()
        gc.freeze()
        if mode == "frames":
            run_frames(instance, stop, record)
        else:
            stop.wait()
    xr.destroy_instance(instance)
    if mode == "frames":
        print(record.as_json())


if __name__ == "__main__":
    main(sys.argv[1])
