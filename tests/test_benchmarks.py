"""The benchmark of the agent's way: what it prints, what it must refuse to count, and what breaks it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("mcp")
pytest.importorskip("xr", exc_type=Exception)

from agent_harness import run, until
from cli_harness import processes_with
from fake_app import DONE, FAILED, Answer, FakeApp

from benchmarks.mcp import __main__ as benchmark
from benchmarks.mcp import flood as flooding
from benchmarks.mcp import frames
from benchmarks.mcp.rounds import BrokenError, collect, percentile

ROOT = Path(__file__).resolve().parents[1]
PART_OF_A_SECOND = 0.05
MILLISECOND = 1_000_000


@pytest.fixture
def folder():
    # Not tmp_path: a socket's path is short.
    with TemporaryDirectory() as name:
        yield Path(name)


def flooded(app: FakeApp, folder: Path) -> int:
    async def scenario():
        async with app.running(folder) as path:
            return await asyncio.to_thread(flooding.flood, path, PART_OF_A_SECOND)

    return run(scenario())


def number_in(arguments: str) -> int:
    number: int = json.loads(arguments)["number"]
    return number


def test_the_smallest_run_ends_well_and_its_last_line_is_every_documented_figure(folder):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.mcp", "1", "40"],
        cwd=ROOT,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert set(benchmark.LIMITS) < set(figures)
    documented = re.findall(r"^    ([a-z_*]+?)(?:, ([a-z_*]+))?  +\S", benchmark.__doc__, re.MULTILINE)
    patterns = [name.replace("*", "[a-z0-9_]+") for names in documented for name in names if name]
    assert [name for name in figures if not any(re.fullmatch(pattern, name) for pattern in patterns)] == []
    if figures["frame_rounds"]:
        assert figures["flood_calls"] > 0
        assert figures["sequential_call_frames_p50"] > 0
    if figures["call_rounds"]:
        assert figures["call_vs_plain_mcp_p50"] > 0


def test_a_run_that_is_ended_early_leaves_no_process_behind(folder):
    async def scenario():
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "benchmarks.mcp", "1", "40"),
            cwd=ROOT,
            env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        await until(lambda: any(folder.glob("openxr-agentic/*.sock")))
        process.terminate()
        output, complaint = await process.communicate()
        return process.returncode, output, complaint

    assert run(scenario()) == (1, b"", b"Error: interrupted\n")
    assert processes_with(str(folder)) == []


def test_a_broken_answer_ends_the_benchmark_with_exit_code_1(monkeypatch, capsys):
    async def broken(rounds, calls):
        raise BrokenError("call 7 of 9 was never answered")

    monkeypatch.setattr(benchmark.latency, "measure", broken)
    with pytest.raises(SystemExit) as ended:
        benchmark.run([])
    assert ended.value.code == "Error: call 7 of 9 was never answered"  # Python prints it, and ends with 1
    assert capsys.readouterr().out == ""


def test_a_flood_counts_the_calls_that_were_answered_in_their_turn(folder):
    app = FakeApp()

    async def move(arguments):
        return str(number_in(arguments))

    app.add(flooding.TOOL, move)
    count = flooded(app, folder)
    assert count > 0
    assert [number_in(arguments) for _tool, arguments in app.calls] == list(range(1, count + 1))


def test_a_flood_refuses_an_answer_before_its_turn(folder):
    app = FakeApp()
    second = asyncio.Event()

    async def move(arguments):
        if number_in(arguments) == 1:
            await second.wait()
        second.set()
        return str(number_in(arguments))

    app.add(flooding.TOOL, move)
    with pytest.raises(BrokenError, match=r"the answer to call 1 was due, but call 2 got"):
        flooded(app, folder)


@pytest.mark.parametrize("answer", [Answer("2", DONE), Answer("1", FAILED)])
def test_a_flood_refuses_a_wrong_answer(folder, answer):
    app = FakeApp()

    async def move(arguments):
        return answer

    app.add(flooding.TOOL, move)
    with pytest.raises(BrokenError, match=r"the answer to call 1 was due, but call 1 got"):
        flooded(app, folder)


def test_a_flood_refuses_to_go_without_an_answer(folder, monkeypatch):
    monkeypatch.setattr(flooding, "ANSWER_SECONDS", PART_OF_A_SECOND)
    app = FakeApp()

    async def move(arguments):
        if number_in(arguments) >= 5:
            await asyncio.Event().wait()
        return str(number_in(arguments))

    app.add(flooding.TOOL, move)
    with pytest.raises(BrokenError, match=r"call 5 of \d+ was never answered"):
        flooded(app, folder)


def test_a_pump_may_take_its_budget_and_its_last_call():
    def pump(*lengths):
        ends = [sum(lengths[: index + 1]) for index in range(len(lengths))]
        return frames.Frame(1, [[end - length, end] for end, length in zip(ends, lengths, strict=True)])

    assert not frames.is_over_budget(pump(3 * MILLISECOND))
    assert not frames.is_over_budget(pump(2 * MILLISECOND, MILLISECOND))
    assert frames.is_over_budget(pump(2 * MILLISECOND + 1, MILLISECOND))


def test_frames_have_the_calls_that_ran_before_their_work():
    record = {
        "frames": [[1_000_000_000, 1, 1], [2_000_000_000, 3, 2], [3_000_000_000, 3, 1]],
        "calls": [[0, 1], [1, 2], [2, 3]],
    }
    assert frames.frames_of(record, 1.5, 3.5) == [frames.Frame(2, [[1, 2], [2, 3]]), frames.Frame(1, [])]
    assert frames.late_share(frames.frames_of(record, 1.5, 3.5)) == 0.5


def test_a_round_counts_only_where_the_loop_alone_is_on_time():
    called = frames.Frame(1, [[0, 1]])

    def alone(late, on_time):
        return frames.Round([frames.Frame(2, [])] * late + [frames.Frame(1, [])] * on_time, [called], [1.0], 1)

    assert frames.counts(alone(1, 99))
    assert not frames.counts(alone(2, 98))
    assert not frames.counts(alone(0, 0))
    assert not frames.counts(alone(0, 99)._replace(flooded=[frames.Frame(1, [])]))


def test_rounds_are_repeated_until_enough_count_but_not_for_ever():
    async def scenario(values, wanted):
        left = iter(values)

        async def play():
            return next(left)

        return await collect(wanted, play, lambda value: value > 0)

    assert run(scenario([1, -1, 2, 3], 2)) == ([1, 2], 1)
    assert run(scenario([-1, 1, -2, -3, -4, -5, 2], 2)) == ([1], 5)


def test_a_percentile_is_a_value_that_was_measured():
    assert percentile([3, 1, 2], 0.5) == 2
    assert percentile(range(100), 0.99) == 99
    assert percentile([5], 0.99) == 5
