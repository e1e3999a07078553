"""Driver side, synchronous: one write of one dataset, a thin face on ``protocol.commit``."""

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, Unpack

from fsspec_commit import bridge
from fsspec_commit.destination import Destination, open_destination
from fsspec_commit.errors import CommitError, CommitFailedError, JobNotActiveError
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.local_tasks import LocalTasks
from fsspec_commit.location import DestinationLike, place
from fsspec_commit.options import JobOptions, check_options, record_of
from fsspec_commit.progress import ProgressReport
from fsspec_commit.protocol.aborting import abort_job
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.job_records import reached
from fsspec_commit.protocol.result import CommitResult, result_of
from fsspec_commit.protocol.start import create_job, has_nothing_to_do
from fsspec_commit.records.job import Mode, TaskCommit
from fsspec_commit.selection import Selection, check_names, chosen_before, refused
from fsspec_commit.spec import JobSpec, check_spec, check_task_id, open_spec, unpicklable
from fsspec_commit.store import OpenOptions
from fsspec_commit.task import Task
from fsspec_commit.unfinished import tell_unfinished

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from fsspec.callbacks import Callback

    from fsspec_commit.protocol.commit import Finished

_log = logging.getLogger("fsspec_commit")
_STARTS_MAX = 8
_NOT_STARTED = 'the job has not started: use "with Job(...)", or call start()'

State = Literal["new", "open", "deciding", "committed", "skipped", "aborted", "settled"]


