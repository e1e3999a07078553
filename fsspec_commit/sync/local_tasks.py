"""The messages of a driver: those that callers pass in, and those of tasks in its own process."""

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager

from fsspec_commit.errors import RequestError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.messages import how_to_pass
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.sync.task import Task


class LocalTasks:
    """The tasks of this process, how each ended, and the messages of others; thread-safe.

    A handler of a signal may call the job in the middle of any method, on the thread that holds the
    lock, and see what is there at that moment. So until the last step of an attempt's end is taken,
    the attempt counts as running.

    Attributes:
        aborting: Held, on the event loop, while the job is being aborted.
    """

    def __init__(self) -> None:
        self.aborting = asyncio.Lock()
        self._lock = threading.RLock()
        self._next = 0
        self._messages: dict[int, list[TaskCommit]] = {}
        self._failed: dict[int, BaseException] = {}
        self._running: dict[str, int] = {}
        # The commits that have gathered their messages and have not failed.
        self._commits = set[object]()
        self._tasks: weakref.WeakValueDictionary[str, Task] = weakref.WeakValueDictionary()
        # For each attempt that may have files on their way, even if it was garbage-collected.
        self._stopping: dict[str, Callable[[], Awaitable[None]]] = {}
        # The messages that the last call passed in; None while they are not known.
        self._given: list[TaskCommit] | None = []

    @property
    def has_others(self) -> bool:
        """Whether messages of tasks elsewhere were passed in, so that there may be more of them."""
        return bool(self._given)

    @property
    def are_running(self) -> bool:
        """Whether some attempts have not reported their end: other threads may work on them."""
        return bool(self._running)

    def next_id(self) -> int:
        """A new task id, above all that were taken."""
        with self._lock:
            self._refuse_beside_commit()
            self._next = following = self._next + 1
            return following - 1

    def begun(self, task: Task) -> None:
        """Remember an attempt until it reports how it ended.

        Raises:
            RuntimeError: A commit has gathered the messages of the tasks, and has not failed.
        """
        with self._lock:
            self._tasks[task.attempt_id] = task
            self._stopping[task.attempt_id] = task.stop_writing
            self._running[task.attempt_id] = task.task_id
            try:
                # Last: a commit by the handler of a signal has found the attempt, or is found here.
                self._refuse_beside_commit()
            except BaseException:
                for known in (self._tasks, self._stopping, self._running):
                    known.pop(task.attempt_id, None)
                raise
            self._next = max(self._next, task.task_id + 1)

    def task_committed(self, task: Task, message: TaskCommit) -> None:
        """Keep the message for the commit; told again, it is kept once."""
        with self._lock:
            kept = self._messages.get(task.task_id, [])
            if message not in kept:
                self._messages[task.task_id] = [*kept, message]
            self._failed.pop(task.task_id, None)
            self._running.pop(task.attempt_id, None)
            self._stopping.pop(task.attempt_id, None)

    def task_failed(self, task: Task, error: BaseException) -> None:
        """Remember why the job must not commit without another attempt."""
        with self._lock:
            self._failed[task.task_id] = error
            self._running.pop(task.attempt_id, None)

    def task_dropped(self, task: Task) -> None:
        """Forget the task's files; had dropping them been broken off, an abort would stop them."""
        with self._lock:
            self._stopping.pop(task.attempt_id, None)

    def task_left_out(self, task: Task) -> None:
        """Forget a task that the caller has dropped; another attempt at it may still run."""
        with self._lock:
            self._failed.pop(task.task_id, None)
            self._running.pop(task.attempt_id, None)

    async def stop_writing(self) -> None:
        """Have the tasks store nothing more: the job is about to be aborted."""
        # Without the lock, which the interrupt that aborts the job may have left taken.
        await asyncio.gather(*(stop() for stop in list(self._stopping.values())))

    def job_aborted(self) -> None:
        """Notify the tasks, whose files are of no use any more."""
        # Without the lock, as above.
        for reference in self._tasks.valuerefs():
            task = reference()
            if task is not None:
                task.job_aborted()

    @contextmanager
    def committing(self) -> Iterator[object]:
        """A commit, for :meth:`messages`: once it has them no task begins, unless the block fails.

        Such a task would be left out without a word.
        """
        commit = object()
        try:
            yield commit
        except BaseException:
            self._commits.discard(commit)
            raise

    def messages(
        self, job: BoundJob, others: Iterable[TaskCommit] | None, commit: object
    ) -> list[TaskCommit]:
        """Every message that the driver has; one passed in by the caller takes precedence.

        Args:
            job: The job.
            others: The messages passed in by the caller; ``None`` for those of the last call, so
                that a second commit, or leaving the block, commits the same messages.
            commit: The commit that will commit them.

        Raises:
            RequestError: A task is neither committed nor left out, or the messages of the last call
                were not received.
        """
        job_id = job.record.job_id
        given = self._received(job_id, others)
        if job.record.is_collected:
            if given:
                message = 'collect="store" takes no messages: the tasks have left theirs'
                raise RequestError(message, kind="unexpected_messages", job_id=job_id)
            return []
        with self._lock:
            # Not before: a caller's generator may run tasks while its messages are gathered.
            self._commits.add(commit)
            here = {*self._messages, *self._failed, *self._running.values()}
            # What is not a message is refused later, where all of them are checked.
            told = (getattr(one, "task_id", None) for one in given)
            named = here.intersection(one for one in told if isinstance(one, int))
            self._refuse_unfinished(job_id, named)
            own = [
                message
                for task_id, messages in list(self._messages.items())
                if task_id not in named
                for message in messages
            ]
        return [*given, *own] if own else given

    def _refuse_beside_commit(self) -> None:
        if self._commits:
            raise RuntimeError("a commit of the job is under way: it takes no task")

    def _received(self, job_id: str, others: Iterable[TaskCommit] | None) -> list[TaskCommit]:
        if others is not None:
            # Gathering them may fail, and a caller that then goes on must not commit without them.
            self._given = None
            if isinstance(others, TaskCommit):
                message = (
                    f"cannot commit job {job_id}: messages is a list of them, not one: [message]"
                )
                raise RequestError(message, kind="not_a_message", job_id=job_id, stage="check")
            # A `Delayed` of Dask only looks as if it could be iterated.
            how = None if isinstance(others, Collection | Iterator) else how_to_pass(others)
            is_none = isinstance(others, str | bytes | Mapping) or not isinstance(others, Iterable)
            if is_none or how is not None:
                message = (
                    f"cannot commit job {job_id}: messages is a list of what tasks returned, not "
                    f"{type(others).__name__}{f'; {how}' if how else ''}"
                )
                raise RequestError(message, kind="not_a_message", job_id=job_id, stage="check")
            self._given = list(others)
        if self._given is None:
            message = (
                f"cannot commit job {job_id}: gathering the messages that were passed in failed; "
                "pass them again, job.commit(messages), or call job.abort()"
            )
            raise RequestError(message, kind="messages_lost", job_id=job_id, stage="check")
        return self._given

    def _refuse_unfinished(self, job_id: str, named: set[int]) -> None:
        for task_id, error in sorted(self._failed.items()):
            if task_id not in self._messages and task_id not in named:
                message = (
                    f"task {task_id} failed with {error!r} and was not retried; use "
                    f"job.task({task_id}) to retry, or call task.abort() to leave it out on purpose"
                )
                raise RequestError(message, kind="missing_tasks", job_id=job_id, task_id=task_id)
        for task_id in sorted(self._running.values()):
            if task_id not in self._messages and task_id not in named:
                message = (
                    f"task {task_id} has neither committed nor been aborted; call task.commit(), "
                    'or write inside "with job.task()"'
                )
                raise RequestError(message, kind="missing_tasks", job_id=job_id, task_id=task_id)
