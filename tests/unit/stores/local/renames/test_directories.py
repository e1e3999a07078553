"""Renames of local directories: exclusive, and of directories only."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest

from tests.unit.stores.local.disk import JOB, names, write
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import rename_directory

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit_stores.local import LocalStore


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("standing", ["empty", "full", "file"])
def test_a_directory_rename_is_exclusive(store: LocalStore, root: Path, standing: str) -> None:
    write(root / "tasks/0/a")
    if standing == "file":
        write(root / "committed/0")
    else:
        (root / "committed/0").mkdir(parents=True)
        if standing == "full":
            write(root / "committed/0/b")
    with refused(f"{root}/committed/0", "exists", code=errno.EEXIST):
        rename_directory(store, "tasks/0", "committed/0")
    assert names(root / "tasks/0") == ["a"]
    rename_directory(store, "tasks/0", "committed/1")
    assert names(root / "committed/1") == ["a"]


@pytest.mark.usefixtures("way")
def test_what_is_no_directory_is_not_renamed_as_one(store: LocalStore, root: Path) -> None:
    write(root / "file")
    write(root / "d/a")
    with refused(f"{root}/file", code=errno.ENOTDIR):
        rename_directory(store, "file", "x")
    with refused("source does not exist", code=errno.ENOENT):
        rename_directory(store, "none", "x")
    with refused("source does not exist"):
        rename_directory(store, "file/none", "x")
    with refused(code=errno.EINVAL):
        rename_directory(store, "d", "d/e/f")
    with refused("missing"):
        rename_directory(store, "d", f"{JOB}/committed/d", within=JOB)
    with refused():
        rename_directory(store, "", "x")
    assert (root / "d/a").exists()
