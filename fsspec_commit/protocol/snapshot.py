"""What a reader should see: whole jobs only, while others commit, die and are resumed.

A reader looks at all jobs, lists the files, and looks again. If nothing that matters has changed in
between, each job was in one state all the time, and what does not count in that state is left out:
the new files of jobs that are publishing, and the old files of those that have published.
Otherwise the reader lists again. A job that began and finished in between is shown by the epoch.

The rules were checked over every interleaving of small jobs with one reader.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from fsspec_commit.effects.confirmed.reads import is_of_who_asks
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.ending import ending
from fsspec_commit.errors import (
    JobNotActiveError,
    NewerVersionError,
    RecordError,
    RequestError,
    SnapshotUnstableError,
)
from fsspec_commit.layout import DestinationLayout, JobLayout
from fsspec_commit.names import AREA, is_visible
from fsspec_commit.protocol.bound_job import Bind, BoundJob, settle_command
from fsspec_commit.protocol.hidden_files import (
    Hides,
    bound_to_read,
    new_files_of,
    replaced_files_of,
)
from fsspec_commit.protocol.job_state import jobs_among
from fsspec_commit.protocol.marks import epochs_among
from fsspec_commit.protocol.seen_jobs import Look, SeenJob, look_at_all

T = TypeVar("T")

TRIES_MAX = 64
"""How often the files are listed before the reader gives up, if jobs come and go all the time."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of a destination.

    Attributes:
        store: The store.
        url: The destination as messages and commands name it.
        bind: Binds a job whose records say which files to leave out.
        opened_above: Opens the directory that many levels above the destination, if the store may
            refuse to show what is not below that.
    """

    store: ConfirmedStore
    url: str
    bind: Bind
    opened_above: Callable[[int], AbstractAsyncContextManager[ConfirmedStore]] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files that count.

    Attributes:
        names: Their names relative to the destination, sorted.
        bytes: How large they are together.
    """

    names: list[str]
    bytes: int


async def committed_files(reader: Reader) -> Snapshot:
    """The files of whole jobs, as of one moment during the call.

    Raises:
        SnapshotUnstableError: Jobs came and went each time.
        RecordError: A record of a job that may have committed cannot be read.
        RequestError: Another destination lies inside this one, or this one inside another.
    """
    return await steadily(reader, partial(_list_committed, reader))


async def steadily(reader: Reader, examine: Callable[[Look], Awaitable[T]]) -> T:
    """What *examine* finds out between two looks that agree; it is given the first of them.

    What it raises about a record, or a job that is over, counts only if they agree.

    Raises:
        SnapshotUnstableError: No two looks agreed.
        RequestError: This is not a destination, but lies inside one.
    """
    look = await look_at_all(reader.store)
    for _ in range(TRIES_MAX):
        found: T | None = None
        failure: RecordError | JobNotActiveError | None = None
        try:
            found = await examine(look)
        except (RecordError, JobNotActiveError) as error:
            failure = error
        later = await look_at_all(reader.store)
        if look.agrees_with(later):
            if not later.epochs and not later.jobs:
                # Not asked earlier: the first job of a destination above may have begun since.
                await _refuse_inside_another(reader)
            if failure is not None:
                raise failure
            return found  # type: ignore[return-value]  # it is unset only after a failure
        look = later
    message = (
        f"jobs at {reader.url!r} came and went each of the {TRIES_MAX} times that it was "
        "listed; ask again, when fewer of them end"
    )
    raise SnapshotUnstableError(message, stage="read")


async def hidden_by(reader: Reader, look: Look) -> list[Hides]:
    """The rules that tell which visible files do not count, one for each job that hides some.

    Raises:
        RecordError: A record that says which they are cannot be read.
        JobNotActiveError: A job has ended since the look.
        SnapshotUnstableError: No one listing shows the old files of all jobs as they noted them.
    """
    rules: list[Hides] = []
    deleting: list[BoundJob] = []
    # Jobs that delete come last: the listing that follows shows tokens in the last job's form.
    for job in sorted(look.jobs.values(), key=lambda job: job.published is not None):
        try:
            hides = await _hidden_by_one(reader, job, deleting)
        except RecordError as error:
            raise _not_known(reader, job.layout, error) from error
        if hides is not None:
            rules.append(hides)
    _refuse_two_forms(reader, deleting)
    return rules


