"""Which tasks have committed, as the manifests in the area show."""

from collections.abc import Sequence
from dataclasses import dataclass

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import RequestError
from fsspec_commit.layout import JobLayout
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.messages import MissingTasks
from fsspec_commit.store import Directory

_MISSING_MAX = 10_000


@dataclass(frozen=True, slots=True)
class CommittedTasks:
    """The tasks that have left a manifest.

    Attributes:
        ids: Their numbers, in order.
    """

    ids: tuple[int, ...]

    def missing_of(self, expected: int) -> str:
        """Which of the first *expected* tasks are missing: ``"17, 63"``, or ``"3 to 9"``."""
        known = set(self.ids)
        missing = MissingTasks()
        for task_id in range(expected):
            if task_id not in known:
                missing.add(range(task_id, task_id + 1))
                if missing.count >= _MISSING_MAX:
                    missing.more = task_id + 1 < expected
                    break
        return str(missing)


async def committed_tasks(store: ConfirmedStore, layout: JobLayout) -> CommittedTasks | None:
    """The tasks of a job that have committed; ``None`` if listing them is refused."""
    children = await store.list_children_if_allowed(layout.manifests)
    if children is None:
        return None
    found = (layout.task_of(one.path) for one in children if isinstance(one, Directory))
    return CommittedTasks(tuple(sorted(one for one in found if one is not None)))


async def forgotten_messages(job: BoundJob, messages: Sequence[object]) -> str | None:
    """The warning about committed tasks whose messages were not passed to the driver."""
    if job.record.is_collected:
        return None  # The driver finds the messages in the job's area.
    committed = await committed_tasks(job.store, job.layout)
    passed = (getattr(message, "task_id", -1) for message in messages)
    forgotten = len(set(committed.ids).difference(passed)) if committed is not None else 0
    if not forgotten:
        return None
    is_one = forgotten == 1
    tasks = (
        "1 task committed, its message was"
        if is_one
        else f"{forgotten} tasks committed, their messages were"
    )
    return f"{tasks} not passed: job.commit(messages) takes the task.message of every task"


def empty_job(job: BoundJob, forgotten: str | None) -> RequestError:
    """The refusal of a job that has no files, and has not said that it may have none."""
    job_id = job.record.job_id
    refused = f"cannot commit job {job_id} to {job.record.destination!r}"
    if forgotten is not None:
        message = f"{refused}: {forgotten}"
        return RequestError(message, kind="missing_messages", job_id=job_id, stage="check")
    message = (
        f"{refused}: no file was written through its tasks; open files with task.open() or pass "
        "filesystem=task.filesystem, a plain path goes to the working directory "
        "(allow_empty=True if this is meant)"
    )
    return RequestError(message, kind="empty_job", job_id=job_id, stage="check")
