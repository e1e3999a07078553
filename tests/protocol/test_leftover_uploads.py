"""Uploads that nobody will complete: whose they are, who aborts them, and what is only shown."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.ids import SYSTEM_IDS
from fsspec_commit.layout import StorePath
from fsspec_commit.records.upload import UploadRecord
from fsspec_commit.store import Expect
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.recording import recorded_calls
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import HABITS, Bucket, make_bucket, refused, remove_bucket
from tests.flat.store import FLAT
from tests.protocol.in_buckets import started, url, write
from tests.scenes.waiting import until

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

T = TypeVar("T")

OTHER = "20261101T000000-0123456789abcdef"
"""A job that nobody knows."""


@pytest.fixture
def listed() -> Iterator[Bucket]:
    """A bucket whose pending uploads are listed."""
    bucket = make_bucket(HABITS["versioned"])
    yield bucket
    remove_bucket(bucket)


def upload(bucket: Bucket, name: str, data: bytes = b"data") -> str:
    """Somebody's upload; returns its id."""
    begun = bucket.start(StorePath(f"{bucket.name}/out/{name}"), SYSTEM_IDS.nonce())
    bucket.put_part(begun, 1, data)
    return begun.upload_id


def clean(bucket: Bucket, *, dry_run: bool = False) -> fc.CleanReport:
    return fc.clean(url(bucket), older_than=timedelta(0), dry_run=dry_run)


def carrying_no_id(bucket: Bucket) -> str:
    """A hidden name; where uploads are kept by path, those are refused, and another serves."""
    return "hidden" if bucket.habits.keyed_by == "path" else "_hidden"


def names_pending(bucket: Bucket) -> list[str]:
    begin = len(f"{bucket.name}/out/")
    return sorted(upload.path[begin:] for upload in bucket.uploads.values())


def test_what_attempts_leave_goes_with_their_job(bucket: Bucket) -> None:
    """Attempts that were not chosen, and that died; hidden names, which carry no job id, too."""
    job = started(bucket)
    hidden = carrying_no_id(bucket)
    chosen = write(job.task(0), "a.txt", hidden).commit()
    write(fc.Task.from_spec(job.spec, 0), "a.txt", f"{hidden}2").commit()
    write(fc.Task.from_spec(job.spec, 1), "b.txt", f"{hidden}3")
    job.commit([chosen])
    assert bucket.uploads == {}
    names = [key.rpartition("/")[2] for key in bucket.keys("") if "/_commit/" not in key]
    assert sorted(name[:3] for name in names) == sorted(["_SU", hidden[:3], "a-2"])


def test_p8_what_is_no_record_of_an_attempt_keeps_no_job_from_its_end(bucket: Bucket) -> None:
    """Such as a file that somebody else has put there, where records of attempts are as well."""
    job = started(bucket)
    message = write(job.task(0), "a.txt", carrying_no_id(bucket)).commit()
    for place in ("0/nobody/x", "x", "z/0123456789abcdef/x"):
        path = StorePath(f"{bucket.name}/out/_commit/{job.job_id}/uploads/{place}")
        bucket.put(path, b"what?", None, Expect.ANYTHING)
    job.commit([message])
    assert bucket.uploads == {}
    assert not any(job.job_id in key for key in bucket.keys("") if "/_commit/" in key)


def test_what_an_aborted_job_leaves_goes(bucket: Bucket) -> None:
    job = started(bucket)
    write(job.task(0), "a.txt", carrying_no_id(bucket)).commit()
    write(fc.Task.from_spec(job.spec, 0), "d/a.txt")
    job.abort()
    assert bucket.uploads == {}
    assert bucket.objects == {}


def test_a_task_takes_its_own_away(bucket: Bucket) -> None:
    """A file that is written again, one that is removed, and an attempt that is given up."""
    job = started(bucket)
    hidden = carrying_no_id(bucket)
    task = write(job.task(0), "a.txt", "a.txt", "b.txt", hidden)
    task.filesystem.rm("b.txt")
    assert len(bucket.uploads) == 2
    given_up = write(job.task(1), "c.txt", hidden)
    given_up.abort()
    assert len(bucket.uploads) == 2
    # No record of it is left: whoever ends the job has nothing to read.
    assert not any("/uploads/1/" in key for key in bucket.keys(""))
    task.commit()
    result = job.commit()
    assert (result.file_count, result.bytes) == (2, len("a.txt") + len(hidden))
    assert bucket.uploads == {}


