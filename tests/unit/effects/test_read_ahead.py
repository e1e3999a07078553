"""read_ahead: in order, while the next are read; bounded, and nothing is left under way."""

from __future__ import annotations

import asyncio
import gc
import weakref
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import pytest

from fsspec_commit.effects.read_ahead import read_ahead
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence


class Shelf:
    """Books of so many pages; to read one takes a second, of which none is lost to another.

    Attributes:
        now: What is read now.
        most: How many pages were read, or waited for the reader, at once.
        begun: What has begun to be read.
        failing: Which cannot be read.
    """

    def __init__(self, books: Sequence[int], *, failing: int | None = None) -> None:
        self.now: list[int] = []
        self.most = 0
        self.begun: list[int] = []
        self.failing = failing
        self._books = books
        self._held = 0

    def read_all(self, *, at_once_max: int = 3, size_max: int = 100) -> AsyncGenerator[int, None]:
        ahead = read_ahead(
            self._each(),
            self._read,
            at_once_max=at_once_max,
            size_of=lambda pages: pages,
            size_max=size_max,
        )
        return cast("AsyncGenerator[int, None]", ahead)

    async def give_back(self, pages: int) -> None:
        """The reader has done with it, after a second."""
        await asyncio.sleep(1)
        self._held -= pages

    async def _each(self) -> AsyncIterator[int]:
        for pages in self._books:
            yield pages

    async def _read(self, pages: int) -> int:
        self.begun.append(pages)
        self.now.append(pages)
        self._held += pages
        self.most = max(self.most, self._held)
        try:
            await asyncio.sleep(1)
            if pages == self.failing:
                raise ValueError(pages)
        finally:
            self.now.remove(pages)
        return pages


async def read(shelf: Shelf, *, at_once_max: int = 3, size_max: int = 100) -> list[int]:
    found = []
    async with aclosing(shelf.read_all(at_once_max=at_once_max, size_max=size_max)) as books:
        async for pages in books:
            found.append(pages)
            await shelf.give_back(pages)
    return found


@pytest.mark.parametrize(
    ("books", "seconds"), [([], 0), ([5], 2), ([5, 6], 3), ([5, 6, 7, 8, 9, 10], 7)]
)
def test_the_next_are_read_while_one_is_used(books: list[int], seconds: int) -> None:
    assert run(read(Shelf(books))) == (books, seconds)


def test_one_at_a_time_is_read_when_the_one_before_is_done_with() -> None:
    assert run(read(Shelf([5, 6, 7]), at_once_max=1)) == ([5, 6, 7], 6)


@pytest.mark.parametrize(("at_once_max", "most"), [(1, 5), (2, 10), (3, 15), (9, 20)])
def test_what_is_held_at_once_is_bounded(at_once_max: int, most: int) -> None:
    """With the one that the caller has; and however many there may be, by their size."""
    shelf = Shelf([5] * 8)
    assert run(read(shelf, at_once_max=at_once_max, size_max=20))[0] == [5] * 8
    assert shelf.most == most


def test_after_a_large_one_the_next_is_read_when_it_is_done_with() -> None:
    shelf = Shelf([1, 1, 1, 50, 50, 50])
    assert run(read(shelf, size_max=80))[0] == [1, 1, 1, 50, 50, 50]
    assert shelf.most == 101  # Nobody knows how large they are before the first is read.
    assert shelf.begun == [1, 1, 1, 50, 50, 50]
    assert run(read(Shelf([50] * 4), size_max=80)) == ([50] * 4, 8)


def test_an_error_is_raised_in_its_place_and_ends_the_rest() -> None:
    shelf, found = Shelf([1, 2, 3, 4, 5, 6], failing=2), list[int]()

    async def main() -> None:
        books = shelf.read_all()
        found.append(await anext(books))
        await asyncio.sleep(5)  # The next has failed long before it is asked for.
        with pytest.raises(ValueError, match="2"):
            await anext(books)
        assert shelf.now == []
        await asyncio.sleep(5)

    run(main())
    assert (found, shelf.begun) == ([1], [1, 2, 3])


@pytest.mark.parametrize(("failing", "later_s"), [(None, 0.5), (2, 0.5), (2, 1.5)])
def test_who_stops_leaves_nothing_under_way(failing: int | None, later_s: float) -> None:
    """Also where what comes next has failed, of which nobody will hear."""
    shelf = Shelf([1, 2, 3, 4, 5, 6], failing=failing)
    complaints: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        async with aclosing(shelf.read_all()) as books:
            assert await anext(books) == 1
            await asyncio.sleep(later_s)
            assert shelf.now == ([2, 3] if later_s < 1 else [])
        assert shelf.now == []
        async with aclosing(shelf.read_all()) as books:
            reading = asyncio.create_task(anext(books))
            await asyncio.sleep(0.5)
            assert shelf.now == [1]
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading
            assert shelf.now == []
        await asyncio.sleep(5)
        gc.collect()

    run(main())
    assert complaints == []
    assert shelf.begun == [1, 2, 3, 1]


@pytest.mark.parametrize("used_s", [0, 1], ids=["while it waits", "while it uses one"])
def test_who_is_cancelled_again_waits_for_no_reading(used_s: int) -> None:
    """As those of a dead NameNode, each of which is waited for to its end: once."""
    given_up: list[float] = []

    async def numbers() -> AsyncIterator[int]:
        for number in range(6):
            yield number

    async def main() -> None:
        now = asyncio.get_running_loop().time

        async def read_to_its_end(number: int) -> int:
            if number:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    try:
                        await asyncio.sleep(60)
                    finally:
                        given_up.append(now())
                    raise
            return number

        async def use() -> None:
            ahead = read_ahead(
                numbers(), read_to_its_end, at_once_max=3, size_of=lambda _: 1, size_max=9
            )
            async with aclosing(ahead):  # type: ignore[type-var]  # it is a generator
                async for _ in ahead:
                    await asyncio.sleep(used_s)

        using = asyncio.create_task(use())
        await asyncio.sleep(0.5)
        using.cancel()
        await asyncio.sleep(0.5)
        using.cancel()
        with pytest.raises(asyncio.CancelledError):
            await using
        assert given_up == [1, 1]
        assert now() == 1

    run(main())


def test_what_the_caller_has_done_with_is_held_no_longer() -> None:
    """So two that are large are never there together."""

    class Book:
        pass

    read_before: list[weakref.ref[Book]] = []

    async def each() -> AsyncIterator[int]:
        for number in range(4):
            yield number

    async def read_book(_: int) -> Book:
        assert [one for one in read_before if one() is not None] == []
        return Book()

    async def main() -> None:
        ahead = read_ahead(each(), read_book, at_once_max=1, size_of=lambda _: 1, size_max=1)
        async for book in ahead:
            read_before.append(weakref.ref(book))
            del book

    run(main())
    assert len(read_before) == 4
