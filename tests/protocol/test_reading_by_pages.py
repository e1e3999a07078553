"""Readers to whom an area is shown by pages, between which its job ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.protocol.snapshot import Reader, committed_files
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.cleaning import destination, put, url
from tests.protocol.in_virtual_time import Clock, Stop, opened, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from tests.protocol.in_virtual_time import Call


class PublishesHalf:
    """Stops before its decision, and then before it publishes the second file."""

    def __init__(self) -> None:
        self.begins, self.ends = Stop("create", "/decision"), Stop("rename", "/out/b-")

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        async def then() -> Any:
            return await self.ends(verb, path, call)

        return await self.begins(verb, path, then)


class AreaByPages:
    """The job publishes half before files are listed, and ends while its area is listed again.

    The first page of that shows ``job.json`` and nothing else.
    """

    def __init__(self, area: StorePath, job: PublishesHalf, committing: asyncio.Task[Any]) -> None:
        self._area, self._job, self._committing = area, job, committing

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if verb == "list_tree":
            self._job.begins.passed.set()
            await self._job.ends.reached.wait()
        is_begun = self._job.ends.reached.is_set() and not self._job.ends.passed.is_set()
        shown = await call()
        if verb != "list_children" or path != self._area or not is_begun or shown is None:
            return shown
        first = [child for child in shown if child.path.endswith("/job.json")]
        assert first
        self._job.ends.passed.set()
        await self._committing
        return first + await call()


# In the order of names `job.json` would come last; directory buckets have none, nor have disks.
@pytest.fixture(params=["express", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture(autouse=True)
def areas_by_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what is beside the areas is shown at once."""
    real = FlatStore.list_at_once

    async def at_once(store: FlatStore, path: StorePath) -> Any:
        return await real(store, path) if path.endswith("/_commit") else None

    monkeypatch.setattr(FlatStore, "list_at_once", at_once)


@pytest.mark.guarantees("P1")
def test_a_job_that_ends_while_its_area_is_listed_is_not_taken_for_undecided(
    bucket: Bucket,
) -> None:
    """The epochs were shown before, and without its own."""

    async def main() -> set[str]:
        clock, job = Clock(), PublishesHalf()
        driver = await started(url(bucket), clock, job)
        message = await wrote(driver, "a.txt", "b.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=60))
        await job.begins.reached.wait()
        area = driver.started().layout.area
        to = await opened(url(bucket), Clock(), AreaByPages(area, job, committing))
        found = await committed_files(Reader(to.store, url(bucket), to.bind))
        assert committing.done(), "the area was not listed by pages"
        return {name.partition("-")[0] for name in found.names}

    assert run(main())[0] == {"a", "b"}


def test_what_a_job_says_that_has_decided_nothing_does_not_matter(bucket: Bucket) -> None:
    put(bucket, destination(bucket).job("20261101T000000-0123456789abcdef").spec, b"{}")
    put(bucket, f"{bucket.name}/out/a.txt")

    async def main() -> list[str]:
        to = await opened(url(bucket), Clock())
        return (await committed_files(Reader(to.store, url(bucket), to.bind))).names

    assert run(main())[0] == ["a.txt"]
