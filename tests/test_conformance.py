"""How a run of the official conformance suite is judged, and that docs/conformance.md says the same."""

import re
from pathlib import Path

import pytest
from conformance.suite import FAILED, PASSED, Check, Exclusions, excluded, judge

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")

GOOD = [Check("works", "SUCCESS", ""), Check("noted", "INFO", ""), Check("left out", "SKIPPED", "")]
FAILURE = Check("broken", "FAILURE", "no answer")
WARNING = Check("broken", "WARNING", "should answer")
NOTHING = Exclusions({}, {})


def of_one(checks, out=NOTHING, known=("1",)):
    """Judge a run of one scenario, "ping", in version 1."""
    return judge({"ping": known}, ["1"], {("ping", "1"): checks}, out)


def test_a_scenario_without_a_failure_passes():
    assert of_one(GOOD) == ({"ping": {"1": PASSED}}, [])


@pytest.mark.parametrize("bad", [FAILURE, WARNING])
def test_a_failure_and_a_warning_fail_the_run_with_what_the_suite_says(bad):
    verdict = of_one([*GOOD, bad])
    assert verdict.rows == {"ping": {"1": FAILED}}
    assert verdict.faults == [f"ping (1): broken: {bad.message}"]


@pytest.mark.parametrize("checks", [[], [Check("noted", "INFO", "")]])
def test_a_scenario_that_left_no_result_fails_the_run(checks):
    assert of_one(checks).faults == ["ping (1): it checked nothing"]


def test_a_check_with_a_reason_may_fail_and_the_others_may_not():
    out = Exclusions({}, {"ping": {"broken": "a reason"}})
    assert of_one([*GOOD, FAILURE], out).faults == []
    other = Check("other", "FAILURE", "no answer")
    assert of_one([*GOOD, FAILURE, other], out).faults == ["ping (1): other: no answer"]


def test_a_reason_for_a_check_that_passes_fails_the_run():
    out = Exclusions({}, {"ping": {"works": "a reason"}})
    assert of_one(GOOD, out).faults == ["ping, check works is excluded, and it passes or is no more"]


def test_a_scenario_with_a_reason_is_not_judged():
    assert of_one([FAILURE], Exclusions({"ping": "a reason"}, {})).faults == []


def test_a_reason_for_a_scenario_that_is_no_more_fails_the_run():
    assert of_one(GOOD, Exclusions({"gone": "a reason"}, {})).faults == [
        "gone is excluded, and the suite has no such scenario"
    ]


def test_a_scenario_that_is_in_neither_list_fails_the_run():
    assert of_one(GOOD, known=("extension",)).faults == ["ping is neither run (it is for extension) nor excluded"]


def test_the_page_lists_what_is_excluded_with_its_reason():
    assert excluded(Exclusions.read()) in PAGE


def test_the_page_says_that_everything_else_passes():
    rows = re.findall(r"^\| `([\w-]+)` +\|(.*)\|$", PAGE, re.MULTILINE)
    assert len(rows) > 10
    assert not {name for name, _ in rows} & set(Exclusions.read().scenarios)
    for name, cells in rows:
        assert {cell.strip() for cell in cells.split("|")} <= {PASSED, ""}, name
