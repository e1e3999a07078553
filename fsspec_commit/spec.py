"""The spec that a driver sends to its workers: a job as data, with secrets only if shared."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

from msgspec import Meta

from fsspec_commit.destination import OpenDestination, open_destination
from fsspec_commit.errors import RecordError, RequestError
from fsspec_commit.ids import IdSource
from fsspec_commit.location import locate
from fsspec_commit.records import JsonRecord, text_bytes
from fsspec_commit.records.job import TASKS_MAX, JobRecord
from fsspec_commit.store import OpenOptions

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


WAIT_S = 60.0
"""How long a job waits for a conflicting one by default."""


class SpecText(JsonRecord, frozen=True, kw_only=True, omit_defaults=True):
    """A spec as text: the content of ``job.json``, and what only drivers and workers need.

    Attributes:
        wait_s: How long to wait; ``None`` is for ever, since JSON has no infinity.
        write_behind: Left out of the text if true: versions that do not know it can read the text.
    """

    limit_bytes: ClassVar[int] = JobRecord.limit_bytes + 1024

    job: JobRecord
    wait_s: Annotated[float, Meta(ge=0)] | None
    concurrency: Annotated[int, Meta(ge=1)] | None
    write_behind: bool = True


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One job as plain data: it can be pickled, or sent as JSON by engines that carry only text.

    Neither ``repr`` nor JSON ever holds a secret; a pickle does with ``share_secrets=True``.
    """

    record: JobRecord = field(repr=False)
    storage_options: Mapping[str, object] | None = field(default=None, repr=False, compare=False)
    wait_s: float = WAIT_S
    concurrency: int | None = None
    write_behind: bool = True

    @property
    def job_id(self) -> str:
        """The job's id."""
        return self.record.job_id

    @property
    def destination(self) -> str:
        """Where the job writes: a URL, or an absolute path."""
        return self.record.destination

    def to_json(self) -> str:
        """The job as text, without storage options and so without secrets."""
        wait_s = None if self.wait_s == inf else float(self.wait_s)
        text = SpecText(
            job=self.record,
            wait_s=wait_s,
            concurrency=self.concurrency,
            write_behind=self.write_behind,
        )
        return text.encode().decode()

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a spec that :meth:`to_json` wrote; a line feed at its end is ignored.

        Raises:
            RequestError: *text* is not a ``str``.
            RecordError: *text* is not a spec.
        """
        data = text_bytes(text, cls, SpecText.limit_bytes, noun="spec")
        try:
            read = SpecText.decode(data.strip())
        except RecordError as error:
            message = f"the text is no spec of a job, as JobSpec.to_json() gives one: {error}"
            raise RecordError(message) from error
        wait_s = inf if read.wait_s is None else read.wait_s
        return cls(
            read.job,
            wait_s=wait_s,
            concurrency=read.concurrency,
            write_behind=read.write_behind,
        )

    def __repr__(self) -> str:
        return f"<JobSpec of job {self.job_id} to {self.destination}>"


def check_spec(spec: object) -> None:
    """Refuse anything but a spec, and say how to get one.

    Raises:
        RequestError: *spec* is not one.
    """
    if not isinstance(spec, JobSpec):
        hint = "JobSpec.from_json(text) reads one" if isinstance(spec, str) else "send job.spec"
        message = f"from_spec takes the spec of a job, not {type(spec).__name__}: {hint}"
        raise RequestError(message, kind="not_a_spec")


async def open_spec(
    spec: JobSpec,
    *,
    storage_options: Mapping[str, object] | None,
    filesystem: "AbstractFileSystem | None",
    ids: IdSource,
) -> OpenDestination:
    """Open the destination of a spec with this process's own credentials.

    The committer is the one that the spec names: it is never selected again.
    """
    options = storage_options if storage_options is not None else spec.storage_options
    location = locate(spec.destination, None if filesystem is not None else options, filesystem)
    record = spec.record
    opening = OpenOptions(
        durability=record.durability,
        single_writer=record.single_writer,
        concurrency=spec.concurrency,
    )
    return await open_destination(location, opening, ids=ids)


def check_task_id(task_id: object, job: JobRecord) -> None:
    """Refuse an id that no task of the job can have.

    Raises:
        RequestError: *task_id* is not an integer that a record can hold; or, with
            ``collect="store"``, it is not below the number of tasks that the driver will read.
    """
    is_flag = isinstance(task_id, bool)
    if is_flag or not isinstance(task_id, int) or not 0 <= task_id < TASKS_MAX:
        message = f"a task id is a number from 0 on, {TASKS_MAX - 1} at most, not {task_id!r}"
        raise RequestError(message, kind="invalid_task_id", job_id=job.job_id)
    if job.is_collected and job.tasks is not None and task_id >= job.tasks:
        message = (
            f"job {job.job_id} has {job.tasks} tasks, 0 to {job.tasks - 1}, and none is number "
            f"{task_id}: what it wrote would be left out; start the job with tasks={task_id + 1} "
            "or more, or give its parts lower numbers"
        )
        raise RequestError(
            message, kind="unexpected_task", job_id=job.job_id, task_id=task_id, stage="open"
        )


def not_from_here(what: str, why: str = "cannot be pickled") -> str:
    """The message for an object of one process that is of no use in another."""
    return (
        f"{what} {why}: its files would never reach the driver; send job.spec, call "
        "Task.from_spec(spec, task_id) there and return task.message"
    )
