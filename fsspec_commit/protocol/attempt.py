"""Worker side: seal the files, write the manifest, make the message."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Protocol

from fsspec_commit.committers import NewFile
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.parallel import both
from fsspec_commit.effects.stored_records import establish, inactive, recall
from fsspec_commit.errors import (
    CommitFailedError,
    JobNotActiveError,
    RequestError,
    failing_as,
)
from fsspec_commit.layout import AttemptLayout
from fsspec_commit.protocol.job_records import read_record
from fsspec_commit.protocol.kept_manifests import KeptManifests
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.records.job import ChosenRecord, Collect, TaskCommit


class Sealable(Protocol):
    """The files of an attempt, about to be fixed."""

    async def seal(self, rows: int | None) -> bytes:
        """Fix the set of files, so that late writers cannot change it, and return its manifest."""

    async def is_active(self) -> bool:
        """Whether the job is not over; asks nothing where sealing has shown that."""

    def finished(self) -> Sequence[NewFile]:
        """The files in the manifest, in the order of their names."""


def _no_other(manifest: bytes) -> bool:  # noqa: ARG001  # whatever it is
    return False


async def commit_attempt(
    layout: AttemptLayout,
    output: Sealable,
    store: ConfirmedStore,
    *,
    rows: int | None,
    collect: Collect,
    is_as_good: Callable[[bytes], bool] = _no_other,
    kept: KeptManifests | None = None,
    choosing: Callable[[], None] = lambda: None,
) -> TaskCommit:
    """Fix what the attempt produced; nothing becomes visible.

    When this returns, the attempt's manifest stands and the message names it. Until the message
    reaches the driver, the attempt counts as never made. With ``collect="store"`` the message is
    stored in the job's area instead, and the first attempt of a task to do so is chosen.

    Args:
        layout: The attempt.
        output: Its files.
        store: Where the manifest is to stand.
        rows: How many rows the files hold, if that is known.
        collect: Where the message goes.
        is_as_good: Whether another manifest of this attempt that stands already is accepted. There
            can be one only if several processes commit one attempt.
        kept: Where the manifest is kept, if the driver of the job is in this process.
        choosing: Called before a message is stored: from then on the attempt may be chosen.

    Raises:
        RequestError: The files cannot be those of an attempt.
        JobNotActiveError: The job was settled while the task ran.
        CommitFailedError: It did not happen; run the task again.
    """
    try:
        message, manifest = await _write_manifest(
            layout, output, store, rows=rows, is_as_good=is_as_good
        )
        if kept is not None:
            kept.keep(message, manifest)
        if collect != "store":
            return message
        choosing()
        return await _choose(layout, message, store)
    except (CommitFailedError, RequestError) as error:
        if await read_record(store, layout.job) is None:
            raise _inactive(layout) from error
        raise


@failing_as(CommitFailedError, "commit_task")
async def _write_manifest(
    layout: AttemptLayout,
    output: Sealable,
    store: ConfirmedStore,
    *,
    rows: int | None,
    is_as_good: Callable[[bytes], bool],
) -> tuple[TaskCommit, bytes]:
    manifest = await output.seal(rows)
    files = output.finished()
    if len(manifest) > RECORD_BYTES_MAX:
        message = (
            f"task {layout.task_id} wrote {len(files)} files, and the list of them is longer than "
            f"a driver reads ({RECORD_BYTES_MAX >> 20} MiB); write fewer, larger files or use more "
            "tasks"
        )
        raise RequestError(message, kind="manifest_too_large", task_id=layout.task_id)
    # Concurrently: a manifest counts only by its message, and there is no message yet.
    standing, is_active = await both(
        store.create(layout.manifest, manifest, within=layout.job.area), output.is_active()
    )
    if not is_active or standing is None or (standing != manifest and not is_as_good(standing)):
        raise _inactive(layout)
    sent = TaskCommit(
        task_id=layout.task_id,
        attempt_id=layout.attempt_id,
        file_count=len(files),
        bytes=sum(file.size_bytes for file in files),
        manifest=layout.manifest_name,
        digest=sha256(standing).hexdigest(),
    )
    return sent, standing


@failing_as(CommitFailedError, "commit_task")
async def _choose(layout: AttemptLayout, message: TaskCommit, store: ConfirmedStore) -> TaskCommit:
    record = ChosenRecord(nonce=store.ids.nonce(), message=message)
    path = layout.job.chosen(layout.task_id)
    standing = await establish(store, path, record, within=layout.job.area)
    if standing is None:
        standing = await recall(store, layout.job, path, ChosenRecord)
    if standing is None:
        raise _inactive(layout)
    # An attempt that is adopted again finds its own record.
    chosen = standing.record.message.attempt_id == layout.attempt_id
    return message.told_chosen(chosen=chosen)


async def may_discard(layout: AttemptLayout, store: ConfirmedStore) -> bool:
    """Whether it is safe to delete an attempt whose message may be stored (``collect="store"``).

    It is, once another attempt is read as the chosen one; until then this one may become it.
    """
    chosen = await recall(store, layout.job, layout.job.chosen(layout.task_id), ChosenRecord)
    return chosen is not None and chosen.record.message.attempt_id != layout.attempt_id


def _inactive(layout: AttemptLayout) -> JobNotActiveError:
    task_id = layout.task_id
    doing = f"task {task_id} cannot commit: "
    return inactive(layout.job, "commit_task", doing=doing, task_id=task_id)
