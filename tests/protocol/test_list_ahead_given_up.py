"""A list that is written ahead and not used, or not written, or whose job fails or is interrupted.

Nothing of it is under way when the caller is told, and no claim stands that should not.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import CommitError, CommitFailedError
from fsspec_commit.protocol import list_ahead, looks, streamed_list
from tests.protocol.cleaning import put
from tests.protocol.in_virtual_time import SOME_TIME_S, TRIP_S
from tests.protocol.overwriting import (
    CLAIM,
    DECISION,
    HABITS,
    LIST,
    LOOKED,
    ONE,
    SUCCESS,
    TWO,
    Overwrite,
    adds,
    forever,
    overwrite_in,
    refuse,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(params=HABITS)
def job(request: pytest.FixtureRequest) -> Iterator[Overwrite]:
    with overwrite_in(request.param) as job:
        yield job


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


@pytest.mark.guarantees("P5")
def test_whoever_is_interrupted_while_a_list_is_waited_for_asks_for_nothing_more(
    job: Overwrite,
) -> None:
    """Else it would come into the area of a job that is aborted then, and is over."""

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def slow() -> None:
            await asyncio.sleep(3 * SOME_TIME_S)

        async def refuse_later() -> None:
            await asyncio.sleep(5 * TRIP_S)
            await refuse()

        job.hook.does |= {("create", LIST, 1): slow, LOOKED: refuse_later}
        committing = asyncio.create_task(job.commit())
        await asyncio.sleep(SOME_TIME_S)
        committing.cancel()
        await asyncio.wait([committing])
        await job.hook.nothing_follows()

    run(main())
    assert not [name for name in job.bucket.keys("") if LIST in name]


@pytest.mark.guarantees("P1")
@pytest.mark.parametrize("call", [("create", LIST), ("create", SUCCESS), ("start", SUCCESS)])
def test_what_is_seen_of_a_marker_is_not_old_when_the_job_decides(
    job: Overwrite, call: tuple[str, str]
) -> None:
    """However long a list takes that is not needed, or the marker that the second claim needs."""
    looked: list[float] = []
    decided: list[float] = []

    async def main() -> None:
        put(job.bucket, job.path(ONE))
        now = asyncio.get_running_loop().time

        async def look() -> None:
            await asyncio.sleep(5 * TRIP_S)
            adds(job)

        async def slow() -> None:
            await asyncio.sleep(list_ahead._WAIT_S - SOME_TIME_S)

        async def seen() -> None:
            looked.append(now())

        async def decide() -> None:
            decided.append(now())

        job.hook.does |= {LOOKED: look, ("create", DECISION, 1): decide}
        for number in (1, 2, 3):
            job.hook.does["stat", SUCCESS, number] = seen
            job.hook.does[*call, number] = slow
        await job.commit()
        assert job.count(CLAIM) == 2

    run(main())
    before = [at_s for at_s in looked if at_s < decided[0]]
    assert decided[0] - max(before) < looks._MARKER_COUNTS_S


@pytest.mark.parametrize("long", [True, False])
def test_a_look_that_is_given_up_leaves_no_part_of_a_list(
    job: Overwrite, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    """The list is long, so it is being written, while the marker is still looked for."""
    if long:
        monkeypatch.setattr(streamed_list, "_HELD_BYTES_MAX", 1)

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def refuse_later() -> None:
            if job.count(CLAIM):  # And not when it starts.
                await asyncio.sleep(SOME_TIME_S)
                await refuse()

        job.hook.does |= {("read", "/done/", 1): refuse_later, ("stat", SUCCESS, 1): forever}
        with pytest.raises(CommitError, match="not yours"):
            await job.commit(idempotency_key="a key")
        assert job.count(LIST, "write") == job.count(LIST, "discard") == long
        await job.hook.nothing_follows()

    run(main())
