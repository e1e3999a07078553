"""What a job has seen beside the listing of the areas counts only if it can have missed nobody.

The other job is past its claim when this one claims, and ends at the worst moment: when this one
has looked at the destination, and before it can know of the other's end.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import (
    CommitError,
    CommitFailedError,
    Reply,
    StoreError,
)
from fsspec_commit.ids import Nonce
from fsspec_commit.store import Directory, Entry
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore, by_pages
from tests.protocol.another_job import (
    FIRST,
    JOBS,
    KEY,
    OVERWRITES,
    SECOND,
    ByPages,
    KeepsItsMarker,
    Other,
    commit,
    missed_nothing,
)
from tests.protocol.cleaning import destination, put, url
from tests.protocol.in_virtual_time import (
    SOME_TIME_S,
    TRIP_S,
    Before,
    Clock,
    Stop,
    started,
    wrote,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from tests.protocol.in_virtual_time import Call


@pytest.fixture(params=["gcs", "versioned", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.guarantees("P1", "P7", "P11")
@pytest.mark.parametrize("what", JOBS)
class TestOneThatEnds:
    def test_between_the_listings(self, bucket: Bucket, what: str) -> None:
        """Its area was there at the first listing, and is not at the second."""

        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs)
            await other.begins()
            hook.calls.clear()
            hook.does[SECOND] = other.ends
            await missed_nothing(bucket, driver, what)

        run(main())

    def test_before_the_first_listing(self, bucket: Bucket, what: str) -> None:
        """Neither listing shows anything of it: the look must come later."""

        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs)
            await other.begins()
            hook.calls.clear()
            hook.does[FIRST] = other.ends
            await missed_nothing(bucket, driver, what)

        run(main())

    @pytest.mark.parametrize("epochs", [0, 1])
    def test_when_it_began_after_the_first_listing(
        self, bucket: Bucket, what: str, epochs: int
    ) -> None:
        """Neither listing shows its area; the second one has its epoch, in another's place."""
        for number in range(epochs):
            put(bucket, destination(bucket).epoch(Nonce(f"{number:032x}")))

        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs)

            async def listed_and_begun() -> None:
                await asyncio.sleep(SOME_TIME_S)
                await other.begins()

            hook.calls.clear()
            hook.does["create", "/claim-", 1] = listed_and_begun
            hook.does[SECOND] = other.ends
            await missed_nothing(bucket, driver, what)

        run(main())

    def test_when_it_has_been_listed(self, bucket: Bucket, what: str) -> None:
        """It is found to be over."""

        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs)
            await other.begins()
            hook.calls.clear()
            for verb in ("list_children", "list_tree"):
                hook.does[verb, f"/{other.job_id}/", 1] = other.ends
            await missed_nothing(bucket, driver, what)
            assert other.committing is not None
            assert other.committing.done()

        run(main())

    def test_when_its_claim_is_read(self, bucket: Bucket, what: str) -> None:
        """Its claim is listed, and is gone when it is to be read, as if it were withdrawn."""

        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs)
            await other.begins()
            hook.calls.clear()
            hook.does["read", f"/{other.job_id}/claim-", 1] = other.ends
            await missed_nothing(bucket, driver, what)
            assert other.committing is not None
            assert other.committing.done()

        run(main())

    def test_when_it_was_waited_for(self, bucket: Bucket, what: str) -> None:
        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs, Stop("create", "/published"))
            await other.begins()
            hook.calls.clear()
            ending = asyncio.create_task(other.ends())
            await missed_nothing(bucket, driver, what)
            await ending

        run(main())

    def test_when_the_claim_was_withdrawn_for_it(self, bucket: Bucket, what: str) -> None:
        """It is older and has not decided; what was seen under the first claim is forgotten."""

        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            other = Other(bucket, clock, theirs)
            await other.begins()
            driver = await started(url(bucket), clock, hook, **mine)
            hook.calls.clear()
            ending = asyncio.create_task(other.ends())
            await missed_nothing(bucket, driver, what)
            assert hook.count("create", "/claim-") >= 2
            await ending

        run(main())


@pytest.mark.guarantees("P1", "P7")
@pytest.mark.parametrize("what", ["a marker", "a key"])
def test_one_whose_epoch_stands_before_its_marker(bucket: Bucket, what: str) -> None:
    """Both listings show its epoch, and the second one not its area."""

    async def main() -> None:
        clock, hook = Clock(), Before()
        mine, theirs = JOBS[what]
        driver = await started(url(bucket), clock, hook, **mine)
        other = Other(bucket, clock, theirs, KeepsItsMarker("", ""))
        await other.begins()
        await asyncio.sleep(SOME_TIME_S)
        hook.calls.clear()
        hook.does[SECOND] = other.ends
        await missed_nothing(bucket, driver, what)

    run(main())


def test_p11_who_fences_another_looks_again(bucket: Bucket) -> None:
    async def main() -> None:
        clock, hook = Clock(), Before()
        driver = await started(url(bucket), clock, hook)
        other = Other(bucket, clock, OVERWRITES)
        await other.begins()
        hook.calls.clear()
        await commit(driver, "a.txt")
        assert hook.count("stat", "/_SUCCESS/") >= 2
        other.stop.passed.set()
        assert other.committing is not None
        with pytest.raises(CommitError):
            await other.committing

    run(main())


