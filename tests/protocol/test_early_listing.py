"""Old files are listed beside the areas where that is hardly ever in vain, and written later."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.protocol import branches, streamed_list
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import put, url
from tests.protocol.in_virtual_time import SOME_TIME_S, Before, Clock, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

SECOND = ("list_children", "/out/_commit/", 2)
"""The second listing of the areas."""
UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
OLD = f"day=1/old-{UUID}.txt"


@pytest.fixture(params=["gcs", "versioned", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.parametrize(("others", "early"), [(0, 2), (1, 1)])
def test_old_files_are_listed_beside_the_areas_where_no_other_job_is(
    bucket: Bucket, others: int, early: int
) -> None:
    """It may take many requests, which would be lost; one is sent beside the claim in any case."""

    async def main() -> None:
        clock, hook, seen = Clock(), Before(), list[int]()
        for _ in range(others):
            await started(url(bucket), clock)
        driver = await started(url(bucket), clock, hook, mode="overwrite")
        put(bucket, f"{bucket.name}/out/{OLD}")
        message = await wrote(driver, "a.txt")
        hook.calls.clear()

        async def has_listed() -> None:
            await asyncio.sleep(SOME_TIME_S)
            seen.append(hook.count("list_tree", "/out/"))

        hook.does[SECOND] = has_listed
        await driver.commit([message], wait_s=0)
        assert seen == [early]
        names = [name for name in bucket.keys("") if "/_commit/" not in name]
        assert not [name for name in names if name.endswith(OLD)]

    run(main())


@pytest.mark.guarantees("P9")
@pytest.mark.parametrize("counts", [True, False])
def test_a_long_list_is_written_when_the_look_counts(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch, counts: bool
) -> None:
    """What an early look that does not count would have written has the name of the next list."""
    monkeypatch.setattr(streamed_list, "_HELD_BYTES_MAX", 1)
    monkeypatch.setattr(branches, "AHEAD_ENTRIES_MAX", 0)

    async def main() -> None:
        clock, hook, written = Clock(), Before(), list[list[str]]()
        driver = await started(url(bucket), clock, hook, mode="overwrite")
        put(bucket, f"{bucket.name}/out/{OLD}")
        message = await wrote(driver, "a.txt")
        hook.calls.clear()

        async def lists() -> None:
            await asyncio.sleep(SOME_TIME_S)
            written.append([path for _, path in hook.calls if "/replaced-" in path])
            if not counts:
                put(bucket, f"{bucket.name}/out/_commit/epoch-{'0' * 32}")

        hook.does[SECOND] = lists
        await driver.commit([message], wait_s=60)
        assert written == [[]]
        assert hook.count("list_tree", "/out/") >= (1 if counts else 2)

    run(main())
    names = [name for name in bucket.keys("") if "/_commit/" not in name]
    assert not [name for name in names if name.endswith(OLD)]
