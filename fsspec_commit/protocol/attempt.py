"""Worker side: seal the files, write the manifest, make the message."""

from hashlib import sha256

from fsspec_commit.committers import AttemptOutput
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.stored_records import establish, inactive, recall
from fsspec_commit.errors import (
    CommitFailedError,
    JobNotActiveError,
    RequestError,
    failing_as,
)
from fsspec_commit.layout import AttemptLayout
from fsspec_commit.protocol.job_records import read_record
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.records.job import ChosenRecord, Collect, TaskCommit


async def commit_attempt(
    layout: AttemptLayout,
    output: AttemptOutput,
    store: ConfirmedStore,
    *,
    rows: int | None,
    collect: Collect,
) -> TaskCommit:
    """Fix what the attempt produced; nothing becomes visible.

    When this returns, the attempt's manifest stands and the message names it. Until the message
    reaches the driver, the attempt counts as never made. With ``collect="store"`` the message is
    stored in the job's area instead, and the first attempt of a task to do so is chosen.

    Raises:
        JobNotActiveError: The job was settled while the task ran.
        CommitFailedError: It did not happen; run the task again.
    """
    try:
        message = await _write_manifest(layout, output, store, rows=rows)
        return await _choose(layout, message, store) if collect == "store" else message
    except CommitFailedError as error:
        if await read_record(store, layout.job) is None:
            raise _inactive(layout) from error
        raise


@failing_as(CommitFailedError, "commit_task")
async def _write_manifest(
    layout: AttemptLayout, output: AttemptOutput, store: ConfirmedStore, *, rows: int | None
) -> TaskCommit:
    files = output.finished()
    manifest = await output.seal(rows)
    if len(manifest) > RECORD_BYTES_MAX:
        message = (
            f"task {layout.task_id} wrote {len(files)} files, and the list of them is longer than "
            f"a driver reads ({RECORD_BYTES_MAX >> 20} MiB); write fewer, larger files or use more "
            "tasks"
        )
        raise RequestError(message, kind="manifest_too_large", task_id=layout.task_id)
    if await store.create(layout.manifest, manifest, within=layout.job.area) != manifest:
        raise _inactive(layout)
    return TaskCommit(
        task_id=layout.task_id,
        attempt_id=layout.attempt_id,
        file_count=len(files),
        bytes=sum(file.size_bytes for file in files),
        manifest=layout.manifest_name,
        digest=sha256(manifest).hexdigest(),
    )


@failing_as(CommitFailedError, "commit_task")
async def _choose(layout: AttemptLayout, message: TaskCommit, store: ConfirmedStore) -> TaskCommit:
    record = ChosenRecord(nonce=store.ids.nonce(), message=message)
    path = layout.job.chosen(layout.task_id)
    first = await establish(store, path, record, within=layout.job.area)
    if first is None and await recall(store, layout.job, path, ChosenRecord) is None:
        raise _inactive(layout)
    return message.told_chosen(chosen=first is not None)


async def may_discard(layout: AttemptLayout, store: ConfirmedStore) -> bool:
    """Whether an attempt that has begun to commit under ``collect="store"`` may be deleted.

    It may be once another attempt is read as the chosen one; until then this one may become it.
    """
    chosen = await recall(store, layout.job, layout.job.chosen(layout.task_id), ChosenRecord)
    return chosen is not None and chosen.record.message.attempt_id != layout.attempt_id


def _inactive(layout: AttemptLayout) -> JobNotActiveError:
    task_id = layout.task_id
    doing = f"task {task_id} cannot commit: "
    return inactive(layout.job, "commit_task", doing=doing, task_id=task_id)
