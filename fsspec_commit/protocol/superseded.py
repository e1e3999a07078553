"""The errors of a driver whose job somebody else has ended: a resumer, an aborter, a twin."""

from collections.abc import Collection

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.effects.stored_records import recall
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
from fsspec_commit.names import is_hidden_name, job_named_in
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.chosen import named_manifests
from fsspec_commit.protocol.decision import settled_as
from fsspec_commit.protocol.file_names import FileNames, NameIndex
from fsspec_commit.protocol.job_records import read_record, standing_decision
from fsspec_commit.protocol.marks import epochs_among
from fsspec_commit.records.job import Decision

_LOOKS_MAX = 4


async def is_over(job: BoundJob) -> bool:
    """Whether a job that has decided to commit has been finished; no, if the store does not say.

    If it has, ``job.json`` is gone, no committed decision stands without its ``published``, and an
    epoch stands, as it does wherever a job has finished. Absence alone would prove nothing: the
    answer may not have come from the store. An aborted decision came too late, into a void area:
    the caller's own has counted, and of a job that was aborted no file is ever there. So did a
    committed one that could not be published, since manifests that it has chosen are not there.
    """
    return await _has_finished(job.store, job.layout)


async def _has_finished(store: ConfirmedStore, layout: JobLayout) -> bool:
    """:func:`is_over`, for a job known by its layout alone."""
    try:
        return await _shows_end(store, layout)
    except CommitError:
        return False


@failing_as(CommitStateUnknownError, "finish")
async def _shows_end(store: ConfirmedStore, layout: JobLayout) -> bool:
    if await read_record(store, layout) is not None or await _may_be_undone(store, layout):
        return False
    destination = layout.destination
    return bool(epochs_among(await store.list_area(destination.areas), destination))


async def _may_be_undone(store: ConfirmedStore, layout: JobLayout) -> bool:
    """Whether a committed decision stands that was not carried out; if in doubt, yes.

    While an area is removed, its decision goes before its ``published``, and a listing of it shows
    no single moment: it may show the decision and not ``published``, and the decision may be gone
    when it is read.
    """
    for _ in range(_LOOKS_MAX):
        listed = {child.path for child in await store.list_area(layout.area)}
        has_both = layout.decision in listed and layout.manifests in listed
        if not has_both or layout.published in listed:
            return False
        late = await recall(store, layout, layout.decision, Decision)
        if late is not None:
            return await _can_be_published(store, layout, late.record, listed)
    return True


async def _can_be_published(
    store: ConfirmedStore, layout: JobLayout, decision: Decision, listed: Collection[StorePath]
) -> bool:
    """Whether what a decision names is listed: its list of attempts, if any, else each manifest.

    Other manifests may be there: of attempts that came too late, and that nobody has chosen.
    """
    if decision.state == "aborted":
        return False
    if decision.chosen_list is not None:
        return layout.chosen_list(decision.chosen_list.nonce) in listed
    named = named_manifests(layout, decision)
    return named <= {entry.path async for entry in store.list_tree(layout.manifests)}


def finished_by_another(job: BoundJob) -> JobNotActiveError:
    """The error of a driver that was superseded after its own decision: the job is committed."""
    job_id = job.record.job_id
    message = f"job {job_id} was finished by somebody else, who resumed it; it is committed"
    return JobNotActiveError(message, job_id=job_id, outcome="committed", stage="finish")


async def over_after_deciding(job: BoundJob, names: FileNames) -> JobNotActiveError:
    """The error of a driver whose decision was carried out, or given up, by somebody else.

    If a resumer has finished the job, all *names* are there, unless a later job has replaced them.
    If a person has given the job up as damaged, files that were not yet published never will be,
    and old files that were not yet deleted stay.
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


async def settled_by_another(
    job: BoundJob, error: CommitError, *, begun_here: bool
) -> JobNotActiveError | None:
    """The error to raise instead of *error*, if somebody else has settled the job meanwhile.

    *error* came before this driver's own decision, and its cause may be the settling of the job:
    a manifest that is gone, a name that is taken. ``None`` if nobody has settled it, or if that is
    not known: then *error* is made to say so. But for the driver that began the job (*begun_here*)
    a failure of the store has nothing to do with others: drivers that are made from the job's spec
    are for when that driver is gone. They cannot know whether it is.
    """
    doubtful = "unknown" if isinstance(error, JobNotActiveError) else "not_committed"
    if error.outcome != doubtful:
        return None
    try:
        standing = await standing_decision(job.store, job.layout)
    except JobNotActiveError:
        return await ended_by_another(job)
    except CommitError as refused:
        is_failure = isinstance(error, CommitFailedError) and not isinstance(refused, RecordError)
        if not (is_failure and begun_here):
            error.outcome = "unknown"
            error.add_note(f"it is not known whether somebody else has settled the job: {refused}")
        return None
    return None if standing is None else settled_as(job.layout, standing)


async def ended_by_another(job: BoundJob) -> JobNotActiveError:
    """The error of a caller that meant to settle the job, and finds it gone."""
    return await error_of_ended(job.store, job.layout, job.record.destination, stage="decide")


async def error_of_ended(
    store: ConfirmedStore, layout: JobLayout, destination: str, *, stage: Stage
) -> JobNotActiveError:
    """The error that says what is known of a job that has no ``job.json``.

    No tombstone says how the job ended, but its files do: their names carry its id, and only a
    committed job has any. Without a file it is not known how it ended: a later job may have
    replaced them. Nor is it known if a mark says that somebody has given up the job in part.
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
    """Whether a file carries the job's id, and nobody has given the job up; if in doubt, no.

    Of a job that was given up, some files may be there and others lost.
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
            if not _is_published_by(layout, file.path):
                continue
            if not await _is_anothers(store, destination, file.path, known):
                return True
    return False


def _is_published_by(layout: JobLayout, path: StorePath) -> bool:
    """Whether only this job can have put a file at *path*, which takes a committed decision.

    Hidden names are not given a job's id. In the directory that S3A has for the job, late tasks
    leave files with the names of those that they upload, even if the job was aborted.
    """
    name = path.rpartition("/")[2]
    if is_hidden_name(name) or path.startswith(f"{layout.magic_directory}/"):
        return False
    return job_named_in(name) == layout.job_id


async def _is_anothers(
    store: ConfirmedStore,
    destination: DestinationLayout,
    path: StorePath,
    known: dict[StorePath, bool],
) -> bool:
    """Whether *path* may belong to a destination nested below this one.

    There the job may be unfinished. *known* caches the answer for each directory.
    """
    for other in destination.others_between(path):
        if other.root not in known:
            areas = await store.list_children_if_allowed(other.areas)
            known[other.root] = areas is None or bool(areas)
        if known[other.root]:
            return True
    return False
