"""A look that is begun again beside the areas counts only if nobody can have been missed by it."""

from __future__ import annotations

import asyncio
from collections import Counter
from itertools import count
from typing import TYPE_CHECKING, Any, cast

import pytest

from fsspec_commit.errors import ConcurrentJobError
from fsspec_commit.ids import Nonce
from fsspec_commit.protocol import job_state, other_jobs
from fsspec_commit.protocol.claim import claim_of
from fsspec_commit.protocol.early_look import EarlyLook, Look
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.another_job import JOBS, KEY, SECOND, InOrder, Other, commit, missed_nothing
from tests.protocol.cleaning import destination, put, url
from tests.protocol.in_virtual_time import SOME_TIME_S, TRIP_S, Before, Clock, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from fsspec_commit.protocol.job_state import JobState
    from fsspec_commit.protocol.list_ahead import ListAhead
    from fsspec_commit.records.job import Claim
    from tests.protocol.in_virtual_time import Call


@pytest.fixture(params=["gcs", "versioned", "gen2", "express"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class ShowsNothing(Before):
    """The first listing of an area, by itself or with others, is answered by somebody else.

    Attributes:
        hides: What is hidden of it: the end of a name, or all.
        job_id: Whose area it is.
        said: Whether that was said.
    """

    def __init__(self, hides: str) -> None:
        super().__init__()
        self.hides, self.job_id, self.said = hides, "", False

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        answer = await super().__call__(verb, path, call)
        alone = verb == "list_children" and path.endswith(self.job_id)
        together = verb == "list_tree" and path.endswith("/_commit")
        if not self.job_id or self.said or not (alone or together):
            return answer
        self.said = True
        if alone:
            return [child for child in answer if not child.path.endswith(self.hides)]
        names, is_whole = answer
        return [name for name in names if not name.endswith(self.hides)], is_whole


def epoch(bucket: Bucket) -> None:
    """Another job has been there, and is over: what was seen beside the listings counts no more."""
    put(bucket, destination(bucket).epoch(Nonce("0" * 32)))


@pytest.mark.guarantees("P1", "P7", "P11")
@pytest.mark.parametrize("what", JOBS)
class TestOneThatEnds:
    @pytest.mark.parametrize("hides", ["", "/job.json"], ids=["nothing", "no job.json"])
    @pytest.mark.parametrize("is_alone", [True, False], ids=["alone", "together"])
    def test_whose_area_was_not_shown(
        self,
        bucket: Bucket,
        monkeypatch: pytest.MonkeyPatch,
        what: str,
        is_alone: bool,
        hides: str,
    ) -> None:
        """It lives until its ``job.json`` is read: it is not over because one listing says so."""

        async def main() -> None:
            clock, hook = Clock(), ShowsNothing(hides)
            mine, theirs = JOBS[what]
            if not is_alone:
                monkeypatch.setattr(FlatStore, "in_order", property(InOrder))
                await started(url(bucket), clock)
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs)
            await other.begins()
            hook.job_id = other.job_id
            hook.calls.clear()
            hook.does["read", f"/{other.job_id}/job.json", 1] = other.ends
            await missed_nothing(bucket, driver, what)
            assert hook.said

        run(main())

    def test_when_only_the_second_listing_shows_it(self, bucket: Bucket, what: str) -> None:
        """Its area is listed beside the look, and it is over by then."""

        async def main() -> None:
            clock, hook = Clock(), Before()
            mine, theirs = JOBS[what]
            driver = await started(url(bucket), clock, hook, **mine)
            other = Other(bucket, clock, theirs)

            async def listed_and_begun() -> None:
                await asyncio.sleep(SOME_TIME_S)
                await other.begins()
                epoch(bucket)
                hook.does["list_children", f"/{other.job_id}/", 1] = other.ends

            hook.calls.clear()
            hook.does["create", "/claim-", 1] = listed_and_begun
            await missed_nothing(bucket, driver, what)
            assert other.committing is not None
            assert other.committing.done()

        run(main())


class NothingAhead:
    """No old files are listed ahead."""

    def begin(self, _: Claim) -> None: ...

    async def write_or_stop(self, *, is_alone: bool) -> None: ...


@pytest.mark.guarantees("P1", "P7", "P11")
def test_what_was_begun_again_under_one_claim_says_nothing_under_the_next(bucket: Bucket) -> None:
    """Its listings have missed a job, whatever those of the claim before have shown."""

    async def main() -> None:
        job = (await started(url(bucket), Clock())).started()
        looks = count(1)

        async def number(_: Claim) -> int:
            return next(looks)

        look, claim = Look(number), cast("Claim", None)
        early = EarlyLook(job, cast("ListAhead", NothingAhead()))
        early.take(look)
        seen = []
        for is_first in (True, False):
            early.list_first(claim)
            await early.begin(claim)
            await asyncio.sleep(SOME_TIME_S)  # What is begun is seen by now.
            if not is_first:
                epoch(bucket)
            await early.list_again()
            if is_first:
                await early.renew(claim, anyway=True)
            await early.settle(met_none=True)
            seen.append(await look(claim))
        assert seen == [2, 4], "of the first claim's two, and the second's two, the later ones"

    run(main())


@pytest.mark.parametrize("others", [0, 1])
def test_who_meets_nobody_looks_again_at_once(bucket: Bucket, others: int) -> None:
    """An epoch has come between the listings: all is looked at in one round trip more."""

    async def main() -> None:
        clock, hook = Clock(), Before()
        for _ in range(others):
            await started(url(bucket), clock)
        driver = await started(url(bucket), clock, hook, mode="append", **KEY)
        loop, decided = asyncio.get_running_loop(), list[float]()
        listed = list[float]()

        async def has_ended() -> None:
            listed.append(loop.time())
            epoch(bucket)

        async def is_to_decide() -> None:
            decided.append(loop.time())

        hook.does[SECOND] = has_ended
        hook.does["create", "/decision/", 1] = is_to_decide
        await commit(driver, "a.txt")
        [begin], [end] = listed, decided
        assert round((end - begin) / TRIP_S) == 2
        assert hook.count("stat", "/_SUCCESS/") == 2

    run(main())


@pytest.mark.parametrize("others", [0, 1])
def test_where_nobody_can_be_passed_nothing_is_looked_at_in_vain(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """With the native client of HDFS, say, no names are of one moment, nor in their order."""
    monkeypatch.setattr(FlatStore, "at_once", None)

    async def main() -> None:
        clock, hook = Clock(), Before()
        for _ in range(others):
            await started(url(bucket), clock)
        driver = await started(url(bucket), clock, hook, mode="append", **KEY)
        hook.calls.clear()
        await commit(driver, "a.txt")
        [decision] = [path for verb, path in hook.calls if path.endswith("/decision")][-1:]
        before = hook.calls[: hook.calls.index(("create", decision))]
        assert sum(path.endswith("/_SUCCESS") for verb, path in before if verb == "stat") == 1

    run(main())


@pytest.mark.guarantees("P5")
def test_who_is_interrupted_while_it_begins_again_asks_for_nothing_more(bucket: Bucket) -> None:
    """It waits for the look that does not count, as for one in a thread."""

    class EndsLate(Before):
        """Whoever gives up a look for the marker waits for it."""

        async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
            if verb == "stat" and path.endswith("/_SUCCESS"):
                try:
                    await asyncio.sleep(SOME_TIME_S)
                except asyncio.CancelledError:
                    given_up.set()
                    await asyncio.sleep(SOME_TIME_S)
                    raise
            return await super().__call__(verb, path, call)

    given_up = asyncio.Event()

    async def main() -> None:
        hook = EndsLate()
        driver = await started(url(bucket), Clock(), hook, mode="append")
        message = await wrote(driver, "a.txt")

        async def has_ended() -> None:
            epoch(bucket)

        hook.does[SECOND] = has_ended
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await given_up.wait()
        committing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await committing
        await hook.nothing_follows()
        assert not hook.count("create", "/decision")

    run(main())


async def claim_of_another(bucket: Bucket, clock: Clock) -> None:
    """A job whose claim stands, and must be read; its driver is dead."""
    job = (await started(url(bucket), clock, mode="overwrite")).started()
    claim = claim_of(job.record, (), job.store.ids.nonce(), reusable_names=False)
    put(bucket, job.layout.claim(claim.nonce), claim.encode())


def test_no_more_records_are_read_at_once_than_elsewhere(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim may be a megabyte: those that only the second listing shows wait for the others."""
    at_once = Counter[str]()

    async def read_state(*asked: Any, **known: Any) -> JobState:
        at_once["now"] += 1
        at_once["most"] = max(at_once["most"], at_once["now"])
        await asyncio.sleep(TRIP_S)
        try:
            return await job_state.read_state(*asked, **known)
        finally:
            at_once["now"] -= 1

    async def main() -> None:
        clock, hook = Clock(), Before()
        driver = await started(url(bucket), clock, hook)
        for _ in range(3):
            await claim_of_another(bucket, clock)

        async def listed_and_begun() -> None:
            await asyncio.sleep(SOME_TIME_S)
            for _ in range(3):
                await claim_of_another(bucket, clock)

        hook.does["create", "/claim-", 1] = listed_and_begun
        monkeypatch.setattr(other_jobs, "read_state", read_state)
        monkeypatch.setattr(driver.started().store, "records_at_once_max", 2)
        with pytest.raises(ConcurrentJobError):
            await commit(driver, "a.txt", wait_s=0)
        assert at_once["most"] == 2

    run(main())
