"""Jobs that begin on facts of an earlier one: nobody is given one whose facts do not hold."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit import new_job
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    DestinationExistsError,
    Reply,
    StoreError,
    UnsafeStoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.location import locate
from fsspec_commit.new_job import new_job_at, start_new_job
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.remembered import FactsChangedError
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import cleaned
from tests.protocol.in_virtual_time import Clock, Fails, opened, started, straight, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.destination import OpenDestination
    from fsspec_commit.ids import IdSource
    from fsspec_commit.location import Location
    from fsspec_commit.new_job import NewJob
    from fsspec_commit.selection import Selection
    from fsspec_commit.store import Confirm, OpenOptions
    from tests.protocol.in_virtual_time import Call, Hook

CALL_S = 0.1
FORBIDDEN = UnsafeStoreError("nothing may be deleted there", kind="retention")
UNANSWERED = StoreError("no answer")


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


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
        driver, job = Driver(), await new(bucket, answering(FORBIDDEN), hook=fails)
        with pytest.raises(UnsafeStoreError):
            await driver.start(job.store, job.with_new_id, job.confirms)
        assert driver.job is not None
        left = driver.job.record.job_id
        assert left in caplog.text
        assert f"fsspec-commit abort {url(bucket)} {left}" in caplog.text
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


def test_a_job_that_cannot_be_created_is_told_so(bucket: Bucket) -> None:
    async def main() -> None:
        fails = Fails("create", "/job.json", StoreError("disk full", reply=Reply.REFUSED))
        job = await new(bucket, answering(True), hook=fails)
        with pytest.raises(CommitFailedError, match="disk full"):
            await Driver().start(job.store, job.with_new_id, job.confirms)

    run(main())


class Memory:
    """What opens a store that remembers what its bucket was, and is asked what it is by now.

    Attributes:
        now: What it is, or how an answer fails.
        asked: How often that was asked for.
        gone_by: What each opening was told, in turn.
    """

    def __init__(self, bucket: Bucket, hook: Hook = straight) -> None:
        self.now: str | Exception = "as before"
        self.asked = 0
        self.gone_by: list[tuple[OpenDestination, str]] = []
        self._bucket, self._hook, self._clock = bucket, hook, Clock()

    async def open_destination(
        self, location: Location, options: OpenOptions, *, ids: IdSource
    ) -> OpenDestination:
        remembers = options.later is not None
        facts = "as before" if remembers else await self._ask()
        to = await opened(location.url, self._clock, self._hook)
        self.gone_by.append((to, facts))
        if options.later is not None:
            options.later(self._holds)
        return to

    async def start(self, driver: Driver, **options: Any) -> bool:
        given: Any = {"mode": "append", **options}
        chosen: list[Selection] = []
        is_first = await start_new_job(
            driver, locate(url(self._bucket)), given, ids=self._clock.ids, chosen=chosen.append
        )
        assert len(chosen) == len(self.gone_by)
        return is_first

    async def _holds(self) -> bool:
        return await self._ask() == "as before"

    async def _ask(self) -> str:
        self.asked += 1
        await asyncio.sleep(CALL_S)
        if isinstance(self.now, Exception):
            raise self.now
        return self.now


@pytest.fixture
def memory(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory(bucket)
    monkeypatch.setattr(new_job, "open_destination", memory.open_destination)
    return memory


def test_what_holds_is_asked_once(memory: Memory) -> None:
    async def main() -> None:
        driver = Driver()
        assert await memory.start(driver)
        assert (memory.asked, len(memory.gone_by)) == (1, 1)

    run(main())


def test_what_has_changed_is_asked_anew_and_all_that_was_chosen_by_it_with_it(
    memory: Memory, bucket: Bucket
) -> None:
    """Another store, another id."""

    async def main() -> None:
        memory.now = "changed"
        driver = Driver()
        assert await memory.start(driver)
        (_, before), (to, facts) = memory.gone_by
        assert (before, facts, memory.asked) == ("as before", "changed", 2)
        job = driver.started()
        assert job.store is to.store
        assert bucket.keys("") == [job.layout.spec]

    run(main())


def test_a_committer_that_is_refused_is_chosen_by_what_holds(memory: Memory) -> None:
    """By facts that are remembered it might be refused wrongly."""

    async def main() -> None:
        with pytest.raises(UnsafeStoreError, match="v1"):
            await memory.start(Driver(), committer="v1")
        assert [facts for _, facts in memory.gone_by] == ["as before", "as before"]
        assert memory.asked == 1

    run(main())


class Died(BaseException):
    """The process has: it sends nothing more."""


class Fault:
    """Meets one call of a start, the *nth*."""

    def __init__(self, what: str, nth: int) -> None:
        self._what, self._left = what, nth
        self.is_met = False

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        self._left -= 1
        if self._left > 0 or (self.is_met and self._what != "dies"):
            return await call()
        self.is_met = True
        if self._what == "dies":
            raise Died
        if self._what == "reply lost":
            await call()
        raise StoreError("held", reply=Reply.REFUSED if self._what == "refused" else Reply.UNKNOWN)


@pytest.mark.parametrize("now", ["as before", "changed", FORBIDDEN, UNANSWERED], ids=repr)
@pytest.mark.parametrize("what", ["dies", "refused", "reply lost", "request lost"])
def test_whichever_call_fails_nobody_is_given_what_does_not_hold(
    bucket: Bucket, what: str, now: str | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is left behind, `clean` removes."""

    async def main(fault: Fault) -> None:
        memory = Memory(bucket, fault)
        monkeypatch.setattr(new_job, "open_destination", memory.open_destination)
        memory.now = now
        driver = Driver()
        (told,) = await asyncio.gather(memory.start(driver), return_exceptions=True)
        if told is True:
            to, facts = memory.gone_by[-1]
            assert (driver.started().store, facts) == (to.store, now)
        elif not isinstance(told, Died):
            assert isinstance(told, CommitError | StoreError)
            assert driver.state == "new"
            assert fault.is_met or told is now
        await cleaned(bucket, Clock())
        assert bucket.keys("") == []

    for nth in range(1, 20):
        fault = Fault(what, nth)
        run(main(fault))
        if not fault.is_met:
            assert nth > 1
            return
    pytest.fail("a start takes fewer calls")