def test_a_part_that_failed_leaves_nothing_in_the_attempt(bucket: Bucket) -> None:
    job = started(bucket)
    task = job.task(0)

    def fail() -> None:
        with task.open("torn.bin") as file:
            file.write(b"x" * (9 << 20))
            until(lambda: any(upload.parts for upload in bucket.uploads.values()))
            raise ValueError("boom")

    with pytest.raises(ValueError, match="boom"):
        fail()
    assert bucket.uploads == {}
    write(task, "a.txt").commit()
    job.commit()
    assert len([key for key in bucket.keys("") if "/_commit/" not in key]) == 2


def test_clean_aborts_what_late_attempts_left(listed: Bucket) -> None:
    """Also where nothing of the job is left but its id in a name."""
    job = started(listed)
    late = fc.Task.from_spec(job.spec, 0)
    job.abort()
    write(late, "a.txt", "d/b.txt")
    assert len(listed.uploads) == 2
    assert listed.objects == {}
    report = clean(listed, dry_run=True)
    assert len(report.deleted) == 2
    assert len(listed.uploads) == 2
    report = clean(listed)
    assert [line.startswith("upload of ") for line in report.deleted] == [True, True]
    assert listed.uploads == {}
    assert clean(listed).deleted == ()


def test_clean_aborts_what_a_late_attempt_recorded(bucket: Bucket) -> None:
    """Its record brings the area back, void; the attempt itself finds out and sends nothing."""
    if bucket.habits.keyed_by == "path":
        pytest.skip("hidden names, which alone are recorded, are refused")
    job = started(bucket)
    late = fc.Task.from_spec(job.spec, 0)
    job.abort()
    with pytest.raises(fc.JobNotActiveError):
        write(late, "_hidden")
    clean(bucket)
    assert bucket.objects == {}
    assert all(not upload.parts for upload in bucket.uploads.values())


def test_clean_leaves_young_and_living_jobs_alone(listed: Bucket) -> None:
    job = started(listed)
    task = write(job.task(0), "a.txt", "_hidden")
    report = fc.clean(url(listed), older_than=timedelta(hours=1), dry_run=False)
    assert (report.aborted, report.deleted, report.shown) == ((), (), ())
    task.commit()
    job.commit()
    assert "a.txt" in [key.rpartition("/")[2][:1] + ".txt" for key in listed.keys("")]


def test_what_nobody_is_known_to_have_begun_is_shown_only(listed: Bucket) -> None:
    upload(listed, "foreign.bin")
    upload(listed, "d/foreign.bin")
    report = clean(listed)
    assert report.deleted == ()
    assert sorted(line.partition(":")[0] for line in report.shown) == [
        "d/foreign.bin",
        "foreign.bin",
    ]
    assert names_pending(listed) == ["d/foreign.bin", "foreign.bin"]


def test_neighbours_uploads_are_none_of_ours(bucket: Bucket) -> None:
    path = StorePath(f"{bucket.name}/out2/part-{OTHER}-0.txt")
    theirs = bucket.start(path, SYSTEM_IDS.nonce())
    bucket.put_part(theirs, 1, b"data")
    job = started(bucket)
    write(job.task(), "a.txt").commit()
    job.commit()
    clean(bucket)
    assert list(bucket.uploads) == [theirs.upload_id]


def test_a_copy_under_an_old_jobs_names_is_not_taken_for_that_jobs(listed: Bucket) -> None:
    """Records win over names: files of a finished job are rewritten under their exact names."""
    copied = f"part-{OTHER}-0.txt"
    job = started(listed, names="exact")
    task = write(job.task(), copied)
    stray = upload(listed, copied)
    report = fc.clean(url(listed), older_than=timedelta(hours=1), dry_run=False)
    assert report.deleted == (f"upload of {copied}",)
    assert stray not in listed.uploads
    task.commit()
    job.commit()
    assert listed.get(StorePath(f"{listed.name}/out/{copied}")) is not None


def test_a_job_that_ends_spares_copies_under_its_names(listed: Bucket) -> None:
    """While it retires, another rewrites its files in place: same keys, other uploads."""
    first = started(listed)
    write(first.task(), "part.txt").commit()
    published = f"part-{first.job_id}-0.txt"
    second = started(listed, names="exact", mode="overwrite")
    task = write(second.task(), published)
    upload(listed, published)  # of an attempt of the first that died
    first.commit()
    assert len(listed.uploads) == 1
    task.commit()
    assert list(second.commit().in_place) == [published]
    assert listed.uploads == {}


