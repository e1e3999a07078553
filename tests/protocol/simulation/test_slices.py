"""Slices of a job in other processes: late, lost, twice, or when it is over; P1 to P11 hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsspec_commit.testing.simulation import (
    FAMILIES,
    AttemptPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
    Run,
    SpreadPlan,
    run,
    search,
)
from tests.protocol.planted.of_slices import LATE_DELETION
from tests.protocol.simulation.seeds import parts, seeds_of

FILES = (("a.txt", "day=1/b.txt"), ("c.txt", "day=2/d.txt"), ("day=1/e.txt",))
ATTEMPTS = tuple(AttemptPlan(task=task) for task in range(len(FILES)))
OLD = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
BY_DAY = 6
BY_NIGHT = 1_500


def overwrite(family: str, spread: SpreadPlan | None, **more: object) -> Plan:
    names = tuple(f"day={number}/old-{OLD}.txt" for number in range(4))
    job = JobPlan(name="a", mode="overwrite", files=FILES, attempts=ATTEMPTS, spread=spread)
    return Plan(family=family, old=names, jobs=(replace(job, **more),))  # type: ignore[arg-type]  # of a job


def well(plan: Plan) -> Run:
    found = run(plan)
    assert not found.violations, found
    return found


def slices(found: Run, what: str) -> dict[str, int]:
    return {name: calls for name, calls in found.calls.items() if f".{what}" in name}


@pytest.fixture(params=parts(4))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=BY_DAY, by_night=BY_NIGHT)


@pytest.mark.parametrize("varied", [False, True], ids=["plain", "varied"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_to_p11_hold_with_slices_in_any_schedule(
    family: str, seeds: range, *, varied: bool
) -> None:
    failed = search(seeds, family=family, varied=varied, sliced=True)
    assert failed is None, failed


@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_p9_others_do_all_of_it_and_the_driver_nothing_again(family: str) -> None:
    found = well(overwrite(family, SpreadPlan()))
    assert found.told == {"commit returned": 1}
    assert len(found.visible) == sum(map(len, FILES))
    assert len(slices(found, "publish")) == len(FILES)
    assert len(slices(found, "delete")) == 4
    alone = well(overwrite(family, None))
    assert found.visible == alone.visible
    # It cuts what it would have done by itself, and does none of that.
    assert found.calls["a.driver"] < alone.calls["a.driver"]


@pytest.mark.parametrize("kind", ["crash_before", "crash_after", "halt", "outage"])
@pytest.mark.parametrize("what", ["publish", "delete"])
@pytest.mark.parametrize("family", ["disk", "gcs", "gen2", "s3"])
def test_p1_p8_what_is_lost_is_done_by_the_driver(family: str, what: str, kind: str) -> None:
    """At each call of a slice, which goes on when the job is over, if it does."""
    plan = overwrite(family, SpreadPlan(patience_s=20.0))
    calls = slices(well(plan), what)[f"a.driver.{what}1"]
    assert calls > 3
    for call in range(1, calls + 1):
        fault = FaultAt(f"a.driver.{what}1", call, kind, 400.0)  # type: ignore[arg-type]  # one of them
        found = well(replace(plan, faults=(fault,)))
        assert found.told == {"commit returned": 1}, found


@pytest.mark.parametrize("family", ["disk", "gcs", "gen2", "s3", "s3-versioned"])
def test_p6_a_slice_that_runs_when_all_is_over_changes_nothing(family: str) -> None:
    """It begins beside a resumer, or when a later job has written the same names."""
    first = overwrite(family, SpreadPlan(patience_s=1.0, apart_s=40.0), names="exact")
    resumer = HelperPlan(kind="resumer", at_s=3.0)
    old = first.old if FAMILIES[family].takes_any_name else ()
    job = first.jobs[0]
    if not old:
        job = replace(job, mode="append", names="unique")
    for at_s in (20.0, 60.0):
        later = replace(job, name="b", at_s=at_s, spread=SpreadPlan(twice=True))
        found = well(replace(first, old=old, jobs=(replace(job, helpers=(resumer,)), later)))
        assert found.told["commit returned"] == 2, found
        assert slices(found, "publish")["a.driver.publish1"] <= 4, "what has ended is not looked at"


def test_p6_p9_a_slice_that_stands_still_deletes_no_newer_file() -> None:
    for schedule in range(5):
        found = well(replace(LATE_DELETION, schedule=schedule))
        assert found.told == {"commit returned": 2}
        assert "a.txt" in found.visible


@pytest.mark.parametrize("family", ["disk", "gcs", "gen2", "s3"])
def test_p1_p9_slices_that_run_twice_at_once_do_no_harm(family: str) -> None:
    for again_s in (0.0, 0.01, 0.05):
        spread = SpreadPlan(twice=True, again_s=again_s)
        found = well(overwrite(family, spread))
        assert found.told == {"commit returned": 1}, found
        assert len(slices(found, "publish")) == 2 * len(FILES)


def test_p8_a_resumer_has_slices_of_its_own() -> None:
    plan = overwrite(
        "s3", SpreadPlan(), then="leave", helpers=(HelperPlan(kind="resumer", at_s=20.0),)
    )
    dies = FaultAt("a.driver.publish0", 5, "crash_before")
    driver = FaultAt("a.driver", 1, "crash_before", verb="complete")
    found = well(replace(plan, faults=(dies, driver)))
    assert found.told["resume returned"] == 1, found
    assert slices(found, "publish").keys() >= {"a.resumer0.publish0", "a.resumer0.publish2"}
