"""A list of a job is written and read in little more memory than is sent at once."""

from __future__ import annotations

import asyncio
import tracemalloc
from types import SimpleNamespace
from typing import Any

import msgspec

from fsspec_commit.protocol.streamed_list import Listed, ListWriter, read_list
from fsspec_commit.records.job import ReplacedFile

SENT_AT_ONCE = 1 << 20


class OneFile:
    """A store of one file, which holds what is sent to it once more."""

    def __init__(self) -> None:
        self.data = bytearray(5 * SENT_AT_ONCE)
        self.size_bytes = 0

    def writer(self, path: str, *, within: str) -> OneFile:
        return self

    async def write(self, data: bytes) -> None:
        self.data[self.size_bytes : self.size_bytes + len(data)] = data
        self.size_bytes += len(data)

    async def finish(self) -> None:
        pass

    async def read_range(self, path: str, *, start: int, length: int) -> bytes:
        return bytes(memoryview(self.data)[start : min(start + length, self.size_bytes)])


def line(number: int) -> ReplacedFile:
    name: Any = f"p={number:05}/part-{number:05}.parquet"
    return ReplacedFile(name, 5, f"9841e6-18ea0bc0ef9{number:05x}-5", in_place=True)


async def write(job: Any, count: int) -> Listed | None:
    writer = ListWriter(job, job.layout.area)
    for number in range(count):
        await writer.add(msgspec.json.encode(line(number)))
    return await writer.finish()


async def read(job: Any, listed: Listed) -> int:
    count = 0
    async for batch in read_list(job, job.layout.area, ReplacedFile, listed):
        for file in batch:
            assert file == line(count)
            count += 1
    return count


def test_a_long_list_takes_little_more_than_is_sent_at_once() -> None:
    job: Any = SimpleNamespace(store=OneFile(), layout=SimpleNamespace(area="area"))
    count = 34_000
    tracemalloc.start()
    try:
        held, _ = tracemalloc.get_traced_memory()
        listed = asyncio.run(write(job, count))
        _, written = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        assert listed is not None
        assert job.store.size_bytes > 2 * SENT_AT_ONCE
        assert asyncio.run(read(job, listed)) == listed.count == count
        _, read_too = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written - held < 2.5 * SENT_AT_ONCE
    assert read_too - held < 3.2 * SENT_AT_ONCE
