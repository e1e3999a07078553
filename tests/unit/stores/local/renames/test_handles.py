"""Directory handles that renames remember: bounded, and never trusted for too long."""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.local import LocalStore, handles
from tests.unit.stores.local.disk import JOB, descriptors, names, write
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import rename, rename_directory, run

if TYPE_CHECKING:
    from pathlib import Path


def test_a_directory_made_again_is_found(store: LocalStore, root: Path) -> None:
    for turn in range(3):
        for name in "abc":
            write(root / f"work/{name}")
            rename(store, f"work/{name}", f"d/{name}")
        assert names(root / "d") == ["a", "b", "c"], turn
        shutil.rmtree(root / "d")
        shutil.rmtree(root / "work")


@pytest.mark.parametrize("moved", ["d", "d/e"])
def test_a_directory_moved_away_gets_nothing_more(
    store: LocalStore,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    moved: str,
) -> None:
    monkeypatch.setattr(handles, "TRUSTED_NS", -1)
    for name in "abcxy":
        write(root / "work" / name)
    for name in "axy":  # the first makes the directory, the others open and use a handle
        rename(store, f"work/{name}", f"d/e/{name}")
    assert f"{store.root}/d/e" in store.files._handles._held
    (root / moved).rename(tmp_path / "backup")
    rename(store, "work/b", "d/e/b")
    assert names(root / "d/e") == ["b"]
    # And not through a link to where it has gone, either.
    (root / moved).rename(tmp_path / "again")
    (root / moved).symlink_to(tmp_path / "again")
    with refused(root / moved, "symbolic link"):
        rename(store, "work/c", "d/e/c")
    assert names(root / "work") == ["c"]


def test_nothing_reaches_an_area_that_was_renamed_away(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handles, "TRUSTED_NS", 1 << 60)
    write(root / JOB / "committed/0/a/x.pending")
    write(root / JOB / "committed/0/a/y.pending")
    write(root / "older")
    rename(store, f"{JOB}/committed/0/a/x.pending", "x")
    for name in ("old0", "old1", "old2"):
        write(root / name)
        rename(store, name, f"{JOB}/trash/{name}", within=JOB)
    (root / JOB).rename(root / "_commit/gone-1")
    with refused(JOB, "missing"):
        rename(store, "older", f"{JOB}/trash/older", within=JOB)
    assert names(root / "_commit/gone-1/trash") == ["old0", "old1", "old2"]
    # The other driver had published all of it before, so a source is not there any more.
    (root / "_commit/gone-1/committed/0/a/y.pending").rename(root / "y")
    with refused("source does not exist"):
        rename(store, f"{JOB}/committed/0/a/y.pending", "y2")
    assert names(root) == ["_commit", "older", "x", "y"]


def test_a_new_directory_in_one_that_was_moved_away_is_not_opened_there(
    store: LocalStore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory is opened in the one above it, which is remembered: that is looked at again."""
    for name in "abc":
        write(root / "work" / name)
    rename(store, "work/a", "d/e/a")
    rename(store, "work/b", "d/e/b")
    assert f"{store.root}/d" in store.files._handles._held
    (root / "d").rename(tmp_path / "backup")
    (tmp_path / "backup/f").mkdir()
    monkeypatch.setattr(handles, "TRUSTED_NS", -1)
    rename(store, "work/c", "d/f/c")
    assert names(root / "d/f") == ["c"]
    assert names(tmp_path / "backup/f") == []


def test_what_is_opened_in_a_directory_is_trusted_no_longer_than_that(
    store: LocalStore, root: Path, tmp_path: Path
) -> None:
    for name in "abc":
        write(root / "work" / name)
    rename(store, "work/a", "d/e/a")
    rename(store, "work/b", "d/e/b")
    above = store.files._handles._held[f"{store.root}/d"]
    below = store.files._handles._held[f"{store.root}/d/e"]
    assert below.looked_at_ns == above.looked_at_ns
    assert above.is_in_place()
    (root / "d").rename(tmp_path / "backup")
    above.looked_at_ns -= handles.TRUSTED_NS + 1
    assert not above.is_in_place()


def test_the_root_of_the_disk_is_remembered_under_its_own_name() -> None:
    store = run(LocalStore.open("/", OpenOptions()))
    handle, name = store.files._handles.parent_of(StorePath("/tmp"))
    assert (handle.path, name, handle.is_in_area) == (b"/", b"tmp", False)
    again, _ = store.files._handles.parent_of(StorePath("/usr"))
    assert again is handle
    run(store.close())


def test_our_own_directory_renames_are_known_at_once(store: LocalStore, root: Path) -> None:
    write(root / "tasks/0/a")
    write(root / "tasks/0/b")
    rename(store, "tasks/0/a", "a")
    rename_directory(store, "tasks", "committed")
    with refused("source does not exist"):
        rename(store, "tasks/0/b", "b")
    rename(store, "committed/0/b", "b")
    run(store.delete_tree(StorePath(f"{root}/committed")))
    write(root / "committed/0/c")
    rename(store, "committed/0/c", "c")
    assert names(root) == ["a", "b", "c", "committed"]


def test_handles_are_bounded(store: LocalStore, root: Path) -> None:
    before = descriptors()
    for number in range(3 * handles.CAPACITY):
        write(root / f"work/{number}/a")
        rename(store, f"work/{number}/a", f"d{number % 200}/{number}")
        assert descriptors() <= before + handles.CAPACITY
    run(store.close())
    assert descriptors() == before


def test_without_proc_no_handle_is_trusted(
    store: LocalStore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_proc(path: bytes) -> bytes:
        raise FileNotFoundError(errno.ENOENT, "no /proc here", path)

    monkeypatch.setattr(handles, "TRUSTED_NS", -1)
    monkeypatch.setattr(os, "readlink", no_proc)
    for name in "abxy":
        write(root / "work" / name)
    for name in "axy":
        rename(store, f"work/{name}", f"d/{name}")
    (root / "d").rename(tmp_path / "backup")
    rename(store, "work/b", "d/b")
    assert names(root / "d") == ["b"]
