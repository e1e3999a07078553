"""The driver's side of one job, synchronous: a thin layer over ``protocol.driver``."""

import logging
import os
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Never, Self, Unpack

from fsspec_commit.committers.adopted import AdoptedFile
from fsspec_commit.errors import CommitError, JobNotActiveError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.location import DestinationLike, locate
from fsspec_commit.new_job import start_new_job
from fsspec_commit.options import JobOptions, check_options, refuse_positional
from fsspec_commit.protocol.adoption import adopt_attempt
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.driver import Driver, NotThereYetError, not_started
from fsspec_commit.protocol.job_records import reached
from fsspec_commit.protocol.publisher import Publisher
from fsspec_commit.protocol.result import CommitResult
from fsspec_commit.records.job import Mode, TaskCommit
from fsspec_commit.selection import Selection, chosen_before
from fsspec_commit.spec import WAIT_S, JobSpec, check_spec, check_task_id, not_from_here, open_spec
from fsspec_commit.sync import bridge
from fsspec_commit.sync.afterwards import Afterwards, quiet, warn
from fsspec_commit.sync.local_tasks import LocalTasks
from fsspec_commit.sync.progress import ProgressReport
from fsspec_commit.sync.spreading import elsewhere_by
from fsspec_commit.sync.task import Task
from fsspec_commit.sync.unfinished import note_interrupted, note_left, tell_unfinished

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from fsspec.callbacks import Callback

_log = logging.getLogger("fsspec_commit")


