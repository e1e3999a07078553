"""Many partitions are replaced: only they are listed, and what is above them, some at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.names import AREA
from fsspec_commit.protocol import old_partitions
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.test_flat_races import write_files
from tests.scenes.scene import SCENES, Scene

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from fsspec_commit.layout import StorePath
    from tests.scenes.flat_place import FlatPlace

T = TypeVar("T")


@pytest.mark.guarantees("P9")
@pytest.mark.parametrize(("held", "least", "greatest"), [(4096, 9, 32), (1, 2, 2)])
def test_directories_above_partitions_are_listed_at_once(
    held: int,
    least: int,
    greatest: int,
    make_place: Callable[[str, Scene], FlatPlace],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many as take little memory: after a long listing one at a time again."""
    monkeypatch.setattr(old_partitions, "_LISTED_MAX", held)
    place = make_place("versioned", SCENES["append"])
    old = {f"number={number}/hour=1/old.txt": "old" for number in range(100)}
    with fc.Job(place.url, mode="append") as job, job.task() as task:
        write_files(task, old)
    under_way, most = 0, 0

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        nonlocal under_way, most
        is_one_above = "/number=" in path and "/hour=" not in path and not path.endswith(AREA)
        if verb != "list_children" or not is_one_above:
            return await call()
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return await call()

    job = fc.Job(place.url, mode="overwrite_partitions")
    with wrapping(lambda store: WrappedStore(store, carry)), job, job.task() as task:
        write_files(task, {name.replace("old", "new"): "new" for name in old})
    assert job.result is not None
    assert job.result.replaced_count == len(old)
    beside_the_claim = old_partitions._LISTINGS_AT_ONCE_MIN
    assert least <= most <= greatest + beside_the_claim


def test_two_spellings_of_a_value_that_are_both_written_are_both_replaced(
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    """Also where only one has rows so far: none of these would stay."""
    place = make_place("versioned", SCENES["append"])
    for names in (["k=a%20b"], ["k=a%20b", "k=a b"]):
        job = fc.Job(place.url, mode="overwrite_partitions")
        with job, job.task() as task:
            write_files(task, {f"{name}/part.txt": name for name in names})
    shown = [text for name, text in place.snapshot().items() if name.startswith("k=")]
    assert sorted(shown) == [b"k=a b", b"k=a%20b"]


def test_escapes_of_no_unicode_are_values_of_their_own(
    make_place: Callable[[str, Scene], FlatPlace],
) -> None:
    """The refusal of a second spelling names a partition to declare: no other value's."""
    place = make_place("versioned", SCENES["append"])
    for name in ("name=%FE", "name=%FF"):
        job = fc.Job(place.url, mode="overwrite_partitions")
        with job, job.task() as task:
            write_files(task, {f"{name}/part.txt": name})
    shown = [text for name, text in place.snapshot().items() if name.startswith("name=")]
    assert shown == [b"name=%FE", b"name=%FF"]


@pytest.mark.parametrize("declared", [(), ("day=1",)], ids=["written", "declared"])
def test_what_is_odd_in_the_work_area_of_a_destination_that_stays_is_nobodys_affair(
    tmp_path: Path, declared: tuple[str, ...]
) -> None:
    """Jobs there pass over it, and the outer one has nothing to do with it."""
    out = tmp_path / "out"
    for place, name in ((out / "day=%31", "a.txt"), (out, "day=1/a.txt")):
        with fc.Job(str(place), mode="append") as job, job.task() as task:
            write_files(task, {name: "old"})
    (out / "day=%31" / "_commit" / "link").symlink_to("elsewhere")
    outer = fc.Job(str(out), mode="overwrite_partitions", partitions=declared)
    with outer as job, job.task() as task:
        write_files(task, {"day=1/b.txt": "new"})
    assert job.result is not None
    assert job.result.replaced_count == 1
