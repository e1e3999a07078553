"""What stands at a destination, compared with what jobs have written down of their files.

A job under way has manifests. A finished one leaves nothing that says what it wrote, except in a
``_SUCCESS`` with ``success="json"``: the names, and the total size of the files.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.errors import RecordError
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.names import is_visible
from fsspec_commit.protocol.chosen import chosen_by
from fsspec_commit.protocol.folded_names import spelling_on
from fsspec_commit.protocol.hidden_files import bound_to_read, names_in_place
from fsspec_commit.protocol.manifests import ChosenManifests
from fsspec_commit.protocol.seen_jobs import Look, Phase, SeenJob
from fsspec_commit.protocol.snapshot import Reader, steadily
from fsspec_commit.protocol.success import FILENAMES_MAX
from fsspec_commit.records import RECORD_BYTES_MAX, decode_strictly
from fsspec_commit.records.success import SuccessData


@dataclass(frozen=True, kw_only=True)
class VerifyReport:
    """What ``verify`` has found.

    Attributes:
        missing: Files that a job has published and that are not there, each with the job.
        changed: Files that are there, but not as a job wrote them, each with the reason.
        leftovers: What ``clean`` would remove or show: jobs that are decided and not finished,
            damaged jobs, remains of jobs that are over, pending uploads; but no job that has not
            decided, since that may be at work.
        checked_count: How many files were compared with what a job has written down. Finished jobs
            leave a list with ``success="json"`` only.
        file_count: How many visible files there are.
    """

    missing: tuple[str, ...]
    changed: tuple[str, ...]
    leftovers: tuple[str, ...]
    checked_count: int
    file_count: int

    @property
    def ok(self) -> bool:
        """Whether nothing is missing, changed or left over."""
        return not (self.missing or self.changed or self.leftovers)

    def __bool__(self) -> bool:
        """The same as :attr:`ok`: an ``assert`` of the whole report asserts what it looks like."""
        return self.ok


@dataclass(slots=True)
class Comparison:
    """What jobs say of their files, and what a listing shows of these.

    Attributes:
        missing: As in the report.
        changed: As in the report.
        checked_count: As in the report.
        file_count: As in the report.
    """

    missing: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    checked_count: int = 0
    file_count: int = 0


@dataclass(frozen=True, slots=True)
class _Written:
    """One file as a job has written it down.

    Attributes:
        job_id: The job.
        size_bytes: Its size, if that is known.
        must_stand: Whether the job has published it.
    """

    job_id: str
    size_bytes: int | None
    must_stand: bool


async def compare(reader: Reader) -> Comparison:
    """Compare the files with what jobs say of them, while no job changes that.

    Raises:
        SnapshotUnstableError: Jobs came and went each time.
    """
    return await steadily(reader, partial(_compare, reader))


async def _compare(reader: Reader, look: Look) -> Comparison:
    written: dict[str, _Written] = {}
    decided = [job for job in look.jobs.values() if job.decision is not None]
    for job in decided:
        written.update(await _written_by(reader, job))
    # A job that replaces every file in place says nothing of them before it has published.
    marker = None if decided else await _marker(reader.store)
    if marker is not None:
        one_of_it = _Written(marker.job_id, None, must_stand=True)
        written = dict.fromkeys(marker.filenames, one_of_it)
    comparison = Comparison(checked_count=len(written))
    destination = DestinationLayout(reader.store.root)
    spelled = await spelling_on(reader.store, destination) if written else str
    left = {spelled(name): (name, one) for name, one in written.items()}
    size_bytes = 0
    listing = reader.store.list_tree(destination.root, without=destination.areas)
    async with ending(listing) as entries:
        async for entry in entries:
            name = destination.relative(entry.path)
            comparison.file_count += is_visible(name)
            _, one = left.pop(spelled(name), (name, None))
            if one is None:
                continue
            size_bytes += entry.size_bytes
            if one.size_bytes not in {None, entry.size_bytes}:
                has = f"it has {entry.size_bytes} bytes, and {one.size_bytes} when it was written"
                comparison.changed.append(f"{name}: {has} by job {one.job_id}")
    comparison.missing += [
        f"{name}: of job {one.job_id}" for name, one in left.values() if one.must_stand
    ]
    if marker is not None and not comparison.missing:
        comparison.changed += _of_other_size(marker, size_bytes)
    comparison.missing.sort()
    comparison.changed.sort()
    return comparison


async def _written_by(reader: Reader, job: SeenJob) -> dict[str, _Written]:
    """The files of a job that is decided and not finished."""
    if job.decision is None or job.decision.record.claim is None:
        return {}
    bound = await bound_to_read(reader.store, job.layout, reader.bind)
    is_lossless = job.published is not None and not job.published.record.lost
    written: dict[str, _Written] = {}
    manifests = ChosenManifests(bound, chosen_by(bound, job.decision.record))
    async with ending(aiter(manifests)) as reading:
        async for manifest in reading:
            for file in bound.committer.read(manifest).files:
                written[file.target] = _Written(
                    job.layout.job_id, file.size_bytes, must_stand=is_lossless
                )
    if job.phase is Phase.DECIDED:
        # Under these names there may still be the old content.
        in_place = await names_in_place(bound, job.decision.record)
        written = {name: one for name, one in written.items() if name not in in_place}
    return written


async def _marker(store: ConfirmedStore) -> SuccessData | None:
    """What ``_SUCCESS`` says, if this library wrote it and it is not empty."""
    path = DestinationLayout(store.root).success
    data = await store.read_or_refusal(path, limit_bytes=RECORD_BYTES_MAX)
    if not isinstance(data, bytes) or not data:
        return None
    try:
        marker = decode_strictly(data, SuccessData, RECORD_BYTES_MAX)
    except RecordError:
        return None
    is_ours = marker.job_id_source == "fsspec_commit" and len(marker.filenames) <= FILENAMES_MAX
    return marker if is_ours else None


def _of_other_size(marker: SuccessData, size_bytes: int) -> Iterable[str]:
    """What to report if a job's files, all known, differ in total size from what it wrote."""
    counters = marker.iostatistics.counters
    wrote = counters.get("committer_bytes_committed", size_bytes)
    if counters.get("committer_files_committed") == len(marker.filenames) and wrote != size_bytes:
        yield (
            f"the {len(marker.filenames)} files of job {marker.job_id} have {size_bytes} bytes, "
            f"and had {wrote} when it committed"
        )
