"""Planted bugs: in which order what is in an area goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.effects import emptying, retirement
from fsspec_commit.effects.leftover_uploads import LeftoverUploads
from fsspec_commit.effects.parallel import both
from fsspec_commit.effects.recorded_uploads import nothing_published
from fsspec_commit.protocol import claim
from fsspec_commit.testing.simulation import FaultAt, JobPlan, Plan
from tests.protocol.planted.bug import Bug
from tests.protocol.simulation.scenes import claimed_while_it_ends

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def _empties(patch: pytest.MonkeyPatch, goes_last: Callable[[Any, Any], set[Any]]) -> None:
    real = emptying.empty

    async def empty(store: Any, layout: Any, permit: Any, contents: Any, *, beside: Any) -> None:
        if contents is None or not store.deleted_at_once_max:
            await real(store, layout, permit, contents, beside=beside)
            return
        last = contents & goes_last(layout, contents)
        first = sorted(contents - last - {layout.spec})
        await both(beside, store.delete_listed(first, permit, within=layout.area))
        await store.delete_listed(sorted(last), permit, within=layout.area)

    patch.setattr(retirement, "empty", empty)


def _records(layout: Any, contents: Any) -> set[Any]:
    return {*filter(layout.is_upload_record, contents)}


def removes_published_with_the_rest(patch: pytest.MonkeyPatch) -> None:
    """What is left of the area of a job that has committed looks like a loss."""
    _empties(patch, lambda layout, there: {layout.decision, *_records(layout, there)})


def removes_published_beside_the_decision(patch: pytest.MonkeyPatch) -> None:
    """When the manifests have gone; a late task may have brought another one, not chosen."""
    _empties(
        patch, lambda layout, there: {layout.decision, layout.published, *_records(layout, there)}
    )


def removes_the_decision_of_an_abort_with_the_rest(patch: pytest.MonkeyPatch) -> None:
    """A driver that slept decides, where its manifests still stand, and dies."""
    _empties(patch, lambda layout, there: {layout.published, *_records(layout, there)})


def begins_before_the_job_has_gone(patch: pytest.MonkeyPatch) -> None:
    """Its decision goes, and another driver may make one that counts."""
    real = retirement.RetiringInOrder.retire

    async def retire(self: Any, layout: Any, permit: Any, **how: Any) -> Any:
        deleting = self._store.delete(layout.decision, permit)
        rest, _ = await both(real(self, layout, permit, **how), deleting)
        return rest

    patch.setattr(retirement.RetiringInOrder, "retire", retire)


def forgets_uploads_before_it_aborts_them(patch: pytest.MonkeyPatch) -> None:
    """Nothing says any more whose they are."""

    def last(layout: Any, contents: Any) -> set[Any]:
        return {layout.published if layout.published in contents else layout.decision}

    _empties(patch, last)


def lists_uploads_before_its_job_goes(patch: pytest.MonkeyPatch) -> None:
    """A task that begins one meanwhile has found ``job.json``, and will not look again."""
    retire, abort_of = retirement.RetiringInOrder.retire, LeftoverUploads.abort_of
    listed: dict[Any, list[Any]] = {}

    async def retired(self: Any, layout: Any, permit: Any, **how: Any) -> Any:
        if self._leftovers is not None and self._leftovers._listable:
            listed[layout] = await self._leftovers._pending_of(layout, nothing_published)
        return await retire(self, layout, permit, **how)

    async def aborted(self: Any, layout: Any, permit: Any, **how: Any) -> None:
        if layout in listed:
            await self.abort(layout, permit, listed.pop(layout))
        else:
            await abort_of(self, layout, permit, **how)

    patch.setattr(retirement.RetiringInOrder, "retire", retired)
    patch.setattr(LeftoverUploads, "abort_of", aborted)


def claims_without_a_look_for_its_job(patch: pytest.MonkeyPatch) -> None:
    """A decision may have been made, and may have gone with the area."""

    async def find(job: Any) -> None:
        """Take it for there."""

    patch.setattr(claim, "_find_job", find)


def claims_beside_a_decision(patch: pytest.MonkeyPatch) -> None:
    """A manifest that it names may have come when the area had been listed."""

    async def find(job: Any) -> None:
        """Take it for undecided."""

    patch.setattr(claim, "_find_no_decision", find)


def finds_its_job_before_it_looks_for_a_decision(patch: pytest.MonkeyPatch) -> None:
    """Between the looks the job may end, and its decision go."""
    job, no_decision = claim._find_job, claim._find_no_decision
    patch.setattr(claim, "_find_job", no_decision)
    patch.setattr(claim, "_find_no_decision", job)


def _dies_in_its_end(call: int) -> Plan:
    """When it has sent so many deletions."""
    return Plan(
        family="s3",
        schedule=9,
        jobs=(JobPlan(name="a", mode="append"),),
        faults=(FaultAt("a.driver", call, "crash_after", verb="delete"),),
    )


BUGS = {
    "removes published with the rest": Bug(
        removes_published_with_the_rest, ("P8",), plan=_dies_in_its_end(4)
    ),
    "removes published beside the decision": Bug(
        removes_published_beside_the_decision, ("P8",), family="s3"
    ),
    "removes the decision of an abort with the rest": Bug(
        removes_the_decision_of_an_abort_with_the_rest, ("P8",), family="s3"
    ),
    "begins before the job has gone": Bug(begins_before_the_job_has_gone, ("P7",), family="s3"),
    "forgets uploads before it aborts them": Bug(forgets_uploads_before_it_aborts_them, ("P5",)),
    "claims beside a decision": Bug(
        claims_beside_a_decision, ("P8",), plan=claimed_while_it_ends("gcs", 1)
    ),
    "finds its job before it looks for a decision": Bug(
        finds_its_job_before_it_looks_for_a_decision, ("P8",), family="gcs"
    ),
    "claims without a look for its job": Bug(
        claims_without_a_look_for_its_job, ("P8",), family="gcs"
    ),
    "lists uploads before its job goes": Bug(
        lists_uploads_before_its_job_goes, ("P5",), family="s3"
    ),
}
