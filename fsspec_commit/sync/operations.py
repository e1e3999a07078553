"""Operations on a whole destination: each opens it and calls one protocol function."""

from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from fsspec_commit.destination import OpenDestination, probe_destination
from fsspec_commit.errors import CommitError, RequestError
from fsspec_commit.hadoop.jobs import HadoopJob
from fsspec_commit.hadoop.jobs import hadoop_jobs as jobs_of_hadoop
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.location import DestinationLike, Location, locate
from fsspec_commit.options import JobOptions, check_choice, check_flags, check_publisher
from fsspec_commit.protocol import recovery
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.clean import CleanReport
from fsspec_commit.protocol.clean import clean as clean_up
from fsspec_commit.protocol.job_records import begun_record, reached
from fsspec_commit.protocol.publisher import Publisher
from fsspec_commit.protocol.recovery import JobInfo
from fsspec_commit.protocol.result import CommitResult, result_of
from fsspec_commit.protocol.superseded import error_of_ended
from fsspec_commit.records.job import JobRecord
from fsspec_commit.selection import Selection, leftover_uploads, retiring
from fsspec_commit.store import OpenOptions
from fsspec_commit.store.probe import ProbeReport
from fsspec_commit.sync.bridge import blocking, run
from fsspec_commit.sync.opening import closing, open_when_quiet, opened, or_damaged
from fsspec_commit.sync.progress import ProgressReport
from fsspec_commit.sync.spreading import elsewhere_by
from fsspec_commit.sync.unfinished import note_interrupted

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from fsspec.callbacks import Callback

T = TypeVar("T")


@blocking
async def jobs(
    destination: DestinationLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
    probe: bool = True,
    single_writer: bool = False,
) -> list[JobInfo]:
    """List the jobs that have a work area at *destination*, oldest first; finished jobs have none.

    Args:
        destination: Where the jobs write.
        storage_options: fsspec's options for the destination.
        filesystem: An fsspec filesystem, instead of *storage_options*.
        probe: Without effect: the record of a job that has begun says what has to be known.
        single_writer: The promise that only one job at a time writes to this destination.
    """
    check_flags(probe=probe, single_writer=single_writer)
    async with opened(
        destination, storage_options, filesystem, OpenOptions(single_writer=single_writer)
    ) as to:
        check = partial(or_damaged, to, to.check)
        found = [job async for job in recovery.jobs(to.store, check)]
        if not found:
            await to.say_if_nothing_is_there()
        return found


@blocking
async def hadoop_jobs(
    destination: DestinationLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
    probe: bool = True,
    single_writer: bool = False,
) -> list[HadoopJob]:
    """List what jobs of Hadoop's own committers, such as Spark's, have left at *destination*.

    A job that is still at work looks the same as one that died, so nothing of Hadoop's is ever
    changed or deleted here.
    """
    check_flags(probe=probe, single_writer=single_writer)
    async with opened(
        destination, storage_options, filesystem, OpenOptions(single_writer=single_writer)
    ) as to:
        return await jobs_of_hadoop(to.store)


def resume(
    destination: DestinationLike,
    job_id: str,
    *,
    accept_loss: bool = False,
    callback: "Callback | None" = None,
    publisher: Publisher | None = None,
    share_secrets: bool = False,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
    probe: bool = True,
    single_writer: bool = False,
) -> CommitResult:
    """Finish a job that has decided to commit; safe to repeat, by anyone.

    Args:
        destination: Where the job writes.
        job_id: The job.
        accept_loss: Settle a job whose source files are gone for good: publish the rest, delete
            no replaced file, write no ``_SUCCESS``; what was lost is in the result's warnings.
        callback: An fsspec callback, called as files are published.
        publisher: Who publishes slices of the job; see :class:`JobOptions`.
        share_secrets: Whether what is pickled for the publisher's processes carries all storage
            options, secrets included.
        storage_options: fsspec's options for the destination.
        filesystem: An fsspec filesystem, instead of *storage_options*.
        probe: Without effect, since a job that has begun needs no probe.
        single_writer: The promise that only one job at a time writes to this destination.

    Raises:
        RequestError: The job has not decided; its driver may still commit it.
        JobNotActiveError: There is nothing to finish. ``outcome`` says what became of the job:
            ``"committed"``, it has been finished before; ``"not_committed"``, it was aborted;
            ``"unknown"``, it is over, and nothing shows how it ended.
        CommitStateUnknownError: The store did not say whether the job has decided.
        PartialCommitError: The job is still not finished.
    """
    check_flags(
        accept_loss=accept_loss,
        share_secrets=share_secrets,
        probe=probe,
        single_writer=single_writer,
    )
    check_publisher(publisher)
    progress, resumed = ProgressReport(callback), _Resumed()
    opening = _open_job(
        destination, storage_options, filesystem, job_id, single_writer=single_writer
    )
    options = JobOptions(publisher=publisher, share_secrets=share_secrets)
    location = locate(destination, storage_options, filesystem)
    finishing = _finish(opening, location, options, progress, resumed, accept_loss=accept_loss)
    # A decided job is better finished than left: the first Ctrl-C waits, the second one stops.
    try:
        result = run(finishing, may_interrupt=lambda: False)
    except CommitError:
        raise
    except BaseException as interrupt:
        note_interrupted(interrupt, resumed.result, resumed.command)
        raise
    progress.raise_exit(result)
    return result


