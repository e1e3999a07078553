"""What was seen early counts only beside jobs of which names of one moment say enough."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import ConcurrentJobError
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.another_job import (
    JOBS,
    SECOND,
    InOrder,
    KeepsItsMarker,
    Other,
    commit,
    missed_nothing,
)
from tests.protocol.cleaning import url
from tests.protocol.in_virtual_time import SOME_TIME_S, Before, Clock, Fails, Stop, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.driver import Driver
    from tests.protocol.in_virtual_time import Call


class AreaByPages(Before):
    """Listings of the other job's area are of two pages, between which it ends.

    The first page is given at once, and shows ``job.json`` and nothing else.
    """

    def __init__(self) -> None:
        super().__init__()
        self.other: Other | None = None
        self.asked = False

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        other = self.other
        if other is None or verb != "list_children" or not path.endswith(f"/{other.job_id}"):
            return await super().__call__(verb, path, call)
        if not self.asked:
            self.asked = True

            async def not_at_once() -> None:
                return None

            return await super().__call__(verb, path, not_at_once)
        self.other = None
        await asyncio.sleep(SOME_TIME_S)  # What is seen early is seen by now.
        first = [child for child in await call() if child.path.endswith("/job.json")]
        assert first
        await other.ends()

        async def both_pages() -> Any:
            return first + await call()

        return await super().__call__(verb, path, both_pages)


# In the order of names `job.json` would come last; directory buckets have none, nor have disks.
@pytest.fixture(params=["express", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.guarantees("P1", "P7", "P11")
@pytest.mark.parametrize("what", JOBS)
def test_a_job_that_ends_while_its_area_is_listed_is_not_missed(bucket: Bucket, what: str) -> None:
    async def main() -> None:
        clock, hook = Clock(), AreaByPages()
        mine, theirs = JOBS[what]
        driver = await started(url(bucket), clock, hook, **mine)
        other = Other(bucket, clock, theirs)
        await other.begins()
        hook.other = other
        await missed_nothing(bucket, driver, what)
        assert hook.other is None, "the other job's area was not listed"

    run(main())


class ClaimsTwice:
    """A job that has claimed one partition, was interrupted, and then commits into another one.

    It does not publish its marker before it may go on; and of what is in its area the first claim
    is deleted last, when the other job is done.
    """

    def __init__(self) -> None:
        self.hook: Any = Stop("create", "/decision")
        self.marker = KeepsItsMarker("", "")
        self.is_over, self.may_end = asyncio.Event(), asyncio.Event()
        self._first = ""

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if verb == "delete" and path == self._first:
            self.is_over.set()
            await self.may_end.wait()
        return await self.hook(verb, path, call)

    async def begins(self, bucket: Bucket, driver: Driver) -> asyncio.Task[object]:
        interrupted = await self._commits(driver, "day=1")
        interrupted.cancel()
        with pytest.raises(asyncio.CancelledError):
            await interrupted
        (self._first,) = bucket.keys(driver.started().layout.claim(""))
        self.hook = self.marker
        return await self._commits(driver, "day=2")

    async def _commits(self, driver: Driver, day: str) -> asyncio.Task[object]:
        message = await wrote(driver, f"{day}/b.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=60))
        await self.hook.reached.wait()
        return committing

    async def ends(self) -> None:
        await asyncio.sleep(SOME_TIME_S)
        self.marker.passed.set()
        await self.is_over.wait()
        await asyncio.sleep(SOME_TIME_S)


@pytest.mark.guarantees("P1", "P11")
@pytest.mark.parametrize("bucket", ["gcs", "versioned"], indirect=True)
def test_an_area_that_is_half_deleted_says_nothing_of_its_job(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows a claim that is not in the way, and not the one that the job has decided on."""
    monkeypatch.setattr(FlatStore, "in_order", property(InOrder))

    async def main() -> None:
        clock, hook, other = Clock(), Before(), ClaimsTwice()
        await started(url(bucket), clock)  # of two jobs and more the areas are listed together
        driver = await started(url(bucket), clock, hook, mode="append", success="json")
        options = {"mode": "overwrite_partitions", "success": "json"}
        theirs = await started(url(bucket), clock, other, **options)
        committing = await other.begins(bucket, theirs)
        await asyncio.sleep(SOME_TIME_S)
        hook.calls.clear()
        hook.does[SECOND] = other.ends
        await missed_nothing(bucket, driver, "a marker", name="day=2/a.txt")
        assert hook.count("list_tree", "/_commit/"), "no areas were listed together"
        other.may_end.set()
        await committing

    run(main())


@pytest.mark.guarantees("P11")
def test_a_job_of_which_the_area_must_not_be_listed_is_in_the_way(bucket: Bucket) -> None:
    """Nobody knows what it holds; and the error names it."""

    async def main() -> None:
        clock = Clock()
        other = Other(bucket, clock, JOBS["a marker"][1])
        await other.begins()
        driver = await started(url(bucket), clock, Fails("list_children", other.job_id))
        with pytest.raises(ConcurrentJobError, match="is damaged") as caught:
            await commit(driver, "a.txt", wait_s=0)
        assert caught.value.other_job_id == other.job_id
        await other.ends()

    run(main())
