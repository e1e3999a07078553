"""A driver goes no further than its claim when its job is decided, or over."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import CommitFailedError, JobNotActiveError, Reply, StoreError
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.commit import commit_job
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import cleaned, url
from tests.protocol.in_virtual_time import (
    SOME_TIME_S,
    Clock,
    Fails,
    Hides,
    Sleeper,
    Stop,
    Then,
    attempt,
    opened,
    started,
    wrote,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.driver import Driver
    from fsspec_commit.records.job import TaskCommit
    from tests.protocol.in_virtual_time import Call, Hook


LOOKS = (("read", "decision"), ("stat", "job.json"))


@pytest.fixture(params=["gcs", "versioned", "minio", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.guarantees("P5", "P7", "P8")
@pytest.mark.parametrize("how", ["committed", "aborted"])
def test_what_a_task_commits_while_its_job_ends_is_no_loss(bucket: Bucket, how: str) -> None:
    """Whoever has its message finds ``job.json``, and that the job is decided."""

    async def main() -> None:
        clock, sleeper = Clock(), Sleeper()
        driver = await started(url(bucket), clock, sleeper)
        first = await wrote(driver, "a.txt")

        async def commits() -> None:
            await asyncio.sleep(1)  # What is listed beside this is listed by then.
            message = await wrote(driver, "a.txt")
            sleeper.ended = asyncio.ensure_future(driver.commit([message], wait_s=0))
            await asyncio.sleep(1)

        hook = Then("delete", "/job.json", commits)
        job = (await opened(url(bucket), clock, hook)).bind(driver.started().record)
        if how == "committed":
            await commit_job(job, [first], wait_s=0)
        else:
            await abort_job(job, by="an aborter")
        assert hook.done
        await sleeper.wake()
        report = await cleaned(bucket, clock)
        assert report.shown == ()
        assert not bucket.keys(f"{job.layout.area}/")
        assert sleeper.ended is not None
        told = sleeper.ended.exception()
        assert isinstance(told, JobNotActiveError)
        assert told.outcome == ("committed" if how == "committed" else "not_committed")

    run(main())


@pytest.mark.guarantees("P5", "P7", "P8")
@pytest.mark.parametrize("looks", [1, 2])
def test_a_job_that_ends_between_two_looks_of_another_driver_is_over(
    bucket: Bucket, looks: int
) -> None:
    """It looks for a decision, and then for ``job.json``: in this order, no decision has gone."""

    async def main() -> None:
        clock, sleeper = Clock(), Sleeper()
        has_looked, is_over = asyncio.Event(), asyncio.Event()
        left = 0

        async def watched(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal left
            answer = await sleeper(verb, path, call)
            if (verb, path.rpartition("/")[2]) in LOOKS and left:
                left -= 1
                if not left:
                    has_looked.set()
                    await is_over.wait()
            return answer

        driver = await started(url(bucket), clock, watched)
        first = await wrote(driver, "a.txt")

        async def commits() -> None:
            nonlocal left
            await asyncio.sleep(1)  # What is listed beside this is listed by then.
            message = await attempt(job, ["a.txt"])
            left = looks
            sleeper.ended = asyncio.ensure_future(driver.commit([message], wait_s=0))
            await asyncio.sleep(1)
            assert has_looked.is_set() or sleeper.ended.done()

        hook = Then("delete", "/job.json", commits)
        job = (await opened(url(bucket), clock, hook)).bind(driver.started().record)
        await commit_job(job, [first], wait_s=0)
        is_over.set()
        await sleeper.wake()
        report = await cleaned(bucket, clock)
        assert report.shown == ()
        assert not bucket.keys(f"{job.layout.area}/")
        assert sleeper.ended is not None
        assert isinstance(sleeper.ended.exception(), JobNotActiveError)

    run(main())


@pytest.mark.guarantees("P5", "P8")
def test_no_decision_names_a_manifest_that_comes_when_the_area_is_listed(bucket: Bucket) -> None:
    """Its task has found ``job.json``, and the driver that has its message finds none."""

    async def main() -> None:
        clock, sleeper, is_listed = Clock(), Sleeper(), asyncio.Event()
        driver = await started(url(bucket), clock, sleeper)
        record = driver.started().record

        async def is_slow(verb: str, path: StorePath, call: Call) -> Any:
            if verb == "create" and "/manifests/" in path:
                await is_listed.wait()
            return await call()

        task = asyncio.ensure_future(
            attempt((await opened(url(bucket), clock, is_slow)).bind(record), ["a.txt"])
        )
        await asyncio.sleep(1)

        async def aborts(verb: str, path: StorePath, call: Call) -> Any:
            if verb.startswith("delete") and not path.endswith("/job.json"):
                is_listed.set()
                await asyncio.wait([task])
            return await call()

        job = (await opened(url(bucket), clock, aborts)).bind(record)
        await abort_job(job, by="an aborter")
        assert is_listed.is_set()
        committing = driver.commit([await task], wait_s=0)
        sleeper.ended = asyncio.ensure_future(committing)
        await sleeper.wake()
        with pytest.raises(JobNotActiveError):
            await sleeper.ended
        report = await cleaned(bucket, clock)
        assert report.shown == ()
        assert not bucket.keys(f"{job.layout.area}/")

    run(main())


@pytest.mark.guarantees("P7", "P11")
@pytest.mark.parametrize(("verb", "name"), LOOKS)
def test_a_look_that_fails_leaves_no_claim(bucket: Bucket, verb: str, name: str) -> None:
    """The job is open as before, and in nobody's way."""

    async def main() -> None:
        fails = Fails("nothing yet", f"/{name}", StoreError("not now"))
        driver = await started(url(bucket), Clock(), fails)
        message = await wrote(driver, "a.txt")
        area = f"{driver.started().layout.area}/"
        fails.verb = verb
        with pytest.raises(CommitFailedError, match="not now") as caught:
            await driver.commit([message], wait_s=0)
        assert caught.value.outcome == "not_committed"
        assert not [path for path in bucket.keys(area) if "/claim-" in path]
        fails.verb = "nothing any more"
        await driver.commit([message], wait_s=0)
        assert not bucket.keys(area)

    run(main())


