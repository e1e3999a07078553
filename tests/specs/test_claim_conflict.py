"""The rule of the code, tried on every interleaving of small jobs; each weaker one fails there."""

from __future__ import annotations

import pytest

from fsspec_commit.names import Partition, is_visible
from fsspec_commit.protocol.claim import claim_of, conflicts
from fsspec_commit.records.job import JobRecord, Mode
from tests.specs.claim_conflict import JOBS, SmallJob, search

PAIRS = [one + other for one in JOBS for other in JOBS]
THREE = ["HHO", "AHH", "OEH", "FDA"]


def the_rule(one: SmallJob, other: SmallJob) -> bool:
    """What the library does, with the claims that such jobs write."""
    claims = []
    for number, job in enumerate((one, other)):
        mode: Mode = job.mode  # type: ignore[assignment]  # of a table
        record = JobRecord(
            nonce="0" * 32,
            job_id=f"20261120T140355-{number:016x}",
            destination="/d",
            committer="v1",
            mode=mode,
        )
        partitions = {Partition(name.rpartition("/")[0]) for name in job.files}
        reusable = bool(job.shared)
        claims.append(claim_of(record, partitions, f"{number:032x}", reusable_names=reusable))
    return conflicts(claims[0], claims[1])


def appends_never_conflict(one: SmallJob, other: SmallJob) -> bool:
    return the_rule(one, other) and not (one.mode == other.mode == "append")


def hidden_directories_are_their_own(one: SmallJob, other: SmallJob) -> bool:
    """Only names of files count as reusable."""
    files = all(any("#" not in name for name in job.files) for job in (one, other))
    return the_rule(one, other) and (files or not (one.mode == other.mode == "append"))


def appends_do_not_claim(one: SmallJob, other: SmallJob) -> bool:
    return the_rule(one, other) and "append" not in {one.mode, other.mode}


@pytest.mark.parametrize("jobs", [*PAIRS, *THREE])
def test_the_rule_holds(jobs: str) -> None:
    assert search([JOBS[letter] for letter in jobs], the_rule).problem is None


@pytest.mark.parametrize("jobs", ["AA", "AH", "AD", "AF", "SA"])
def test_jobs_that_cannot_meet_do_not_wait_for_each_other(jobs: str) -> None:
    assert not the_rule(*(JOBS[letter] for letter in jobs))


@pytest.mark.parametrize(
    ("rule", "jobs"),
    [
        (appends_never_conflict, "HH"),
        (appends_never_conflict, "FD"),
        (hidden_directories_are_their_own, "FD"),
        (hidden_directories_are_their_own, "DF"),
        (appends_do_not_claim, "OA"),
    ],
)
def test_a_weaker_rule_fails(rule: object, jobs: str) -> None:
    problem = search([JOBS[letter] for letter in jobs], rule).problem  # type: ignore[arg-type]
    assert problem is not None
    assert "can never be finished" in problem or "no order" in problem


@pytest.mark.parametrize("jobs", ["OO", "OA", "AO", "HH", "AHO"])
def test_jobs_that_were_idle_before_the_claim_are_looked_at_again(jobs: str) -> None:
    small = [JOBS[letter] for letter in jobs]
    assert search(small, the_rule, remembers_the_idle=True).problem is not None


def test_what_the_table_of_jobs_shares() -> None:
    """Hidden files keep their names, and so may meet; what is in sight is each job's own."""
    for job in JOBS.values():
        for name in job.files:
            assert (name in job.shared) == ("#" not in name or not is_visible(name))
