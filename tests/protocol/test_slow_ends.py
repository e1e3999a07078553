"""Ends of jobs that take longer than a permit lasts: it is asked again whether the job stands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import PartialCommitError, Reply, StoreError
from fsspec_commit.protocol import deleting, retire
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import Clock, opened, started, straight, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.driver import Driver
    from tests.protocol.in_virtual_time import Call, Hook

MINUTE_S = 60.0


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


async def overwriting(
    bucket: Bucket, hook: Hook, *old: str, clock: Clock | None = None
) -> tuple[Driver, Any]:
    for name in old:
        put(bucket, f"{bucket.name}/out/{name}", name.encode())
    driver = await started(url(bucket), clock or Clock(), hook, mode="overwrite")
    return driver, await wrote(driver, "new.txt")


def data(bucket: Bucket) -> set[str]:
    names = {key.rpartition("/")[2] for key in bucket.keys("") if "/_commit/" not in key}
    return {name.partition("-")[0] for name in names} - {"_SUCCESS"}


class Throttled:
    """Each deletion of an old file is to wait for a minute, so often."""

    def __init__(self, times: int) -> None:
        self._left = times
        self.looks = 0

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        self.looks += verb == "read" and path.endswith("/job.json")
        if verb == "delete" and path.endswith("/old.txt") and self._left:
            self._left -= 1
            raise StoreError("slow down", reply=Reply.NOT_DONE, retry_after_s=MINUTE_S)
        return await call()


@pytest.mark.guarantees("P8", "P9")
@pytest.mark.parametrize(("times", "looks"), [(4, 0), (6, 1)])
def test_who_deletes_for_long_looks_again_whether_the_job_stands(
    bucket: Bucket, times: int, looks: int
) -> None:
    """Before each of its requests, and not only before the first."""

    async def main() -> int:
        clock, quick, slow = Clock(), Throttled(0), Throttled(times)
        for hook in (quick, slow):
            driver, message = await overwriting(bucket, hook, "old.txt", clock=clock)
            assert await driver.commit([message], wait_s=0)
            assert data(bucket) == {"new"}
        return slow.looks - quick.looks

    assert deleting.LASTS.total_seconds() == 5 * MINUTE_S
    assert run(main())[0] == looks


@pytest.mark.guarantees("P6", "P9")
def test_who_deletes_for_long_and_was_superseded_deletes_no_more(bucket: Bucket) -> None:
    """A resumer has ended the job, and a later one has brought an old name back."""

    async def main() -> None:
        slow = Throttled(6)
        brought_back = 0

        async def hook(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal brought_back
            if verb == "delete" and path.endswith("/old.txt") and slow.looks and not brought_back:
                brought_back += 1
                job = (await opened(url(bucket), Clock())).bind(driver.started().record)
                await resume_job(job)
                bucket.put(path, b"old.txt", None, Expect.ANYTHING)
            return await slow(verb, path, call)

        driver, message = await overwriting(bucket, hook, "old.txt")
        with pytest.raises(Exception, match="was finished by somebody else") as caught:
            await driver.commit([message], wait_s=0)
        assert getattr(caught.value, "outcome", None) == "committed"
        assert data(bucket) == {"new", "old.txt"}

    run(main())


@pytest.mark.guarantees("P9")
def test_of_old_files_that_have_changed_the_first_are_named(bucket: Bucket) -> None:
    async def main() -> None:
        names = [f"{number}.txt" for number in range(5)]

        async def change(verb: str, path: StorePath, call: Call) -> Any:
            if verb == "create" and path.endswith("/published"):
                for name in names:
                    put(bucket, f"{bucket.name}/out/{name}", b"newer")
            return await call()

        driver, message = await overwriting(bucket, change, *names)
        assert await driver.commit([message], wait_s=0)
        assert driver.result is not None
        [warning] = driver.result.warnings
        shown = ", ".join(map(repr, names[:3]))
        assert warning.endswith(f"stay beside the new ones: {shown} and 2 more")
        assert data(bucket) == {"new", *names}

    run(main())


def retired_after(seconds: Callable[[int], float]) -> Hook:
    """To leave word of what may come late takes so long, each time."""
    turn = 0

    async def carry(verb: str, path: StorePath, call: Call) -> Any:
        nonlocal turn
        if verb == "create" and "/deleted-" in path:
            turn += 1
            await asyncio.sleep(seconds(turn))
        return await call()

    return carry


@pytest.mark.guarantees("P8", "P9")
@pytest.mark.parametrize("bucket", ["unversioned"], indirect=True)
@pytest.mark.parametrize("slow", [0, 1, retire._RETIREMENTS_MAX - 1])
def test_a_record_of_late_deletions_that_took_too_long_is_made_anew(
    bucket: Bucket, slow: int
) -> None:
    """For a time to come, each time: it counts from there, and the area goes before that."""

    async def main() -> None:
        hook = retired_after(lambda turn: 10_000.0 if turn <= slow else 0.0)
        driver, message = await overwriting(bucket, hook, "old.txt")
        assert await driver.commit([message], wait_s=0)
        assert driver.result is not None
        assert driver.result.warnings == ()
        left = {key.split("/")[3] for key in bucket.keys("") if "/deleted-" in key}
        assert len(left) == slow + 1
        assert not [key for key in bucket.keys("") if key.endswith("/job.json")]

    run(main())


@pytest.mark.guarantees("P8", "P9")
@pytest.mark.parametrize("bucket", ["unversioned"], indirect=True)
def test_a_store_that_is_too_slow_each_time_leaves_the_end_to_a_resumer(bucket: Bucket) -> None:
    async def main() -> None:
        driver, message = await overwriting(bucket, retired_after(lambda _: 10_000.0), "old.txt")
        with pytest.raises(PartialCommitError, match="too slow to end the job") as caught:
            await driver.commit([message], wait_s=0)
        job = driver.started()
        assert (caught.value.stage, caught.value.remaining) == ("retire", 0)
        assert caught.value.job_id == job.record.job_id
        assert job.settle_command("resume") in str(caught.value)
        assert data(bucket) == {"new"}
        again = await opened(url(bucket), Clock(), straight)
        assert (await resume_job(again.bind(job.record))).warnings == ()
        assert job.layout.spec not in bucket.keys("")

    run(main())


def test_what_took_how_long_is_in_the_result(bucket: Bucket) -> None:
    """Also in that of a job that had nothing to do."""

    async def main() -> None:
        async def slow(verb: str, path: StorePath, call: Call) -> Any:
            await asyncio.sleep(1.0)
            return await call()

        clock = Clock()
        for state in ("committed", "skipped"):
            driver = await started(url(bucket), clock, slow, mode="ignore")
            message = await wrote(driver, "a.txt")
            began = asyncio.get_running_loop().time()
            told = list[int]()
            assert await driver.commit([message], wait_s=0, announce=told.append)
            took_s = asyncio.get_running_loop().time() - began
            result = driver.result
            assert result is not None
            assert result.state == state
            assert told == ([1] if state == "committed" else [])
            assert result.duration_s == took_s > 1
            assert result.statistics["op_create"] > 0
            assert bool(result.statistics.get("committer_jobs_completed")) is (state == "committed")

    run(main())
