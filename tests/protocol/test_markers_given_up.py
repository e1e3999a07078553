"""A marker that is on its way when the commit that it is for is refused: it is given up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitFailedError,
    ConcurrentJobError,
    JobNotActiveError,
    Reply,
    StoreError,
)
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import destination, url
from tests.protocol.in_virtual_time import Clock, Stop, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.driver import Driver
    from tests.protocol.in_virtual_time import Call

SILENCE_S = 30


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def committing(driver: Driver) -> None:
    await driver.commit([await wrote(driver, "a.txt")], wait_s=0)


@pytest.mark.parametrize("older", [True, False])
def test_who_may_not_commit_now_is_told_while_the_marker_is_not_answered(
    bucket: Bucket, older: bool
) -> None:
    """One request may be awaited; it is repeated for nobody."""

    async def main() -> float:
        clock, stop = Clock(), Stop("create", "/decision")

        async def mute(verb: str, path: StorePath, call: Call) -> Any:
            if "_SUCCESS" in path and verb in {"start", "create"}:
                await asyncio.sleep(SILENCE_S)
                raise StoreError("no answer", reply=Reply.UNKNOWN)
            return await call()

        one = await started(url(bucket), clock, stop if older else mute, mode="overwrite")
        other = await started(url(bucket), clock, mute if older else stop, mode="overwrite")
        first, second = (one, other) if older else (other, one)
        deciding = asyncio.create_task(committing(first))
        await stop.reached.wait()
        message = await wrote(second, "b.txt")
        begun = asyncio.get_running_loop().time()
        with pytest.raises(ConcurrentJobError):
            await second.commit([message], wait_s=0)
        took = asyncio.get_running_loop().time() - begun
        stop.passed.set()
        with suppress(JobNotActiveError):  # It may have been fenced.
            await deciding
        return took

    took, _ = run(main())
    assert took < SILENCE_S + 5


@pytest.mark.guarantees("P5")
def test_what_is_given_up_leaves_no_upload(bucket: Bucket) -> None:
    """Refused while its marker is on its way."""

    async def main() -> None:
        clock = Clock()

        async def slowly(verb: str, path: StorePath, call: Call) -> Any:
            if "_SUCCESS" in path and verb in {"start", "put_part"}:
                await asyncio.sleep(1)
            if verb == "list_children" and path.endswith("/_commit"):
                raise StoreError("not yours", path=path, reply=Reply.REFUSED)
            return await call()

        driver = await started(url(bucket), clock, slowly)
        with pytest.raises(CommitFailedError):
            await committing(driver)

    run(main())
    success = destination(bucket).success
    assert not [one for one in bucket.uploads.values() if one.path == success]
