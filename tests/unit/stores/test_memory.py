"""The memory store beside plain fsspec: one filesystem, seen and changed by both."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from fsspec_commit.errors import Reply, RequestError, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry, Expect, OpenOptions, Store
from fsspec_commit_stores.memory import MemoryStore, tree

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator

    from fsspec_commit.store import Token

plain: Any = fsspec.filesystem("memory")


def run(call: Coroutine[Any, Any, Any]) -> Any:
    with asyncio.Runner() as runner:
        return runner.run(call)


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    top = f"memory-{uuid4().hex}"
    yield run(MemoryStore.open(f"memory://{top}/out", OpenOptions()))
    if plain.exists(f"/{top}"):
        plain.rm(f"/{top}", recursive=True)


def at(store: Store, name: str) -> StorePath:
    return StorePath(f"{store.root}/{name}")


def put(store: Store, name: str, data: bytes = b"1") -> Token:
    token: Token = run(store.put(at(store, name), data, expecting=Expect.ANYTHING, within=None))
    return token


def token_of(store: Store, name: str) -> Token:
    found = run(store.stat(at(store, name)))
    assert isinstance(found, Entry)
    return found.token


@pytest.mark.parametrize(
    ("url", "root"),
    [
        ("memory://a", "/a"),
        ("memory://a/b/", "/a/b"),
        ("memory:///a/b", "/a/b"),
        ("memory://", ""),
        ("memory://a b/100%/#x?y=[1]*", "/a b/100%/#x?y=[1]*"),
    ],
)
def test_a_url_names_what_fsspec_says(url: str, root: str) -> None:
    assert run(MemoryStore.open(url, OpenOptions())).root == root
    assert MemoryFileSystem._strip_protocol(url) == root


@pytest.mark.parametrize("url", ["memory://a//b", "memory://a/../b", "memory://./a"])
def test_a_url_with_a_component_that_names_nothing_is_refused(url: str) -> None:
    with pytest.raises(RequestError) as caught:
        run(MemoryStore.open(url, OpenOptions()))
    assert caught.value.kind == "invalid_url"


def test_a_filesystem_of_ones_own_is_refused() -> None:
    with pytest.raises(RequestError) as caught:
        run(MemoryStore.open("memory://a", OpenOptions(storage_options={"global_store": False})))
    assert caught.value.kind == "invalid_option"


def test_opening_makes_nothing(store: MemoryStore) -> None:
    assert not plain.exists(store.root)


def test_the_whole_memory_is_a_destination() -> None:
    store = run(MemoryStore.open("memory://", OpenOptions()))
    name = uuid4().hex
    put(store, f"{name}/a")
    assert plain.cat(f"/{name}/a") == b"1"
    assert run(store.stat(StorePath(""))) == Directory(StorePath(""))
    run(store.delete_tree(at(store, name)))
    assert not plain.exists(f"/{name}")
    assert "" in MemoryFileSystem.pseudo_dirs


def test_plain_fsspec_sees_directories(store: MemoryStore) -> None:
    put(store, "d/e/a")
    assert plain.isdir(at(store, "d/e"))
    assert plain.ls(at(store, "d"), detail=False) == [at(store, "d/e")]
    run(store.delete(at(store, "d/e/a"), expecting=Expect.ANYTHING))
    assert plain.isdir(at(store, "d/e")), "as on a disk, a directory outlives its last file"
    plain.rm(store.root, recursive=True)
    assert run(store.stat(store.root)) is None


def test_a_directory_that_only_files_imply_exists(store: MemoryStore) -> None:
    plain.pipe_file(at(store, "day=1/a"), b"1")
    assert at(store, "day=1") not in MemoryFileSystem.pseudo_dirs
    assert run(store.stat(at(store, "day=1"))) == Directory(at(store, "day=1"))
    put_within = store.put(
        at(store, "day=1/x/b"), b"2", expecting=Expect.ABSENT, within=at(store, "day=1")
    )
    run(put_within)
    assert store.directories is not None
    run(
        store.directories.rename_directory(
            at(store, "day=1"), at(store, "day=2"), within=store.root
        )
    )
    assert sorted(plain.find(store.root)) == [at(store, "day=2/a"), at(store, "day=2/x/b")]


@pytest.mark.parametrize("how", ["plain", "adapter"])
def test_an_area_that_was_removed_takes_no_record(store: MemoryStore, how: str) -> None:
    put(store, "_commit/job/job.json")
    put(store, "_commit/job/tasks/0/a/x")
    area = at(store, "_commit/job")
    if how == "plain":
        plain.rm(area, recursive=True)
    else:
        run(store.delete_tree(area))
    with pytest.raises(StoreError, match="is gone") as caught:
        run(store.put(at(store, "_commit/job/r"), b"", expecting=Expect.ABSENT, within=area))
    assert caught.value.reply is Reply.REFUSED
    assert not plain.exists(area)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: plain.pipe_file(path, b"same"),
        lambda path: plain.pipe_file(path, b"other length"),
        lambda path: plain.open(path, "ab").write(b"more"),
        lambda path: plain.open(path, "r+b").truncate(1),
        lambda path: (plain.rm(path), plain.pipe_file(path, b"same")),
        lambda path: (plain.cp_file(path, path + ".copy"), plain.mv(path + ".copy", path)),
    ],
    ids=["same", "other", "append", "truncate", "recreate", "copy"],
)
def test_a_token_changes_with_the_file(store: MemoryStore, change: Any) -> None:
    before = put(store, "a", b"same")
    assert token_of(store, "a") == before
    change(at(store, "a"))
    assert token_of(store, "a") != before


def test_a_token_is_kept_by_reading_and_renaming(store: MemoryStore) -> None:
    before = put(store, "a", b"data")
    with plain.open(at(store, "a")) as file:
        assert file.read() == b"data"
    assert plain.cat(at(store, "a")) == b"data"
    assert store.files is not None
    rename = store.files.rename(
        at(store, "a"),
        at(store, "d/b"),
        token=before,
        expecting=Expect.ABSENT,
        within=store.root,
    )
    run(rename)
    assert token_of(store, "d/b") == before
    assert plain.store[at(store, "d/b")].path == at(store, "d/b")


def test_a_rename_of_other_content_than_was_seen_is_refused(store: MemoryStore) -> None:
    seen = put(store, "a", b"seen")
    plain.pipe_file(at(store, "a"), b"other")
    assert store.files is not None
    with pytest.raises(StoreError) as caught:
        run(
            store.files.rename(
                at(store, "a"),
                at(store, "b"),
                token=seen,
                expecting=Expect.ABSENT,
                within=store.root,
            )
        )
    assert caught.value.reply is Reply.REFUSED
    assert plain.cat(at(store, "a")) == b"other"


def test_a_rename_onto_itself_loses_nothing(store: MemoryStore) -> None:
    token = put(store, "a", b"data")
    assert store.files is not None
    run(
        store.files.rename(
            at(store, "a"),
            at(store, "a"),
            token=token,
            expecting=token,
            within=store.root,
        )
    )
    assert plain.cat(at(store, "a")) == b"data"


def test_what_is_put_is_not_the_callers_buffer(store: MemoryStore) -> None:
    buffer = bytearray(b"data")
    run(store.put(at(store, "a"), buffer, expecting=Expect.ABSENT, within=None))  # type: ignore[arg-type]  # what is tried
    buffer[:] = b"XXXX"
    assert plain.cat(at(store, "a")) == b"data"
    content = run(store.read(at(store, "a"), limit_bytes=10))
    plain.open(at(store, "a"), "r+b").write(b"YYYY")
    assert content.data == b"data"


def test_a_file_that_is_finished_can_be_read_from_its_beginning(store: MemoryStore) -> None:
    put(store, "area/spec")
    assert store.direct is not None
    writer = store.direct.writer(at(store, "area/a"), within=at(store, "area"))
    writer.write(b"data")
    writer.finish()
    assert plain.store[at(store, "area/a")].read() == b"data"
    for call in (writer.finish, lambda: writer.write(b"more")):
        with pytest.raises(ValueError, match="closed file"):
            call()


def test_a_writer_finishes_nothing_in_an_area_that_went_meanwhile(store: MemoryStore) -> None:
    put(store, "area/spec")
    assert store.direct is not None
    writer = store.direct.writer(at(store, "area/d/a"), within=at(store, "area"))
    writer.write(b"data")
    run(store.delete_tree(at(store, "area")))
    with pytest.raises(StoreError, match="is gone"):
        writer.finish()
    writer.discard()
    assert not plain.exists(at(store, "area"))


def test_deleting_is_for_files_and_trees_for_directories(store: MemoryStore) -> None:
    put(store, "d/a")
    with pytest.raises(StoreError, match="is a directory"):
        run(store.delete(at(store, "d"), expecting=Expect.ANYTHING))
    with pytest.raises(StoreError, match="is a file"):
        run(store.delete_tree(at(store, "d/a")))
    with pytest.raises(StoreError, match="exists"):
        run(store.delete(at(store, "d/a"), expecting=Expect.ABSENT))
    assert plain.cat(at(store, "d/a")) == b"1"


def test_others_may_write_whenever_python_collects_garbage(store: MemoryStore) -> None:
    """Finalizers let other threads run: in Python 3.11 in the midst of a call in C, too."""
    for number in range(10):
        put(store, f"d/{number}")

    more = iter(range(1000))

    def write_one_more(phase: str, _: object) -> None:
        if phase == "start" and (number := next(more, None)) is not None:
            plain.store[at(store, f"d/more-{number}")] = plain.store[at(store, "d/0")]

    thresholds = gc.get_threshold()
    gc.callbacks.append(write_one_more)
    gc.set_threshold(1)
    try:
        for _ in range(10):
            assert run(_names(store)) >= {at(store, f"d/{number}") for number in range(10)}
            assert isinstance(run(store.stat(at(store, "d"))), Directory)
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(write_one_more)
    assert next(more, 1000) > 0, "nothing was collected meanwhile"


async def _names(store: MemoryStore) -> set[StorePath]:
    return {entry.path async for entry in store.list_tree(at(store, "d"))}


def test_what_another_removed_first_is_gone(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that use fsspec take no lock: they remove what is just being looked at."""

    def removed_meanwhile(look: Any) -> Any:
        def looking(path: str, *how: Any) -> list[Any]:
            found = list(look(path, *how))
            if plain.exists(path):
                plain.rm(path, recursive=True)
            return found

        return looking

    put(store, "d/e/a")
    put(store, "d/b")
    with monkeypatch.context() as patched:
        patched.setattr(tree, "below", removed_meanwhile(tree.below))
        run(store.delete_tree(at(store, "d")))
    assert run(store.stat(at(store, "d"))) is None
    put(store, "d/e/a")
    with monkeypatch.context() as patched:
        patched.setattr(tree, "directories_at", removed_meanwhile(tree.directories_at))
        run(store.delete_tree(at(store, "d")))
    assert run(store.stat(at(store, "d"))) is None
