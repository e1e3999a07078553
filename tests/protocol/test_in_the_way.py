"""Old files and directories where new files are to go: what is refused, and how it is found."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import (
    CommitError,
    DestinationExistsError,
    RequestError,
    UnsafeStoreError,
)
from fsspec_commit.protocol import in_the_way
from fsspec_commit.store import Directory, Entry
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import Clock, Stop, started, wrote
from tests.scenes.memory_place import MemoryPlace
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from fsspec_commit.layout import StorePath

NAMES = in_the_way._LOOKS_MAX - 1
"""So many may be looked for one by one, with the directory that they are in."""
FEW, MANY = in_the_way._LISTINGS_MAX, in_the_way._LISTINGS_MAX + 1


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def memory() -> Iterator[MemoryPlace]:
    place = MemoryPlace()
    yield place
    place.remove()


def old(bucket: Bucket, *names: str) -> None:
    for name in names:
        put(bucket, f"{bucket.name}/out/{name}", b"old")


async def refused(at: str, *new: str, mode: str = "append") -> CommitError:
    """What a job of exact names is told."""
    driver = await started(at, Clock(), mode=mode, names="exact")
    message = await wrote(driver, *new)
    with pytest.raises((RequestError, DestinationExistsError)) as caught:
        await driver.commit([message], wait_s=0)
    assert (caught.value.outcome, driver.state) == ("not_committed", "open")
    await driver.abort()
    return caught.value


async def looked(at: str, *new: str) -> Counter[str]:
    """What a job asks that finds nothing in its way."""
    calls = Stop("never", "")
    driver = await started(at, Clock(), calls, names="exact")
    message = await wrote(driver, *new)
    calls.calls.clear()
    assert await driver.commit([message], wait_s=0)
    return Counter(verb for verb, path in calls.calls if "/_commit" not in path)


def in_directories(count: int, *, files: int = 1) -> list[str]:
    return [f"day={number}/{file}.txt" for number in range(count) for file in range(files)]


@pytest.mark.guarantees("P9")
@pytest.mark.parametrize("directories", [1, FEW, MANY])
def test_the_first_of_several_names_that_are_taken_is_told(
    bucket: Bucket, directories: int
) -> None:
    """However they are looked for: by name, by directory, or in one listing of everything."""

    async def main() -> None:
        new = in_directories(directories, files=5)
        old(bucket, *sorted(new, reverse=True)[:3])
        error = await refused(url(bucket), *new)
        assert isinstance(error, DestinationExistsError)
        assert error.path == sorted(new)[-3]
        assert f"{error.path!r} exists in" in str(error)
        assert 'mode="append" never replaces a file' in str(error)
        assert 'use names="unique" or mode="overwrite"' in str(error)

    run(main())


@pytest.mark.guarantees("P9")
@pytest.mark.parametrize("directories", [FEW, MANY])
def test_a_directory_of_the_name_of_a_new_file_is_in_its_way(
    bucket: Bucket, directories: int
) -> None:
    """There is none on such a store, but files whose names begin so: readers would see both."""

    async def main() -> None:
        new = [*in_directories(directories), "day=0/name"]
        old(bucket, "day=0/name/below/old.txt")
        error = await refused(url(bucket), *new)
        assert error.path == "day=0/name"
        assert "exists" in str(error)
        assert ", as a directory, and" in str(error)
        assert str(error).endswith('use names="unique"')

    run(main())


@pytest.mark.guarantees("P9")
@pytest.mark.parametrize("directories", [1, FEW, MANY])
def test_a_file_where_a_directory_is_needed_is_in_the_way(
    memory: MemoryPlace, directories: int
) -> None:
    """The first of them; nothing is looked for below it, where nothing can be."""

    async def main() -> None:
        new = in_directories(directories)
        blocked = {f"day={number}": b"old" for number in range(min(directories, 2))}
        memory.put({**blocked, "other": b"old"})
        error = await refused(memory.url, *new)
        assert isinstance(error, RequestError)
        assert (error.kind, error.path) == ("file_in_the_way", "day=0")
        assert "'day=0' is a file, and new files need a directory there" in str(error)

    run(main())


@pytest.mark.guarantees("P9")
def test_an_old_directory_stands_in_the_way_until_its_files_go(bucket: Bucket) -> None:
    """They are deleted after the new file is published: it must have its name before."""

    async def main() -> None:
        old(bucket, "day=1/name/old.txt", "day=1/other/old.txt")
        error = await refused(
            url(bucket), "day=1/name", "day=1/a", "day=1/other", "day=1/name.txt", mode="overwrite"
        )
        assert isinstance(error, RequestError)
        assert (error.kind, error.path) == ("file_in_the_way", "day=1/name/old.txt")
        assert "'day=1/name' is a directory with 'day=1/name/old.txt' in it" in str(error)

    run(main())


@pytest.mark.guarantees("P9")
def test_what_cannot_be_told_from_a_newer_file_is_refused_though_it_came_late() -> None:
    """When the job began nothing was to be deleted, and nothing was refused."""
    bucket = make_bucket(ALL_HABITS["minio"])

    async def main() -> None:
        driver = await started(url(bucket), Clock(), mode="overwrite")
        message = await wrote(driver, "a.txt")
        old(bucket, "old.txt")
        with pytest.raises(UnsafeStoreError, match=r"it holds 'old\.txt'") as caught:
            await driver.commit([message], wait_s=0)
        assert (caught.value.outcome, driver.state) == ("not_committed", "open")
        assert bucket.keys(f"{bucket.name}/out/o") == [f"{bucket.name}/out/old.txt"]

    run(main())
    remove_bucket(bucket)


@pytest.mark.parametrize(
    ("directories", "files", "listings", "whole"),
    [
        (FEW, FEW, FEW, 0),
        (MANY, MANY, 0, 1),
        (MANY, MANY + 1, MANY, 1),
    ],
)
def test_everything_is_listed_at_once_only_where_that_is_cheaper(
    directories: int,
    files: int,
    listings: int,
    whole: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of few directories each is listed; so they are where all files are more than a page each."""
    monkeypatch.setattr(in_the_way, "_FILES_A_PAGE", 1)
    bucket = make_bucket(ALL_HABITS["versioned"])

    async def main() -> Counter[str]:
        old(bucket, *(f"day=0/old {number}.txt" for number in range(files - directories + 1)))
        old(bucket, *(f"day={number}/old.txt" for number in range(1, directories)))
        return await looked(url(bucket), *in_directories(directories))

    made = run(main())[0]
    remove_bucket(bucket)
    # That of the destination itself, from which those are found that exist.
    assert made["list_children"] == (listings + 1 if listings else 0)
    assert made["list_tree"] == whole


def test_few_names_are_looked_for_one_by_one(bucket: Bucket) -> None:
    async def main() -> None:
        made = await looked(url(bucket), *in_directories(1, files=NAMES))
        assert (made["list_children"], made["list_tree"]) == (0, 0)
        made = await looked(url(bucket), *(f"other/{number}" for number in range(NAMES + 1)))
        assert made["list_children"] > 0

    run(main())


def test_a_directory_that_is_listed_in_itself_ends_no_search_late(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An adapter showed it so, of a name with two slashes in a row; it was looked into for ever."""
    listings = 0

    async def listing(self: FlatStore, path: StorePath) -> AsyncIterator[Entry | Directory]:
        nonlocal listings
        listings += 1
        assert listings <= 2 * FEW
        async for child in list_children(self, path):
            yield child
        if path.endswith("day=0"):
            yield Directory(path)

    list_children = FlatStore.list_children
    monkeypatch.setattr(FlatStore, "list_children", listing)

    async def main() -> None:
        old(bucket, "day=0/old.txt")
        await looked(url(bucket), *in_directories(FEW))

    run(main())
    assert listings
