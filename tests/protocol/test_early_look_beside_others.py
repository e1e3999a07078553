"""What was seen early counts only beside jobs of which names of one moment say enough."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.another_job import JOBS, Other, missed_nothing
from tests.protocol.cleaning import url
from tests.protocol.in_virtual_time import SOME_TIME_S, Before, Clock, started
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
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
