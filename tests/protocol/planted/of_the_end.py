"""Planted bugs: how old files and markers go, and what is believed of a request's answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from fsspec_commit.effects import confirm, deletion
from fsspec_commit.effects.confirmed import files, uploads
from fsspec_commit.effects.confirmed.one_shot import Seen
from fsspec_commit.effects.removal import Removed, TrashRemoval
from fsspec_commit.effects.retirement import RetiringByRename, RetiringInOrder
from fsspec_commit.errors import CommitError, PartialCommitError
from fsspec_commit.protocol import clean, commit, marks, retire, success
from fsspec_commit.protocol.deleting import delete_replaced
from fsspec_commit.protocol.job_state import jobs_among, read_state
from fsspec_commit.protocol.publish import publish_files
from fsspec_commit.protocol.success import remove_stale_success
from fsspec_commit.records import Standing
from fsspec_commit.store import Entry, Expect
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest


def looks_into_the_trash_once(patch: pytest.MonkeyPatch) -> None:
    """When it takes a file, and not when the area goes."""
    patch.setattr(TrashRemoval, "beware", lambda *_: None)


def looks_into_the_trash_only_in_its_place(patch: pytest.MonkeyPatch) -> None:
    """While others still find the area, and not when it has been renamed away."""

    async def left(self: Any, layout: Any, leaving: Any) -> Any:
        return layout.area

    patch.setattr(RetiringByRename, "_left", left)


def takes_over_what_was_taken(patch: pytest.MonkeyPatch) -> None:
    _rename_over_anything(patch, lambda source, target: "/trash/" in target)


def puts_back_over_what_came(patch: pytest.MonkeyPatch) -> None:
    _rename_over_anything(patch, lambda source, target: "/trash/" in source)


def renames_over_anything(patch: pytest.MonkeyPatch) -> None:
    _rename_over_anything(patch, lambda source, target: "/trash/" not in source + target)


def _rename_over_anything(patch: pytest.MonkeyPatch, is_one: Any) -> None:
    real = files.ConfirmedFiles.rename

    async def rename(self: Any, source: Any, target: Any, *, expecting: Any, **how: Any) -> bool:
        expecting = Expect.ANYTHING if is_one(source, target) else expecting
        return await real(self, source, target, expecting=expecting, **how)

    patch.setattr(files.ConfirmedFiles, "rename", rename)


def completes_over_anything(patch: pytest.MonkeyPatch) -> None:
    real = uploads.ConfirmedUploads.complete

    async def complete(self: Any, upload: Any, *, expecting: Any, **how: Any) -> bool:
        return await real(self, upload, expecting=Expect.ANYTHING, **how)

    patch.setattr(uploads.ConfirmedUploads, "complete", complete)


def looks_and_then_deletes(patch: pytest.MonkeyPatch) -> None:
    """On a disk, where another file may come between the two."""

    async def remove(self: Any, layout: Any, entry: Any, permit: Any) -> Removed:
        there = await self._store.stat(entry.path)
        if not isinstance(there, Entry) or there.token != entry.token:
            return Removed.CHANGED
        await self._store.delete(entry.path, permit)
        return Removed.GONE

    patch.setattr(TrashRemoval, "remove", remove)


def ends_with_old_files_left(patch: pytest.MonkeyPatch) -> None:
    """What could not be deleted does not keep the job from its end."""

    async def delete(*args: Any) -> tuple[str, ...]:
        with suppress(CommitError):
            return await delete_replaced(*args)
        return ()

    patch.setattr(commit, "delete_replaced", delete)


def removes_its_job_before_it_publishes(patch: pytest.MonkeyPatch) -> None:
    async def publish(job: Any, *args: Any, **how: Any) -> None:
        await job.store._store.delete(job.layout.spec, expecting=Expect.ANYTHING)
        await publish_files(job, *args, **how)

    patch.setattr(commit, "publish_files", publish)


def takes_a_name_for_the_file(patch: pytest.MonkeyPatch) -> None:
    """A file of another content under the name of a new one passes for published."""
    real = files.ConfirmedFiles.rename

    async def rename(self: Any, source: Any, target: Any, **how: Any) -> bool:
        if isinstance(await self._store.stat(target), Entry) and "/_commit/" not in target:
            return True
        return await real(self, source, target, **how)

    patch.setattr(files.ConfirmedFiles, "rename", rename)


def takes_an_arrived_file_for_lost(patch: pytest.MonkeyPatch) -> None:
    """HADOOP-18012: a rename that was carried out, and answered with an error."""
    patch.setattr(files._Move, "is_done_by", lambda *_: False)


def takes_a_completed_upload_for_lost(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(uploads._Completion, "is_done_by", lambda *_: False)


def completes_when_told_so(patch: pytest.MonkeyPatch) -> None:
    """Whatever is wrong with an upload that is gone, it passes for completed."""
    patch.setattr(uploads._Completion, "seen_by", lambda *_: Seen.DONE)


def takes_a_part_that_came_again_for_lost(patch: pytest.MonkeyPatch) -> None:
    """Under another etag than its task was answered, as a store that encrypts makes them."""

    async def never(_uploads: Any, _upload: Any) -> None:
        return None

    patch.setattr(uploads.ConfirmedUploads, "_stored_again", never)


def takes_a_later_refusal_for_the_answer(patch: pytest.MonkeyPatch) -> None:
    """Though an earlier request was not answered, and may still be carried out."""
    real = confirm._raise_unless_repeated

    def unless(effect: Any, refusal: Any, last: Any, *, unanswered: bool) -> None:
        real(effect, refusal, last, unanswered=False)

    patch.setattr(confirm, "_raise_unless_repeated", unless)


def leaves_no_word_of_its_deletions(patch: pytest.MonkeyPatch) -> None:
    async def leave(job: Any, published: Any, replaced: Any, *, retries: int = 0) -> Any:
        return deletion.of_published(job.layout, published)

    patch.setattr(retire, "leave_late_deletes", leave)


def leaves_old_areas(patch: pytest.MonkeyPatch) -> None:
    """A `clean` that finds nothing where jobs are over."""

    async def nothing(*_: Any) -> bool:
        return True

    patch.setattr(clean, "delete_void_area", nothing)
    patch.setattr(clean._Found, "settle_remains", nothing)


def marks_whatever_stands(patch: pytest.MonkeyPatch) -> None:
    """A marker that is written, and not published: a driver that is late writes it again."""

    async def mark(job: Any, decision: Any, *_: Any, accept_loss: bool) -> tuple[str, ...]:
        if decision.record.success is not None:
            destination = job.layout.destination
            await job.store._store.put(
                destination.success, b"", expecting=Expect.ANYTHING, within=destination.root
            )
        return ()

    patch.setattr(commit, "publish_success", mark)


def takes_its_marker_for_lost(patch: pytest.MonkeyPatch) -> None:
    """Though another job has removed it, and is about to publish one."""

    async def others(_: Any) -> frozenset[str]:
        return frozenset()

    patch.setattr(success, "_others", others)


def takes_a_marker_away_for_good(patch: pytest.MonkeyPatch) -> None:
    """A job without a marker leaves none where one stood."""
    patch.setattr(success, "_kind", lambda job, stale: job.record.success)


def leaves_the_marker_of_an_unfinished_job(patch: pytest.MonkeyPatch) -> None:
    async def remove(job: Any, decision: Any) -> None:
        destination = job.layout.destination
        areas = await job.store.list_usable(destination.areas)
        others = [one for one in jobs_among(areas, destination) if one != job.layout]
        states = [(await read_state(job.store, one)).state for one in others]
        if not {"decided", "published"} & {*states}:
            await remove_stale_success(job, decision)

    patch.setattr(commit, "remove_stale_success", remove)


def prepares_a_marker_again(patch: pytest.MonkeyPatch) -> None:
    real = success.publish_success

    async def publish(job: Any, *decided: Any, **how: Any) -> Any:
        try:
            return await real(job, *decided, **how)
        except PartialCommitError:
            destination = job.layout.destination
            await job.store._store.put(
                destination.success, b"", expecting=Expect.ABSENT, within=destination.root
            )
            return ()

    patch.setattr(commit, "publish_success", publish)


def marks_before_it_deletes(patch: pytest.MonkeyPatch) -> None:
    """A marker stands for all the data, and old files are among them."""

    async def delete(job: Any, published: Any, replaced: Any, *rest: Any) -> tuple[str, ...]:
        decision = Standing(replaced.decision)
        await success.publish_success(job, decision, published, accept_loss=False)
        return await delete_replaced(job, published, replaced, *rest)

    patch.setattr(commit, "delete_replaced", delete)


def ends_before_its_marker_stands(patch: pytest.MonkeyPatch) -> None:
    """Its driver dies between the two, and nobody publishes the marker of a job that is over."""
    _ends_before(patch, "publish_success", success.publish_success)


def ends_before_its_key_counts(patch: pytest.MonkeyPatch) -> None:
    _ends_before(patch, "mark_done", marks.mark_done)


def _ends_before(patch: pytest.MonkeyPatch, name: str, step: Any) -> None:
    """`job.json` is deleted, and then that step is taken."""

    async def taken(job: Any, *args: Any, **how: Any) -> Any:
        await job.store._store.delete(job.layout.spec, expecting=Expect.ANYTHING)
        return await step(job, *args, **how)

    patch.setattr(commit, name, taken)


def is_told_before_its_job_is_over(patch: pytest.MonkeyPatch) -> None:
    """Its process may end then, and others wait for a job that somebody has to resume."""
    real = RetiringInOrder.retire

    async def retire(*args: Any, **how: Any) -> Any:
        async def rest() -> None:
            await asyncio.sleep(1)
            await (await real(*args, **how))()

        return rest

    patch.setattr(RetiringInOrder, "retire", retire)


BUGS = {
    "is told before its job is over": Bug(is_told_before_its_job_is_over),
    "marks whatever stands": Bug(marks_whatever_stands, ("P1",)),
    "marks before it deletes": Bug(marks_before_it_deletes, ("P1",)),
    "ends before its marker stands": Bug(ends_before_its_marker_stands, ("P1",)),
    "ends before its key counts": Bug(ends_before_its_key_counts, ("P7",)),
}
