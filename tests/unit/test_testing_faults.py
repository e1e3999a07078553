"""The faults do what they say: that is what every crash and lost reply in the tests rests on."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fsspec
import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, OpenOptions
from fsspec_commit.store.registry import open_store
from fsspec_commit.testing import Crash, Fault, FaultyStore, RecordingStore, crash_points, inject
from fsspec_commit.testing.faults import RETRY_AFTER_S, TIMEOUT_S, FaultPlan
from fsspec_commit.testing.recording import recorded_calls
from fsspec_commit.testing.store_contract import OpenAgain, ReadRaw, StoreContract, WriteRaw
from fsspec_commit.testing.wrapped import VERBS, WrappedStore
from fsspec_commit_stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator

    from fsspec_commit.store import Store
    from fsspec_commit.testing.faults import Kind


def run(body: Coroutine[Any, Any, object]) -> None:
    with asyncio.Runner() as runner:
        runner.run(body)


def at(store: Store, name: str) -> StorePath:
    return StorePath(f"{store.root}/{name}")


async def create(store: Store, name: str, data: bytes = b"1") -> None:
    await store.put(at(store, name), data, expecting=Expect.ABSENT, within=None)


@pytest.fixture
def url() -> Iterator[str]:
    top = f"faults-{uuid4().hex}"
    yield f"memory://{top}/out"
    plain = fsspec.filesystem("memory")
    if plain.exists(f"/{top}"):
        plain.rm(f"/{top}", recursive=True)


@pytest.fixture
def memory(url: str) -> MemoryStore:
    with asyncio.Runner() as runner:
        return runner.run(MemoryStore.open(url, OpenOptions()))


def names(store: MemoryStore) -> list[str]:
    found: list[str] = fsspec.filesystem("memory").find(store.root)
    return [name[len(store.root) + 1 :] for name in found]


@pytest.mark.parametrize(
    ("kind", "reply", "applied"),
    [
        ("error", Reply.NOT_DONE, False),
        ("throttled", Reply.NOT_DONE, False),
        ("error_but_applied", Reply.UNKNOWN, True),
        ("hang", Reply.UNKNOWN, False),
    ],
)
def test_a_fault_replies_and_applies_as_it_says(
    memory: MemoryStore, kind: Kind, reply: Reply, applied: bool
) -> None:
    fault = Fault("create", 2, kind)
    store = FaultyStore(memory, [fault])

    async def body() -> None:
        await create(store, "first")
        with pytest.raises(StoreError) as caught:
            await create(store, "second")
        assert caught.value.reply is reply
        assert caught.value.retry_after_s == (RETRY_AFTER_S if kind == "throttled" else None)
        await create(store, "third")

    run(body())
    assert names(memory) == sorted({"first", "third", *(["second"] if applied else [])})
    assert store.plan.fired == [fault]


def test_a_late_change_comes_after_the_next_answer(memory: MemoryStore) -> None:
    store = FaultyStore(memory, [Fault("create", 1, "applied_late")])

    async def body() -> None:
        with pytest.raises(StoreError) as caught:
            await create(store, "late")
        assert caught.value.reply is Reply.UNKNOWN
        assert await store.stat(at(store, "late")) is None, "whoever looks at once sees nothing"
        assert await store.stat(at(store, "late")) is not None

    run(body())


def test_a_late_change_comes_at_the_latest_when_the_store_is_closed(memory: MemoryStore) -> None:
    store = FaultyStore(memory, [Fault("create", 1, "applied_late")])

    async def body() -> None:
        with pytest.raises(StoreError):
            await create(store, "late")
        await store.close()

    run(body())
    assert names(memory) == ["late"]


def test_a_change_can_be_as_late_as_one_likes(memory: MemoryStore) -> None:
    plan = FaultPlan([Fault("create", 1, "applied_late")], late_by=3)
    store = FaultyStore(memory, plan)

    async def body() -> None:
        with pytest.raises(StoreError):
            await create(store, "late")
        for _ in range(3):
            assert await store.stat(at(store, "late")) is None
        assert await store.stat(at(store, "late")) is not None

    run(body())


def test_a_late_change_that_is_refused_is_nobodys_error(memory: MemoryStore) -> None:
    store = FaultyStore(memory, [Fault("create", 1, "applied_late")])

    async def body() -> None:
        with pytest.raises(StoreError):
            await create(store, "record", b"late")
        await create(store, "record", b"again")

    run(body())
    assert fsspec.filesystem("memory").cat_file(at(memory, "record")) == b"again"


@pytest.mark.parametrize(("kind", "applied"), [("crash_before", False), ("crash_after", True)])
def test_a_dead_process_reaches_the_store_no_more(
    memory: MemoryStore, kind: Kind, applied: bool
) -> None:
    store = FaultyStore(memory, [Fault("create", 1, kind)])

    async def body() -> None:
        writer = store.writer(at(store, "file"), within=StorePath(""))
        with pytest.raises(Crash):
            await create(store, "record")
        for call in (
            writer.write(b"1"),
            writer.finish(),
            writer.discard(),
            create(store, "other"),
            store.delete_tree(store.root),
        ):
            with pytest.raises(Crash):
                await call
        await store.close()

    run(body())
    assert names(memory) == (["record"] if applied else [])


def test_no_handler_of_exceptions_survives_a_crash() -> None:
    assert not issubclass(Crash, Exception)


def test_a_hang_ends_with_the_callers_timeout(memory: MemoryStore) -> None:
    store = FaultyStore(memory, [Fault("stat", 1, "hang")])

    async def body() -> None:
        began = time.monotonic()
        with pytest.raises(StoreError) as caught:
            await store.stat(store.root)
        assert caught.value.reply is Reply.UNKNOWN
        assert time.monotonic() - began >= TIMEOUT_S * 0.9

    run(body())


def test_a_call_that_is_repeated_counts_again(memory: MemoryStore) -> None:
    faults = [Fault("create", nth, "throttled") for nth in (1, 2, 3)]
    store = FaultyStore(memory, faults)

    async def body() -> None:
        for _ in faults:
            with pytest.raises(StoreError):
                await create(store, "record")
        await create(store, "record")

    run(body())
    assert store.plan.fired == faults


def test_an_exclusive_put_is_a_create_and_any_other_a_put(memory: MemoryStore) -> None:
    store = RecordingStore(memory)

    async def body() -> None:
        await create(store, "a")
        token = await store.put(at(store, "a"), b"2", expecting=Expect.ANYTHING, within=None)
        await store.put(at(store, "a"), b"3", expecting=token, within=None)

    run(body())
    assert [call.verb for call in store.calls] == ["create", "put", "put"]


def test_every_call_of_a_store_is_one_that_can_fail(memory: MemoryStore) -> None:
    """All verbs but those of uploads, which memory has not."""
    store = RecordingStore(memory)
    assert store.files is not None
    assert store.directories is not None
    files, directories = store.files, store.directories

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
        await directories.rename_directory(at(store, "area"), at(store, "gone"), within=store.root)
        await store.delete(at(store, "gone/b"), expecting=Expect.ANYTHING)
        await store.delete_tree(at(store, "gone"))

    run(body())
    assert set(VERBS) - set(store.counts) == {"start", "put_part", "complete", "abort", "pending"}
    assert set(store.counts.values()) == {1}


def test_faults_are_checked() -> None:
    with pytest.raises(ValueError, match="no store call is named 'creat'; there are: stat, read"):
        Fault("creat")
    with pytest.raises(ValueError, match="calls are counted from 1, not 0"):
        Fault("create", 0)
    with pytest.raises(ValueError, match="no fault is named 'explode'"):
        Fault("create", 1, "explode")  # type: ignore[arg-type]  # what is tried
    assert Fault("create") == Fault("create", 1, "crash_after")


def test_no_byte_goes_past_the_faults(memory: MemoryStore) -> None:
    assert memory.direct is not None
    assert FaultyStore(memory, []).direct is None
    assert RecordingStore(memory).direct is memory.direct


def test_a_wrapper_opens_nothing() -> None:
    with pytest.raises(TypeError, match="wraps an opened store"):
        run(WrappedStore.open("memory://x", OpenOptions()))


def creating(url: str, *names_: str) -> Callable[[], None]:
    async def body() -> None:
        store = await open_store(url, OpenOptions())
        for name in names_:
            await create(store, name)
        await store.close()

    return lambda: run(body())


def test_inject_wraps_every_store_that_is_opened(url: str) -> None:
    fault = Fault("create", 3, "error_but_applied")
    with inject(fault) as fired:
        creating(url, "a", "b")()
        assert fired == []
        with pytest.raises(StoreError):
            creating(url, "c", "d")()
        assert fired == [fault]
    creating(url, "d")()
    assert fsspec.filesystem("memory").ls(url, detail=False) == [
        f"{url.removeprefix('memory:/')}/{name}" for name in "abcd"
    ]


def test_all_stores_of_a_process_die_together(url: str) -> None:
    with inject(Fault("create", 1, "crash_after")):
        with pytest.raises(Crash):
            creating(url, "a")()
        with pytest.raises(Crash):
            creating(url, "b")()
    creating(url, "b")()


def test_crash_points_come_before_and_after_every_call(url: str) -> None:
    turn = iter(range(100))
    points = list(crash_points(creating(f"{url}/{next(turn)}", "a", "b")))
    assert points == [
        Fault("create", 1, "crash_before"),
        Fault("create", 1, "crash_after"),
        Fault("create", 2, "crash_before"),
        Fault("create", 2, "crash_after"),
    ]
    found = []
    for fault in points:
        there = f"{url}/{next(turn)}"
        with inject(fault), pytest.raises(Crash):
            creating(there, "a", "b")()
        plain = fsspec.filesystem("memory")
        found.append(len(plain.find(there)))
    assert found == [0, 1, 1, 2]


def test_recorded_calls_are_those_of_every_store(url: str) -> None:
    with recorded_calls() as calls:
        creating(url, "a")()
        creating(url, "b")()
    creating(url, "c")()
    root = url.removeprefix("memory:/")
    assert calls == [("create", f"{root}/a"), ("create", f"{root}/b")]


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
