"""What drivers, aborters and resumers are told: whose job it is, what stands, what to do now."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    CommitStateUnknownError,
    JobNotActiveError,
    PartialCommitError,
    RequestError,
    StoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.store import Expect
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
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

    from fsspec_commit.protocol.bound_job import BoundJob
    from fsspec_commit.protocol.driver import Driver
    from tests.protocol.in_virtual_time import Call, Hook


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


def notes(error: CommitError) -> str:
    return "\n".join(getattr(error, "__notes__", []))


def settle(bucket: Bucket, job: BoundJob) -> None:
    for key in bucket.keys(f"{job.layout.area}/"):
        bucket.delete(StorePath(key), Expect.ANYTHING)


async def by_another(driver: Driver, bucket: Bucket, clock: Clock, hook: Hook) -> BoundJob:
    """The job of a driver, as another process has it."""
    return (await opened(url(bucket), clock, hook)).bind(driver.started().record)


async def fails(driver: Driver, **how: Any) -> CommitError:
    with pytest.raises(CommitError) as caught:
        await driver.commit([await wrote(driver, "a.txt")], **{"wait_s": 0, **how})
    error = caught.value
    assert error.__cause__ is not error
    return error


@pytest.mark.guarantees("P7")
def test_who_is_not_told_whether_he_has_decided_is_told_what_to_do(bucket: Bucket) -> None:
    async def main() -> tuple[CommitError, BoundJob]:
        driver = await started(
            url(bucket), Clock(), Fails("create", "/decision", StoreError("no answer"))
        )
        error = await fails(driver)
        assert driver.state == "deciding"
        return error, driver.started()

    error, job = run(main())[0]
    assert isinstance(error, CommitStateUnknownError)
    assert (error.outcome, error.job_id) == ("unknown", job.record.job_id)
    assert job.settle_command("resume") in notes(error)


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize(
    ("verb", "part", "done"),
    [
        ("rename", "/a-", 0),
        ("complete", "/a-", 0),
        ("create", "/published", 1),
        ("create", "/epoch-", 1),
    ],
)
def test_who_cannot_finish_is_told_how_far_it_came(
    bucket: Bucket, verb: str, part: str, done: int
) -> None:
    async def main() -> tuple[CommitError, BoundJob] | None:
        driver = await started(url(bucket), Clock(), Fails(verb, part))
        job = driver.started()
        if verb in {"rename", "complete"} and (verb == "rename") != (job.store.files is not None):
            return None
        error = await fails(driver)
        assert driver.state == "deciding"
        again = await opened(url(bucket), Clock())
        await resume_job(again.bind(job.record))
        for _ in range(2):
            with pytest.raises(JobNotActiveError, match="finished by somebody else") as over:
                await driver.commit([], wait_s=0)
            assert (over.value.outcome, over.value.stage) == ("committed", "finish")
        return error, job

    told = run(main())[0]
    if told is None:
        return
    error, job = told
    assert isinstance(error, PartialCommitError)
    assert (error.outcome, error.job_id) == ("partial", job.record.job_id)
    assert job.settle_command("resume") in notes(error)
    if not done:
        assert (error.done, error.remaining, error.stage) == (0, 1, "publish")
        assert "0 of 1 files are in place" in str(error)


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("bucket", ["gen2"], indirect=True)
def test_who_may_not_make_a_directory_is_told_that_no_file_is_in_place(bucket: Bucket) -> None:
    """It is made beside the removal of the stale marker, before the first file is published."""

    async def main() -> CommitError:
        driver = await started(url(bucket), Clock(), Fails("make_directory", "/day=1"))
        with pytest.raises(PartialCommitError, match="0 of 1 files are in place") as caught:
            await driver.commit([await wrote(driver, "day=1/a.txt")], wait_s=0)
        again = await opened(url(bucket), Clock())
        await resume_job(again.bind(driver.started().record))
        return caught.value

    error = run(main())[0]
    assert isinstance(error, PartialCommitError)
    assert (error.done, error.remaining, error.stage) == (0, 1, "publish")
    assert isinstance(error.__cause__, StoreError)
    assert [key for key in bucket.keys("") if "/day=1/" in key]


def test_who_resumes_is_not_told_that_published_files_are_missing(bucket: Bucket) -> None:
    """What he cannot do is done after all of them are in place, by the driver before him."""

    async def main() -> CommitError:
        fails_later = Fails("create", "/epoch-")
        driver = await started(url(bucket), Clock(), fails_later)
        await fails(driver)
        other = await by_another(driver, bucket, Clock(), fails_later)
        with pytest.raises(PartialCommitError) as caught:
            await resume_job(other)
        return caught.value

    error = run(main())[0]
    assert "are in place" not in str(error)
    assert error.stage == "finish"


@pytest.mark.guarantees("P5")
def test_who_aborts_is_told_that_the_job_is_committed(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), Fails("create", "/published"))
        await fails(driver)
        job = await by_another(driver, bucket, Clock(), Hides())
        with pytest.raises(JobNotActiveError, match="was committed by") as caught:
            await abort_job(job, by="an aborter")
        assert (caught.value.outcome, caught.value.stage) == ("committed", "decide")
        assert job.settle_command("resume") in notes(caught.value)
        await resume_job(job)

    run(main())


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("bucket", ["gen2"], indirect=True)
@pytest.mark.parametrize("error", [None, StoreError("no answer")], ids=["refused", "unanswered"])
def test_who_aborts_too_late_is_told_so_whatever_he_leaves(
    bucket: Bucket, error: StoreError | None
) -> None:
    """His decision has made the area anew: it goes, and, if it cannot, he is told no otherwise."""

    async def main() -> None:
        driver = await started(url(bucket), Clock())
        area = driver.started().layout.area
        assert await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
        told = []
        for hook in (straight, Fails("remove_empty_directory", area, error)):
            late = await by_another(driver, bucket, Clock(), hook)
            with pytest.raises(JobNotActiveError) as caught:
                await abort_job(late, by="an aborter")
            told.append((caught.value.outcome, str(caught.value)))
            assert bucket.keys(f"{area}/") == []
            assert (area in bucket.directories) == (hook is not straight)
        assert told[0] == told[1]

    run(main())


@pytest.mark.guarantees("P5")
def test_two_who_abort_are_both_told_that_it_is_done(bucket: Bucket) -> None:
    """The first one has removed the area, just when the other has read its decision."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock)
        job, reads = driver.started(), 0

        async def gone(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal reads
            if verb == "read" and path == job.layout.decision:
                reads += 1
                if reads > 2:  # What its own create met, and who has decided; then it is removed.
                    settle(bucket, job)
            return await call()

        dies = await by_another(driver, bucket, clock, Fails("delete", "", Crash()))
        with pytest.raises(Crash):
            await abort_job(dies, by="the first")
        await abort_job(await by_another(driver, bucket, clock, gone), by="the second")
        assert reads > 2
        assert bucket.keys("") == []

    run(main())


def test_an_abort_that_is_read_once_and_then_not_proves_nothing(bucket: Bucket) -> None:
    """Nothing is deleted: the answer may not be the store's."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock)
        dies = await by_another(driver, bucket, clock, Fails("delete", "", Crash()))
        with pytest.raises(Crash):
            await abort_job(dies, by="the first")
        before, hides, reads = bucket.keys(""), Hides(), 0

        async def hidden(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal reads
            reads += verb == "read" and path.endswith("/decision")
            if reads > 2:
                hides.hidden["decision"] = 1
            return await hides(verb, path, call)

        job = await by_another(driver, bucket, clock, hidden)
        with pytest.raises(CommitStateUnknownError, match="now cannot be found") as caught:
            await abort_job(job, by="the second")
        assert caught.value.job_id == job.record.job_id
        assert caught.value.path == job.layout.decision
        assert bucket.keys("") == before

    run(main())


@pytest.mark.guarantees("P5", "P7")
def test_who_was_aborted_is_told_by_whom(bucket: Bucket) -> None:
    async def main() -> CommitError:
        clock, stop = Clock(), Stop("create", "/decision")
        driver = await started(url(bucket), clock, stop)
        committing = asyncio.create_task(fails(driver))
        await stop.reached.wait()
        dies = await by_another(driver, bucket, clock, Fails("delete", "", Crash()))
        with pytest.raises(Crash):
            await abort_job(dies, by="an operator")
        stop.passed.set()
        error = await committing
        assert driver.state == "settled"
        return error

    error = run(main())[0]
    assert isinstance(error, JobNotActiveError)
    assert (error.outcome, error.stage) == ("not_committed", "decide")
    assert "was aborted by an operator; nothing of it is visible" in str(error)


@pytest.mark.guarantees("P7")
@pytest.mark.parametrize("again", [False, True])
def test_a_decision_in_an_area_that_is_over_is_taken_back(bucket: Bucket, *, again: bool) -> None:
    """But not where job.json is seen again: then the first answer was not the store's."""

    async def main() -> CommitError:
        clock, job_gone = Clock(), Hides()
        driver: Driver

        async def over(verb: str, path: StorePath, call: Call) -> Any:
            answer = await job_gone(verb, path, call)
            if verb == "create" and path.endswith("/decision"):
                # It is neither found nor listed, and the next listing shows it, or it is gone.
                job_gone.hidden["job_json"] = 2
                if not again:
                    bucket.delete(driver.started().layout.spec, Expect.ANYTHING)
            return answer

        driver = await started(url(bucket), clock, over)
        error = await fails(driver)
        assert (driver.started().layout.decision in bucket.keys("")) is again
        return error

    error = run(main())[0]
    assert error.outcome == "unknown"
    assert isinstance(error, CommitStateUnknownError if again else JobNotActiveError)
    if again:
        assert "was not found, but is listed" in str(error)
        assert (error.path or "").endswith("/job.json")
        assert error.job_id is not None


def test_who_resumes_what_is_not_decided_is_told_what_it_is(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock)
        job = await by_another(driver, bucket, clock, Hides())
        with pytest.raises(RequestError, match="has not decided") as undecided:
            await resume_job(job)
        assert (undecided.value.kind, undecided.value.outcome) == ("not_decided", "unknown")
        assert job.settle_command("abort") in str(undecided.value)
        dies = await by_another(driver, bucket, clock, Fails("delete", "", Crash()))
        with pytest.raises(Crash):
            await abort_job(dies, by="")
        with pytest.raises(JobNotActiveError, match="was aborted and cannot be resumed") as aborted:
            await resume_job(job)
        assert (aborted.value.outcome, aborted.value.stage) == ("not_committed", "resume")
        await abort_job(job, by="")
        with pytest.raises(JobNotActiveError, match="is not to be found") as over:
            await resume_job(job)
        assert over.value.outcome == "unknown"

    run(main())


@pytest.mark.guarantees("P5")
def test_what_an_aborter_cannot_remove_is_aborted_all_the_same(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock)
        job = await by_another(driver, bucket, clock, Fails("delete", "/job.json"))
        with pytest.raises(CommitFailedError, match="not yours") as caught:
            await abort_job(job, by="an aborter")
        assert (caught.value.outcome, caught.value.stage) == ("not_committed", "abort")
        await abort_job(driver.started(), by="an aborter")
        assert bucket.keys("") == []

    run(main())


def test_an_abort_that_is_not_answered_may_not_have_happened(bucket: Bucket) -> None:
    async def main() -> None:
        silent = Fails("create", "/decision", StoreError("no answer"))
        driver = await started(url(bucket), Clock(), silent)
        with pytest.raises(CommitStateUnknownError) as caught:
            await driver.abort()
        assert driver.state == "open"
        assert caught.value.outcome == "unknown"

    run(main())


def test_a_driver_does_nothing_that_it_has_done(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock())
        message = await wrote(driver, "a.txt")
        assert await driver.commit([message], wait_s=0)
        with pytest.raises(JobNotActiveError, match="it cannot be aborted") as caught:
            await driver.abort()
        assert (caught.value.outcome, caught.value.stage) == ("committed", "abort")
        assert caught.value.job_id == driver.started().record.job_id

    run(main())
