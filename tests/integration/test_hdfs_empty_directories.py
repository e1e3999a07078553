"""Directories of a real cluster that are removed if nothing is in them, beside who writes there."""

from __future__ import annotations

import asyncio
import errno
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.hdfs import HdfsStore
from fsspec_commit_stores.hdfs.empty_directories import EmptyDirectories
from fsspec_commit_stores.hdfs.writing import Files
from tests.servers.hdfs.kinds import LISTED_AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.hdfs.plugin import HdfsDirectory

JOB = "_commit/20261120T140355-9c1e5f00a1b2c3d4"
HIDDEN = f".fsspec-commit-{'0' * 32}.tmp"


def area_in(store: HdfsStore) -> StorePath:
    return StorePath(f"{store.root}/{JOB}")


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def store(hdfs_directory: HdfsDirectory, runner: asyncio.Runner) -> Iterator[HdfsStore]:
    options = OpenOptions(storage_options=hdfs_directory.storage_options)
    store = runner.run(HdfsStore.open(hdfs_directory.url, options))
    yield store
    runner.run(store.close())


async def children(store: HdfsStore, path: StorePath) -> list[str]:
    return [child.path.rpartition("/")[2] async for child in store.list_children(path)]


def stands(directory: HdfsDirectory, path: StorePath) -> list[str]:
    """What is there, hidden or not."""
    with suppress(FileNotFoundError):
        return sorted(
            one.path.rpartition("/")[2] for one in directory.cluster.client.list_status(path)
        )
    return []


def test_what_no_listing_shows_does_not_keep_it(
    hdfs_directory: HdfsDirectory, store: HdfsStore, runner: asyncio.Runner
) -> None:
    """A writer that was killed before its record had a name: the area would stay for ever."""
    area = area_in(store)
    hdfs_directory.write(f"{area}/{HIDDEN}", b"1")
    assert runner.run(children(store, area)) == []
    runner.run(store.empty_directories.remove_empty_directory(area))
    assert runner.run(store.stat(area)) is None


def test_beside_a_record_nothing_goes(
    hdfs_directory: HdfsDirectory, store: HdfsStore, runner: asyncio.Runner
) -> None:
    """What is hidden may be another record, of a job that is alive by now."""
    area = area_in(store)
    for name in (HIDDEN, "job.json"):
        hdfs_directory.write(f"{area}/{name}", b"1")
    with pytest.raises(StoreError) as caught:
        runner.run(store.empty_directories.remove_empty_directory(area))
    assert (caught.value.reply, caught.value.errno) == (Reply.REFUSED, errno.ENOTEMPTY)
    assert stands(hdfs_directory, area) == [HIDDEN, "job.json"]


def test_a_directory_of_a_hidden_name_keeps_it(
    hdfs_directory: HdfsDirectory, store: HdfsStore, runner: asyncio.Runner
) -> None:
    area = area_in(store)
    hdfs_directory.write(f"{area}/{HIDDEN}/a", b"1")
    with pytest.raises(StoreError) as caught:
        runner.run(store.empty_directories.remove_empty_directory(area))
    assert caught.value.errno == errno.ENOTEMPTY
    assert stands(hdfs_directory, area) == [HIDDEN]


def test_a_record_on_a_later_page_keeps_all(
    hdfs_directory: HdfsDirectory, store: HdfsStore, runner: asyncio.Runner
) -> None:
    area = area_in(store)
    hidden = [f".fsspec-commit-{number:032x}.tmp" for number in range(LISTED_AT_ONCE)]
    for name in (*hidden, "job.json"):
        hdfs_directory.write(f"{area}/{name}", b"")
    with pytest.raises(StoreError) as caught:
        runner.run(store.empty_directories.remove_empty_directory(area))
    assert caught.value.errno == errno.ENOTEMPTY
    assert stands(hdfs_directory, area) == [*hidden, "job.json"]


def test_what_goes_meanwhile_is_gone(
    store: HdfsStore,
    hdfs_directory: HdfsDirectory,
    runner: asyncio.Runner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another `clean` removes it between two requests of this one."""
    area, real = area_in(store), EmptyDirectories._only_hidden

    async def only_hidden(removing: EmptyDirectories, path: StorePath) -> list[StorePath] | None:
        monkeypatch.undo()
        await removing.remove_empty_directory(path)
        return await real(removing, path)

    hdfs_directory.write(f"{area}/{HIDDEN}", b"1")
    monkeypatch.setattr(EmptyDirectories, "_only_hidden", only_hidden)
    runner.run(store.empty_directories.remove_empty_directory(area))
    assert runner.run(store.stat(area)) is None


@pytest.mark.parametrize("is_area_made", [True, False])
def test_a_record_whose_directory_goes_is_refused(
    store: HdfsStore,
    runner: asyncio.Runner,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_area_made: bool,
) -> None:
    """It is not written again, under any name: what was refused may be the echo of a success."""
    area, real, written_times = area_in(store), Files.check_written, list[str]()

    async def check_written(files: Files, *args: Any) -> Any:
        written_times.append(JOB)
        written = await real(files, *args)
        await store.empty_directories.remove_empty_directory(area)
        return written

    runner.run(store.directory_creation.make_directory(area, within=store.root))
    monkeypatch.setattr(Files, "check_written", check_written)
    path, within = StorePath(f"{area}/job.json"), None if is_area_made else area
    with pytest.raises(StoreError) as caught:
        runner.run(store.put(path, b"1", expecting=Expect.ABSENT, within=within))
    assert (caught.value.reply, caught.value.errno) == (Reply.REFUSED, errno.ENOENT)
    assert runner.run(store.stat(area)) is None
    assert len(written_times) == 1
