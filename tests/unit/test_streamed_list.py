"""A list of a job is written and read in little more memory than is sent at once."""

from __future__ import annotations

import asyncio
import tracemalloc
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from fsspec_commit.errors import RecordError
from fsspec_commit.protocol.streamed_list import (
    Listed,
    ListWriter,
    ShortList,
    cut_list,
    read_lines,
    read_list,
)
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


async def read(job: Any, listed: Listed, short: ShortList | None = None) -> int:
    count = 0
    async for batch in read_list(job.store, job.layout.area, ReplacedFile, listed, short):
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


class Given(OneFile):
    """A list that somebody else has written.

    Attributes:
        read_bytes: How much of it was read.
        requests: In how many requests.
    """

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)
        self.size_bytes = len(data)
        self.read_bytes = self.requests = 0

    async def read_range(self, path: str, *, start: int, length: int) -> bytes:
        data = await super().read_range(path, start=start, length=length)
        self.read_bytes += len(data)
        self.requests += 1
        return data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"[" * 9 * SENT_AT_ONCE, "a line without an end", id="no line"),
        pytest.param(
            msgspec.json.encode(line(0)) + b"\n" + b"[" * 9 * SENT_AT_ONCE,
            "a line without an end",
            id="one line",
        ),
        pytest.param(
            (msgspec.json.encode(line(0)) + b"\n") * 100_000, "not the list", id="many lines"
        ),
        pytest.param(b"torn\n" * 9 * (SENT_AT_ONCE // 5), "area: ", id="no items"),
    ],
)
def test_a_list_that_is_not_the_decided_one_is_not_read_for_long(data: bytes, why: str) -> None:
    """Whoever may write to an area can make it as long as he likes."""
    job: Any = SimpleNamespace(store=Given(data), layout=SimpleNamespace(area="area"))
    with pytest.raises(RecordError, match=why) as caught:
        asyncio.run(read(job, Listed(2, "0" * 64)))
    assert caught.value.path == "area"
    assert job.store.read_bytes <= 2 * SENT_AT_ONCE


@pytest.mark.parametrize(
    ("count", "digest"), [(3, True), (1, True), (2, False)], ids=["shorter", "longer", "other"]
)
def test_a_list_of_another_length_or_content_is_refused_at_its_end(
    count: int, *, digest: bool
) -> None:
    data = b"".join(msgspec.json.encode(line(number)) + b"\n" for number in range(2))
    job: Any = SimpleNamespace(store=Given(data), layout=SimpleNamespace(area="area"))
    true = sha256(data).hexdigest()
    with pytest.raises(RecordError, match="not the list that was decided on"):
        asyncio.run(read(job, Listed(count, true if digest else "0" * 64)))
    assert asyncio.run(read(job, Listed(2, true))) == 2
    job.store = Given(data + b"[")
    with pytest.raises(RecordError, match="not the list that was decided on"):
        asyncio.run(read(job, Listed(2, sha256(data + b"[").hexdigest())))


def as_many_bytes(size_bytes: int) -> tuple[bytes, int]:
    """A list of so many bytes, the first of which are a line that is filled up, and its length."""
    count = 100
    lines = [msgspec.json.encode(line(number)) for number in range(count)]
    lines[0] += b" " * (size_bytes - sum(map(len, lines)) - count)
    data = b"".join(one + b"\n" for one in lines)
    assert len(data) == size_bytes
    return data, count


@pytest.mark.parametrize(("more_bytes", "requests", "again"), [(-1, 1, 0), (0, 2, 2), (1, 2, 2)])
def test_the_end_of_a_list_is_not_asked_for_where_it_is_known(
    more_bytes: int, requests: int, again: int
) -> None:
    """A short one is read once, whoever reads it again."""
    data, count = as_many_bytes(SENT_AT_ONCE + more_bytes)
    job: Any = SimpleNamespace(store=Given(data), layout=SimpleNamespace(area="area"))
    short = ShortList()
    listed = Listed(count, sha256(data).hexdigest())
    for asked in (requests, requests + again):
        assert asyncio.run(read(job, listed, short)) == count
        assert job.store.requests == asked
    assert (short.data is None) == bool(again)


class InPieces(Given):
    """A store that answers with less than it was asked for."""

    async def read_range(self, path: str, *, start: int, length: int) -> bytes:
        return await super().read_range(path, start=start, length=min(length, 1_000))


def test_less_than_was_asked_for_is_no_end_of_a_list() -> None:
    data, count = as_many_bytes(20_000)
    job: Any = SimpleNamespace(store=InPieces(data), layout=SimpleNamespace(area="area"))
    short = ShortList()
    assert asyncio.run(read(job, Listed(count, sha256(data).hexdigest()), short)) == count
    assert (job.store.requests, short.data) == (20, None)


@pytest.mark.parametrize("is_kept", [False, True])
def test_a_short_list_is_what_was_decided_on_wherever_it_is_read_from(*, is_kept: bool) -> None:
    data, count = as_many_bytes(20_000)
    job: Any = SimpleNamespace(
        store=Given(b"" if is_kept else data), layout=SimpleNamespace(area="area")
    )
    short = ShortList(data if is_kept else None)
    with pytest.raises(RecordError, match="not the list that was decided on"):
        asyncio.run(read(job, Listed(count, "0" * 64), short))
    assert short.data == (data if is_kept else None)


def job_with(data: bytes) -> Any:
    return SimpleNamespace(store=Given(data), layout=SimpleNamespace(area="area"))


@pytest.mark.parametrize("lines_max", [197, 1_000, 20_000, 30_000])
def test_a_list_is_cut_into_whole_lines_and_each_range_is_read_alone(lines_max: int) -> None:
    job: Any = SimpleNamespace(store=OneFile(), layout=SimpleNamespace(area="area"))
    count = 20_000
    listed = asyncio.run(write(job, count))
    assert listed is not None
    ranges = asyncio.run(cut_list(job.store, job.layout.area, listed, lines_max=lines_max))
    assert len(ranges) == -(-count // lines_max)
    assert [one.count for one in ranges[:-1]] == [lines_max] * (len(ranges) - 1)
    assert sum(one.length for one in ranges) == job.store.size_bytes
    read = [
        file
        for one in ranges
        for file in asyncio.run(read_lines(job.store, job.layout.area, ReplacedFile, one))
    ]
    assert read == [line(number) for number in range(count)]


def test_no_line_is_taken_from_a_list_that_has_changed_since_it_was_cut() -> None:
    lines = [msgspec.json.encode(line(number)) + b"\n" for number in range(10)]
    data = b"".join(lines)
    job = job_with(data)
    listed = Listed(10, sha256(data).hexdigest())
    first, second = asyncio.run(cut_list(job.store, job.layout.area, listed, lines_max=5))
    for changed in (data[:-1], data[: len(data) // 2], b"".join([*lines[:5], *lines[:5]]), b""):
        with pytest.raises(RecordError, match="not the list that was decided on"):
            asyncio.run(read_lines(job_with(changed).store, job.layout.area, ReplacedFile, second))
    longer = job_with(data + lines[0])
    assert len(asyncio.run(read_lines(longer.store, job.layout.area, ReplacedFile, first))) == 5
    for wrong in (Listed(9, listed.digest), Listed(10, "0" * 64)):
        with pytest.raises(RecordError, match="not the list that was decided on"):
            asyncio.run(cut_list(job.store, job.layout.area, wrong, lines_max=5))
