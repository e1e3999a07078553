"""The faults do what they say: that is what every crash and lost reply in the tests rests on."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import fsspec
import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.testing import Crash, Fault, FaultyStore
from fsspec_commit.testing.faults import RETRY_AFTER_S, TIMEOUT_S, FaultPlan
from tests.unit.testing.calls import at, create, names, run

if TYPE_CHECKING:
    from fsspec_commit.testing.faults import Kind
    from fsspec_commit_stores.memory import MemoryStore


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
        told = f"dead since {kind} at create number 1.*comes after the block of inject"
        for call in (
            writer.write(b"1"),
            writer.finish(),
            writer.discard(),
            create(store, "other"),
            store.delete_tree(store.root),
        ):
            with pytest.raises(Crash, match=told):
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


def test_faults_are_checked() -> None:
    with pytest.raises(ValueError, match="no store call is named 'creat'; there are: stat, read"):
        Fault("creat")
    with pytest.raises(ValueError, match="calls are counted from 1, not 0"):
        Fault("create", 0)
    with pytest.raises(ValueError, match="calls are counted from 1, not '2'"):
        Fault("create", "2")  # type: ignore[arg-type]  # what is tried
    with pytest.raises(ValueError, match="no fault is named 'explode'; there are: crash_before, "):
        Fault("create", 1, "explode")  # type: ignore[arg-type]  # what is tried
    assert Fault("create") == Fault("create", 1, "crash_after")
