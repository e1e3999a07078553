"""Uploads of `_SUCCESS` that no record names: `clean` aborts those that nobody can complete."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.store import PendingUpload
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import HABITS, Bucket, make_bucket, refused, remove_bucket
from tests.protocol.in_buckets import started, url, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

T = TypeVar("T")

WEEK = timedelta(days=7)
UNKNOWN = "_SUCCESS: a pending upload that no job is known to have begun"


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """A bucket whose pending uploads are listed."""
    bucket = make_bucket(HABITS["versioned"])
    yield bucket
    remove_bucket(bucket)


def begun(bucket: Bucket, *, age: timedelta = 2 * WEEK, at: str = "out") -> str:
    """An upload of a marker that nobody knows of; returns its id."""
    path = StorePath(f"{bucket.name}/{at}/_SUCCESS")
    upload_id = bucket.start(path, SYSTEM_IDS.nonce()).upload_id
    bucket.uploads[upload_id].begun = datetime.now(UTC) - age
    return upload_id


def clean(bucket: Bucket, *, dry_run: bool = False) -> fc.CleanReport:
    return fc.clean(url(bucket), older_than=WEEK, dry_run=dry_run)


@pytest.mark.parametrize("kind", ["error_but_applied", "crash_after"])
def test_one_that_its_driver_was_never_told_of_goes(bucket: Bucket, kind: str) -> None:
    """The job commits with another one, or dies and is aborted."""
    job = started(bucket)
    message = write(job.task(), "a.txt").commit()
    with inject(Fault("start", 1, kind)) as fired, suppress(Crash):  # type: ignore[arg-type]  # one of two
        fc.Job.from_spec(job.spec).commit([message])
    assert fired
    if kind == "crash_after":
        fc.abort(url(bucket), job.job_id)
    (left,) = bucket.uploads.values()
    assert left.path.endswith("/out/_SUCCESS")
    assert clean(bucket).shown == (UNKNOWN,), "it is too young"
    left.begun -= WEEK
    for dry_run in (True, False):
        report = clean(bucket, dry_run=dry_run)
        assert (report.deleted, report.shown) == (("upload of _SUCCESS",), ())
        assert len(bucket.uploads) == dry_run


def test_those_of_jobs_that_may_decide_stay(bucket: Bucket) -> None:
    """Nothing says whose an upload without a record is, as long as there is one."""
    job = started(bucket)
    begun(bucket)
    assert clean(bucket).shown == (UNKNOWN,)
    write(job.task(), "a.txt").commit()
    job.commit()
    assert clean(bucket).deleted == ("upload of _SUCCESS",)
    assert bucket.uploads == {}


@pytest.mark.parametrize("success", ["marker", "none"])
def test_that_of_a_decided_job_stays(bucket: Bucket, success: str) -> None:
    job = started(bucket, success=success)
    message = write(job.task(), "a.txt").commit()
    with inject(Fault("complete", 1, "crash_before")) as fired, suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    assert fired
    for upload in bucket.uploads.values():
        upload.begun -= 2 * WEEK
    pending = {*bucket.uploads}
    left = begun(bucket)
    assert clean(bucket).deleted == ("upload of _SUCCESS",)
    assert {*bucket.uploads} == pending - {left}
    result = fc.resume(url(bucket), job.job_id)
    assert (result.state, result.warnings) == ("committed", ())
    assert bucket.uploads == {}


def test_one_that_holds_data_is_anothers(bucket: Bucket) -> None:
    """Before a job's marker holds any, a record names it."""
    upload_id = begun(bucket)
    found = bucket.uploads[upload_id]
    upload = PendingUpload(path=found.path, upload_id=upload_id, nonce=found.nonce)
    bucket.put_part(upload, 1, b"of somebody else")
    assert clean(bucket).shown == (UNKNOWN,)
    assert upload_id in bucket.uploads


def test_one_of_which_nobody_shows_what_it_holds_stays(bucket: Bucket) -> None:
    begun(bucket)

    async def denied(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "stored_parts":
            raise refused(path, "403")
        return await call()

    with wrapping(lambda store: WrappedStore(store, denied)):
        assert clean(bucket).shown == (UNKNOWN,)
    assert clean(bucket).deleted == ("upload of _SUCCESS",)


@pytest.mark.parametrize("kind", ["a job", "denied"])
def test_one_that_may_be_of_a_destination_above_stays(bucket: Bucket, kind: str) -> None:
    """A file of a job there may have any hidden name, and its record may be still to come."""
    upload_id = begun(bucket)

    async def denied(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if kind == "denied" and (verb, path) == ("list_children", f"{bucket.name}/_commit"):
            raise refused(path, "403")
        return await call()

    above = None
    if kind == "a job":
        above = fc.Job(f"{url(bucket).removesuffix('/out')}", mode="append").start()
    with wrapping(lambda store: WrappedStore(store, denied)):
        assert clean(bucket).shown == (UNKNOWN,)
    if above is not None:
        above.abort()
    assert clean(bucket).deleted == ("upload of _SUCCESS",)
    assert upload_id not in bucket.uploads


def test_only_the_markers_of_the_destination_go(bucket: Bucket) -> None:
    below = begun(bucket, at="out/day=1")
    other = bucket.start(StorePath(f"{bucket.name}/out/_notes"), SYSTEM_IDS.nonce()).upload_id
    bucket.uploads[other].begun -= 2 * WEEK
    assert clean(bucket).deleted == ()
    assert {*bucket.uploads} == {below, other}