class Job:
    """One write of one dataset: all of it becomes visible, or nothing does.

    Use it as a context manager: entering starts the job, leaving commits it, and any exception
    aborts it. A job is used once. Its methods may be called from any thread; each waits for a
    start, a commit or an abort that another thread has begun. If the calling thread runs an event
    loop, as in a notebook or a coroutine, the loop is blocked meanwhile.
    """

    def __init__(
        self, destination: DestinationLike, *unnamed: Never, **options: Unpack[JobOptions]
    ) -> None:
        """Check the arguments; nothing is read or written before :meth:`start`.

        Args:
            destination: A URL, a path or a ``UPath``; a relative path is made absolute at once.
            *unnamed: Refused: options are keyword-only.
            **options: See :class:`JobOptions`.

        Raises:
            RequestError: An option makes no sense.
            TypeError: An option is unknown, or was given without its name.
        """
        refuse_positional(unnamed)
        check_options(options)
        self._options: JobOptions = options
        self._location = locate(
            destination, options.get("storage_options"), options.get("filesystem")
        )
        self._progress = ProgressReport(options.get("callback"))
        self._selection: Selection | None = None
        self._tasks = LocalTasks()
        self._driver = Driver()
        self._begun_here = True
        self._is_shared = False  # Its spec was given away: there may be tasks elsewhere.
        self._pid = os.getpid()

    @classmethod
    def from_spec(
        cls,
        spec: JobSpec,
        *,
        storage_options: Mapping[str, object] | None = None,
        filesystem: "AbstractFileSystem | None" = None,
        callback: "Callback | None" = None,
        publisher: Publisher | None = None,
    ) -> Self:
        """Make another driver of a job that was started elsewhere; at most one of them commits."""
        check_spec(spec)
        job = cls(
            spec.destination,
            mode=spec.record.mode,
            wait_s=spec.wait_s,
            concurrency=spec.concurrency,
            write_behind=spec.write_behind,
            callback=callback,
            publisher=publisher,
        )
        opening = open_spec(
            spec, storage_options=storage_options, filesystem=filesystem, ids=SYSTEM_IDS
        )
        destination = bridge.run(reached(opening))
        job._selection = chosen_before(spec.record)
        job._driver = Driver(destination.bind(spec.record))
        job._begun_here = False
        job._is_shared = True
        return job

    @property
    def destination(self) -> str:
        """Where the job writes: a URL, or an absolute path."""
        return self._location.url

    @property
    def mode(self) -> Mode:
        """What happens to existing data."""
        return self._options.get("mode", "error")

    @property
    def job_id(self) -> str:
        """The job's id; known once it has started."""
        return self._started().record.job_id

    @property
    def spec(self) -> JobSpec:
        """The spec that workers need; it can be pickled, and holds secrets only if shared."""
        self._is_shared = True
        options = self._options
        return JobSpec(
            self._started().record,
            self._location.storage_options if options.get("share_secrets") else None,
            wait_s=options.get("wait_s", WAIT_S),
            concurrency=options.get("concurrency"),
            write_behind=options.get("write_behind", True),
        )

    @property
    def selection(self) -> Selection:
        """The committer, and why it was chosen."""
        if self._selection is None:
            raise not_started()
        return self._selection

    @property
    def skipped(self) -> bool:
        """Whether there is nothing to do: data exists, or the idempotency key has committed."""
        return self._driver.is_skipped

    @property
    def result(self) -> CommitResult:
        """The result; known once the job has committed, or had nothing to do.

        Raises:
            RuntimeError: The job has not committed.
        """
        if self._driver.result is None:
            if (state := self._driver.state) == "new":
                raise not_started()
            raise NotThereYetError(f"the job is {state}: it has no result before it commits")
        return self._driver.result

    def start(self) -> Self:
        """Choose a committer, check the mode, and write ``job.json``: from then on the job exists.

        Raises:
            UnsafeStoreError: No committer is safe here, or the requested one is not.
            DestinationExistsError: ``mode="error"``, and the destination holds data.
            RuntimeError: The job was started before.
        """
        self._check_process()
        is_first = self._driver.state == "new"
        try:
            is_first = is_first and bridge.run(self._start())
        except BaseException as interrupt:
            self._abort_after(interrupt)  # Unless it could not be started: it is not open then.
            raise
        if not is_first:
            raise RuntimeError("a job is used once: make a new Job")
        _log.info("job %s to %r started", self.job_id, self.destination)
        return self

    def task(self, task_id: int | None = None) -> Task:
        """Begin an attempt at one part of the work: the next part, or part *task_id*.

        Raises:
            RuntimeError: The job is not open, or another thread commits it: a task that began now
                would be left out.
        """
        self._check_process()
        bound = self._started()
        self._refuse_unless_open(bound, "takes no task")
        number = self._tasks.next_id() if task_id is None else task_id
        check_task_id(number, bound.record)
        write_behind = self._options.get("write_behind", True)
        task = Task(bound, number, owner=self._tasks, write_behind=write_behind)
        self._tasks.begun(task)
        return task

    def adopt(self, task_id: int, attempt_id: str, files: Iterable[AdoptedFile]) -> TaskCommit:
        """Commit a task attempt whose files another program has written; nothing becomes visible.

        For engines that write without this library, such as a JVM. The files are in the attempt's
        working directory, or are pending uploads to their final names, on stores to which tasks
        upload; see "Files that another program has written" in the documentation of the protocol.
        Safe to repeat, by any driver: an attempt that was adopted before with the same files has
        the same message. One request for each upload asks whether the parts are as described.

        Args:
            task_id: The number of the part of the work.
            attempt_id: 16 hexadecimal digits, for this attempt alone.
            files: Every file of the attempt.

        Returns:
            The message for :meth:`commit`, to which it has to be passed.

        Raises:
            RequestError: A file is not there, is not as described, or its name does not include
                the ids of the job and of the task; or the attempt was adopted with other files.
            JobNotActiveError: The job was settled meanwhile, or decided: see its ``outcome``.
            CommitFailedError: The adoption did not happen: call again, or run the task again.
        """
        self._check_process()
        bound = self._started()
        self._refuse_unless_open(bound, "adopts nothing")
        check_task_id(task_id, bound.record)
        self._is_shared = True
        return bridge.run(adopt_attempt(bound, task_id, attempt_id, tuple(files)))

    def commit(self, messages: Iterable[TaskCommit] | None = None) -> CommitResult:
        """Make exactly the chosen attempts visible.

        Args:
            messages: The messages of tasks in other processes; those of this process are added.
                ``None`` with ``collect="store"``. After a commit that failed, they are remembered:
                a call without them, and leaving the block, commit the same messages.

        Returns:
            The result; a second call returns the same one.

        Raises:
            RequestError: A message is missing, repeated or wrong; the job stays open.
            ConcurrentJobError: Another job came first; this one stays open: call again.
            PartialCommitError: Decided but not finished: call again, or ``resume``.
            CommitStateUnknownError: The job may be decided: call again, or ``resume``.
            JobNotActiveError: Somebody else has settled this job; see its ``outcome``.
            CommitFailedError: Nothing is visible: call again, or abort.
        """
        self._check_process()
        bound = self._started()
        driver = self._driver
        if driver.result is not None:
            return driver.result
        driver.refuse_aborted()
        with self._tasks.committing() as commit:
            try:
                chosen = self._tasks.messages(bound, messages, commit)
            except CommitError as error:
                told = bridge.run(driver.instead_of(error))
                if told is error:
                    raise
                raise told from error
            try:
                bridge.run(
                    self._commit(bound, chosen), may_interrupt=lambda: driver.state != "deciding"
                )
            except CommitError:
                raise
            except BaseException as interrupt:
                resume = bound.settle_command("resume") if driver.state == "deciding" else None
                note_interrupted(interrupt, driver.result, resume)
                raise
        self._progress.raise_exit(self.result)
        return self.result

    def abort(self) -> None:
        """Decide that the job never happens, and remove what it left; a second call does nothing.

        Files that its tasks have open in this thread are closed.

        Raises:
            JobNotActiveError: The job is committed, or somebody else has ended it: see its
                ``outcome``; nothing is deleted.
        """
        self._check_process()
        if bridge.run(self._abort()):
            bound = self._started()
            _log.info("job %s to %r aborted", bound.record.job_id, self.destination)
            self._tasks.job_aborted()
            bridge.run(self._close(bound))

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pid != os.getpid():
            return  # A forked child leaves the block that it inherited; the job is its parent's.
        if error is None and self._driver.state == "open":
            try:
                self.commit()
            except BaseException as failure:
                self._abort_after(failure)
                raise
        elif error is not None:
            self._abort_after(error)

    def _abort_after(self, error: BaseException) -> None:
        """Abort unless the job may be decided; *error* is raised even if the abort fails."""
        bound = self._driver.job
        if self._driver.state != "open" or bound is None:
            return
        try:
            self.abort()
        except JobNotActiveError as settled:
            for told in (str(settled), *getattr(settled, "__notes__", ())):
                error.add_note(told)
        except (CommitError, OSError) as failure:
            note = self._note_left(bound, error, f" ({failure})")
            _log.warning("job %s to %r: %s", bound.record.job_id, self.destination, note)
        except BaseException as interrupt:
            self._note_left(bound, interrupt)
            raise

    async def _start(self) -> bool:
        """Start, unless another thread has started or aborted the job first."""
        await quiet()
        how = self._driver, self._location, self._options
        return await start_new_job(*how, ids=SYSTEM_IDS, chosen=self._chosen)

    def _chosen(self, selection: Selection) -> None:
        self._selection = selection

    async def _abort(self) -> bool:
        """Abort, after stopping the writes that would otherwise arrive later."""
        async with self._tasks.aborting:
            await self._tasks.stop_writing()
            return await self._driver.abort()

    async def _commit(self, bound: BoundJob, messages: list[TaskCommit]) -> None:
        """Commit, unless another thread has done so first."""
        await quiet(self.destination)
        behind = self._begun_here and self._options.get("write_behind", True)
        after = Afterwards(bound, waits=not behind)
        if not await self._driver.commit(
            messages,
            wait_s=self._options.get("wait_s", WAIT_S),
            announce=self._progress.announce,
            progress=self._progress.advance,
            others=self._is_shared or self._tasks.has_others,
            elsewhere=elsewhere_by(self._options, bound.record, self._location),
            later=after.take,
        ):
            return
        self._progress.finish()
        await after.close(partial(self._close, bound))
        warn(bound, self.result.warnings)
        _log.info("job %s to %r %s", self.job_id, self.destination, self.result.state)

    async def _close(self, bound: BoundJob) -> None:
        """Close the store, unless attempts in other threads still need it to drop their files."""
        if not self._tasks.are_running:
            await bound.store.close()

    def _note_left(self, bound: BoundJob, error: BaseException, why: str = "") -> str:
        """Note on *error* that the job is left open, so that ``Job.__del__`` does not repeat it."""
        self._begun_here = False
        return note_left(error, bound.settle_command("abort"), why)

    def _started(self) -> BoundJob:
        return self._driver.started()

    def _refuse_unless_open(self, bound: BoundJob, what: str) -> None:
        if (state := self._driver.state) != "open":
            raise RuntimeError(f"job {bound.record.job_id} is {state}: it {what}")

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError(not_from_here("the job", "was used after fork"))

    def __reduce__(self) -> Any:
        raise TypeError(not_from_here("a job"))

    def __repr__(self) -> str:
        driver = self._driver
        which = "" if driver.job is None else f" {driver.job.record.job_id}"
        return f"<Job{which} to {self.destination}: {self.mode}, {driver.state}>"

    def __del__(self) -> None:
        driver: Driver | None = getattr(self, "_driver", None)
        if driver is None or driver.state != "open" or not self._begun_here:
            return
        if driver.job is None or self._pid != os.getpid() or driver.job.record.is_collected:
            return
        tell_unfinished(self, self.job_id, self.destination, driver.job.settle_command("abort"))
