"""A driver whose job another has ended: when it is told that the job is committed, and when not."""

from __future__ import annotations

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
from fsspec_commit.protocol import chosen
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.protocol.snapshot import Reader
from fsspec_commit.protocol.verify import compare
from fsspec_commit.records.job import Decision
from fsspec_commit.store import Expect
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import NONCE, put, url
from tests.protocol.in_virtual_time import (
    Clock,
    Fails,
    Hides,
    opened,
    started,
    straight,
    wrote,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.bound_job import BoundJob
    from tests.protocol.in_virtual_time import Call, Hook


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class Changing:
    """Calls that are carried by one after the other."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        return await self.hook(verb, path, call)


async def partial(bucket: Bucket, clock: Clock) -> tuple[Driver, Changing]:
    """A driver that could not finish its job, and how its next calls are carried."""
    hook = Changing(Fails("create", "/published"))
    driver = await started(url(bucket), clock, hook)
    with pytest.raises(PartialCommitError):
        await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
    hook.hook = straight
    return driver, hook


async def told(driver: Driver) -> CommitError:
    with pytest.raises(CommitError) as caught:
        await driver.commit([], wait_s=0)
    return caught.value


async def finish(bucket: Bucket, clock: Clock, driver: Driver) -> BoundJob:
    job = (await opened(url(bucket), clock)).bind(driver.started().record)
    await resume_job(job)
    return job


async def over_with_late_records(bucket: Bucket, clock: Clock) -> Driver:
    """A driver whose job is over, and whose decision has come again, with another manifest."""
    driver, _ = await partial(bucket, clock)
    layout = driver.started().layout
    decided = bucket.get(layout.decision)
    assert decided is not None
    await finish(bucket, clock, driver)
    put(bucket, layout.attempt(9, "0" * 16).manifest)
    put(bucket, layout.decision, decided.data)
    return driver


@pytest.mark.guarantees("P7", "P8")
def test_a_decision_that_is_listed_and_not_found_ends_nothing(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver, hook = await partial(bucket, clock)
        other = await started(url(bucket), clock)
        await other.commit([await wrote(other, "b.txt")], wait_s=0)  # It leaves an epoch.
        bucket.delete(driver.started().layout.spec, Expect.ANYTHING)
        hides, reads = Hides("read"), 0

        async def later(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal reads
            reads += verb == "read" and path.endswith("/decision")
            hides.hidden["decision"] = reads > 1
            return await hides(verb, path, call)

        hook.hook = later
        error = await told(driver)
        assert reads > 2
        assert isinstance(error, PartialCommitError)
        assert error.stage == "resume"

    run(main())


@pytest.mark.guarantees("P7", "P8")
def test_a_decision_that_goes_when_it_was_listed_is_looked_for_again(bucket: Bucket) -> None:
    """Whoever has finished the job is removing its area: a list of it shows no single moment."""

    async def main() -> None:
        clock = Clock()
        driver = await over_with_late_records(bucket, clock)
        layout = driver.started().layout
        listed = False

        async def goes(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal listed
            listed = listed or (verb == "list_children" and path == layout.area)
            if listed and verb == "read" and path == layout.decision:
                bucket.delete(path, Expect.ANYTHING)
            return await call()

        aborting = (await opened(url(bucket), clock, goes)).bind(driver.started().record)
        with pytest.raises(JobNotActiveError) as caught:
            await abort_job(aborting, by="a test")
        assert bucket.get(layout.decision) is None
        assert caught.value.outcome == "committed"

    run(main())


@pytest.mark.guarantees("P7", "P8")
@pytest.mark.parametrize("late", ["aborted", "without its manifests"])
def test_what_comes_late_into_the_area_of_a_job_that_is_over_is_no_matter(
    bucket: Bucket, late: str
) -> None:
    """A manifest of a late task, and a late decision that could not be carried out."""

    async def main() -> None:
        clock = Clock()
        driver = await over_with_late_records(bucket, clock)
        layout = driver.started().layout
        if late == "aborted":
            bucket.delete(layout.decision, Expect.ANYTHING)
            aborted = Decision(nonce=NONCE, job_id=layout.job_id, state="aborted")
            put(bucket, layout.decision, aborted.encode())
        error = await told(driver)
        assert isinstance(error, JobNotActiveError)
        assert (error.outcome, error.stage) == ("committed", "finish")

    run(main())


@pytest.mark.guarantees("P7", "P8")
def test_a_list_of_attempts_is_no_matter_either_without_their_manifests(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a decision that comes late: it is as little carried out as one that names them itself."""
    monkeypatch.setattr(chosen, "INLINE_BYTES_MAX", 0)

    async def main() -> None:
        clock = Clock()
        driver, _ = await partial(bucket, clock)
        layout = driver.started().layout
        decided = bucket.get(layout.decision)
        assert decided is not None
        record = Decision.decode(decided.data)
        assert record.chosen_list is not None
        path = layout.chosen_list(record.chosen_list.nonce)
        lines = bucket.get(path)
        assert lines is not None
        await finish(bucket, clock, driver)
        put(bucket, path, lines.data)
        put(bucket, layout.decision, decided.data)
        error = await told(driver)
        assert isinstance(error, JobNotActiveError)
        assert (error.outcome, error.stage) == ("committed", "finish")

    run(main())


@pytest.mark.guarantees("P7")
def test_where_the_files_cannot_be_listed_it_is_not_known_how_it_ended(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        driver, hook = await partial(bucket, clock)
        job = await finish(bucket, clock, driver)
        hook.hook = Fails("list_tree", "/out")
        error = await told(driver)
        assert isinstance(error, JobNotActiveError)
        assert (error.outcome, error.job_id) == ("unknown", job.record.job_id)
        assert "nothing shows that all of it was done" in str(error)
        denied = (await opened(url(bucket), clock, Fails("list_tree", "/out"))).bind(job.record)
        with pytest.raises(JobNotActiveError, match="is not to be found") as caught:
            await resume_job(denied)
        assert (caught.value.outcome, caught.value.stage) == ("unknown", "decide")
        with pytest.raises(JobNotActiveError, match="committed and finished already") as caught:
            await resume_job(job)
        assert caught.value.outcome == "committed"
        hook.hook = straight
        assert (await told(driver)).outcome == "committed"

    run(main())


@pytest.mark.guarantees("P7")
def test_a_decision_that_comes_when_it_is_given_up_is_still_in_doubt(bucket: Bucket) -> None:
    """Nobody has answered; it is not called another's, which it would be if it were read then."""

    async def main() -> None:
        tries = 0

        async def late(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal tries
            if verb == "create" and path.endswith("/decision"):
                tries += 1
                if tries == 8:
                    await call()
                raise StoreError("no answer")
            return (
                None
                if verb == "read" and path.endswith("/decision") and tries < 8
                else await call()
            )

        driver = await started(url(bucket), Clock(), late)
        message = await wrote(driver, "a.txt")
        with pytest.raises(CommitStateUnknownError, match="no answer"):
            await driver.commit([message], wait_s=0)
        assert await driver.commit([message], wait_s=0)

    run(main())


@pytest.mark.guarantees("P7")
@pytest.mark.parametrize("damaged", [False, True])
def test_a_failure_says_no_more_than_is_known_where_the_decision_is_damaged(
    bucket: Bucket, *, damaged: bool
) -> None:
    """Somebody may have decided; where there is none, a failure of the store is one."""

    async def main() -> None:
        fails = Fails("create", "/claim-", StoreError("not now"))
        driver = await started(url(bucket), Clock(), fails)
        message = await wrote(driver, "a.txt")
        if damaged:
            put(bucket, driver.started().layout.decision, b"torn")
        says = "was decided by another driver, or aborted" if damaged else "not now"
        with pytest.raises(
            JobNotActiveError if damaged else CommitFailedError, match=says
        ) as caught:
            await driver.commit([message], wait_s=0)
        notes = "".join(getattr(caught.value, "__notes__", []))
        assert caught.value.outcome == ("unknown" if damaged else "not_committed")
        assert ("not known whether somebody else has settled the job" in notes) is damaged

    run(main())


@pytest.mark.guarantees("P7")
def test_a_refusal_of_a_request_says_that_another_has_committed_the_job(bucket: Bucket) -> None:
    """Its messages were right for the other driver."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, tasks=1)
        message = await wrote(driver, "a.txt")
        dies = Fails("create", "/published", Crash())
        other = (await opened(url(bucket), clock, dies)).bind(driver.started().record)
        with pytest.raises(Crash):
            await Driver(other).commit([message], wait_s=0)
        with pytest.raises(JobNotActiveError, match="do not run it again") as caught:
            await driver.commit([], wait_s=0)
        assert caught.value.outcome == "committed"
        assert isinstance(caught.value.__cause__, RequestError)

    run(main())


def test_what_each_of_several_jobs_has_published_is_compared(bucket: Bucket) -> None:
    async def main() -> None:
        clock, jobs = Clock(), list[str]()
        for _ in range(3):
            driver = await started(url(bucket), clock, Fails("create", "/epoch-", Crash()))
            message = await wrote(driver, "a.txt", "b.txt")
            with pytest.raises(Crash):
                await driver.commit([message], wait_s=0)
            jobs.append(driver.started().record.job_id)
        files = [key for key in bucket.keys("") if "/_commit/" not in key and "SUCCESS" not in key]
        gone, cut = files[0], files[-1]
        bucket.objects.pop(gone)
        put(bucket, cut, b"1")
        to = await opened(url(bucket), clock)
        found = await compare(Reader(to.store, url(bucket), to.bind))
        assert (found.checked_count, found.file_count) == (6, 5)
        name = gone.rpartition("/")[2]
        [job_id] = [job_id for job_id in jobs if job_id in name]
        assert found.missing == [f"{name}: of job {job_id}"]
        [changed] = found.changed
        assert changed.startswith(f"{cut.rpartition('/')[2]}: it has 1 bytes, and 5 when it was")

    run(main())


def test_a_job_whose_new_name_is_taken_begins_under_another(bucket: Bucket) -> None:
    async def main() -> None:
        taken: list[str] = []

        async def hook(verb: str, path: StorePath, call: Call) -> Any:
            if verb == "create" and path.endswith("/job.json") and not taken:
                taken.append(path)
                put(bucket, path, b"another's")
            return await call()

        driver = await started(url(bucket), Clock(), hook)
        assert driver.started().layout.spec not in taken
        found = bucket.get(driver.started().layout.spec)
        assert found is not None
        assert found.data != b"another's"

    run(main())