@pytest.mark.parametrize(("shows", "early"), [("at once", 1), ("by pages", 0), ("not said", 0)])
def test_who_meets_nobody_looks_once(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, shows: str, early: int
) -> None:
    """Beside the listing, if the store has said that the one before was of one moment."""
    if shows == "by pages":
        monkeypatch.setattr(FlatStore, "list_at_once", by_pages)
    if shows == "not said":
        monkeypatch.setattr(FlatStore, "at_once", None)

    async def main() -> None:
        hook, seen = Before(), list[int]()
        driver = await started(url(bucket), Clock(), hook)

        async def has_looked() -> None:
            await asyncio.sleep(SOME_TIME_S)
            seen.append(hook.count("stat", "/_SUCCESS/"))

        hook.does[FIRST if shows == "not said" else SECOND] = has_looked
        hook.does["create", "/decision/", 1] = has_looked
        await commit(driver, "a.txt")
        assert seen == [early, 1]

    run(main())


@pytest.mark.guarantees("P1", "P7", "P11")
@pytest.mark.parametrize("what", JOBS)
class TestListingsByPages:
    """The other job acts between the pages of a listing, which is short."""

    def test_the_first(self, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
        """Its area is not there yet on the first page, and its epoch is on the second."""

        async def main() -> None:
            clock = Clock()
            mine, theirs = JOBS[what]
            other = Other(bucket, clock, theirs, KeepsItsMarker("", ""))
            hook = ByPages(1, (Directory, Entry), other.begins)
            driver = await started(url(bucket), clock, hook, **mine)
            monkeypatch.setattr(FlatStore, "list_at_once", by_pages)
            hook.calls.clear()
            hook.does[SECOND] = other.ends
            await missed_nothing(bucket, driver, what)

        run(main())

    def test_the_second(self, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
        """Its epoch is not there yet on the first page, and its area is gone on the second."""

        async def main() -> None:
            clock = Clock()
            mine, theirs = JOBS[what]
            other = Other(bucket, clock, theirs)
            hook = ByPages(2, (Entry, Directory), other.ends)
            driver = await started(url(bucket), clock, hook, **mine)

            async def listed_and_begun() -> None:
                await asyncio.sleep(SOME_TIME_S)
                monkeypatch.setattr(FlatStore, "list_at_once", by_pages)
                await other.begins()

            hook.calls.clear()
            hook.does["create", "/claim-", 1] = listed_and_begun
            await missed_nothing(bucket, driver, what)

        run(main())


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("mode", ["append", "error", "overwrite"])
@pytest.mark.parametrize("interrupted", [True, False], ids=["interrupted", "refused"])
def test_nothing_of_it_is_under_way_when_a_commit_ends(
    bucket: Bucket, mode: str, interrupted: bool
) -> None:
    """While the second listing is under way, which is given up or refused."""

    async def main() -> None:
        hook = Before()
        driver = await started(url(bucket), Clock(), hook, mode=mode)
        message = await wrote(driver, "a.txt")
        hook.calls.clear()
        looking = asyncio.Event()

        async def listed() -> None:
            await asyncio.sleep(0)
            looking.set()
            if interrupted:
                await asyncio.sleep(SOME_TIME_S)
            raise StoreError("not yours", reply=Reply.REFUSED)

        # What is not shown at once, for whatever reason, is listed by pages.
        hook.does[SECOND] = hook.does["list_children", "/out/_commit/", 3] = listed
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await looking.wait()
        if interrupted:
            committing.cancel()
        with pytest.raises(asyncio.CancelledError if interrupted else CommitFailedError):
            await committing
        await hook.nothing_follows()

    run(main())


class EndsLate(Before):
    """Whoever gives up a call waits for it, as for one in a thread; an epoch comes meanwhile.

    Attributes:
        running: How many calls have not ended.
    """

    def __init__(self, bucket: Bucket) -> None:
        super().__init__()
        self.running = 0
        self._looked_at = set[str]()
        self._epoch = f"{bucket.name}/out/_commit/epoch-{'0' * 32}"
        self._bucket = bucket
        self.does[SECOND] = self.changes

    async def changes(self) -> None:
        put(self._bucket, self._epoch)

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        self.running += 1
        try:
            is_look = (verb, "/_SUCCESS" in path) == ("stat", True) or "/done/" in path
            if is_look and path not in self._looked_at:
                self._looked_at.add(path)
                await asyncio.sleep(3 * SOME_TIME_S)
            return await super().__call__(verb, path, call)
        except asyncio.CancelledError:
            await asyncio.sleep(SOME_TIME_S)
            raise
        finally:
            self.running -= 1


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("trips", [5, 20, 50, 90])
def test_who_is_interrupted_while_a_look_is_given_up_waits_for_it(
    bucket: Bucket, trips: int
) -> None:
    """From the listing that shows the epoch on, and no longer than the looks take to end."""

    async def main() -> None:
        hook = EndsLate(bucket)
        driver = await started(url(bucket), Clock(), hook)
        message = await wrote(driver, "a.txt")
        hook.calls.clear()
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await asyncio.sleep(TRIP_S * trips)
        assert hook.running == 1
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing
        assert hook.running == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(main())


def test_all_looks_that_are_given_up_end_together(bucket: Bucket) -> None:
    async def main() -> float:
        hook = EndsLate(bucket)
        driver = await started(url(bucket), Clock(), hook, **KEY)
        message = await wrote(driver, "a.txt")
        hook.calls.clear()
        begin = asyncio.get_running_loop().time()
        await driver.commit([message], wait_s=0)
        assert hook.count("read", "/done/") >= 1
        return asyncio.get_running_loop().time() - begin

    assert SOME_TIME_S < run(main())[0] < 2 * SOME_TIME_S
