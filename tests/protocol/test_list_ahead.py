"""The list of old files is written beside the look, and is what the look has found, or is not used.

Whatever the destination holds when the job looks goes with its commit, and nothing else does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import CommitError, CommitFailedError, Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.protocol import branches, list_ahead, streamed_list
from fsspec_commit.store import Expect
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import SOME_TIME_S, TRIP_S, Before, Clock, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


LISTED, LOOKED = ("list_tree", "/out/", 1), ("list_tree", "/out/", 2)
"""The listing beside the claim, and the look."""
CLAIM, LIST, DECISION = "/claim-", "/replaced-", "/decision"
SUCCESS = "/_SUCCESS"
UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
ONE, TWO = f"one-{UUID}.txt", f"two-{UUID}.txt"
NEW = "a.txt"


@pytest.fixture(params=["gcs", "versioned", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


class Overwrite:
    """A job that replaces what stands, and its driver's calls."""

    def __init__(self, bucket: Bucket) -> None:
        self.bucket, self.clock, self.hook = bucket, Clock(), Before()

    async def commit(self, **options: Any) -> None:
        """Replace the files of the bucket by a new one."""
        how = {"mode": "overwrite", **options}
        driver = await started(url(self.bucket), self.clock, self.hook, **how)
        message = await wrote(driver, NEW)
        self.hook.calls.clear()
        await driver.commit([message], wait_s=0)

    def count(self, part: str, verb: str = "create") -> int:
        return self.hook.count(verb, part)

    def old(self) -> set[str]:
        """The files that stand, but for the new one."""
        found = {name.removeprefix(f"{self.bucket.name}/out/") for name in self.bucket.keys("")}
        data = {name for name in found if not name.startswith("_") and "/_commit/" not in name}
        new = {name for name in data if name.startswith("a-")}
        assert len(new) == 1, found
        return data - new

    def path(self, name: str) -> StorePath:
        return StorePath(f"{self.bucket.name}/out/{name}")


@pytest.fixture
def job(bucket: Bucket) -> Overwrite:
    return Overwrite(bucket)


@pytest.mark.guarantees("P9")
def test_it_is_written_beside_the_look(job: Overwrite) -> None:
    async def main() -> None:
        put(job.bucket, job.path(ONE))
        written: list[int] = []

        async def look() -> None:
            await asyncio.sleep(SOME_TIME_S)
            written.append(job.count(LIST))

        job.hook.does[LOOKED] = look
        await job.commit()
        assert written == [1]
        assert (job.count(CLAIM), job.count(LIST)) == (1, 1)

    run(main())
    assert job.old() == set()


async def forever() -> None:
    await asyncio.sleep(1_000)


async def refuse() -> None:
    raise StoreError("not yours", reply=Reply.REFUSED)


def adds(job: Overwrite) -> None:
    put(job.bucket, job.path(TWO))


def removes(job: Overwrite) -> None:
    job.bucket.delete(job.path(ONE), Expect.ANYTHING)


def rewrites(job: Overwrite) -> None:
    put(job.bucket, job.path(ONE), b"another")


@pytest.mark.guarantees("P9", "P11")
@pytest.mark.parametrize("changes", [adds, removes, rewrites])
def test_what_changes_before_the_look_is_seen(
    job: Overwrite, changes: Callable[[Overwrite], None]
) -> None:
    """The list of the claim is written: another is named after another claim, which stands too."""
    others = 0 if changes is removes else 1  # Then there is nothing to list.
    standing: list[str] = []

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def look() -> None:
            await asyncio.sleep(SOME_TIME_S)
            changes(job)

        async def decide() -> None:
            await asyncio.sleep(SOME_TIME_S)
            standing.extend(name for name in job.bucket.keys("") if CLAIM in name)
            markers = [one for one in job.bucket.uploads.values() if SUCCESS in one.path]
            assert len(markers) <= 1

        job.hook.does |= {LOOKED: look, ("create", DECISION, 1): decide}
        await job.commit()
        assert len(standing) == 1 + others, "nobody gets between the two"
        assert (job.count(CLAIM), job.count(LIST)) == (1 + others, 1 + others)
        await job.hook.nothing_follows()

    run(main())
    assert job.old() == set()
    assert not job.bucket.uploads
    assert not [name for name in job.bucket.keys("") if job.path("_commit/2") in name]


