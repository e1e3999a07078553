"""What `clean` does with pending uploads, and with what another program has written for a job."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import JobId
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import Target
from fsspec_commit.protocol.recovery import resume_job
from fsspec_commit.records.upload import UploadRecord
from fsspec_commit.selection import leftover_uploads
from fsspec_commit.store import Expect, Unusable
from fsspec_commit.testing import Crash
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.flat.store import FlatStore
from tests.protocol.cleaning import (
    DEAD,
    NONCE,
    cleaned,
    cleaned_at,
    dead,
    decided,
    destination,
    old_marker,
    put,
    recorded,
    size_of,
    url,
    void,
)
from tests.protocol.in_virtual_time import Clock, Fails, opened, started, wrote
from tests.unit.effects.virtual_time import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from fsspec_commit.layout import JobLayout
    from fsspec_commit.store import PendingUpload


@pytest.fixture(params=["versioned", "unversioned"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.mark.guarantees("P6")
def test_an_upload_that_only_a_record_in_a_void_area_attributes_goes_with_it(
    bucket: Bucket,
) -> None:
    """Afterwards nothing would say whose it is, and it would stay for ever."""

    async def main() -> None:
        clock = Clock()
        layout = await void(bucket, clock)
        begun = bucket.start(layout.destination.final(Target("_hidden")), NONCE)
        bucket.put_part(begun, 1, b"data")
        record = UploadRecord(
            nonce=NONCE, job_id=layout.job_id, name="_hidden", upload_id=begun.upload_id
        )
        put(bucket, layout.attempt(0, "0" * 16).upload_record(NONCE), record.encode())
        report = await cleaned(bucket, clock)
        assert report.deleted == (layout.job_id,)
        assert bucket.uploads == {}

    run(main())


@pytest.mark.guarantees("P6")
def test_uploads_of_one_that_may_not_be_aborted_stay(bucket: Bucket) -> None:
    """It lives: it may still commit them."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock)
        layout = driver.started().layout
        await wrote(driver, "a.txt")
        assert len(bucket.uploads) == 1
        magic = f"{layout.magic_directory}/tasks/0/0/__base/a.txt"
        put(bucket, magic, b"")
        hook = Fails("create", f"{layout.job_id}/")
        report = await cleaned(bucket, clock, hook)
        assert (report.not_removed, report.deleted) == ((f"{layout.job_id}: not yours",), ())
        assert len(bucket.uploads) == 1
        assert magic in bucket.keys("")
        assert (await cleaned(bucket, clock)).aborted == (layout.job_id,)
        assert bucket.uploads == {}
        assert magic not in bucket.keys("")

    run(main())


@pytest.mark.guarantees("P6")
def test_what_another_program_has_written_for_a_job_is_counted_and_goes(bucket: Bucket) -> None:
    """With its area where it has one, and without, when it is old enough."""

    async def main() -> None:
        clock = Clock()
        open_one, late, young = [
            (await started(url(bucket), clock)).started().layout for _ in range(3)
        ]
        for layout in (open_one, late, young):
            put(bucket, f"{layout.magic_directory}/tasks/0/0/__base/a.txt")
        bucket.delete(late.spec, Expect.ANYTHING)
        put(bucket, f"{late.area}/left")
        bucket.delete(young.spec, Expect.ANYTHING)
        clock.moment += timedelta(seconds=9)
        size_bytes = size_of(bucket, open_one) + 3 * 5
        for dry_run in (True, False):
            report = await cleaned(bucket, clock, age_s=10, dry_run=dry_run)
            assert report.aborted == (open_one.job_id,)
            assert report.deleted == (late.job_id, f"__magic_job-{late.job_id}")
            assert report.bytes == size_bytes
        assert [key for key in bucket.keys("") if "__magic" in key] == [
            f"{young.magic_directory}/tasks/0/0/__base/a.txt"
        ]

    run(main())


