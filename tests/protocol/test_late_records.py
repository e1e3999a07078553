"""What jobs leave of their deletions in a bucket that reuses tokens, and who is refused for it."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import UnsafeStoreError
from tests.flat.bucket import HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import NONCE, destination, put, url
from tests.protocol.in_virtual_time import Clock, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.guarantees("P9")
EACH_DIGIT = "424468.txt"
"""A name whose digest has each of the sixteen digits once."""


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    bucket = make_bucket(HABITS["unversioned"])
    yield bucket
    remove_bucket(bucket)


async def deleted(bucket: Bucket, clock: Clock, *names: str) -> None:
    """A job that deletes old files, which hold their names."""
    for name in names:
        put(bucket, f"{bucket.name}/out/{name}", name.encode())
    driver = await started(url(bucket), clock, mode="overwrite")
    assert await driver.commit([await wrote(driver, "new.txt")], wait_s=0)


async def come_back(bucket: Bucket, clock: Clock, *names: str) -> None:
    """A job each of whose tasks writes one of these names."""
    driver = await started(url(bucket), clock, names="exact")
    messages = [await wrote(driver, name, task=task) for task, name in enumerate(names)]
    try:
        assert await driver.commit(messages, wait_s=0)
    except UnsafeStoreError:
        await driver.abort()
        raise


async def refused(bucket: Bucket, clock: Clock, *names: str) -> UnsafeStoreError:
    with pytest.raises(UnsafeStoreError) as caught:
        await come_back(bucket, clock, *names)
    assert (caught.value.kind, caught.value.stage) == ("late_delete", "check")
    assert caught.value.outcome == "not_committed"
    return caught.value


@pytest.mark.parametrize("task", range(3))
def test_whichever_task_brings_a_name_back_its_job_is_refused(bucket: Bucket, task: int) -> None:
    async def main() -> None:
        clock = Clock()
        await deleted(bucket, clock, "old.txt")
        names = [f"{number}.txt" for number in range(3)]
        names[task] = "old.txt"
        error = await refused(bucket, clock, *names)
        assert error.path == "old.txt"
        until = clock.moment - timedelta(seconds=1) + timedelta(hours=2)
        assert f"until {until:%Y-%m-%d %H:%M:%S} UTC" in str(error)
        clock.moment += timedelta(hours=2)
        await come_back(bucket, clock, *names)

    run(main())


def test_each_of_many_names_is_remembered(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifteen in one request, however they are read."""
    monkeypatch.setattr("fsspec_commit.protocol.streamed_list._LINES_BYTES", 200)
    names = [f"{number:02}.txt" for number in range(33)]

    async def main() -> None:
        clock = Clock()
        await deleted(bucket, clock, *names)
        marks = [key for key in bucket.keys("") if "/deleted-" in key]
        assert len(marks) == 3
        for name in names:
            assert (await refused(bucket, clock, name)).path == name
        await come_back(bucket, clock, "other.txt")

    run(main())


def test_a_name_whose_digest_has_each_digit_is_remembered_as_well(bucket: Bucket) -> None:
    digest = sha256(f"{len(EACH_DIGIT)} {EACH_DIGIT}".encode()).hexdigest()[:16]
    assert len({*digest}) == 16

    async def main() -> None:
        clock = Clock()
        await deleted(bucket, clock, EACH_DIGIT)
        await refused(bucket, clock, EACH_DIGIT)

    run(main())


@pytest.mark.parametrize("foreign", ["read.me", "z" * 16, "0" * 15, "z" * 40, "é" * 16])
def test_what_others_put_beside_what_was_deleted_is_in_nobodys_way(
    bucket: Bucket, foreign: str
) -> None:
    async def main() -> None:
        clock = Clock()
        put(bucket, f"{destination(bucket).deleted(clock.moment, NONCE)}/{foreign}", b"")
        await come_back(bucket, clock, "old.txt")
        await deleted(bucket, clock, "again.txt")
        await refused(bucket, clock, "again.txt")

    run(main())


def test_who_writes_alone_is_not_refused(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        await deleted(bucket, clock, "old.txt")
        driver = await started(url(bucket), clock, names="exact", single_writer=True)
        assert await driver.commit([await wrote(driver, "old.txt")], wait_s=0)

    run(main())