@pytest.mark.guarantees("P5", "P11")
@pytest.mark.parametrize("what", [CLAIM, LIST])
def test_a_job_that_fails_then_is_in_nobodys_way(job: Overwrite, what: str) -> None:
    """Neither of its claims stands."""

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def look() -> None:
            await asyncio.sleep(SOME_TIME_S)
            adds(job)

        job.hook.does |= {LOOKED: look, ("create", what, 2): refuse}
        with pytest.raises(CommitFailedError, match="not yours"):
            await job.commit()
        await job.hook.nothing_follows()

    run(main())
    assert not [name for name in job.bucket.keys("") if CLAIM in name]
    assert job.bucket.get(job.path(TWO)) is not None


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("answers", [True, False])
def test_a_job_that_fails_waits_until_its_list_stands(job: Overwrite, answers: bool) -> None:
    """Else it would come when the job is aborted, and its area gone. But not for ever."""

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def slow() -> None:
            await asyncio.sleep(SOME_TIME_S if answers else 1_000)

        async def refuse_later() -> None:
            await asyncio.sleep(5 * TRIP_S)
            await refuse()

        job.hook.does |= {("create", LIST, 1): slow, LOOKED: refuse_later}
        with pytest.raises(CommitFailedError, match="not yours"):
            await job.commit()
        stands = [name for name in job.bucket.keys("") if LIST in name]
        assert len(stands) == answers
        assert asyncio.get_running_loop().time() < 2 * list_ahead._WAIT_S
        await job.hook.nothing_follows()

    run(main())


@pytest.mark.guarantees("P9")
def test_what_is_still_listed_when_the_look_has_found_it_is_given_up(job: Overwrite) -> None:
    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def slow() -> None:
            await asyncio.sleep(SOME_TIME_S)

        job.hook.does[LISTED] = slow
        before = asyncio.get_running_loop().time()
        await job.commit()
        assert asyncio.get_running_loop().time() < before + SOME_TIME_S
        assert (job.count(CLAIM), job.count(LIST)) == (1, 1)
        await job.hook.nothing_follows()

    run(main())
    assert job.old() == set()


@pytest.mark.parametrize("other", ["is listed", "has come"])
def test_none_is_written_ahead_where_it_may_be_in_vain(job: Overwrite, other: str) -> None:
    """Nor is what was listed of it used, where another job ends meanwhile."""

    async def main() -> None:
        put(job.bucket, job.path(ONE))
        if other == "is listed":
            await started(url(job.bucket), job.clock)
        ahead: list[int] = []

        async def found() -> None:
            await asyncio.sleep(SOME_TIME_S)
            ahead.append(job.count(LIST))
            if other == "has come":
                put(job.bucket, job.path(f"_commit/epoch-{'0' * 32}"))
                put(job.bucket, job.path(TWO))

        job.hook.does["list_children", "/out/_commit/", 2] = found
        await job.commit()
        assert ahead == [0 if other == "is listed" else 1]
        assert job.count(CLAIM) == (1 if other == "is listed" else 2)

    run(main())
    assert job.old() == set()


@pytest.mark.guarantees("P9")
def test_many_files_are_listed_once(job: Overwrite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branches, "AHEAD_ENTRIES_MAX", 1)

    async def main() -> None:
        put(job.bucket, job.path(ONE))
        put(job.bucket, job.path(TWO))
        await job.commit()
        assert (job.count(CLAIM), job.count(LIST)) == (1, 1)

    run(main())
    assert job.old() == set()


