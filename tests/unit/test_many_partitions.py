"""What a driver holds of each of many partitions, from its manifests to its claim: a few bytes."""

from __future__ import annotations

import asyncio
import tracemalloc
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fsspec_commit.committers import AttemptFiles, ManifestBytes
from fsspec_commit.protocol.claim import claim_of
from fsspec_commit.protocol.file_names import SomeOf
from fsspec_commit.protocol.folded_names import _directories_alike
from fsspec_commit.protocol.in_the_way import _look
from fsspec_commit.protocol.manifests import NewFiles, _refuse_file_as_directory

if TYPE_CHECKING:
    import pytest

NAMES = "fsspec_commit.protocol.file_names._CHUNK"
DIRECTORIES = "fsspec_commit.protocol.directory_names.HELD_MAX"
JOB_ID = "20261120T140355-9c1e5f00a1b2c3d4"


class EmptyStore:
    """A destination in which nothing stands."""

    in_flight_max = 4
    directories = ()

    async def list_children(self, path: str) -> list[str]:
        return []


def peak_of(partitions: int) -> int:
    """The most that is held while a job's new files are checked, each in a partition of its own."""
    record = SimpleNamespace(
        job_id=JOB_ID, mode="overwrite", names="exact", partitions=(), key_digest=None
    )
    destination = SimpleNamespace(directory=str, relative=str)
    job: Any = SimpleNamespace(
        record=record, layout=SimpleNamespace(destination=destination), store=EmptyStore()
    )
    manifests: Any = SimpleNamespace(job=job)
    new = NewFiles(manifests)
    layout: Any = SimpleNamespace(job=SimpleNamespace(job_id=JOB_ID), task_id=0)
    message: Any = SimpleNamespace(task_id=0, manifest="", file_count=1, bytes=1)
    tracemalloc.start()
    try:
        for number in range(partitions):
            name = f"year=2026/customer={number:06}/part.parquet"
            files: Any = [SimpleNamespace(target=name, size_bytes=1)]
            new.add(message, ManifestBytes(layout, b""), AttemptFiles(files, None))
        assert not new.reusable.freeze()
        _refuse_file_as_directory(job, new)
        claim = claim_of(job.record, new.partitions, "0" * 32, reusable_names=True)
        assert claim.partitions is None
        assert _directories_alike(new) is None
        assert asyncio.run(_look(job, new, replaced=SomeOf(new.reusable))) is None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(new.partitions) == partitions
    return peak


def test_each_partition_takes_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NAMES, 200)
    monkeypatch.setattr(DIRECTORIES, 500, raising=False)
    few, many = peak_of(2_000), peak_of(6_000)
    assert (many - few) / 4_000 < 120
