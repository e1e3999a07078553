"""Actors of this version and of the first release in one simulated run, interleaved call by call.

At one destination, on every kind of store that both simulate: P1 to P11 hold at each moment and in
the end, whichever of the two drives a job, settles it, or writes beside it.

Two things the first release does otherwise, whoever works beside it. Its ``clean`` leaves the
upload of a ``_SUCCESS`` that holds nothing, where its driver died before it had recorded that; this
version's removes it. And a job without a marker of its own leaves an earlier one in place where it
cannot be removed, though that names files which it has replaced.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.protocol import other_jobs
from fsspec_commit.testing.simulation import (
    FAMILIES,
    CleanerPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
    draw,
    run,
)
from tests.integration.processes import ROOT
from tests.protocol.planted.runs import ABOVE, UNCLAIMED
from tests.protocol.simulation.scenes import SCENES, UUID, plan_of
from tests.protocol.simulation.test_single_faults import faults_of
from tests.protocol.versions.simulated_together import together

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from fsspec_commit.testing.simulation import Run
    from fsspec_commit.testing.sweeps import Sweep
    from tests.protocol.versions.first_release import FirstRelease

pytestmark = pytest.mark.checkout

OPERATORS = {"operator", "operator2"}
UPLOAD = "'upload of bucket/top/out/_SUCCESS'"
LEFT = re.compile(rf"P5 P6: left: \[{UPLOAD}(?:, {UPLOAD})*\] .*")
UNTRUE_MARKER = re.compile("P1: _SUCCESS names .*, which do not stand .*")
KNOWN_TO_BOTH = sorted(FAMILIES.keys() - {"disk-folding", "s3-by-path"})
"""The kinds of stores, but for one that the first release did not simulate."""
BESIDE = {
    "aborter": HelperPlan(kind="aborter", at_s=0.4),
    "resumer": HelperPlan(kind="resumer", at_s=1.0),
}
PAIR: dict[str, JobPlan] = {
    "append": JobPlan(name="", mode="append", files=(("day=1/a.txt",),)),
    "exact": JobPlan(name="", mode="append", names="exact", files=(("day=1/a.txt",),)),
    "overwrite": JobPlan(name="", mode="overwrite", files=(("day=1/b.txt",),)),
    "day 1": JobPlan(name="", mode="overwrite_partitions", files=(("day=1/c.txt",),)),
    "day 2": JobPlan(name="", mode="overwrite_partitions", files=(("day=2/c.txt",),)),
    "both days": JobPlan(
        name="",
        mode="overwrite_partitions",
        files=(("day=2/c.txt",),),
        partitions=("day=1",),
    ),
    "a key": JobPlan(name="", mode="append", key="k"),
}
"""What two jobs do at once; some of these have to wait for each other, others do not."""
IN_PAIRS = ("disk", "gcs", "minio", "s3-versioned")
SOME = ("disk", "gcs", "s3-versioned")
"""The kinds of stores by day: one of each committer."""
SOME_IN_PAIRS = ("disk", "s3-versioned")
BY_DAY = 600
PAIRS_BY_DAY = 2_000
"""One fault in so many."""


def by_day_and_night(some: int, many: int) -> pytest.MarkDecorator:
    """Every so-many-th fault, by day and by night: all of them would take a night of their own."""
    night = pytest.param(many, id="many", marks=pytest.mark.slow)
    return pytest.mark.parametrize("every", [pytest.param(some, id="some"), night])


def found(first: FirstRelease, plan: Plan, theirs: Collection[str]) -> Run:
    """A run in which nothing was wrong, but for what the first release leaves."""
    with together(first, theirs):
        ended = run(plan)
    may_leave = {*theirs} >= OPERATORS
    unmarked = any(job.name in theirs and job.success == "none" for job in plan.jobs)
    for one in ended.violations:
        is_known = may_leave and LEFT.fullmatch(one)
        assert is_known or (unmarked and UNTRUE_MARKER.fullmatch(one)), ended
    return ended


@pytest.mark.parametrize("scene", ["append", "overwrite", "partitions", "collected", "adopted"])
@pytest.mark.parametrize("theirs", [{"a"}, OPERATORS], ids=["drives", "settles"])
@by_day_and_night(BY_DAY, 10)
def test_p1_to_p11_after_any_fault_the_other_version_settles(
    first: FirstRelease, scene: str, theirs: set[str], every: int, sweep: Sweep
) -> None:
    """The first release drives a job, or settles it; something goes wrong at any call."""
    for family in SOME if every == BY_DAY else KNOWN_TO_BOTH:
        plan = plan_of(scene, family)
        if plan is not None:
            for fault in sweep(faults_of(found(first, plan, theirs))):
                found(first, replace(plan, faults=(fault,)), theirs)


@pytest.mark.parametrize("helper", BESIDE)
@pytest.mark.parametrize("is_driven", [True, False], ids=["of the first", "by the first"])
@by_day_and_night(BY_DAY, 10)
def test_p1_to_p11_hold_where_the_other_version_settles_a_job_that_goes_on(
    first: FirstRelease, helper: str, every: int, sweep: Sweep, *, is_driven: bool
) -> None:
    """Whoever resumes, aborts or cleans meanwhile is not of the version of the driver."""
    job = replace(SCENES["overwrite"], helpers=(BESIDE[helper],))
    theirs = {"a"} if is_driven else {f"a.{helper}0", "cleaner0"}
    for family in SOME if every == BY_DAY else KNOWN_TO_BOTH:
        plan = plan_of("overwrite", family)
        assert plan is not None
        plan = replace(plan, jobs=(job,), cleaners=(CleanerPlan(at_s=1.5, skew_s=30.0),))
        for fault in sweep(faults_of(found(first, plan, theirs))):
            found(first, replace(plan, faults=(fault,)), theirs)


def pair_of(one: str, other: str, family: str) -> Plan:
    """Two jobs at once, of which neither waits for the other before it must."""
    old: tuple[str, ...] = ("day=1/old.txt", "day=2/old.txt")
    if not FAMILIES[family].takes_any_name:
        old = tuple(name.replace("old.", f"old-{UUID}.") for name in old)
    jobs = replace(PAIR[one], name="a"), replace(PAIR[other], name="b")
    return Plan(family=family, old=old, jobs=jobs)


@pytest.mark.parametrize(("one", "other"), [*product(PAIR, PAIR)])
@by_day_and_night(PAIRS_BY_DAY, 60)
def test_p11_jobs_of_both_versions_at_once_are_as_if_one_came_after_the_other(
    first: FirstRelease, one: str, other: str, every: int, sweep: Sweep
) -> None:
    """The first of them is of the first release; in some runs something goes wrong at any call."""
    for family, schedule in product(IN_PAIRS, range(2)):
        if every == PAIRS_BY_DAY and (schedule or family not in SOME_IN_PAIRS):
            continue
        plan = replace(pair_of(one, other, family), schedule=schedule)
        ended = found(first, plan, {"a"})
        told = ended.told
        # An exact name is taken once one of them has written it, or must not come again there.
        least = 1 if "exact" in {one, other} else 2
        assert told["commit returned"] + told["commit skipped"] >= least, ended
        for fault in sweep(faults_of(ended)):
            found(first, replace(plan, faults=(fault,)), {"a"})


@pytest.mark.parametrize(
    "seeds",
    [range(30), pytest.param(range(30, 6_000), marks=pytest.mark.slow)],
    ids=["some", "many"],
)
def test_p1_to_p11_hold_in_random_runs_of_both_versions(first: FirstRelease, seeds: range) -> None:
    tried = 0
    for seed in seeds:
        plan = draw(seed)
        if plan.family in KNOWN_TO_BOTH:
            found(first, plan, drawn(plan, Random(seed)))
            tried += 1
    assert tried > len(seeds) / 2


def drawn(plan: Plan, chance: Random) -> set[str]:
    """Some of the actors; a twin is a driver of its job, and so of the version that began it."""
    theirs = {job.name for job in plan.jobs if chance.random() < 0.5}
    for job in plan.jobs:
        for number, helper in enumerate(job.helpers):
            is_theirs = job.name in theirs if helper.kind == "twin" else chance.random() < 0.5
            theirs |= {f"{job.name}.{helper.kind}{number}"} if is_theirs else set()
    return theirs | {f"cleaner{n}" for n in range(len(plan.cleaners)) if chance.random() < 0.5}


@pytest.mark.parametrize("theirs", [{"a"}, {"b"}], ids=["older", "newer"])
def test_p11_jobs_of_both_versions_wait_for_each_other(
    first: FirstRelease, theirs: set[str]
) -> None:
    for plan in (UNCLAIMED, ABOVE):
        assert found(first, plan, theirs).told["commit returned"]


def test_p11_whoever_passed_a_claim_of_the_first_release_would_be_found(
    first: FirstRelease, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would not be seen that jobs of different versions that conflict have gone on."""
    monkeypatch.setattr(other_jobs, "is_passed", lambda *_: True)
    wrong: list[str] = []
    for plan in (UNCLAIMED, ABOVE):
        with together(first, {"a"}):
            wrong += run(plan).violations
    assert any("P11" in one for one in wrong), wrong


