"""What a driver is told whose job somebody else has ended: a resumer, an aborter, a twin."""

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    JobNotActiveError,
    RecordError,
    Stage,
    failing_as,
)
from fsspec_commit.layout import DestinationLayout, JobLayout, StorePath
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.decision import settled_as
from fsspec_commit.protocol.file_names import FileNames, NameIndex
from fsspec_commit.protocol.job_records import read_record, standing_decision
from fsspec_commit.protocol.listing import ending
from fsspec_commit.protocol.marks import epochs_among


async def is_over(job: BoundJob) -> bool:
    """Whether a job that has decided to commit has been finished; an unanswered question is no.

    ``job.json`` is gone then, no decision stands that was not published, and an epoch does, as
    one does wherever a job has finished: what is only absent proves nothing, since it may not have
    been the store that was asked.
    """
    return await _has_finished(job.store, job.layout)


async def _has_finished(store: ConfirmedStore, layout: JobLayout) -> bool:
    """The same by its layout alone, for whoever has no record of it."""
    try:
        return await _shows_end(store, layout)
    except CommitError:
        return False


@failing_as(CommitStateUnknownError, "finish")
async def _shows_end(store: ConfirmedStore, layout: JobLayout) -> bool:
    if await read_record(store, layout) is not None:
        return False
    listed = {child.path for child in await store.list_area(layout.area)}
    if layout.decision in listed and layout.published not in listed:
        return False
    destination = layout.destination
    return bool(epochs_among(await store.list_area(destination.areas), destination))


def finished_by_another(job: BoundJob) -> JobNotActiveError:
    """The end of a driver that was overtaken after its own decision: the job is committed."""
    job_id = job.record.job_id
    message = f"job {job_id} was finished by somebody else, who resumed it; it is committed"
    return JobNotActiveError(message, job_id=job_id, outcome="committed", stage="finish")


async def over_after_deciding(job: BoundJob, names: FileNames) -> JobNotActiveError:
    """The end of a driver whose job is over, though its own decision was not carried out by it.

    A resumer has: then all *names* are there, unless a later job has replaced them. Or a person has
    given the job up as damaged, and what was not published by then never will be; nor will the old
    files go that were still there.
    """
    if await _all_stand(job, names):
        return finished_by_another(job)
    job_id = job.record.job_id
    message = (
        f"job {job_id} was decided and is over, and nothing shows that all of it was done: a later "
        "job has replaced its files, or somebody has given it up as damaged (clean --accept-loss); "
        f"look at {job.record.destination!r} before you run it again"
    )
    return JobNotActiveError(message, job_id=job_id, outcome="unknown", stage="finish")


async def _all_stand(job: BoundJob, names: FileNames) -> bool:
    """Whether each of *names* is listed, and nobody has given the job up; if in doubt, no."""
    wanted = NameIndex.of(names)
    try:
        is_whole = await _count(job, wanted) == len(wanted)
        return is_whole and not await _is_given_up(job.store, job.layout)
    except CommitError:
        return False


@failing_as(CommitStateUnknownError, "finish")
async def _count(job: BoundJob, wanted: NameIndex) -> int:
    destination, found = job.layout.destination, 0
    listing = job.store.list_tree(destination.root, without=destination.areas)
    async with ending(listing) as files:
        async for file in files:
            found += wanted.holds(destination.relative(file.path))
    return found


async def settled_by_another(job: BoundJob, error: CommitError) -> JobNotActiveError | None:
    """What *error*, met before a decision of ours stood, is really due to, if to somebody else.

    A job that another settles looks like many things: a manifest that is gone, a name that is
    taken. ``None`` while nobody has settled it, or when that is not known: then *error* says so
    itself, unless it is a failure of the store, which nobody else's work looks like.
    """
    doubtful = "unknown" if isinstance(error, JobNotActiveError) else "not_committed"
    if error.outcome != doubtful:
        return None
    try:
        standing = await standing_decision(job.store, job.layout)
    except JobNotActiveError:
        return await ended_by_another(job)
    except CommitError as refused:
        if isinstance(refused, RecordError) or not isinstance(error, CommitFailedError):
            error.outcome = "unknown"
            error.add_note(f"it is not known whether somebody else has settled the job: {refused}")
        return None
    return None if standing is None else settled_as(job.layout, standing)


async def ended_by_another(job: BoundJob) -> JobNotActiveError:
    """The end of whoever finds the job gone that they would have settled."""
    return await ended(job.store, job.layout, job.record.destination, stage="decide")


async def ended(
    store: ConfirmedStore, layout: JobLayout, destination: str, *, stage: Stage
) -> JobNotActiveError:
    """What is known of a job that has no ``job.json``.

    No tombstone says how the job ended, but its files do: their names carry its id, and only a
    committed job has any. Without one it is not known: a later job may have replaced them. Nor is
    it of a job that somebody has given up, or some files of it, which leaves word of that.
    """
    job_id = layout.job_id
    if await _has_finished(store, layout) and await _shows_all(store, layout):
        message = f"job {job_id} is committed and finished already; do not run it again"
        return JobNotActiveError(message, job_id=job_id, outcome="committed", stage=stage)
    message = (
        f"job {job_id} is not to be found: it was aborted, given up as damaged, finished without "
        "files that were lost, or committed and replaced since, or it never was; look at "
        f"{destination!r} before you run it again"
    )
    return JobNotActiveError(message, job_id=job_id, outcome="unknown", stage=stage)


async def _shows_all(store: ConfirmedStore, layout: JobLayout) -> bool:
    """Whether a file is named by the job, which nobody has given up; an unanswered question is no.

    Of one that was given up a file may be there, and others lost.
    """
    try:
        return await _lists_files(store, layout) and not await _is_given_up(store, layout)
    except CommitError:
        return False


@failing_as(CommitStateUnknownError, "decide")
async def _is_given_up(store: ConfirmedStore, layout: JobLayout) -> bool:
    return await store.stat(layout.destination.lost(layout.job_id)) is not None


@failing_as(CommitStateUnknownError, "decide")
async def _lists_files(store: ConfirmedStore, layout: JobLayout) -> bool:
    destination = layout.destination
    known: dict[StorePath, bool] = {}
    async with ending(store.list_tree(destination.root, without=destination.areas)) as files:
        async for file in files:
            if f"-{layout.job_id}-" not in destination.relative(file.path):
                continue
            if not await _is_anothers(store, destination, file.path, known):
                return True
    return False


async def _is_anothers(
    store: ConfirmedStore,
    destination: DestinationLayout,
    path: StorePath,
    known: dict[StorePath, bool],
) -> bool:
    """Whether *path* may be of another destination, which is below the one that was asked about.

    There the job may be unfinished. *known* is what was found out, of each directory.
    """
    for other in destination.others_between(path):
        if other.root not in known:
            areas = await store.list_children_if_allowed(other.areas)
            known[other.root] = areas is None or bool(areas)
        if known[other.root]:
            return True
    return False
