"""Which visible files do not count: those of a job that is not published, and those it replaces."""

from collections.abc import Callable
from typing import TypeAlias

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.layout import JobLayout
from fsspec_commit.names import job_named_in
from fsspec_commit.protocol.bound_job import Bind, BoundJob
from fsspec_commit.protocol.chosen import chosen_by
from fsspec_commit.protocol.file_names import NameIndex
from fsspec_commit.protocol.folded_names import spelling_on
from fsspec_commit.protocol.job_records import over, read_record
from fsspec_commit.protocol.manifests import ChosenManifests
from fsspec_commit.protocol.replaced import ReplacedFiles
from fsspec_commit.records import Standing
from fsspec_commit.records.entries import in_batches
from fsspec_commit.records.job import Decision
from fsspec_commit.store import Entry

Hides: TypeAlias = Callable[[str, Entry], bool]
"""Whether the file of this name, relative to the destination, does not count."""


async def new_files_of(
    store: ConfirmedStore, layout: JobLayout, decision: Standing[Decision], bind: Bind
) -> Hides:
    """Hide the new files of a job that has decided and not published.

    Unique names hold the id of the job, and nothing has to be read. Exact ones are in the
    manifests. Where one of these replaces an old file in place, the name stays: under it there is
    either the old content, or the new, which nobody can undo.

    Raises:
        RecordError: A manifest, or the list of replaced files, cannot be read.
        JobNotActiveError: The job is over.
    """
    claim = decision.record.claim
    if claim is not None and claim.names == "unique":
        job_id = layout.job_id
        mark = f"-{job_id}-"
        return lambda name, _: mark in name and job_named_in(name) == job_id
    job = await bound_to_read(store, layout, bind)
    in_place, new = await names_in_place(job, decision.record), NameIndex()
    # No old file but one replaced in place has a name that the store takes for one of these.
    spelled = await spelling_on(store, layout.destination)
    manifests = ChosenManifests(job, chosen_by(job, decision.record))
    async with ending(aiter(manifests)) as reading:
        async for manifest in reading:
            for files in in_batches(job.committer.read(manifest).files):
                new.extend(spelled(file.target) for file in files if file.target not in in_place)
    new.freeze()
    return lambda name, _: spelled(name) in new


async def names_in_place(job: BoundJob, decision: Decision) -> NameIndex:
    """The names under which a job replaces old files in place.

    Raises:
        RecordError: The list of replaced files cannot be read.
    """
    names = NameIndex()
    async for batch in ReplacedFiles(job, decision).batches():
        names.extend(file.name for file in batch if file.in_place)
    names.freeze()
    return names


async def replaced_files_of(job: BoundJob, decision: Standing[Decision]) -> Hides:
    """Hide the old files that a published job replaces, each as long as it is the listed one.

    A file that somebody else has put in its place stays, as it will when the job is finished.

    Raises:
        RecordError: The list cannot be read.
        JobNotActiveError: The job is over.
    """
    old = NameIndex()
    async for batch in ReplacedFiles(job, decision.record).batches():
        old.extend(_content(file.name, file.token) for file in batch if not file.in_place)
    old.freeze()
    return lambda name, entry: _content(name, entry.token) in old


def _content(name: str, token: str) -> str:
    """One content under one name, as a text; neither holds a NUL."""
    return f"{name}\0{token}"


async def bound_to_read(store: ConfirmedStore, layout: JobLayout, bind: Bind) -> BoundJob:
    """The job, bound; until another is bound, the store shows tokens as this job's records do.

    Raises:
        JobNotActiveError: The job is over.
    """
    record = await read_record(store, layout)
    if record is None:
        raise over(layout)
    return bind(record)
