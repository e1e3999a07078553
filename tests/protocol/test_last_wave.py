"""The marker and then the mark of the key, and at once with both the epoch: any may be missing."""

from __future__ import annotations

import asyncio
import re
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import ConcurrentJobError, PartialCommitError, Reply, StoreError
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import destination, url
from tests.protocol.in_virtual_time import Clock, Stop, opened, started, wrote
from tests.protocol.trips import Trips
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fsspec_commit.layout import StorePath
    from tests.protocol.in_virtual_time import Call

WAVE = {"marker": "/out/_SUCCESS", "key": "/_commit/done/", "epoch": "/_commit/epoch-"}
"""What is asked for, and how its path is told."""
_PUBLISHED = re.compile(r"create \S+/published")
SUBSETS = [
    done
    for done in chain.from_iterable(combinations(WAVE, size) for size in range(len(WAVE) + 1))
    if "marker" in done or "key" not in done
]


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class Dies:
    """A driver that dies in its last wave, of which only some requests were carried out.

    Attributes:
        asked: What it has asked for.
    """

    def __init__(self, done: Collection[str]) -> None:
        self._done = done
        self._is_published = False
        self.asked: set[str] = set()

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        name = next((one for one, part in WAVE.items() if part in path), None)
        if self._is_published and name is not None:
            self.asked.add(name)
            if name not in self._done:
                await asyncio.sleep(1)  # The others have been answered by then.
                raise Crash
        self._is_published |= verb == "create" and path.endswith("/published")
        return await call()


async def refuse_marker(verb: str, path: StorePath, call: Call) -> Any:
    if verb in {"rename", "complete"} and WAVE["marker"] in path:
        raise StoreError("not yours", reply=Reply.REFUSED)
    return await call()


def left(bucket: Bucket) -> set[str]:
    """What of the wave stands."""
    keys = bucket.keys("")
    return {name for name, part in WAVE.items() if any(part in key for key in keys)}


def epochs(bucket: Bucket) -> list[str]:
    return [key for key in bucket.keys("") if "/_commit/epoch-" in key]


def shown(bucket: Bucket) -> list[str]:
    return [name.partition("-")[0] for name in fc.committed_files(url(bucket)).names]


@pytest.mark.guarantees("P1", "P7", "P8")
@pytest.mark.parametrize("done", SUBSETS, ids=" ".join)
def test_whatever_was_carried_out_a_resumer_does_the_rest(
    bucket: Bucket, done: tuple[str, ...]
) -> None:
    async def main() -> None:
        clock, hook = Clock(), Dies(done)
        driver = await started(url(bucket), clock, hook, idempotency_key="k")
        message = await wrote(driver, "a.txt")
        if len(done) < len(WAVE):
            with pytest.raises(Crash):
                await driver.commit([message], wait_s=0)
            assert left(bucket) == {*done}
            job = (await opened(url(bucket), clock)).bind(driver.started().record)
            assert (await resume_job(job)).warnings == ()
        else:
            assert await driver.commit([message], wait_s=0)
        assert hook.asked == WAVE.keys() - (set() if "marker" in done else {"key"})
        assert left(bucket) == WAVE.keys()
        assert len(epochs(bucket)) == 1
        again = await started(url(bucket), clock, idempotency_key="k")
        assert await again.commit([await wrote(again, "b.txt")], wait_s=0)
        assert again.is_skipped

    run(main())
    assert shown(bucket) == ["a"]
    assert fc.jobs(url(bucket)) == []


@pytest.mark.guarantees("P8")
def test_a_marker_that_fails_leaves_an_epoch_that_says_too_much(bucket: Bucket) -> None:
    """It says that something has changed; the job is as unfinished as it was."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, refuse_marker)
        with pytest.raises(PartialCommitError) as caught:
            await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
        job = driver.started()
        assert job.settle_command("resume") in "".join(caught.value.__notes__)
        (first,) = epochs(bucket)
        assert [one.state for one in fc.jobs(url(bucket))] == ["published"]
        assert shown(bucket) == ["a"]
        other = (await opened(url(bucket), clock)).bind(job.record)
        assert (await resume_job(other)).warnings == ()
        (second,) = epochs(bucket)
        assert first < second
        assert left(bucket) == {"marker", "epoch"}

    run(main())


@pytest.mark.guarantees("P6")
def test_who_was_superseded_before_it_changes_nothing_of_a_later_job(bucket: Bucket) -> None:
    """Its wave comes when a resumer has ended the job, and a later one has replaced all of it."""

    async def main() -> None:
        clock, stop = Clock(), Stop("create", WAVE["epoch"])
        driver = await started(url(bucket), clock, stop)
        message = await wrote(driver, "a.txt")
        committing = asyncio.ensure_future(driver.commit([message], wait_s=0))
        await stop.reached.wait()
        job = (await opened(url(bucket), clock)).bind(driver.started().record)
        await resume_job(job)
        later = await started(url(bucket), clock, mode="overwrite", success="json")
        assert await later.commit([await wrote(later, "b.txt")], wait_s=0)
        before = {key: bucket.objects[key].data for key in bucket.keys("")}
        stop.passed.set()
        assert await committing
        after = {key: bucket.objects[key].data for key in bucket.keys("")}
        assert {key for key in after.keys() - before.keys() if "/epoch-" not in key} == set()
        kept = {key: data for key, data in before.items() if "/epoch-" not in key}
        assert kept.items() <= after.items()
        assert destination(bucket).success in kept

    run(main())
    assert shown(bucket) == ["b"]


@pytest.mark.guarantees("P7")
def test_no_key_counts_before_the_marker_stands(bucket: Bucket) -> None:
    """Who runs the job again is not told that there is nothing to do: readers wait for a marker."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, refuse_marker, idempotency_key="k")
        with pytest.raises(PartialCommitError):
            await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
        again = await started(url(bucket), clock, idempotency_key="k")
        assert not again.is_skipped
        with pytest.raises(ConcurrentJobError, match="resume"):
            await again.commit([await wrote(again, "a.txt")], wait_s=0)

    run(main())
    assert left(bucket) == {"epoch"}


@pytest.mark.parametrize("family", ["s3", "gcs", "gen2", "hdfs"])
def test_they_take_one_round_trip_and_a_key_one_more(
    monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    """Once the files are in place."""

    async def ended(trips: Trips, **options: Any) -> list[str]:
        driver = await trips.begun(**options)
        await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
        asked = trips.asked(0)
        published = [index for index, line in enumerate(asked) if _PUBLISHED.search(line)]
        return asked[published[-1] :]

    taken = []
    for key in (None, "k"):
        trips = Trips(monkeypatch, family)
        taken.append(trips.run(ended(trips, idempotency_key=key)))
    without, of_key = taken
    assert len(of_key) == len(without) + 1
    (wave,) = [line for line in of_key if "create out/_commit/epoch-" in line]
    assert "_SUCCESS" in wave
