"""Runs the official MCP conformance suite against our server, and judges what it found.

    python tests/conformance/suite.py FOLDER

FOLDER has the suite's npm packages (``tools/conformance`` installs them). The server is ``openxr-agentic run``,
and ``app.py`` the app: the whole path, on the mock runtime. Every scenario runs with every protocol version
that it and the server know.

What a server of tools alone cannot have is in ``not_applicable.json``: whole scenarios, and single checks of
others, each with its reason. Everything else must pass, warnings included. So a scenario that is new in the
suite runs, and fails until it passes or has a reason; and a reason for what is no more is a fault as well.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent
LAST_TOOL = "json_schema_2020_12_tool"
"""The one that the app registers last."""

PASSING = frozenset({"SUCCESS", "INFO", "SKIPPED"})
PASSED, FAILED, NOT_APPLICABLE, NOT_IN_VERSION = "passed", "FAILED", "n/a", ""


class Check(NamedTuple):
    """One check of a scenario.

    Attributes:
        id: Its name in the suite.
        status: SUCCESS, FAILURE, WARNING, INFO or SKIPPED.
        message: What the suite says of a failure.
    """

    id: str
    status: str
    message: str


class Exclusions(NamedTuple):
    """What does not apply, and why: ``not_applicable.json``.

    Attributes:
        scenarios: Reasons by scenario.
        checks: Reasons by scenario and check.
    """

    scenarios: Mapping[str, str]
    checks: Mapping[str, Mapping[str, str]]

    @classmethod
    def read(cls) -> Exclusions:
        """Return what the file says."""
        return cls(**json.loads((HERE / "not_applicable.json").read_text(encoding="utf-8")))


class Verdict(NamedTuple):
    """What came of a run.

    Attributes:
        rows: By scenario, its outcome by version.
        faults: Why the run failed, in words; empty: it did not.
    """

    rows: dict[str, dict[str, str]]
    faults: list[str]


Results = dict[tuple[str, str], list[Check]]
"""What a run found, by scenario and protocol version."""


def judge(scenarios: Mapping[str, Sequence[str]], versions: Sequence[str], found: Results, out: Exclusions) -> Verdict:
    """Say what passed, and what is wrong with the server or with the exclusions.

    Args:
        scenarios: Every scenario of the suite, with the versions that it is for.
        versions: Those that were run.
        found: The checks of each scenario that was run.
        out: What does not apply.
    """
    rows: dict[str, dict[str, str]] = {}
    faults = [
        f"{name} is excluded, and the suite has no such scenario" for name in out.scenarios if name not in scenarios
    ]
    met: set[tuple[str, str]] = set()
    for name, known in scenarios.items():
        excused = out.checks.get(name, {})
        row = rows[name] = dict.fromkeys(versions, NOT_IN_VERSION)
        if name in out.scenarios:
            row.update({version: NOT_APPLICABLE for version in versions if version in known})
            continue
        if not any(version in known for version in versions):
            faults.append(f"{name} is neither run (it is for {', '.join(known)}) nor excluded")
        for version in versions:
            if version not in known:
                continue
            checks = found.get((name, version), [])
            wrong = [check for check in checks if check.status not in PASSING]
            met.update((name, check.id) for check in wrong)
            bad = [f"{check.id}: {check.message}" for check in wrong if check.id not in excused]
            if not any(check.status == "SUCCESS" or check.id in excused for check in checks):
                bad.append("it checked nothing")
            row[version] = FAILED if bad else PASSED
            faults += [f"{name} ({version}): {reason}" for reason in bad]
    faults += [
        f"{name}, check {check} is excluded, and it passes or is no more"
        for name, excused in out.checks.items()
        for check in excused
        if (name, check) not in met
    ]
    return Verdict(rows, faults)


class Suite:
    """The suite's command, in a folder of npm packages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        modules = folder / "node_modules"
        self._command = [modules / ".bin" / "node", modules / ".bin" / "conformance"]

    def scenarios(self) -> dict[str, list[str]]:
        """Return every scenario for servers, with the protocol versions (or ``extension``) that it is for."""
        listed = subprocess.run(
            [*self._command, "list", "--server"], check=True, capture_output=True, text=True, timeout=60
        ).stdout
        found = re.findall(r"^ +- (\S+) \[(.*)\]$", listed, re.MULTILINE)
        if not found:
            raise SystemExit(f"The suite's list of scenarios cannot be read:\n{listed}")
        return {name: versions.split(",") for name, versions in found}

    def run(self, url: str, version: str) -> Results:
        """Run every scenario of a protocol version, and return the checks."""
        results = self._folder / "results" / version
        shutil.rmtree(results, ignore_errors=True)
        command = [*self._command, "server", "--url", url, "--suite", "all", "--spec-version", version]
        # Its exit code says that something failed, which here is a matter of judgement.
        done = subprocess.run(
            [*command, "--output-dir", results], check=False, capture_output=True, text=True, timeout=300
        )
        found: Results = {}
        for file in results.glob("server-*/checks.json"):
            # server-<scenario>-<time>, where the time is 2026-01-31T12-00-00-000Z
            name = re.sub(r"-\d{4}-\d\d-\d\dT[\d-]+Z$", "", file.parent.name.removeprefix("server-"))
            found[name, version] = [
                Check(check["id"], check["status"], check.get("errorMessage") or "")
                for check in json.loads(file.read_text(encoding="utf-8"))
            ]
        if not found:
            raise SystemExit(f"The suite left no results:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return found


@contextmanager
def served_app(log: Path) -> Iterator[str]:
    """Serve the app on a free port until the block ends; gives the server's URL.

    Args:
        log: Where the server's stderr goes.
    """
    command = [sys.executable, "-m", "openxr_agentic", "run", "--port", "0", "--", sys.executable, HERE / "app.py"]
    with log.open("w", encoding="utf-8") as stderr:
        server = subprocess.Popen(command, stderr=stderr)
    try:
        while (url := re.search(r"http://\S+/mcp", log.read_text(encoding="utf-8"))) is None:
            if server.poll() is not None:
                raise SystemExit(f"The server did not start:\n{log.read_text(encoding='utf-8')}")
            time.sleep(0.05)
        _wait_for_tools(url[0])
        yield url[0]
    finally:
        server.terminate()
        server.wait()


def _wait_for_tools(url: str) -> None:
    import asyncio

    from mcp import Client

    async def wait() -> None:
        async with Client(url) as client:
            while LAST_TOOL not in [tool.name for tool in (await client.list_tools()).tools]:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(wait(), 60))


