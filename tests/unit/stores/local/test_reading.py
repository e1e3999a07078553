"""What a local store reads: a directory, and a file that somebody else is writing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory
from tests.unit.stores.local.verbs import put, run

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit_stores.local import LocalStore


def test_the_root_is_a_directory(store: LocalStore, root: Path) -> None:
    root.mkdir()
    assert run(store.stat(store.root)) == Directory(store.root)


def test_a_file_that_grows_while_it_is_read_is_asked_for_again(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = StorePath(f"{root}/a")
    put(store, path, b"123")
    fstat = os.fstat

    def and_then_grow(descriptor: int) -> os.stat_result:
        status = fstat(descriptor)
        with (root / "a").open("ab") as file:
            file.write(b"4")
        return status

    with monkeypatch.context() as patched:
        patched.setattr(os, "fstat", and_then_grow)
        with pytest.raises(StoreError) as caught:
            run(store.read(path, limit_bytes=100))
    assert caught.value.reply is Reply.NOT_DONE
