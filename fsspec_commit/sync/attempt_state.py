"""How far an attempt has come: it is open, is being sealed, and ends committed or aborted.

Every step is taken on the event loop. The step into an end is taken while a lock of the loop is
held, so that of a commit and an abort in two threads one is first and the other finds out; and no
interrupt comes between the steps.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import Literal, TypeAlias

from fsspec_commit.effects.stored_records import inactive
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.driver import NotThereYetError
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.spec import not_from_here

State: TypeAlias = Literal["open", "sealing", "committing", "committed", "aborted"]


class AttemptState:
    """The state of an attempt, and what may still be done in it.

    Args:
        job: The job.
        task_id: The number of the task.
        another: What begins another attempt.

    Attributes:
        now: The state; ``committing``: the attempt's message is being stored, or may be stored.
        is_job_aborted: Whether this process has aborted the job.
    """

    def __init__(self, job: BoundJob, task_id: int, *, another: str) -> None:
        self.now: State = "open"
        self.is_job_aborted = False
        self._job = job
        self._task_id = task_id
        self._another = another
        self._message: TaskCommit | None = None
        self._pid = os.getpid()
        self._ending = asyncio.Lock()

    @property
    def message(self) -> TaskCommit:
        """The message of a committed attempt.

        Raises:
            RuntimeError: The attempt is not committed.
        """
        if self._message is None:
            message = (
                f"task {self._task_id} is {self.now}, and has no message before it has committed"
            )
            raise NotThereYetError(message)
        return self._message

    async def commit(
        self, refuse: Callable[[], None], seal: Callable[[], Awaitable[TaskCommit]]
    ) -> None:
        """Commit the attempt, once an abort that another thread has begun has failed.

        Args:
            refuse: Raises an error if some file is not whole.
            seal: Commits what the attempt has produced; if it fails, the attempt is as good as
                lost, and is dropped.

        Raises:
            RuntimeError: The attempt is not open.
            JobNotActiveError: The job was aborted.
        """
        async with self._ending:
            self.check("commit")
            # First: who opens or removes a file notes that, and then looks here. Either sees the
            # other, and whoever does gives way.
            self.now = "sealing"
            try:
                refuse()
            except BaseException:
                self.now = "open"
                raise
            self._message = await seal()
            self.now = "committed"

    async def give_up(self, drop: Callable[[], None]) -> State:
        """Abort the attempt unless it is committed, and return the state that it was in.

        Waits for the end of a commit that is under way. *drop* is called if the attempt is aborted.
        """
        async with self._ending:
            before = self.now
            if before not in {"committed", "aborted"}:
                self.now = "aborted"
                drop()
            return before

    def check(self, what: str, error: type[RuntimeError] = RuntimeError) -> None:
        """Refuse to do *what*, unless the attempt is open.

        Raises:
            RuntimeError: It is not open, or belongs to another process; an *error* if it is over.
            JobNotActiveError: The job was aborted.
        """
        self.check_process()
        if self.now != "open":
            message = (
                f"cannot {what}: task {self._task_id} is {self.now}; use a new {self._another}"
            )
            raise error(message)
        if self.is_job_aborted:
            doing = f"task {self._task_id} cannot {what}: "
            raise inactive(self._job.layout, "write", doing=doing, task_id=self._task_id)

    @property
    def is_elsewhere(self) -> bool:
        """Whether this process is a forked child of the one that the attempt belongs to."""
        return self._pid != os.getpid()

    def check_process(self) -> None:
        """Refuse everything in a forked child.

        Raises:
            RuntimeError: This is another process than the one that has begun the attempt.
        """
        if self.is_elsewhere:
            raise RuntimeError(not_from_here(f"task {self._task_id}", "was used after fork"))
