"""Manifests are read while others are checked and published, and not when that has ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import CommitError, Reply, StoreError
from fsspec_commit.protocol import kept_manifests, manifests
from fsspec_commit.testing import Crash
from fsspec_commit.testing.simulation import FAMILIES, search
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import url
from tests.protocol.in_virtual_time import SOME_TIME_S, TRIP_S, Before, Clock, started, wrote
from tests.protocol.trips import Trips
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

TASKS, FILES = 40, 20
pytestmark = pytest.mark.usefixtures("_many")


@pytest.fixture
def _many(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were many tasks: ten groups of manifests, none of which is kept."""
    monkeypatch.setattr(manifests, "_READ_AT_ONCE_MAX", TASKS // 10)
    monkeypatch.setattr(kept_manifests, "_BYTES_MAX", 0)


@pytest.fixture(params=["gcs", "versioned", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.parametrize(("family", "more"), [("s3", 9), ("gcs", 9), ("gen2", 6), ("hdfs", 6)])
def test_they_take_few_round_trips(monkeypatch: pytest.MonkeyPatch, family: str, more: int) -> None:
    """Ten groups are read twice: first all, and then beside the files that are published.

    One by itself, and then four at once. One after the other they would take 12 round trips more.
    What else takes more is to end a large job.
    """

    async def committed(tasks: int) -> int:
        driver = await trips.begun()
        messages = [await wrote(driver, f"{task}.txt", task=task) for task in range(tasks)]
        begin = trips.taken
        await driver.commit(messages, wait_s=0)
        return trips.taken - begin

    took = []
    for tasks in (1, TASKS):
        trips = Trips(monkeypatch, family)
        took.append(trips.run(committed(tasks)))
    few, many = took
    assert many - few == more


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("ends", ["cancelled", "cancelled twice", "refused", "crashed"])
def test_none_is_read_any_more_when_a_commit_has_ended(bucket: Bucket, ends: str) -> None:
    """While files are published: the next manifests are on their way then."""
    complaints: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        hook = Before()
        driver = await started(url(bucket), Clock(), hook)
        # More files in a group than are published at once, so that nobody waits for the next group.
        names = [[f"{task}-{number}.txt" for number in range(FILES)] for task in range(TASKS)]
        messages = [await wrote(driver, *some, task=task) for task, some in enumerate(names)]
        hook.calls.clear()
        publishing = asyncio.Event()

        async def published() -> None:
            publishing.set()
            if "cancelled" in ends:
                await asyncio.sleep(SOME_TIME_S)
            raise Crash if ends == "crashed" else StoreError("not yours", reply=Reply.REFUSED)

        for verb in ("rename", "complete"):
            hook.does[verb, "/out/", 1] = published
        committing = asyncio.create_task(driver.commit(messages, wait_s=0))
        await publishing.wait()
        await asyncio.sleep(TRIP_S / 2)
        if "cancelled" in ends:
            committing.cancel()
        if ends == "cancelled twice":
            await asyncio.sleep(0)
            committing.cancel()
        with pytest.raises((asyncio.CancelledError, CommitError, Crash)):
            await committing
        await hook.nothing_follows()

    run(main())
    assert complaints == []


@pytest.mark.parametrize("family", FAMILIES, ids=lambda name: name.replace("hdfs", "dfs"))
def test_p1_to_p11_hold_where_each_is_read_by_itself(
    monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    """Jobs of the simulator have few tasks, so that all of their manifests are one group."""
    monkeypatch.setattr(manifests, "_READ_AT_ONCE_MAX", 1)
    failed = search(range(20), family=family, varied=True)
    assert failed is None, failed
