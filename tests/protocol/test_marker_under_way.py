"""The marker is prepared beside the claim and the looks, and is left behind by no commit."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitFailedError,
    ConcurrentJobError,
    DestinationExistsError,
    JobNotActiveError,
    Reply,
    StoreError,
)
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.driver import Driver
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import destination, put, url
from tests.protocol.in_virtual_time import Clock, Stop, opened, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.protocol.in_virtual_time import Call

TRIP_S = 0.01


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class Travels:
    """Each call takes a while; those of one verb on paths with a part fail, if they are told to.

    Attributes:
        calls: Every call, by its verb, path and when it was sent.
        refusing: The verb and the part of the path of those that are refused.
    """

    def __init__(self, *refusing: tuple[str, str]) -> None:
        self.calls: list[tuple[str, str, float]] = []
        self.refusing = list(refusing)

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        self.calls.append((verb, path, asyncio.get_running_loop().time()))
        await asyncio.sleep(TRIP_S)
        if any(verb == one and part in path for one, part in self.refusing):
            raise StoreError("not yours", path=path, reply=Reply.REFUSED)
        return await call()

    def sent_at(self, *looking: tuple[str, str]) -> float:
        """When the first call was sent that is one of those."""
        return next(
            at
            for verb, path, at in self.calls
            if any(verb == one and part in path for one, part in looking)
        )


def uploads_of_markers(bucket: Bucket) -> int:
    success = destination(bucket).success
    return sum(upload.path == success for upload in bucket.uploads.values())


async def committing(driver: Driver, *, wait_s: float = 0) -> None:
    await driver.commit([await wrote(driver, "a.txt")], wait_s=wait_s)


def test_it_is_prepared_beside_the_claim_and_stands_before_the_decision(bucket: Bucket) -> None:
    hook = Travels()

    async def main() -> None:
        await committing(await started(url(bucket), Clock(), hook))

    run(main())
    begun = hook.sent_at(("start", "_SUCCESS"), ("create", "/_SUCCESS-"))
    assert begun == hook.sent_at(("create", "/claim-"))
    recorded = hook.sent_at(("create", "/_SUCCESS-"))
    assert recorded + TRIP_S <= hook.sent_at(("create", "/decision"))
    assert bucket.get(destination(bucket).success) is not None


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("mode", ["append", "ignore"])
def test_none_is_left_by_a_commit_that_is_refused_or_has_nothing_to_do(
    bucket: Bucket, mode: str
) -> None:
    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, Travels(), mode=mode, names="exact")
        message = await wrote(driver, "a.txt")
        put(bucket, f"{bucket.name}/out/a.txt")
        if mode == "ignore":
            await driver.commit([message], wait_s=0)
            assert driver.is_skipped
        else:
            with pytest.raises(DestinationExistsError):
                await driver.commit([message], wait_s=0)
            assert not uploads_of_markers(bucket)
            await driver.abort()

    run(main())
    success = destination(bucket).success
    assert not [one for one in bucket.uploads.values() if one.path == success]
    assert bucket.keys("") == [f"{bucket.name}/out/a.txt"]


@pytest.mark.guarantees("P5", "P11")
def test_each_claim_has_its_own_and_none_outlives_it(bucket: Bucket) -> None:
    """A newer job withdraws its claim while an older one commits, and claims again."""

    async def main() -> None:
        clock, stop, hook = Clock(), Stop("create", "/decision"), Travels()
        older = await started(url(bucket), clock, stop, mode="overwrite")
        newer = await started(url(bucket), clock, hook, mode="overwrite")
        first = asyncio.create_task(committing(older))
        await stop.reached.wait()
        second = asyncio.create_task(committing(newer, wait_s=60))
        await asyncio.sleep(5)
        assert uploads_of_markers(bucket) <= 1, "the one of the older job"
        stop.passed.set()
        await first
        await second
        begun = [path for verb, path, _ in hook.calls if verb == "create" and "/_SUCCESS-" in path]
        claims = [path for verb, path, _ in hook.calls if verb == "create" and "/claim-" in path]
        nonces = [path.partition("/claim-")[2] for path in claims]
        assert len(nonces) == len(set(nonces)) >= 2
        assert [path.partition("/_SUCCESS-")[2] for path in begun] == [
            f"{nonce}.pending" for nonce in nonces
        ]

    run(main())
    assert bucket.get(destination(bucket).success) is not None
    assert not bucket.uploads


@pytest.mark.guarantees("P11")
def test_who_waits_in_vain_leaves_none(bucket: Bucket) -> None:
    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/decision")
        older = await started(url(bucket), clock, stop, mode="overwrite", success="none")
        newer = await started(url(bucket), clock, Travels(), mode="overwrite")
        first = asyncio.create_task(committing(older))
        await stop.reached.wait()
        with pytest.raises(ConcurrentJobError):
            await committing(newer, wait_s=1)
        assert not uploads_of_markers(bucket)
        stop.passed.set()
        await first
        await committing(newer)

    run(main())
    success = destination(bucket).success
    assert not [one for one in bucket.uploads.values() if one.path == success]


@pytest.mark.guarantees("P6")
@pytest.mark.parametrize("kind", ["marker", "json"])
def test_a_job_that_was_ended_before_its_claim_leaves_none(bucket: Bucket, kind: str) -> None:
    """Whoever ended it has listed its uploads by then."""

    async def main() -> None:
        clock, hook = Clock(), Travels()
        driver = await started(url(bucket), clock, hook, success=kind)
        message = await wrote(driver, "a.txt")
        other = (await opened(url(bucket), clock)).bind(driver.started().record)

        async def ended(verb: str, path: StorePath, call: Call) -> Any:
            if "/claim-" in path or verb == "start":
                await abort_job(other, by="a test")
            return await call()

        late = (await opened(url(bucket), clock, ended)).bind(driver.started().record)
        driver.job = late
        with pytest.raises(JobNotActiveError):
            await driver.commit([message], wait_s=0)

    run(main())
    success = destination(bucket).success
    assert not [one for one in bucket.uploads.values() if one.path == success]


@pytest.mark.parametrize("kind", ["marker", "json"])
@pytest.mark.parametrize(
    "refusing", [("create", "/_SUCCESS-"), ("start", "/_SUCCESS"), ("put_part", "/_SUCCESS")]
)
def test_one_that_cannot_be_prepared_fails_the_commit_and_leaves_nothing(
    refusing: tuple[str, str], kind: str
) -> None:
    bucket = make_bucket(ALL_HABITS["versioned"])

    async def main() -> None:
        hook = Travels(refusing)
        driver = await started(url(bucket), Clock(), hook, success=kind)
        message = await wrote(driver, "a.txt")
        with pytest.raises(CommitFailedError):
            await driver.commit([message], wait_s=0)
        assert not uploads_of_markers(bucket)
        assert not [key for key in bucket.keys("") if "/claim-" in key]
        hook.refusing.clear()
        await driver.commit([message], wait_s=0)

    run(main())
    assert bucket.get(destination(bucket).success) is not None
    assert not bucket.uploads
    remove_bucket(bucket)


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("trips", [0.5, 1.5, 2.5])
def test_whoever_is_interrupted_sends_nothing_after_it(bucket: Bucket, trips: float) -> None:
    async def main() -> None:
        hook = Travels()
        driver = await started(url(bucket), Clock(), hook)
        message = await wrote(driver, "a.txt")
        begun = asyncio.get_running_loop().time()
        commit = asyncio.create_task(driver.commit([message], wait_s=0))
        await asyncio.sleep((1 + trips) * TRIP_S)  # The manifest is read first.
        commit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await commit
        calls = len(hook.calls)
        assert hook.calls[-1][2] > begun
        await asyncio.sleep(10)
        assert len(hook.calls) == calls
        await driver.abort()

    run(main())
    assert not [key for key in bucket.keys("") if "/_commit/20" in key]


@pytest.mark.guarantees("P11")
def test_the_marker_of_a_twin_stays(bucket: Bucket) -> None:
    """Of two drivers of one job the second is refused, and withdraws no marker but its own."""

    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/decision")
        driver = await started(url(bucket), clock, stop, names="exact")
        message = await wrote(driver, "a.txt")
        first = asyncio.create_task(driver.commit([message], wait_s=0))
        await stop.reached.wait()
        taken = StorePath(f"{bucket.name}/out/a.txt")
        put(bucket, taken)
        twin = Driver((await opened(url(bucket), clock, Travels())).bind(driver.started().record))
        with pytest.raises(DestinationExistsError):
            await twin.commit([message], wait_s=0)
        bucket.objects.pop(taken)
        stop.passed.set()
        await first

    run(main())
    assert bucket.get(destination(bucket).success) is not None
    assert not bucket.uploads


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("older", [True, False])
def test_whoever_has_waited_looks_again(bucket: Bucket, older: bool) -> None:
    """The job that was waited for leaves a marker; it must not stand for half of the other."""
    seen: list[bool] = []

    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/published")
        success = destination(bucket).success

        async def adding(verb: str, path: StorePath, call: Call) -> Any:
            if verb in {"rename", "complete"} and path != success:
                seen.append(bucket.get(success) is not None)
            return await call()

        first = await started(
            url(bucket), clock, stop if older else adding, mode="overwrite" if older else "append"
        )
        second = await started(
            url(bucket), clock, adding if older else stop, mode="append" if older else "overwrite"
        )
        overwrite, append = (first, second) if older else (second, first)
        overwriting = asyncio.create_task(committing(overwrite))
        await stop.reached.wait()
        appending = asyncio.create_task(committing(append, wait_s=60))
        await asyncio.sleep(5)
        stop.passed.set()
        await overwriting
        await appending

    run(main())
    assert seen == [False]
    assert bucket.get(destination(bucket).success) is not None


@pytest.mark.guarantees("P8")
def test_where_uploads_are_kept_by_path_it_is_prepared_last() -> None:
    """The marker of another job, which is published meanwhile, drops what is prepared."""
    bucket, hook = make_bucket(ALL_HABITS["by path"]), Travels()

    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/published")
        older = await started(url(bucket), clock, stop, mode="overwrite")
        newer = await started(url(bucket), clock, hook, mode="overwrite")
        first = asyncio.create_task(committing(older))
        await stop.reached.wait()
        second = asyncio.create_task(committing(newer, wait_s=60))
        await asyncio.sleep(5)
        stop.passed.set()
        await first
        await second

    run(main())
    assert hook.sent_at(("create", "/_SUCCESS-")) > hook.sent_at(("stat", "out/_SUCCESS"))
    assert bucket.get(destination(bucket).success) is not None
    remove_bucket(bucket)


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("options", [{"mode": "overwrite"}, {"names": "exact"}])
def test_the_marker_of_a_job_that_ends_meanwhile_stands_beside_no_half(
    bucket: Bucket, options: dict[str, Any]
) -> None:
    """It conflicts, and is over before the areas are listed: so it is in nobody's way."""
    beside: list[bool] = []
    success = destination(bucket).success

    async def main() -> None:
        clock, stop = Clock(), Stop("create", "/published")
        first = await started(url(bucket), clock, stop, **options)
        ending = asyncio.create_task(committing(first))
        await stop.reached.wait()

        async def slowly(verb: str, path: StorePath, call: Call) -> Any:
            if verb == "list_children" and path.endswith("/_commit") and not ending.done():
                await asyncio.sleep(1)
                stop.passed.set()
                await ending
            if verb in {"rename", "complete"} and path != success:
                beside.append(bucket.get(success) is not None)
            return await call()

        named = {name: value for name, value in options.items() if name == "names"}
        second = await started(url(bucket), clock, slowly, **named)
        await second.commit([await wrote(second, "b.txt")], wait_s=60)

    run(main())
    assert beside == [False]
    assert bucket.get(success) is not None
