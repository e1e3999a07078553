"""Parts that fail, are waited for, or find no room: which error counts, and who goes first."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects import part_writer
from fsspec_commit.effects.budget import Budget
from fsspec_commit.errors import Reply, RequestError, StoreError
from tests.unit.effects.test_part_writer import Given
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from fsspec_commit.effects.part_writer import PartWriter
    from fsspec_commit.store import Part, PendingUpload

PART = b"x" * 8
pytestmark = pytest.mark.usefixtures("_small")


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part_writer, "PIECE_BYTES", 8)


class Failing(Given):
    """A writer of which some parts fail, after so many seconds; each says which it was.

    Attributes:
        ended: Which have ended.
    """

    def __init__(self, **fails_after_s: float) -> None:
        super().__init__()
        self.ended: list[int] = []
        put_part = self.uploads.put_part

        async def put(upload: PendingUpload, number: int, data: bytes) -> Part:
            try:
                seconds = fails_after_s.get(f"part{number}")
                if seconds is None:
                    return await put_part(upload, number, data)
                await asyncio.sleep(seconds)
                raise StoreError(f"of part {number}", reply=Reply.REFUSED)
            finally:
                self.ended.append(number)

        self.uploads.put_part = put  # type: ignore[method-assign]  # it fails


def test_the_last_part_that_fails_ends_the_file_as_well() -> None:
    there = Failing(part2=1)

    async def use(writer: PartWriter) -> None:
        await writer.write(PART * 2)
        for _ in range(2):
            with pytest.raises(StoreError, match="of part 2"):
                await writer.finish()
        with pytest.raises(StoreError, match="of part 2"):
            await writer.write(PART)

    there.run(use)
    assert len(there.aborted) == 1


@pytest.mark.parametrize(("one", "other", "first"), [(1, 3, 1), (3, 1, 2)])
def test_of_several_parts_that_fail_the_first_failure_counts(
    one: float, other: float, first: int
) -> None:
    there = Failing(part1=one, part2=other)

    async def use(writer: PartWriter) -> None:
        await writer.write(PART * 2)
        await asyncio.sleep(9)
        for _ in range(2):
            with pytest.raises(StoreError, match=f"of part {first}"):
                await writer.finish()

    there.run(use)
    assert sorted(there.ended) == [1, 2]


def test_one_that_fails_while_it_is_broken_off_leaves_it_broken_off() -> None:
    """Its writer was cancelled while a part waited for room: the file lacks that part."""
    there = Failing(part1=1)
    there._bytes_max = 8

    async def use(writer: PartWriter) -> None:
        writing = asyncio.ensure_future(writer.write(PART * 2))
        await asyncio.sleep(0.5)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        await asyncio.sleep(1)
        with pytest.raises(ValueError, match="broken off"):
            await writer.finish()

    there.run(use)


def test_an_upload_is_aborted_when_no_part_is_on_its_way_any_more() -> None:
    """One that arrives after that would be kept, and paid for."""
    there, ended = Failing(), list[int]()

    async def use(writer: PartWriter) -> None:
        abort = writer._abort

        async def late(upload: PendingUpload) -> None:
            ended.extend(there.ended)
            await abort(upload)

        writer._abort = late
        await writer.write(PART * 3)
        await asyncio.sleep(0)
        await writer.discard()

    there.run(use)
    assert sorted(ended) == [1, 2, 3]


def test_parts_whose_tasks_are_cancelled_are_no_failure_of_the_loop() -> None:
    """As when the loop ends with files open."""
    there, seen = Failing(), list[Any]()

    async def use(writer: PartWriter) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: seen.append(what))
        await writer.write(PART * 2)
        await asyncio.sleep(0)
        for task in writer._sending:
            task.cancel()
        await writer.discard()

    there.run(use)
    assert seen == []


@pytest.mark.parametrize("equal", [True, False])
def test_a_file_that_is_too_long_is_refused_with_what_helps(
    monkeypatch: pytest.MonkeyPatch, *, equal: bool
) -> None:
    monkeypatch.setattr(part_writer, "PARTS_MAX", 2)
    there = Given()
    there.uploads.part_bytes = 8 if equal else None

    async def use(writer: PartWriter) -> None:
        with pytest.raises(RequestError, match="longer than 2 parts hold") as caught:
            await writer.write(PART * 3)
        assert caught.value.kind == "file_too_large"
        assert str(caught.value).endswith(
            ", or let each be longer than 8 bytes" if equal else "; write smaller files"
        )

    there.run(use)


def test_who_waits_for_room_is_not_overtaken_by_a_smaller_part() -> None:
    async def main() -> None:
        budget, order = Budget(10), list[int]()

        async def take(size_bytes: int) -> None:
            await budget.take(size_bytes)
            order.append(size_bytes)

        await take(8)
        waiting = [asyncio.ensure_future(take(size)) for size in (5, 2, 3)]
        await asyncio.sleep(1)
        assert order == [8]
        budget.give_back(8)
        await asyncio.wait(waiting)
        assert order == [8, 5, 2, 3]

    run(main())
