"""Many files, listed and deleted by one call each."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects import deletion
from fsspec_commit.errors import CommitStateUnknownError, Reply, StoreError, UnsafeStoreError
from tests.flat.store import FlatStore
from tests.unit.effects.in_a_bucket import DESTINATION, IDS, Place, failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.effects.confirmed.store import ConfirmedStore
    from fsspec_commit.layout import StorePath

LAYOUT = DESTINATION.job("20261120T140355-9c1e5f00a1b2c3d4")
AREA = LAYOUT.area
PATHS = [LAYOUT.decision, LAYOUT.spec, LAYOUT.published]
PERMIT = deletion.of_void_area(LAYOUT)
REFUSED, BUSY, SILENT = map(failure, (Reply.REFUSED, Reply.NOT_DONE, Reply.UNKNOWN))


@pytest.fixture
def place() -> Place:
    place = Place("gcs")
    for path in PATHS:
        place.put(path)
    return place


def delete(place: Place, permit: deletion.Permit = PERMIT) -> None:
    place.use(lambda store: store.delete_listed(PATHS, permit, within=AREA))


def test_all_go_at_once(place: Place) -> None:
    delete(place)
    assert place.bucket.keys("") == []
    assert place.calls == ["delete"] * 3
    delete(place)
    assert place.calls == ["delete"] * 6, "a missing one is done"


@pytest.mark.parametrize("error", [BUSY, SILENT])
@pytest.mark.parametrize("done", [True, False])
def test_they_are_deleted_again_until_all_are_gone(
    place: Place, error: StoreError, *, done: bool
) -> None:
    place.fail("delete", error, done=done)
    delete(place)
    assert place.bucket.keys("") == []
    assert place.calls == ["delete"] * 6


class Throttled(Place):
    """Turns away one of three deletions, whichever it is."""

    async def _carry(self, verb: str, path: StorePath, call: Callable[[], Awaitable[Any]]) -> Any:
        self.calls.append(verb)
        if verb == "delete" and len(self.calls) % 3 == 0:
            raise BUSY
        return await call()


def test_where_some_of_each_call_are_turned_away_all_go_in_the_end() -> None:
    place = Throttled()
    paths = [LAYOUT.chosen(number) for number in range(20)]
    for path in paths:
        place.put(path)
    place.use(lambda store: store.delete_listed(paths, PERMIT, within=AREA))
    assert place.bucket.keys("") == []


def test_one_that_must_not_be_deleted_does_not_keep_the_others(place: Place) -> None:
    place.fail("delete", REFUSED)
    with pytest.raises(StoreError) as caught:
        delete(place)
    assert caught.value is REFUSED
    assert place.bucket.keys("") == PATHS[:1]


def test_what_is_never_answered_is_unknown(place: Place) -> None:
    place.fail("delete", SILENT, times=1_000)
    with pytest.raises(CommitStateUnknownError, match="deleting"):
        delete(place)


def test_nothing_is_sent_for_none_or_on_an_old_permit(place: Place) -> None:
    place.use(lambda store: store.delete_listed([], PERMIT, within=AREA))
    with pytest.raises(deletion.PermitExpiredError):
        delete(place, PERMIT.until(IDS.now() - timedelta(seconds=1)))
    assert place.calls == []


def test_where_directories_are_deleted_whole_there_is_no_such_call() -> None:
    place = Place("gen2")
    assert place.use(_most) == 0
    with pytest.raises(UnsafeStoreError, match="declares no deletion of many files"):
        delete(place)
    assert place.calls == []


def test_few_files_are_listed_and_of_many_no_more_than_shows_that(
    place: Place,
) -> None:
    assert place.use(lambda store: _listed(store, 3)) == PATHS
    assert place.use(lambda store: _listed(store, 2)) is None
    assert place.use(_most) == FlatStore.files_max


@pytest.mark.parametrize(
    ("page", "files_max", "expected"),
    [
        ((PATHS, True), 3, (PATHS, 1)),
        ((PATHS, True), 2, (None, 1)),
        ((PATHS[:2], False), 2, (None, 1)),
        ((PATHS[:1], False), 3, (PATHS, 2)),
        (None, 3, (PATHS, 2)),
    ],
    ids=["all", "too many", "and more", "cut short", "not in order"],
)
def test_they_are_listed_by_name_where_that_is_one_request(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    page: tuple[list[StorePath], bool] | None,
    files_max: int,
    expected: tuple[list[StorePath] | None, int],
) -> None:
    """A listing of versions takes a permission of its own, on S3, and no end of a job needs one."""
    monkeypatch.setattr(FlatStore, "in_order", InOrder(page))
    found = place.use(lambda store: _listed(store, files_max))
    assert (found, len(place.calls)) == expected


class InOrder:
    """Shows one page, whatever it is asked for."""

    def __init__(self, page: tuple[list[StorePath], bool] | None) -> None:
        self._page = page

    async def list_in_order(self, *_: StorePath) -> tuple[list[StorePath], bool] | None:
        return self._page


async def _most(store: ConfirmedStore) -> int:
    return store.deleted_at_once_max


async def _listed(store: ConfirmedStore, files_max: int) -> list[StorePath] | None:
    return await store.paths_of_few(AREA, files_max=files_max)
