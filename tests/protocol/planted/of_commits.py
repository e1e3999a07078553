"""Planted bugs: steps of a commit left out or swapped, and answers that are not true."""

from __future__ import annotations

from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import structs

from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    JobNotActiveError,
    PartialCommitError,
)
from fsspec_commit.protocol import (
    commit,
    driver,
    recovery,
)
from fsspec_commit.protocol.publish import Placing, publish_files
from fsspec_commit.protocol.replaced import ReplacedFiles, recall_replaced
from fsspec_commit.protocol.streamed_list import ShortList
from fsspec_commit.records import Standing
from fsspec_commit.store import Expect

if TYPE_CHECKING:
    import pytest


def publishes_before_its_decision(patch: pytest.MonkeyPatch) -> None:
    real = commit._decide

    async def decide(job: Any, wanted: Any) -> Any:
        new = await recovery._decided_files(job, wanted)
        replaced = await recall_replaced(job, Standing(wanted), new.reusable, ShortList())
        placing = Placing(job, new.count, None)
        await publish_files(job, new, replaced, resuming=False, lost=None, placing=placing)
        return await real(job, wanted)

    patch.setattr(commit, "_decide", decide)


def deletes_before_it_publishes(patch: pytest.MonkeyPatch) -> None:
    real = publish_files

    async def publish(job: Any, new: Any, replaced: Any, **how: Any) -> None:
        async for batch in replaced.batches():
            for file in batch:
                if not file.in_place:
                    path = job.layout.destination.final(file.name)
                    await job.store._store.delete(path, expecting=Expect.ANYTHING)
        await real(job, new, replaced, **how)

    patch.setattr(commit, "publish_files", publish)


def leaves_the_old_files(patch: pytest.MonkeyPatch) -> None:
    async def keep(*_: Any) -> tuple[str, ...]:
        return ()

    patch.setattr(commit, "delete_replaced", keep)


def publishes_no_marker(patch: pytest.MonkeyPatch) -> None:
    async def none(*_: Any, **__: Any) -> tuple[str, ...]:
        return ()

    patch.setattr(commit, "publish_success", none)


def leaves_out_the_last_file(patch: pytest.MonkeyPatch) -> None:
    """An upload or a rename that fails for certain is taken for done."""
    real = publish_files

    async def publish(*args: Any, **how: Any) -> None:
        with suppress(PartialCommitError, CommitStateUnknownError):
            await real(*args, **how)

    patch.setattr(commit, "publish_files", publish)


def publishes_another_attempt(patch: pytest.MonkeyPatch) -> None:
    """The last attempt of a task wins, and not the one that the driver has chosen."""
    real = commit._decide

    async def decide(job: Any, wanted: Any) -> Any:
        chosen = []
        for message in wanted.chosen:
            task = job.store._store
            prefix = f"{job.layout.manifests}/{message.task_id}"
            names = [entry.path.rpartition("/")[2] async for entry in task.list_tree(prefix)]
            last = max(names) if names else message.attempt_id
            chosen.append(await _message_of(job, message, last))
        return await real(job, structs.replace(wanted, chosen=tuple(chosen)))

    patch.setattr(commit, "_decide", decide)


async def _message_of(job: Any, message: Any, attempt_id: str) -> Any:
    layout = job.layout.attempt(message.task_id, attempt_id)
    data = await job.store.read(layout.manifest)
    return structs.replace(
        message,
        attempt_id=attempt_id,
        manifest=layout.manifest_name,
        digest=sha256(data).hexdigest(),
    )


def writes_outside(patch: pytest.MonkeyPatch) -> None:
    from fsspec_commit.layout import DestinationLayout, StorePath

    real = DestinationLayout.finals

    def finals(self: Any, names: Any) -> Any:
        for path in real(self, names):
            yield StorePath(path.replace("/out/", "/out2/"))

    patch.setattr(DestinationLayout, "finals", finals)
    patch.setattr(
        DestinationLayout,
        "final",
        lambda self, name: StorePath(f"{self.root}2/{name}"),
    )


def appends_over_names(patch: pytest.MonkeyPatch) -> None:
    """Finding 11: what stands in the way is not looked for."""

    async def may_write(*_: Any) -> bool:
        return True

    patch.setattr(commit, "may_write", may_write)
    patch.setattr(ReplacedFiles, "__getitem__", lambda *_: Expect.ANYTHING)


def writes_beside_data(patch: pytest.MonkeyPatch) -> None:
    """`error` and `ignore` look when they start, and not again under their claim."""

    async def may_write(*_: Any) -> bool:
        return True

    patch.setattr(commit, "may_write", may_write)


def forgets_its_key(patch: pytest.MonkeyPatch) -> None:
    async def mark(job: Any) -> None:
        pass

    patch.setattr(commit, "mark_done", mark)


def says_not_committed_of_an_unknown_decision(patch: pytest.MonkeyPatch) -> None:
    real = commit._decide

    async def decide(job: Any, wanted: Any) -> Any:
        try:
            return await real(job, wanted)
        except CommitStateUnknownError as error:
            raise CommitFailedError(str(error)) from error

    patch.setattr(commit, "_decide", decide)


def says_not_committed_of_a_part(patch: pytest.MonkeyPatch) -> None:
    real = commit.finish_job

    async def finish(*args: Any, **how: Any) -> Any:
        try:
            return await real(*args, **how)
        except PartialCommitError as error:
            raise CommitFailedError(str(error)) from error

    patch.setattr(commit, "finish_job", finish)


def says_committed_of_an_abort(patch: pytest.MonkeyPatch) -> None:
    real = driver.Driver.commit

    async def commit_it(self: Any, *args: Any, **how: Any) -> Any:
        try:
            return await real(self, *args, **how)
        except CommitError as error:
            if isinstance(error, JobNotActiveError):
                error.outcome = "committed"
            raise

    patch.setattr(driver.Driver, "commit", commit_it)


def says_not_committed_without_asking(patch: pytest.MonkeyPatch) -> None:
    """Where another driver may have committed the job."""

    async def instead_of(_: Any, error: CommitError) -> CommitError:
        return error

    patch.setattr(driver.Driver, "instead_of", instead_of)
