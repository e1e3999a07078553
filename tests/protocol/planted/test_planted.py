"""Each planted bug is caught, most by the simulator alone: one that catches nothing proves nothing.

In ``caught.json`` is measured, for each, in how many random runs it was caught, and which was the
first. By day that run is repeated; by night the bug is looked for in runs that were never made.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.testing.simulation import run, search
from tests.protocol.planted.bugs import BUGS, LEFT_OUT
from tests.protocol.planted.measure import measured, plan_of
from tests.protocol.planted.search import WITHIN_S, search_for
from tests.protocol.planted.uncaught import HELD_BY, NO_DIFFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from fsspec_commit.testing.simulation import Plan

MEASURED: dict[str, dict[str, Any]] = measured()
NOT_CAUGHT = NO_DIFFERENCE | HELD_BY
SEEDS = 400
"""How many runs by day, where the simulator has changed since it was measured which one does."""
SCHEDULES = 50
"""Under how many a plan is tried that catches a bug if somebody comes in time."""
RUNS_MAX = 6_000
OF_ONE_NIGHT = 1_000_000
"""How far the seeds of two nights are apart."""


def chance(name: str) -> float:
    """In how many of all random runs a bug is caught."""
    known = MEASURED.get(name, {"caught": 0, "of": 1})
    return float(known["caught"]) / float(known["of"])


def named(names: Iterable[str]) -> list[pytest.ParameterSet]:
    found = []
    for name in names:
        breaks = BUGS[name].breaks or MEASURED.get(name, {}).get("breaks", ())
        found.append(pytest.param(name, id=" ".join((*breaks, name))))
    return found


def plans_of(name: str) -> Iterator[Plan]:
    bug = BUGS[name]
    if bug.plan is not None:
        for number in range(SCHEDULES):
            yield replace(bug.plan, schedule=bug.plan.schedule + number)
        return
    first = MEASURED.get(name, {}).get("first") or 0
    yield from (plan_of(bug, seed) for seed in range(first, first + SEEDS))


@pytest.mark.unforeseen
@pytest.mark.parametrize("name", named(name for name in BUGS if name not in NOT_CAUGHT))
def test_it_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the simulator alone, within the time that it has for each bug."""
    BUGS[name].plant(monkeypatch)
    found = search_for(BUGS[name], plans_of(name), within_s=WITHIN_S)
    assert found.is_caught, found.why_not


@pytest.mark.unforeseen
def test_a_bug_that_is_caught_too_late_is_not_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the time that a search has would be no limit."""
    name = "leaves the old files"
    BUGS[name].plant(monkeypatch)
    (plan,) = islice(plans_of(name), 1)
    assert search_for(BUGS[name], [plan]).is_caught
    found = search_for(BUGS[name], [plan], within_s=0)
    assert not found.is_caught
    assert found.why_not == "not caught within 0 s of processor time; runs tried: 1"


def test_a_search_stops_when_its_time_is_over() -> None:
    """Without the bug: it would go on to the last of the plans."""
    name = "leaves the old files"
    (plan,) = islice(plans_of(name), 1)
    assert search_for(BUGS[name], repeat(plan, 3)) == (False, 3, "not caught by any of 3 runs")
    assert search_for(BUGS[name], repeat(plan, 3), within_s=0).tried == 1


@pytest.mark.slow
@pytest.mark.unforeseen
@pytest.mark.parametrize("name", named(name for name in BUGS if chance(name) * RUNS_MAX > 15))
def test_search_catches_it(
    name: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """In fifteen times as many new runs as it took on average: but for one in three million.

    What limits this search is the number of runs. That a bug is caught in the time that it has is
    shown by day.
    """
    first = int(request.config.getoption("sweep_seed", 0) or 1) * OF_ONE_NIGHT
    bug = BUGS[name]
    bug.plant(monkeypatch)
    plans = (plan_of(bug, seed) for seed in range(first, first + RUNS_MAX))
    found = search_for(bug, islice(plans, round(15 / chance(name))))
    assert found.is_caught, found.why_not


@pytest.mark.unforeseen
def test_what_is_found_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    BUGS["leaves the old files"].plant(monkeypatch)
    failed = search(range(10), family="gcs")
    assert failed is not None
    assert failed.plan.faults == ()
    assert all(not job.helpers and len(job.attempts) == 1 for job in failed.plan.jobs)
    assert len(failed.plan.jobs) + len(failed.plan.old) == 2
    text = str(failed)
    assert any(one.startswith("P9: ") for one in failed.violations)
    assert text.startswith(failed.violations[0])
    assert "!!! VIOLATION" in text
    assert f"plan = {failed.plan!r}" in text


def test_without_a_bug_nothing_is_found_where_bugs_were() -> None:
    for plan in dict.fromkeys(next(plans_of(name)) for name in BUGS):
        found = run(plan)
        assert not found.violations, found


def test_each_is_measured() -> None:
    """Those as well that no run can tell: if one does after all, it is caught."""
    assert MEASURED.keys() == BUGS.keys(), "python -m tests.protocol.planted.measure NAMES"


def test_what_no_random_run_catches_has_a_plan() -> None:
    """Else it would be said to be caught, and by nothing that is known."""
    missed = [name for name in BUGS if name not in NOT_CAUGHT and not MEASURED[name]["caught"]]
    assert not [name for name in missed if BUGS[name].plan is None]


def test_what_is_not_caught_is_named() -> None:
    """None is dropped in silence, and none is called uncaught that is caught."""
    assert not NOT_CAUGHT.keys() - BUGS.keys()
    assert not [name for name in NOT_CAUGHT if MEASURED[name]["caught"]]


def held_by() -> Iterator[str]:
    """For each step of ``protocol/commit.py`` the test that fails without it."""
    yield "| without this step | this test fails | and finds broken |"
    yield "|---|---|---|"
    here = Path(__file__)
    for name in LEFT_OUT:
        by, breaks = HELD_BY.get(name), " ".join(MEASURED[name]["breaks"])
        if by is None:
            assert name not in NOT_CAUGHT, f"no test fails {name}"
            (case,) = named([name])
            by = f"{here.relative_to(here.parents[3])}::test_it_is_caught[{case.id}]"
        path, _, test = by.partition("::")
        assert f"def {test.partition('[')[0]}(" in (here.parents[3] / path).read_text(), by
        yield f"| {name} | `{by}` | {breaks} |"


@pytest.mark.checkout
def test_each_step_left_out_makes_a_test_fail() -> None:
    """By day the simulator shows it of those that it catches, by night each other test does."""
    assert "\n".join(held_by()) in (Path(__file__).with_name("README.md")).read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", named(HELD_BY))
def test_a_test_of_its_own_catches_it(name: str) -> None:
    """A step of which no simulated run can tell whether it was done."""
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "tests.protocol.planted.plugin"]
    for planted, failed in (([], 0), (["--planted", name], 1)):
        command = [sys.executable, "-m", "pytest", *options, *planted, HELD_BY[name]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == failed, done.stdout
