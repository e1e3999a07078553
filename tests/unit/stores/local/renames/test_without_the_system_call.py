"""Exclusive renames where the kernel or the file system has none."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit_stores.local import LocalStore, system_calls
from tests.unit.stores.local.disk import names, write
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import rename, rename_directory

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_system_without_the_flag(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bytes] = []

    def unsupported(source: int, name: bytes, target: int, new: bytes, flags: int) -> int:
        asked.append(name)
        ctypes.set_errno(errno.EINVAL)
        return -1

    monkeypatch.setattr(system_calls, "_rename_at_2", unsupported)
    write(root / "work/a")
    write(root / "work/b", b"2")
    rename(store, "work/a", "a")
    with refused("exists"):
        rename(store, "work/b", "a")
    rename_directory(store, "work", "done")
    assert asked == [b"a", b"b", b"work"]
    assert names(root) == ["a", "done"]
    assert (root / "a").read_bytes() == b"1"


def test_a_rename_that_was_cut_in_two_goes_on(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(system_calls, "_rename_at_2", None)
    write(root / "work/a")
    (root / "a").hardlink_to(root / "work/a")
    rename(store, "work/a", "a")
    assert names(root / "work") == []
    assert (root / "a").read_bytes() == b"1"


def test_half_a_rename_is_unknown(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(name: bytes, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), name)

    write(root / "work/a")
    with monkeypatch.context() as patched:
        patched.setattr(system_calls, "_rename_at_2", None)
        patched.setattr(os, "unlink", read_only)
        with pytest.raises(StoreError) as caught:
            rename(store, "work/a", "a")
    assert caught.value.reply is Reply.UNKNOWN