def test_an_append_lists_uploads_once_and_files_never(listed: Bucket) -> None:
    """Unless something is left over."""
    for left in (False, True):
        job = started(listed)
        with recorded_calls() as calls:
            driver = fc.Job.from_spec(job.spec)
            message = write(fc.Task.from_spec(job.spec, 0), "d=1/a.txt", "d=2/a.txt").commit()
            if left:
                write(fc.Task.from_spec(job.spec, 1), "b.txt")
            driver.commit([message])
        listings = [c for c in calls if c.verb in {"list_tree", "list_children", "pending"}]
        assert [call.verb for call in listings if call.verb == "pending"] == ["pending"]
        assert not any(
            call.path == f"{listed.name}/out" and call.verb != "pending" for call in calls
        )
        # One is of the manifests: whose messages came from elsewhere, more may have been written.
        # One is of the area, whose files are then deleted by their names; and two of all areas.
        assert len(listings) == (5 if not left else 6)
    assert listed.uploads == {}


def test_a_torn_record_stops_nobody(bucket: Bucket) -> None:
    """It attributes nothing, and the job ends all the same."""
    job = started(bucket)
    area = f"{bucket.name}/out/_commit/{job.job_id}"
    for path, data in {
        "uploads/0/0123456789abcdef/x": b"torn",
        "_SUCCESS-0.pending": b"{}",
    }.items():
        bucket.put(StorePath(f"{area}/{path}"), data, None, Expect.ANYTHING)
    write(job.task(), "a.txt", carrying_no_id(bucket)).commit()
    write(fc.Task.from_spec(job.spec, 5), f"{carrying_no_id(bucket)}2")
    job.commit()
    assert bucket.uploads == {}
    assert not [key for key in bucket.keys("") if job.job_id in key and "/_commit/" in key]


@pytest.mark.parametrize("names", ["unique", "exact"])
@pytest.mark.guarantees("P4", "P5")
def test_a_forged_record_takes_no_upload_from_another_job(bucket: Bucket, names: str) -> None:
    """Of a job that is open, and of one that is decided; their markers as well."""
    if names == "exact" and bucket.habits.keyed_by == "path":
        pytest.skip("exact names are refused")
    decided, living = (started(bucket, names=names) for _ in range(2))
    hidden = carrying_no_id(bucket)
    messages = [
        write(job.task(), f"{n}.txt", f"{hidden}-{n}", f"part-{OTHER}-{n}.txt").commit()
        for n, job in enumerate([decided, living])
    ]
    with inject(Fault("complete", 1, "crash_before")), suppress(Crash):
        fc.Job.from_spec(decided.spec).commit(messages[:1])
    pending = dict(bucket.uploads)
    assert len(pending) == 7
    victim = started(bucket, names=names)
    write(victim.task(), hidden).commit()
    root = f"{bucket.name}/out/"
    for number, (upload_id, one) in enumerate(pending.items()):
        nonce = f"{number:032x}"
        forged = UploadRecord(
            nonce=nonce, job_id=victim.job_id, name=one.path[len(root) :], upload_id=upload_id
        )
        for name in (f"uploads/0/0123456789abcdef/{nonce}", f"_SUCCESS-{nonce}.pending"):
            path = StorePath(f"{root}_commit/{victim.job_id}/{name}")
            bucket.put(path, forged.encode(), None, Expect.ANYTHING)
    victim.abort()
    assert bucket.uploads == pending
    assert fc.resume(url(bucket), decided.job_id).file_count == 3
    assert living.commit(messages[1:]).file_count == 3
    assert bucket.uploads == {}


