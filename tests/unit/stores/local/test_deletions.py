"""Local files and trees that are deleted, and what links point to, which is not."""

from __future__ import annotations

import errno
import multiprocessing
import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit_stores.local import LocalStore
from tests.unit.stores.local.disk import names
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import put, run

if TYPE_CHECKING:
    import pytest


def test_no_disk_deletes_on_a_condition(store: LocalStore, root: Path) -> None:
    token = put(store, StorePath(f"{root}/a"))
    for expecting in (token, Expect.ABSENT):
        with refused("condition"):
            run(store.delete(StorePath(f"{root}/a"), expecting=expecting))
    assert (root / "a").exists()


def test_a_tree_goes_and_what_its_links_point_to_stays(
    store: LocalStore, root: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/a").write_bytes(b"")
    put(store, StorePath(f"{root}/t/d/e/b"))
    (root / "t/d/link").symlink_to(tmp_path / "outside")
    (root / "t/dangling").symlink_to("nowhere")
    (root / "t/caf\udce9").write_bytes(b"")
    os.mkfifo(root / "t/pipe")
    (root / "l").symlink_to(tmp_path / "outside")
    os.mkfifo(root / "p")
    for name in ("t", "l", "p"):
        run(store.delete_tree(StorePath(f"{root}/{name}")))
    assert names(root) == []
    assert names(tmp_path / "outside") == ["a"]


def test_a_tree_deeper_than_python_calls_goes_with_few_handles(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's directories in one another: it was in doubt for ever, with `RecursionError`."""
    depth, limits = 1500, resource.getrlimit(resource.RLIMIT_NOFILE)
    root.mkdir()
    with monkeypatch.context() as patch:
        patch.chdir(root)
        os.mkdir("t")  # noqa: PTH102  # as deep as the working directory is
        os.chdir("t")
        for level in range(depth):
            if level % 100 == 0:
                Path("file").touch()
            os.mkdir("directory")  # noqa: PTH102
            os.chdir("directory")
    few = max(int(handle.name) for handle in Path("/dev/fd").iterdir()) + 100
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, limits[1]))
    try:
        run(store.delete_tree(StorePath(f"{root}/t")))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert names(root) == []


def test_an_empty_directory_far_down_is_not_renamed(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be another's: whoever may write above it can remove it, and cannot move it."""
    (root / "t" / Path(*"d" * 32)).mkdir(parents=True)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "not yours")

    monkeypatch.setattr(os, "rename", refuse)
    run(store.delete_tree(StorePath(f"{root}/t")))
    assert names(root) == []


def test_a_file_is_no_tree(store: LocalStore, root: Path) -> None:
    put(store, StorePath(f"{root}/a"))
    with refused(f"{root}/a", code=errno.ENOTDIR):
        run(store.delete_tree(StorePath(f"{root}/a")))


def deleter(root: str, start: Any) -> None:
    store = run(LocalStore.open(root, OpenOptions()))
    start.wait()
    run(store.delete_tree(StorePath(f"{root}/t")))
    assert run(store.stat(StorePath(f"{root}/t"))) is None


def test_two_processes_delete_one_tree(root: Path) -> None:
    fork = multiprocessing.get_context("fork")
    for _ in range(5):
        for number in range(40):
            place = root / f"t/{number % 7}/{number}"
            place.mkdir(parents=True)
            for name in "abcdefgh":
                (place / name).write_bytes(b"")
        start = fork.Barrier(2)
        deleters = [fork.Process(target=deleter, args=(str(root), start)) for _ in range(2)]
        for process in deleters:
            process.start()
        for process in deleters:
            process.join()
            assert process.exitcode == 0
