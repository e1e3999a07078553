"""Files written on the caller's own thread, or through the loop, on a local disk."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from tests.unit.stores.local.disk import descriptors, mounted, names
from tests.unit.stores.local.verbs import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.store import Durability


@pytest.fixture
def root(root: Path) -> Path:
    """A destination that is there."""
    root.mkdir()
    return root


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Larger than a writer's buffer."""
    with mounted(tmp_path / "small", "2m") as place:
        yield place


def test_a_full_disk_at_the_last_byte(small_disk: Path) -> None:
    store = opened(small_disk)
    path = StorePath(f"{small_disk}/d/a")
    (small_disk / "fill").write_bytes(b"x" * 1_900_000)
    writer = store.direct.writer(path, within=store.root)
    for _ in range(9):
        writer.write(b"y" * 100_000)  # still in the buffer
    before = descriptors()
    with pytest.raises(OSError, match="No space left") as caught:
        writer.finish()
    assert not isinstance(caught.value, StoreError)
    assert caught.value.filename == path
    assert caught.value.errno == errno.ENOSPC
    assert descriptors() == before - 1
    writer.discard()
    assert names(small_disk / "d") == []


def test_a_full_disk_through_the_loop(small_disk: Path) -> None:
    store = opened(small_disk)
    path = StorePath(f"{small_disk}/a")

    async def fill() -> None:
        writer = store.writer(path, within=store.root)
        try:
            for _ in range(40):
                await writer.write(b"y" * 100_000)
        finally:
            await writer.discard()

    with pytest.raises(StoreError) as caught:
        asyncio.run(fill())
    assert (caught.value.reply, caught.value.errno) == (Reply.REFUSED, errno.ENOSPC)
    assert path in str(caught.value)
    assert names(small_disk) == []


def test_small_writes_stay_in_c(root: Path) -> None:
    store = opened(root)
    writer = store.direct.writer(StorePath(f"{root}/a"), within=store.root)
    assert type(writer.write).__name__ == "builtin_function_or_method"
    for data in (b"1", bytearray(b"2"), memoryview(b"345")[1:]):
        assert writer.write(data) == len(data)
    assert writer.finish().size_bytes == 4
    assert (root / "a").read_bytes() == b"1245"
    with pytest.raises(ValueError, match="closed"):
        writer.write(b"late")


def test_a_closed_name_is_replaced_not_written_over(root: Path, tmp_path: Path) -> None:
    store = opened(root)
    path = StorePath(f"{root}/a")
    first = store.direct.writer(path, within=store.root)
    first.write(b"longer than the second")
    first.finish()
    (tmp_path / "elsewhere").hardlink_to(path)
    second = store.direct.writer(path, within=store.root)
    second.write(b"second")
    second.finish()
    assert Path(path).read_bytes() == b"second"
    assert (tmp_path / "elsewhere").read_bytes() == b"longer than the second"


def test_discarding_an_old_file_spares_the_new_one(root: Path) -> None:
    store = opened(root)
    path = StorePath(f"{root}/a")
    old = store.direct.writer(path, within=store.root)
    new = store.direct.writer(path, within=store.root)
    new.write(b"new")
    new.finish()
    old.write(b"old")
    old.discard()
    assert Path(path).read_bytes() == b"new"


def test_a_directory_in_a_files_place_is_refused(root: Path) -> None:
    store = opened(root)
    (root / "d").mkdir()
    with pytest.raises(StoreError, match="directory") as caught:
        store.direct.writer(StorePath(f"{root}/d"), within=store.root)
    assert caught.value.reply is Reply.REFUSED


def test_an_abandoned_file_is_taken_away(root: Path) -> None:
    store = opened(root)
    writer = store.direct.writer(StorePath(f"{root}/a"), within=store.root)
    writer.write(b"half")
    with pytest.warns(ResourceWarning, match="abandoned"):
        del writer  # its end is what warns
    gc.collect()
    assert names(root) == []


def test_a_child_process_lets_its_parents_files_be(root: Path) -> None:
    store = opened(root)
    writer = store.direct.writer(StorePath(f"{root}/a"), within=store.root)
    writer.write(b"parent's")
    child = os.fork()
    if child == 0:
        writer.__del__()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    writer.finish()
    assert (root / "a").read_bytes() == b"parent's"


@pytest.mark.filterwarnings("error")
def test_a_collector_of_a_child_lets_them_be_before_anybody_has_told_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may come at any moment after the fork, first of all."""
    store = opened(root)
    writer = store.direct.writer(StorePath(f"{root}/a"), within=store.root)
    writer.write(b"parent's")
    parent = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: parent + 1)
        writer.__del__()
    assert names(root) == ["a"]
    assert (root / "a").read_bytes() == b""  # what is buffered is the parent's to write


def test_a_file_swapped_for_a_link_is_not_followed_by_discard(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_bytes(b"")
    store = opened(root)
    writer = store.direct.writer(StorePath(f"{root}/d/a"), within=store.root)
    shutil.rmtree(root / "d")
    (root / "d").symlink_to(tmp_path / "outside")
    writer.discard()
    assert names(tmp_path / "outside") == ["a"]


@pytest.mark.parametrize(("durability", "flushes"), [("none", 0), ("marker", 0), ("full", 1)])
def test_data_is_flushed_as_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch, durability: Durability, flushes: int
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(os, "fsync", seen.append)
    store = opened(root, durability)
    writer = store.direct.writer(StorePath(f"{root}/a"), within=store.root)
    writer.write(b"1")
    writer.finish()
    assert len(seen) == flushes


def test_a_list_of_the_protocol_is_always_flushed_and_so_are_its_names(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own, and those of the directories that it needs; a decision may be put anywhere else."""
    seen: list[str] = []
    monkeypatch.setattr(
        os, "fsync", lambda open_: seen.append(str(Path(f"/proc/self/fd/{open_}").readlink()))
    )
    store = opened(root)

    async def write() -> None:
        writer = store.writer(StorePath(f"{root}/new/newer/replaced"), within=store.root)
        assert seen == [f"{root}", f"{root}/new"]
        await writer.write(b"1\n")
        await writer.finish()

    asyncio.run(write())
    assert seen[2:] == [f"{root}/new/newer/replaced", f"{root}/new/newer"]


def test_files_of_one_length_written_at_once_have_tokens_of_their_own(root: Path) -> None:
    store = opened(root)
    path = StorePath(f"{root}/a")
    tokens = set()
    for number in range(200):
        writer = store.direct.writer(path, within=store.root)
        writer.write(b"%04d" % number)
        tokens.add(writer.finish().token)
    assert len(tokens) == 200
