"""Planted bugs: attempts that share what each must have for itself, and output of the wrong ones.

Most of them were in other committers once; what they are called there is said.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from fsspec_commit import ids
from fsspec_commit.committers import magic
from fsspec_commit.committers.manifest import ManifestAttempt
from fsspec_commit.committers.v1 import V1Attempt
from fsspec_commit.effects import retirement
from fsspec_commit.effects.leftover_uploads import LeftoverUploads
from fsspec_commit.names import unique_suffix, uniquely_named
from fsspec_commit.protocol import attempt, bound_job, commit, looks, start
from fsspec_commit.protocol.kept_manifests import KeptManifests
from fsspec_commit.protocol.publish import publish_files
from fsspec_commit.protocol.replaced import list_replaced
from fsspec_commit.records import Standing
from fsspec_commit.store import Expect
from fsspec_commit.testing.simulation import actors

if TYPE_CHECKING:
    import pytest

    from fsspec_commit.layout import StorePath

_PENDING = ".pending"


def publishes_when_a_task_commits(patch: pytest.MonkeyPatch) -> None:
    """FileOutputCommitter v2, and the direct committers (SPARK-33019, SPARK-10063)."""
    real = ManifestAttempt.seal

    async def seal(self: Any, rows: Any) -> Any:
        sealed = await real(self, rows)
        destination = self._layout.job.destination
        for file in self.all():
            await self._store._store.files.rename(
                self._layout.working_file(file.target),
                destination.final(file.target),
                token=None,
                expecting=Expect.ANYTHING,
                within=destination.root,
            )
        return sealed

    patch.setattr(ManifestAttempt, "seal", seal)


def seals_what_came_late(patch: pytest.MonkeyPatch) -> None:
    """A file that an earlier request of its own task has replaced, before its directory moved."""

    async def look(_: Any) -> None:
        pass

    patch.setattr(V1Attempt, "_refuse_late", look)


def has_one_name_for_all_attempts(patch: pytest.MonkeyPatch) -> None:
    """Where an upload drops those of the same name."""

    def final_name(self: Any, name: Any, of: Any) -> Any:
        if self.record.names == "exact":
            return name
        return uniquely_named(name, unique_suffix(of.job.job_id, of.task_id, None))

    patch.setattr(bound_job.BoundJob, "final_name", final_name)


def has_one_id_for_all_attempts(patch: pytest.MonkeyPatch) -> None:
    """HADOOP-17318: two attempts that share a directory."""
    patch.setattr(ids.IdSource, "attempt_id", lambda _: "0123456789abcdef")


def has_job_ids_of_a_second(patch: pytest.MonkeyPatch) -> None:
    """SPARK-33402: jobs that start in one second have one id, and both go on."""
    real = ids.IdSource.job_id

    def job_id(self: Any) -> Any:
        return ids.JobId(f"{real(self)[:16]}0123456789abcdef")

    async def create(store: Any, path: Any, record: Any, **_: Any) -> Any:
        await store._store.put(path, record.encode(), expecting=Expect.ANYTHING, within=None)
        return Standing(record)

    patch.setattr(ids.IdSource, "job_id", job_id)
    patch.setattr(start, "establish_unrepeated", create)


def chooses_the_last_attempt(patch: pytest.MonkeyPatch) -> None:
    """With ``collect="store"``, the pointer is written over."""

    async def choose(store: Any, path: Any, record: Any, *, within: Any) -> Any:
        data = record.encode()
        await store._store.put(path, data, expecting=Expect.ANYTHING, within=within)
        return Standing(record)

    patch.setattr(attempt, "establish", choose)


def discards_an_attempt_that_may_be_chosen(patch: pytest.MonkeyPatch) -> None:
    async def may_discard(*_: Any) -> bool:
        return True

    patch.setattr(actors, "may_discard", may_discard)


def records_no_uploads(patch: pytest.MonkeyPatch) -> None:
    async def record(*_: Any) -> None:
        pass

    patch.setattr(magic, "_record", record)


def uploads_for_a_job_that_is_over(patch: pytest.MonkeyPatch) -> None:
    async def check(*_: Any) -> bool:
        return True

    patch.setattr(magic, "_check_active", check)
    patch.setattr(magic.MagicAttempt, "is_active", check)


def publishes_every_attempt(patch: pytest.MonkeyPatch) -> None:
    """HIVE-25561, or v1's merge of directories: what no manifest of the decision names."""

    async def publish(job: Any, *args: Any, **how: Any) -> None:
        await publish_files(job, *args, **how)
        await _publish_below(job, job.layout.area)

    patch.setattr(commit, "publish_files", publish)


def publishes_what_other_jobs_left(patch: pytest.MonkeyPatch) -> None:
    """SPARK-29037: a job that has died is committed by the next one."""

    async def publish(job: Any, *args: Any, **how: Any) -> None:
        await publish_files(job, *args, **how)
        await _publish_below(job, job.layout.destination.areas)

    patch.setattr(commit, "publish_files", publish)


async def _publish_below(job: Any, above: StorePath) -> None:
    destination = job.layout.destination
    async for entry in job.store.list_tree(above):
        name = entry.path.removesuffix(_PENDING).rpartition("/")[2]
        if entry.path.endswith(_PENDING) and not name.startswith("_"):
            await job.store._store.files.rename(
                entry.path,
                destination.final(name),
                token=None,
                expecting=Expect.ANYTHING,
                within=destination.root,
            )


def removes_the_areas_of_all_jobs(patch: pytest.MonkeyPatch) -> None:
    """SPARK-24238, MAPREDUCE-7378: a job that ends takes `_temporary` with it."""

    async def retire(self: Any, layout: Any, permit: Any, **_: Any) -> Any:
        await self._store._store.delete_tree(layout.destination.areas)
        return retirement.nothing

    patch.setattr(retirement.RetiringByRename, "retire", retire)
    patch.setattr(retirement.RetiringInOrder, "retire", retire)


def aborts_the_uploads_of_all_jobs(patch: pytest.MonkeyPatch) -> None:
    """HADOOP-17318, HADOOP-18797: a job that ends aborts all that is pending below its root."""

    async def abort_of(self: Any, layout: Any, permit: Any, **_: Any) -> None:
        pending = await self._below(layout.destination, lambda _: True)
        await self.abort(layout, permit, pending)

    patch.setattr(LeftoverUploads, "abort_of", abort_of)


def clears_no_partition_that_it_does_not_write(patch: pytest.MonkeyPatch) -> None:
    """FLINK-23857 and five others: an empty result leaves the old rows of a declared partition."""

    async def listed(job: Any, *args: Any) -> Any:
        undeclared = structs.replace(job.record, partitions=())
        return await list_replaced(replace(job, record=undeclared), *args)

    patch.setattr(looks, "list_replaced", listed)


def goes_by_what_another_attempt_has_written(patch: pytest.MonkeyPatch) -> None:
    """Of a task that was attempted twice, by the manifest that was kept last."""
    real = KeptManifests.keep
    last: dict[tuple[str, int], bytes] = {}

    def keep(self: Any, message: Any, data: bytes) -> None:
        last[message.manifest.partition("/")[0], message.task_id] = data
        real(self, message, data)

    def get(_: Any, message: Any) -> bytes | None:
        return last.get((message.manifest.partition("/")[0], message.task_id))

    patch.setattr(KeptManifests, "keep", keep)
    patch.setattr(KeptManifests, "get", get)
