"""Planted bugs: deletions, removals and requests whose rules are weaker."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from fsspec_commit.effects import confirm, deletion, retirement
from fsspec_commit.effects.confirmed import one_shot
from fsspec_commit.effects.confirmed import store as confirmed
from fsspec_commit.effects.leftover_uploads import LeftoverUploads, Strays
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.protocol import (
    clean,
    commit,
    deleting,
)
from fsspec_commit.store import Expect

if TYPE_CHECKING:
    import pytest


def cleans_without_a_fence(patch: pytest.MonkeyPatch) -> None:
    async def abort_if_old(store: Any, layout: Any, bind: Any) -> bool:
        await store._store.delete_tree(layout.area)
        return True

    patch.setattr(clean, "_abort_if_undecided", abort_if_old)


def cleans_areas_that_just_begin(patch: pytest.MonkeyPatch) -> None:
    """Finding 13: an area without `job.json` is deleted where it stands."""

    async def delete(store: Any, layout: Any, *_: Any) -> bool:
        await store.delete_tree(layout.area, deletion.of_void_area(layout))
        return True

    patch.setattr(clean, "delete_void_area", delete)


def renames_areas_that_just_begin(patch: pytest.MonkeyPatch) -> None:
    """An empty area is renamed away, and put back: as where no directory is removed if empty."""
    real = confirmed.ConfirmedStore.__init__

    def init(self: Any, *args: Any, **options: Any) -> None:
        real(self, *args, **options)
        self.removes_empty = False

    patch.setattr(confirmed.ConfirmedStore, "__init__", init)


def removes_the_decision_first(patch: pytest.MonkeyPatch) -> None:
    real = retirement.RetiringInOrder.retire

    async def retire(self: Any, layout: Any, permit: Any, **how: Any) -> Any:
        await self._store._store.delete(layout.decision, expecting=Expect.ANYTHING)
        return await real(self, layout, permit, **how)

    patch.setattr(retirement.RetiringInOrder, "retire", retire)


def removes_areas_file_by_file(patch: pytest.MonkeyPatch) -> None:
    """On a disk, where a late driver finds what is left of an area."""

    async def retire(self: Any, layout: Any, permit: Any, **how: Any) -> Any:
        await self._store._store.delete(layout.decision, expecting=Expect.ANYTHING)
        await self._store.delete_tree(layout.area, permit)
        return retirement.nothing

    patch.setattr(retirement.RetiringByRename, "retire", retire)


def repeats_the_start(patch: pytest.MonkeyPatch) -> None:
    """Finding 16: `job.json` is created again while an earlier request may still come."""
    real = confirm.Effect

    def repeatable(*args: Any, **how: Any) -> Any:
        return real(*args, **{**how, "is_repeatable": True})

    patch.setattr(confirmed, "Effect", repeatable)


def deletes_on_an_old_permit(patch: pytest.MonkeyPatch) -> None:
    """Finding 04 and its like: `job.json` is not read before old files are deleted."""

    async def permit(self: Any) -> Any:
        return self._permit

    async def stood(job: Any) -> Any:
        return job.store.ids.now()

    patch.setattr(deleting._Lease, "permit", permit)
    patch.setattr(deleting, "_stood", stood)


def deletes_long_after(patch: pytest.MonkeyPatch) -> None:
    """`job.json` is read while it is said that all is in place, and not again hours after that."""
    patch.setattr(deleting, "LASTS", timedelta(days=1))


def deletes_whatever_has_the_name(patch: pytest.MonkeyPatch) -> None:
    async def delete(self: Any, entry: Any, permit: Any) -> bool:
        await self._store.delete(entry.path, expecting=Expect.ANYTHING)
        return True

    patch.setattr(confirmed.ConfirmedStore, "delete_if_same", delete)


def takes_no_answer_for_done(patch: pytest.MonkeyPatch) -> None:
    """A request that was not answered is taken for done, and not observed."""
    real = confirm.confirm

    async def sure(effect: Any, pace: Any, **how: Any) -> Any:
        async def apply() -> Any:
            try:
                return await effect.apply()
            except StoreError as error:
                if error.reply is Reply.UNKNOWN:
                    return one_shot.Seen.DONE
                raise

        return await real(replace(effect, apply=apply), pace, **how)

    patch.setattr(one_shot, "confirm", sure)


def leaves_uploads(patch: pytest.MonkeyPatch) -> None:
    async def abort_of(*_: Any, **__: Any) -> None:
        pass

    async def strays(*_: Any, **__: Any) -> Strays:
        return Strays([], are_certain=True)

    patch.setattr(LeftoverUploads, "abort_of", abort_of)
    patch.setattr(LeftoverUploads, "strays", strays)


def leaves_its_area(patch: pytest.MonkeyPatch) -> None:
    async def retire(self: Any, layout: Any, permit: Any, **how: Any) -> Any:
        await self._store._store.delete(layout.spec, expecting=Expect.ANYTHING)
        return retirement.nothing

    async def delete(*_: Any) -> bool:
        return True

    patch.setattr(retirement.RetiringByRename, "retire", retire)
    patch.setattr(retirement.RetiringInOrder, "retire", retire)
    patch.setattr(clean, "delete_void_area", delete)


def deletes_what_it_lists_later(patch: pytest.MonkeyPatch) -> None:
    """An overwrite deletes what stands there in the end, and not what it has listed."""

    async def delete(job: Any, *_: Any) -> tuple[str, ...]:
        layout = job.layout.destination
        async for entry in job.store.list_tree(layout.root, without=layout.areas):
            is_own = job.record.job_id in entry.path or job.record.names == "exact"
            if job.record.mode == "overwrite" and not is_own:
                await job.store._store.delete(entry.path, expecting=Expect.ANYTHING)
        return ()

    patch.setattr(commit, "delete_replaced", delete)
