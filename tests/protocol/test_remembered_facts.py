"""Jobs that begin on facts of an earlier one: nobody is given one whose facts do not hold."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitFailedError,
    DestinationExistsError,
    Reply,
    StoreError,
    UnsafeStoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.new_job import new_job_at
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.remembered import FactsChangedError
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import cleaned, url
from tests.protocol.in_virtual_time import Clock, Fails, opened, started, straight, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.new_job import NewJob
    from fsspec_commit.store import Confirm
    from tests.protocol.in_virtual_time import Call, Hook

CALL_S = 0.1
FORBIDDEN = UnsafeStoreError("nothing may be deleted there", kind="retention")
UNANSWERED = StoreError("no answer")


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def new(
    bucket: Bucket, *confirms: Confirm, hook: Hook = straight, at: str = "", **more: Any
) -> NewJob:
    clock = Clock()
    to = await opened(url(bucket) + at, clock, hook)
    options: Any = {"mode": "append", **more}
    return await new_job_at(to, options, ids=clock.ids, confirms=confirms)


async def slow(verb: str, path: StorePath, call: Call) -> Any:
    await asyncio.sleep(CALL_S)
    return await call()


def answering(answer: bool | Exception, *, after_s: float = CALL_S) -> Confirm:
    async def confirm() -> bool:
        await asyncio.sleep(after_s)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return confirm


def test_the_question_takes_no_time_of_its_own(bucket: Bucket) -> None:
    async def main() -> None:
        took = []
        for confirms in ((), (answering(True), answering(True))):
            at = f"-{len(confirms)}"
            job, driver = await new(bucket, *confirms, hook=slow, at=at), Driver()
            began_s = asyncio.get_running_loop().time()
            assert await driver.start(job.store, job.with_new_id, job.confirms)
            assert driver.state == "open"
            took.append(asyncio.get_running_loop().time() - began_s)
        assert took == [pytest.approx(CALL_S)] * 2

    run(main())


@pytest.mark.parametrize("after_s", [0, 10 * CALL_S])
@pytest.mark.parametrize("answer", [False, StoreError("who are you?"), FORBIDDEN], ids=repr)
def test_one_that_does_not_hold_withdraws_the_job(
    bucket: Bucket, answer: bool | Exception, after_s: float
) -> None:
    """Whichever comes first; and the driver may start another one."""

    async def main() -> None:
        driver = Driver()
        confirms = answering(True), answering(answer, after_s=after_s)
        job = await new(bucket, *confirms, hook=slow)
        expected = type(answer) if isinstance(answer, Exception) else FactsChangedError
        with pytest.raises(expected):
            await driver.start(job.store, job.with_new_id, job.confirms)
        assert (driver.state, bucket.keys("")) == ("new", [])
        again = await new(bucket)
        assert await driver.start(again.store, again.with_new_id)
        assert driver.state == "open"

    run(main())


@pytest.mark.parametrize("answer", [False, FORBIDDEN], ids=["no", "forbidden"])
def test_a_refusal_on_facts_that_do_not_hold_is_none(
    bucket: Bucket, answer: bool | Exception
) -> None:
    async def main() -> None:
        bucket.put(StorePath(f"{bucket.name}/out/a"), b"", None, Expect.ANYTHING)
        changed = UnsafeStoreError if isinstance(answer, Exception) else FactsChangedError
        for said, raised in ((True, DestinationExistsError), (answer, changed)):
            job = await new(bucket, answering(said), mode="error")
            with pytest.raises(raised):
                await Driver().start(job.store, job.with_new_id, job.confirms)
        assert bucket.keys("") == [f"{bucket.name}/out/a"]

    run(main())


def test_nobody_is_given_the_job_before_the_answer(bucket: Bucket) -> None:
    """No task, no spec, no commit; and who aborts waits for it."""

    async def main() -> None:
        driver, job = Driver(), await new(bucket, answering(True, after_s=60))
        starting = asyncio.create_task(driver.start(job.store, job.with_new_id, job.confirms))
        await asyncio.sleep(30)
        assert [key.rpartition("/")[2] for key in bucket.keys("")] == ["job.json"]
        with pytest.raises(RuntimeError, match="has not started"):
            driver.started()
        aborting = asyncio.create_task(driver.abort())
        await asyncio.sleep(1)
        assert not aborting.done()
        assert await starting
        assert await aborting
        assert (driver.state, bucket.keys("")) == ("aborted", [])

    run(main())


@pytest.mark.parametrize("verb", ["create", "delete"])
def test_one_that_cannot_be_withdrawn_is_told_of_and_in_nobody_s_way(
    bucket: Bucket, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As where nothing may be deleted: when it may again, `clean` removes what was left."""

    async def main() -> None:
        part = {"create": "/decision", "delete": "/job.json"}[verb]
        fails = Fails(verb, part, StoreError("held", reply=Reply.REFUSED))
        forbidden = UnsafeStoreError("nothing may be deleted", kind="retention")
        driver, job = Driver(), await new(bucket, answering(forbidden), hook=fails)
        with pytest.raises(UnsafeStoreError) as caught:
            await driver.start(job.store, job.with_new_id, job.confirms)
        assert driver.job is None
        [spec] = [key for key in bucket.keys("") if key.endswith("/job.json")]
        left = spec.rpartition("/")[0].rpartition("/")[2]
        for told in (caplog.text, *caught.value.__notes__):
            assert left in told
            assert f"fsspec-commit abort {url(bucket)} {left}" in told
        clock = Clock()
        other = await started(url(bucket), clock, mode="overwrite")
        assert await other.commit([await wrote(other, f"{left}.txt")], wait_s=0)
        report = await cleaned(bucket, clock)
        assert (report.aborted, report.not_removed) == ((left,), ())
        assert not [key for key in bucket.keys("") if left in key and "_commit" in key]

    run(main())


