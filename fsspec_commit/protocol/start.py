"""The start of a job, which fails before the work if the work would be in vain."""

from fsspec_commit.effects.stored_records import establish_unrepeated
from fsspec_commit.effects.void_areas import may_be_taken
from fsspec_commit.errors import (
    CommitFailedError,
    CommitStateUnknownError,
    Reply,
    RequestError,
    StoreError,
    failing_as,
)
from fsspec_commit.protocol.bound_job import BoundJob
from fsspec_commit.protocol.listing import first_visible
from fsspec_commit.protocol.marks import is_done
from fsspec_commit.protocol.replaced import destination_exists, refuse_what_must_stay


async def has_nothing_to_do(job: BoundJob) -> bool:
    """Whether the job has nothing to do; only the later check, under the claim, is final.

    Raises:
        DestinationExistsError: ``mode="error"``, and the destination holds data.
        RequestError: ``mode="overwrite"`` of a whole bucket or disk.
    """
    if await is_done(job):
        return True
    mode = job.record.mode
    if mode == "overwrite" and job.layout.destination.is_whole_store:
        message = f"cannot overwrite {job.record.destination!r}: it is the root of its store"
        raise RequestError(message, kind="overwrite_root", stage="start")
    if mode == "overwrite" and job.record.names == "unique":
        await refuse_what_must_stay(job)
    if mode in {"error", "ignore"}:
        existing = await first_visible(job)
        if existing is not None and mode == "error":
            raise destination_exists(job, existing)
        return existing is not None
    return False


@failing_as(CommitFailedError, "start")
async def create_job(job: BoundJob, *, failed: int) -> str | None:
    """Create ``job.json``, which begins the life of the job; only here is an area made.

    A request that was not answered is never repeated: it could be carried out after the job that
    the second request began has finished, and bring that job back to life. It may still make an
    area, of a job that nobody works on: that is shown as open, and `clean` removes it.

    Args:
        job: The job, under a new id.
        failed: How many ids were tried in vain just before.

    Returns:
        Why it is not known whether the record was created: the job id is spent, and the caller
        takes another one. ``None`` if it was created.

    Raises:
        RequestError: The job declares more partitions than ``job.json`` can hold.
        CommitFailedError: The store refuses to create it.
    """
    record, layout, store = job.record, job.layout, job.store
    size_bytes = len(record.encode())
    if size_bytes > record.limit_bytes:
        message = (
            f"cannot start a job at {record.destination!r}: job.json would have {size_bytes} bytes "
            f"with the {len(record.partitions)} partitions that it declares, and at most "
            f"{record.limit_bytes} are read; declare directories above them"
        )
        raise RequestError(message, kind="too_many_partitions", stage="start")
    refusal: StoreError | None = None
    areas = layout.destination.areas
    try:
        created = await establish_unrepeated(
            store, layout.spec, record, above=areas, backoff=failed
        )
    except CommitStateUnknownError as error:
        cause = error.__cause__
        if not isinstance(cause, StoreError) or cause.reply is not Reply.REFUSED:
            return str(cause or error)
        refusal = cause
    if refusal is not None:
        # Any other id would be refused, too. Raised above, it would be the cause of its own cause.
        raise refusal
    if created is None:
        return f"{layout.spec!r} is another's"
    if may_be_taken(store, walks=job.walks) and await store.stat(layout.spec) is None:
        return f"{layout.area!r} was cleaned up before {layout.spec!r} was in it"
    return None