def test_the_echo_of_a_decision_is_no_damage(bucket: Bucket) -> None:
    """A create that was given up, and carried out when the area had gone: nothing is lost."""
    job = started(bucket)
    message = write(job.task(), "a.txt").commit()
    area = f"{bucket.name}/out/_commit/{job.job_id}"
    with inject(Fault("complete", 1, "crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    decided = {key: bucket.objects[key] for key in bucket.keys(area)}
    fc.resume(url(bucket), job.job_id)
    decision = StorePath(f"{area}/decision")
    bucket.objects[decision] = decided[decision]
    assert clean(bucket).shown == ()
    assert bucket.keys(area) == []

    # Where files may be missing, a person has to look: job.json is gone, and nothing else.
    bucket.objects.update(decided)
    del bucket.objects[StorePath(f"{area}/job.json")]
    begun = upload(bucket, f"part-{job.job_id}-0.txt")
    (line,) = [line for line in clean(bucket).shown if "upload" not in line]
    assert "damaged, a committed decision stands but job.json is gone" in line
    assert decision in bucket.objects
    assert begun in bucket.uploads, "it may be all that is left of a file"


@pytest.mark.parametrize("names", ["unique", "exact"])
@pytest.mark.parametrize("cleaned", ["", "out/sub"], ids=["above", "below"])
@pytest.mark.guarantees("P4", "P8")
def test_jobs_of_other_destinations_keep_theirs(bucket: Bucket, names: str, cleaned: str) -> None:
    """Decided and unfinished ones, and those that are at work: nothing of them is lost."""
    if names == "exact" and bucket.habits.keyed_by == "path":
        pytest.skip("exact names are refused")
    written = ("a.txt", "sub/b.txt", f"sub/part-{OTHER}-0.txt")
    decided, living = (started(bucket, names=names) for _ in range(2))
    messages = [write(job.task(), *written[n:]).commit() for n, job in enumerate([decided, living])]
    with inject(Fault("complete", 1, "crash_before")), suppress(Crash):
        fc.Job.from_spec(decided.spec).commit(messages[:1])
    pending = dict(bucket.uploads)
    stray = bucket.start(StorePath(f"{bucket.name}/out/sub/part-{OTHER}-1.txt"), SYSTEM_IDS.nonce())
    where = f"{FLAT}://{bucket.name}/{cleaned}".rstrip("/")
    report = fc.clean(where, older_than=timedelta(0), dry_run=False)
    assert dict(bucket.uploads, **{stray.upload_id: None}) == {**pending, stray.upload_id: None}
    assert (stray.upload_id in bucket.uploads) != bucket.habits.listable
    assert len(report.deleted) == bucket.habits.listable
    fc.resume(url(bucket), decided.job_id)
    if names == "unique":
        living.commit(messages[1:])


def test_a_clean_asks_each_directory_once_whose_jobs_it_holds(listed: Bucket) -> None:
    for directory in ("", "a/", "a/b/"):
        for number in range(5):
            upload(listed, f"{directory}part-{OTHER}-{number}.txt")
    with recorded_calls() as calls:
        clean(listed)
    assert listed.uploads == {}
    looked = [call.path[len(listed.name) :] for call in calls if call.verb == "list_children"]
    others = [path for path in looked if path.endswith("/_commit") and path != "/out/_commit"]
    assert sorted(others) == ["/_commit", "/out/a/_commit", "/out/a/b/_commit"]


def test_what_may_be_of_a_job_that_cannot_be_looked_for_is_shown(listed: Bucket) -> None:
    """A user who may list below a prefix only: whose they are is not known."""
    upload(listed, f"part-{OTHER}-0.txt")

    async def denied(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if (verb, path) == ("list_children", f"{listed.name}/_commit"):
            raise refused(path, "403")
        return await call()

    with wrapping(lambda store: WrappedStore(store, denied)):
        report = clean(listed)
    assert report.deleted == ()
    assert len(report.shown) == 1
    assert names_pending(listed) == [f"part-{OTHER}-0.txt"]


@pytest.mark.parametrize("answer", ["", "403"], ids=["there", "denied"])
@pytest.mark.guarantees("P4", "P8")
def test_one_empty_listing_takes_no_upload_from_another_destination(
    listed: Bucket, answer: str
) -> None:
    """It was taken for there being no job, and a decided one lost the rest of its files."""
    job = started(listed)
    message = write(job.task(), "a.txt", "b.txt").commit()
    with inject(Fault("complete", 2, "crash_before")), suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    pending = names_pending(listed)

    async def lied(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        if (verb, path) == ("list_children", f"{listed.name}/out/_commit"):
            return []  # type: ignore[return-value]  # the answer of a listing
        if answer and verb == "stat" and "/out/_commit/" in path:
            raise refused(path, answer)
        return await call()

    with wrapping(lambda store: WrappedStore(store, lied)):
        report = fc.clean(f"{FLAT}://{listed.name}", older_than=timedelta(0), dry_run=False)
    assert (report.deleted, names_pending(listed)) == ((), pending)
    assert fc.resume(url(listed), job.job_id).file_count == 2
