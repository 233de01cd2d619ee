"""The audit log: its lines, its rotation, and that neither a slow disk nor a lost one reaches a call."""

from __future__ import annotations

import gc
import hashlib
import json
import logging
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

from openxr_agentic.errors import ConfigurationError
from openxr_agentic.mcp.limits import audit
from openxr_agentic.mcp.limits.audit import AuditError, AuditLog

if TYPE_CHECKING:
    from pathlib import Path

POSIX = pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")


def note(log: AuditLog, **changes: Any) -> None:
    call = {
        "client": "agent",
        "transport": "http",
        "tool": "MyApp_move",
        "app": "Cube World",
        "arguments": '{"x": 1}',
        "outcome": "ok",
        "started": 1_700_000_000.25,
        "duration": 0.0125,
    }
    log.record(**{**call, **changes})


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_bytes().split(b"\n") if line]


def until(condition: Any) -> None:
    while not condition():
        time.sleep(0.002)


def test_a_call_is_one_line_with_a_digest_of_its_arguments(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(file) as log:
        note(log)
        note(log, app="", outcome="denied", error="its policy denies it")
    first, second = lines(file)
    assert first == {
        "time": "2023-11-14T22:13:20.250Z",
        "client": "agent",
        "transport": "http",
        "app": "Cube World",
        "tool": "MyApp_move",
        "arguments_sha256": hashlib.sha256(b'{"x": 1}').hexdigest(),
        "arguments_bytes": 8,
        "outcome": "ok",
        "duration_ms": 12.5,
    }
    assert "app" not in second
    assert second["error"] == "its policy denies it"


@pytest.mark.parametrize(
    ("kept", "members"), [("text", {"arguments"}), ("digest", {"arguments_sha256"}), ("none", set())]
)
def test_arguments_are_kept_as_text_as_a_digest_or_not(tmp_path: Path, kept: Any, members: set[str]) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(file, arguments=kept) as log:
        note(log, arguments='{"name": "Würfel"}')
    (line,) = lines(file)
    assert {name for name in line if name.startswith("arguments")} == {*members, "arguments_bytes"}
    assert line.get("arguments", '{"name": "Würfel"}') == '{"name": "Würfel"}'
    assert line["arguments_bytes"] == 19


@pytest.mark.parametrize(
    "text", ['"}\n{"outcome": "ok"}', "\r", "\u2028", "\x85", "\x00", "\ud800", "\U0001f600", '\\"']
)
def test_no_text_of_a_client_ends_a_line_or_is_changed(tmp_path: Path, text: str) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(file, arguments="text") as log:
        note(log, client=text, tool=text, app=text, arguments=text, error=text)
    assert file.read_text(encoding="ascii").splitlines() == [file.read_text(encoding="ascii").removesuffix("\n")]
    (line,) = lines(file)
    assert [line[name] for name in ("client", "tool", "app", "arguments", "error")] == [text] * 5


def test_what_a_client_makes_endless_is_cut_but_not_its_arguments(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    long = "x" * 1_000_000
    with AuditLog(file, arguments="text") as log:
        note(log, client=long, tool=long, app=long, error=long, arguments=long)
    (line,) = lines(file)
    assert line["arguments"] == long
    assert {len(line[name]) for name in ("client", "tool", "app", "error")} == {audit.MOST_CHARACTERS}


def test_digests_are_made_on_a_thread_of_the_logs_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    make = hashlib.sha256

    def watched(data: bytes) -> Any:
        threads.append(threading.current_thread())
        return make(data)

    monkeypatch.setattr(audit.hashlib, "sha256", watched)
    with AuditLog(tmp_path / "audit.jsonl") as log:
        note(log, arguments="x" * 5_000_000)
    assert len(threads) == 1
    assert threads[0] is not threading.current_thread()


def test_full_files_are_rotated_and_only_so_many_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(file, max_bytes=1000, backups=2) as log:
        for number in range(40):
            note(log, tool=f"tool_{number}")
    kept = [tmp_path / f"audit.jsonl{end}" for end in (".2", ".1", "")]
    assert {path.name for path in tmp_path.iterdir()} == {*(path.name for path in kept), "audit.jsonl.lock"}
    assert all(path.stat().st_size <= 1000 for path in kept)
    numbers = [int(line["tool"].removeprefix("tool_")) for path in kept for line in lines(path)]
    assert numbers == list(range(40 - len(numbers), 40))


def test_a_line_longer_than_a_file_is_kept_whole_and_makes_no_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(file, arguments="text", max_bytes=1000) as log:
        note(log, arguments="x" * 5000)
        note(log)
    assert lines(tmp_path / "audit.jsonl.1")[0]["arguments_bytes"] == 5000
    assert lines(file)[0]["arguments_bytes"] == 8
    assert not (tmp_path / "audit.jsonl.2").exists()


@POSIX
def test_only_the_owner_can_read_it_whatever_the_umask_and_also_after_rotation(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_text("{}\n", encoding="ascii")
    file.chmod(0o666)
    before = os.umask(0)
    try:
        with AuditLog(file, max_bytes=300, backups=9) as log:
            for _ in range(4):
                note(log)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 5  # four files and the lock
    assert set(modes.values()) == {0o600}


def test_a_log_that_is_there_is_continued_also_behind_a_line_that_was_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    file.write_text('{"tool": "one"}\n{"too', encoding="ascii")
    with AuditLog(file) as log:
        note(log, tool="two")
    whole, cut, new = file.read_text(encoding="ascii").splitlines()
    assert (whole, cut) == ('{"tool": "one"}', '{"too')
    assert json.loads(new)["tool"] == "two"


@POSIX
def test_a_link_stays_one_when_its_file_is_rotated(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    file = tmp_path / "audit.jsonl"
    file.symlink_to(tmp_path / "there" / "log")
    with AuditLog(file, max_bytes=200, backups=1) as log:
        note(log)
        note(log)
    assert file.is_symlink()
    assert {path.name for path in (tmp_path / "there").iterdir()} == {"log", "log.1", "log.lock"}


@pytest.mark.parametrize("place", ["missing/audit.jsonl", ".", "pipe"])
def test_a_place_that_cannot_be_written_is_an_error_at_once(tmp_path: Path, place: str) -> None:
    if place == "pipe":
        os.mkfifo(tmp_path / place)
    with pytest.raises(AuditError, match="cannot be written: .*Choose a file"):
        AuditLog(tmp_path / place)


@pytest.mark.parametrize("numbers", [{"max_bytes": 0}, {"backups": 0}])
def test_a_log_without_room_is_refused(tmp_path: Path, numbers: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        AuditLog(tmp_path / "audit.jsonl", **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [".1", ".12", ".lock"])
def test_the_name_of_another_logs_full_file_or_lock_is_refused(tmp_path: Path, end: str) -> None:
    with AuditLog(tmp_path / "a.jsonl"), pytest.raises(AuditError, match="another log's full file or lock"):
        AuditLog(tmp_path / f"a.jsonl{end}")


def test_a_second_server_on_the_same_file_is_refused_until_the_first_has_ended(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    program = (
        "import sys, pathlib\nfrom openxr_agentic.mcp.limits.audit import AuditLog\nAuditLog(pathlib.Path(sys.argv[1]))"
    )
    other = [sys.executable, "-c", program, str(file)]
    with AuditLog(file):
        with pytest.raises(AuditError, match="Another server writes.*a file of its own"):
            AuditLog(file)
        done = subprocess.run(other, capture_output=True, text=True, check=False)
        assert "AuditError" in done.stderr
    assert subprocess.run(other, capture_output=True, check=False).returncode == 0


class Jam:
    """Makes the log's thread wait, as a slow disk would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()
        make = audit._line

        def slow(*arguments: Any) -> str:
            self.entered.set()
            self.opened.wait()
            return make(*arguments)

        monkeypatch.setattr(audit, "_line", slow)


def test_calls_that_a_slow_disk_leaves_no_room_for_are_counted_and_the_number_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MOST_WAITING", 4)
    jam = Jam(monkeypatch)
    file = tmp_path / "audit.jsonl"
    with AuditLog(file) as log:
        for number in range(10):  # would wait for ever, if it waited
            note(log, tool=f"tool_{number}")
        jam.entered.wait()
        jam.opened.set()
    written = lines(file)
    assert [line["tool"] for line in written if "tool" in line] == ["tool_0", "tool_1", "tool_2", "tool_3"]
    assert [line["lost"] for line in written if "lost" in line] == [6]


def test_waiting_arguments_are_bounded_too_but_one_call_always_fits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "MOST_WAITING_CHARACTERS", 1000)
    jam = Jam(monkeypatch)
    file = tmp_path / "audit.jsonl"
    with AuditLog(file) as log:
        note(log, tool="long", arguments="x" * 2000)
        note(log, tool="lost", arguments="")
        jam.opened.set()
        until(lambda: file.stat().st_size)
        until(lambda: log._writer._waiting == 0)
        note(log, tool="short")
    assert [line.get("tool", line.get("lost")) for line in lines(file)] == ["long", 1, "short"]


def test_a_disk_that_is_gone_is_said_once_and_the_calls_it_cost_are_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    file = folder / "audit.jsonl"
    with caplog.at_level(logging.INFO, "openxr_agentic"), AuditLog(file) as log:
        note(log, tool="before")
        until(lambda: file.stat().st_size)
        shutil.rmtree(folder)
        for _ in range(5):
            note(log, tool="meanwhile")
        until(lambda: log._writer._lost == 5)
        folder.mkdir()
        note(log, tool="after")
    counted, after = lines(file)
    assert counted["lost"] == 5
    assert counted["time"].endswith("Z")
    assert after["tool"] == "after"
    gone, back = caplog.messages
    assert "cannot be written (No such file or directory): calls go on" in gone
    assert "has lost lines (5), and is written again" in back


@POSIX
def test_a_disk_that_fills_up_in_a_line_leaves_every_later_line_whole(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    program = """
import json, pathlib, resource, sys, time
from openxr_agentic.mcp.limits.audit import AuditLog
file = pathlib.Path(sys.argv[1])
call = dict(client="", transport="", app="", arguments="{}", outcome="ok", started=0.0, duration=0.0)
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
log = AuditLog(file)
log.record(tool="one", **call)
while log._writer._waiting: time.sleep(0.001)
resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 20, hard))
log.record(tool="two", **call)
log.record(tool="three", **call)
while log._writer._waiting: time.sleep(0.001)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
log.record(tool="four", **call)
log.close()
"""
    subprocess.run([sys.executable, "-c", program, str(file)], timeout=60, check=True)
    one, cut, lost, four = file.read_text(encoding="ascii").splitlines()
    assert [json.loads(one)["tool"], json.loads(four)["tool"]] == ["one", "four"]
    assert json.loads(lost)["lost"] == 2
    assert len(cut) == 20


def test_a_file_that_somebody_moves_away_is_not_written_any_more(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(file) as log:
        note(log, tool="one")
        until(lambda: file.stat().st_size)
        file.rename(tmp_path / "moved")
        note(log, tool="two")
    assert [line["tool"] for line in lines(tmp_path / "moved")] == ["one"]
    assert [line["tool"] for line in lines(file)] == ["two"]


def test_a_rotation_that_fails_loses_no_line_and_no_older_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "audit.jsonl"
    (tmp_path / "audit.jsonl.1").mkdir()
    (tmp_path / "audit.jsonl.2").mkdir()
    with caplog.at_level(logging.INFO, "openxr_agentic"), AuditLog(file, max_bytes=500, backups=2) as log:
        for number in range(20):
            note(log, tool=f"tool_{number}")
    assert [line["tool"] for line in lines(file)] == [f"tool_{number}" for number in range(20)]
    (complaint,) = caplog.messages
    assert "cannot be rotated" in complaint


def test_a_call_that_makes_no_line_costs_that_line_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "audit.jsonl"
    with AuditLog(file) as log:
        note(log, started=1e300)
        note(log, tool="next")
    assert [line.get("tool", line.get("lost")) for line in lines(file)] == [1, "next"]
    assert "cannot be written" in caplog.text


def test_closing_writes_what_waits_and_leaves_no_thread_handler_or_lock(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    threads = threading.active_count()
    log = AuditLog(file)
    for _ in range(500):
        note(log)
    log.close()
    log.close()
    note(log)
    assert len(lines(file)) == 500
    assert threading.active_count() == threads
    AuditLog(file).close()  # the lock is free
    del log
    gc.collect()
    living = [reference() for reference in logging._handlerList]  # type: ignore[attr-defined]
    assert not any(isinstance(handler, audit._RotatedFile) for handler in living)


def test_its_lines_go_to_no_other_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG), AuditLog(tmp_path / "audit.jsonl") as log:
        note(log)
    assert not caplog.records
