"""Reads: what is told of refusals and of silence, and how long listings let others run."""

from __future__ import annotations

import asyncio
import errno
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects.confirmed import reads
from fsspec_commit.effects.confirmed.reads import is_of_who_asks, refusals_as_damage
from fsspec_commit.effects.pacing import TRIES_MAX
from fsspec_commit.errors import CommitStateUnknownError, RecordError, Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Unusable
from tests.flat.store import FlatStore
from tests.unit.effects.in_a_bucket import ROOT, Place, failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fsspec_commit.effects.confirmed.store import ConfirmedStore
    from fsspec_commit.store import Entry

REFUSED, SILENT = failure(Reply.REFUSED), failure(Reply.UNKNOWN)
DENIED = failure(Reply.REFUSED, errno.EACCES)
A, B = StorePath(f"{ROOT}/a"), StorePath(f"{ROOT}/d/b")


@pytest.fixture
def place() -> Place:
    place = Place()
    place.put(A, b"12345")
    place.put(B, b"1234567")
    return place


def doubt(cause: BaseException | None) -> CommitStateUnknownError:
    error = CommitStateUnknownError("it is not known")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "damage"),
    [
        (REFUSED, "^it is refused$"),
        (DENIED, "^it is refused; nothing says that it is damaged: ask as somebody who may"),
        (doubt(REFUSED), "^it is refused$"),
        (doubt(DENIED), "^it is refused; nothing says that it is damaged: ask as somebody who may"),
        (SILENT, None),
        (failure(Reply.NOT_DONE), None),
        (doubt(SILENT), None),
        (doubt(ValueError()), None),
        (doubt(None), None),
    ],
)
def test_only_what_the_store_refuses_to_show_is_damaged(
    error: StoreError | CommitStateUnknownError, damage: str | None
) -> None:
    expected = type(error) if damage is None else RecordError
    with pytest.raises(expected, match=damage) as caught, refusals_as_damage():
        raise error
    if damage is None:
        assert caught.value is error
    else:
        assert isinstance(caught.value, RecordError)
        assert (caught.value.path, caught.value.__cause__) == (ROOT, error)
        assert is_of_who_asks(caught.value) is ("ask as somebody" in damage)


async def known_missing(store: ConfirmedStore) -> bool:
    return await store.is_known_missing(A)


async def not_found(store: ConfirmedStore) -> bool:
    return await store.is_not_found(A, limit_bytes=5)


async def stands(store: ConfirmedStore) -> bool | None:
    return await store.stands_if_allowed(A)


async def children(store: ConfirmedStore) -> list[str] | None:
    found = await store.list_children_if_allowed(ROOT)
    return None if found is None else [child.path for child in found]


async def size(store: ConfirmedStore) -> int:
    return await store.bytes_below(ROOT)


async def read(store: ConfirmedStore) -> bytes | StoreError | None:
    return await store.read_or_refusal(A, limit_bytes=5)


@pytest.mark.parametrize(
    ("ask", "verb", "shown", "of_none", "refused"),
    [
        (known_missing, "stat", False, True, False),
        (not_found, "read", False, True, False),
        (stands, "stat", True, False, None),
        (children, "list_children", [A, f"{ROOT}/d"], [], None),
        (size, "list_tree", 12, 0, 0),
        (read, "read", b"12345", None, REFUSED),
    ],
)
def test_what_may_not_be_asked_is_no_failure_and_silence_is_one(
    place: Place, *, ask: Any, verb: str, shown: object, of_none: object, refused: object
) -> None:
    assert place.use(ask) == shown
    place.fail(verb, SILENT)
    assert place.use(ask) == shown, "it is asked again"
    place.fail(verb, REFUSED)
    assert place.use(ask) == refused
    place.fail(verb, SILENT, times=TRIES_MAX)
    if ask in {known_missing, not_found}:
        assert not place.use(ask)
    else:
        with pytest.raises(StoreError, match="it is unknown"):
            place.use(ask)
    for path in (A, B):
        place.bucket.objects.pop(path)
    assert place.use(ask) == of_none


def test_a_file_that_only_others_may_read_is_no_odd_file(place: Place) -> None:
    place.fail("read", DENIED)
    with pytest.raises(StoreError) as caught:
        place.use(read)
    assert caught.value is DENIED


def test_a_file_that_is_too_long_is_refused_and_not_read(place: Place) -> None:
    async def shorter(store: ConfirmedStore) -> bytes | StoreError | None:
        return await store.read_or_refusal(A, limit_bytes=4)

    refusal = place.use(shorter)
    assert isinstance(refusal, StoreError)
    assert "longer than 4 bytes" in str(refusal)


