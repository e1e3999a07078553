"""Planted bugs: claims, decisions and aborts whose rules are weaker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.effects.stored_records import establish
from fsspec_commit.protocol import (
    abort,
    claim,
    commit,
    decision,
    driver,
    job_state,
    recovery,
    superseded,
)
from fsspec_commit.protocol.job_records import recall_listed, standing_decision
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision
from fsspec_commit.store import Expect

if TYPE_CHECKING:
    import pytest


def sees_no_other_claim(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(claim, "_in_the_way", lambda *_: False)


def looks_before_it_claims(patch: pytest.MonkeyPatch) -> None:
    real = claim.take_claim

    async def nothing(store: Any, path: Any, record: Any, *, within: Any) -> Any:
        return Standing(record)

    async def take(job: Any, *args: Any, **how: Any) -> Any:
        held = await real(job, *args, **how)
        path = job.layout.claim(held.claim.nonce)
        await establish(job.store, path, held.claim, within=job.layout.area)
        return held

    patch.setattr(claim, "establish", nothing)
    patch.setattr(commit, "take_claim", take)


def takes_a_decided_job_for_over(patch: pytest.MonkeyPatch) -> None:
    """A committed decision whose job is not finished does not count as a claim."""
    patch.setattr(
        job_state.JobState,
        "stands_for",
        property(lambda self: self.claims if self.decision is None else ()),
    )


def fences_with_nothing(patch: pytest.MonkeyPatch) -> None:
    """A newer job that shows no sign of life is passed over, and not fenced."""
    real = claim._in_the_way

    async def fence(job: Any, other: Any) -> None:
        passed.add(other.layout.job_id)

    passed = set[str]()
    patch.setattr(claim, "_fence", fence)
    patch.setattr(
        claim,
        "_in_the_way",
        lambda mine, other: other.layout.job_id not in passed and real(mine, other),
    )


def waits_for_ever(patch: pytest.MonkeyPatch) -> None:
    """A wait whose end nobody tells: of a conflicting job that has died."""

    async def until(job: Any, mine: Any, older: Any, deadline: float) -> None:
        import asyncio

        while claim._in_the_way(mine, older):
            await asyncio.get_running_loop().create_future()

    patch.setattr(claim, "_until_over", until)


def overwrites_the_decision(patch: pytest.MonkeyPatch) -> None:
    async def decide(store: Any, layout: Any, wanted: Any) -> Any:
        await store._store.put(
            layout.decision, wanted.encode(), expecting=Expect.ANYTHING, within=layout.area
        )
        return Standing(wanted)

    for module in (commit, abort, claim):
        patch.setattr(module, "decide", decide)


def believes_its_decision_in_a_void_area(patch: pytest.MonkeyPatch) -> None:
    """`job.json` is not read after the decision was created."""

    async def confirmed(store: Any, layout: Any, ours: Any) -> Any:
        if ours is None:
            raise decision.settled_as(layout, await standing_decision(store, layout))
        return ours

    patch.setattr(decision, "_confirmed", confirmed)


def believes_a_void_abort(patch: pytest.MonkeyPatch) -> None:
    """Finding 14: a decision is read, and not whether the job was over by then."""

    async def standing(store: Any, layout: Any) -> Any:
        return await recall_listed(store, layout, layout.decision, Decision)

    for module in (decision, abort, recovery, superseded):
        patch.setattr(module, "standing_decision", standing)


def aborts_without_a_decision(patch: pytest.MonkeyPatch) -> None:
    async def aborted(job: Any, by: str) -> Any:
        record = Decision(
            nonce=job.store.ids.nonce(), job_id=job.record.job_id, state="aborted", by=by
        )
        return Standing(record)

    patch.setattr(abort, "_aborted", aborted)


def commits_in_two_threads(patch: pytest.MonkeyPatch) -> None:
    """Finding 15: of two calls of one driver, the second does not wait for the first."""
    real = driver.Driver.__init__

    def make(self: Any, *args: Any) -> None:
        real(self, *args)
        self._settling = _NoLock()

    patch.setattr(driver.Driver, "__init__", make)


class _NoLock:
    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *_: object) -> None: ...
