"""``_SUCCESS``: prepared before the decision, published after every file, one-shot like any file.

A stale driver cannot write its marker over a later job's, because publishing consumes what was
prepared. The marker of an earlier job is removed first, so that it never stands for half a job.
That job may be unfinished: so whoever removes a marker leaves one, and a job that finds its own
gone asks whether another job is about to publish a marker.
"""

from itertools import islice

from fsspec_commit.effects import deletion
from fsspec_commit.errors import PartialCommitError, RequestError
from fsspec_commit.ids import NEVER, started
from fsspec_commit.names import SUCCESS
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.job_state import JobState, jobs_among, read_state
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.marks import epochs_among
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Claim, Decision, FileIdentity, Published, Success
from fsspec_commit.records.success import IOStatistics, SuccessData
from fsspec_commit.store import Directory

FILENAMES_MAX = 10_000
"""Hadoop's marker lists at most 100 names; more are for people who compare, not for programs.

No version of this library has written one that lists still more.
"""
_LOOKS_MAX = 8


async def prepare_success(
    job: BoundJob, claim: Claim, new: NewFiles, stale: FileIdentity | None
) -> FileIdentity | None:
    """Prepare the job's marker, if it is to have one, or one that takes the place of *stale*.

    Its name contains the claim's nonce: a second driver of the job must not replace the marker that
    the first one's decision names.
    """
    kind = _kind(job, stale)
    if kind == "none":
        return None
    data = b"" if kind == "marker" else success_data(job, new)
    return await job.committer.prepare_success(job.layout, claim.nonce, data)


def _kind(job: BoundJob, stale: FileIdentity | None) -> Success:
    """Which marker the job leaves: its own, or one in the place of *stale*.

    A job that adds to data removes the marker that speaks for them, perhaps that of an unfinished
    job with which it does not conflict: when all is in place again, a marker must stand. A job that
    replaces all the data waits for every other job, and the marker goes with the data. Where a
    marker cannot be removed, one that names files is replaced by a job that may replace these.
    """
    own, mode = job.record.success, job.record.mode
    if own != "none" or stale is None:
        return own
    if _is_removed(job):
        leaves_one = mode in {"append", "overwrite_partitions"}
    else:
        leaves_one = stale.size > 0 and mode != "append"
    if not leaves_one:
        return own
    return "json" if stale.size else "marker"


def success_data(job: BoundJob, new: NewFiles) -> bytes:
    """The content of the marker, as Hadoop's tools read it."""
    now = job.store.ids.now()
    record = SuccessData(
        timestamp=round((now - NEVER).total_seconds() * 1000),
        date=now.isoformat(),
        hostname=job.record.host,
        committer=job.committer.name,
        job_id=job.record.job_id,
        diagnostics={
            "mode": job.record.mode,
            "file_count": str(new.count),
            "filenames_sha256": new.names_digest(),
            "started": started(job.layout.job_id).isoformat(),
        },
        filenames=list(islice(new.names, FILENAMES_MAX)),
        iostatistics=IOStatistics(
            counters={
                "committer_files_committed": new.count,
                "committer_bytes_committed": new.bytes,
            }
        ),
    )
    return record.encode()


async def seen_success(job: BoundJob) -> FileIdentity | None:
    """The marker of an earlier job that stands now, if there is one.

    Raises:
        RequestError: There is a directory of that name, which no marker can replace.
    """
    entry = await job.store.stat(job.layout.destination.success)
    if entry is None:
        return None
    if isinstance(entry, Directory):
        message = (
            f"cannot commit to {job.record.destination!r}: {SUCCESS!r} is a directory there, "
            "which could neither be removed before the new files appear nor replaced after; "
            "move it away, then try again"
        )
        raise RequestError(
            message,
            kind="directory_in_the_way",
            job_id=job.record.job_id,
            path=SUCCESS,
            stage="check",
        )
    return FileIdentity(size=entry.size_bytes, token=entry.token)


