"""Every verb: it stays inside the destination, follows no link, and never suspends."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Unusable
from tests.unit.stores.local.disk import names
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import collected, put, run

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit_stores.local import LocalStore


def test_a_link_is_refused_by_every_verb(store: LocalStore, root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_bytes(b"secret")
    root.mkdir()
    (root / "file").symlink_to(tmp_path / "outside/a")
    (root / "dir").symlink_to(tmp_path / "outside")
    (root / "dangling").symlink_to(tmp_path / "outside/new")
    for name in ("file", "dir/a", "dangling"):
        path = StorePath(f"{root}/{name}")
        link = f"{root}/{name.partition('/')[0]}"
        with refused(link, "symbolic link"):
            run(store.stat(path))
        with refused(link, "symbolic link"):
            run(store.read(path, limit_bytes=9))
        with refused(link, "symbolic link"):
            run(store.read_range(path, start=0, length=1))
        with refused(link, "symbolic link"):
            run(store.delete(path, expecting=Expect.ANYTHING))
        with refused(link, "symbolic link"):
            put(store, path, expecting=Expect.ANYTHING)
        with refused(link):
            put(store, path, expecting=Expect.ABSENT)
        with refused(link, "symbolic link"):
            store.direct.writer(path, within=store.root)
    with refused(root, "symbolic link"):
        collected(store.list_tree(store.root))
    for shown in collected(store.list_children(store.root)):
        assert isinstance(shown, Unusable)
        with refused(root, "symbolic link"):
            raise shown.refusal
    with refused(f"{root}/dir", "symbolic link"):
        collected(store.list_tree(StorePath(f"{root}/dir")))
    assert names(tmp_path / "outside") == ["a"]
    assert (tmp_path / "outside/a").read_bytes() == b"secret"


def test_special_files_are_refused_without_waiting(store: LocalStore, root: Path) -> None:
    root.mkdir()
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(root / "socket"))
    for name in ("pipe", "socket"):
        path = StorePath(f"{root}/{name}")
        for question in (
            store.stat(path),
            store.read(path, limit_bytes=1),
            store.read_range(path, start=0, length=1),
            store.delete(path, expecting=Expect.ANYTHING),
        ):
            with refused(path):
                run(question)
    with refused(root):
        collected(store.list_tree(store.root))


@pytest.mark.parametrize("name", ["../a", "a/../../b", "a//b", "./a", "a/.", "", "a/", "x\0y"])
def test_no_verb_leaves_the_destination(store: LocalStore, root: Path, name: str) -> None:
    (root / "a").mkdir(parents=True)
    (root / "x").write_bytes(b"1")
    path = StorePath(f"{root}/{name}")
    with refused():
        put(store, path, expecting=Expect.ANYTHING)
    with refused():
        store.direct.writer(path, within=store.root)
    with refused():
        run(
            store.files.rename(path, path, token=None, expecting=Expect.ANYTHING, within=store.root)
        )
    with refused():
        run(store.delete_tree(path))
    assert names(root) == ["a", "x"]


def test_paths_elsewhere_are_refused(store: LocalStore, root: Path, tmp_path: Path) -> None:
    for path in (f"{root}2/a", f"{tmp_path}/a", "/etc/passwd", "a"):
        with refused():
            run(store.stat(StorePath(path)))
        with refused():
            put(store, StorePath(path))
    (root / "a").mkdir(parents=True)
    (root / "b").mkdir()
    with refused():
        put(store, StorePath(f"{root}/a/x"), within=StorePath(f"{root}/b"))
    with refused():
        run(store.delete_tree(store.root))


def test_verbs_never_suspend(store: LocalStore, root: Path) -> None:
    path = StorePath(f"{root}/d/a")
    for verb in (
        store.put(path, b"1", expecting=Expect.ABSENT, within=None),
        store.stat(path),
        store.read(path, limit_bytes=9),
        store.files.rename(
            path, StorePath(f"{root}/b"), token=None, expecting=Expect.ABSENT, within=store.root
        ),
        store.directories.rename_directory(
            StorePath(f"{root}/d"), StorePath(f"{root}/e"), within=store.root
        ),
        store.delete(StorePath(f"{root}/b"), expecting=Expect.ANYTHING),
        store.delete_tree(StorePath(f"{root}/e")),
    ):
        with pytest.raises(StopIteration):
            verb.send(None)
    assert names(root) == []
