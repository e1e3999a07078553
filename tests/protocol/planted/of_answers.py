"""Planted bugs: what callers are told, what markers say, and whose things `clean` takes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from fsspec_commit.committers import magic, renaming
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.errors import JobNotActiveError
from fsspec_commit.protocol import claim, clean, looks, result, success, superseded
from fsspec_commit.protocol.job_state import JobState
from fsspec_commit.protocol.waiting import concurrent
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.testing.simulation import CleanerPlan, HelperPlan, JobPlan, Plan

if TYPE_CHECKING:
    import pytest

COMES_LATE = Plan(
    family="disk",
    jobs=(
        JobPlan(name="a", mode="append", helpers=(HelperPlan(kind="twin", at_s=60.0),)),
        JobPlan(name="b", mode="append"),
    ),
)
"""A second driver, when all is over."""
NAMED_AND_REPLACED = Plan(
    family="s3",
    jobs=(
        JobPlan(name="a", mode="append", success="json"),
        JobPlan(name="b", mode="overwrite", success="none", at_s=20.0),
    ),
)
"""A marker that cannot be deleted, of a job whose files go."""
BESIDE_AN_UPLOAD = Plan(
    family="s3",
    jobs=(JobPlan(name="a", mode="append"),),
    leftovers=("upload",),
    cleaners=(CleanerPlan(at_s=5.0),),
)
"""A clean where another program is uploading."""


def skips_without_a_reason(patch: pytest.MonkeyPatch) -> None:
    async def is_done(_: Any) -> bool:
        return True

    patch.setattr(looks, "is_done", is_done)


def counts_no_file(patch: pytest.MonkeyPatch) -> None:
    real = result.CommitResult
    patch.setattr(result, "CommitResult", lambda **what: real(**{**what, "file_count": 0}))


def tells_the_loser_nothing(patch: pytest.MonkeyPatch) -> None:
    """Of a job whose decision stands."""

    def settled_as(layout: Any, _: Any) -> JobNotActiveError:
        return JobNotActiveError("over", job_id=layout.job_id, outcome="unknown", stage="decide")

    patch.setattr(superseded, "settled_as", settled_as)


def tells_nobody_how_it_ended(patch: pytest.MonkeyPatch) -> None:
    """Of a job that is over, and whose files stand."""

    async def no(*_: Any) -> bool:
        return False

    patch.setattr(superseded, "_has_finished", no)


def refuses_beside_any_other(patch: pytest.MonkeyPatch) -> None:
    real = claim._others

    def others(job: Any, listed: Any) -> Any:
        for other in real(job, listed):
            raise concurrent(job, JobState(other, "open"))
        return []

    patch.setattr(claim, "_others", others)


def calls_each_attempt_the_chosen_one(patch: pytest.MonkeyPatch) -> None:
    real = TaskCommit.told_chosen
    patch.setattr(TaskCommit, "told_chosen", lambda self, *, chosen: real(self, chosen=True))


def asks_nobodys_age(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(clean, "started", lambda _: datetime(1970, 1, 1, tzinfo=UTC))


def aborts_uploads_of_others(patch: pytest.MonkeyPatch) -> None:
    async def abort(_: Any, leftovers: Any, __: Any, found: Any, ___: Any) -> None:
        named = frozenset((upload.path, upload.upload_id) for upload in found)
        for upload in found:
            await leftovers._uploads.abort(upload, Permit((), frozenset(), "any", named))

    patch.setattr(clean._Found, "_abort_of_none", abort)


def names_no_file_in_its_marker(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(success, "islice", lambda *_: ())


def leaves_a_marker_that_names_what_goes(patch: pytest.MonkeyPatch) -> None:
    """Where none can be deleted: a job without one of its own left it alone."""
    real = success._kind

    def kind(job: Any, stale: Any) -> Any:
        return real(job, stale if success._is_removed(job) else None)

    patch.setattr(success, "_kind", kind)


def publishes_no_empty_file(patch: pytest.MonkeyPatch) -> None:
    for committer in (magic, renaming):
        real = committer.in_batches

        def in_batches(files: Any, real: Any = real) -> Any:
            return real([file for file in files if file.size_bytes])

        patch.setattr(committer, "in_batches", in_batches)
