"""Bytes become parts: cut, sent several at a time within bounds, in order, or not at all."""

from __future__ import annotations

import asyncio
import random
import sys
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsspec_commit.effects import part_writer
from fsspec_commit.effects.budget import Budget
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.part_writer import (
    PARTS_MAX,
    PIECE_BYTES,
    PartWriter,
    part_size_bytes,
)
from fsspec_commit.errors import Reply, RequestError, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.testing.simulation.families import capabilities_of
from tests.flat.bucket import AWS, Bucket
from tests.flat.store import FlatStore, FlatUploads
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.store import Part, PendingUpload

IDS = IdSource(random.Random(7), lambda: datetime(2026, 11, 21, tzinfo=UTC))
PATH = StorePath("b/out/a.bin")
TIB = 1 << 40


def test_five_tebibytes_fit_into_the_parts_there_are() -> None:
    sizes = [part_size_bytes(number) for number in range(1, PARTS_MAX + 1)]
    assert sum(sizes) >= 5 * TIB
    assert sizes == sorted(sizes)
    assert sizes[0] == PIECE_BYTES == 8 << 20
    assert sizes[-1] < 5 << 30  # the longest part that stores take
    assert all(size % PIECE_BYTES == 0 for size in sizes)
    # A file of half a gibibyte is still cut into the smallest parts.
    assert part_size_bytes((512 << 20) // PIECE_BYTES) == PIECE_BYTES


def test_where_parts_must_be_of_one_length_they_are() -> None:
    """Cloudflare R2 completes no other upload, and says so after the decision."""
    assert {part_size_bytes(number, 5 << 20) for number in (1, 76, PARTS_MAX)} == {5 << 20}


@dataclass
class Uploads(FlatUploads):
    """Counts what is on its way at once, and fails as told."""

    bucket: Bucket
    fails_at: int = 0
    most_bytes: int = 0
    most_parts: int = 0
    sent: list[int] = field(default_factory=list)
    identical: list[bool] = field(default_factory=list)
    given: list[bytes] = field(default_factory=list)
    _now: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__(self.bucket)

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        self._now[number] = len(data)
        self.most_bytes = max(self.most_bytes, sum(self._now.values()))
        self.most_parts = max(self.most_parts, len(self._now))
        self.identical.append(any(data is one for one in self.given))
        try:
            await asyncio.sleep(1 + number % 3)  # virtual; parts end out of order
            if number == self.fails_at:
                raise StoreError("no", reply=Reply.REFUSED, path=upload.path)
            self.sent.append(number)
            return await super().put_part(upload, number, data)
        finally:
            del self._now[number]


class Given:
    """A bucket, and a writer to it."""

    def __init__(self, fails_at: int = 0, bytes_max: int = 64) -> None:
        self.bucket = Bucket("b", AWS)
        self.uploads = Uploads(self.bucket, fails_at)
        self.aborted: list[str] = []
        self._bytes_max = bytes_max

    def run(self, use: Callable[[PartWriter], Awaitable[None]]) -> None:
        async def main() -> None:
            store = FlatStore(StorePath("b/out"), self.bucket, capabilities_of(AWS))
            store.uploads = self.uploads
            confirmed = ConfirmedStore(store, ids=IDS, statistics=Statistics()).uploads
            assert confirmed is not None

            async def abort(upload: PendingUpload) -> None:
                self.aborted.append(upload.upload_id)
                self.bucket.abort(upload)

            writer = PartWriter(
                confirmed,
                PATH,
                begin=confirmed.start,
                abort=abort,
                budget=Budget(self._bytes_max),
            )
            await use(writer)

        run(main())

    @property
    def pending(self) -> bytes:
        """What the one pending upload holds, in the order of its parts."""
        (upload,) = self.bucket.uploads.values()
        return b"".join(data for _, data in sorted(upload.parts.items()))


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_writer, "PIECE_BYTES", 8)
    monkeypatch.setattr(part_writer, "_GROWTH_PARTS", 3)


@given(st.lists(st.binary(max_size=70), max_size=12))
def test_the_parts_are_the_bytes(pieces: list[bytes]) -> None:
    there = Given()

    async def write(writer: PartWriter) -> None:
        for piece in pieces:
            await writer.write(piece)
        upload = await writer.finish()
        assert [part.number for part in upload.parts] == list(range(1, len(upload.parts) + 1))
        assert sum(part.size_bytes or 0 for part in upload.parts) == len(b"".join(pieces))
        assert len(upload.parts) >= 1
        await writer.discard()  # too late

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_writer, "PIECE_BYTES", 8)
        patch.setattr(part_writer, "_GROWTH_PARTS", 3)
        there.run(write)
    assert there.pending == b"".join(pieces)
    assert there.aborted == []
    assert there.bucket.objects == {}, "nothing is completed by a writer"


@pytest.mark.usefixtures("_small")
def test_an_empty_file_is_one_part_of_no_bytes() -> None:
    there = Given()

    async def write(writer: PartWriter) -> None:
        upload = await writer.finish()
        assert [(part.number, part.size_bytes) for part in upload.parts] == [(1, 0)]

    there.run(write)
    assert there.pending == b""


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("bytes_max", [8, 24, 64])
def test_what_is_on_its_way_is_bounded(bytes_max: int) -> None:
    there = Given(bytes_max=bytes_max)

    async def write(writer: PartWriter) -> None:
        await writer.write(b"x" * 8 * 9)
        await writer.finish()

    there.run(write)
    assert there.uploads.most_bytes <= max(bytes_max, part_size_bytes(9))
    assert there.uploads.most_parts > 1 or bytes_max == 8
    assert sorted(there.uploads.sent) == list(range(1, len(there.uploads.sent) + 1))