async def remove_stale_success(job: BoundJob, decision: Standing[Decision]) -> None:
    """Remove the marker that was seen before the decision, and no other.

    If the store cannot tell it from a later one, it stays until the new one replaces it.
    """
    stale = deletion.of_stale_success(job.layout, decision)
    if stale is not None and _is_removed(job):
        permit, entry = stale
        await job.removal.remove(job.layout, entry, permit)


def beware_of_stale_success(job: BoundJob, decision: Standing[Decision]) -> None:
    """Note that the driver which published the files may still remove the earlier marker."""
    stale = deletion.of_stale_success(job.layout, decision)
    if stale is not None and _is_removed(job):
        job.removal.beware(job.layout, stale[1])


async def publish_success(
    job: BoundJob,
    decision: Standing[Decision],
    published: Standing[Published],
    *,
    accept_loss: bool,
) -> tuple[str, ...]:
    """Publish the marker that the decision names, if it names one and no file was lost.

    If the prepared one is gone, it may have been published, and then removed by another job that is
    about to publish its own, which serves for both. A marker that is lost is never prepared again:
    a driver that was superseded could publish the second one after the next job has begun to
    publish.

    Returns:
        Warnings: that the marker is lost, if that is accepted.

    Raises:
        PartialCommitError: The prepared marker is gone, and none stands: readers that wait for one
            would wait for ever.
    """
    marker, claim = decision.record.success, decision.record.claim
    if marker is None or claim is None or published.record.lost:
        return ()
    stale = None if _is_removed(job) else decision.record.stale_success
    found: frozenset[str] | None = frozenset()
    for look in range(_LOOKS_MAX):
        if await job.committer.publish_success(job.layout, claim.nonce, marker, stale):
            return ()
        before, found = found, await _others(job)
        if found is None:
            return ()
        if look and found == before:
            break  # No other job has come or gone since: none has removed it, or published one.
    if accept_loss:
        return (f"lost: {SUCCESS!r} is gone, and was left out",)
    message = (
        f"every file is in place, but {SUCCESS!r} is not, and the prepared one is gone: somebody "
        "else removed it, or a rule of the bucket did; readers that wait for it still do; finish "
        f"without it with: {job.settle_command('resume')} --accept-loss"
    )
    raise PartialCommitError(message, path=SUCCESS, remaining=0, stage="finish")


async def _others(job: BoundJob) -> frozenset[str] | None:
    """What changes whenever another job publishes a marker; ``None`` if one is about to do so.

    A job is if its decision names a marker that is still prepared: one whose marker is not may be
    another that has lost its own. The epoch of a job may stand before its marker does, as this
    job's own may by now, but not before its decision: of a job that has decided and published since
    the last look, either the area is new here, or the epoch is.
    """
    layout = job.layout.destination
    beside = await job.store.list_usable(layout.areas)
    found = {str(epoch.path) for epoch in epochs_among(beside, layout)}
    for other in jobs_among(beside, layout):
        state = await read_state(job.store, other)
        if other != job.layout and state.state in {"decided", "published", "void"}:
            if await _is_to_mark(job, state):
                return None
            found.add(other.area)
    return frozenset(found)


async def _is_to_mark(job: BoundJob, other: JobState) -> bool:
    if other.decision is None or other.state == "void":
        return False
    marker, claim = other.decision.record.success, other.decision.record.claim
    if marker is None or claim is None:
        return False
    return await job.committer.has_prepared_success(other.layout, claim.nonce, marker)


async def withdraw_success(job: BoundJob, lost: Decision) -> None:
    """Drop the marker of a decision that was not made, which removing the area might miss."""
    if lost.success is not None:
        await job.committer.withdraw_success(job.layout, lost.success)


def _is_removed(job: BoundJob) -> bool:
    """Whether a marker can be removed without risk to a later job's."""
    return job.removal.may_take(SUCCESS, in_place=False)
