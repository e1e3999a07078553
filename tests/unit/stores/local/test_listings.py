"""Listings of local directories: which names they show, and what stands in their way."""

from __future__ import annotations

import asyncio
import errno
import inspect
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Unusable
from fsspec_commit_stores.local import listing
from tests.unit.stores.local.disk import descriptors, names
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import collected, put, run

if TYPE_CHECKING:
    from fsspec_commit_stores.local import LocalStore


def test_names_that_are_not_utf_8_are_refused_by_name(store: LocalStore, root: Path) -> None:
    root.mkdir()
    Path(os.fsdecode(bytes(root) + b"/caf\xe9")).write_bytes(b"1")
    with refused("'caf\\udce9'", code=errno.EILSEQ):
        collected(store.list_tree(store.root))
    (shown,) = collected(store.list_children(store.root))
    assert isinstance(shown, Unusable)
    with refused("'caf\\udce9'", code=errno.EILSEQ):
        raise shown.refusal


def test_names_are_utf_8_in_every_locale(root: Path) -> None:
    script = """
import asyncio, sys
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.local import LocalStore
async def main():
    store = await LocalStore.open(sys.argv[1], OpenOptions())
    for name in ("caf\\u00e9/a", "caf\\u00e9/\\u65e5"):
        path = store.root + "/" + name
        await store.put(path, b"1", expecting=Expect.ABSENT, within=None)
        to = store.root + "/moved/" + name
        await store.files.rename(path, to, token=None, expecting=Expect.ABSENT, within=store.root)
        assert (await store.stat(to)).path == to
    print(sys.getfilesystemencoding(), ascii([e.path async for e in store.list_tree(store.root)]))
asyncio.run(main())
"""
    environment = {
        **os.environ,
        "LC_ALL": "POSIX",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    output = subprocess.run(
        [sys.executable, "-c", script, str(root)], env=environment, capture_output=True, check=True
    ).stdout.decode()
    assert not output.startswith("utf-8"), "this locale shows nothing"
    assert "caf\\xe9/\\u65e5" in output
    assert names(root / "moved/caf\u00e9") == ["a", "\u65e5"]


def test_both_normal_forms_of_a_name_are_kept_apart(store: LocalStore, root: Path) -> None:
    names = ["caf\u00e9", "cafe\u0301"]
    for name in names:
        put(store, StorePath(f"{root}/{name}/{name}"), name.encode())
    listed = sorted(entry.path for entry in collected(store.list_tree(store.root)))
    assert listed == sorted(f"{root}/{name}/{name}" for name in names)


def test_a_tree_without_one_directory(store: LocalStore, root: Path) -> None:
    for name in ("_commit/job/a", "_commit2/a", "d/_commit/a"):
        put(store, StorePath(f"{root}/{name}"))
    (root / "_commit/link").symlink_to("job")  # would be refused if it were walked
    area = StorePath(f"{root}/_commit")
    listed = collected(store.list_tree(store.root, without=area))
    assert sorted(e.path for e in listed) == [f"{root}/_commit2/a", f"{root}/d/_commit/a"]
    assert collected(store.list_tree(StorePath(f"{area}/job"), without=area)) == []
    assert collected(store.list_tree(area, without=area)) == []


def test_a_directory_swapped_for_a_link_during_a_walk(
    store: LocalStore, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(b"")
    put(store, StorePath(f"{root}/a"))
    put(store, StorePath(f"{root}/d/b"))

    async def walk() -> list[StorePath]:
        listed = []
        async for entry in store.list_tree(store.root):
            listed.append(entry.path)
            (root / "d").rename(tmp_path / "moved")
            (root / "d").symlink_to(tmp_path / "outside")
        return listed

    with refused(f"{root}/d", "symbolic link"):
        run(walk())


@pytest.mark.parametrize("others", [0, 300])
def test_files_that_succeed_one_another_are_not_both_missed(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """At each moment one of the two stands; a reader that saw neither took half a job for whole."""
    put(store, StorePath(f"{root}/d/first"))
    for number in range(others):
        (root / f"d/{number}").touch()
    shown, times = listing._shown, iter([True])

    def after_a_pause(*what: Any) -> Any:
        if next(times, False):
            (root / "d/second").touch()
            (root / "d/first").unlink()
        return shown(*what)

    monkeypatch.setattr(listing, "_shown", after_a_pause)
    found = {child.path for child in collected(store.list_children(StorePath(f"{root}/d")))}
    assert found == {f"{root}/d/{name}" for name in ("second", *range(others))}


def test_where_files_come_and_go_all_the_time_a_listing_is_given_up(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(store, StorePath(f"{root}/d/file"))
    monkeypatch.setattr(listing, "_shown", lambda *_: None)
    with pytest.raises(StoreError, match="come and go all the time") as raised:
        collected(store.list_children(StorePath(f"{root}/d")))
    assert raised.value.reply is Reply.NOT_DONE
    assert collected(store.list_tree(store.root)) == []


def test_an_abandoned_listing_closes_its_handles(store: LocalStore, root: Path) -> None:
    for number in range(20):
        put(store, StorePath(f"{root}/d/{number}"))

    async def first() -> int:
        before = descriptors()
        for _ in range(50):
            listing = store.list_tree(store.root)
            await anext(listing)
            del listing
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return descriptors() - before

    assert run(first()) <= 0


def test_a_tree_deeper_than_python_calls_is_listed_in_little_memory(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's directories in one another, more of them than calls may be."""
    depth, limit = 400, sys.getrecursionlimit()
    root.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(root)
        for _ in range(depth):
            os.mkdir("directory")  # noqa: PTH102  # as deep as the working directory is
            os.chdir("directory")
        Path("old.txt").touch()
    names_above = "directory/" * depth
    sys.setrecursionlimit(len(inspect.stack()) + 150)
    tracemalloc.start()
    try:
        (found,) = collected(store.list_tree(store.root))
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        sys.setrecursionlimit(limit)
    assert found.path == f"{store.root}/{names_above}old.txt"
    assert peak_bytes < 300_000  # the paths of all levels would be 800,000


@pytest.mark.guarantees("P7", "P11")
def test_a_directory_that_is_renamed_meanwhile_is_not_shown_at_once(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who removes an area renames it first, and then it loses claims that it had in its place."""
    (root / "area").mkdir(parents=True)
    (root / "area" / "job.json").touch()
    (root / "area" / "claim").touch()
    real = listing._read
    area = StorePath(f"{store.root}/area")
    assert len(run(store.list_at_once(area)) or ()) == 2

    def read(*how: Any) -> Any:
        (root / "area").rename(root / "gone")
        (root / "gone" / "claim").unlink()
        yield from real(*how)

    monkeypatch.setattr(listing, "_read", read)
    assert run(store.list_at_once(area)) is None
    assert run(store.list_at_once(area)) == []


@pytest.mark.guarantees("P7", "P11")
def test_what_may_take_several_calls_is_not_shown_at_once(store: LocalStore, root: Path) -> None:
    """Some C libraries read two kilobytes by one call; of a name of 36 bytes they take 63."""
    (root / "area").mkdir(parents=True)
    area = StorePath(f"{store.root}/area")
    for number in range(31):
        (root / "area" / f"{number:036}").touch()
    assert len(run(store.list_at_once(area)) or ()) == 31
    (root / "area" / f"{31:036}").touch()
    assert run(store.list_at_once(area)) is None


@pytest.mark.guarantees("P7", "P11")
def test_a_directory_of_which_a_file_vanishes_is_not_shown_at_once(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stood when the names were read, and what it was is not known."""
    (root / "area").mkdir(parents=True)
    for name in ("job.json", "claim"):
        (root / "area" / name).touch()
    real = listing._usable

    def usable(directories: Any, directory: str, handle: int, child: Any) -> Any:
        if child.name == "claim":
            (root / "area" / "claim").unlink()
        return real(directories, directory, handle, child)

    monkeypatch.setattr(listing, "_usable", usable)
    assert run(store.list_at_once(StorePath(f"{store.root}/area"))) is None
