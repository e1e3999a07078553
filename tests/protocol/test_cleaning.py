"""What `clean` reports, counts, leaves alone and goes on after: of jobs and what they have left."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.effects.void_areas import delete_void_area
from fsspec_commit.errors import CommitError, CommitFailedError, StoreError
from fsspec_commit.selection import retiring
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.protocol.cleaning import (
    DEAD,
    NONCE,
    NONCES,
    OTHER_NONCE,
    cleaned,
    dead,
    destination,
    put,
    size_of,
    url,
    void,
)
from tests.protocol.in_virtual_time import Clock, Fails, Stop, Then, opened, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.layout import StorePath
    from tests.protocol.in_virtual_time import Call

KINDS = ("gcs", "gen2", "versioned", "minio")
with_directories = pytest.mark.parametrize("bucket", ["gen2"], indirect=True)


@pytest.fixture(params=KINDS)
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.guarantees("P5")
def test_it_says_what_it_would_do_and_does_it(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        jobs = await dead(bucket, clock, 2)
        put(bucket, f"{jobs[0].area}/tasks/0/left")
        size_bytes = sum(size_of(bucket, layout) for layout in jobs)
        before = bucket.keys("")
        would = await cleaned(bucket, clock, dry_run=True)
        assert bucket.keys("") == before
        assert would.aborted == tuple(layout.job_id for layout in jobs)
        assert (would.bytes, would.dry_run) == (size_bytes, True)
        done = await cleaned(bucket, clock)
        assert (done.aborted, done.bytes, done.dry_run) == (would.aborted, size_bytes, False)
        assert (done.deleted, done.shown, done.not_removed) == ((), (), ())
        assert bucket.keys("") == []

    run(main())


@pytest.mark.guarantees("P5")
def test_what_is_as_old_as_was_said_goes_and_what_is_younger_stays(bucket: Bucket) -> None:
    async def main() -> tuple[str, ...]:
        clock = Clock()
        older, younger = await dead(bucket, clock, 2)
        clock.moment += timedelta(seconds=9)
        report = await cleaned(bucket, clock, age_s=10)
        assert report.aborted == (older.job_id,)
        assert size_of(bucket, younger)
        return report.aborted

    run(main())


def test_one_that_may_not_be_removed_is_named_and_the_rest_goes(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        kept, gone = await dead(bucket, clock, 2)
        hook = Fails("create", f"{kept.job_id}/")
        report = await cleaned(bucket, clock, hook)
        assert report.not_removed == (f"{kept.job_id}: not yours",)
        assert report.aborted == (gone.job_id,)
        assert size_of(bucket, kept)
        assert not size_of(bucket, gone)

    run(main())


def test_a_store_that_does_not_answer_stops_it(bucket: Bucket) -> None:
    """It is not known what has gone: to say that it may not be removed would be wrong."""

    async def main() -> CommitError:
        clock = Clock()
        kept, _ = await dead(bucket, clock, 2)
        silent = Fails("create", f"{kept.job_id}/", StoreError("no answer"))
        with pytest.raises(CommitError, match="no answer") as caught:
            await cleaned(bucket, clock, silent)
        assert size_of(bucket, kept)
        return caught.value

    run(main())


def test_what_fails_for_another_reason_than_a_refusal_stops_it(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        await dead(bucket, clock, 2)
        failing = Fails("create", "/decision", CommitFailedError("for no request"))
        with pytest.raises(CommitError, match="for no request"):
            await cleaned(bucket, clock, failing)

    run(main())


def test_one_whose_record_is_damaged_meanwhile_is_shown_and_the_rest_goes(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        torn, gone = await dead(bucket, clock, 2)

        async def tear() -> None:
            put(bucket, torn.spec, b"torn")

        report = await cleaned(bucket, clock, Then("create", f"{torn.job_id}/decision", tear))
        [shown] = report.shown
        assert shown.startswith(f"{torn.job_id}: damaged, ")
        assert report.aborted == (gone.job_id,)

    run(main())


def test_one_that_commits_meanwhile_is_left_alone(bucket: Bucket) -> None:
    """Its decision stands first; it is neither aborted nor said to be."""

    async def main() -> None:
        clock = Clock()
        stop = Stop("create", "/published")
        driver = await started(url(bucket), clock, stop)
        message = await wrote(driver, "a.txt")
        committing: list[asyncio.Task[bool]] = []

        async def commit() -> None:
            committing.append(asyncio.create_task(driver.commit([message], wait_s=0)))
            await stop.reached.wait()

        report = await cleaned(bucket, clock, Then("create", "/decision", commit))
        assert (report.aborted, report.bytes) == ((), 0)
        stop.passed.set()
        assert await committing[0]

    run(main())


def test_a_decided_job_is_only_shown(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        stop = Stop("create", "/published")
        driver = await started(url(bucket), clock, stop)
        message = await wrote(driver, "a.txt")
        committing = asyncio.create_task(driver.commit([message], wait_s=0))
        await stop.reached.wait()
        report = await cleaned(bucket, clock)
        job_id = driver.started().record.job_id
        assert report.shown == (f"{job_id}: committed but not finished, resume it",)
        assert (report.aborted, report.deleted, report.bytes) == ((), (), 0)
        stop.passed.set()
        assert await committing

    run(main())


def test_a_damaged_job_that_a_person_names_is_removed_and_counted_once(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        torn, other = await dead(bucket, clock, 2)
        for layout in (torn, other):
            put(bucket, layout.spec, b"torn")
        size_bytes = size_of(bucket, torn)
        for dry_run in (True, False):
            report = await cleaned(bucket, clock, damaged=[torn.job_id], dry_run=dry_run)
            assert (report.deleted, report.bytes) == ((torn.job_id,), size_bytes)
            [shown] = report.shown
            assert shown.startswith(f"{other.job_id}: damaged, ")
        assert not size_of(bucket, torn)
        assert size_of(bucket, other)

    run(main())


@pytest.mark.guarantees("P6")
def test_a_void_area_is_deleted_and_counted(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        layout = await void(bucket, clock)
        for dry_run in (True, False):
            report = await cleaned(bucket, clock, dry_run=dry_run)
            assert (report.deleted, report.aborted) == ((layout.job_id,), ())
            assert report.bytes == 5
        assert bucket.keys("") == []

    run(main())


@with_directories
@pytest.mark.guarantees("P8")
def test_an_area_that_was_renamed_to_be_looked_at_goes_or_is_put_back(bucket: Bucket) -> None:
    """By a clean that died since: with a job in it, it is that job's."""

    async def main() -> None:
        clock = Clock()
        layout = (await started(url(bucket), clock)).started().layout
        taken = layout.taken(NONCE)
        bucket.rename_directory(layout.area, taken)
        report = await cleaned(bucket, clock, age_s=100, dry_run=True)
        [shown] = report.shown
        assert shown.startswith(f"_commit/{taken.rpartition('/')[2]}: the area of a job, renamed")
        assert (report.deleted, report.bytes) == ((), 0)
        report = await cleaned(bucket, clock, age_s=100)
        assert (report.shown, report.deleted, report.bytes) == ((), (), 0)
        assert size_of(bucket, layout)
        other = destination(bucket).job(DEAD)
        put(bucket, f"{other.taken(NONCE)}/left")
        for dry_run in (True, False):
            report = await cleaned(bucket, clock, age_s=100, dry_run=dry_run)
            assert report.deleted == (f"_commit/{other.taken(NONCE).rpartition('/')[2]}",)
            assert (report.shown, report.bytes) == ((), 5)
        assert not bucket.keys(f"{other.taken(NONCE)}/")

    run(main())


