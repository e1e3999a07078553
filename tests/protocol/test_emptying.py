"""How the area of a settled job goes: whatever of it is left, it never looks like a loss."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.protocol import chosen
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.commit import commit_job
from fsspec_commit.protocol.damaged import damage_of
from fsspec_commit.protocol.job_state import read_state
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.store import Expect
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.cleaning import cleaned, put, url
from tests.protocol.in_virtual_time import (
    Clock,
    Fails,
    Sleeper,
    Then,
    attempt,
    opened,
    started,
    wrote,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from fsspec_commit.effects.confirmed.store import ConfirmedStore
    from fsspec_commit.layout import JobLayout, StorePath
    from fsspec_commit.protocol.bound_job import BoundJob
    from tests.protocol.in_virtual_time import Call

KINDS = ("gcs", "versioned", "minio", "gen2")
NAMES = ("manifests", "claim-", "decision", "published")
NO_MATTER = ("_SUCCESS-", "uploads/")
ATTEMPT = "0123456789abcdef"


@pytest.fixture(params=KINDS)
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class Dies:
    """Who removes an area, and dies at a step of which only some requests were carried out."""

    def __init__(self, done: Collection[str]) -> None:
        self._done = done
        self._is_void = False

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        if "/_commit/2" not in path or not verb.startswith("delete"):
            return await call()
        # The area itself goes with all that is in it, and what it shows is published.
        name = path.partition("/_commit/2")[2].partition("/")[2] or "published"
        if self._is_void and not name.startswith((*self._done, *NO_MATTER)):
            await asyncio.sleep(1)  # The others have been answered by then.
            raise Crash
        self._is_void |= name == "job.json"
        return await call()


async def ends(bucket: Bucket, clock: Clock, hook: Dies, how: str) -> tuple[JobLayout, Sleeper]:
    """A job that was settled, whose area its settler has not removed whole; and who sleeps."""
    sleeper = Sleeper()
    driver = await started(url(bucket), clock, sleeper)
    message = await wrote(driver, "a.txt")
    sleeper.ended = asyncio.ensure_future(driver.commit([message], wait_s=0))
    await sleeper.stands.wait()
    job = (await opened(url(bucket), clock, hook)).bind(driver.started().record)
    with suppress(Crash):
        if how == "committed":
            await commit_job(job, [message], wait_s=0)
        else:
            await abort_job(job, by="an aborter")
    return job.layout, sleeper


@pytest.mark.guarantees("P5", "P8")
@pytest.mark.parametrize("late", ["nothing", "a manifest", "a decision", "both"])
@pytest.mark.parametrize("how", ["committed", "aborted"])
def test_whatever_has_gone_the_rest_is_no_loss(bucket: Bucket, how: str, late: str) -> None:
    """`clean` removes it, and asks nobody."""

    async def left(done: Collection[str], clock: Clock) -> None:
        layout, sleeper = await ends(bucket, clock, Dies(done), how)
        assert layout.spec not in bucket.keys("")
        if late in {"a manifest", "both"}:
            put(bucket, layout.attempt(7, ATTEMPT).manifest)
        if late in {"a decision", "both"}:
            await sleeper.wake()
        report = await cleaned(bucket, clock)
        assert report.shown == (), done
        assert not bucket.keys(f"{layout.area}/"), done
        await sleeper.wake()
        await cleaned(bucket, clock)

    async def main() -> None:
        clock = Clock()
        for size in range(len(NAMES) + 1):
            for done in combinations(NAMES, size):
                await left(done, clock)

    run(main())


@pytest.mark.guarantees("P7", "P8")
def test_nothing_goes_before_the_job_has_gone(bucket: Bucket) -> None:
    """A deletion of ``job.json`` that is refused leaves the area as it was."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, Fails("delete", "/job.json"))
        await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
        job = driver.started()
        assert driver.result is not None
        [warning] = driver.result.warnings
        assert "the work area was not removed" in warning
        area = f"{job.layout.area}/"
        left = {path[len(area) :].partition("-")[0] for path in bucket.keys(area)}
        assert {"job.json", "claim", "decision", "published"} <= left
        again = (await opened(url(bucket), clock)).bind(job.record)
        assert (await resume_job(again)).warnings == ()
        assert not bucket.keys(f"{job.layout.area}/")

    run(main())


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("bucket", ["versioned", "minio"], indirect=True)
def test_an_upload_that_is_begun_while_the_job_goes_is_aborted(bucket: Bucket) -> None:
    """Its attempt has found ``job.json``, and will not look again."""

    async def main() -> None:
        clock = Clock()

        async def straggles() -> None:
            await asyncio.sleep(1)  # What is to go is listed by then.
            job: BoundJob = (await opened(url(bucket), clock)).bind(driver.started().record)
            await attempt(job, ["late.txt"])
            assert bucket.uploads

        hook = Then("delete", "/job.json", straggles)
        driver = await started(url(bucket), clock, hook)
        await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
        assert hook.done
        assert bucket.uploads == {}
        report = await cleaned(bucket, clock)
        assert report.shown == ()
        assert not bucket.keys(f"{driver.started().layout.area}/")

    run(main())


