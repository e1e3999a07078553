"""Calls of one driver: several at once, interrupted ones, and those that come after a failure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    DestinationExistsError,
    JobNotActiveError,
    PartialCommitError,
    StoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.new_job import new_job_at
from fsspec_commit.protocol.driver import STARTS_MAX, Driver
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.in_virtual_time import (
    Clock,
    Fails,
    Hides,
    Stop,
    opened,
    started,
    straight,
    wrote,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.new_job import NewJob
    from tests.protocol.in_virtual_time import Call, Hook


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[FlatStore]:
    """The stores that were closed."""
    stores: list[FlatStore] = []

    async def close(store: FlatStore) -> None:
        stores.append(store)

    monkeypatch.setattr(FlatStore, "close", close)
    return stores


def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


async def new(bucket: Bucket, hook: Hook = straight, **options: Any) -> NewJob:
    clock = Clock()
    to = await opened(url(bucket), clock, hook)
    return await new_job_at(to, {"mode": "append", **options}, ids=clock.ids)  # type: ignore[typeddict-item]  # as a test says


async def slow(verb: str, path: StorePath, call: Call) -> Any:
    """Others go on while it is asked."""
    await asyncio.sleep(0.1)
    return await call()


def test_of_two_that_start_it_at_once_one_does(bucket: Bucket, closed: list[FlatStore]) -> None:
    """The other one has opened a store for nothing."""

    async def main() -> None:
        driver = Driver()
        jobs = [await new(bucket, slow) for _ in range(2)]
        starting = [driver.start(job.store, job.with_new_id) for job in jobs]
        assert [*await asyncio.gather(*starting)] == [True, False]
        assert (driver.state, len(closed)) == ("open", 1)
        assert len([key for key in bucket.keys("") if key.endswith("/job.json")]) == 1

    run(main())


def test_one_that_was_aborted_before_does_not_start(
    bucket: Bucket, closed: list[FlatStore]
) -> None:
    async def main() -> None:
        driver = Driver()
        assert not await driver.abort()
        assert driver.state == "aborted"
        job = await new(bucket)
        assert not await driver.start(job.store, job.with_new_id)
        assert (driver.state, len(closed), bucket.keys("")) == ("aborted", 1, [])
        for one in (driver, Driver()):
            with pytest.raises(RuntimeError, match="has not started"):
                one.started()

    run(main())


def test_one_that_is_refused_has_not_started(bucket: Bucket, closed: list[FlatStore]) -> None:
    async def main() -> None:
        bucket.put(StorePath(f"{bucket.name}/out/a"), b"", None, Expect.ANYTHING)
        driver, job = Driver(), await new(bucket, mode="error")
        with pytest.raises(DestinationExistsError):
            await driver.start(job.store, job.with_new_id)
        assert (driver.state, len(closed)) == ("new", 1)

    run(main())


def test_one_that_is_interrupted_may_have_started(bucket: Bucket) -> None:
    """The request that creates it may be on its way, so whoever leaves aborts it."""

    async def main() -> None:
        async def carried_out(verb: str, path: StorePath, call: Call) -> Any:
            answer = await call()
            if verb == "create" and path.endswith("/job.json"):
                interrupted.cancel()
                await asyncio.sleep(0)
            return answer

        driver, job = Driver(), await new(bucket, carried_out)
        interrupted = asyncio.create_task(driver.start(job.store, job.with_new_id))
        with pytest.raises(asyncio.CancelledError):
            await interrupted
        assert driver.state == "open"
        assert await driver.abort()
        assert bucket.keys("") == []

    run(main())


@pytest.mark.parametrize("unanswered", [1, STARTS_MAX - 1, STARTS_MAX])
def test_one_whose_start_is_not_answered_begins_under_another_id(
    bucket: Bucket, unanswered: int, closed: list[FlatStore]
) -> None:
    """And looks once what there is; when it has spent many ids, it gives up."""
    for name in ("a", "b"):
        bucket.put(StorePath(f"{bucket.name}/out/{name}"), b"", None, Expect.ANYTHING)

    async def main() -> None:
        spent, listings = set[str](), 0

        async def silent(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal listings
            listings += verb == "list_tree"
            if verb == "create" and len(spent | {path}) <= unanswered:
                spent.add(path)
                raise StoreError("no answer")
            return await call()

        driver, job = Driver(), await new(bucket, silent, mode="ignore")
        if unanswered < STARTS_MAX:
            assert await driver.start(job.store, job.with_new_id)
            assert driver.started().layout.spec not in spent
            assert driver.is_skipped
            assert not closed
        else:
            with pytest.raises(
                CommitFailedError, match=r"cannot start a job at .*no answer"
            ) as one:
                await driver.start(job.store, job.with_new_id)
            assert (one.value.outcome, one.value.stage) == ("not_committed", "start")
            assert (driver.state, len(closed)) == ("new", 1)
        assert (len(spent), listings) == (unanswered, 1)

    run(main())


def test_of_two_that_abort_it_at_once_one_does(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), slow)
        assert [*await asyncio.gather(driver.abort(), driver.abort())] == [True, False]
        assert driver.state == "aborted"

    run(main())


def test_of_two_that_commit_it_at_once_one_does(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), slow)
        message = await wrote(driver, "a.txt")
        both = [driver.commit([message], wait_s=0) for _ in range(2)]
        assert [*await asyncio.gather(*both)] == [True, False]

    run(main())


@pytest.mark.guarantees("P7")
def test_a_decision_that_is_refused_leaves_it_open(bucket: Bucket) -> None:
    """So is a failure after it one of an open job, which nothing can decide any more."""

    async def main() -> None:
        parts = ["/decision", "/claim-"]

        async def refuses(verb: str, path: StorePath, call: Call) -> Any:
            return await Fails("create", parts[0])(verb, path, call)

        driver = await started(url(bucket), Clock(), refuses)
        message = await wrote(driver, "a.txt")
        while parts:
            with pytest.raises(CommitError, match="not yours") as caught:
                await driver.commit([message], wait_s=0)
            assert (caught.value.outcome, driver.state) == ("not_committed", "open")
            del parts[0]

    run(main())


@pytest.mark.guarantees("P7")
def test_whoever_is_too_late_to_abort_it_knows_that_it_is_settled(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock)
        message = await wrote(driver, "a.txt")
        other = Driver((await opened(url(bucket), clock)).bind(driver.started().record))
        assert await other.commit([message], wait_s=0)
        with pytest.raises(JobNotActiveError) as caught:
            await driver.abort()
        assert (caught.value.outcome, driver.state) == ("committed", "settled")
        doubtful = CommitError("of something else")
        assert await driver.instead_of(doubtful) is doubtful
        assert doubtful.outcome == "unknown"

    run(main())


class Late:
    """Answers no decision while it is silent; the first comes just before the next one."""

    def __init__(self) -> None:
        self.is_silent = True
        self._first: Call | None = None
        self.refused = ""

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if self.refused and path.endswith(self.refused):
            raise StoreError("no answer")
        if verb == "create" and path.endswith("/decision"):
            if self.is_silent:
                self._first = self._first or call
                raise StoreError("no answer")
            await self.comes()
        return await call()

    async def comes(self) -> None:
        """The request that was not answered."""
        first, self._first = self._first, None
        if first is not None:
            await first()


@pytest.mark.guarantees("P3", "P7", "P8")
@pytest.mark.parametrize("ends", ["here", "by a resumer"])
def test_a_decision_that_comes_late_is_finished_with_the_files_that_it_names(
    bucket: Bucket, ends: str
) -> None:
    """Another attempt was chosen meanwhile; what was asked first has come first."""

    async def main() -> None:
        late, told, placed = Late(), list[int](), list[int]()
        clock = Clock()
        driver = await started(url(bucket), clock, late, names="exact")
        first, second = await wrote(driver, "first.txt"), await wrote(driver, "second.txt")
        with pytest.raises(CommitStateUnknownError):
            await driver.commit([first], wait_s=0)
        late.is_silent = False
        how: dict[str, Any] = {"wait_s": 0, "announce": told.append, "progress": placed.append}
        if ends == "here":
            assert await driver.commit([second], **how)
            assert driver.result is not None
            assert [*driver.result.files] == ["first.txt"]
            assert (told, sum(placed)) == ([1], 1)
        else:
            late.refused = "/published"
            with pytest.raises(PartialCommitError):
                await driver.commit([second], **how)
            job = (await opened(url(bucket), clock)).bind(driver.started().record)
            await resume_job(job)
            with pytest.raises(JobNotActiveError) as caught:
                await driver.commit([second], **how)
            assert caught.value.outcome == "committed"
        names = {key.rpartition("/")[2] for key in bucket.keys("") if "/_commit/" not in key}
        assert names == {"first.txt", "_SUCCESS"}

    run(main())


@pytest.mark.guarantees("P7", "P8")
def test_a_decision_that_came_late_and_was_finished_by_another_is_committed(
    bucket: Bucket,
) -> None:
    """Between two looks of its own driver, which had not been told that it stands."""

    async def main() -> None:
        clock, late, reads = Clock(), Late(), 0

        async def hook(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal reads
            reads += verb == "read" and path.endswith("/decision") and not late.is_silent
            if reads == 2:
                reads += 1
                await resume_job((await opened(url(bucket), clock)).bind(driver.started().record))
            return await late(verb, path, call)

        driver = await started(url(bucket), clock, hook)
        message = await wrote(driver, "a.txt")
        with pytest.raises(CommitStateUnknownError):
            await driver.commit([message], wait_s=0)
        late.is_silent = False
        await late.comes()
        with pytest.raises(JobNotActiveError) as caught:
            await driver.commit([message], wait_s=0)
        assert (caught.value.outcome, driver.state) == ("committed", "settled")

    run(main())


@pytest.mark.guarantees("P7", "P8")
def test_one_that_has_decided_and_does_not_find_its_job_says_no_more(bucket: Bucket) -> None:
    """Nothing shows that it was finished: who says that it is gone may not be the store."""

    async def main() -> CommitError:
        hides, published = Hides(), Fails("create", "/published")

        async def hook(verb: str, path: StorePath, call: Call) -> Any:
            return await hides(verb, path, lambda: published(verb, path, call))

        driver = await started(url(bucket), Clock(), hook)
        message = await wrote(driver, "a.txt")
        with pytest.raises(PartialCommitError):
            await driver.commit([message], wait_s=0)
        before = bucket.keys("")
        hides.hidden["job_json"] = 1_000
        with pytest.raises(
            PartialCommitError, match="and nothing shows that it has been"
        ) as caught:
            await driver.commit([message], wait_s=0)
        assert bucket.keys("") == before
        assert driver.started().settle_command("resume") in str(caught.value)
        assert caught.value.job_id == driver.started().record.job_id
        return caught.value

    error = run(main())[0]
    assert (error.outcome, error.stage) == ("partial", "resume")


@pytest.mark.parametrize("mode", ["ignore", "append"])
def test_one_that_has_nothing_to_do_is_skipped_and_leaves_nothing(
    bucket: Bucket, mode: str
) -> None:
    async def main() -> None:
        clock = Clock()
        key: dict[str, Any] = {} if mode == "ignore" else {"idempotency_key": "k"}
        for state in ("committed", "skipped"):
            driver = await started(url(bucket), clock, mode=mode, **key)
            assert driver.is_skipped is (state == "skipped")
            message = await wrote(driver, "a.txt")
            assert await driver.commit([message], wait_s=0)
            assert (driver.state, driver.is_skipped) == (state, state == "skipped")
            assert driver.result is not None
            assert driver.result.state == state
            assert not await driver.commit([message], wait_s=0)
        assert not [key for key in bucket.keys("") if "/job.json" in key]
        assert not await driver.abort()

    run(main())


def test_what_came_meanwhile_has_it_skipped_as_well(bucket: Bucket) -> None:
    """What it says at last is what it finds under its claim."""

    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/claim-")
        driver = await started(url(bucket), clock, stop, mode="ignore")
        message = await wrote(driver, "a.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await stop.reached.wait()
        other = await started(url(bucket), clock, mode="append")
        assert await other.commit([await wrote(other, "b.txt")], wait_s=0)
        stop.passed.set()
        assert await committing
        assert (driver.state, driver.is_skipped) == ("skipped", True)

    run(main())