@dataclass(slots=True)
class _Resumed:
    """How far a resumption got, for a caller that is interrupted while waiting for it.

    Attributes:
        command: The command that finishes the job, once the job is known.
        result: What was done, once the job is finished.
    """

    command: str | None = None
    result: CommitResult | None = None


async def _finish(
    opening: AbstractAsyncContextManager[BoundJob],
    location: Location,
    options: JobOptions,
    progress: ProgressReport,
    resumed: _Resumed,
    *,
    accept_loss: bool,
) -> CommitResult:
    async with opening as job:
        resumed.command = job.settle_command("resume")
        resuming = recovery.resume_job(
            job,
            accept_loss=accept_loss,
            announce=progress.announce,
            progress=progress.advance,
            elsewhere=elsewhere_by(options, job.record, location),
        )
        resumed.result = result = await result_of(job, resuming)
        progress.finish()
        return result


@blocking
async def abort(
    destination: DestinationLike,
    job_id: str,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
    probe: bool = True,
    single_writer: bool = False,
) -> None:
    """Fence a job and remove what it left: nothing of it is or ever becomes visible.

    If the job's driver is still alive, the driver's commit raises :class:`JobNotActiveError`.

    Raises:
        JobNotActiveError: The job is committed (``outcome="committed"``), or over and nothing
            shows how it ended (``"unknown"``); nothing was deleted.
        CommitStateUnknownError: The store did not say whether the job is committed, or refused the
            abort, so that its driver may still commit it; nothing was deleted.
    """
    check_flags(probe=probe, single_writer=single_writer)
    async with _open_job(
        destination, storage_options, filesystem, job_id, single_writer=single_writer
    ) as job:
        await abort_job(job, by="fsspec_commit.abort()")


@blocking
async def clean(
    destination: DestinationLike,
    *,
    older_than: timedelta | None = None,
    dry_run: bool = True,
    damaged: Collection[str] = (),
    accept_loss: bool = False,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
    probe: bool = True,
    single_writer: bool = False,
) -> CleanReport:
    """Remove what is left of jobs that are older than *older_than* and will never commit.

    Undecided jobs are fenced first; a decided, unfinished job is never touched, only shown. A
    clock picks the candidates; only the fence decides.

    Args:
        destination: Where to clean.
        older_than: Jobs that started more recently are left alone; choose more than the longest job
            takes. Without it, only the *damaged* jobs are removed.
        dry_run: Only report what would be removed.
        damaged: Jobs with unreadable records, to be removed whatever their age. Each is fenced
            first; it is refused if it is committed, or if its decision cannot be read.
        accept_loss: Remove *damaged* jobs even if their decision cannot be read: files that are in
            place stay, and the rest is lost.
        storage_options: fsspec's options for the destination.
        filesystem: An fsspec filesystem, instead of *storage_options*.
        probe: Whether an unverified endpoint is probed, once, or refused.
        single_writer: The promise that only one job at a time writes to this destination.

    Raises:
        RequestError: Neither an age nor a job was given; or a damaged job may have committed.
        CommitStateUnknownError: The store did not say what state a damaged job is in.
    """
    check_flags(dry_run=dry_run, accept_loss=accept_loss, probe=probe, single_writer=single_writer)
    if older_than is None and not damaged:
        message = "say which jobs: older_than=timedelta(…), or damaged=[…]"
        raise RequestError(message, kind="invalid_option")
    _check_age(older_than)
    if isinstance(damaged, str) or not isinstance(damaged, Collection):
        message = f"damaged is a list of job ids, not one: write [{damaged!r}]"
        raise RequestError(message, kind="invalid_option")
    location = locate(destination, storage_options, filesystem)

    async def cleaned() -> CleanReport:
        options = OpenOptions(single_writer=single_writer, choosing=True)
        async with closing(await open_when_quiet(location, options)) as to:
            facts = await to.capabilities(probing=probe)
            report = await clean_up(
                to.store,
                older_than=timedelta.max if older_than is None else older_than,
                dry_run=dry_run,
                bind=partial(or_damaged, to, to.bind),
                check=partial(or_damaged, to, to.check),
                damaged=damaged,
                accept_loss=accept_loss,
                retirement=retiring(to.store, facts),
                leftovers=leftover_uploads(to.store, facts),
            )
            if not (report.aborted or report.deleted or report.shown or report.not_removed):
                await to.say_if_nothing_is_there()
            return report

    # Unless the store answers, nobody knows whether a damaged job has committed.
    return await (reached(cleaned()) if damaged else cleaned())


