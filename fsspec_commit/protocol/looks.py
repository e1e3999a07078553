"""What a job looks at under its claim, early if that may count; what it does depends on all of it.

Early looks take few requests, which are wasted if they do not count. What may take many, the
listing of old files, is begun early only where no other job is listed (but see
:mod:`~fsspec_commit.protocol.list_ahead`); and a job whose new files may have the names of others
first finds out which names the store takes for one.
"""

from dataclasses import dataclass

from fsspec_commit.effects.parallel import both
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.early_look import EarlyLook, Look
from fsspec_commit.protocol.list_ahead import ListAhead
from fsspec_commit.protocol.listing import first_visible
from fsspec_commit.protocol.manifests import NewFiles
from fsspec_commit.protocol.marks import is_done
from fsspec_commit.protocol.old_partitions import FilesOutside
from fsspec_commit.protocol.replaced import list_replaced, minds_data, replaces
from fsspec_commit.protocol.streamed_list import ListWriter
from fsspec_commit.protocol.success import seen_success
from fsspec_commit.records.job import Claim, FileIdentity

_MARKER_COUNTS_S = 2.0
"""How long a look at the marker counts. One published since would stand beside half of the job."""


@dataclass(frozen=True, slots=True)
class SeenMarker:
    """The marker that stood, if one did, when it was looked for."""

    identity: FileIdentity | None
    at_s: float


@dataclass(frozen=True, slots=True)
class OldFiles:
    """What a listing of old files has found.

    Attributes:
        list: The writer of the list of files that will go; ``None`` if none are listed.
        outside: Those that stay because they are in no partition.
        stale: The marker that stood beside them, where any are listed.
    """

    list: ListWriter | None
    outside: FilesOutside
    stale: SeenMarker | None


@dataclass(frozen=True, slots=True)
class Looks:
    """The looks of a job.

    Attributes:
        is_done: Whether its key has committed: see :func:`is_done`.
        data: The name of some file with data: see :func:`first_visible`.
        old_files: The files that it replaces: see :func:`list_replaced`.
        stale: The marker that stands, where no old files are listed: see :func:`seen_success`.
    """

    is_done: Look[bool]
    data: Look[str | None]
    old_files: Look[OldFiles]
    stale: Look[SeenMarker]


def looks_of(job: BoundJob, new: NewFiles, early: EarlyLook, ahead: ListAhead) -> Looks:
    """The looks of *job*; *early* takes those that may count early."""

    async def old_files(claim: Claim) -> OldFiles:
        outside = FilesOutside()

        async def before_it_writes() -> None:
            await early.is_settled()
            of_list = await ahead.claim_of_list(claim)
            writer.path = job.layout.replaced(of_list.nonce)

        if not replaces(job):
            return OldFiles(None, outside, None)
        writer = ListWriter(job, job.layout.replaced(claim.nonce), before_it_writes)
        try:
            _, stale = await both(list_replaced(job, new, outside, writer), _look(job))
        except BaseException:
            await writer.discard()
            raise
        return OldFiles(writer, outside, stale)

    looks = Looks(
        Look(lambda _: is_done(job)),
        Look(lambda _: first_visible(job)),
        Look(old_files, only_alone=True, drop=_discard),
        Look(lambda _: _look(job)),
    )
    if job.record.key_digest is not None:
        early.take(looks.is_done)
    if minds_data(job):
        early.take(looks.data)
    if not replaces(job):
        early.take(looks.stale)
    elif not new.may_meet_others:
        early.take(looks.old_files)
    return looks


async def still_stands(job: BoundJob, seen: SeenMarker) -> FileIdentity | None:
    """The marker that was *seen*, or, if that is long ago, the one that stands now."""
    is_old = job.store.clock() - seen.at_s > _MARKER_COUNTS_S
    return await seen_success(job) if is_old else seen.identity


async def _look(job: BoundJob) -> SeenMarker:
    at_s = job.store.clock()
    return SeenMarker(await seen_success(job), at_s)


async def _discard(found: OldFiles) -> None:
    if found.list is not None:
        await found.list.discard()