def test_what_another_program_has_written_for_a_damaged_job_stays(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        layout = (await started(url(bucket), clock)).started().layout
        put(bucket, layout.spec, b"torn")
        put(bucket, f"{layout.magic_directory}/tasks/0/0/__base/a.txt")
        before = bucket.keys("")
        report = await cleaned(bucket, clock)
        assert report.deleted == ()
        assert [line.partition(":")[0] for line in report.shown] == [layout.job_id]
        assert bucket.keys("") == before

    run(main())


def begun(bucket: Bucket, path: StorePath | str) -> PendingUpload:
    return bucket.start(StorePath(path), NONCE)


async def over(bucket: Bucket, clock: Clock) -> JobLayout:
    """A job that has left nothing but a late upload, and a late record of S3A's."""
    [layout] = await dead(bucket, clock)
    bucket.delete(layout.spec, Expect.ANYTHING)
    begun(bucket, layout.destination.final(Target(f"a-{layout.job_id}-0.csv")))
    put(bucket, f"{layout.magic_directory}/tasks/0/0/__base/a.txt")
    return layout


@pytest.mark.guarantees("P6")
def test_what_several_jobs_have_left_goes_at_once(bucket: Bucket) -> None:
    async def main() -> None:
        clock = Clock()
        jobs = [await over(bucket, clock) for _ in range(3)]
        report = await cleaned(bucket, clock)
        assert report.deleted == (
            *(f"upload of a-{layout.job_id}-0.csv" for layout in jobs),
            *(f"__magic_job-{layout.job_id}" for layout in jobs),
        )
        assert (bucket.uploads, bucket.keys("")) == ({}, [])

    run(main())


@pytest.mark.guarantees("P8")
def test_of_a_decided_job_without_its_record_everything_stays(bucket: Bucket) -> None:
    """It may have published a part, and its uploads are the rest; a person has to look."""

    async def main() -> None:
        clock = Clock()
        driver = await started(url(bucket), clock, Fails("complete", "", Crash()))
        layout = driver.started().layout
        message = await wrote(driver, "a.txt")
        with pytest.raises(Crash):
            await driver.commit([message], wait_s=0)
        put(bucket, f"{layout.magic_directory}/tasks/0/0/__base/a.txt")
        bucket.delete(layout.spec, Expect.ANYTHING)
        uploads, names = {*bucket.uploads}, bucket.keys("")
        report = await cleaned(bucket, clock)
        assert [line.partition(",")[0] for line in report.shown] == [f"{layout.job_id}: damaged"]
        assert (report.deleted, report.aborted, report.bytes) == ((), (), 0)
        assert ({*bucket.uploads}, bucket.keys("")) == (uploads, names)

    run(main())


@pytest.mark.guarantees("P6")
def test_what_stands_in_the_place_of_an_area_keeps_the_uploads_of_its_job(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link, say, behind which the job may be alive; of another thing nothing is kept."""
    listing = FlatStore.list_children
    odd = set[str]()

    async def with_links(store: FlatStore, path: StorePath) -> AsyncIterator[object]:
        async for child in listing(store, path):
            yield child
        for link in sorted(odd):
            if link.rpartition("/")[0] == path:
                yield Unusable(StorePath(link), StoreError("it is a link", reply=Reply.REFUSED))

    monkeypatch.setattr(FlatStore, "list_children", with_links)

    async def main() -> None:
        clock = Clock()
        layout = await over(bucket, clock)
        uploads, names = {*bucket.uploads}, bucket.keys("")
        odd.update((layout.area, f"{layout.destination.areas}/x"))
        report = await cleaned(bucket, clock)
        assert report.shown == (
            f"_commit/{layout.job_id}: damaged, it is a link",
            "_commit/x: damaged, it is a link",
        )
        assert ({*bucket.uploads}, bucket.keys("")) == (uploads, names)
        would = await cleaned(bucket, clock, damaged=[layout.job_id], dry_run=True)
        assert would.deleted[0] == layout.job_id
        assert would.shown == ("_commit/x: damaged, it is a link",)
        odd.clear()
        assert len((await cleaned(bucket, clock)).deleted) == 2

    run(main())


def test_uploads_of_a_probe_go_and_are_named(bucket: Bucket) -> None:
    async def main() -> None:
        layout = destination(bucket)
        begun(bucket, f"{layout.probe(NONCE)}/a")
        for dry_run in (True, False):
            report = await cleaned(bucket, Clock(), dry_run=dry_run)
            name = f"{layout.relative(layout.probe(NONCE))}/a"
            assert (report.deleted, report.shown) == ((f"upload of {name}",), ())
            assert len(bucket.uploads) == dry_run

    run(main())


def test_one_of_the_marker_of_which_the_store_says_no_age_is_only_shown(bucket: Bucket) -> None:
    async def main() -> None:
        upload = begun(bucket, destination(bucket).success)
        bucket.uploads[upload.upload_id].begun = None  # type: ignore[assignment]  # as of such a store
        report = await cleaned(bucket, Clock())
        assert [line.partition(":")[0] for line in report.shown] == ["_SUCCESS"]
        assert len(bucket.uploads) == 1

    run(main())


@pytest.mark.guarantees("P8")
@pytest.mark.parametrize("recorded", [True, False])
def test_the_marker_that_a_decision_names_stays(bucket: Bucket, *, recorded: bool) -> None:
    """Also where somebody has removed the record of its upload: the decision says whose it is."""

    async def main() -> None:
        clock = Clock()
        job = await decided(bucket, clock)
        old_marker(bucket)
        if not recorded:
            [record] = [key for key in bucket.keys("") if "/_SUCCESS-" in key]
            bucket.delete(record, Expect.ANYTHING)
        assert (await cleaned(bucket, clock)).deleted == ("upload of _SUCCESS",)
        assert (await resume_job(job)).warnings == ()
        assert destination(bucket).success in bucket.keys("")
        assert bucket.uploads == {}

    run(main())


@pytest.mark.guarantees("P6")
def test_one_of_the_marker_goes_whatever_is_left_of_jobs_that_cannot_decide(
    bucket: Bucket,
) -> None:
    """Of a job that is over, or of one that leaves no marker."""

    async def main() -> None:
        clock = Clock()
        layout = await void(bucket, clock)
        clock.moment += timedelta(seconds=9)
        old_marker(bucket)
        report = await cleaned(bucket, clock, age_s=3_600)
        assert (report.deleted, bucket.uploads) == (("upload of _SUCCESS",), {})
        assert size_of(bucket, layout)
        driver = await started(
            url(bucket), clock, Fails("create", "/published", Crash()), success="none"
        )
        message = await wrote(driver, "a.txt")
        with pytest.raises(Crash):
            await driver.commit([message], wait_s=0)
        old_marker(bucket)
        assert "upload of _SUCCESS" in (await cleaned(bucket, clock)).deleted

    run(main())


@pytest.mark.guarantees("P10")
@pytest.mark.parametrize("above", ["top", "top/mid"])
def test_one_of_the_marker_may_be_of_a_destination_anywhere_above(
    bucket: Bucket, above: str
) -> None:
    """Whose job may write any hidden name, such as this one."""

    async def main() -> None:
        clock, inner = Clock(), f"flat://{bucket.name}/top/mid/out"
        outer = await started(f"flat://{bucket.name}/{above}", clock)
        old_marker(bucket, "top/mid/out")
        to = await opened(inner, clock)
        assert [line.partition(":")[0] for line in (await cleaned_at(to)).shown] == ["_SUCCESS"]
        await outer.abort()
        assert (await cleaned_at(await opened(inner, clock))).deleted == ("upload of _SUCCESS",)

    run(main())


@pytest.mark.parametrize("bucket", ["express"], indirect=True)
def test_where_markers_are_renamed_an_upload_of_one_is_nobodys(bucket: Bucket) -> None:
    """The decision names a file."""

    async def main() -> None:
        clock = Clock()
        job = await decided(bucket, clock)
        old_marker(bucket)
        report = await cleaned(bucket, clock)
        assert report.deleted == ("upload of _SUCCESS",)
        assert (await resume_job(job)).warnings == ()

    run(main())


@pytest.mark.guarantees("P4", "P8")
def test_what_a_newer_version_has_recorded_may_be_any_upload(bucket: Bucket) -> None:
    """Of the destination itself, or of one above: then none is known to be nobody's."""

    async def main() -> None:
        clock = Clock()
        job = (await started(url(bucket), clock)).started()
        [other] = await dead(bucket, clock)
        marker = begun(bucket, destination(bucket).success)
        below = DestinationLayout(StorePath(f"{destination(bucket).root}/day=1"))
        copy = begun(bucket, below.final(Target(f"part-{DEAD}-0.txt")))
        left = leftover_uploads(job.store, job.store.capabilities)
        assert left is not None
        assert await left.unrecorded(destination(bucket), [marker]) == [marker]
        of_below = await left.elsewhere(below, [(JobId(DEAD), copy)])
        assert not of_below.may_be_theirs(copy)
        recorded(bucket, other, copy, f"day=1/part-{DEAD}-0.txt", version=99)
        assert await left.unrecorded(destination(bucket), [marker]) == []
        of_below = await left.elsewhere(below, [(JobId(DEAD), copy)])
        assert of_below.may_be_theirs(copy)
        assert not of_below.is_theirs(copy)

    run(main())
