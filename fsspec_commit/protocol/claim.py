"""Claim, then look: conflicting jobs become serial (P11).

Every job writes its claim before it reads the others', so of two jobs at least one sees the other.
The rules were checked over every interleaving of small jobs, and every weaker set of rules failed.
How long a job waits never affects correctness.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from msgspec.structs import replace

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.reads import is_of_who_asks
from fsspec_commit.effects.parallel import both, failure_or
from fsspec_commit.effects.stored_records import establish, inactive
from fsspec_commit.errors import (
    CommitError,
    ConcurrentJobError,
    JobNotActiveError,
    NewerVersionError,
    RecordError,
)
from fsspec_commit.layout import JobLayout
from fsspec_commit.names import Partition, partition_key
from fsspec_commit.protocol.bound_job import BoundJob, settle_command
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
from fsspec_commit.protocol.other_jobs import Met, those_in_the_way
from fsspec_commit.protocol.sign_of_life import SignOfLife, Watch
from fsspec_commit.records.entries import Sized
from fsspec_commit.records.job import Claim, Decision, JobRecord
from fsspec_commit.store import Directory, Entry, Unusable

_log = logging.getLogger("fsspec_commit")

PARTITIONS_MAX = 10_000
"""With more partitions, or a record that would be too long, the whole destination is claimed."""
_POLL_S = 0.01
_POLL_S_MAX = 0.5
"""The longest pause of a wait that has lasted for some seconds."""
_POLL_S_MAX_LATER = 1.25
_PAUSES_A_WAIT = 20
"""In a longer wait, a pause is one part in this many of the time waited, so it adds little."""
_UNNOTICED_S = 0.1
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
            areas, _ = await both(_list_areas(job, early), _find_job(job))
            for unusable in unusable_among(areas, job.layout.destination):
                raise _concurrent(job, unusable)
            others = jobs_among(areas, job.layout.destination)
            met = await _meet(job, claim, others)
            await early.settle(met_none=met.all_are_passed)
            older = await _clear(job, claim, met.in_the_way, deadline)
        except JobNotActiveError:
            with suppress(CommitError):  # The claim goes with the area; this error counts more.
                await withdraw_claim(job, claim)
            raise
        except CommitError:
            await withdraw_claim(job, claim)
            raise
        if older is None:
            was_alone = {layout.job_id for layout in others} <= {claim.job_id}
            beside = tuple(one for one in areas if not isinstance(one, Unusable))
            return HeldClaim(claim, beside, was_alone)
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


async def _meet(job: BoundJob, claim: Claim, others: list[JobLayout]) -> Met:
    looking = [layout for layout in others if layout.job_id != claim.job_id]
    return await those_in_the_way(
        job.store, looking, claim.outline, lambda state: _in_the_way(claim, state)
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
        patience = _Patience(job)
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
                        raise _concurrent(job, JobState(layout, "damaged", damage=newer))
                    await _fence(job, other)
                    continue
            if loop.time() >= deadline:
                raise _concurrent(job, other)
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
    patience = _Patience(job)
    while _in_the_way(claim, older):
        if asyncio.get_running_loop().time() >= deadline:
            raise _concurrent(job, older)
        await patience.wait(older)
        older = await read_state(job.store, older.layout, before=older)


def _concurrent(job: BoundJob, other: JobState) -> ConcurrentJobError:
    destination, other_id = job.record.destination, other.layout.job_id
    command = {
        "committing": ("abort", destination, other_id),
        "damaged": ("clean", destination, "--damaged", other_id, "--delete"),
    }.get(other.state, ("resume", destination, other_id))
    message = (
        f"cannot commit job {job.record.job_id} to {destination!r}: job {_doing(other)} there; "
        "nothing is changed: try again later"
    )
    if other.damage is None or _why_unknown(other.damage) is None:
        message += f", or settle the other: {settle_command(*command)}"
    return ConcurrentJobError(
        message, other_job_id=other_id, job_id=job.record.job_id, stage="claim"
    )


def _doing(other: JobState) -> str:
    """A job and what it does, for a message that ends with "there"."""
    doing = {"committing": "is committing"}.get(other.state, "is committed but not finished")
    if other.damage is not None:
        doing = f"{_why_unknown(other.damage) or 'is damaged'} ({other.damage})"
    return f"{other.layout.job_id} {doing}"


def _why_unknown(damage: RecordError) -> str | None:
    """How to describe a job that counts as damaged here, but may be sound to another caller."""
    if isinstance(damage, NewerVersionError):
        return "is not known"
    return "cannot be looked at" if is_of_who_asks(damage) else None


class _Patience:
    """Sleeps longer each time, with jitter, so that waiting jobs do not run in step.

    When the wait becomes noticeable, the job that is waited for is logged.
    """

    def __init__(self, job: BoundJob) -> None:
        self._job = job
        self._ids = job.store.ids
        self._pause_s = _POLL_S
        self._waited_s = 0.0
        self._is_told = False

    async def wait(self, other: JobState) -> None:
        if self._pause_s > _UNNOTICED_S and not self._is_told:
            self._is_told = True
            _log.info(
                "job %s to %r waits: job %s there",
                self._job.record.job_id,
                self._job.record.destination,
                _doing(other),
                extra={"waits_for": other.layout.job_id},
            )
        pause_s = self._pause_s * (0.5 + self._ids.jitter())
        await asyncio.sleep(pause_s)
        self._waited_s += pause_s
        longest_s = max(_POLL_S_MAX, min(_POLL_S_MAX_LATER, self._waited_s / _PAUSES_A_WAIT))
        self._pause_s = min(longest_s, self._pause_s * 1.5)