async def _hidden_by_one(reader: Reader, job: SeenJob, deleting: list[BoundJob]) -> Hides | None:
    """The rule for what one job hides; a job that deletes is added to *deleting*."""
    if job.decision is None:
        return None
    if job.published is None:
        return await new_files_of(reader.store, job.layout, job.decision, reader.bind)
    if job.decision.record.replaced is not None and not job.published.record.lost:
        deleting.append(await bound_to_read(reader.store, job.layout, reader.bind))
        return await replaced_files_of(deleting[-1], job.decision)
    return None


def _refuse_two_forms(reader: Reader, deleting: Sequence[BoundJob]) -> None:
    """Refuse to tell which files are old if tokens name versions for one job, not another."""
    by_form = {job.record.capabilities.tells_contents_apart: job for job in deleting}
    if len(by_form) > 1:
        one, other = (job.record.job_id for job in by_form.values())
        message = (
            f"jobs {one} and {other} at {reader.url!r} are deleting what they replaced, and noted "
            "it in two forms, with versions and without: versions were turned on or off in "
            "between, or one of the two may not ask for them; ask again when one of them is over"
        )
        raise SnapshotUnstableError(message, stage="read")


async def _list_committed(reader: Reader, look: Look) -> Snapshot:
    _refuse_damaged(reader, look)
    store = reader.store
    destination = DestinationLayout(store.root)
    hidden = await hidden_by(reader, look)
    names: list[str] = []
    size_bytes = 0
    async with ending(store.list_tree(destination.root, without=destination.areas)) as entries:
        async for entry in entries:
            name = destination.relative(entry.path)
            if not is_visible(name):
                _refuse_nested(reader, name)
            elif not any(hides(name, entry) for hides in hidden):
                names.append(name)
                size_bytes += entry.size_bytes
    names.sort()
    return Snapshot(names, size_bytes)


def _refuse_damaged(reader: Reader, look: Look) -> None:
    """Refuse to answer where some files may be those of half a job, and nobody knows which."""
    for job in look.jobs.values():
        if job.damage is not None:
            raise _not_known(reader, job.layout, job.damage)


def _not_known(reader: Reader, layout: JobLayout, damage: RecordError) -> RecordError:
    """The error of a reader who does not know which files count, since a record is damaged."""
    job_id = layout.job_id
    show = settle_command("show", reader.url, job_id)
    unknown = f"which files of {reader.url!r} are committed is not known: "
    if isinstance(damage, NewerVersionError):
        return NewerVersionError(
            f"{unknown}{damage}", job_id=job_id, path=damage.path, stage="read"
        )
    if is_of_who_asks(damage):
        message = f"{unknown}job {job_id} cannot be looked at ({damage}); see: {show}"
    else:
        message = (
            f"{unknown}job {job_id} is damaged ({damage}); put back what is damaged, or settle the "
            f"job; see: {show}"
        )
    return RecordError(message, job_id=job_id, path=damage.path, stage="read")


def _refuse_nested(reader: Reader, name: str) -> None:
    inner, is_inside, _ = name.partition(f"/{AREA}/")
    if is_inside:
        message = (
            f"cannot say which files of {reader.url!r} are committed: another destination "
            f"lies inside it, at {inner!r}, with jobs of its own; ask for each by itself"
        )
        raise RequestError(message, kind="nested_destination", path=inner, stage="read")


async def _refuse_inside_another(reader: Reader) -> None:
    """Refuse a directory inside a destination: the jobs that write to it are known only above it.

    Directories above that the caller may not list are skipped.
    """
    destination = DestinationLayout(reader.store.root)
    for other in destination.others_above(destination.areas):
        inner = other.relative(destination.root)
        areas = await reader.store.list_children_if_allowed(other.areas)
        if areas is None and reader.opened_above is not None:
            async with reader.opened_above(inner.count("/") + 1) as above:
                areas = await above.list_children_if_allowed(DestinationLayout(above.root).areas)
        if jobs_among(areas or (), other) or epochs_among(areas or (), other):
            message = (
                f"{reader.url!r} is a directory of the destination {other.root!r}, whose jobs "
                f"write to it: ask for that, and keep what is below {inner!r}"
            )
            raise RequestError(message, kind="inside_destination", path=inner, stage="read")