async def settled_by_a_twin(
    bucket: Bucket, hook: Hook, **options: Any
) -> tuple[Driver, list[TaskCommit]]:
    """A driver, and its message of another attempt than the one that its twin has published."""
    clock = Clock()
    driver = await started(url(bucket), clock, hook, **options)
    messages = [[await wrote(driver, "a.txt")], [await wrote(driver, "a.txt")]]
    if driver.started().record.collect == "store":
        messages = [[], []]
    dies = Fails("delete", "/job.json", Crash())
    job = (await opened(url(bucket), clock, dies)).bind(driver.started().record)
    with suppress(Crash):
        await commit_job(job, messages[0], wait_s=0)
    assert job.layout.published in bucket.keys(job.layout.area)
    return driver, messages[1]


STORED = {"collect": "store", "tasks": 1}


@pytest.mark.guarantees("P7", "P11")
@pytest.mark.parametrize("options", [{}, {"single_writer": True}, STORED], ids=str)
def test_a_driver_whose_job_is_decided_leaves_no_claim(
    bucket: Bucket, options: dict[str, Any]
) -> None:
    """Nor does it ask for a decision."""

    async def main() -> None:
        calls: list[tuple[str, str]] = []

        async def noted(verb: str, path: StorePath, call: Call) -> Any:
            calls.append((verb, path.rpartition("/")[2].partition("-")[0]))
            return await call()

        driver, messages = await settled_by_a_twin(bucket, noted, **options)
        with pytest.raises(JobNotActiveError) as caught:
            await driver.commit(messages, wait_s=0)
        assert caught.value.outcome == "committed"
        assert ("read", "decision") in calls
        assert calls.count(("create", "claim")) == calls.count(("delete", "claim")) == 1
        assert ("create", "decision") not in calls

    run(main())


@pytest.mark.guarantees("P7", "P8", "P11")
def test_a_claim_that_is_made_again_is_of_a_job_that_is_undecided(bucket: Bucket) -> None:
    """It was withdrawn to let an older job pass, and the wait may have been long."""

    async def main() -> None:
        clock, older_stands = Clock(), Stop("create", "/decision")
        calls: list[tuple[str, str]] = []

        async def noted(verb: str, path: StorePath, call: Call) -> Any:
            calls.append((verb, path.rpartition("/")[2].partition("-")[0]))
            return await call()

        older = await started(url(bucket), clock, older_stands, mode="overwrite")
        driver = await started(url(bucket), clock, noted, mode="overwrite")
        older_message, message = await wrote(older, "a.txt"), await wrote(driver, "b.txt")
        first = asyncio.ensure_future(older.commit([older_message], wait_s=0))
        await older_stands.reached.wait()
        waiting = asyncio.ensure_future(driver.commit([message], wait_s=3600))
        await asyncio.sleep(SOME_TIME_S)
        assert calls.count(("create", "claim")) == calls.count(("delete", "claim")) == 1
        dies = Fails("delete", "/job.json", Crash())
        job = (await opened(url(bucket), clock, dies)).bind(driver.started().record)
        with pytest.raises(Crash):
            await abort_job(job, by="an aborter")
        older_stands.passed.set()
        await first
        with pytest.raises(JobNotActiveError) as caught:
            await waiting
        assert caught.value.outcome == "not_committed"
        assert calls.count(("create", "claim")) == 2
        assert ("create", "decision") not in calls

    run(main())


@pytest.mark.guarantees("P7")
@pytest.mark.parametrize("reply", [Reply.REFUSED, Reply.UNKNOWN])
@pytest.mark.parametrize("verb", ["create", "delete"])
def test_who_has_found_a_decision_says_so_whatever_else_fails(
    bucket: Bucket, verb: str, reply: Reply
) -> None:
    """It was told that nothing is committed, of files that its twin had published."""

    async def main() -> None:
        fails = has_looked = False

        async def failing(of: str, path: StorePath, call: Call) -> Any:
            nonlocal has_looked
            asked = of, path.rpartition("/")[2].partition("-")[0]
            if not fails or asked not in {(verb, "claim"), ("read", "decision")}:
                return await call()
            if asked == ("read", "decision") and not has_looked:
                has_looked = True
                return await call()
            raise StoreError("not now", reply=reply)

        driver, messages = await settled_by_a_twin(bucket, failing)
        fails = True
        with pytest.raises(JobNotActiveError, match="was decided by another driver") as caught:
            await driver.commit(messages, wait_s=0)
        assert caught.value.outcome == "unknown"

    run(main())


@pytest.mark.guarantees("P8")
def test_a_job_that_is_not_found_once_is_looked_for_again(bucket: Bucket) -> None:
    """The answer may be that of a proxy."""

    async def main() -> None:
        hides = Hides("stat", job_json=0)
        driver = await started(url(bucket), Clock(), hides)
        message = await wrote(driver, "a.txt")
        hides.hidden["job_json"] = 1
        await driver.commit([message], wait_s=0)
        assert hides.hidden["job_json"] == 0

    run(main())
