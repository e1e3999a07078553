"""Records and deletions: what stands after a failure, what is counted, what is let be."""

from __future__ import annotations

import asyncio
import errno
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.pacing import IN_FLIGHT_MAX, TRIES_MAX
from fsspec_commit.errors import CommitStateUnknownError, Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Directory, Entry, Expect, Token
from fsspec_commit.testing.wrapped import WrappedStore
from tests.unit.effects.in_a_bucket import DESTINATION, IDS, Place, failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LAYOUT = DESTINATION.job("20261120T140355-9c1e5f00a1b2c3d4")
AREA, PATH = LAYOUT.area, LAYOUT.decision
ELSEWHERE = StorePath("b/other/a")
REFUSED, BUSY, SILENT = map(failure, (Reply.REFUSED, Reply.NOT_DONE, Reply.UNKNOWN))
TAKEN = failure(Reply.REFUSED, errno.EEXIST)
PERMIT = deletion.of_void_area(LAYOUT)
no_success = pytest.mark.parametrize(("error", "times"), [(REFUSED, 1), (SILENT, TRIES_MAX)])


@pytest.fixture(params=["gcs", "gen2"])
def place(request: pytest.FixtureRequest) -> Place:
    place = Place(request.param)
    place.put(LAYOUT.spec, b"job")
    return place


def shown(place: Place, path: StorePath = PATH) -> bytes | None:
    found = place.bucket.get(path)
    return None if found is None else found.data


async def create(store: ConfirmedStore) -> bytes | None:
    return await store.create(PATH, b"ours", within=AREA)


async def create_anywhere(store: ConfirmedStore) -> bytes | None:
    return await store.create(PATH, b"ours", within=None)


async def create_once(store: ConfirmedStore) -> Entry:
    return await store.create_once(PATH, b"ours", within=AREA)


async def create_unrepeated(store: ConfirmedStore, backoff: int = 0) -> bool:
    return await store.create_unrepeated(
        PATH, b"ours", above=LAYOUT.destination.areas, backoff=backoff
    )


async def create_or_leave(store: ConfirmedStore) -> None:
    await store.create_or_leave(PATH, within=AREA)


@pytest.mark.parametrize("creating", [create, create_anywhere])
def test_a_record_is_created_until_one_stands(place: Place, creating: Any) -> None:
    place.fail("create", SILENT, times=2)
    place.fail("create", BUSY)
    assert place.use(creating) == b"ours"
    assert shown(place) == b"ours"
    assert place.calls.count("create") == 4
    place.fail("create", SILENT)
    assert place.use(creating) == b"ours", "and again"
    place.put(PATH, b"another's")
    for _ in range(2):
        assert place.use(creating) == b"another's"
        place.fail("create", SILENT)


def test_nothing_is_created_where_the_area_is_gone(place: Place) -> None:
    place.bucket.delete(LAYOUT.spec, Expect.ANYTHING)
    place.bucket.delete_directory(AREA)
    place.fail("create", REFUSED)
    assert place.use(create) is None
    place.fail("create", SILENT)
    assert place.use(create_anywhere) == b"ours", "it makes what it needs"


def test_what_was_in_the_way_once_does_not_explain_another_refusal(place: Place) -> None:
    place.fail("create", TAKEN)
    place.fail("create", REFUSED)
    with pytest.raises(StoreError) as caught:
        place.use(create)
    assert caught.value is REFUSED
    assert place.calls.count("create") == 2


def test_a_file_of_ones_own_is_known_by_its_bytes(place: Place) -> None:
    place.fail("create", SILENT, done=True)
    entry = place.use(create_once)
    stands = place.bucket.entry(PATH)
    assert stands is not None
    assert (entry.path, entry.size_bytes, entry.token) == (PATH, 4, stands.token)
    assert place.calls == ["create", "read"]
    place.put(PATH, b"no, another's")
    with pytest.raises(StoreError, match="it exists"):
        place.use(create_once)


def test_a_file_that_could_come_late_is_sent_once(place: Place) -> None:
    place.fail("create", SILENT)
    with pytest.raises(CommitStateUnknownError, match="creating"):
        place.use(create_once)
    assert place.calls == ["create", "read"]
    place.fail("create", BUSY)
    assert place.use(create_once).path == PATH, "that is no doubt"


