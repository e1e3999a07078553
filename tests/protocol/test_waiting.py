"""Who waits for whom, for how long, and what is said: claims of several jobs, in virtual time."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    ConcurrentJobError,
    JobNotActiveError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol import sign_of_life
from fsspec_commit.store import Expect
from tests.flat.bucket import GCS, VERSIONED, make_bucket, remove_bucket
from tests.protocol.in_virtual_time import Clock, Stop, Then, started, straight, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.protocol.driver import Driver
    from tests.flat.bucket import Bucket
    from tests.protocol.in_virtual_time import Call, Hook

FENCE_S = sign_of_life.FENCE_S
pytestmark = pytest.mark.guarantees("P11")


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket({"gcs": GCS, "versioned": VERSIONED}[request.param])
    yield bucket
    remove_bucket(bucket)


def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


def shown(bucket: Bucket) -> set[str]:
    """The names of visible files, up to what makes them unique."""
    names = {key.rpartition("/")[2] for key in bucket.keys("") if "/_commit/" not in key}
    return {name.partition("-")[0] for name in names} - {"_SUCCESS"}


def left(bucket: Bucket, part: str) -> list[str]:
    return [key for key in bucket.keys("") if part in key]


class Two(NamedTuple):
    """An older job that stops somewhere, and a newer one; both overwrite."""

    older: Driver
    newer: Driver
    stop: Stop

    async def commit_older(self, **how: Any) -> None:
        await commit(self.older, "older", **how)

    async def commit_newer(self, **how: Any) -> None:
        await commit(self.newer, "newer", **how)


async def commit(driver: Driver, name: str, *, wait_s: float = 60) -> None:
    await driver.commit([await wrote(driver, f"{name}.txt")], wait_s=wait_s)


async def two(bucket: Bucket, stop: Stop, *, which: str, hook: Hook = straight) -> Two:
    clock = Clock()
    hooks = {which: stop}
    older, newer = [
        await started(url(bucket), clock, hooks.get(who, hook), mode="overwrite")
        for who in ("older", "newer")
    ]
    return Two(older, newer, stop)


def test_an_older_one_that_claims_is_waited_for(bucket: Bucket) -> None:
    """Without a claim of one's own, so that it gets past; then the newer one goes on."""

    async def main() -> None:
        jobs = await two(bucket, Stop("create", "/decision"), which="older")
        first = asyncio.create_task(jobs.commit_older())
        await jobs.stop.reached.wait()
        second = asyncio.create_task(jobs.commit_newer())
        await asyncio.sleep(FENCE_S * 2)
        assert len(left(bucket, "/claim-")) == 1
        jobs.stop.passed.set()
        await first
        await second

    run(main())
    assert shown(bucket) == {"newer"}


@pytest.mark.parametrize(
    ("verb", "part", "doing", "command"),
    [
        ("create", "/decision", "is committing", "abort"),
        ("create", "/published", "is committed but not finished", "resume"),
    ],
)
def test_who_has_waited_long_enough_says_for_whom(
    bucket: Bucket, verb: str, part: str, doing: str, command: str
) -> None:
    """Nothing of it is left that another one would wait for, and it can commit again."""

    async def main() -> float:
        jobs = await two(bucket, Stop(verb, part), which="older")
        first = asyncio.create_task(jobs.commit_older())
        await jobs.stop.reached.wait()
        message = await wrote(jobs.newer, "newer.txt")
        began = asyncio.get_running_loop().time()
        with pytest.raises(ConcurrentJobError, match=doing) as caught:
            await jobs.newer.commit([message], wait_s=7)
        took = asyncio.get_running_loop().time() - began
        older = jobs.older.started().record.job_id
        assert f"fsspec-commit {command} {url(bucket)} {older}" in str(caught.value)
        assert caught.value.other_job_id == older
        assert caught.value.job_id == jobs.newer.started().record.job_id
        assert (caught.value.outcome, caught.value.stage) == ("not_committed", "claim")
        assert jobs.newer.state == "open"
        assert len(left(bucket, "/claim-")) == 1
        jobs.stop.passed.set()
        await first
        assert await jobs.newer.commit([message], wait_s=0)
        return took

    assert 7 <= run(main())[0] < 8
    assert shown(bucket) == {"newer"}


def test_who_does_not_wait_asks_once(bucket: Bucket) -> None:
    async def main() -> float:
        jobs = await two(bucket, Stop("create", "/published"), which="older")
        first = asyncio.create_task(jobs.commit_older())
        await jobs.stop.reached.wait()
        message = await wrote(jobs.newer, "newer.txt")
        began = asyncio.get_running_loop().time()
        with pytest.raises(ConcurrentJobError):
            await jobs.newer.commit([message], wait_s=0)
        took = asyncio.get_running_loop().time() - began
        jobs.stop.passed.set()
        await first
        return took

    assert run(main())[0] == 0


