"""Planted bugs: mistakes of other committers and writers, made again here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsspec_commit.effects.part_writer import PartWriter
from fsspec_commit.layout import AttemptLayout, StorePath
from tests.protocol.planted.bug import Bug

if TYPE_CHECKING:
    import pytest

_NO_ATTEMPT = "0" * 16


def has_one_manifest_for_all_attempts(patch: pytest.MonkeyPatch) -> None:
    """HADOOP-17258: of a task that is attempted again, the first list is in the way."""

    def name(self: AttemptLayout) -> str:
        return f"{self.job.job_id}/manifests/{self.task_id}/{_NO_ATTEMPT}"

    def path(self: AttemptLayout) -> StorePath:
        return StorePath(f"{self.job.area}/manifests/{self.task_id}/{_NO_ATTEMPT}")

    patch.setattr(AttemptLayout, "manifest_name", property(name))
    patch.setattr(AttemptLayout, "manifest", property(path))


def completes_small_files_empty(patch: pytest.MonkeyPatch) -> None:
    """What is shorter than a part is never sent: PyAthena, in a transaction of s3fs."""
    real = PartWriter.finish

    async def finish(self: Any) -> Any:
        if not self._count:
            self._pieces, self._gathered_bytes = [memoryview(b"")], 0
        return await real(self)

    patch.setattr(PartWriter, "finish", finish)


BUGS = {
    "has one manifest for all attempts": Bug(has_one_manifest_for_all_attempts),
    "completes small files empty": Bug(completes_small_files_empty, ("P1",), family="s3"),
}