@blocking
async def explain(
    destination: DestinationLike,
    *,
    committer: Literal["auto", "v1", "manifest", "magic"] = "auto",
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
    probe: bool = True,
    single_writer: bool = False,
) -> Selection:
    """Say which committer a job would use here, and why.

    Nothing is written, unless a probe is needed and allowed (see :func:`probe`).

    Returns:
        The selection; ``committer`` is ``None`` if every job is refused, and the last reason says
        what is missing.

    Raises:
        RequestError: There is no such committer.
    """
    check_choice("committer", committer)
    check_flags(probe=probe, single_writer=single_writer)
    options = OpenOptions(single_writer=single_writer, choosing=True)
    async with opened(destination, storage_options, filesystem, options) as to:
        return await to.select(committer, probing=probe)


@blocking
async def probe(
    destination: DestinationLike,
    *,
    storage_options: Mapping[str, object] | None = None,
    filesystem: "AbstractFileSystem | None" = None,
    single_writer: bool = False,
) -> ProbeReport:
    """Try out what a store can really do, with some small files below ``_commit/``.

    The files are removed again. If the store has multipart uploads, a file of three parts, 10 to
    16 MiB in all, is uploaded as well. A probe is one client at one moment: it can refute a
    declaration, but hardly prove one.

    Args:
        destination: Where to try.
        storage_options: fsspec's options for the destination.
        filesystem: An fsspec filesystem, instead of *storage_options*.
        single_writer: The promise that only one job at a time writes to this destination; what
            follows from the promise is assumed, not tried out.

    Raises:
        StoreError: The store does not answer, or nothing can be written there.
    """
    check_flags(single_writer=single_writer)
    location = locate(destination, storage_options, filesystem)
    options = OpenOptions(single_writer=single_writer)
    return await probe_destination(location, options, ids=SYSTEM_IDS)


def _check_age(age: object) -> None:
    if age is not None and (not isinstance(age, timedelta) or age < timedelta(0)):
        message = f"older_than={age!r} is no age: timedelta(days=7), for example"
        raise RequestError(message, kind="invalid_option")


@asynccontextmanager
async def _open_job(
    destination: DestinationLike,
    storage_options: Mapping[str, object] | None,
    filesystem: "AbstractFileSystem | None",
    job_id: str,
    *,
    single_writer: bool,
) -> AsyncIterator[BoundJob]:
    """Open a job that has begun, on a store that flushes what the job's own driver flushes."""
    location = locate(destination, storage_options, filesystem)
    options = OpenOptions(single_writer=single_writer)
    async with closing(await reached(open_when_quiet(location, options))) as to:
        record = await _record(to, job_id)
        if record.durability == options.durability:
            yield or_damaged(to, to.bind, record)
            return
    options = replace(options, durability=record.durability)
    async with closing(await reached(open_when_quiet(location, options))) as to:
        yield or_damaged(to, to.bind, record)


async def _record(to: OpenDestination, job_id: str) -> JobRecord:
    layout = DestinationLayout(to.store.root).job(job_id)
    record = await begun_record(to.store, layout)
    if record is None:
        raise await error_of_ended(to.store, layout, to.location.url, stage="open")
    return record
