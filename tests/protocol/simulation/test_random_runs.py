"""Plans drawn from integers: several jobs, drivers, faults; P1 to P11 hold in each."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.simulation import (
    FAMILIES,
    AttemptPlan,
    JobPlan,
    Plan,
    draw,
    run,
    search,
)
from tests.protocol.simulation.scenes import REFUSED, SCENES, plan_of
from tests.protocol.simulation.seeds import OF_ONE_NIGHT, parts, seeds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

BY_DAY = 50
BY_NIGHT = 1_500
"""In each of so many parts, of which none needs more than its time on a busy machine."""
PARTS = 28
LEAST = 1_000_000
"""In eight nights."""


@pytest.fixture(params=parts(PARTS))
def seeds(request: pytest.FixtureRequest) -> range:
    return seeds_of(request, by_day=BY_DAY, by_night=BY_NIGHT)


@pytest.mark.parametrize("varied", [False, True], ids=["plain", "varied"])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_to_p11_hold_in_any_schedule(family: str, seeds: range, *, varied: bool) -> None:
    failed = search(seeds, family=family, varied=varied)
    assert failed is None, failed


def test_so_many_are_drawn_in_eight_nights() -> None:
    plain_and_varied = 2
    assert plain_and_varied * len(FAMILIES) * PARTS * BY_NIGHT >= LEAST
    assert PARTS * BY_NIGHT <= OF_ONE_NIGHT, "no seed is drawn twice"


def scenes() -> Iterator[Plan]:
    for family in FAMILIES:
        for scene, job in SCENES.items():
            plan = plan_of(scene, family)
            if plan is not None and not job.helpers and scene not in REFUSED:
                yield plan


def test_p1_p9_jobs_that_nothing_disturbs_commit() -> None:
    for plan in scenes():
        found = run(plan)
        assert not found.violations, found
        assert found.told == {"commit returned": 1}, found


def test_p11_jobs_that_conflict_all_commit_one_after_the_other() -> None:
    for family, kind in FAMILIES.items():
        jobs = tuple(JobPlan(name=name, mode="overwrite") for name in "abc")
        found = run(Plan(family=family, jobs=jobs, old=("old.txt",) if kind.takes_any_name else ()))
        assert not found.violations, found
        assert found.told == {"commit returned": 3}, found


def test_p4_tasks_in_parallel_write_what_tasks_in_turn_write() -> None:
    """However they are scheduled: with the names alone, whose ids differ from run to run."""
    tasks = tuple((f"day={number}/a.txt", f"day={number}/b.txt") for number in range(4))
    for family in FAMILIES:
        in_turn, *in_parallel = (
            Plan(
                family=family,
                schedule=schedule,
                jobs=(
                    JobPlan(
                        name="a",
                        mode="append",
                        files=tasks,
                        attempts=tuple(
                            AttemptPlan(task=number, at_s=step_s * number) for number in range(4)
                        ),
                    ),
                ),
            )
            for schedule, step_s in ((0, 10.0), (1, 0.0), (2, 0.0))
        )
        expected = run(in_turn).visible
        assert len(expected) == sum(map(len, tasks))
        for plan in in_parallel:
            assert run(plan).visible == expected


@pytest.mark.parametrize("seed", [3, 4])
def test_a_run_repeats(seed: int) -> None:
    first, second = run(draw(seed)), run(draw(seed))
    assert first.trace.events == second.trace.events
    assert len(first.trace.events) > len(first.calls)


def test_a_run_repeats_in_another_process() -> None:
    """Where strings have other hashes, and sets another order."""
    program = (
        "from fsspec_commit.testing.simulation import draw, run\n"
        "for seed in range(5): print('\\n'.join(run(draw(seed)).trace.lines(reads=True)))"
    )
    traces = [
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
    assert traces[0] == traces[1]
    assert "decision" in traces[0]
