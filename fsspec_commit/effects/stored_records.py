"""Records on the store: establish one exclusively, or recall what stands."""

from typing import TypeVar

from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import (
    JobNotActiveError,
    NewerVersionError,
    RecordError,
    Stage,
    StoreError,
)
from fsspec_commit.layout import JobLayout, StorePath
from fsspec_commit.records import Record, Standing, newer

R = TypeVar("R", bound=Record)


async def establish(
    store: ConfirmedStore, path: StorePath, record: R, *, within: StorePath | None
) -> Standing[R] | None:
    """Create *record* exclusively; ``None`` when another stands there, or *within* is gone."""
    data = _checked(path, record)
    stored = await store.create(path, data, within=within)
    return Standing(record) if stored == data else None


def _checked(path: StorePath, record: Record) -> bytes:
    data = record.encode()
    if len(data) > record.limit_bytes:
        message = f"{path}: a record of {len(data)} bytes is over its cap of {record.limit_bytes}"
        raise RecordError(message, path=path)
    return data


async def establish_unrepeated(
    store: ConfirmedStore, path: StorePath, record: R, *, above: StorePath, backoff: int
) -> Standing[R] | None:
    """Create *record* exclusively, with all directories above it; in doubt, it is not repeated.

    Raises:
        CommitStateUnknownError: It was not answered, and may still be carried out at any time; or
            the directory that was made for it below *above* has gone.
    """
    data = _checked(path, record)
    created = await store.create_unrepeated(path, data, above=above, backoff=backoff)
    return Standing(record) if created else None


async def recall(
    store: ConfirmedStore, layout: JobLayout, path: StorePath, kind: type[R]
) -> Standing[R] | None:
    """The record at *path* in a job's area, strictly decoded, and checked to be the job's own.

    Raises:
        NewerVersionError: A newer version of this library wrote it.
        RecordError: What stands there is not a record, or belongs elsewhere: it is damaged, and
            never acted on.
        StoreError: Reading it was refused, or failed.
    """
    data = await store.read_or_refusal(path, limit_bytes=kind.limit_bytes)
    if data is None:
        return None
    if isinstance(data, StoreError):
        raise damaged(layout, path, str(data)) from data
    try:
        record = kind.decode(data)
        record.check_path(layout, path)
    except NewerVersionError as error:
        raise newer(path, layout.job_id, error) from error
    except RecordError as error:
        raise damaged(layout, path, str(error)) from error
    return Standing(record)


def damaged(layout: JobLayout, path: StorePath, why: str) -> RecordError:
    """The error for a record that is not what it should be, and is not acted on."""
    message = (
        f"{path!r} is damaged: {why}; put back what stood there, or, if the job has not committed, "
        "remove it with clean --damaged"
    )
    return RecordError(message, path=path, job_id=layout.job_id)


def inactive(
    layout: JobLayout, stage: Stage, *, doing: str = "", task_id: int | None = None
) -> JobNotActiveError:
    """The error of a caller whose work area is gone, so that nothing shows how the job ended."""
    message = f"{doing}job {layout.job_id} is already finished or aborted"
    return JobNotActiveError(
        message, job_id=layout.job_id, task_id=task_id, outcome="unknown", stage=stage
    )
