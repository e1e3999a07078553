"""Openings by what is remembered of a bucket: all that was chosen by it goes, if it has changed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit import new_job
from fsspec_commit.destination import OpenDestination
from fsspec_commit.errors import (
    CommitError,
    Reply,
    StoreError,
    UnsafeStoreError,
)
from fsspec_commit.location import locate
from fsspec_commit.new_job import start_new_job
from fsspec_commit.protocol.driver import Driver
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import cleaned, url
from tests.protocol.in_virtual_time import Clock, opened, straight
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.ids import IdSource
    from fsspec_commit.layout import StorePath
    from fsspec_commit.location import Location
    from fsspec_commit.selection import Selection
    from fsspec_commit.store import OpenOptions
    from tests.protocol.in_virtual_time import Call, Hook

CALL_S = 0.1
FORBIDDEN = UnsafeStoreError("nothing may be deleted there", kind="retention")
UNANSWERED = StoreError("no answer")


@pytest.fixture(params=["gcs", "versioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class Memory:
    """What opens a store that remembers what its bucket was, and is asked what it is by now.

    Attributes:
        now: What it is, or how an answer fails.
        asked: How often that was asked for.
        gone_by: What each opening was told, in turn.
    """

    def __init__(self, bucket: Bucket, hook: Hook = straight) -> None:
        self.now: str | Exception = "as before"
        self.asked = 0
        self.gone_by: list[tuple[OpenDestination, str]] = []
        self._bucket, self._hook, self._clock = bucket, hook, Clock()

    async def open_destination(
        self, location: Location, options: OpenOptions, *, ids: IdSource
    ) -> OpenDestination:
        remembers = options.later is not None
        facts = "as before" if remembers else await self._ask()
        to = await opened(location.url, self._clock, self._hook)
        self.gone_by.append((to, facts))
        if options.later is not None:
            options.later(self._holds)
        return to

    async def start(self, driver: Driver, *, openings_for_nothing: int = 0, **options: Any) -> bool:
        given: Any = {"mode": "append", **options}
        chosen: list[Selection] = []
        is_first = await start_new_job(
            driver, locate(url(self._bucket)), given, ids=self._clock.ids, chosen=chosen.append
        )
        assert len(chosen) == len(self.gone_by) - openings_for_nothing
        return is_first

    async def _holds(self) -> bool:
        return await self._ask() == "as before"

    async def _ask(self) -> str:
        self.asked += 1
        await asyncio.sleep(CALL_S)
        if isinstance(self.now, Exception):
            raise self.now
        return self.now


@pytest.fixture
def memory(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> Memory:
    memory = Memory(bucket)
    monkeypatch.setattr(new_job, "open_destination", memory.open_destination)
    return memory


def test_what_holds_is_asked_once(memory: Memory) -> None:
    async def main() -> None:
        driver = Driver()
        assert await memory.start(driver)
        assert (memory.asked, len(memory.gone_by)) == (1, 1)

    run(main())


def test_what_has_changed_is_asked_anew_and_all_that_was_chosen_by_it_with_it(
    memory: Memory, bucket: Bucket
) -> None:
    """Another store, another id."""

    async def main() -> None:
        memory.now = "changed"
        driver = Driver()
        assert await memory.start(driver)
        (_, before), (to, facts) = memory.gone_by
        assert (before, facts, memory.asked) == ("as before", "changed", 2)
        job = driver.started()
        assert job.store is to.store
        assert bucket.keys("") == [job.layout.spec]

    run(main())


def test_what_is_probed_is_asked_about_first(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The findings of a probe are kept for the life of the process."""
    monkeypatch.setattr(OpenDestination, "is_probed_first", lambda _, probing: probing)

    async def main() -> None:
        driver = Driver()
        assert await memory.start(driver, openings_for_nothing=1)
        assert [facts for _, facts in memory.gone_by] == ["as before"] * 2
        assert memory.asked == 1
        assert driver.started().store is memory.gone_by[1][0].store

    run(main())


def test_a_committer_that_is_refused_is_chosen_by_what_holds(memory: Memory) -> None:
    """By facts that are remembered it might be refused wrongly."""

    async def main() -> None:
        with pytest.raises(UnsafeStoreError, match="v1"):
            await memory.start(Driver(), committer="v1")
        assert [facts for _, facts in memory.gone_by] == ["as before", "as before"]
        assert memory.asked == 1

    run(main())


class Died(BaseException):
    """The process has: it sends nothing more."""


class Fault:
    """Meets one call of a start, the *nth*."""

    def __init__(self, what: str, nth: int) -> None:
        self._what, self._left = what, nth
        self.is_met = False

    async def __call__(self, verb: str, path: StorePath, call: Call) -> Any:
        self._left -= 1
        if self._left > 0 or (self.is_met and self._what != "dies"):
            return await call()
        self.is_met = True
        if self._what == "dies":
            raise Died
        if self._what == "reply lost":
            await call()
        raise StoreError("held", reply=Reply.REFUSED if self._what == "refused" else Reply.UNKNOWN)


@pytest.mark.parametrize("now", ["as before", "changed", FORBIDDEN, UNANSWERED], ids=repr)
@pytest.mark.parametrize("what", ["dies", "refused", "reply lost", "request lost"])
def test_whichever_call_fails_nobody_is_given_what_does_not_hold(
    bucket: Bucket, what: str, now: str | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is left behind, `clean` removes."""

    async def main(fault: Fault) -> None:
        memory = Memory(bucket, fault)
        monkeypatch.setattr(new_job, "open_destination", memory.open_destination)
        memory.now = now
        driver = Driver()
        (told,) = await asyncio.gather(memory.start(driver), return_exceptions=True)
        if told is True:
            to, facts = memory.gone_by[-1]
            assert (driver.started().store, facts) == (to.store, now)
        elif not isinstance(told, Died):
            assert isinstance(told, CommitError | StoreError)
            assert driver.state == "new"
            assert fault.is_met or told is now
        await cleaned(bucket, Clock())
        assert bucket.keys("") == []

    for nth in range(1, 20):
        fault = Fault(what, nth)
        run(main(fault))
        if not fault.is_met:
            assert nth > 1
            return
    pytest.fail("a start takes fewer calls")
