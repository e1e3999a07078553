"""Claim, then look: conflicting jobs become serial (P11).

Every job writes its claim before it reads the others', so of two jobs at least one sees the other.
The rules were checked over every interleaving of small jobs, and every weaker set of rules failed.
How long a job waits never affects correctness.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace

from fsspec_commit.effects import deletion
from fsspec_commit.effects.parallel import both, failure_or
from fsspec_commit.effects.stored_records import establish, inactive
from fsspec_commit.errors import CommitError, JobNotActiveError
from fsspec_commit.layout import JobLayout
from fsspec_commit.names import Partition, partition_key
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.decision import decide
from fsspec_commit.protocol.early_look import EarlyLook
from fsspec_commit.protocol.job_records import not_answered, read_record
from fsspec_commit.protocol.job_state import (
    JobState,
    Listed,
    jobs_among,
    newer_than_known,
    read_state,
    unusable_among,
)
from fsspec_commit.protocol.marker_under_way import MarkerUnderWay
from fsspec_commit.protocol.other_jobs import (
    Met,
    Shown,
    look_at_areas,
    may_pass,
    over_among,
    those_in_the_way,
)
from fsspec_commit.protocol.sign_of_life import SignOfLife, Watch
from fsspec_commit.protocol.waiting import Patience, concurrent
from fsspec_commit.records.entries import Sized
from fsspec_commit.records.job import Claim, Decision, JobRecord
from fsspec_commit.store import Directory, Entry, Unusable

PARTITIONS_MAX = 10_000
"""With more partitions, or a record that would be too long, the whole destination is claimed."""
_LOOKS_MAX = 4


def conflicts(one: Claim, other: Claim) -> bool:
    """Whether two jobs must not commit at the same time.

    They may if both only add files and cannot write the same name, or if they touch different
    partitions. Two jobs with one idempotency key never may.
    """
    if one.key_digest is not None and one.key_digest == other.key_digest:
        return True
    if one.only_adds and other.only_adds and not (one.reusable_names and other.reusable_names):
        return False
    if one.partitions is None or other.partitions is None:
        return True
    return _overlap(one.partitions, other.partitions)


def _overlap(ones: Iterable[str], others: Iterable[str]) -> bool:
    mine = {partition_key(name) for name in ones}
    theirs = {partition_key(name) for name in others}

    def below(keys: set[tuple[str, ...]], above: set[tuple[str, ...]]) -> bool:
        return any(key[:depth] in above for key in keys for depth in range(len(key) + 1))

    return below(mine, theirs) or below(theirs, mine)


def claim_of(
    record: JobRecord, written: Sized[Partition], nonce: str, *, reusable_names: bool
) -> Claim:
    """The claim of a job, from the partitions and the names of its files."""
    bounded = record.mode in {"append", "overwrite_partitions"} and len(written) <= PARTITIONS_MAX
    touched = {*written, *record.partitions} if bounded else set()
    bounded = bounded and len(touched) <= PARTITIONS_MAX
    claim = Claim(
        nonce=nonce,
        job_id=record.job_id,
        mode=record.mode,
        names=record.names,
        partitions=tuple(sorted(touched)) if bounded else None,
        reusable_names=reusable_names,
        key_digest=record.key_digest,
    )
    is_too_long = bounded and len(claim.encode()) > Claim.limit_bytes
    return replace(claim, partitions=None) if is_too_long else claim


@dataclass(frozen=True, slots=True)
class HeldClaim:
    """A claim that stands, and the listing of the destination that followed it.

    Attributes:
        claim: The claim.
        beside: The listing: all areas, and what stands beside them.
        was_alone: Whether no other job had an area. If one had, it may have ended since.
    """

    claim: Claim
    beside: tuple[Entry | Directory, ...]
    was_alone: bool


async def take_claim(
    job: BoundJob,
    written: Sized[Partition],
    *,
    reusable_names: bool,
    wait_s: float,
    alive: SignOfLife,
    marker: MarkerUnderWay,
    early: EarlyLook,
) -> HeldClaim:
    """Hold a claim beside which no conflicting job can commit.

    Args:
        job: The job, bound.
        written: The partitions that its files are in.
        reusable_names: Whether it writes names that another job could write as well.
        wait_s: How long to wait for a conflicting job.
        alive: The sign of life, renewed while the claim stands.
        marker: The marker, prepared concurrently with the claim that it is for.
        early: What to look at while the other jobs are listed.

    Returns:
        The claim, which stands until it is withdrawn or the job's area is removed, and what was
        listed after it.

    Raises:
        ConcurrentJobError: A conflicting job did not end within *wait_s*; the claim is withdrawn.
        JobNotActiveError: This job was settled by somebody else.
    """
    deadline = asyncio.get_running_loop().time() + wait_s
    while True:
        nonce = job.store.ids.nonce()
        claim = claim_of(job.record, written, nonce, reusable_names=reusable_names).outlined()
        marker.begin(claim)
        early.list_first(claim)
        refusal = await _stand(job, claim)
        alive.begin()
        try:
            if refusal is not None:
                raise refusal
            await early.begin(claim)
            areas, others, in_the_way = await _meet_all(job, claim, early)
            older = await _clear(job, claim, in_the_way, deadline)
        except JobNotActiveError:
            with suppress(CommitError):  # The claim goes with the area; this error counts more.
                await withdraw_claim(job, claim)
            raise
        except CommitError:
            await withdraw_claim(job, claim)
            raise
        if older is None:
            beside = tuple(one for one in areas if not isinstance(one, Unusable))
            return HeldClaim(claim, beside, was_alone=not others)
        await alive.end()
        await withdraw_claim(job, claim)
        await marker.withdraw()
        await _until_over(job, claim, older, deadline)


async def _stand(job: BoundJob, claim: Claim) -> CommitError | None:
    """Create *claim*, and return what speaks against it: that the job is decided, or may be.

    Raises:
        JobNotActiveError: The job is decided, or over; it is not known whether the claim stands.
        CommitError: The claim was not created, as far as is known.
    """
    path = job.layout.claim(claim.nonce)
    standing, refusal = await both(
        failure_or(establish(job.store, path, claim, within=job.layout.area)),
        failure_or(_find_no_decision(job)),
    )
    if isinstance(standing, CommitError):
        raise refusal if isinstance(refusal, JobNotActiveError) else standing
    if standing is None:
        raise inactive(job.layout, "claim")
    return refusal


async def _meet_all(
    job: BoundJob, claim: Claim, early: EarlyLook
) -> tuple[list[Listed], list[JobLayout], list[JobLayout]]:
    """List all areas under *claim*, and find who is in its way.

    The areas that the first listing has shown are looked at beside the second one, which shows
    which of them matter; those that only the second one shows, after it. Who is found over before
    the look is begun again has changed nothing since.

    Returns:
        What the second listing shows, the other jobs in it, and those that are in the way.
    """
    destination = job.layout.destination
    before = _others(job, early.listed_first)
    (areas, _), shown = await both(
        both(_list_areas(job, early), _find_job(job)),
        look_at_areas(job.store, before, claim.outline),
    )
    for unusable in unusable_among(areas, destination):
        raise concurrent(job, unusable)
    others = _others(job, areas)
    over = await over_among(job.store, [one for one in others if one in shown.without_spec])
    looked_at = frozenset(before)
    left = [one for one in others if one in looked_at - shown.passed - over]
    new = [one for one in others if one not in looked_at]
    over_before_the_look = frozenset[JobLayout]()
    if not left and (not new or may_pass(job.store)):
        await early.renew(claim, anyway=bool(over))
        over_before_the_look = over
    met, shown_later = await both(
        _meet(job, claim, left, shown), look_at_areas(job.store, new, claim.outline)
    )
    met_later = await _meet(job, claim, new, shown_later)
    doubted = met.doubted | met_later.doubted | (over - over_before_the_look)
    await early.settle(met_none=not doubted)
    in_the_way = {*met.in_the_way, *met_later.in_the_way}
    return areas, others, [one for one in others if one in in_the_way]


def _others(job: BoundJob, listed: Iterable[Listed]) -> list[JobLayout]:
    """The other jobs whose areas are *listed*, oldest first."""
    jobs = jobs_among(listed, job.layout.destination)
    return [layout for layout in jobs if layout.job_id != job.layout.job_id]


async def _list_areas(job: BoundJob, early: EarlyLook) -> list[Listed]:
    """List all areas and what stands beside them; this job's area shows that none is missing.

    Raises:
        JobNotActiveError: This job's area is gone.
        CommitStateUnknownError: This job's area exists and is not listed. With ``single_writer``
            the listing is taken to lag behind, and is accepted.
    """
    for _ in range(_LOOKS_MAX):
        areas = await early.list_again()
        if job.record.single_writer or job.layout in jobs_among(areas, job.layout.destination):
            return areas
        if await read_record(job.store, job.layout) is None:
            raise inactive(job.layout, "claim")
    raise not_answered(job.layout, job.layout.area, "stands and is not listed")


async def _find_no_decision(job: BoundJob) -> None:
    """Find that the job has no decision yet.

    This driver has its messages, so the manifests that it may name are there. Whoever removes the
    area has decided first, and lists it after that. So if nobody has decided yet, these manifests
    will be on that list. Another driver, with other messages, may have decided without this one.

    Raises:
        JobNotActiveError: It has one; the caller finds out which.
    """
    # Mostly there is none. A read shows that by one request; a stat may ask for a directory, too.
    found = await job.store.read_or_refusal(job.layout.decision, limit_bytes=Decision.limit_bytes)
    if found is not None:
        message = (
            f"job {job.layout.job_id} was decided by another driver, or aborted; do not run it "
            f"again before you have looked: {job.settle_command('show')}"
        )
        raise JobNotActiveError(message, job_id=job.layout.job_id, outcome="unknown", stage="claim")


async def _find_job(job: BoundJob) -> None:
    """Find ``job.json``, which is removed first: no decision was found since none had been made.

    If this driver sleeps now, decides after the area has been removed, and dies, what it leaves
    does not look like a loss: the manifests that its decision names were gone before it.

    Raises:
        JobNotActiveError: The job is over.
    """
    # A stat and not a read: a damaged record is there, too.
    stands = await job.store.stat(job.layout.spec) is not None
    if not stands and await read_record(job.store, job.layout) is None:
        raise inactive(job.layout, "claim")


async def withdraw_claim(job: BoundJob, claim: Claim) -> None:
    """Withdraw *claim*: other jobs may pass; this one stays open and may claim again."""
    path = job.layout.claim(claim.nonce)
    await job.store.delete(path, deletion.of_own_claim(job.layout, claim))


async def _meet(job: BoundJob, claim: Claim, others: list[JobLayout], shown: Shown) -> Met:
    return await those_in_the_way(
        job.store, others, claim.outline, lambda state: _in_the_way(claim, state), shown
    )


async def _clear(
    job: BoundJob, claim: Claim, met: list[JobLayout], deadline: float
) -> JobState | None:
    """Wait until no other job is in the way; return an older one that must go first.

    All jobs were looked at once, at the same time. Those *met* in the way are looked at here, one
    after the other: a job that was not in the way then, and gets in it later, has written its claim
    after this one, and sees this one.

    A newer job that has a claim is fenced, but only if it shows no sign of life: a live one will
    decide, or see this claim and withdraw its own.
    """
    loop = asyncio.get_running_loop()
    for layout in met:
        patience = Patience(job)
        watch = Watch()
        other: JobState | None = None
        while True:
            looked_at = loop.time()
            other = await read_state(job.store, layout, before=other)
            if not _in_the_way(claim, other):
                break
            if other.state == "committing":
                if layout.job_id < claim.job_id:
                    return other
                if watch.saw(other.signs_of_life, since=looked_at, until=loop.time()):
                    newer = await newer_than_known(job.store, layout)
                    if newer is not None:
                        raise concurrent(job, JobState(layout, "damaged", damage=newer))
                    await _fence(job, other)
                    continue
            if loop.time() >= deadline:
                raise concurrent(job, other)
            await patience.wait(other)
    return None


def _in_the_way(claim: Claim, other: JobState) -> bool:
    if other.state in {"void", "aborted", "open"}:
        return False
    if other.state == "damaged" and other.decision is None:
        return True  # Nobody knows what it holds.
    return any(conflicts(claim, held) for held in other.stands_for)


async def _fence(job: BoundJob, other: JobState) -> None:
    """Abort a newer job that has a claim and shows no sign of life; a live driver gets an error."""
    record = Decision(
        nonce=job.store.ids.nonce(),
        job_id=other.layout.job_id,
        state="aborted",
        by=f"job {job.record.job_id}, which came first",
    )
    try:
        await decide(job.store, other.layout, record)
    except JobNotActiveError:
        return


async def _until_over(job: BoundJob, claim: Claim, older: JobState, deadline: float) -> None:
    """Wait, without a claim, until *older* is no longer in the way."""
    patience = Patience(job)
    while _in_the_way(claim, older):
        if asyncio.get_running_loop().time() >= deadline:
            raise concurrent(job, older)
        await patience.wait(older)
        older = await read_state(job.store, older.layout, before=older)