def test_who_waits_long_says_so_once(bucket: Bucket, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> str:
        jobs = await two(bucket, Stop("create", "/published"), which="older")
        first = asyncio.create_task(jobs.commit_older())
        await jobs.stop.reached.wait()
        second = asyncio.create_task(jobs.commit_newer())
        await asyncio.sleep(0.05)
        assert not caplog.records, "nobody has noticed it so far"
        await asyncio.sleep(30)
        jobs.stop.passed.set()
        await first
        await second
        return jobs.older.started().record.job_id

    caplog.set_level(logging.INFO, "fsspec_commit")
    older = run(main())[0]
    [record] = [record for record in caplog.records if hasattr(record, "waits_for")]
    assert record.waits_for == older
    assert "waits: job" in record.message


def test_a_newer_one_that_decides_just_before_its_fence_is_waited_for(bucket: Bucket) -> None:
    """It seemed dead for long enough; what counts is which decision stands."""

    async def main() -> None:
        stop = Stop("create", "/decision")
        published = Stop("create", "/published")

        async def both(verb: str, path: StorePath, call: Call) -> Any:
            return await stop(verb, path, lambda: published(verb, path, call))

        async def goes_on() -> None:
            stop.passed.set()
            await published.reached.wait()

        hook = Then("create", "/decision", goes_on)
        clock = Clock()
        older = await started(url(bucket), clock, hook, mode="overwrite")
        newer = await started(url(bucket), clock, both, mode="overwrite")
        jobs = Two(older, newer, stop)
        second = asyncio.create_task(jobs.commit_newer())
        await stop.reached.wait()
        first = asyncio.create_task(jobs.commit_older())
        await published.reached.wait()
        await asyncio.sleep(FENCE_S)
        assert not first.done()
        assert not left(bucket, f"{older.started().record.job_id}/decision")
        published.passed.set()
        await second
        await first

    run(main())
    assert shown(bucket) == {"older"}


def test_a_job_with_a_damaged_record_is_in_the_way_of_those_that_it_meets(bucket: Bucket) -> None:
    """Its decision can be read, and says what it touches."""

    async def main() -> None:
        clock = Clock()
        where: dict[str, Any] = {"mode": "overwrite_partitions"}
        stop = Stop("create", "/published")
        damaged = await started(url(bucket), clock, stop, **where)
        commits = asyncio.create_task(
            damaged.commit([await wrote(damaged, "day=1/a.txt")], wait_s=0)
        )
        await stop.reached.wait()
        path = damaged.started().layout.published
        bucket.put(path, b"garbage", None, Expect.ANYTHING)
        other = await started(url(bucket), clock, **where)
        assert await other.commit([await wrote(other, "day=2/b.txt")], wait_s=0)
        other = await started(url(bucket), clock, **where)
        job_id = damaged.started().record.job_id
        command = f"clean {url(bucket)} --damaged {job_id} --delete"
        with pytest.raises(ConcurrentJobError, match=command):
            await other.commit([await wrote(other, "day=1/b.txt")], wait_s=0)
        commits.cancel()

    run(main())


def test_whose_area_goes_before_the_claim_is_told_that_the_job_is_over(bucket: Bucket) -> None:
    async def main() -> CommitError:
        job: Driver

        async def remove() -> None:
            for key in bucket.keys(f"{job.started().layout.area}/"):
                bucket.delete(StorePath(key), Expect.ANYTHING)

        job = await started(url(bucket), Clock(), Then("create", "/claim-", remove))
        with pytest.raises(JobNotActiveError) as caught:
            await commit(job, "a")
        return caught.value

    assert run(main())[0].outcome == "unknown"
    assert shown(bucket) == set()


@pytest.mark.parametrize("single_writer", [False, True])
def test_a_listing_in_which_ones_own_job_is_not_is_believed_by_nobody(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, *, single_writer: bool
) -> None:
    """Others may be missing as well; but to whom nobody else writes, that is no matter."""
    from tests.flat.store import FlatStore

    listing = FlatStore.list_children

    async def lagging(self: FlatStore, path: StorePath) -> Any:
        async for child in listing(self, path):
            if not path.endswith("/_commit"):
                yield child

    async def main() -> None:
        job = await started(url(bucket), Clock(), single_writer=single_writer)
        message = await wrote(job, "a.txt")
        monkeypatch.setattr(FlatStore, "list_children", lagging)
        if single_writer:
            assert await job.commit([message], wait_s=0)
            return
        with pytest.raises(CommitFailedError, match="stands and is not listed") as caught:
            await job.commit([message], wait_s=0)
        assert caught.value.job_id == job.started().record.job_id
        assert caught.value.path == job.started().layout.area

    run(main())


def test_who_is_alone_lists_the_areas_beside_its_claim_and_once_after_it(bucket: Bucket) -> None:
    """Also one with names that others may write: nobody can have left word since."""

    async def main() -> int:
        calls = Stop("never", "")
        job = await started(url(bucket), Clock(), calls, names="exact")
        message = await wrote(job, "a.txt")
        calls.calls.clear()
        assert await job.commit([message], wait_s=0)
        return sum(
            verb == "list_children" and path.endswith("/_commit") for verb, path in calls.calls
        )

    assert run(main())[0] == 2
