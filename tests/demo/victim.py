"""The process that dies: it overwrites the flights, and stops where it is to be killed.

    python -m tests.demo.victim DESTINATION writing|publishing

It does what any program would do, up to one point; there it says so on its standard output and
waits for its end. It never ends by itself: no handler runs, nothing is cleaned up.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.demo.flights import flights_that_left, in_batches

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from contextlib import AbstractContextManager

    from fsspec_commit.store import Store

T = TypeVar("T")

PUBLISHED_BEFORE_THE_END = 5
PATIENCE = 1_000


def wait_for_the_end(where: str) -> None:
    """Say where we are; then nothing happens any more until we are killed."""
    print(where, flush=True)
    sys.stdin.read()
    raise SystemExit("nobody killed this process")


class DiesWriting:
    """Stops when half of the rows have been read, and some of them are on the disk."""

    def __init__(self, destination: str, rows: int) -> None:
        self.areas = Path(destination) / "_commit"
        self.left = rows // 2

    def __call__(self, rows: int) -> None:
        self.left -= rows
        if self.left < 0:
            # Arrow writes on threads of its own, behind the rows that it reads.
            for _ in range(PATIENCE):
                if any(path.is_file() for path in self.areas.rglob("*.pending")):
                    break
                time.sleep(0.01)
            wait_for_the_end("half of the rows are read; the job is undecided")


class DiesPublishing:
    """Stops when some files have been renamed to their final names and others have not."""

    def __init__(self) -> None:
        self.published = 0

    async def carry(self, verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "rename" and "/_commit/" not in path:
            if self.published == PUBLISHED_BEFORE_THE_END:
                wait_for_the_end(f"the job is decided; {self.published} of its files are in place")
            self.published += 1
        return await call()

    def wrap(self, store: Store) -> Store:
        return WrappedStore(store, self.carry)


def main(destination: str, dies: str) -> None:
    """Overwrite the flights, or not."""
    table = flights_that_left()
    told: Callable[[int], object] = (
        DiesWriting(destination, table.num_rows) if dies == "writing" else int
    )
    wrapped: AbstractContextManager[None] = nullcontext()
    if dies == "publishing":
        wrapped = wrapping(DiesPublishing().wrap)
    with wrapped:
        fc.write_dataset(
            in_batches(table, told), destination, partition_by="month", mode="overwrite"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