@pytest.mark.parametrize("bucket", ["gcs", "versioned"], indirect=True)
def test_a_large_area_goes_by_its_directories(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not held in memory; and its manifests go first, then its decision."""
    monkeypatch.setattr(FlatStore, "files_max", 3)

    async def main() -> None:
        clock, deleted = Clock(), list[str]()

        async def note(verb: str, path: StorePath, call: Call) -> Any:
            if verb.startswith("delete") and "/_commit/2" in path:
                deleted.append(f"{verb} {path.split('/_commit/')[1].partition('/')[2]}")
            return await call()

        driver = await started(url(bucket), clock, note)
        messages = [await wrote(driver, f"{task}.txt", task=task) for task in range(5)]
        await driver.commit(messages, wait_s=0)
        assert deleted == [
            *("delete job.json", "delete_tree manifests", "delete decision", "delete_tree "),
        ]
        assert not bucket.keys(f"{driver.started().layout.area}/")

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("bucket", ["gcs", "versioned", "minio"], indirect=True)
@pytest.mark.parametrize("odd", ["/x", "a//b", "manifests/./y", "tasks/../y"])
def test_a_key_that_no_permit_names_keeps_no_job_from_its_end(bucket: Bucket, odd: str) -> None:
    """Somebody else has put it into the area: it goes with that, as a whole."""

    async def main() -> None:
        driver = await started(url(bucket), Clock())
        area = f"{driver.started().layout.area}/"
        put(bucket, f"{area}{odd}")
        await driver.commit([await wrote(driver, "a.txt")], wait_s=0)
        assert driver.result is not None
        assert driver.result.warnings == ()
        assert not bucket.keys(area)

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("bucket", ["minio"], indirect=True)
def test_the_list_of_attempts_stays_as_long_as_uploads_are_looked_for(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A resumer reads there whose uploads are completed: their records need not be read."""
    monkeypatch.setattr(chosen, "INLINE_BYTES_MAX", 100)
    monkeypatch.setattr(chosen, "_HELD_MAX", 2)

    async def slow(verb: str, _: StorePath, call: Call) -> Any:
        if not verb.startswith("delete"):
            await asyncio.sleep(1)
        return await call()

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, Fails("delete", "/job.json", Crash()))
        messages = [await wrote(driver, f"{task}.txt", task=task) for task in range(5)]
        with suppress(Crash):
            await driver.commit(messages, wait_s=0)
        job = driver.started()
        lists = f"{job.layout.area}/chosen-"
        assert any(path.startswith(lists) for path in bucket.keys(""))
        again = (await opened(url(bucket), clock, slow)).bind(job.record)
        assert (await resume_job(again)).warnings == ()
        assert not bucket.keys(f"{job.layout.area}/")

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("bucket", ["gcs", "versioned", "minio"], indirect=True)
def test_who_reads_while_an_area_goes_sees_no_loss(bucket: Bucket) -> None:
    """Also if a late manifest stays when the decision that they have read has gone."""

    async def main() -> None:
        clock = Clock()
        gone = asyncio.Event()

        async def stops(verb: str, path: StorePath, call: Call) -> Any:
            if verb.startswith("delete") and path.endswith("/decision"):
                reading.set()
                await read.wait()
            return await call()

        async def reads(verb: str, path: StorePath, call: Call) -> Any:
            answer = await call()
            if verb == "read" and path.endswith("/decision"):
                read.set()
                await gone.wait()
            return answer

        reading, read = asyncio.Event(), asyncio.Event()
        driver = await started(url(bucket), clock, stops)
        layout = driver.started().layout
        message = await wrote(driver, "a.txt")
        ending = asyncio.ensure_future(driver.commit([message], wait_s=0))
        await reading.wait()
        put(bucket, layout.attempt(7, ATTEMPT).manifest)
        store = (await opened(url(bucket), clock, reads)).store
        looking = asyncio.ensure_future(_damage(store, layout))
        await ending
        assert [path for path in bucket.keys(f"{layout.area}/") if "manifests" not in path] == []
        gone.set()
        assert await looking is None

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("bucket", ["gcs", "versioned", "minio"], indirect=True)
@pytest.mark.parametrize("how", ["committed", "aborted"])
def test_a_manifest_that_a_list_does_not_name_is_no_loss(
    bucket: Bucket, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sleeper decides by its list, in an area whose settler has died just before that goes."""
    monkeypatch.setattr(chosen, "INLINE_BYTES_MAX", 100)

    async def main() -> None:
        clock = Clock()
        layout, sleeper = await ends(bucket, clock, Dies(NAMES), how)
        assert any("/chosen-" in path for path in bucket.keys(layout.area))
        put(bucket, layout.attempt(7, ATTEMPT).manifest)
        await sleeper.wake()
        report = await cleaned(bucket, clock)
        assert report.shown == ()
        assert not bucket.keys(f"{layout.area}/")

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("bucket", ["gcs", "versioned", "minio"], indirect=True)
@pytest.mark.parametrize("is_torn", [False, True])
def test_a_manifest_that_a_list_names_is_a_loss(
    bucket: Bucket, is_torn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So is one whose list cannot be read: it may name it."""
    monkeypatch.setattr(chosen, "INLINE_BYTES_MAX", 100)

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, Fails("create", "/published", Crash()))
        message = await wrote(driver, "a.txt")
        with suppress(Crash):
            await driver.commit([message], wait_s=0)
        layout = driver.started().layout
        bucket.delete(layout.spec, Expect.ANYTHING)
        if is_torn:
            [listed] = [path for path in bucket.keys(layout.area) if "/chosen-" in path]
            put(bucket, listed)
        report = await cleaned(bucket, clock)
        [shown] = report.shown
        assert ("not the list" if is_torn else "job.json is gone") in shown

    run(main())


async def _damage(store: ConfirmedStore, layout: JobLayout) -> object:
    return await damage_of(store, await read_state(store, layout), check=lambda _: None)