def server_versions() -> frozenset[str]:
    """Return the protocol versions that our server speaks."""
    from mcp_types.version import SUPPORTED_PROTOCOL_VERSIONS

    return frozenset(SUPPORTED_PROTOCOL_VERSIONS)


def table(rows: Mapping[str, Mapping[str, str]]) -> str:
    """Return the outcome of every scenario that applies, as a Markdown table."""
    versions = list(next(iter(rows.values())))
    lines = [["scenario", *versions]]
    lines += [[f"`{name}`", *row.values()] for name, row in rows.items() if {PASSED, FAILED} & set(row.values())]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))} |" for line in lines
    )


def excluded(out: Exclusions) -> str:
    """Return what does not apply, by its reason, as a Markdown list."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for name, reason in out.scenarios.items():
        by_reason[reason].append(f"`{name}`")
    for name, checks in out.checks.items():
        for check, reason in checks.items():
            by_reason[reason].append(f"of `{name}` the check `{check}`")
    return "\n".join(f"* {reason}. {', '.join(names)}." for reason, names in by_reason.items())


def main() -> int:
    """Run everything; returns the exit code."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder", type=Path, help="where the suite's npm packages are")
    folder: Path = options.parse_args().folder.resolve()
    suite = Suite(folder)
    scenarios, out = suite.scenarios(), Exclusions.read()
    versions = sorted({version for known in scenarios.values() for version in known} & server_versions())
    found: Results = {}
    with served_app(folder / "server.log") as url:
        for version in versions:
            print(f"running the scenarios of {version}", file=sys.stderr)
            found |= suite.run(url, version)
    verdict = judge(scenarios, versions, found, out)
    print("", table(verdict.rows), "", "Not applicable:", "", excluded(out), "", sep="\n")
    for fault in verdict.faults:
        print(f"FAILED: {fault}")
    applies = sum(outcome in (PASSED, FAILED) for row in verdict.rows.values() for outcome in row.values())
    passed = sum(outcome == PASSED for row in verdict.rows.values() for outcome in row.values())
    print(f"{passed} of {applies} runs of scenarios passed; {len(out.scenarios)} scenarios are not applicable.")
    return bool(verdict.faults)


if __name__ == "__main__":
    sys.exit(main())
