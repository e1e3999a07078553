"""Where a local destination is opened."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import RequestError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import OpenOptions
from fsspec_commit_stores.local import LocalStore
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import put, run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("form", ["{}", "file://{}", "local://{}", "file:{}", "{}/", "{}/x/.."])
def test_a_url_and_a_path_name_the_same(root: Path, form: str) -> None:
    (root / "x").mkdir(parents=True)
    assert run(LocalStore.open(form.format(root), OpenOptions())).root == str(root)


def test_localhost_is_this_machine(root: Path) -> None:
    assert run(LocalStore.open(f"file://localhost{root}", OpenOptions())).root == str(root)


def test_relative_paths_are_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for url in ("a b%20c", "./a b%20c", "file://a b%20c", "~/a b%20c"):
        assert run(LocalStore.open(url, OpenOptions())).root == f"{tmp_path}/a b%20c"


def test_links_above_the_destination_are_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    store = run(LocalStore.open(f"{tmp_path}/link/not/yet", OpenOptions()))
    assert store.root == f"{tmp_path}/real/not/yet"
    put(store, StorePath(f"{store.root}/a"))
    assert (tmp_path / "real/not/yet/a").read_bytes() == b"1"


def test_opening_makes_nothing(root: Path, store: LocalStore) -> None:
    assert not root.exists()
    assert run(store.stat(store.root)) is None


def test_a_file_is_no_destination(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"")
    with refused(tmp_path / "f", code=errno.ENOTDIR):
        run(LocalStore.open(f"{tmp_path}/f", OpenOptions()))


@pytest.mark.parametrize("url", ["", "file://", "/a\0b", "/\udcff"])
def test_a_url_that_names_nothing_is_refused(url: str) -> None:
    with pytest.raises(RequestError):
        run(LocalStore.open(url, OpenOptions()))


def test_windows_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        with pytest.raises(RequestError, match="Linux and macOS") as caught:
            run(LocalStore.open("file:///tmp/x", OpenOptions()))
    assert caught.value.kind == "unsupported_platform"
