"""docs/hosts.md: every cell names a test that there is, and that runs on the cell's host."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
PAGE = (TESTS.parent / "docs" / "hosts.md").read_text(encoding="utf-8")
HEAD, *ROWS = [line.strip("| ").split(" | ") for line in PAGE.splitlines() if line.startswith("| ")]
HOSTS = ["mock", "layer", "real"]
NOTHING = {"—", "not tried"}
CELLS = [(row[0], host, cell) for row in ROWS for host, cell in zip(HOSTS, row[1:], strict=True) if cell not in NOTHING]


@cache
def collected():
    """The tests that pytest finds in the files named, each with the values that it is run with."""
    files = sorted({cell.strip("`").partition("::")[0] for _, _, cell in CELLS})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "real or not real", *files]
    listed = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=True).stdout
    found = {}
    for name, values in re.findall(r"^(?:tests/)?(\w+\.py::\w+)(?:\[(.*)\])?$", listed, flags=re.MULTILINE):
        found.setdefault(name, set()).update(values.split("-"))
    return found


def test_every_row_says_something_of_every_host():
    assert len(HEAD) == len(HOSTS) + 1
    assert len(ROWS) > 20
    assert all(len(row) == len(HEAD) and all(row) for row in ROWS)


@pytest.mark.parametrize(("feature", "host", "cell"), CELLS, ids=[f"{host}: {feature}" for feature, host, _ in CELLS])
def test_a_cell_is_shown_by_a_test_that_runs_on_its_host(feature, host, cell):
    named = re.fullmatch(r"`(\w+\.py::test_\w+)`", cell)
    assert named, cell
    values = collected().get(named[1])
    assert values is not None, f"{named[1]} is no test"
    by_host = values & set(HOSTS)
    assert not by_host or host in by_host, f"{named[1]} runs on {by_host} only"
    if not by_host:
        assert (host == "real") == named[1].startswith("test_real_runtime.py"), named[1]