@pytest.mark.parametrize("done", [True, False])
def test_what_must_not_come_late_is_sent_once(place: Place, *, done: bool) -> None:
    place.fail("create", SILENT, done=done)
    if done:
        assert place.use(create_unrepeated)
    else:
        with pytest.raises(CommitStateUnknownError, match="creating"):
            place.use(create_unrepeated)
    assert place.calls == ["create", "read"]
    place.fail("create", BUSY)
    assert place.use(create_unrepeated) is True
    place.put(PATH, b"another's")
    place.fail("create", SILENT)
    assert place.use(create_unrepeated) is False


def test_what_has_just_failed_is_waited_with(place: Place) -> None:
    assert place.time(create_unrepeated)[1] == 0
    place.bucket.objects.pop(PATH)
    assert place.time(lambda store: create_unrepeated(store, 5))[1] > 0


@no_success
def test_what_only_helps_may_be_missing(place: Place, error: StoreError, times: int) -> None:
    place.use(create_or_leave)
    assert shown(place) == b""
    place.bucket.objects.pop(PATH)
    place.fail("create", error, times=times)
    place.use(create_or_leave)
    assert shown(place) is None


def entry_of(path: StorePath, token: str = "t") -> Entry:
    return Entry(path=path, size_bytes=3, token=Token(token))


@pytest.mark.parametrize(
    "deleting",
    [
        lambda store: store.delete(ELSEWHERE, PERMIT),
        lambda store: store.delete_if_same(entry_of(ELSEWHERE), PERMIT),
        lambda store: store.delete_tree(ELSEWHERE, PERMIT),
        lambda store: store.delete_or_leave(ELSEWHERE, PERMIT),
        lambda store: store.delete_tree_or_leave(ELSEWHERE, PERMIT),
        lambda store: store.delete_empty_or_leave(ELSEWHERE, PERMIT),
        lambda store: store.delete_listed([PATH, ELSEWHERE], PERMIT, within=AREA),
    ],
    ids=[
        *("a file", "a listed file", "a directory", "a file or not", "a directory or not"),
        *("an empty one or not", "many"),
    ],
)
@pytest.mark.guarantees("P10")
def test_nothing_is_sent_that_is_not_permitted(
    place: Place, deleting: Callable[[ConfirmedStore], Awaitable[object]]
) -> None:
    place.put(ELSEWHERE)
    with pytest.raises(AssertionError, match="no permit"):
        place.use(deleting)
    assert place.calls == []


@pytest.mark.parametrize("same", [True, False])
def test_nothing_is_sent_once_the_permit_has_expired(place: Place, *, same: bool) -> None:
    token, now = place.put(PATH), IDS.now()

    def deleting(permit: deletion.Permit) -> Any:
        if same:
            return place.use(lambda store: store.delete_if_same(entry_of(PATH, token), permit))
        return place.use(lambda store: store.delete(PATH, permit))

    for moment in (now, now - timedelta(seconds=1)):
        with pytest.raises(deletion.PermitExpiredError):
            deleting(PERMIT.until(moment))
    assert place.calls == []
    deleting(PERMIT.until(now + timedelta(seconds=1)))
    assert shown(place) is None


@pytest.mark.parametrize("error", [BUSY, SILENT])
@pytest.mark.parametrize("done", [True, False])
def test_a_file_is_deleted_until_it_is_gone(place: Place, error: StoreError, *, done: bool) -> None:
    place.put(PATH)
    place.fail("delete", error, done=done)
    place.use(lambda store: store.delete(PATH, PERMIT))
    assert shown(place) is None
    looks = [] if error is BUSY else ["stat"]
    again = [] if error is SILENT and done else ["delete"]
    assert place.calls == ["delete", *looks, *again]
    place.fail("delete", REFUSED)
    place.use(lambda store: store.delete(PATH, PERMIT))
    place.put(PATH)
    place.fail("delete", REFUSED)
    with pytest.raises(StoreError) as caught:
        place.use(lambda store: store.delete(PATH, PERMIT))
    assert caught.value is REFUSED


