"""What renames flush, and when, for each durability."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit_stores.local import renaming, system_calls
from tests.unit.stores.local.disk import JOB, write
from tests.unit.stores.local.verbs import opened, rename, rename_directory, run


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that were flushed, in order; the file system shows as ``*``."""
    seen: list[str] = []
    fsync, syncfs = os.fsync, system_calls.flush_file_system

    def flush(descriptor: int) -> None:
        seen.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def flush_all(descriptor: int) -> None:
        seen.append("*")
        syncfs(descriptor)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(renaming, "flush_file_system", flush_all)
    return seen


def test_none_flushes_no_data(root: Path, flushed: list[str]) -> None:
    store = opened(root)
    write(root / "work/a")
    write(root / f"{JOB}/_SUCCESS.pending")
    rename(store, "work/a", "d/a")
    rename_directory(store, "work", "w")
    rename(store, f"{JOB}/_SUCCESS.pending", "_SUCCESS")
    run(store.close())
    assert flushed == []


def test_marker_flushes_all_before_it_appears(root: Path, flushed: list[str]) -> None:
    store = opened(root, "marker")
    write(root / "work/a")
    write(root / f"{JOB}/_SUCCESS.pending")
    rename(store, "work/a", "d/a")
    rename_directory(store, "work", "w")
    assert flushed == []
    rename(store, f"{JOB}/_SUCCESS.pending", "_SUCCESS")
    assert flushed == ["*", "out"]
    run(store.close())


def test_full_flushes_names_before_the_next_record(root: Path, flushed: list[str]) -> None:
    store = opened(root, "full")
    write(root / "tasks/0/d/a")
    write(root / "tasks/0/b")
    write(root / "committed/0/y/x")
    rename_directory(store, "tasks/0", "committed/1")
    assert set(flushed) == {"0", "d", "a", "b", "committed", "tasks"}
    flushed.clear()
    rename(store, "committed/1/d/a", "p1/a")
    rename(store, "committed/1/b", "p1/b")
    rename(store, "committed/0/y/x", "p2/x")
    shutil.rmtree(root / "p2")
    assert flushed == []
    record = StorePath(f"{root}/published")
    run(store.put(record, b"", expecting=Expect.ANYTHING, within=store.root))
    assert flushed[0] == "p1"
    assert flushed[2:] == ["out"]
    flushed.clear()
    run(store.close())
    assert flushed == []
