"""Delete requests that are carried out late, when the name is in use again.

Where equal bytes have equal tokens, an old file is deleted on condition of a token that a newer
file of its name may have as well. Only a job that writes names which others may write, too, can
create such a file, and no two jobs that touch one directory commit at the same time. So a job that
deletes such files records it before it ends, in a directory beside the areas with empty files named
after what it deleted; and a job that is about to create such a name checks there first, under its
claim, and is refused. The rules are checked by the model in ``tests/specs/late_deletes.py``.

Here, and for nothing else, clocks count: they lift the refusal. A store refuses a request
that was signed more than 15 minutes before or after its own time. So every clock that matters is
within that much of the store's, and a request comes at most 30 minutes after it was signed. With

* 15 minutes between the record of a job and the request that deletes its ``job.json``, which comes
  30 minutes after that at the latest,
* 5 minutes between a read of ``job.json`` and the last deletion that is sent because of it, which
  comes 30 minutes after that,
* and 30 minutes between the clocks of the two who write the record and read it,

nothing comes later than 110 minutes after the time that the record names; it counts for 120. This
rests on a process not being halted just between the comparison with its clock and the signature
that follows.
"""

from array import array
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

from fsspec_commit.effects import deletion
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.parallel import all_of, for_each
from fsspec_commit.errors import UnsafeStoreError
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import Target
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.claim import HeldClaim
from fsspec_commit.protocol.manifests import NewFiles, another_name
from fsspec_commit.protocol.marks import areas_gone
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.job import Published
from fsspec_commit.store import Directory, Entry

_RETIRED_WITHIN = timedelta(minutes=15)
_LATER_PER_RETRY = timedelta(minutes=30)
_LATEST = datetime.max.replace(tzinfo=UTC) - deletion.LATE_DELETES_END
_DIGEST_CHARACTERS = 16
_DIGESTS_A_NAME = 15


async def leave_late_deletes(
    job: BoundJob,
    published: Standing[Published],
    replaced: ReplacedFiles,
    *,
    retries: int = 0,
) -> deletion.Permit:
    """Record what requests of this job may still delete, before ``job.json`` is removed.

    Every driver that finishes the job does so, even if all its own requests were answered: another
    driver may have sent some as well.

    Args:
        job: The job, bound.
        published: The record that its files are in place.
        replaced: The files that it has deleted.
        retries: How often removing the area has taken longer than its permit lasts. The record
            then names a time to come, and counts from there.

    Returns:
        The permit to remove the job's area; it expires if there was something to record.
    """
    permit = deletion.of_published(job.layout, published)
    if published.record.lost or not replaced.late_count:
        return permit
    layout = job.layout.destination
    moment = job.store.ids.now() + retries * _LATER_PER_RETRY
    directory = layout.deleted(moment, job.store.ids.nonce())

    async def mark(name: str) -> None:
        path = layout.deleted_mark(directory, name)
        if await job.store.create(path, b"", within=layout.areas) is None:
            raise areas_gone(job)

    await for_each(_marks(job, replaced), mark, in_flight_max=job.store.in_flight_max)
    return permit.until(moment + _RETIRED_WITHIN)


async def _marks(job: BoundJob, replaced: ReplacedFiles) -> AsyncIterator[list[str]]:
    """Names of marks, each of as many digests as one name can hold."""
    rest: list[str] = []
    async for batch in replaced.batches():
        for file in batch:
            takes = None if file.in_place else job.removal.late_takes(file.name)
            if takes is not None:
                rest.append(_digest(file.name, file.size if takes == "equal" else None))
        whole = len(rest) // _DIGESTS_A_NAME * _DIGESTS_A_NAME
        yield ["".join(some) for some in _cut(rest[:whole])]
        del rest[:whole]
    yield ["".join(some) for some in _cut(rest)]


def _cut(digests: Sequence[str]) -> Iterable[Sequence[str]]:
    for start in range(0, len(digests), _DIGESTS_A_NAME):
        yield digests[start : start + _DIGESTS_A_NAME]


def _digest(name: str, size_bytes: int | None) -> str:
    """A digest of a name; and of the size, if only a file of equal bytes is in danger.

    The token is left out: servers make the etag of an upload in different ways, and files of
    different sizes have different ones in any case.
    """
    size = "any" if size_bytes is None else str(size_bytes)
    return sha256(f"{size} {name}".encode()).hexdigest()[:_DIGEST_CHARACTERS]


