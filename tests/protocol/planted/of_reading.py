"""Planted bugs: a reader that looks less closely, and jobs that leave it less to see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fsspec_commit.protocol import commit, seen_jobs, snapshot, verify
from fsspec_commit.protocol.marks import begin_epoch as real_begin
from fsspec_commit.protocol.retire import retire_job as real_retire
from fsspec_commit.protocol.seen_jobs import Look, Phase
from fsspec_commit.testing.simulation import FaultAt, JobPlan, Plan, ReaderPlan
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest


def looks_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Look, "agrees_with", lambda *_: True)


def reads_no_epoch(patch: pytest.MonkeyPatch) -> None:
    real = Look.agrees_with

    def agrees_with(earlier: Look, later: Look) -> bool:
        return real(Look(frozenset(), earlier.jobs), Look(frozenset(), later.jobs))

    patch.setattr(Look, "agrees_with", agrees_with)


def takes_a_job_that_just_ended_for_quiet(patch: pytest.MonkeyPatch) -> None:
    real = seen_jobs._is_steady

    def is_steady(earlier: Any, later: Any) -> bool:
        was_quiet = earlier is None or earlier.phase is Phase.QUIET
        return real(earlier, later) or (was_quiet and later.phase is Phase.OVER)

    patch.setattr(seen_jobs, "_is_steady", is_steady)


def takes_a_job_that_has_not_begun_for_over(patch: pytest.MonkeyPatch) -> None:
    async def has_begun(*_: Any) -> bool:
        return True

    patch.setattr(seen_jobs, "_has_begun", has_begun)


def shows_the_new_files_of_decided_jobs(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> Any:
        return lambda *_: False

    patch.setattr(snapshot, "new_files_of", nothing)


def shows_the_old_files_of_published_jobs(patch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: Any) -> Any:
        return lambda *_: False

    patch.setattr(snapshot, "replaced_files_of", nothing)


def misses_files_that_are_not_in_place_yet(patch: pytest.MonkeyPatch) -> None:
    real = verify._written_by

    async def written_by(*given: Any) -> Any:
        written = await real(*given)
        return {name: replace(one, must_stand=True) for name, one in written.items()}

    patch.setattr(verify, "_written_by", written_by)


def leaves_no_epoch(patch: pytest.MonkeyPatch) -> None:
    async def begin_epoch(*_: Any) -> None:
        """Nothing."""

    patch.setattr(commit, "begin_epoch", begin_epoch)


def leaves_its_epoch_last(patch: pytest.MonkeyPatch) -> None:
    kept: dict[str, Any] = {}

    async def begin_epoch(job: Any, *rest: Any) -> None:
        kept[job.layout.job_id] = rest

    async def retire_job(job: Any, *rest: Any) -> Any:
        warnings = await real_retire(job, *rest)
        await real_begin(job, *kept[job.layout.job_id])
        return warnings

    patch.setattr(commit, "begin_epoch", begin_epoch)
    patch.setattr(commit, "retire_job", retire_job)


def read(family: str, schedule: int = 0, *faults: FaultAt) -> Plan:
    """Two jobs, and two readers that ask again and again; or one that stands still once."""
    files = (("a.txt", "day=1/a.txt", "day=2/a.txt"),)
    often = tuple(ReaderPlan(at_s=0.01 * number, count=30) for number in range(2))
    return Plan(
        family=family,
        schedule=schedule,
        old=("a.txt", "old.txt", "day=1/old.txt", "day=2/b.txt", "zz.txt"),
        jobs=(
            JobPlan(name="a", mode="overwrite", files=files, at_s=1.0 if faults else 0.0),
            JobPlan(name="b", mode="append", files=files, at_s=100.0 if faults else 0.5),
        ),
        readers=(ReaderPlan(at_s=0.2),) if faults else often,
        faults=faults,
    )


def verified(at_s: float, *faults: FaultAt) -> Plan:
    """A job that stands still, one that replaces all of it later, and somebody who verifies."""
    files = (("a.txt", "day=1/a.txt", "day=2/a.txt"),)
    return Plan(
        family="gcs",
        jobs=(
            JobPlan(name="a", mode="append", files=files),
            JobPlan(name="b", mode="overwrite", files=files, at_s=30.0),
        ),
        readers=(ReaderPlan(at_s=at_s, verifies=True),),
        faults=faults,
    )


IN_MID_LISTING = FaultAt("reader0", 2, "halt", 20, verb="list_tree")
BEFORE_IT_BEGINS = (
    FaultAt("a.driver", 1, "halt", 20, verb="create"),  # job.json, when its directory is there
    FaultAt("a.driver", 7, "halt", 60, verb="create"),  # the epoch, when old files are gone
    FaultAt("reader0", 2, "halt", 40, verb="list_tree"),
    FaultAt("reader0", 5, "halt", 80, verb="list_children"),  # the area, listed a second time
)

BUGS = {
    "looks once": Bug(looks_once, ("P1", "P2"), plan=read("disk", 1)),
    "misses files that are not in place yet": Bug(
        misses_files_that_are_not_in_place_yet,
        ("P1", "P2"),
        plan=verified(5.0, FaultAt("a.driver", 2, "halt", 20, verb="rename")),
        verified=True,
    ),
    "verifies what it saw once": Bug(
        looks_once,
        ("P1", "P2"),
        plan=verified(
            5.0,
            FaultAt("a.driver", 6, "halt", 20, verb="create"),
            FaultAt("reader0", 2, "halt", 90, verb="list_tree"),
        ),
        verified=True,
    ),
    "reads no epoch": Bug(reads_no_epoch, ("P1", "P2"), plan=read("gcs", 0, IN_MID_LISTING)),
    "leaves no epoch": Bug(
        leaves_no_epoch, ("P1", "P2"), plan=read("s3-versioned", 0, IN_MID_LISTING)
    ),
    "leaves its epoch last": Bug(
        leaves_its_epoch_last,
        ("P1", "P2"),
        plan=read("disk", 0, IN_MID_LISTING, FaultAt("a.driver", 7, "halt", 60, verb="create")),
    ),
    "takes a job that just ended for quiet": Bug(
        takes_a_job_that_just_ended_for_quiet, ("P1", "P2"), plan=read("disk", 5)
    ),
    "takes a job that has not begun for over": Bug(
        takes_a_job_that_has_not_begun_for_over,
        ("P1", "P2"),
        plan=replace(read("disk", 0, *BEFORE_IT_BEGINS), readers=(ReaderPlan(at_s=10.0),)),
    ),
    "shows new files too early": Bug(
        shows_the_new_files_of_decided_jobs, ("P1", "P2"), plan=read("gcs", 2)
    ),
    "shows old files too long": Bug(
        shows_the_old_files_of_published_jobs, ("P1", "P2"), plan=read("disk", 4)
    ),
}
