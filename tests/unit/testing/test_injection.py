"""Faults and records of the stores that other code opens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec
import pytest

from fsspec_commit.errors import StoreError
from fsspec_commit.store import OpenOptions
from fsspec_commit.store.registry import open_store
from fsspec_commit.testing import Crash, Fault, crash_points, inject
from fsspec_commit.testing.recording import recorded_calls
from tests.unit.testing.calls import create, run

if TYPE_CHECKING:
    from collections.abc import Callable


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


def test_a_run_that_reaches_no_store_is_no_test() -> None:
    with pytest.raises(ValueError, match="made no call to a store, so there is nothing to crash"):
        next(crash_points(lambda: None))


def test_a_coroutine_has_run_nothing_yet() -> None:
    async def pipeline() -> None:
        raise AssertionError("nobody waits for it")

    with pytest.raises(TypeError, match=r"returns a coroutine and has run nothing yet: .*run\("):
        next(crash_points(pipeline))


def test_what_is_no_function_and_no_fault_is_refused(url: str) -> None:
    with pytest.raises(TypeError, match="takes a function, which it calls, not None: crash"):
        next(crash_points(creating(url, "a")()))  # type: ignore[arg-type]
    faults: list[object] = ["create", [Fault("create")], None]
    for fault in faults:
        with pytest.raises(TypeError, match="each given by itself"), inject(fault):  # type: ignore[arg-type]
            pass


def test_recorded_calls_are_those_of_every_store(url: str) -> None:
    with recorded_calls() as calls:
        creating(url, "a")()
        creating(url, "b")()
    creating(url, "c")()
    root = url.removeprefix("memory:/")
    assert calls == [("create", f"{root}/a"), ("create", f"{root}/b")]