def test_what_is_odd_in_a_directory_hides_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing = FlatStore.list_children

    async def with_a_link(store: FlatStore, path: StorePath) -> AsyncIterator[object]:
        async for child in listing(store, path):
            yield child
        yield Unusable(StorePath(f"{path}/link"), REFUSED)

    monkeypatch.setattr(FlatStore, "list_children", with_a_link)

    async def listed(store: ConfirmedStore) -> tuple[list[str], list[str]]:
        area, usable = await store.list_area(ROOT), await store.list_usable(ROOT)
        return [one.path for one in area], [one.path for one in usable]

    usable = [A, f"{ROOT}/d"]
    assert place.use(listed) == ([*usable, f"{ROOT}/link"], usable)
    with pytest.raises(StoreError) as caught:
        place.use(lambda store: store.list_children(ROOT))
    assert caught.value is REFUSED


async def tree(store: ConfirmedStore, without: StorePath | None = None) -> list[Entry]:
    return [entry async for entry in store.list_tree(ROOT, without=without)]


def test_a_tree_is_listed_once_whatever_is_left_out(place: Place) -> None:
    place.fail("list_tree", SILENT)
    assert [entry.path for entry in place.use(tree)] == [A, B]
    assert place.calls == ["list_tree"] * 2

    async def without_d(store: ConfirmedStore) -> list[Entry]:
        return await tree(store, StorePath(f"{ROOT}/d"))

    assert [entry.path for entry in place.use(without_d)] == [A]
    for path in (A, B):
        place.bucket.objects.pop(path)
    assert place.use(tree) == []


@pytest.mark.parametrize(("count", "turns"), [(9, 0), (10, 1), (19, 1), (20, 2), (31, 3)])
def test_a_long_listing_lets_others_run(
    place: Place, monkeypatch: pytest.MonkeyPatch, count: int, turns: int
) -> None:
    """As often as it is long, and without a pause."""
    monkeypatch.setattr(reads, "_BREATH", 10)
    for number in range(count - 2):
        place.put(f"{ROOT}/{number}")

    async def main(store: ConfirmedStore) -> int:
        taken = 0

        async def others() -> None:
            nonlocal taken
            while True:
                await asyncio.sleep(0)
                taken += 1

        beside = asyncio.create_task(others())
        await asyncio.sleep(0)
        begin = taken
        listed = await tree(store)
        assert len(listed) == count
        beside.cancel()
        return taken - begin

    assert place.time(main) == (turns, 0)


def broken(error: Exception) -> Any:
    async def list_tree(
        self: FlatStore, path: StorePath, *, without: object = None
    ) -> AsyncIterator[Entry]:
        try:
            for key in self.bucket.keys(f"{path}/"):
                entry = self.bucket.entry(key)
                assert entry is not None
                yield entry
                raise error
        finally:
            ended.append(path)

    ended: list[str] = []
    return list_tree, ended


@pytest.mark.unforeseen("KeyError")
@pytest.mark.parametrize("error", [KeyError("secret"), REFUSED, SILENT])
def test_a_listing_that_breaks_off_is_not_begun_again(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """It would show files twice; and an error that nobody foresaw says nothing of the store."""
    place = Place()
    place.put(A)
    list_tree, _ = broken(error)
    monkeypatch.setattr(FlatStore, "list_tree", list_tree)
    listed: list[str] = []

    async def main(store: ConfirmedStore) -> None:
        store = unwrapped(store)
        async for entry in store.list_tree(ROOT):
            listed.append(entry.path)  # noqa: PERF401  # till it breaks off

    with pytest.raises(StoreError) as caught:
        place.use(main)
    assert listed == [A]
    if isinstance(error, StoreError):
        assert caught.value is error
    else:
        assert caught.value.reply is Reply.UNKNOWN
        assert "failed with KeyError" in str(caught.value)
        assert "secret" not in str(caught.value)


def unwrapped(store: ConfirmedStore) -> ConfirmedStore:
    """The same, with listings that come one by one."""
    store._store = store._store.store  # type: ignore[attr-defined]
    return store


def test_a_listing_that_nobody_reads_to_its_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place()
    place.put(A)
    list_tree, ended = broken(SILENT)
    monkeypatch.setattr(FlatStore, "list_tree", list_tree)

    async def main(store: ConfirmedStore) -> None:
        listing = unwrapped(store).list_tree(ROOT)
        assert (await anext(listing)).path == A
        assert ended == []
        await listing.aclose()  # type: ignore[attr-defined]  # a generator
        assert ended == [ROOT]

    place.use(main)