async def refuse_endangered(job: BoundJob, held: HeldClaim, new: NewFiles) -> None:
    """Refuse to create a name that a late request of an earlier job may delete.

    This is checked under the claim, so that no other job deletes meanwhile, and against a listing
    that shows what every earlier job has left.

    Raises:
        UnsafeStoreError: One of the new files would be in danger for a while.
    """
    if not len(new.reusable) or job.record.single_writer:
        return
    layout = job.layout.destination
    beside = held.beside if held.was_alone else await job.store.list_usable(layout.areas)
    ends = {
        child.path: ended
        for child in beside
        if isinstance(child, Directory) and (ended := layout.deleted_at(child.path)) is not None
    }
    now = job.store.ids.now()
    lasting = {path: at for path, at in ends.items() if now - at < deletion.LATE_DELETES_END}
    if not lasting:
        return
    left = await _what_was_left(job, lasting)
    async with ending(aiter(new.manifests)) as manifests:
        async for manifest in manifests:
            for file in job.committer.read(manifest).files:
                if new.reusable.holds(file.target):
                    _refuse_if_in_danger(job, left, file.target, file.size_bytes)


@dataclass(frozen=True, slots=True)
class _Left:
    """The record of one job: when it ended, and its digests in order, eight bytes each."""

    ended: datetime
    digests: "array[int]"

    def holds(self, digest: str) -> bool:
        wanted = int(digest, 16)
        index = bisect_left(self.digests, wanted)
        return index < len(self.digests) and self.digests[index] == wanted


async def _what_was_left(job: BoundJob, ends: Mapping[StorePath, datetime]) -> list[_Left]:
    async def read(directory: StorePath) -> _Left:
        found = array("Q")
        async with ending(job.store.list_tree(directory)) as files:
            async for entry in files:
                text = job.layout.destination.below(directory, entry.path)
                digests = range(0, len(text) - len(text) % _DIGEST_CHARACTERS, _DIGEST_CHARACTERS)
                with_others = [text[start : start + _DIGEST_CHARACTERS] for start in digests]
                found.extend(int(digest, 16) for digest in with_others if _is_digest(digest))
        return _Left(ends[directory], array("Q", sorted(found)))

    return await all_of([*ends], read, in_flight_max=job.store.in_flight_max)


def _is_digest(text: str) -> bool:
    return set(text) <= set("0123456789abcdef")


def _refuse_if_in_danger(
    job: BoundJob, left: Iterable[_Left], name: Target, size_bytes: int
) -> None:
    wanted = {_digest(name, size_bytes), _digest(name, None)}
    ends = [one.ended for one in left if any(map(one.holds, wanted))]
    if not ends:
        return
    until = min(max(ends), _LATEST) + deletion.LATE_DELETES_END
    message = (
        f"cannot write {name!r} to {job.record.destination!r}: an earlier job deleted a file of "
        f"that name there, and until {until:%Y-%m-%d %H:%M:%S} UTC one of its requests may still "
        "arrive, and could take the new file; nothing is changed: try again then; or use "
        f"{another_name(name)}, or single_writer=True, which does not guard against that"
    )
    raise UnsafeStoreError(
        message, kind="late_delete", job_id=job.record.job_id, path=name, stage="check"
    )


async def forget_late_deletes(job: BoundJob, beside: Iterable[Entry | Directory]) -> None:
    """Remove the records of earlier jobs whose deletions cannot be carried out any more."""
    for path, permit in ended_late_deletes(
        job.layout.destination, beside, job.store.ids.now()
    ).items():
        await job.store.delete_tree_or_leave(path, permit)


def ended_late_deletes(
    layout: DestinationLayout, beside: Iterable[Entry | Directory], now: datetime
) -> dict[StorePath, deletion.Permit]:
    """The records that are too old to count, with the permit to remove them."""
    left = [child.path for child in beside if isinstance(child, Directory)]
    permits = {path: deletion.of_late_deletes(layout, path, now) for path in left}
    return {path: permit for path, permit in permits.items() if permit is not None}