def test_one_that_somebody_has_cleaned_up_meanwhile_is_no_trouble(
    bucket: Bucket, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async def cleaning() -> bool:
            await asyncio.sleep(CALL_S)
            assert len((await cleaned(bucket, Clock())).aborted) == 1
            return False

        driver, job = Driver(), await new(bucket, cleaning)
        with pytest.raises(FactsChangedError):
            await driver.start(job.store, job.with_new_id, job.confirms)
        assert (bucket.keys(""), caplog.text) == ([], "")

    run(main())


def test_an_interrupt_leaves_a_job_that_is_aborted(bucket: Bucket) -> None:
    async def main() -> None:
        driver, job = Driver(), await new(bucket, answering(True, after_s=60))
        starting = asyncio.create_task(driver.start(job.store, job.with_new_id, job.confirms))
        await asyncio.sleep(1)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert driver.state == "open"
        assert await driver.abort()
        assert bucket.keys("") == []

    run(main())


@pytest.mark.parametrize("answer", [False, UNANSWERED], ids=repr)
def test_who_has_begun_in_vain_tries_no_other_id(bucket: Bucket, answer: bool | Exception) -> None:
    """As where nothing is answered any more: a first job would have said so long ago."""

    async def main() -> None:
        created: list[str] = []

        async def unanswered(verb: str, path: StorePath, call: Call) -> Any:
            if verb != "create" or not path.endswith("/job.json"):
                return await call()
            created.append(path)
            await asyncio.sleep(60)
            raise StoreError("no answer")

        job = await new(bucket, answering(answer), hook=unanswered)
        expected = StoreError if isinstance(answer, Exception) else FactsChangedError
        with pytest.raises(expected):
            await Driver().start(job.store, job.with_new_id, job.confirms)
        assert len({*created}) == 1

    run(main())


def test_who_starts_again_looks_again(bucket: Bucket) -> None:
    """That there was nothing to do was found by a start that has failed."""

    async def main() -> None:
        driver, data = Driver(), StorePath(f"{bucket.name}/out/a")
        bucket.put(data, b"", None, Expect.ANYTHING)
        job = await new(bucket, answering(UNANSWERED), mode="ignore")
        with pytest.raises(StoreError):
            await driver.start(job.store, job.with_new_id, job.confirms)
        bucket.delete(data, Expect.ANYTHING)
        again = await new(bucket, mode="ignore")
        assert await driver.start(again.store, again.with_new_id)
        assert not driver.is_skipped

    run(main())


def test_an_interrupt_before_anything_was_begun_leaves_a_new_job(bucket: Bucket) -> None:
    async def main() -> None:
        driver, job = Driver(), await new(bucket, answering(True, after_s=60), hook=slow)
        starting = asyncio.create_task(driver.start(job.store, job.with_new_id, job.confirms))
        await asyncio.sleep(0)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert (driver.state, driver.job, bucket.keys("")) == ("new", None, [])

    run(main())


def test_a_job_that_cannot_be_created_is_told_so(bucket: Bucket) -> None:
    async def main() -> None:
        fails = Fails("create", "/job.json", StoreError("disk full", reply=Reply.REFUSED))
        job = await new(bucket, answering(True), hook=fails)
        with pytest.raises(CommitFailedError, match="disk full"):
            await Driver().start(job.store, job.with_new_id, job.confirms)

    run(main())
