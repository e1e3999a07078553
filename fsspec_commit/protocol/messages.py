"""Which attempts were chosen: from the messages a driver passes, or from the store."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from inspect import iscoroutine
from itertools import pairwise
from operator import attrgetter

from fsspec_commit.effects.parallel import all_of
from fsspec_commit.effects.stored_records import recall
from fsspec_commit.errors import RecordError, RequestError
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.records.job import ChosenRecord, TaskCommit

_SHOWN_MAX = 20
_CHARACTERS_MAX = 200
_AT_ONCE_MAX = 1024
_LOOKED_FOR_MAX = 10_000


@dataclass(frozen=True, slots=True)
class _OfJob(Iterable[TaskCommit]):
    """The objects that a caller passed, each checked to be a message of this job."""

    job: BoundJob
    given: Sequence[object]

    def __iter__(self) -> Iterator[TaskCommit]:
        job_id = self.job.record.job_id
        own = f"{job_id}/"
        for message in self.given:
            if not isinstance(message, TaskCommit):
                text = (
                    f"cannot commit job {job_id}: {_shown(message)} is no TaskCommit; "
                    f"{_how_to_pass_one(message)}"
                )
                raise RequestError(text, kind="not_a_message", job_id=job_id, stage="check")
            if not message.manifest.startswith(own):
                text = f"cannot commit job {job_id}: {message.manifest!r} is another job's task"
                raise RequestError(text, kind="other_job", job_id=job_id, stage="check")
            yield message

    def check_values(self) -> None:
        """Refuse a message with values that no task sends: unpickling checks none of them."""
        for one in self.given:
            if isinstance(one, TaskCommit):
                try:
                    one.check_values()
                except RecordError as error:
                    job_id = self.job.record.job_id
                    text = f"cannot commit job {job_id}: no task sends such a message: {error}"
                    where = {"job_id": job_id, "stage": "check"}
                    raise RequestError(text, kind="not_a_message", **where) from error


def _shown(thing: object) -> str:
    """*thing* as a message quotes it: what it is if it says no more than that, and not at length.

    A list of a thousand messages would hide what is said of it.
    """
    text = repr(thing)
    if " at 0x" in text:
        kind = type(thing)
        return f"an object of type {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")
    return text if len(text) <= _CHARACTERS_MAX else f"{text[:_CHARACTERS_MAX]}…"


def _has(*names: str) -> Callable[[object], bool]:
    return lambda thing: all(hasattr(thing, name) for name in names)


def _holds_messages(thing: object) -> bool:
    return isinstance(thing, list | tuple | set) and any(
        isinstance(one, TaskCommit) for one in thing
    )


# In this order: a `Delayed` of Dask claims to have every attribute, and what Celery gives has a
# `result` that is no method.
_WAYS: tuple[tuple[Callable[[object], bool], str], ...] = (
    (
        _holds_messages,
        (
            "these are messages in a list of their own: pass that list itself, or, of several, "
            "one list of what is in all of them"
        ),
    ),
    (_has("compute"), "pass what its .compute() returns"),
    (
        lambda thing: iscoroutine(thing) or asyncio.isfuture(thing),
        "await it first, and pass what it returns",
    ),
    (_has("get", "ready"), "pass what its .get() returns"),
    (_has("result"), "pass what its .result() returns"),
    (lambda thing: type(thing).__name__ == "ObjectRef", "pass what ray.get() returns for it"),
    (_has("attempt_id"), "pass its .message"),
)


def how_to_pass(thing: object) -> str | None:
    """How to get messages from *thing*, which was passed instead; ``None`` if nobody knows."""
    return next((how for is_such, how in _WAYS if is_such(thing)), None)


def _how_to_pass_one(thing: object) -> str:
    if (known := how_to_pass(thing)) is not None:
        return known
    how = "a worker must return task.message, and only after the task has committed"
    return f"{how}; TaskCommit.from_json(text) reads one" if isinstance(thing, str) else how


def check_messages(job: BoundJob, messages: Sequence[object]) -> Iterator[TaskCommit]:
    """The one message of every task, in the order of tasks (P3).

    Messages that come in that order are not copied.

    Raises:
        RequestError: Something is not a message, or is another job's; a task has two different
            messages, or none. Raised before the first message is returned.
    """
    valid = _OfJob(job, messages)
    valid.check_values()
    task_id = attrgetter("task_id")
    ascending = all(one < other for one, other in pairwise(map(task_id, valid)))
    ordered = valid if ascending else sorted(valid, key=task_id)
    _refuse_missing(job, map(task_id, _one_a_task(job, ordered)))
    return _one_a_task(job, ordered)


def _one_a_task(job: BoundJob, ordered: Iterable[TaskCommit]) -> Iterator[TaskCommit]:
    known: TaskCommit | None = None
    for one in ordered:
        message = one.unbiased()
        if known is None or known.task_id != message.task_id:
            known = message
            yield message
        elif known != message:
            job_id, task_id = job.record.job_id, message.task_id
            text = (
                f"cannot commit job {job_id}: two attempts of task {task_id} sent a message, "
                f"{known.attempt_id} and {message.attempt_id}; pass the one you choose"
            )
            raise RequestError(
                text, kind="duplicate_task", job_id=job_id, task_id=task_id, stage="check"
            )


def _refuse_missing(job: BoundJob, task_ids: Iterable[int]) -> None:
    """Compare all *task_ids*, which ascend, with the tasks that the job was told to expect."""
    expected, job_id = job.record.tasks, job.record.job_id
    missing = MissingTasks()
    extra: int | None = None
    following = 0
    for task_id in task_ids:
        if expected is not None and task_id >= expected:
            extra = task_id if extra is None else extra
            continue
        missing.add(range(following, task_id))
        following = task_id + 1
    if expected is None:
        return
    missing.add(range(following, expected))
    if missing.count:
        raise missing_tasks(job, missing, expected, extra)
    if extra is not None:
        text = f"cannot commit job {job_id}: task {extra}, of {expected} tasks, 0 to {expected - 1}"
        raise RequestError(text, kind="unexpected_task", job_id=job_id, stage="check")


async def collect_messages(job: BoundJob, task_count: int) -> AsyncIterator[Sequence[TaskCommit]]:
    """The message of the first attempt of each task, from the job's area.

    Raises:
        RequestError: A task has no message yet.
        RecordError: A record does not belong to its task.
    """

    async def read(task_id: int) -> TaskCommit | None:
        path = job.layout.chosen(task_id)
        chosen = await recall(job.store, job.layout, path, ChosenRecord)
        if chosen is None:
            return None
        return chosen.record.message.unbiased()

    missing = MissingTasks()
    for start in range(0, task_count, _AT_ONCE_MAX):
        group = range(start, min(start + _AT_ONCE_MAX, task_count))
        found = await all_of(group, read, in_flight_max=job.store.in_flight_max)
        messages = [message for message in found if message is not None]
        for task_id, message in zip(group, found, strict=True):
            if message is None:
                missing.add(range(task_id, task_id + 1))
        if not missing.count:
            yield messages
        elif missing.count >= _LOOKED_FOR_MAX:
            missing.more = True
            break
    if missing.count:
        raise missing_tasks(job, missing, task_count)


class MissingTasks:
    """Tasks without a message, in order: how many, and the first few ranges."""

    def __init__(self) -> None:
        self.count = 0
        self.more = False
        self._runs: list[range] = []

    def add(self, run: range) -> None:
        """Add a range of tasks whose numbers are above all that were added before."""
        if not run:
            return
        self.count += len(run)
        if self._runs and self._runs[-1].stop == run.start:
            self._runs[-1] = range(self._runs[-1].start, run.stop)
        elif len(self._runs) <= _SHOWN_MAX:
            self._runs.append(run)

    def __str__(self) -> str:
        shown = [
            str(run.start) if len(run) == 1 else f"{run.start} to {run.stop - 1}"
            for run in self._runs[:_SHOWN_MAX]
        ]
        return ", ".join([*shown, "…"] if self.more or len(self._runs) > _SHOWN_MAX else shown)


def missing_tasks(
    job: BoundJob, missing: MissingTasks, expected: int, extra: int | None = None
) -> RequestError:
    """The refusal to commit a job of which a task is missing.

    If *extra*, a task beyond the last one, has a message, the tasks were numbered from 1.
    """
    how = (
        "wait for them, or run them again"
        if job.record.is_collected
        else "pass every TaskCommit to job.commit(messages), or retry them"
    )
    if extra is not None:
        how = f"but task {extra} has one: of {expected} tasks they are numbered 0 to {expected - 1}"
    count = f"at least {missing.count}" if missing.more else f"{missing.count}"
    message = (
        f"cannot commit job {job.record.job_id}: {count} of {expected} tasks have no message: "
        f"{missing}; {how}"
    )
    return RequestError(message, kind="missing_tasks", job_id=job.record.job_id, stage="check")