@pytest.mark.guarantees("P9")
@pytest.mark.parametrize("has_begun", [True, False])
def test_a_long_list_does_not_meet_a_short_one(
    job: Overwrite, monkeypatch: pytest.MonkeyPatch, has_begun: bool
) -> None:
    """The look finds more than it holds, and begins to write under the name of the list."""

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def slow() -> None:
            await asyncio.sleep(SOME_TIME_S if has_begun else 0)
            monkeypatch.setattr(streamed_list, "_HELD_BYTES_MAX", 1)

        job.hook.does[LOOKED] = slow
        if not has_begun:
            job.hook.does[LISTED] = forever
        await job.commit()
        assert job.count(CLAIM) == (2 if has_begun else 1)
        await job.hook.nothing_follows()

    run(main())
    assert job.old() == set()


@pytest.mark.guarantees("P5", "P9")
def test_one_that_is_not_written_fails_the_commit(job: Overwrite) -> None:
    async def main() -> None:
        put(job.bucket, job.path(ONE))

        job.hook.does["create", LIST, 1] = refuse
        with pytest.raises(CommitFailedError, match="not yours") as caught:
            await job.commit()
        assert caught.value.outcome == "not_committed"
        assert job.count(CLAIM, "delete") == 1
        assert job.count(DECISION) == 0
        await job.hook.nothing_follows()

    run(main())
    assert job.bucket.get(job.path(ONE)) is not None


@pytest.mark.guarantees("P9")
def test_one_that_does_not_come_is_not_waited_for_where_it_is_not_the_one(job: Overwrite) -> None:
    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def look() -> None:
            await asyncio.sleep(5 * TRIP_S)
            adds(job)

        job.hook.does |= {("create", LIST, 1): forever, LOOKED: look}
        await job.commit()
        assert asyncio.get_running_loop().time() < 2 * list_ahead._WAIT_S

    run(main())
    assert job.old() == set()


@pytest.mark.guarantees("P11")
def test_a_claim_is_withdrawn_whatever_becomes_of_the_other(job: Overwrite) -> None:
    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def look() -> None:
            await asyncio.sleep(SOME_TIME_S)
            adds(job)

        job.hook.does |= {LOOKED: look, ("create", LIST, 2): refuse, ("delete", CLAIM, 1): refuse}
        with pytest.raises(CommitFailedError, match="not yours"):
            await job.commit()
        assert job.count(CLAIM, "delete") == 2

    run(main())
    assert len([name for name in job.bucket.keys("") if CLAIM in name]) == 1


@pytest.mark.guarantees("P11")
def test_no_claim_comes_when_they_are_withdrawn(
    job: Overwrite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look finds many files, and would write its list under another claim."""

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def look() -> None:
            await asyncio.sleep(SOME_TIME_S)
            monkeypatch.setattr(streamed_list, "_HELD_BYTES_MAX", 1)

        async def refuse_later() -> None:
            if job.count(CLAIM):  # And not when it starts.
                await asyncio.sleep(SOME_TIME_S)
                await refuse()

        async def slow() -> None:
            await asyncio.sleep(5 * TRIP_S)

        job.hook.does |= {LOOKED: look, ("read", "/done/", 1): refuse_later}
        job.hook.does["delete", CLAIM, 1] = slow
        with pytest.raises(CommitError, match="not yours"):
            await job.commit(idempotency_key="a key")
        await job.hook.nothing_follows()

    run(main())
    assert not [name for name in job.bucket.keys("") if CLAIM in name]


@pytest.mark.guarantees("P5")
@pytest.mark.parametrize("trips", range(8))
def test_whoever_is_interrupted_asks_for_nothing_more(job: Overwrite, trips: int) -> None:
    async def main() -> None:
        put(job.bucket, job.path(ONE))
        committing = asyncio.create_task(job.commit())
        await asyncio.sleep((trips + 4.5) * TRIP_S)
        committing.cancel()
        await asyncio.wait([committing])
        await job.hook.nothing_follows()

    run(main())
