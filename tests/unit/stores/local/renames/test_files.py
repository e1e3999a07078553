"""Renames of local files: exclusive, never where they should not go."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Token
from fsspec_commit_stores.local import LocalStore, system_calls
from tests.unit.stores.local.disk import JOB, mounted, names, write
from tests.unit.stores.local.races import won_by_each
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import rename, rename_directory, run

if TYPE_CHECKING:
    from pathlib import Path


def test_this_machine_has_the_system_call() -> None:
    assert system_calls._rename_at_2 is not None


@pytest.mark.usefixtures("way")
def test_an_exclusive_rename(store: LocalStore, root: Path) -> None:
    write(root / "work/a", b"new")
    write(root / "work/b", b"late")
    before = run(store.stat(StorePath(f"{root}/work/a")))
    rename(store, "work/a", "day=1/x/a")
    after = run(store.stat(StorePath(f"{root}/day=1/x/a")))
    assert isinstance(before, Entry)
    assert isinstance(after, Entry)
    assert after.token == before.token
    with refused(f"{root}/day=1/x/a", "exists", code=errno.EEXIST):
        rename(store, "work/b", "day=1/x/a")
    with refused(f"{root}/work/a", "source does not exist", code=errno.ENOENT):
        rename(store, "work/a", "day=1/x/c")
    assert (root / "day=1/x/a").read_bytes() == b"new"
    assert names(root / "work") == ["b"]


def test_replacing(store: LocalStore, root: Path) -> None:
    for number in range(3):
        write(root / f"work/{number}", b"%d" % number)
    rename(store, "work/0", "d/a", Expect.ANYTHING)
    rename(store, "work/1", "d/a", Expect.ANYTHING)
    standing = run(store.stat(StorePath(f"{root}/d/a")))
    assert isinstance(standing, Entry)
    with refused("not the content"):
        rename(store, "work/2", "d/a", Token("1-1-1"))
    with refused("gone"):
        rename(store, "work/2", "d/b", standing.token)
    assert (root / "d/a").read_bytes() == b"1"
    rename(store, "work/2", "d/a", standing.token)
    assert (root / "d/a").read_bytes() == b"2"
    (root / "d/dir").mkdir()
    write(root / "work/3")
    with refused(f"{root}/d/dir", code=errno.EISDIR):
        rename(store, "work/3", "d/dir", Expect.ANYTHING)


@pytest.mark.parametrize(
    "name", ["a b", "100%", "%41", "day=1", "[x]", "n\nl", "\u00e9", "e\u0301", "x" * 255, "..."]
)
@pytest.mark.usefixtures("way")
def test_odd_names(store: LocalStore, root: Path, name: str) -> None:
    write(root / "work" / name / name)
    rename(store, f"work/{name}/{name}", f"{name}/{name}")
    assert names(root / name) == [name]
    assert names(root / "work" / name) == []


def test_a_name_that_is_too_long_is_refused(store: LocalStore, root: Path) -> None:
    write(root / "work/a")
    with refused(code=errno.ENAMETOOLONG):
        rename(store, "work/a", "x" * 256)
    with refused(code=errno.ENAMETOOLONG):
        rename(store, "work/a", "x" * 256 + "/a")
    with refused():
        rename(store, "work/a", "b\0c")
    assert names(root) == ["work"]


def test_a_file_in_the_way_is_named(store: LocalStore, root: Path) -> None:
    write(root / "work/a")
    write(root / "d/file")
    with refused(f"{root}/d/file", "in the way", code=errno.ENOTDIR):
        rename(store, "work/a", "d/file/x/a")
    assert names(root / "work") == ["a"]


def test_a_missing_within_stays_missing(store: LocalStore, root: Path) -> None:
    write(root / "work/a")
    with refused(f"{root}/_commit", "missing"):
        rename(store, "work/a", f"{JOB}/trash/a", within=JOB)
    assert names(root) == ["work"]


def test_only_files_are_renamed(store: LocalStore, root: Path, tmp_path: Path) -> None:
    write(tmp_path / "secret")
    write(root / "work/d/a")
    (root / "work/link").symlink_to(tmp_path / "secret")
    os.mkfifo(root / "work/pipe")
    for target in ("x", "new/x", f"{JOB}/trash/x"):
        with refused(f"{root}/work/d", "directory"):
            rename(store, "work/d", target)
        with refused(f"{root}/work/link", "symbolic link"):
            rename(store, "work/link", target)
        with refused(f"{root}/work/pipe"):
            rename(store, "work/pipe", target)
    assert names(root / "work") == ["d", "link", "pipe"]


def test_links_are_not_followed(store: LocalStore, root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    write(outside / "s")
    write(root / "work/a")
    (root / "link").symlink_to(outside)
    with refused(f"{root}/link", "symbolic link", code=errno.ELOOP):
        rename(store, "work/a", "link/a")
    with refused(f"{root}/link", "symbolic link"):
        rename(store, "work/a", "link/new/a")
    with refused(f"{root}/link", "symbolic link"):
        rename(store, "link/s", "s")
    with refused(f"{root}/link", "symbolic link"):
        rename_directory(store, "work", "link/work")
    with refused(f"{root}/link", "symbolic link"):
        rename_directory(store, "link", "taken")
    with refused(f"{root}/link"):
        rename(store, "work/a", "link", Expect.ANYTHING)
    assert names(outside) == ["s"]
    assert names(root / "work") == ["a"]


def test_a_mount_inside_the_destination_is_refused(store: LocalStore, root: Path) -> None:
    with mounted(root / "mounted") as place:
        write(root / "work/a")
        with refused(f"{root}/mounted/a", "copy", code=errno.EXDEV):
            rename(store, "work/a", "mounted/a")
        assert names(place) == []
        run(store.close())


@pytest.mark.usefixtures("way")
def test_of_two_processes_one_renames(root: Path) -> None:
    def rename_own(store: LocalStore, number: int, turn: int) -> None:
        rename(store, f"work/{number}/{turn}", f"d{turn % 3}/{turn}")

    rounds = 200
    for number in range(2):
        for turn in range(rounds):
            write(root / f"work/{number}/{turn}", b"%d" % number)
    for number, turns in won_by_each(root, rename_own, rounds=rounds).items():
        for turn in turns:
            assert (root / f"d{turn % 3}/{turn}").read_bytes() == b"%d" % number
        left = {str(turn) for turn in range(rounds)} - {str(turn) for turn in turns}
        assert set(names(root / f"work/{number}")) == left
