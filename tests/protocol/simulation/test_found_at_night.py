"""Runs of a night's seeds that have found a bug, each as the smallest plan that shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fsspec_commit.testing.simulation import (
    AttemptPlan,
    FaultAt,
    HelperPlan,
    JobPlan,
    Plan,
    ReaderPlan,
    run,
    settling,
)
from fsspec_commit.testing.simulation.told import Told

if TYPE_CHECKING:
    import pytest


def test_p7_who_looks_while_the_area_of_a_committed_job_goes_is_told_so() -> None:
    """The list of it shows the decision, and ``published`` no more, which goes after that."""
    job = JobPlan(
        name="a",
        mode="error",
        files=(("day=2/a.txt",),),
        attempts=tuple(AttemptPlan(task=0, at_s=at_s) for at_s in (0, 0.479, 0.077)),
        helpers=(HelperPlan(kind="aborter", at_s=0.608),),
        at_s=2.93,
        success="none",
        threads=2,
        keeps=True,
    )
    found = run(Plan(family="minio", schedule=47308000250, jobs=(job,)))
    assert found.told["commit returned"] == 2  # one for each thread
    assert not found.violations, found


def test_p7_who_finds_a_decision_and_then_the_store_away_need_not_know_which() -> None:
    """The model took for vague what was all that could be known, and what to do was said."""
    job = JobPlan(
        name="a",
        mode="append",
        names="exact",
        files=(("day=1/b.txt",),),
        attempts=(AttemptPlan(task=0),),
        helpers=(HelperPlan(kind="twin", at_s=2.085),),
        at_s=1.335,
        key="k",
        success="json",
    )
    faults = (FaultAt("a.driver", 19, "crash_after", 3.0), FaultAt("a.twin0", 8, "outage"))
    found = run(Plan(family="gcs", schedule=448483004064, jobs=(job,), faults=faults))
    assert found.told["commit unknown"] == 1
    assert not found.violations, found


def test_p1_p2_a_reader_finds_a_job_before_it_has_begun_and_when_it_is_over() -> None:
    """On a disk its area is there before ``job.json``, and without that both times."""
    job = JobPlan(name="a", mode="overwrite", names="exact", files=(("day=2/b.txt",),))
    old = ("a.txt", "day=2/old.txt", "day=1/hour=2/old.txt", "old.txt")
    plan = Plan(
        family="disk",
        schedule=570614006305,
        old=old,
        jobs=(job,),
        readers=(ReaderPlan(at_s=0.261),),
    )
    found = run(plan)
    assert not found.violations, found
    assert found.told["commit returned"] == 1


def test_p4_what_may_not_be_looked_at_may_be_in_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model knew that no append is in the way of another, and not that none could be seen."""
    jobs = (
        JobPlan(
            name="a",
            mode="append",
            files=(("a.txt",),),
            attempts=(AttemptPlan(task=0, pause_s=25.941),),
            wait_s=60.0,
        ),
        JobPlan(
            name="b",
            mode="append",
            files=(("a.txt",), ("day=1/b.txt",)),
            attempts=(AttemptPlan(task=0, at_s=0.883), AttemptPlan(task=1)),
            wait_s=0.0,
            then="abort",
        ),
    )
    # The listing of the other area, beside that of all of them, and the one after both.
    faults = (FaultAt("b.driver", 8, "refused", 0.0), FaultAt("b.driver", 11, "refused", 0.03))
    plan = Plan(family="azure-flat", schedule=657816001080, jobs=jobs, faults=faults)
    found = run(plan)
    assert found.told["commit not_committed"] == 1
    assert not found.violations, found
    monkeypatch.setattr(settling, "Told", lambda *told: replace(Told(*told), was_kept_out=False))
    assert "nothing is in the way" in str(run(plan).violations)


def test_p1_p9_a_summary_goes_however_it_is_spelled() -> None:
    """On a disk that takes `_metadatA` for `_metadata`, a reader opens it, and it was stale."""
    jobs = (
        JobPlan(
            name="b",
            mode="overwrite",
            files=(("day=1/_metadatA",),),
            attempts=(AttemptPlan(task=0),),
            at="Out",
        ),
        JobPlan(
            name="c",
            mode="overwrite_partitions",
            files=(("day=1/a.txt",),),
            attempts=(AttemptPlan(task=0, pause_s=18.887),),
            at="out",
        ),
    )
    found = run(Plan(family="disk-folding", schedule=877254035934, same=True, jobs=jobs))
    assert found.told["commit returned"] == 2
    assert not found.violations, found
