"""What a job leaves when it ends, whoever ends it: marks, epochs, and nothing that it prepared."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import CommitError, JobNotActiveError, PartialCommitError, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.store import Expect
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import NONCE, destination, put, url
from tests.protocol.in_virtual_time import Clock, Fails, Stop, opened, started, straight, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.protocol.bound_job import BoundJob
    from fsspec_commit.protocol.driver import Driver
    from tests.protocol.in_virtual_time import Hook


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def committed(
    bucket: Bucket, clock: Clock, name: str, hook: Hook = straight, **options: Any
) -> Driver:
    driver = await started(url(bucket), clock, hook, **options)
    await driver.commit([await wrote(driver, name)], wait_s=0)
    return driver


async def dies(bucket: Bucket, clock: Clock, hook: Hook, **options: Any) -> BoundJob:
    """A job whose driver dies, as the next process has it."""
    driver = await started(url(bucket), clock, hook, **options)
    message = await wrote(driver, "a.txt")
    with pytest.raises(Crash):
        await driver.commit([message], wait_s=0)
    return (await opened(url(bucket), clock)).bind(driver.started().record)


def beside(bucket: Bucket) -> list[str]:
    """What stands beside the areas."""
    areas = f"{destination(bucket).areas}/"
    return [key[len(areas) :] for key in bucket.keys(areas)]


def data(bucket: Bucket) -> set[str]:
    names = {key.rpartition("/")[2] for key in bucket.keys("") if "/_commit/" not in key}
    return {name.partition("-")[0] for name in names}


def test_one_epoch_stands_and_counts_on(bucket: Bucket) -> None:
    """Of those before each goes, whether its driver ends the job or a resumer."""

    async def main() -> None:
        clock, numbers = Clock(), list[int]()
        for turn in range(4):
            if turn == 2:
                await resume_job(await dies(bucket, clock, Fails("create", "/epoch-", Crash())))
            else:
                await committed(bucket, clock, f"{turn}.txt")
            [epoch] = beside(bucket)
            numbers.append(int(epoch.removeprefix("epoch-")[:12], 16))
        assert numbers == [0, 1, 2, 3]

    run(main())


def test_of_many_epochs_each_job_deletes_a_few(bucket: Bucket) -> None:
    """So that many jobs do not all delete the same; what is left goes with the next ones."""

    async def main() -> None:
        clock, layout = Clock(), destination(bucket)
        for number in range(20):
            put(bucket, layout.epoch(Nonce(f"{number:012x}" + "0" * 20)), b"")
        counts = []
        for number in range(8):
            await committed(bucket, clock, f"{number}.txt")
            epochs = [name for name in beside(bucket) if name.startswith("epoch-")]
            assert int(max(epochs).removeprefix("epoch-")[:12], 16) == 20 + number
            counts.append(len(epochs))
        assert counts == [17, 14, 11, 8, 5, 2, 1, 1]

    run(main())


def test_an_epoch_that_another_job_has_begun_meanwhile_stays(bucket: Bucket) -> None:
    """A reader may have seen only what was there before it."""

    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/epoch-")
        await committed(bucket, clock, "first.txt")
        committing = asyncio.create_task(committed(bucket, clock, "slow.txt", stop))
        await stop.reached.wait()
        await committed(bucket, clock, "quick.txt")
        [quick] = [name for name in beside(bucket) if name.startswith("epoch-")]
        stop.passed.set()
        await committing
        assert quick in beside(bucket)
        assert len(beside(bucket)) == 2

    run(main())


@pytest.mark.parametrize("resumed", [False, True])
def test_a_record_of_late_deletions_goes_once_none_can_come(
    bucket: Bucket, *, resumed: bool
) -> None:
    async def main() -> None:
        clock, layout = Clock(), destination(bucket)
        ended = layout.deleted(clock.moment - timedelta(hours=2), NONCE)
        lasts = layout.deleted(clock.moment - timedelta(hours=1, minutes=59), NONCE)
        for path in (ended, lasts):
            put(bucket, f"{path}/{'0' * 16}", b"")
        if resumed:
            await resume_job(await dies(bucket, clock, Fails("create", "/epoch-", Crash())))
        else:
            await committed(bucket, clock, "a.txt")
        left = [name for name in beside(bucket) if not name.startswith("epoch-")]
        assert left == [f"{lasts.rpartition('/')[2]}/{'0' * 16}"]

    run(main())


@pytest.mark.guarantees("P6", "P8")
def test_what_becomes_of_new_files_that_are_in_place_is_no_matter_to_its_end(
    bucket: Bucket,
) -> None:
    """Somebody has removed one since; the job was published, and ends as it would have."""

    async def main() -> None:
        clock = Clock()
        old = StorePath(f"{bucket.name}/out/old-{NONCE}.txt")
        bucket.put(old, b"old", None, Expect.ANYTHING)
        job = await dies(bucket, clock, Fails("delete", "/old-", Crash()), mode="overwrite")
        [new] = [key for key in bucket.keys("") if "/a-" in key and "/_commit/" not in key]
        bucket.delete(new, Expect.ANYTHING)
        finished = await resume_job(job)
        assert (finished.warnings, finished.replaced_count) == ((), 1)
        assert data(bucket) == {"_SUCCESS"}

    run(main())


@pytest.mark.guarantees("P8")
def test_only_a_job_that_has_lost_files_leaves_word_of_that(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        await committed(bucket, clock, "a.txt", idempotency_key="k")
        [done, epoch] = beside(bucket)
        assert (done.partition("/")[0], epoch.partition("-")[0]) == ("done", "epoch")
        is_uploaded = bool(bucket.habits.uploads)
        verb = "complete" if is_uploaded else "rename"
        job = await dies(bucket, clock, Fails(verb, "/a-", Crash()))
        if is_uploaded:
            bucket.uploads = {
                key: one for key, one in bucket.uploads.items() if "/a-" not in one.path
            }
        else:
            for key in bucket.keys(f"{job.layout.area}/tasks/"):
                bucket.delete(key, Expect.ANYTHING)
        with pytest.raises(PartialCommitError):
            await resume_job(job)
        finished = await resume_job(job, accept_loss=True)
        [warning] = finished.warnings
        assert warning.startswith("lost: 'a-")
        assert f"lost/{job.record.job_id}" in beside(bucket)

    run(main())


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("bucket", ["versioned", "by path"], indirect=True)
def test_a_marker_that_was_prepared_for_no_decision_goes(bucket: Bucket) -> None:
    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/decision")
        driver = await started(url(bucket), clock, stop)
        message = await wrote(driver, "a.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await stop.reached.wait()
        assert [one.path for one in bucket.uploads.values()].count(destination(bucket).success) == 1
        to = await opened(url(bucket), clock, Fails("abort", "", StoreError("no answer")))
        job = to.bind(driver.started().record)
        with pytest.raises(CommitError, match="no answer"):
            await abort_job(job, by="another")
        stop.passed.set()
        with pytest.raises(JobNotActiveError):
            await committing
        assert destination(bucket).success not in [one.path for one in bucket.uploads.values()]

    run(main())


@pytest.mark.parametrize(
    ("hook", "options"),
    [
        pytest.param(Fails("create", "/claim-"), {}, id="a refusal"),
        pytest.param(straight, {"tasks": 2}, id="a missing task"),
    ],
)
def test_of_what_was_not_decided_nobody_is_told_to_resume_it(
    bucket: Bucket, hook: Hook, options: dict[str, Any]
) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), hook, **options)
        message = await wrote(driver, "a.txt")
        with pytest.raises(CommitError) as caught:
            await driver.commit([message], wait_s=0)
        assert caught.value.outcome == "not_committed"
        assert not any("resume" in note for note in getattr(caught.value, "__notes__", []))

    run(main())


@pytest.mark.guarantees("P7")
@pytest.mark.parametrize("damaged", [True, False])
def test_of_what_is_damaged_or_over_nobody_is_told_to_call_again(
    bucket: Bucket, *, damaged: bool
) -> None:
    """It would not help."""

    async def main() -> CommitError:
        stop = Stop("create", "/decision")
        driver = await started(url(bucket), Clock(), stop)
        layout = driver.started().layout
        message = await wrote(driver, "a.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await stop.reached.wait()
        if damaged:
            put(bucket, layout.decision, b"torn")
        else:
            for key in bucket.keys(f"{layout.area}/"):
                bucket.delete(key, Expect.ANYTHING)
        stop.passed.set()
        with pytest.raises(CommitError) as caught:
            await committing
        return caught.value

    error = run(main())[0]
    assert error.outcome == "unknown"
    assert not any("job.commit() again" in note for note in getattr(error, "__notes__", []))


def test_after_the_last_number_of_an_epoch_comes_the_first(bucket: Bucket) -> None:

    async def main() -> None:
        layout = destination(bucket)
        put(bucket, layout.epoch(Nonce("f" * 12 + "0" * 20)), b"")
        await committed(bucket, Clock(), "a.txt")
        [epoch] = beside(bucket)
        assert epoch.startswith(f"epoch-{'0' * 12}")
        assert DestinationLayout(layout.root).is_epoch(StorePath(f"{layout.areas}/{epoch}"))

    run(main())