class Job:
    """One write of one dataset: all of it becomes visible, or nothing does.

    Use it as a context manager: entering starts, leaving commits, any exception aborts. A job is
    used once. Its methods are safe to call from any thread but an event loop's; each waits for a
    commit or an abort that another thread has begun.
    """

    def __init__(self, destination: DestinationLike, **options: Unpack[JobOptions]) -> None:
        """Check the arguments; nothing is read or written before :meth:`start`.

        Args:
            destination: A URL, a path or a ``UPath``; a relative path is made absolute at once.
            **options: See :class:`JobOptions`.

        Raises:
            RequestError: An option makes no sense; :class:`TypeError` for an unknown one.
        """
        check_options(options)
        self._options: JobOptions = options
        self._place = place(destination, options.get("storage_options"), options.get("filesystem"))
        self._progress = ProgressReport(options.get("callback"))
        self._state: State = "new"
        self._selection: Selection | None = None
        self._bound: BoundJob | None = None
        self._tasks = LocalTasks()
        self._driver = Driver()
        self._begun_here = True
        self._is_shared = False  # Its spec was given away: there may be tasks elsewhere.
        # Of the loop: an interrupt cannot come between taking it and giving it back.
        self._settling = asyncio.Lock()
        self._pid = os.getpid()
        self.skipped = False
        self._result: CommitResult | None = None

    @classmethod
    def from_spec(
        cls,
        spec: JobSpec,
        *,
        storage_options: Mapping[str, object] | None = None,
        filesystem: "AbstractFileSystem | None" = None,
        callback: "Callback | None" = None,
    ) -> Self:
        """Another driver of a job that was started elsewhere; at most one of them commits."""
        check_spec(spec)
        job = cls(spec.destination, mode=spec.record.mode, callback=callback)
        opening = open_spec(
            spec, storage_options=storage_options, filesystem=filesystem, ids=SYSTEM_IDS
        )
        destination = bridge.run(reached(opening))
        job._selection = chosen_before(spec.record)
        job._bound = destination.bind(spec.record)
        job._state = "open"
        job._begun_here = False
        job._is_shared = True
        return job

    @property
    def destination(self) -> str:
        """Where the job writes, as it is written down: a URL, or an absolute path."""
        return self._place.url

    @property
    def mode(self) -> Mode:
        """What happens to what is there."""
        return self._options.get("mode", "error")

    @property
    def job_id(self) -> str:
        """The job's id; known once it has started."""
        return self._started().record.job_id

    @property
    def spec(self) -> JobSpec:
        """What a worker needs; picklable, and without secrets unless they are shared."""
        self._is_shared = True
        shared = self._place.storage_options if self._options.get("share_secrets") else None
        return JobSpec(self._started().record, shared)

    @property
    def selection(self) -> Selection:
        """Which committer, and why."""
        if self._selection is None:
            raise RuntimeError(_NOT_STARTED)
        return self._selection

    @property
    def result(self) -> CommitResult:
        """What was done; known once the job has committed, or had nothing to do.

        Raises:
            RuntimeError: It has not.
        """
        if self._result is None:
            raise RuntimeError(f"the job is {self._state}: it has no result before it commits")
        return self._result

    def start(self) -> Self:
        """Choose a committer, check the mode, and write ``job.json``: the job exists.

        Raises:
            UnsafeStoreError: No committer is safe here, or not the one asked for.
            DestinationExistsError: ``mode="error"`` and data stands.
            RuntimeError: The job was started before.
        """
        self._check_process()
        if self._state != "new":
            raise RuntimeError("a job is used once: make a new Job")
        try:
            bridge.run(self._start())
        except KeyboardInterrupt as interrupt:
            self._state = "open"
            self._abort_after(interrupt)
            raise
        self._state = "open"
        _log.info("job %s to %r started", self.job_id, self.destination)
        return self

    def task(self, task_id: int | None = None) -> Task:
        """An attempt at one part of the work: the next part, or *task_id* to try one again."""
        self._check_process()
        bound = self._started()
        if self._state != "open":
            raise RuntimeError(f"job {bound.record.job_id} is {self._state}: it takes no task")
        number = self._tasks.next_id() if task_id is None else task_id
        check_task_id(number, bound.record)
        task = Task(bound, number, owner=self._tasks)
        self._tasks.begun(task)
        return task

    def commit(self, messages: Iterable[TaskCommit] | None = None) -> CommitResult:
        """Make exactly the chosen attempts visible.

        Args:
            messages: What tasks elsewhere returned; those of this process are added by
                themselves. None with ``collect="store"``. A commit that failed remembers them:
                left out, and when the block is left, it is the same ones again.

        Returns:
            What was done; the same again when called again.

        Raises:
            RequestError: A message is missing, doubled or wrong; the job stays open.
            ConcurrentJobError: Another job came first; ours stays open, call again.
            PartialCommitError: Decided but not finished: call again, or ``resume``.
            CommitStateUnknownError: It may be decided: call again, or ``resume``.
            JobNotActiveError: Somebody else has settled this job; see its ``outcome``.
            CommitFailedError: Nothing is visible; call again, or abort.
        """
        self._check_process()
        bound = self._started()
        if self._result is not None:
            return self._result
        self._refuse_aborted(bound)
        chosen = self._tasks.messages(bound, messages, collected=self._is_collected)
        try:
            bridge.run(self._commit(bound, chosen), may_interrupt=lambda: self._state != "deciding")
        except KeyboardInterrupt as interrupt:
            self._note_settling(bound, interrupt)
            raise
        return self._committed_result()

    def abort(self) -> None:
        """Decide that the job never happens, and remove what it left; a second time, do nothing.

        Files that its tasks have open in this thread are closed.

        Raises:
            JobNotActiveError: It is committed, or somebody else has ended it: see its
                ``outcome``; nothing is deleted.
        """
        self._check_process()
        if self._state in {"new", "aborted"} or (self.skipped and self._result is not None):
            self._state = "aborted"
            return
        bound = self._started()
        if bridge.run(self._abort(bound)):
            self._tasks.job_aborted()
            bridge.run(bound.store.close())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._pid != os.getpid():
            return  # A forked child unwinds what it has inherited; the job is its parent's.
        if error is None and self._state == "open" and self._result is None:
            try:
                self.commit()
            except BaseException as failure:
                self._abort_after(failure)
                raise
        elif error is not None:
            self._abort_after(error)

    def _abort_after(self, error: BaseException) -> None:
        """Abort unless the job may be decided; an error meanwhile never hides *error*."""
        if self._state != "open" or self._result is not None or self._bound is None:
            return
        try:
            self.abort()
        except JobNotActiveError as settled:
            error.add_note(str(settled))
        except (CommitError, OSError) as failure:
            command = self._bound.settle_command("abort")
            error.add_note(f"the job could not be aborted ({failure}); settle it with: {command}")

    async def _start(self) -> None:
        options = self._options
        opening = OpenOptions(
            durability=options.get("durability", "none"),
            single_writer=options.get("single_writer", False),
            concurrency=options.get("concurrency"),
            choosing=True,
        )
        destination = await open_destination(self._place, opening, ids=SYSTEM_IDS)
        try:
            await self._begin(destination)
        except Exception:
            await destination.store.close()
            raise

    async def _begin(self, destination: Destination) -> None:
        options = self._options
        selection = await destination.select(
            options.get("committer", "auto"), probing=options.get("probe", True)
        )
        committer = selection.committer
        if committer is None:
            raise refused(selection, self.destination)
        check_names(selection, options.get("names", "unique"))
        for failed in range(_STARTS_MAX):
            record = record_of(
                options, self.destination, committer, selection.capabilities, SYSTEM_IDS
            )
            bound = destination.bind(record)
            self._selection, self._bound = selection, bound
            self.skipped = self.skipped or await has_nothing_to_do(bound)
            unknown = await create_job(destination.store, bound.layout, bound.record, failed=failed)
            if unknown is None:
                return
        message = f"cannot start a job at {self.destination!r}: {unknown}"
        raise CommitFailedError(message, stage="start")

    async def _commit(self, bound: BoundJob, messages: list[TaskCommit]) -> None:
        """Commit, unless another thread that was first has."""
        async with self._settling:
            self._refuse_aborted(bound)
            if self._result is not None:
                return
            try:
                await self._commit_once(bound, messages)
            except CommitError as error:
                if isinstance(error, JobNotActiveError):
                    self._state = "settled"
                elif error.outcome == "not_committed":
                    self._state = "open"
                raise

    async def _commit_once(self, bound: BoundJob, messages: list[TaskCommit]) -> None:
        clock = bridge.loop().time
        begin = clock()
        finished: Finished | None = None
        if self.skipped:
            await abort_job(bound, by="the job itself, which had nothing to do")
        else:
            finished = await self._driver.commit(
                bound,
                messages,
                wait_s=self._options.get("wait_s", 60.0),
                deciding=self._deciding,
                announce=self._progress.announce,
                progress=self._progress.advance,
                others=self._is_shared or self._tasks.has_others,
            )
        self._result = result_of(bound, finished, clock() - begin)
        self.skipped = finished is None
        self._state = "skipped" if finished is None else "committed"
        self._progress.finish()
        await bound.store.close()
        for warning in self._result.warnings:
            _log.warning("job %s to %r: %s", self.job_id, self.destination, warning)
        _log.info("job %s to %r %s", self.job_id, self.destination, self._result.state)

    async def _abort(self, bound: BoundJob) -> bool:
        """Abort, once no commit of another thread is under way; say whether it was done here."""
        async with self._settling:
            if self._state == "aborted":
                return False
            if self._result is not None:
                job_id = bound.record.job_id
                message = f"job {job_id} is committed: it cannot be aborted; nothing was deleted"
                raise JobNotActiveError(message, job_id=job_id, outcome="committed", stage="abort")
            try:
                await abort_job(bound, by=bound.record.host)
            except JobNotActiveError:
                self._state = "settled"
                raise
            self._state = "aborted"
        _log.info("job %s to %r aborted", bound.record.job_id, self.destination)
        return True

    def _refuse_aborted(self, bound: BoundJob) -> None:
        if self._state == "aborted":
            raise RuntimeError(f"job {bound.record.job_id} is aborted: make a new Job")

    def _committed_result(self) -> CommitResult:
        self._progress.raise_exit(self.result)
        return self.result

    def _deciding(self) -> None:
        self._state = "deciding"

    def _note_settling(self, bound: BoundJob, interrupt: KeyboardInterrupt) -> None:
        """Say what an interrupted commit has left."""
        if self._result is not None:
            interrupt.add_note(f"{self._result.state}: {self._result!r}")
        elif self._state == "deciding":
            interrupt.add_note(
                f"the job may be decided and be unfinished; delete nothing; finish it with: "
                f"{bound.settle_command('resume')}"
            )

    @property
    def _is_collected(self) -> bool:
        return self._started().record.collect == "store"

    def _started(self) -> BoundJob:
        if self._bound is None:
            raise RuntimeError(_NOT_STARTED)
        return self._bound

    def _check_process(self) -> None:
        if self._pid != os.getpid():
            raise RuntimeError(f"the job was used after fork: {unpicklable('a job')}")

    def __reduce__(self) -> Any:
        raise TypeError(unpicklable("a job"))

    def __repr__(self) -> str:
        which = "" if self._bound is None else f" {self._bound.record.job_id}"
        return f"<Job{which} to {self.destination}: {self.mode}, {self._state}>"

    def __del__(self) -> None:
        if getattr(self, "_state", "new") != "open" or not self._begun_here:
            return
        if self._bound is None or self._pid != os.getpid() or self._is_collected:
            return
        command = self._bound.settle_command("abort")
        tell_unfinished(self, self.job_id, self.destination, command)
