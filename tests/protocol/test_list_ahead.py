"""The list of old files is written beside the look, and is what the look has found, or is not used.

Whatever the destination holds when the job looks goes with its commit, and nothing else does.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.protocol import branches, list_ahead, streamed_list
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import SOME_TIME_S, started
from tests.protocol.overwriting import (
    CLAIM,
    DECISION,
    HABITS,
    LIST,
    LISTED,
    LOOKED,
    ONE,
    SUCCESS,
    TWO,
    Overwrite,
    adds,
    forever,
    overwrite_in,
    removes,
    rewrites,
)
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(params=HABITS)
def job(request: pytest.FixtureRequest) -> Iterator[Overwrite]:
    with overwrite_in(request.param) as job:
        yield job


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


@pytest.mark.guarantees("P9")
@pytest.mark.parametrize("most", [1, 2])
def test_none_is_written_ahead_for_very_many_partitions(
    job: Overwrite, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """It would take a processor long to look through their names once more.

    One is that of the file, and one is declared.
    """
    listings: list[int] = []
    monkeypatch.setattr(list_ahead, "_PARTITIONS_OF_ALL_MAX", most)

    async def main() -> None:
        put(job.bucket, job.path(ONE))

        async def decide() -> None:
            listings.append(job.hook.count("list_tree", "/out/"))

        job.hook.does["create", DECISION, 1] = decide
        await job.commit(partitions=["day=1"])

    run(main())
    assert listings == [most]
    assert job.old() == set()
