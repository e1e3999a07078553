"""Planted bugs: slices of a job in other processes, which are late, lost, or run twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.protocol import deleting, elsewhere, slice_work
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published
from fsspec_commit.testing.simulation import (
    AttemptPlan,
    FaultAt,
    JobPlan,
    Plan,
    SpreadPlan,
)

if TYPE_CHECKING:
    import pytest


def waits_for_no_slice(patch: pytest.MonkeyPatch) -> None:
    """What has not answered in time is taken for done."""
    real = elsewhere.Elsewhere._run

    async def run(self: Any, slices: Any, is_done: Any) -> list[Any]:
        await real(self, slices, is_done)
        return []

    patch.setattr(elsewhere.Elsewhere, "_run", run)


def believes_a_failed_slice(patch: pytest.MonkeyPatch) -> None:
    real = elsewhere.Elsewhere._run

    async def run(self: Any, slices: Any, is_done: Any) -> list[Any]:
        failed = set[int]()
        spread = self.spread.run

        async def noting(slices: Any, told: Any) -> None:
            def note(answer: Any) -> None:
                if answer.failure:
                    failed.add(answer.number)
                told(answer)

            await spread(slices, note)

        patch.setattr(self.spread, "run", noting, raising=False)
        return [one for one in await real(self, slices, is_done) if one.number not in failed]

    patch.setattr(elsewhere.Elsewhere, "_run", run)


def deletes_before_all_slices(patch: pytest.MonkeyPatch) -> None:
    """Old files are deleted beside the slices that publish, on nobody's word."""
    real = elsewhere.Elsewhere.publish

    async def publish(self: Any, manifests: Any, count: int, replaced: Any, **how: Any) -> Any:
        await self.delete(replaced)
        return await real(self, manifests, count, replaced, **how)

    async def presumed(store: Any, layout: Any, decision: Any) -> Standing[Published]:
        record = decision.record
        return Standing(Published(nonce=record.nonce, job_id=record.job_id, decision=record.nonce))

    patch.setattr(elsewhere.Elsewhere, "publish", publish)
    patch.setattr(slice_work, "standing_published", presumed)


def deletes_blindly(patch: pytest.MonkeyPatch) -> None:
    """A slice goes by what it has read once: it does not read `job.json` again."""

    async def permit(self: Any) -> Any:
        return self._permit

    patch.setattr(deleting._Lease, "permit", permit)


LATE_DELETION = Plan(
    family="s3",
    same=True,
    old=("a.txt", "b.txt"),
    jobs=(
        JobPlan(
            name="a",
            mode="overwrite",
            files=(("day=1/a.txt",), ("day=1/b.txt",)),
            attempts=(AttemptPlan(task=0), AttemptPlan(task=1)),
            spread=SpreadPlan(patience_s=5.0),
        ),
        JobPlan(name="b", mode="append", names="exact", at_s=8_000),
    ),
    faults=(FaultAt("a.driver.delete0", 1, "halt_after", 8_050, verb="read_range"),),
)
"""A slice stands still before it deletes, until its job is over and a name has come back."""
