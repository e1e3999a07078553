"""Tokens where a disk keeps whole seconds: the generation of the inode tells files apart."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect
from fsspec_commit_stores.local import tokens as local_tokens
from tests.unit.stores.local.disk import mounted_with_whole_seconds, write
from tests.unit.stores.local.verbs import collected, opened, put, rename, run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fsspec_commit_stores.local import LocalStore

ROUNDS = 20


@pytest.fixture
def coarse(tmp_path: Path) -> Iterator[Path]:
    with mounted_with_whole_seconds(tmp_path / "coarse") as place:
        yield place


def token(store: LocalStore, name: str = "a") -> str:
    found = run(store.stat(StorePath(f"{store.root}/{name}")))
    assert isinstance(found, Entry)
    return found.token


def test_a_disk_of_whole_seconds_is_known_as_one(coarse: Path, root: Path) -> None:
    assert opened(coarse).capabilities.unique_tokens is False
    assert opened(coarse / "not/there/yet").capabilities.unique_tokens is False
    assert opened(root).capabilities.unique_tokens is True


def test_so_is_one_where_no_time_has_a_fraction(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without such a disk: every time counts as one of whole seconds."""
    assert opened(root).capabilities.unique_tokens is True
    monkeypatch.setattr(local_tokens, "_SECOND_NS", 1)
    assert opened(root).capabilities.unique_tokens is False


def test_files_that_come_after_each_other_have_tokens_of_their_own(coarse: Path) -> None:
    """Whoever writes them: all of it happens within a second, and on few inodes."""
    store = opened(coarse)
    path = StorePath(f"{store.root}/a")
    tokens = set[str]()
    for number in range(ROUNDS):
        write(coarse / "a", b"%05d" % number)
        tokens.add(token(store))
        (coarse / "a").unlink()
        tokens.add(put(store, path, b"%05d" % number))
        run(store.delete(path, expecting=Expect.ANYTHING))
        writer = store.direct.writer(path, within=store.root)
        writer.write(b"%05d" % number)
        tokens.add(writer.finish().token)
        (coarse / "a").unlink()
    assert len(tokens) == 3 * ROUNDS


def test_it_is_one_token_wherever_a_file_is_looked_at(coarse: Path) -> None:
    store = opened(coarse)
    path = StorePath(f"{store.root}/a")
    first = put(store, path)
    content = run(store.read(path, limit_bytes=9))
    assert content is not None
    (child,) = [one for one in collected(store.list_tree(store.root)) if one.path == path]
    assert {content.entry.token, child.token, token(store)} == {first}
    rename(store, "a", "b")
    assert token(store, "b") == first
    assert put(store, StorePath(f"{store.root}/b"), b"2", expecting=first) != first


@pytest.mark.parametrize(("modified_ns", "parts"), [(10**9, 4), (10**9 + 1, 3)])
def test_only_about_a_whole_second_is_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch, modified_ns: int, parts: int
) -> None:
    """An open file more for each would be felt in a listing of a million."""
    asked: list[int] = []

    def generation(descriptor: int, *_: object) -> bytes:
        asked.append(descriptor)
        return struct.pack("@il", -1, 0)

    monkeypatch.setattr(fcntl, "ioctl", generation)
    os.utime(write(root / "a"), ns=(modified_ns, modified_ns))
    assert len(token(opened(root)).split("-")) == parts
    assert len(asked) == parts - 3


def test_a_disk_without_generations_is_no_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> bytes:
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))

    monkeypatch.setattr(fcntl, "ioctl", none)
    os.utime(write(root / "a"), ns=(10**9, 10**9))
    assert len(token(opened(root)).split("-")) == 3


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM, errno.EIO])
@pytest.mark.parametrize("call", ["open", "ioctl"])
def test_what_cannot_be_told_just_now_makes_no_other_token(
    root: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    """Listed without its generation, an old file was later taken for another, and stayed."""
    os.utime(write(root / "a"), ns=(10**9, 10**9))
    store = opened(root)
    really = os.open

    def failing(*args: Any, **how: Any) -> int:
        if call == "ioctl" or args[0] in {"a", b"a"}:
            raise OSError(number, os.strerror(number))
        return really(*args, **how)

    monkeypatch.setattr(fcntl if call == "ioctl" else os, call, failing)
    for ask in (lambda: token(store), lambda: collected(store.list_tree(store.root))):
        with pytest.raises(StoreError) as caught:
            ask()
        assert caught.value.errno == number
        assert caught.value.reply is not Reply.REFUSED
