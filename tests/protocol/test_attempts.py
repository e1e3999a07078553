"""What a task is told whose commit fails, or whose job is settled meanwhile, and what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

import fsspec_commit as fc
from fsspec_commit.committers.magic import MagicAttempt
from fsspec_commit.committers.manifest import ManifestAttempt
from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    JobNotActiveError,
    Reply,
    RequestError,
    StoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.names import Target
from fsspec_commit.protocol import attempt as attempts
from fsspec_commit.protocol.attempt import commit_attempt, may_discard
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import cleaned
from tests.protocol.in_virtual_time import Clock, Then, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.committers import AttemptOutput
    from fsspec_commit.layout import AttemptLayout
    from fsspec_commit.protocol.bound_job import BoundJob
    from fsspec_commit.protocol.driver import Driver
    from fsspec_commit.records.job import Collect, TaskCommit

TASK = 3


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


def settle(bucket: Bucket, driver: Driver) -> None:
    """As whoever has aborted the job leaves it: its area is gone."""
    for key in bucket.keys(f"{driver.started().layout.area}/"):
        bucket.delete(StorePath(key), Expect.ANYTHING)


async def began(job: BoundJob, name: str = "a.txt") -> tuple[AttemptLayout, AttemptOutput]:
    """An attempt that has written a file, and not committed."""
    layout = job.layout.attempt(TASK, job.store.ids.attempt_id())
    output = job.committer.attempt(layout)
    writer = output.writer(job.final_name(Target(name), layout))
    await writer.write(name.encode())
    await writer.finish()
    return layout, output


async def committed(job: BoundJob, layout: AttemptLayout, output: AttemptOutput) -> object:
    return await commit_attempt(layout, output, job.store, rows=None, collect=job.record.collect)


@pytest.mark.guarantees("P6")
@pytest.mark.parametrize("verb", ["stat", "create"])
def test_one_whose_job_was_settled_meanwhile_is_told_so(bucket: Bucket, verb: str) -> None:
    """Whatever it was that failed first: it need not run again."""

    async def main() -> CommitError:
        driver: Driver

        async def fail() -> None:
            settle(bucket, driver)
            raise StoreError("refused", reply=Reply.REFUSED)

        part = "/job.json" if verb == "stat" else "/manifests/"
        driver = await started(url(bucket), Clock(), Then(verb, part, fail))
        layout, output = await began(driver.started())
        with pytest.raises(JobNotActiveError) as caught:
            await committed(driver.started(), layout, output)
        return caught.value

    error = run(main())[0]
    assert (error.outcome, error.stage, error.task_id) == ("unknown", "commit_task", TASK)
    assert str(error).startswith(f"task {TASK} cannot commit: job ")


@pytest.mark.guarantees("P6")
@pytest.mark.parametrize("bucket", ["versioned", "gcs", "gen2"], indirect=True)
def test_one_that_comes_late_takes_back_what_it_has_made(bucket: Bucket) -> None:
    """Its manifest is on its way while it looks; where that makes directories, these go as well."""

    async def main() -> None:
        driver = await started(url(bucket), Clock())
        job = driver.started()
        layout, output = await began(job)
        await driver.abort()
        with pytest.raises(JobNotActiveError):
            await committed(job, layout, output)
        assert bucket.get(layout.manifest) is not None
        await output.discard()

    run(main())
    assert bucket.keys("") == []
    assert bucket.uploads == {}
    assert not [path for path in bucket.directories if "/_commit/" in path]


@pytest.mark.guarantees("P6")
@pytest.mark.parametrize("bucket", ["versioned", "minio", "gcs", "gen2"], indirect=True)
@pytest.mark.parametrize("collect", ["messages", "store"])
@pytest.mark.parametrize("is_over", [True, False])
def test_one_that_nobody_can_choose_leaves_nothing(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, collect: Collect, *, is_over: bool
) -> None:
    """It has found no ``job.json``, or was told so by somebody else: it has sent nothing."""
    job = fc.Job(url(bucket), mode="append", collect=collect, tasks=1).start()
    task = fc.Task.from_spec(job.spec, 0)
    with task.open("a.txt", "w") as file:
        file.write("x")
    if is_over:
        job.abort()
    else:

        async def is_active(_: object) -> bool:
            return False

        monkeypatch.setattr(MagicAttempt, "is_active", is_active)
        monkeypatch.setattr(ManifestAttempt, "is_active", is_active)
    with pytest.raises(JobNotActiveError), task:
        pass
    assert [key for key in bucket.keys("") if not key.endswith("/job.json")] == []
    assert bucket.uploads == {}
    if is_over:
        assert not [path for path in bucket.directories if "/_commit/" in path]
    else:
        job.abort()


@pytest.mark.guarantees("P6")
@pytest.mark.parametrize("bucket", ["gen2"], indirect=True)
def test_one_that_comes_late_leaves_what_others_have_made(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock())
        job = driver.started()
        mine, other = [await began(job) for _ in range(2)]
        await driver.abort()
        for layout, output in (mine, other):
            with pytest.raises(JobNotActiveError):
                await committed(job, layout, output)
        await mine[1].discard()
        assert bucket.keys("") == [other[0].manifest]

    run(main())


def test_one_whose_job_is_open_is_told_what_failed(bucket: Bucket) -> None:
    async def main() -> CommitError:
        async def fail() -> None:
            raise StoreError("refused", reply=Reply.REFUSED)

        driver = await started(url(bucket), Clock(), Then("create", "/manifests/", fail))
        layout, output = await began(driver.started())
        with pytest.raises(CommitFailedError, match="refused") as caught:
            await committed(driver.started(), layout, output)
        assert await committed(driver.started(), layout, output)
        return caught.value

    assert run(main())[0].outcome == "not_committed"


def test_one_with_a_longer_manifest_than_drivers_read_is_refused(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> RequestError:
        job = (await started(url(bucket), Clock())).started()
        layout, output = await began(job)
        monkeypatch.setattr(attempts, "RECORD_BYTES_MAX", 100)
        with pytest.raises(RequestError, match=f"task {TASK} wrote 1 files") as caught:
            await committed(job, layout, output)
        monkeypatch.undo()
        assert await committed(job, layout, output)
        return caught.value

    error = run(main())[0]
    assert (error.kind, error.task_id) == ("manifest_too_large", TASK)


def test_of_several_processes_that_commit_one_attempt_one_does(bucket: Bucket) -> None:
    """The manifest of the other one names files that nobody has told a driver of."""

    async def main() -> CommitError:
        job = (await started(url(bucket), Clock())).started()
        layout, output = await began(job)
        await committed(job, layout, output)
        other = job.committer.attempt(layout)
        writer = other.writer(job.final_name(Target("b.txt"), layout))
        await writer.write(b"b")
        await writer.finish()
        with pytest.raises(JobNotActiveError) as caught:
            await committed(job, layout, other)
        return caught.value

    assert run(main())[0].task_id == TASK


@pytest.mark.guarantees("P3")
def test_where_the_first_is_chosen_the_others_may_go(bucket: Bucket) -> None:
    """One that may still be chosen must stay, whatever its own commit was told."""

    async def main() -> None:
        driver = await started(url(bucket), Clock(), collect="store", tasks=TASK + 1)
        job = driver.started()
        layout, output = await began(job)
        other, _ = await began(job)
        assert not await may_discard(layout, job.store)
        await committed(job, layout, output)
        assert not await may_discard(layout, job.store)
        assert await may_discard(other, job.store)

    run(main())


def test_a_second_attempt_is_told_that_another_was_chosen(bucket: Bucket) -> None:
    async def main() -> None:
        driver = await started(url(bucket), Clock(), collect="store", tasks=1)
        first, second = [await wrote(driver, "a.txt") for _ in range(2)]
        assert (first.chosen, second.chosen) == (True, False)
        assert first.attempt_id != second.attempt_id
        assert (first.file_count, first.bytes) == (1, len("a.txt"))
        await driver.commit([], wait_s=0)
        assert driver.result is not None
        [name] = driver.result.files
        files = {key.rpartition("/")[2] for key in bucket.keys("") if "/_commit/" not in key}
        assert files == {name, "_SUCCESS"}

    run(main())


async def chosen_too_late(to: str) -> Driver:
    """The area goes between the manifest of an attempt and its choice."""
    driver: Driver

    async def end() -> None:
        await driver.started().store._store.delete_tree(driver.started().layout.area)

    hook = Then("create", "/chosen/", end)
    driver = await started(to, Clock(), hook, collect="store", tasks=TASK + 1)
    layout, output = await began(driver.started())
    await committed(driver.started(), layout, output)
    return driver


def test_a_choice_in_an_area_that_is_gone_is_none() -> None:
    with pytest.raises(JobNotActiveError) as caught:
        run(chosen_too_late(f"memory://{uuid4().hex}/out"))
    assert caught.value.task_id == TASK


@pytest.mark.guarantees("P6", "P7")
@pytest.mark.parametrize("bucket", ["versioned", "gcs", "gen2"], indirect=True)
def test_a_choice_in_an_area_that_is_made_anew_chooses_nothing(bucket: Bucket) -> None:
    """The worker was active when it looked, just before; the driver is told, and `clean` cleans."""

    async def main() -> None:
        driver = await chosen_too_late(url(bucket))
        with pytest.raises(JobNotActiveError):
            await driver.commit([], wait_s=0)
        report = await cleaned(bucket, Clock(), age_s=-1)
        assert report.deleted == (driver.started().record.job_id,)

    run(main())
    assert bucket.keys("") == []
    assert not [path for path in bucket.directories if "/_commit/" in path]


@pytest.mark.guarantees("P6")
def test_one_that_was_committed_and_is_given_up_cannot_be_chosen(bucket: Bucket) -> None:
    """Nothing of it is left: a manifest alone would be found by whoever looks for messages."""

    async def main() -> None:
        job = (await started(url(bucket), Clock())).started()
        layout, output = await began(job)
        await committed(job, layout, output)
        assert bucket.get(layout.manifest) is not None
        await output.discard()
        assert bucket.keys(f"{job.layout.manifests}/") == []
        assert bucket.uploads == {}

    run(main())


@pytest.mark.parametrize(
    ("of_tasks", "of_job"), [((0, 5, 0), 5), ((5, None), None), ((None, 5), None)], ids=str
)
def test_rows_are_counted_where_a_file_has_none(
    bucket: Bucket, of_tasks: tuple[int | None, ...], of_job: int | None
) -> None:
    """Where one task has not counted its own, nobody knows how many there are."""

    async def main() -> int | None:
        driver = await started(url(bucket), Clock())
        job = driver.started()
        messages: list[TaskCommit] = []
        for rows in of_tasks:
            layout = job.layout.attempt(len(messages), job.store.ids.attempt_id())
            output = job.committer.attempt(layout)
            await output.writer(job.final_name(Target("a.txt"), layout)).finish()
            messages.append(
                await commit_attempt(
                    layout, output, job.store, rows=rows, collect=job.record.collect
                )
            )
        await driver.commit(messages, wait_s=0)
        assert driver.result is not None
        return driver.result.rows

    assert run(main())[0] == of_job


def test_an_attempt_of_more_files_than_are_read_at_once_is_published_whole(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit.records.entries._BATCH_MAX", 2)
    names = [f"{number}.txt" for number in range(5)]

    async def main() -> None:
        driver = await started(url(bucket), Clock(), success="none")
        await driver.commit([await wrote(driver, *names)], wait_s=0)

    run(main())
    found = [key.rpartition("/")[2] for key in bucket.keys("") if "/_commit/" not in key]
    assert sorted(name.partition("-")[0] for name in found) == list("01234")
