"""Planted bugs: claims that stand for less, and records that count where they should not."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from fsspec_commit.effects.stored_records import establish
from fsspec_commit.errors import CommitFailedError, JobNotActiveError, Reply, StoreError
from fsspec_commit.protocol import (
    abort,
    claim,
    decision,
    driver,
    job_state,
    other_jobs,
    recovery,
    superseded,
)
from fsspec_commit.protocol.job_records import over, read_record, recall_listed
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Decision
from fsspec_commit.records.outline import Outline
from fsspec_commit.store import Expect

if TYPE_CHECKING:
    import pytest


def appends_without_a_claim(patch: pytest.MonkeyPatch) -> None:
    async def append(store: Any, path: Any, record: Any, *, within: Any) -> Any:
        if record.mode == "append":
            return Standing(record)
        return await establish(store, path, record, within=within)

    patch.setattr(claim, "establish", append)


def has_one_claim_for_all_drivers(patch: pytest.MonkeyPatch) -> None:
    """Who withdraws a claim, perhaps late, takes away that of another driver, or the next one."""
    real = claim.claim_of

    def claim_of(record: Any, written: Any, nonce: str, *, reusable_names: bool) -> Any:
        nonce = sha256(record.job_id.encode()).hexdigest()[:32]
        return real(record, written, nonce, reusable_names=reusable_names)

    patch.setattr(claim, "claim_of", claim_of)


def lets_appends_pass_with_any_names(patch: pytest.MonkeyPatch) -> None:
    """Finding 02: two appends that write one name."""
    real = claim.conflicts

    def conflicts(one: Any, other: Any) -> bool:
        same_key = one.key_digest is not None and one.key_digest == other.key_digest
        return real(one, other) and (same_key or {one.mode, other.mode} != {"append"})

    patch.setattr(claim, "conflicts", conflicts)


def lets_one_key_pass_twice(patch: pytest.MonkeyPatch) -> None:
    def conflicts(one: Any, other: Any) -> bool:
        return (
            not (one.only_adds and other.only_adds) or (one.reusable_names and other.reusable_names)
        ) and (
            one.partitions is None
            or other.partitions is None
            or claim._overlap(one.partitions, other.partitions)
        )

    patch.setattr(claim, "conflicts", conflicts)


def passes_whatever_a_name_says(patch: pytest.MonkeyPatch) -> None:
    """A claim that has an outline is not read."""
    patch.setattr(Outline, "may_conflict", lambda *_: False)


def says_too_little_in_a_name(patch: pytest.MonkeyPatch) -> None:
    """What a claim touches above a partition of another is not seen in the names."""
    real = Outline.may_conflict

    def may_conflict(one: Any, other: Any) -> bool:
        return real(one, other) and (one.depth, one.whole) == (other.depth, other.whole)

    patch.setattr(Outline, "may_conflict", may_conflict)


def passes_who_has_decided(patch: pytest.MonkeyPatch) -> None:
    """Whose claims do not matter any more, as if it had finished."""
    real = other_jobs.is_passed

    def is_passed(mine: Any, other: Any, children: Any) -> bool:
        return other.decision in children or real(mine, other, children)

    patch.setattr(other_jobs, "is_passed", is_passed)


def overlaps_only_in_equal_partitions(patch: pytest.MonkeyPatch) -> None:
    """One that is within another is taken for a different one."""
    patch.setattr(claim, "_overlap", lambda ones, others: bool({*ones} & {*others}))


def creates_its_decision_empty(patch: pytest.MonkeyPatch) -> None:
    """And writes it then: who dies between the two leaves what nobody can read."""

    async def create(store: Any, path: Any, record: Any, *, within: Any) -> Any:
        try:
            await store._store.put(path, b"", expecting=Expect.ABSENT, within=within)
        except StoreError:
            return await establish(store, path, record, within=within)
        await store._store.put(path, record.encode(), expecting=Expect.ANYTHING, within=within)
        return Standing(record)

    patch.setattr(decision, "establish", create)


def takes_another_decision_for_its_own(patch: pytest.MonkeyPatch) -> None:
    async def created(store: Any, path: Any, record: Any, *, within: Any) -> Any:
        await establish(store, path, record, within=within)
        return Standing(record)

    patch.setattr(decision, "establish", created)


def believes_that_an_unanswered_decision_was_not_made(patch: pytest.MonkeyPatch) -> None:
    """It is read back once: absent is taken for not made."""

    async def create(store: Any, path: Any, record: Any, *, within: Any) -> Any:
        try:
            data = record.encode()
            await store._store.put(path, data, expecting=Expect.ABSENT, within=within)
        except StoreError as error:
            if error.reply is not Reply.UNKNOWN:
                return await establish(store, path, record, within=within)
            content = await store.read(path)
            if content is None:
                raise CommitFailedError(str(error)) from error
            return Standing(record) if content == record.encode() else None
        return Standing(record)

    patch.setattr(decision, "establish", create)


def reads_the_job_before_its_decision(patch: pytest.MonkeyPatch) -> None:
    async def standing(store: Any, layout: Any) -> Any:
        if await read_record(store, layout) is None:
            raise over(layout)
        return await recall_listed(store, layout, layout.decision, Decision)

    for module in (decision, abort, recovery, superseded, job_state):
        patch.setattr(module, "standing_decision", standing)


def resumes_a_void_decision(patch: pytest.MonkeyPatch) -> None:
    async def standing(store: Any, layout: Any) -> Any:
        return await recall_listed(store, layout, layout.decision, Decision)

    patch.setattr(recovery, "standing_decision", standing)


def aborts_what_is_committed(patch: pytest.MonkeyPatch) -> None:
    real = abort._aborted

    async def aborted(job: Any, by: str) -> Any:
        try:
            return await real(job, by)
        except JobNotActiveError:
            nonce, job_id = job.store.ids.nonce(), job.record.job_id
            return Standing(Decision(nonce=nonce, job_id=job_id, state="aborted", by=by))

    patch.setattr(abort, "_aborted", aborted)


def forgets_what_it_has_decided(patch: pytest.MonkeyPatch) -> None:
    """A driver that commits again claims and decides again."""

    async def decided(self: Any, job: Any) -> None:
        return None

    patch.setattr(driver.Driver, "_decided", decided)


def says_not_committed_while_a_decision_is_on_its_way(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(driver.Driver, "_leave_open", lambda *_, **__: None)
