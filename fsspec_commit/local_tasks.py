"""The tasks of a job that run in the driver's own process, and how each of them ended."""

import threading
from collections.abc import Iterable

from fsspec_commit.errors import RequestError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.task import Task


class LocalTasks:
    """The tasks of this process, and how each ended; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0
        self._messages: dict[int, list[TaskCommit]] = {}
        self._failed: dict[int, BaseException] = {}
        self._running: dict[int, str] = {}

    def next_id(self) -> int:
        """An id above all that were taken, which nobody else gets."""
        with self._lock:
            self._next += 1
            return self._next - 1

    def begun(self, task: Task) -> None:
        """Remember an attempt until it says how it ended."""
        with self._lock:
            self._next = max(self._next, task.task_id + 1)
            self._running[task.task_id] = task.attempt_id

    def task_committed(self, task: Task, message: TaskCommit) -> None:
        """Keep the message for the commit."""
        with self._lock:
            self._messages.setdefault(task.task_id, []).append(message)
            self._over(task)

    def task_failed(self, task: Task, error: BaseException) -> None:
        """Remember why the job must not commit without another attempt."""
        with self._lock:
            self._over(task)
            self._failed[task.task_id] = error

    def task_left_out(self, task: Task) -> None:
        """Forget a task that the caller dropped on purpose."""
        with self._lock:
            self._over(task)

    def _over(self, task: Task) -> None:
        self._running.pop(task.task_id, None)
        self._failed.pop(task.task_id, None)

    def messages(
        self, job: BoundJob, others: Iterable[TaskCommit], *, collected: bool
    ) -> list[TaskCommit]:
        """Every message the driver has; a caller's own choice for a task stands alone."""
        given = list(others)
        job_id = job.record.job_id
        if collected:
            if given:
                message = 'collect="store" takes no messages: the tasks have left theirs'
                raise RequestError(message, kind="unexpected_messages", job_id=job_id)
            return []
        named = {getattr(one, "task_id", -1) for one in given}
        with self._lock:
            self._refuse_unfinished(job_id, named)
            for task_id, messages in self._messages.items():
                if task_id not in named:
                    given.extend(messages)
        return given

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
