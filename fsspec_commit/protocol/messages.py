"""Which attempts were chosen: from the messages a driver passes, or from the store."""

from collections.abc import Collection, Iterable

from fsspec_commit.effects.standing import recall
from fsspec_commit.errors import RequestError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import ChosenRecord, TaskCommit

_SHOWN_MAX = 20


def check_messages(job: BoundJob, messages: Iterable[object]) -> tuple[TaskCommit, ...]:
    """The one message of every task, ordered by task (P3).

    Raises:
        RequestError: Something is no message, another job's, one of two different ones for a
            task, or one is missing.
    """
    chosen: dict[int, TaskCommit] = {}
    job_id = job.record.job_id
    for message in messages:
        if not isinstance(message, TaskCommit):
            text = (
                f"cannot commit job {job_id}: {message!r} is no TaskCommit; a worker must return "
                "task.message, and only after the task has committed"
            )
            raise RequestError(text, kind="not_a_message", job_id=job_id, stage="check")
        if not message.manifest.startswith(f"{job_id}/"):
            text = f"cannot commit job {job_id}: {message.manifest!r} is another job's task"
            raise RequestError(text, kind="other_job", job_id=job_id, stage="check")
        known = chosen.setdefault(message.task_id, message.unbiased())
        if known != message.unbiased():
            text = (
                f"cannot commit job {job_id}: two attempts of task {message.task_id} sent a "
                f"message, {known.attempt_id} and {message.attempt_id}; pass the one you choose"
            )
            raise RequestError(
                text, kind="duplicate_task", job_id=job_id, task_id=message.task_id, stage="check"
            )
    expected = job.record.tasks
    if expected is not None:
        missing = [task_id for task_id in range(expected) if task_id not in chosen]
        if missing:
            raise missing_tasks(job, missing, expected)
        extra = [task_id for task_id in chosen if task_id >= expected]
        if extra:
            text = f"cannot commit job {job_id}: task {extra[0]}, of {expected} tasks, 0 to "
            text += f"{expected - 1}"
            raise RequestError(text, kind="unexpected_task", job_id=job_id, stage="check")
    return tuple(message for _, message in sorted(chosen.items()))


async def collect_messages(job: BoundJob, task_count: int) -> tuple[TaskCommit, ...]:
    """The message of the first attempt of each task, as it was left beside the job.

    Raises:
        RequestError: A task has none yet.
    """
    missing: list[int] = []
    messages: list[TaskCommit] = []
    for task_id in range(task_count):
        chosen = await recall(job.store, job.layout.chosen(task_id), ChosenRecord)
        if chosen is None:
            missing.append(task_id)
        else:
            messages.append(chosen.record.message)
    if missing:
        raise missing_tasks(job, missing, task_count)
    return check_messages(job, messages)


def missing_tasks(job: BoundJob, missing: Collection[int], expected: int) -> RequestError:
    """The refusal to commit a job of which a part is not there."""
    some = ", ".join(str(task_id) for task_id in sorted(missing)[:_SHOWN_MAX])
    more = ", …" if len(missing) > _SHOWN_MAX else ""
    how = (
        "wait for them, or run them again"
        if job.record.collect == "store"
        else "pass every TaskCommit to job.commit(messages), or retry them"
    )
    message = (
        f"cannot commit job {job.record.job_id}: {len(missing)} of {expected} tasks have no "
        f"message: {some}{more}; {how}"
    )
    return RequestError(message, kind="missing_tasks", job_id=job.record.job_id, stage="check")