@with_directories
def test_an_area_that_another_clean_has_taken_is_gone(bucket: Bucket) -> None:
    """Nothing is left of it here, whatever the other one does; no job is alive there."""

    async def main() -> bool:
        to = await opened(url(bucket), Clock())
        layout = destination(bucket).job(DEAD)
        return await delete_void_area(to.store, layout, retiring(to.store, to.store.capabilities))

    assert run(main())[0]


@pytest.mark.parametrize("bucket", ["gen2", "versioned"], indirect=True)
def test_what_hadoops_own_jobs_have_left_is_shown_and_stays(bucket: Bucket) -> None:
    async def main() -> None:
        put(bucket, f"{bucket.name}/out/_temporary/0/task_1/a")
        before = bucket.keys("")
        report = await cleaned(bucket, Clock())
        assert report.shown == ("_temporary/0: of a job of Hadoop's v1 committer, never touched",)
        assert bucket.keys("") == before
        hook = Fails("list_children", "/_temporary")
        report = await cleaned(bucket, Clock(), hook)
        assert report.shown == ("_temporary: of Hadoop's jobs, cannot be looked at, not yours",)

    run(main())


def test_a_failed_deletion_of_remains_is_named_and_the_rest_goes(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        layout = destination(bucket)
        kept, gone = layout.gone(NONCE), layout.gone(OTHER_NONCE)
        for path in (kept, gone):
            put(bucket, f"{path}/left")
        hook = Fails("delete_tree", kept)
        report = await cleaned(bucket, clock, hook)
        assert report.not_removed == (f"{layout.relative(kept)}: not yours",)
        assert (report.deleted, report.bytes) == ((layout.relative(gone),), 5)

    run(main())


@pytest.mark.guarantees("P6")
def test_one_that_another_has_just_ended_is_not_said_to_be_aborted(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        [layout] = await dead(bucket, clock)
        reads = 0

        async def end(verb: str, path: StorePath, call: Call) -> Any:
            nonlocal reads
            reads += (verb, path) == ("read", layout.spec)
            if reads == 2:  # To see that it can be bound, and then to abort it.
                bucket.objects.pop(layout.spec, None)
            return await call()

        report = await cleaned(bucket, clock, end)
        assert reads >= 2
        assert (report.aborted, report.not_removed, report.shown) == ((), (), ())

    run(main())


def test_what_probes_and_late_deletions_have_left_goes_once_it_is_old(bucket: Bucket) -> None:
    """Of what may still be carried out late the record stays for two hours."""

    async def main() -> None:
        clock, layout = Clock(), destination(bucket)
        probe = layout.probe(NONCE)
        long_ago = [layout.deleted(clock.moment - timedelta(hours=2), n) for n in NONCES]
        just_now = layout.deleted(clock.moment - timedelta(hours=1, minutes=59), NONCE)
        for path in (probe, just_now, *long_ago):
            put(bucket, f"{path}/left")
        report = await cleaned(bucket, clock, age_s=100)
        assert report.deleted == tuple(map(layout.relative, (probe, *long_ago)))
        assert report.bytes == 3 * 5
        assert bucket.keys("") == [f"{just_now}/left"]

    run(main())


@pytest.mark.parametrize("bucket", ["gcs", "gen2"], indirect=True)
def test_where_nothing_is_uploaded_nobody_looks_for_uploads(bucket: Bucket) -> None:
    async def main() -> None:
        clock, calls = Clock(), Stop("never", "")
        await dead(bucket, clock)
        await cleaned(bucket, clock, calls)
        assert not [path for _, path in calls.calls if "__magic" in path]

    run(main())
