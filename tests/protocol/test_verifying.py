"""What `verify` compares: files of jobs under way, and what a marker says of a job that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.protocol import success
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.protocol.snapshot import Reader
from fsspec_commit.protocol.verify import Comparison, compare
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, AWS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import Clock, Fails, opened, started, straight, wrote
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


async def compared(bucket: Bucket, hook: Hook = straight) -> Comparison:
    to = await opened(url(bucket), Clock(), hook)
    return await compare(Reader(to.store, url(bucket), to.bind))


async def stopped(bucket: Bucket, part: str, *tasks: tuple[str, ...], **options: Any) -> BoundJob:
    clock = Clock()
    driver = await started(url(bucket), clock, Fails("create", part, Crash()), **options)
    messages = [await wrote(driver, *names, task=task) for task, names in enumerate(tasks)]
    with pytest.raises(Crash):
        await driver.commit(messages, wait_s=0)
    return (await opened(url(bucket), clock)).bind(driver.started().record)


async def finished(bucket: Bucket, *names: str, data: bytes | None = None, **options: Any) -> None:
    driver = await started(url(bucket), Clock(), **options)
    assert await driver.commit([await wrote(driver, *names, data=data)], wait_s=0)


def files(bucket: Bucket) -> dict[str, StorePath]:
    """Visible files, up to what makes them unique."""
    keys = [key for key in bucket.keys("") if "/_" not in key]
    return {key.rpartition("/")[2].partition("-")[0]: key for key in keys}


async def backwards(verb: str, path: StorePath, call: Call) -> Any:
    answer = await call()
    return answer[::-1] if verb == "list_tree" and path.endswith("/out") else answer


def test_files_of_all_tasks_of_a_published_job_must_stand(bucket: Bucket) -> None:
    async def main() -> None:
        await stopped(bucket, "/epoch-", ("a.txt",), ("b.txt",), ("c.txt", "d.txt"))
        found = await compared(bucket)
        assert (found.checked_count, found.file_count) == (4, 4)
        assert (found.missing, found.changed) == ([], [])
        there = files(bucket)
        bucket.objects.pop(there["a"])
        bucket.objects.pop(there["d"])
        put(bucket, there["b"], b"1")
        put(bucket, there["c"], b"12")
        found = await compared(bucket, backwards)
        assert [line.partition("-")[0] for line in found.missing] == ["a", "d"]
        assert [line.partition("-")[0] for line in found.changed] == ["b", "c"]
        assert "it has 1 bytes, and 5 when it was written by job" in found.changed[0]

    run(main())


def test_files_of_a_job_that_is_not_published_may_be_missing(bucket: Bucket) -> None:
    async def main() -> None:
        await stopped(bucket, "/published", ("a.txt",), ("b.txt",))
        bucket.objects.pop(files(bucket)["a"])
        found = await compared(bucket)
        assert (found.missing, found.changed, found.checked_count) == ([], [], 2)

    run(main())


def test_files_that_were_given_up_may_be_missing(bucket: Bucket) -> None:
    async def main() -> None:
        verb = "complete" if bucket.habits.uploads else "rename"
        clock = Clock()
        driver = await started(url(bucket), clock, Fails(verb, "/a-", Crash()))
        message = await wrote(driver, "a.txt", "b.txt")
        with pytest.raises(Crash):
            await driver.commit([message], wait_s=0)
        job = (await opened(url(bucket), clock)).bind(driver.started().record)
        for key in bucket.keys(f"{job.layout.area}/tasks/"):
            bucket.objects.pop(key)
        bucket.uploads.clear()
        dies = (await opened(url(bucket), clock, Fails("create", "/epoch-", Crash()))).bind(
            job.record
        )
        with pytest.raises(Crash):
            await resume_job(dies, accept_loss=True)
        found = await compared(bucket)
        assert (found.missing, found.checked_count) == ([], 2)

    run(main())


def test_what_a_marker_names_is_compared_by_the_bytes_of_all(bucket: Bucket) -> None:
    async def main() -> None:
        await finished(bucket, "a.txt", "b.txt", success="json")
        put(bucket, f"{bucket.name}/out/other", b"of somebody else")
        found = await compared(bucket)
        assert (found.checked_count, found.file_count) == (2, 3)
        assert (found.missing, found.changed) == ([], [])
        put(bucket, files(bucket)["a"], b"1")
        [changed] = (await compared(bucket)).changed
        assert "have 6 bytes, and had 10 when it committed" in changed
        bucket.objects.pop(files(bucket)["b"])
        found = await compared(bucket)
        assert ([line.partition("-")[0] for line in found.missing], found.changed) == (["b"], [])

    run(main())


def test_of_a_marker_that_names_some_files_the_bytes_of_all_say_nothing(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(success, "FILENAMES_MAX", 1)

    async def main() -> None:
        await finished(bucket, "a.txt", "b.txt", success="json")
        found = await compared(bucket)
        assert (found.checked_count, found.file_count) == (1, 2)
        assert (found.missing, found.changed) == ([], [])

    run(main())


def test_beside_a_job_under_way_a_marker_says_nothing(bucket: Bucket) -> None:
    async def main() -> None:
        await finished(bucket, "a.txt", success="json")
        bucket.objects.pop(files(bucket)["a"])
        assert len((await compared(bucket)).missing) == 1
        await stopped(bucket, "/published", ("b.txt",))
        found = await compared(bucket)
        assert (found.missing, found.checked_count) == ([], 1)

    run(main())


def test_beside_a_job_that_replaces_every_file_in_place_a_marker_says_nothing() -> None:
    """Of none of its files is known which content is there; and here the marker cannot go."""
    bucket = make_bucket(AWS)

    async def main() -> None:
        await finished(bucket, "a.txt", success="json", names="exact", data=b"of the job before")
        found = await compared(bucket)
        assert (found.missing, found.changed, found.checked_count) == ([], [], 1)
        await stopped(bucket, "/published", ("a.txt",), names="exact", mode="overwrite")
        found = await compared(bucket)
        assert (found.missing, found.changed, found.checked_count) == ([], [], 0)

    run(main())
    remove_bucket(bucket)