def test_only_the_file_that_was_meant_is_deleted(place: Place) -> None:
    old = entry_of(PATH, place.put(PATH))

    def is_gone() -> bool:
        return place.use(lambda store: store.delete_if_same(old, PERMIT))

    place.fail("delete", SILENT)
    assert is_gone() is True
    assert is_gone() is True, "and again"
    place.put(PATH, b"newer")
    assert is_gone() is False
    assert shown(place) == b"newer"
    if place.bucket.directories:
        place.bucket.objects.pop(PATH)
        place.bucket.make_directory(PATH)
        assert is_gone() is True, "no file has its name"


def test_a_directory_is_deleted_until_it_is_gone(place: Place) -> None:
    place.fail("delete_tree", SILENT)
    place.fail("delete_tree", BUSY)
    place.fail("delete_tree", SILENT, done=True)
    place.use(lambda store: store.delete_tree(AREA, PERMIT))
    assert place.bucket.keys(AREA) == []
    assert place.calls == ["delete_tree", "stat"] * 3


@no_success
@pytest.mark.parametrize("tree", [True, False])
def test_what_does_no_harm_may_stay(
    place: Place, error: StoreError, times: int, *, tree: bool
) -> None:
    verb = "delete_tree" if tree else "delete"

    async def leave(store: ConfirmedStore) -> None:
        if tree:
            await store.delete_tree_or_leave(AREA, PERMIT)
        else:
            await store.delete_or_leave(LAYOUT.spec, PERMIT)

    place.fail(verb, error, times=times)
    place.use(leave)
    assert shown(place, LAYOUT.spec) == b"job"
    place.use(leave)
    assert shown(place, LAYOUT.spec) is None


def test_calls_are_counted_by_what_became_of_them(place: Place) -> None:
    place.fail("stat", BUSY, times=2)
    place.fail("create", SILENT)
    place.fail("rename", REFUSED)

    async def main(store: ConfirmedStore) -> None:
        assert isinstance(await store.stat(AREA), Directory)
        writer = store.writer(StorePath(f"{AREA}/file"), within=AREA)
        await writer.write(b"1234")
        await writer.finish()
        await create(store)
        files = store.files
        assert files is not None
        token = place.bucket.objects[PATH].token
        await files.rename(
            PATH, LAYOUT.published, token=token, expecting=Expect.ABSENT, within=AREA
        )

    with pytest.raises(StoreError):
        place.use(main)
    counted = place.statistics.snapshot().items()
    times = "min", "mean", "max"
    assert {name: count for name, count in counted if not name.endswith(times)} == {
        "op_create": 2,
        "op_create.failures": 1,
        "op_get_file_status": 1,
        "op_get_file_status.failures": 2,
        "op_rename.failures": 1,
    }


@pytest.mark.parametrize(("given", "most"), [(None, IN_FLIGHT_MAX), (3, 3)])
def test_as_many_calls_are_in_flight_as_it_was_opened_for(
    place: Place, given: int | None, most: int
) -> None:
    in_flight, seen = 0, 0

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        nonlocal in_flight, seen
        in_flight += 1
        seen = max(seen, in_flight)
        await asyncio.sleep(1)
        in_flight -= 1
        return await call()

    async def main(store: ConfirmedStore) -> int:
        wrapped = WrappedStore(store._store.store, carry)  # type: ignore[attr-defined]
        opened = ConfirmedStore(wrapped, ids=IDS, statistics=Statistics(), in_flight_max=given)
        await asyncio.gather(*(opened.stat(PATH) for _ in range(IN_FLIGHT_MAX + 9)))
        return opened.in_flight_max

    assert place.use(main) == most
    assert seen == most


def test_a_store_that_cannot_be_closed_is_left(place: Place) -> None:
    closed: list[int] = []

    async def main(store: ConfirmedStore) -> None:
        async def close() -> None:
            closed.append(1)
            raise REFUSED

        store._store.close = close  # type: ignore[method-assign]
        await store.close()

    place.use(main)
    assert closed == [1]
