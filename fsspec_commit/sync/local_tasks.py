"""The messages of a driver: those that callers pass in, and those of tasks in its own process."""

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterable, Mapping

from fsspec_commit.errors import RequestError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.sync.task import Task


class LocalTasks:
    """The tasks of this process, how each ended, and the messages of others; thread-safe.

    Attributes:
        aborting: Held, on the event loop, while the job is being aborted.
    """

    def __init__(self) -> None:
        self.aborting = asyncio.Lock()
        self._lock = threading.Lock()
        self._next = 0
        self._messages: dict[int, list[TaskCommit]] = {}
        self._failed: dict[int, BaseException] = {}
        self._running: dict[int, set[str]] = {}
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
            self._next += 1
            return self._next - 1

    def begun(self, task: Task) -> None:
        """Remember an attempt until it reports how it ended."""
        with self._lock:
            self._next = max(self._next, task.task_id + 1)
            self._running.setdefault(task.task_id, set()).add(task.attempt_id)
            self._tasks[task.attempt_id] = task
            self._stopping[task.attempt_id] = task.stop_writing

    def task_committed(self, task: Task, message: TaskCommit) -> None:
        """Keep the message for the commit."""
        with self._lock:
            self._messages.setdefault(task.task_id, []).append(message)
            self._over(task)
            self._stopping.pop(task.attempt_id, None)

    def task_failed(self, task: Task, error: BaseException) -> None:
        """Remember why the job must not commit without another attempt."""
        with self._lock:
            self._over(task)
            self._failed[task.task_id] = error

    def task_dropped(self, task: Task) -> None:
        """Forget the task's files; had dropping them been broken off, an abort would stop them."""
        with self._lock:
            self._stopping.pop(task.attempt_id, None)

    def task_left_out(self, task: Task) -> None:
        """Forget a task that the caller has dropped; another attempt at it may still run."""
        with self._lock:
            self._over(task)

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

    def _over(self, task: Task) -> None:
        running = self._running.get(task.task_id, set())
        running.discard(task.attempt_id)
        if not running:
            self._running.pop(task.task_id, None)
        self._failed.pop(task.task_id, None)

    def messages(
        self, job: BoundJob, others: Iterable[TaskCommit] | None, *, collected: bool
    ) -> list[TaskCommit]:
        """Every message that the driver has; one passed in by the caller takes precedence.

        Args:
            job: The job.
            others: The messages passed in by the caller; ``None`` for those of the last call, so
                that a second commit, or leaving the block, commits the same messages.
            collected: Whether tasks store their messages in the job's area.

        Raises:
            RequestError: A task is neither committed nor left out, or the messages of the last call
                were not received.
        """
        job_id = job.record.job_id
        given = self._received(job_id, others)
        if collected:
            if given:
                message = 'collect="store" takes no messages: the tasks have left theirs'
                raise RequestError(message, kind="unexpected_messages", job_id=job_id)
            return []
        with self._lock:
            here = {*self._messages, *self._failed, *self._running}
            # What is not a message is refused later, where all of them are checked.
            told = (getattr(one, "task_id", None) for one in given)
            named = here.intersection(one for one in told if isinstance(one, int))
            self._refuse_unfinished(job_id, named)
            own = [
                message
                for task_id, messages in self._messages.items()
                if task_id not in named
                for message in messages
            ]
        return [*given, *own] if own else given

    def _received(self, job_id: str, others: Iterable[TaskCommit] | None) -> list[TaskCommit]:
        if others is not None:
            # Gathering them may fail, and a caller that then goes on must not commit without them.
            self._given = None
            if isinstance(others, TaskCommit):
                message = (
                    f"cannot commit job {job_id}: messages is a list of them, not one: [message]"
                )
                raise RequestError(message, kind="not_a_message", job_id=job_id, stage="check")
            if isinstance(others, str | bytes | Mapping) or not isinstance(others, Iterable):
                message = (
                    f"cannot commit job {job_id}: messages is a list of what tasks returned, not "
                    f"{type(others).__name__}"
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
        for task_id in sorted(self._running):
            if task_id not in self._messages and task_id not in named:
                message = (
                    f"task {task_id} has neither committed nor been aborted; call task.commit(), "
                    'or write inside "with job.task()"'
                )
                raise RequestError(message, kind="missing_tasks", job_id=job_id, task_id=task_id)
