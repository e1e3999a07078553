"""Planted bugs: what a thing is known by, what is left at sealing, and who does not wait."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import structs

from fsspec_commit.committers import magic
from fsspec_commit.effects.confirmed import files
from fsspec_commit.errors import CommitError, PartialCommitError
from fsspec_commit.protocol import claim, commit, manifests, sign_of_life
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.testing.simulation import AttemptPlan, FaultAt, JobPlan, Plan

if TYPE_CHECKING:
    import pytest

    from fsspec_commit.testing.simulation.process import FaultKind

_UNANSWERED: tuple[tuple[str, FaultKind], ...] = (
    ("put_part", "error_but_applied"),
    ("abort", "error"),
)
OF_ONE_SIZE = Plan(
    family="gcs",
    jobs=(
        JobPlan(name="a", mode="append", names="exact"),
        JobPlan(name="b", mode="overwrite", names="exact", at_s=20.0),
    ),
    faults=(FaultAt("b.driver", 1, "hang", verb="rename"),),
)
"""A file replaces one of its size, by a rename that is not answered and not carried out."""
WRITTEN_AGAIN = Plan(
    family="minio",
    jobs=(
        JobPlan(
            name="a",
            mode="append",
            attempts=(AttemptPlan(task=0, retries=True),),
            patience_s=900.0,
        ),
    ),
    faults=tuple(
        FaultAt("a.attempt0", call, kind, verb=verb)
        for verb, kind in _UNANSWERED
        for call in range(1, 9)
    ),
)
"""A file whose part is never acknowledged, nor its upload aborted, is written again."""
WRITTEN_BEFORE = Plan(
    family="hdfs",
    jobs=(
        JobPlan(
            name="a",
            mode="append",
            attempts=(AttemptPlan(task=0, pause_s=30.0, retries=True),),
            patience_s=900.0,
        ),
    ),
    faults=(FaultAt("a.attempt0", 1, "applied_late", 40.0, "finish"),),
)
"""A file is written again, and the request of its first writer comes before its task commits."""
BESIDE_A_SLOW_ONE = Plan(
    family="gcs",
    old=tuple(f"{number}.txt" for number in range(60)),
    jobs=(
        JobPlan(name="a", mode="overwrite", attempts=(AttemptPlan(task=0, pause_s=10.0),)),
        JobPlan(name="b", mode="overwrite", at_s=9.9),
    ),
)
"""An older job claims while a newer one still lists what it will replace."""


def says_partial_of_the_whole(patch: pytest.MonkeyPatch) -> None:
    real = commit.finish_job

    async def finish(job: Any, *args: Any, **how: Any) -> Any:
        await real(job, *args, **how)
        raise PartialCommitError("some of it", job_id=job.record.job_id, stage="finish")

    patch.setattr(commit, "finish_job", finish)


def calls_a_failed_commit_skipped(patch: pytest.MonkeyPatch) -> None:
    """Its second call, of a driver whose first one has failed as well."""
    real = Driver.commit

    async def commit_again(self: Any, *args: Any, **how: Any) -> Any:
        try:
            return await real(self, *args, **how)
        except CommitError:
            if not getattr(self, "has_failed", False):
                self.has_failed = True
                raise
            self.is_skipped = True
            return True

    patch.setattr(Driver, "commit", commit_again)


def leaves_uploads_at_sealing(patch: pytest.MonkeyPatch) -> None:
    real = magic.MagicAttempt.seal

    async def seal(self: Any, rows: Any) -> Any:
        self._begun.clear()
        return await real(self, rows)

    patch.setattr(magic.MagicAttempt, "seal", seal)


def knows_files_by_their_size(patch: pytest.MonkeyPatch) -> None:
    def is_done_by(self: Any, there: Any) -> bool:
        return bool(self.accept_existing or there.size_bytes == self.carried.size_bytes)

    patch.setattr(files._Move, "is_done_by", is_done_by)


def compares_no_digest(patch: pytest.MonkeyPatch) -> None:
    """Of a manifest: whatever stands at its place is taken for the one that its message names."""
    real = manifests.ChosenManifests.load

    async def load(self: Any, message: Any) -> Any:
        layout = self.job.layout.attempt(message.task_id, message.attempt_id)
        data = await self.job.store.read(layout.manifest)
        standing = (
            message if data is None else structs.replace(message, digest=sha256(data).hexdigest())
        )
        return await real(self, standing)

    patch.setattr(manifests.ChosenManifests, "load", load)


def never_waits(patch: pytest.MonkeyPatch) -> None:
    real = claim.take_claim

    async def take(*args: Any, **how: Any) -> Any:
        return await real(*args, **{**how, "wait_s": 0})

    patch.setattr(commit, "take_claim", take)


def aborts_whoever_lives(patch: pytest.MonkeyPatch) -> None:
    """A newer job that is about to decide is not waited for."""
    patch.setattr(sign_of_life.Watch, "saw", lambda *_, **__: True)
