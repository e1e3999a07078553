"""Planted bugs: rules of small models of the protocol, weakened as the models weaken them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from fsspec_commit.effects.confirmed.uploads import ConfirmedUploads
from fsspec_commit.effects.parallel import both
from fsspec_commit.protocol import bound_job, commit, decision
from fsspec_commit.protocol.decision import settled_as
from fsspec_commit.protocol.job_records import read_record, standing_decision
from fsspec_commit.protocol.publish import publish_files, say_published
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation import JobPlan, Plan, ReaderPlan
from tests.protocol.planted.bug import Bug
from tests.protocol.planted.of_attempts import has_one_name_for_all_attempts

if TYPE_CHECKING:
    import pytest


def publishes_beside_the_last_look_for_its_job(patch: pytest.MonkeyPatch) -> None:
    """That `job.json` stands when the decision has been made is found out while files appear."""

    async def believed(store: Any, layout: Any, ours: Any) -> Any:
        if ours is None:
            raise settled_as(layout, await standing_decision(store, layout))
        return ours

    async def publish(job: Any, *what: Any, **how: Any) -> None:
        async def confirm() -> None:
            if await read_record(job.store, job.layout) is None:
                raise settled_as(job.layout, None)

        await both(publish_files(job, *what, **how), confirm())

    patch.setattr(decision, "_confirmed", believed)
    patch.setattr(commit, "publish_files", publish)


def deletes_beside_its_word_that_all_is_published(patch: pytest.MonkeyPatch) -> None:
    """Who reads meanwhile takes the old files for those that count, and some have gone."""
    replacing: dict[str, Any] = {}

    async def publish(job: Any, new: Any, replaced: Any, **how: Any) -> None:
        replacing[job.layout.job_id] = replaced
        await publish_files(job, new, replaced, **how)

    async def say(job: Any, *what: Any) -> Any:
        async for batch in replacing[job.layout.job_id].batches():
            for file in batch:
                if not file.in_place:
                    path = job.layout.destination.final(file.name)
                    await job.store._store.delete(path, expecting=Expect.ANYTHING)
        return await say_published(job, *what)

    patch.setattr(commit, "publish_files", publish)
    patch.setattr(commit, "say_published", say)


READ_MEANWHILE = Plan(
    family="gcs",
    schedule=9,
    old=("a.txt", "old.txt", "zz.txt"),
    jobs=(JobPlan(name="a", mode="overwrite"),),
    readers=(ReaderPlan(at_s=0.01, count=60),),
)


def has_one_upload_for_all_attempts(patch: pytest.MonkeyPatch) -> None:
    """Of one name, as if an upload were known by its path: a late attempt replaces its parts."""
    real = ConfirmedUploads.start
    begun: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()

    async def start(self: Any, path: Any, note: Any) -> Any:
        if path.endswith("/_SUCCESS"):
            return await real(self, path, note)
        known = begun.setdefault(self._ability._bucket, {})
        if path in known:
            note(known[path])
        else:
            known[path] = await real(self, path, note)
        return known[path]

    has_one_name_for_all_attempts(patch)
    patch.setattr(bound_job, "is_named_with", lambda *_: True)
    patch.setattr(ConfirmedUploads, "start", start)


BUGS = {
    "publishes beside the last look for its job": Bug(
        publishes_beside_the_last_look_for_its_job, ("P5", "P7"), family="gcs"
    ),
    "deletes beside its word that all is published": Bug(
        deletes_beside_its_word_that_all_is_published, ("P1", "P2"), plan=READ_MEANWHILE
    ),
    "has one upload for all attempts": Bug(
        has_one_upload_for_all_attempts, ("P8",), family="azure-flat"
    ),
}
