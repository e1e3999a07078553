"""What becomes of pending uploads beside a job that may not be looked at: they may be its own."""

from __future__ import annotations

from datetime import timedelta
from errno import EACCES
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import DestinationLayout
from fsspec_commit.names import Target
from fsspec_commit.protocol.abort import abort_job
from fsspec_commit.protocol.job_records import read_record
from fsspec_commit.store import Expect, PendingUpload
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, refused, remove_bucket
from tests.protocol.cleaning import (
    DEAD,
    NONCE,
    OTHER_NONCE,
    cleaned,
    cleaned_at,
    dead,
    decided,
    destination,
    old_marker,
    put,
    recorded,
    url,
)
from tests.protocol.in_virtual_time import Clock, opened, started, straight, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fsspec_commit.layout import JobLayout, StorePath
    from tests.protocol.in_virtual_time import Call, Hook

OF_DEAD = f"part-{DEAD}-0.txt"


@pytest.fixture(params=["versioned", "minio"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    """Its uploads can be listed, or only their records tell of them."""
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def listable() -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS["versioned"])
    yield bucket
    remove_bucket(bucket)


def hiding(layout: JobLayout, *verbs: str) -> Hook:
    """Nothing in the area of a job may be looked at, or not by these verbs."""

    async def hide(verb: str, path: StorePath, call: Call) -> Any:
        if f"{path}/".startswith(f"{layout.area}/") and (not verbs or verb in verbs):
            raise refused(path, "not yours", EACCES)
        return await call()

    return hide


async def aborted(bucket: Bucket, clock: Clock, layout: JobLayout, hook: Hook) -> None:
    to = await opened(url(bucket), clock, hook)
    record = await read_record(to.store, layout)
    assert record is not None
    await abort_job(to.bind(record), by="a test")


@pytest.mark.guarantees("P4", "P8")
@pytest.mark.parametrize("verb", ["list_tree", "read"])
def test_a_clean_aborts_none_that_it_may_have_recorded(listable: Bucket, verb: str) -> None:
    async def main() -> None:
        clock = Clock()
        [hidden] = await dead(listable, clock)
        copy = listable.start(destination(listable).final(Target(OF_DEAD)), NONCE)
        recorded(listable, hidden, copy, OF_DEAD)
        report = await cleaned(listable, clock, hiding(hidden, verb), age_s=60)
        assert report.shown == (
            f"{OF_DEAD}: a pending upload which may be of a job whose records cannot be read",
        )
        assert len(listable.uploads) == 1

    run(main())


def test_a_clean_shows_none_that_another_is_known_to_have_begun(listable: Bucket) -> None:
    """It said that no job had, of those of jobs at work."""

    async def main() -> None:
        clock = Clock()
        for names in ("exact", "unique"):
            await wrote(await started(url(listable), clock, names=names), "a.txt")
        [hidden] = await dead(listable, clock)
        for age_s in (60, 0):
            report = await cleaned(listable, clock, hiding(hidden), age_s=age_s, dry_run=True)
            shown = [line for line in report.shown if "pending upload" in line]
            assert shown == []

    run(main())


@pytest.mark.guarantees("P4", "P6")
@pytest.mark.parametrize("hides", ["nothing", "its job", "a third job", "a newer version's"])
def test_a_forged_record_reaches_none_of_another_job(bucket: Bucket, hides: str) -> None:
    """What a readable record of another job names stays; and all, where one may not be read."""

    async def main() -> None:
        clock = Clock()
        theirs = await started(url(bucket), clock, names="exact")
        message = await wrote(theirs, "data.txt")
        [upload_id] = bucket.uploads
        forged, third = await dead(bucket, clock, 2)
        path = destination(bucket).final(Target("data.txt"))
        upload = PendingUpload(path=path, upload_id=upload_id, nonce=OTHER_NONCE)
        recorded(bucket, forged, upload, "data.txt")
        if hides == "a newer version's":
            recorded(bucket, third, upload, "x.txt", version=99)
        hidden = {"its job": theirs.started().layout, "a third job": third}.get(hides)
        if hidden is None:
            await aborted(bucket, clock, forged, straight)
        else:
            with pytest.raises(fc.CommitFailedError, match="not yours"):
                await aborted(bucket, clock, forged, hiding(hidden))
        assert upload_id in bucket.uploads
        assert await theirs.commit([message], wait_s=0)

    run(main())


@pytest.mark.guarantees("P8")
def test_none_of_a_job_that_is_aborted_beside_it_stays_for_ever(bucket: Bucket) -> None:
    """Only the job's own records tell of them: they go last."""

    async def main() -> None:
        clock = Clock()
        left = await started(url(bucket), clock, names="exact")
        await wrote(left, "a.txt")
        [hidden] = await dead(bucket, clock)
        with pytest.raises(fc.CommitFailedError, match="not yours"):
            await aborted(bucket, clock, left.started().layout, hiding(hidden))
        assert len(bucket.uploads) == 1
        await cleaned(bucket, clock)
        assert bucket.uploads == {}
        assert bucket.keys(f"{destination(bucket).areas}/") == []

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("where", ["above", "below"])
@pytest.mark.parametrize("bucket", ["minio"], indirect=True)
def test_none_stays_for_ever_where_it_is_at_another_destination(bucket: Bucket, where: str) -> None:
    """A file named after a job that may be at work there: uploads are not listed."""

    async def main() -> None:
        clock = Clock()
        left = await started(f"{url(bucket)}/in", clock, names="exact")
        await wrote(left, f"day=1/{OF_DEAD}")
        there = {"above": url(bucket), "below": f"{url(bucket)}/in/day=1"}[where]
        hidden = (await started(there, clock)).started().layout
        to = await opened(f"{url(bucket)}/in", clock, hiding(hidden))
        with pytest.raises(fc.CommitFailedError, match="not yours"):
            await abort_job(to.bind(left.started().record), by="a test")
        assert len(bucket.uploads) == 1
        await cleaned_at(await opened(f"{url(bucket)}/in", clock))
        assert bucket.uploads == {}
        assert bucket.keys(f"{left.started().layout.area}/") == []

    run(main())


@pytest.mark.guarantees("P4")
def test_a_clean_shows_one_that_may_be_of_a_job_above(listable: Bucket) -> None:
    """It ended in an error."""

    async def main() -> None:
        clock = Clock()
        hidden = (await started(url(listable), clock)).started().layout
        inner = await opened(f"{url(listable)}/in", clock, hiding(hidden))
        listable.start(DestinationLayout(inner.store.root).final(Target(OF_DEAD)), NONCE)
        report = await cleaned_at(inner)
        where = "at a directory above or below that cannot be looked at"
        assert report.shown == (f"{OF_DEAD}: a pending upload, maybe of a job {where}",)
        assert len(listable.uploads) == 1

    run(main())


@pytest.mark.guarantees("P8")
def test_a_marker_that_it_may_have_recorded_stays(listable: Bucket) -> None:
    """It is committed, and finished by its own marker alone."""

    async def main() -> None:
        clock = Clock()
        hidden = await decided(listable, clock)
        old_marker(listable)
        before = {*listable.uploads}
        report = await cleaned(listable, clock, hiding(hidden.layout, "list_tree"))
        assert {*listable.uploads} == before
        assert any(line.startswith("_SUCCESS: a pending upload which may") for line in report.shown)

    run(main())


def test_one_that_may_not_be_looked_for_does_not_stop_a_clean(listable: Bucket) -> None:
    """A job is over, and has left an upload, where the store does not say that it is."""

    async def main() -> None:
        clock = Clock()
        over, old = await dead(listable, clock, 2)
        listable.delete(over.spec, Expect.ANYTHING)
        listable.start(over.destination.final(Target(f"a-{over.job_id}-0.txt")), NONCE)
        put(listable, f"{over.magic_directory}/tasks/0/0/__base/a.txt")
        clock.moment += timedelta(seconds=1)
        report = await cleaned(listable, clock, hiding(over))
        assert report.aborted == (old.job_id,)
        assert report.shown == (f"{over.job_id}: cannot be looked at",)
        assert len(listable.uploads) == 1
        assert (await cleaned(listable, clock)).deleted == (
            f"upload of a-{over.job_id}-0.txt",
            f"__magic_job-{over.job_id}",
        )

    run(main())