def test_p6_the_upload_that_the_first_release_leaves_this_version_removes(
    first: FirstRelease,
) -> None:
    plan = plan_of("append", "s3")
    assert plan is not None
    is_left = 0
    for call in range(1, 20):
        died = FaultAt("a.driver", call, "crash_after", verb="start")
        faulty = replace(plan, faults=(died,))
        is_left += bool(found(first, faulty, OPERATORS).violations)
        assert found(first, faulty, {"a"}).violations == ()
    assert is_left


LOADS_IT_TWICE = """
import sys
from pathlib import Path
from fsspec_commit.testing.simulation.bucket import ParentMissingError
from tests.protocol.versions.first_release import FirstRelease
from tests.protocol.versions.simulated_together import to_first

for name in ("one", "another"):
    (at := Path(sys.argv[1], name)).mkdir()
    release = FirstRelease(at)
    there = release.module("fsspec_commit.testing.simulation.bucket").ParentMissingError
    assert type(to_first(ParentMissingError("out"))) is there
    release.close()
"""


def test_errors_are_of_the_release_that_is_loaded(tmp_path: Path) -> None:
    """Each test of a mutant loads it again: errors of the one before passed for faults of ours."""
    subprocess.run([sys.executable, "-c", LOADS_IT_TWICE, str(tmp_path)], cwd=ROOT, check=True)
