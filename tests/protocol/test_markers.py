"""``_SUCCESS``: which one a job leaves, and what it says when the one that it prepared is gone."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Literal

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import JobNotActiveError, PartialCommitError, Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.protocol import success
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.records.job import FileIdentity
from fsspec_commit.store import Expect
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, RENAMING, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import NONCE, destination, put, url
from tests.protocol.in_virtual_time import Clock, Fails, Stop, opened, started, straight, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.bound_job import BoundJob
    from fsspec_commit.protocol.driver import Driver
    from tests.protocol.in_virtual_time import Call, Hook


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


def marker(bucket: Bucket) -> bytes | None:
    found = bucket.get(destination(bucket).success)
    return None if found is None else found.data


def lose_marker(bucket: Bucket, job: BoundJob) -> None:
    """A rule of the bucket has removed what the job prepared."""
    for key in bucket.keys(f"{job.layout.area}/_SUCCESS-"):
        record = bucket.objects.pop(key).data
        if record:  # Of an upload: it names that.
            bucket.uploads.pop(json.loads(record)["upload_id"], None)


async def decided(bucket: Bucket, clock: Clock, **options: Any) -> BoundJob:
    """A job whose driver has died after its decision."""
    hook = Fails("create", "/published", Crash())
    driver = await started(url(bucket), clock, hook, **options)
    message = await wrote(driver, "b.txt")
    with pytest.raises(Crash):
        await driver.commit([message], wait_s=0)
    return (await opened(url(bucket), clock)).bind(driver.started().record)


async def committed(bucket: Bucket, clock: Clock, hook: Hook = straight, **options: Any) -> Driver:
    driver = await started(url(bucket), clock, hook, **options)
    await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
    return driver


@pytest.mark.parametrize("earlier", ["marker", "json", "none"])
@pytest.mark.parametrize("kind", ["marker", "json", "none"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_job_leaves_the_marker_that_it_was_to_or_one_like_that_it_removed(
    bucket: Bucket, earlier: str, kind: str, mode: str
) -> None:
    """One that adds to data leaves that of an unfinished job, say; one that replaces all, none."""

    async def main() -> None:
        clock = Clock()
        await committed(bucket, clock, success=earlier)
        await committed(bucket, clock, success=kind, mode=mode)

    run(main())
    expected = earlier if kind == "none" and mode == "append" else kind
    left = marker(bucket)
    assert (left is None) is (expected == "none")
    if expected == "json":
        assert left is not None
        assert json.loads(left)["diagnostics"]["mode"] == mode
        assert json.loads(left)["filenames"][0].startswith("a-")
    elif expected == "marker":
        assert left == b""


@pytest.fixture(params=["unversioned", "minio", "by path"])
def keeping(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    """A bucket in which a marker cannot be deleted, since a later one may have the same token."""
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.parametrize("earlier", ["marker", "json", "none"])
@pytest.mark.parametrize("kind", ["marker", "json", "none"])
@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_one_that_stays_is_replaced_if_it_names_files_that_go(
    keeping: Bucket, earlier: str, kind: str, mode: str
) -> None:
    """By a job without a marker of its own as well; an empty one stays true, and stays."""

    async def main() -> tuple[bytes | None, bytes | None, str]:
        clock = Clock()
        await committed(keeping, clock, success=earlier)
        before = marker(keeping)
        driver = await committed(keeping, clock, success=kind, mode=mode)
        return before, marker(keeping), driver.started().layout.job_id

    before, after, job_id = run(main())[0]
    if kind == "none" and (mode == "append" or earlier != "json"):
        assert after == before
    elif kind == "marker":
        assert after == b""
    else:
        assert after is not None
        assert json.loads(after)["jobId"] == job_id


@pytest.mark.parametrize("mode", ["overwrite", "overwrite_partitions"])
def test_what_a_job_without_a_marker_has_replaced_is_not_missed(
    keeping: Bucket, mode: Literal["overwrite", "overwrite_partitions"]
) -> None:
    """It was named by the marker of the earlier job, which could not be deleted."""
    first = fc.Job(url(keeping), success="json")
    second = fc.Job(url(keeping), mode=mode, success="none")
    for job, name in ((first, "day=1/a.txt"), (second, "day=1/b.txt")):
        with job, job.task() as task, task.open(name, "w") as file:
            file.write(name)
    report = fc.verify(url(keeping))
    assert report == fc.VerifyReport(
        missing=(), changed=(), leftovers=(), checked_count=1, file_count=1
    )


class Losing:
    """A driver whose prepared marker goes before it is published.

    Attributes:
        looks: How often it has looked since which jobs there are.
        job: The job.
    """

    def __init__(self, bucket: Bucket, *, then: Any = None) -> None:
        self._bucket = bucket
        self._then = then
        self._is_lost = False
        self.looks = 0
        self.job: BoundJob | None = None

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if verb == "create" and path.endswith("/published"):
            assert self.job is not None
            lose_marker(self._bucket, self.job)
            self._is_lost = True
        if self._is_lost and verb == "list_children" and path.endswith("/_commit"):
            self.looks += 1
            if self._then is not None:
                await self._then(self.looks)
        return await call()


async def losing(bucket: Bucket, clock: Clock, then: Any = None, **options: Any) -> Losing:
    hook = Losing(bucket, then=then)
    driver = await started(url(bucket), clock, hook, **options)
    hook.job = driver.started()
    message = await wrote(driver, "a.txt")
    await driver.commit([message], wait_s=0)
    assert driver.result is not None
    assert driver.result.warnings == ()
    return hook


@pytest.mark.guarantees("P8")
def test_a_marker_that_is_lost_is_told_and_may_be_accepted(bucket: Bucket) -> None:
    """After two looks, between which no other job has come or gone."""

    async def main() -> None:
        clock, hook = Clock(), Losing(bucket)
        driver = await started(url(bucket), clock, hook)
        hook.job = job = driver.started()
        message = await wrote(driver, "a.txt")
        with pytest.raises(PartialCommitError, match="the prepared one is gone") as caught:
            await driver.commit([message], wait_s=0)
        assert (caught.value.path, caught.value.stage) == ("_SUCCESS", "finish")
        assert caught.value.remaining == 0
        assert f"{job.settle_command('resume')} --accept-loss" in str(caught.value)
        assert hook.looks == 2
        other = (await opened(url(bucket), clock)).bind(job.record)
        with pytest.raises(PartialCommitError):
            await resume_job(other)
        finished = await resume_job(other, accept_loss=True)
        assert finished.warnings == ("lost: '_SUCCESS' is gone, and was left out",)
        assert marker(bucket) is None

    run(main())


@pytest.mark.guarantees("P8")
def test_one_that_is_about_to_publish_its_own_serves_both(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        other = await decided(bucket, clock)
        await losing(bucket, clock)
        assert marker(bucket) is None
        await resume_job(other)
        assert marker(bucket) == b""

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("other", ["lost as well", "none", "open", "aborted", "void"])
def test_one_that_will_publish_none_serves_nobody(bucket: Bucket, other: str) -> None:
    async def main() -> None:
        clock = Clock()
        if other == "open":
            await started(url(bucket), clock)
        elif other == "aborted":
            driver = await started(url(bucket), clock)
            dies = await opened(url(bucket), clock, Fails("delete", "", Crash()))
            with pytest.raises(Crash):
                await abort_job(dies.bind(driver.started().record), by="")
        else:
            job = await decided(bucket, clock, success="none" if other == "none" else "marker")
            if other == "lost as well":
                lose_marker(bucket, job)
            if other == "void":
                bucket.delete(job.layout.spec, Expect.ANYTHING)
        with pytest.raises(PartialCommitError, match="the prepared one is gone"):
            await losing(bucket, clock)

    run(main())


@pytest.mark.guarantees("P8")
def test_while_jobs_come_and_go_it_is_looked_for_again(bucket: Bucket) -> None:
    """One of them has published its own by then; or they do so all the time."""

    async def main() -> None:
        clock, layout = Clock(), destination(bucket)

        async def published_at(look: int) -> None:
            put(bucket, layout.epoch(Nonce(f"{look:032x}")), b"")
            if look == 4:
                put(bucket, layout.success, b"another's")

        hook = await losing(bucket, clock, published_at)
        assert hook.looks == 4
        assert marker(bucket) == b"another's"
        bucket.objects.pop(layout.success)

        async def coming(look: int) -> None:
            put(bucket, layout.epoch(Nonce(f"{look + 100:032x}")), b"")

        with pytest.raises(PartialCommitError):
            await losing(bucket, clock, coming)

    run(main())


@pytest.mark.guarantees("P8")
def test_a_job_that_has_just_decided_has_it_looked_for_once_more(bucket: Bucket) -> None:
    """It may have removed the marker that one looked for."""

    async def main() -> list[int]:
        looks: list[int] = []
        for at in (None, 2):
            clock = Clock()

            async def decides(look: int, at: int | None = at, clock: Clock = clock) -> None:
                looks.append(look)
                if look == at:
                    await decided(bucket, clock, success="none")

            with pytest.raises(PartialCommitError):
                await losing(bucket, clock, decides)
            for key in bucket.keys(""):
                bucket.objects.pop(key)
        return looks

    assert run(main())[0] == [1, 2, 1, 2, 3]
    assert success._LOOKS_MAX > 3


@pytest.mark.guarantees("P6")
class Unanswered:
    """Leaves the first request that prepares a marker without an answer, and carries the others.

    Attributes:
        late: Carries that request out.
    """

    def __init__(self, then: Hook) -> None:
        self._then = then
        self.late: Call | None = None

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if self.late is None and verb == "create" and "/_SUCCESS-" in path:
            self.late = call
            raise StoreError("no answer", reply=Reply.UNKNOWN)
        return await self._then(verb, path, call)


@pytest.mark.guarantees("P6", "P11")
@pytest.mark.parametrize("habits", RENAMING)
def test_one_whose_request_comes_late_is_not_published_over_a_later_job(habits: str) -> None:
    """Who finishes the job late would take it for the one that is already published."""
    bucket = make_bucket(ALL_HABITS[habits])

    async def main() -> None:
        clock = Clock()
        first, second = Stop("rename", "/_SUCCESS"), Stop("rename", "/_SUCCESS")
        hook = Unanswered(first)
        driver = await started(url(bucket), clock, hook)
        message = await wrote(driver, "a.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await first.reached.wait()
        stale = (await opened(url(bucket), clock, second)).bind(driver.started().record)
        resuming = asyncio.create_task(resume_job(stale))
        await second.reached.wait()
        first.passed.set()
        await committing
        assert marker(bucket) == b""
        bucket.delete(
            destination(bucket).success, Expect.ANYTHING
        )  # By the next job, which goes on.
        assert hook.late is not None
        await hook.late()
        second.passed.set()
        with pytest.raises(JobNotActiveError):
            await resuming
        assert marker(bucket) is None

    try:
        run(main())
    finally:
        remove_bucket(bucket)


def test_the_upload_of_a_marker_is_not_filled_once_its_job_is_over() -> None:
    """Whoever ended the job has looked for its records before this one came."""
    bucket = make_bucket(ALL_HABITS["versioned"])

    async def main() -> None:
        stored: list[str] = []

        async def ends(verb: str, path: StorePath, call: Call) -> Any:
            if verb == "put_part":
                stored.append(path)
            answer = await call()
            if verb == "create" and "/_SUCCESS-" in path:
                bucket.delete(driver.started().layout.spec, Expect.ANYTHING)
            return answer

        driver = await started(url(bucket), Clock(), ends, success="json")
        message = await wrote(driver, "a.txt")
        with pytest.raises(JobNotActiveError):
            await driver.commit([message], wait_s=0)
        assert len(stored) == 1, "of the file"
        assert destination(bucket).success not in stored

    run(main())
    remove_bucket(bucket)


def test_a_marker_that_was_prepared_as_a_file_is_no_upload() -> None:
    """Jobs of another committer may be at work beside those that upload."""
    bucket = make_bucket(ALL_HABITS["versioned"])

    async def main() -> bool:
        job = (await started(url(bucket), Clock())).started()
        prepared = FileIdentity(size=0, token="of a file")
        return await job.committer.has_prepared_success(job.layout, NONCE, prepared)

    assert not run(main())[0]
    remove_bucket(bucket)
