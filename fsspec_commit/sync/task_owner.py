"""Who is notified of how a task ends: the job it belongs to, in the same process."""

import asyncio
from typing import TYPE_CHECKING, Protocol

from fsspec_commit.records.job import TaskCommit

if TYPE_CHECKING:
    from fsspec_commit.sync.task import Task


class TaskOwner(Protocol):
    """The job of a task in the same process, which is notified of how the task ends.

    Attributes:
        aborting: Held, on the event loop, while the job is being aborted.
    """

    aborting: asyncio.Lock

    def task_committed(self, task: "Task", message: TaskCommit) -> None:
        """The task has committed, with this message."""

    def task_failed(self, task: "Task", error: BaseException) -> None:
        """An exception has left the task's block."""

    def task_dropped(self, task: "Task") -> None:
        """The task was dropped: none of its files is on its way to the store any more."""

    def task_left_out(self, task: "Task") -> None:
        """The task was aborted on purpose."""