@pytest.mark.usefixtures("_small")
def test_files_share_one_budget() -> None:
    budget = Budget(16)
    taken: list[int] = []

    async def take(size: int) -> None:
        await budget.take(size)
        taken.append(size)
        assert sum(taken) <= 16 or len(taken) == 1
        await asyncio.sleep(1)
        taken.remove(size)
        budget.give_back(size)

    async def main() -> None:
        tasks = [asyncio.ensure_future(take(size)) for size in (8, 8, 100, 8, 8, 16)]
        await asyncio.sleep(0.5)
        given_up = asyncio.ensure_future(take(8))
        await asyncio.sleep(0)
        given_up.cancel()
        await asyncio.gather(*tasks)

    run(main())
    assert taken == []


@pytest.mark.usefixtures("_small")
def test_a_piece_of_the_right_length_is_not_copied() -> None:
    there = Given()
    pieces = [bytes([number]) * 8 for number in range(3)]
    there.uploads.given = pieces

    async def write(writer: PartWriter) -> None:
        for piece in pieces:
            await writer.write(piece)
        await writer.finish()

    there.run(write)
    assert there.uploads.identical == [True] * 3


async def write_parts(writer: PartWriter, count: int) -> None:
    for _ in range(count):
        await writer.write(b"x" * 8)


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("fails_at", [1, 2, 5])
def test_the_first_part_that_fails_ends_the_file(fails_at: int) -> None:
    there = Given(fails_at, bytes_max=16)

    async def write(writer: PartWriter) -> None:
        with pytest.raises(StoreError, match="no"):
            await write_parts(writer, 20)
        with pytest.raises(StoreError, match="no"):
            await writer.write(b"more than a part, again")
        with pytest.raises(StoreError, match="no"):
            await writer.finish()
        await writer.discard()

    there.run(write)
    assert len(there.aborted) == 1
    assert there.bucket.uploads == {}
    assert len(there.uploads.sent) < 10, "nothing more is sent"


@pytest.mark.usefixtures("_small")
def test_a_discarded_file_leaves_nothing() -> None:
    there = Given()

    async def write(writer: PartWriter) -> None:
        await writer.discard()
        with pytest.raises(ValueError, match="closed"):
            await writer.write(b"x")

    there.run(write)
    assert there.aborted == []

    async def write_some(writer: PartWriter) -> None:
        await writer.write(b"x" * 20)
        await writer.discard()
        await writer.discard()
        with pytest.raises(ValueError, match="closed"):
            await writer.finish()

    there.run(write_some)
    assert len(there.aborted) == 1
    assert there.bucket.uploads == {}
    assert there.uploads._now == {}, "a part that arrives after the abort would stay"


def test_a_discarded_file_holds_no_bytes() -> None:
    """Whoever keeps the writer, as an error does, keeps up to a part of the file with it else."""
    data = bytes(1_000)
    held = sys.getrefcount(data)

    async def write(writer: PartWriter) -> None:
        await writer.write(data)
        assert sys.getrefcount(data) > held
        await writer.discard()
        assert sys.getrefcount(data) == held

    Given().run(write)


@pytest.mark.usefixtures("_small")
def test_a_file_that_was_interrupted_is_not_finished() -> None:
    there = Given(bytes_max=8)

    async def write(writer: PartWriter) -> None:
        writing = asyncio.ensure_future(writer.write(b"x" * 40))
        await asyncio.sleep(0.5)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        with pytest.raises(ValueError, match="broken off"):
            await writer.finish()

    there.run(write)
    assert len(there.aborted) == 1
    assert there.bucket.uploads == {}


@pytest.mark.usefixtures("_small")
def test_parts_of_one_length_are_sent_where_the_store_wants_them() -> None:
    there = Given()
    there.uploads.part_bytes = 5

    async def write(writer: PartWriter) -> None:
        await writer.write(b"x" * 52)
        upload = await writer.finish()
        assert [part.size_bytes for part in upload.parts] == [*[5] * 10, 2]

    there.run(write)


@pytest.mark.usefixtures("_small")
def test_a_file_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_writer, "PARTS_MAX", 2)
    there = Given()

    async def write(writer: PartWriter) -> None:
        await writer.write(b"x" * 16)
        with pytest.raises(RequestError, match="longer than 2 parts"):
            await writer.write(b"x" * 8)

    there.run(write)
    assert len(there.aborted) == 1
    assert there.bucket.uploads == {}


def test_the_room_of_one_who_was_cancelled_is_for_the_next() -> None:
    """Whether he still waited for it, or had just been given it."""

    async def main() -> None:
        budget = Budget(10)
        await budget.take(8)
        long, short = (asyncio.ensure_future(budget.take(size)) for size in (9, 2))
        await asyncio.sleep(0)
        long.cancel()
        await asyncio.wait([long, short])
        assert long.cancelled()
        given = asyncio.ensure_future(budget.take(8))
        await asyncio.sleep(0)
        budget.give_back(8)
        given.cancel()
        await asyncio.wait([given])
        assert given.cancelled()
        await budget.take(8)

    run(main())
