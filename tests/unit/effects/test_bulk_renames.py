"""Many renames by one call: it takes a slot, is counted, and says how many it has done."""

from __future__ import annotations

import asyncio

import pytest

from fsspec_commit.effects.confirmed.files import BULK_MAX
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.testing.simulation.families import capabilities_of
from tests.flat.store import FlatStore
from tests.unit.effects.in_a_bucket import DESTINATION, IDS, Place, failure
from tests.unit.effects.virtual_time import run

AREA = DESTINATION.job("20261120T140355-9c1e5f00a1b2c3d4").area
BUSY = failure(Reply.NOT_DONE)
RENAMES = [(StorePath(f"{AREA}/{n}"), StorePath(f"b/out/{n}")) for n in range(3)]


@pytest.fixture(params=["gcs", "gen2"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(request.param)


class Bulk:
    """Renames that are done by one call, and how many of them."""

    def __init__(self, done: int | StoreError) -> None:
        self._done = done
        self.asked: list[int] = []

    async def rename_in_bulk(self, renames: list[object], *, within: StorePath) -> int:
        self.asked.append(len(renames))
        if isinstance(self._done, StoreError):
            raise self._done
        await asyncio.sleep(2)
        return self._done


def opened(place: Place, bulk: Bulk | None, statistics: Statistics) -> ConfirmedStore:
    flat = FlatStore(DESTINATION.root, place.bucket, capabilities_of(place.bucket.habits))
    flat.bulk = bulk  # type: ignore[assignment]
    return ConfirmedStore(flat, ids=IDS, statistics=statistics, in_flight_max=1)


def test_many_files_are_renamed_by_one_call_that_takes_a_slot(place: Place) -> None:
    statistics, bulk = Statistics(), Bulk(2)

    async def main() -> None:
        store = opened(place, bulk, statistics)
        files = store.files
        assert files is not None
        assert files.bulk_max == BULK_MAX
        first = asyncio.create_task(files.rename_in_bulk(RENAMES, within=AREA))
        await asyncio.sleep(1)
        assert await files.rename_in_bulk(RENAMES, within=AREA) == 0, "there is no other slot"
        assert await first == 2
        store._pace.silence.last()
        assert await files.rename_in_bulk(RENAMES, within=AREA) == 2, "it is free again"
        assert store._pace.silence._since_s is None, "the store has answered"

    run(main())
    assert bulk.asked == [3, 3]
    counted = statistics.snapshot()
    assert (counted["op_rename"], counted["op_rename.mean"]) == (4, 1000)


def test_a_slot_is_free_again_after_a_failure(place: Place) -> None:
    bulk = Bulk(BUSY)

    async def main() -> None:
        files = opened(place, bulk, Statistics()).files
        assert files is not None
        for _ in range(2):
            with pytest.raises(StoreError):
                await files.rename_in_bulk(RENAMES, within=AREA)

    run(main())
    assert bulk.asked == [3, 3]


def test_a_store_that_renames_one_file_at_a_time_is_asked_for_one(place: Place) -> None:
    async def main() -> None:
        files = opened(place, None, Statistics()).files
        assert files is not None
        assert files.bulk_max == 1
        assert await files.rename_in_bulk(RENAMES, within=AREA) == 0

    run(main())
