"""A wrapped store: every call is carried, and nothing else is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec
import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit.testing import FaultyStore, RecordingStore
from fsspec_commit.testing.simulation.families import capabilities_of
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from fsspec_commit.testing.wrapped import VERBS, WrappedStore
from tests.flat.bucket import GEN2, Bucket
from tests.flat.store import FlatStore
from tests.unit.testing.calls import at, create, run

if TYPE_CHECKING:
    from fsspec_commit_stores.memory import MemoryStore


def test_an_exclusive_put_is_a_create_and_any_other_a_put(memory: MemoryStore) -> None:
    store = RecordingStore(memory)

    async def body() -> None:
        await create(store, "a")
        token = await store.put(at(store, "a"), b"2", expecting=Expect.ANYTHING, within=None)
        await store.put(at(store, "a"), b"3", expecting=token, within=None)

    run(body())
    assert [call.verb for call in store.calls] == ["create", "put", "put"]


def test_every_call_of_a_store_is_one_that_can_fail() -> None:
    """All verbs but those of uploads, which this one has not."""
    root = StorePath("b/out")
    store = RecordingStore(FlatStore(root, Bucket("b", GEN2), capabilities_of(GEN2)))
    assert store.files is not None
    assert store.directories is not None
    assert store.directory_creation is not None
    assert store.empty_directories is not None
    files, directories, making = store.files, store.directories, store.directory_creation
    removing = store.empty_directories

    async def body() -> None:
        await create(store, "area/a")
        token = await store.put(at(store, "area/a"), b"2", expecting=Expect.ANYTHING, within=None)
        await store.stat(at(store, "area/a"))
        await store.read(at(store, "area/a"), limit_bytes=10)
        await store.read_range(at(store, "area/a"), start=0, length=1)
        _ = [entry async for entry in store.list_tree(store.root)]
        _ = [child async for child in store.list_children(store.root)]
        await files.rename(
            at(store, "area/a"),
            at(store, "area/b"),
            token=token,
            expecting=Expect.ABSENT,
            within=at(store, "area"),
        )
        writer = store.writer(at(store, "area/c"), within=at(store, "area"))
        await writer.write(b"1")
        await writer.finish()
        await writer.discard()
        await making.make_directory(at(store, "area/d"), within=at(store, "area"))
        await directories.rename_directory(at(store, "area"), at(store, "gone"), within=store.root)
        await removing.remove_empty_directory(at(store, "gone/d"))
        await store.delete(at(store, "gone/b"), expecting=Expect.ANYTHING)
        await store.delete_tree(at(store, "gone"))

    run(body())
    of_uploads = {"start", "put_part", "complete", "abort", "pending", "stored_parts"}
    assert set(VERBS) - set(store.counts) == of_uploads
    assert set(store.counts.values()) == {1}


def test_no_byte_goes_past_the_faults(memory: MemoryStore) -> None:
    assert memory.direct is not None
    assert FaultyStore(memory, []).direct is None
    assert RecordingStore(memory).direct is memory.direct


def test_a_wrapper_opens_nothing() -> None:
    with pytest.raises(TypeError, match="wraps an opened store"):
        run(WrappedStore.open("memory://x", OpenOptions()))


class WrappedMemory(StoreContract):
    """A wrapper changes nothing that it is not asked to change."""

    @pytest.fixture
    def read_raw(self) -> ReadRaw:
        plain = fsspec.filesystem("memory")
        return lambda path: plain.cat_file(path) if plain.isfile(path) else None

    @pytest.fixture
    def write_raw(self) -> WriteRaw:
        write: WriteRaw = fsspec.filesystem("memory").pipe_file
        return write

    @pytest.fixture
    def open_again(self) -> OpenAgain | None:
        return None


class TestRecordingStore(WrappedMemory):
    @pytest.fixture
    def store(self, memory: MemoryStore) -> RecordingStore:
        return RecordingStore(memory)


class TestFaultyStoreWithoutFaults(WrappedMemory):
    @pytest.fixture
    def store(self, memory: MemoryStore) -> FaultyStore:
        return FaultyStore(memory, ())
