"""Small local files put whole: exclusive, on condition, flushed before they are seen."""

from __future__ import annotations

import errno
import os
import random
import stat
from pathlib import Path

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import NEVER, IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, OpenOptions, Token
from fsspec_commit_stores.local import LocalStore, contents
from tests.unit.stores.local.disk import names
from tests.unit.stores.local.races import won_by_each
from tests.unit.stores.local.refusals import refused
from tests.unit.stores.local.verbs import put, run


@pytest.fixture(params=["unnamed", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``O_TMPFILE`` and without."""
    if request.param == "named":
        monkeypatch.setattr(contents, "_UNNAMED", 0)


def test_a_record_is_flushed_before_it_is_seen(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = StorePath(f"{root}/new/a")
    seen: list[tuple[str, bool]] = []
    fsync = os.fsync

    def flush(descriptor: int) -> None:
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        seen.append((kind, (root / "new/a").exists()))
        fsync(descriptor)

    root.mkdir()
    monkeypatch.setattr(os, "fsync", flush)
    put(store, path, within=store.root)
    made = ("directory", False)
    assert seen == [made, ("file", False), ("directory", True)]
    seen.clear()
    put(store, path, b"2", expecting=Expect.ANYTHING)
    assert seen == [("file", True), ("directory", True)]


def test_a_directory_that_somebody_else_has_just_made_is_flushed(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who made it may not have come to that yet: the record's name would be gone with its own."""
    mkdir, fsync = os.mkdir, os.fsync
    seen: list[str] = []

    def made_meanwhile(name: bytes, *, dir_fd: int | None = None) -> None:
        mkdir(name, dir_fd=dir_fd)
        raise FileExistsError(errno.EEXIST, "made meanwhile", name)

    def flush(descriptor: int) -> None:
        seen.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "mkdir", made_meanwhile)
    monkeypatch.setattr(os, "fsync", flush)
    put(store, StorePath(f"{root}/new/a"), within=None)
    assert seen[:2] == [f"{root.parent}", f"{root}"]


def test_nothing_is_written_to_what_has_the_hidden_name(
    store: LocalStore, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A nonce is in it, so nobody knows it before; and if he did, it is created exclusively."""
    (tmp_path / "theirs").write_bytes(b"theirs")
    root.mkdir()
    monkeypatch.setattr(contents, "_UNNAMED", 0)
    for taking in (os.symlink, os.link):
        known = IdSource(random.Random(1), lambda: NEVER)
        hidden = root / f".{known.nonce()}.tmp"
        taking(tmp_path / "theirs", hidden)
        monkeypatch.setattr(contents, "SYSTEM_IDS", IdSource(random.Random(1), lambda: NEVER))
        with pytest.raises(StoreError) as caught:
            put(store, StorePath(f"{root}/a"))
        assert caught.value.errno == errno.EEXIST
        assert (tmp_path / "theirs").read_bytes() == b"theirs"
        assert names(root) == [hidden.name]
        hidden.unlink()


@pytest.mark.usefixtures("way")
def test_the_first_put_stands(store: LocalStore, root: Path) -> None:
    path = StorePath(f"{root}/a")
    token = put(store, path, b"first")
    with refused(path, code=errno.EEXIST):
        put(store, path, b"second")
    entry = run(store.stat(path))
    assert entry == Entry(path=path, size_bytes=5, token=token)
    assert names(root) == ["a"]
    assert stat.S_IMODE((root / "a").stat().st_mode) == 0o666 & ~current_umask()


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.usefixtures("way")
def test_a_full_disk_refuses_and_nothing_is_left(small_disk: Path) -> None:
    store = run(LocalStore.open(str(small_disk), OpenOptions()))
    path = StorePath(f"{small_disk}/a")
    for expecting in (Expect.ABSENT, Expect.ANYTHING):
        with refused(path, "No space left", code=errno.ENOSPC):
            put(store, path, b"x" * 1_000_000, expecting, store.root)
        assert names(small_disk) == []
    token = put(store, path, b"fits", within=store.root)
    with refused(code=errno.ENOSPC):
        put(store, path, b"x" * 1_000_000, token, store.root)
    assert Path(path).read_bytes() == b"fits"


def test_a_name_that_may_not_survive_is_unknown(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def failing(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    root.mkdir()
    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(StoreError) as caught:
        put(store, StorePath(f"{root}/a"), within=store.root)
    assert caught.value.reply is Reply.UNKNOWN
    assert (root / "a").exists()


def test_a_token_is_looked_at_before_a_put(store: LocalStore, root: Path) -> None:
    path = StorePath(f"{root}/a")
    with refused("gone", code=errno.ENOENT):
        put(store, path, b"1", Token("1-1-1"))
    first = put(store, path, b"1")
    second = put(store, path, b"2", first)
    assert first != second
    with refused("not the content"):
        put(store, path, b"3", first)
    assert Path(path).read_bytes() == b"2"


def test_a_missing_within_is_named(store: LocalStore, root: Path) -> None:
    put(store, StorePath(f"{root}/a"))
    area = StorePath(f"{root}/_commit/job")
    with refused(f"{root}/_commit", "missing", code=errno.ENOENT):
        put(store, StorePath(f"{area}/claim"), within=area)
    with refused(f"{root}/a", "in the way", code=errno.ENOTDIR):
        put(store, StorePath(f"{root}/a/b/c"), within=store.root)
    assert names(root) == ["a"]


@pytest.mark.usefixtures("way")
def test_of_two_processes_one_puts(root: Path) -> None:
    def put_own(store: LocalStore, number: int, turn: int) -> None:
        put(store, StorePath(f"{root}/{turn}"), b"%d" % number, within=store.root)

    root.mkdir()
    wins = won_by_each(root, put_own, rounds=200)
    for number, turns in wins.items():
        assert {(root / str(turn)).read_bytes() for turn in turns} <= {b"%d" % number}
    assert len(names(root)) == 200
