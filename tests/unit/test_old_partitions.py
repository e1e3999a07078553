"""What a driver holds of each of many partitions while it looks for their old files: little."""

from __future__ import annotations

import asyncio
import tracemalloc
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.protocol.directory_names import DirectoryNames, to_look_up
from fsspec_commit.protocol.listing import SeenApart
from fsspec_commit.protocol.old_partitions import FilesOutside, old_files_of_partitions
from fsspec_commit.store import Directory, Entry, Token

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

BATCH = "fsspec_commit.records.entries._BATCH_MAX"
NAMES = "fsspec_commit.protocol.file_names._CHUNK"
DIRECTORIES = "fsspec_commit.protocol.directory_names.HELD_MAX"


class Tree:
    """A destination of so many customers, each with one file."""

    in_flight_max = 64

    def __init__(self, customers: int, name_of: Callable[[int], str]) -> None:
        self._names = list(map(name_of, range(customers)))
        self.listings = 0

    async def list_children(self, path: str) -> list[Entry | Directory]:
        self.listings += 1
        if "customer" in path:
            return [Entry(path=StorePath(f"{path}/part"), size_bytes=1, token=Token("1"))]
        parts = path.count("/")
        names = ("/".join(f"/out/{name}".split("/")[: parts + 2]) for name in self._names)
        below = {name: None for name in names if name.startswith(path)}
        return [Directory(StorePath(name)) for name in below]

    async def children(self, path: str) -> AsyncIterator[Entry | Directory]:
        for child in await self.list_children(path):
            yield child


async def count(job: Any, written: DirectoryNames) -> int:
    directories = to_look_up(written.with_those_above())
    found = old_files_of_partitions(job, written, directories, FilesOutside(), SeenApart())
    return sum([1 async for _ in found])


def peak_of(customers: int, name_of: Callable[[int], str]) -> int:
    """The most that is held while the old files of all customers are looked for."""
    store = Tree(customers, name_of)
    destination = SimpleNamespace(
        directory=lambda name: f"/out/{name}".rstrip("/"),
        relative=lambda path: path.removeprefix("/out/"),
    )
    job: Any = SimpleNamespace(
        record=SimpleNamespace(partitions=(), job_id="", destination=""),
        layout=SimpleNamespace(destination=destination),
        store=store,
        looks_ahead=False,
    )
    written: Any = DirectoryNames()
    written.update(map(name_of, range(customers)))
    above = {name_of(number).rpartition("/")[0] for number in range(customers)} | {""}
    tracemalloc.start()
    try:
        assert asyncio.run(count(job, written)) == customers
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert store.listings == customers + len(above)
    return peak


@pytest.mark.parametrize(
    "name_of",
    [
        lambda number: f"customer={number:06}",
        lambda number: f"time=12%3A{number % 2:02}/customer={number:06}",
    ],
    ids=["flat", "nested"],
)
def test_each_partition_that_is_replaced_takes_little(
    name_of: Callable[[int], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BATCH, 50)
    monkeypatch.setattr(NAMES, 100)
    monkeypatch.setattr(DIRECTORIES, 200)
    few, many = peak_of(400, name_of), peak_of(1_200, name_of)
    assert (many - few) / 800 < 330  # Some 150 of it are the listing.
