"""An area that is there before its ``job.json``: `clean` never takes a living job's (P6, P8)."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import RENAMING, Bucket, make_bucket, remove_bucket
from tests.flat.store import FLAT
from tests.scenes.hooks import at, before
from tests.scenes.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.store import Directory, Entry
    from tests.scenes.flat_place import FlatPlace

T = TypeVar("T")

pytestmark = [
    pytest.mark.guarantees("P6", "P8"),
    pytest.mark.filterwarnings("ignore:.*neither committed nor aborted:ResourceWarning"),
]


class Place(NamedTuple):
    """A destination on a disk, or in a bucket with directories."""

    url: str
    bucket: Bucket | None

    def take(self, job_id: str) -> bytes:
        """Remove ``job.json``, as if it were not there yet."""
        path = f"_commit/{job_id}/job.json"
        if self.bucket is None:
            file = Path(self.url) / path
            data = file.read_bytes()
            file.unlink()
            return data
        return self.bucket.objects.pop(StorePath(f"{self.bucket.name}/out/{path}")).data

    def put(self, job_id: str, data: bytes) -> None:
        path = f"_commit/{job_id}/job.json"
        if self.bucket is None:
            (Path(self.url) / path).write_bytes(data)
        else:
            name = StorePath(f"{self.bucket.name}/out/{path}")
            self.bucket.put(name, data, None, Expect.ANYTHING)

    def areas(self) -> list[str]:
        if self.bucket is None:
            found = (Path(self.url) / "_commit").iterdir()
            names = {path.name for path in found if path.is_dir()}
        else:
            start = f"{self.bucket.name}/out/_commit/"
            paths = [*self.bucket.directories, *self.bucket.keys(start)]
            names = {path[len(start) :].partition("/")[0] for path in paths if start in path}
        return sorted(name for name in names if name and not name.startswith("epoch-"))

    def clean(self) -> fc.CleanReport:
        return fc.clean(self.url, older_than=timedelta(0), dry_run=False)


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    bucket = make_bucket(RENAMING["gen2"])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture(params=["disk", "gen2"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "disk":
        yield Place(str(tmp_path / "out"), None)
        return
    bucket = make_bucket(RENAMING[request.param])
    yield Place(f"{FLAT}://{bucket.name}/out", bucket)
    remove_bucket(bucket)


def started(place: Place) -> fc.Job:
    job = fc.Job(place.url, mode="append")
    job._begun_here = False
    return job.start()


def commits(job: fc.Job) -> bool:
    with job.task() as task, task.open("a.txt", "w") as file:
        file.write("a")
    return job.commit().file_count == 1


@pytest.mark.parametrize("verb", ["stat", "remove_empty_directory"])
def test_a_job_that_begins_after_the_look_stays(place: Place, verb: str) -> None:
    job = started(place)
    data = place.take(job.job_id)
    with before(at(verb, job.job_id), lambda: place.put(job.job_id, data)):
        assert place.clean().deleted == ()
    assert place.areas() == [job.job_id]
    assert commits(job)


def take_away_and_die(place: Place, job_id: str) -> None:
    """A `clean` of an earlier version, which renames an area whose record comes just before."""
    taken = f"void-{job_id}-{'0' * 32}"
    if place.bucket is None:
        areas = Path(place.url) / "_commit"
        (areas / job_id).rename(areas / taken)
    else:
        areas_path = f"{place.bucket.name}/out/_commit"
        area, to = StorePath(f"{areas_path}/{job_id}"), StorePath(f"{areas_path}/{taken}")
        place.bucket.rename_directory(area, to)


def test_one_that_was_taken_away_is_put_back_by_the_next(place: Place) -> None:
    """The first one died between its rename and its look."""
    job = started(place)
    take_away_and_die(place, job.job_id)
    (taken,) = place.areas()
    assert taken.startswith(f"void-{job.job_id}-")
    assert fc.jobs(place.url) == []
    fc.clean(place.url, older_than=timedelta(hours=1), dry_run=False)
    assert place.areas() == [job.job_id]
    assert commits(job)


@pytest.mark.parametrize("lie", ["stat", "list_children"])
def test_one_absent_record_does_not_remove_it(place: Place, lie: str) -> None:
    """Nor one empty listing: the whole area of a job went with it, for good."""
    job = started(place)
    take_away_and_die(place, job.job_id)

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == lie and "/void-" in path:
            return [] if verb == "list_children" else None  # type: ignore[return-value]
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        fc.clean(place.url, older_than=timedelta(hours=1), dry_run=False)
    assert commits(job)


def test_one_that_was_taken_away_goes_if_nothing_began_in_it(place: Place) -> None:
    job = started(place)
    place.take(job.job_id)
    take_away_and_die(place, job.job_id)
    assert len(place.areas()) == 1
    assert len(place.clean().deleted) == 1
    assert place.areas() == []


def test_one_whose_job_is_over_goes_by_a_rename_on_a_disk(tmp_path: Path) -> None:
    """All at once, so that no late driver finds half of it; and so does what is left by a crash."""
    place = Place(str(tmp_path), None)
    for is_killed in (False, True):
        job = started(place)
        with job.task() as task, task.open("a.txt", "w") as file:
            file.write("a")
        place.take(job.job_id)
        faults = [Fault("rename_directory", 1, "crash_after")] if is_killed else []
        with inject(*faults), suppress(Crash):
            assert place.clean().deleted == (job.job_id,)
        assert [name.startswith(f"void-{job.job_id}-") for name in place.areas()] == [
            True for _ in faults
        ]
    assert len(place.clean().deleted) == 1
    assert place.areas() == []


@pytest.mark.parametrize(
    ("lie", "since"),
    [("stat", "stat"), ("stat", "list_children"), ("list_children", "stat")],
)
def test_one_absent_record_removes_no_area_where_it_stands(
    place: Place, lie: str, since: str
) -> None:
    """Nor does one empty listing; the record came after the state of the job was read."""
    job = started(place)
    data = place.take(job.job_id)
    is_read = lying = False

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        nonlocal is_read, lying
        # The size of what is found void is asked for then.
        is_read |= verb == "list_tree" and path.endswith(job.job_id)
        if not lying and is_read and verb == since and job.job_id in path:
            lying = True
            place.put(job.job_id, data)
        if lying and verb == lie and job.job_id in path:
            return [] if verb == "list_children" else None  # type: ignore[return-value]
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        place.clean()
    assert place.areas() == [job.job_id]
    assert commits(job)


def test_a_record_that_comes_between_two_pages_of_a_listing_is_seen(bucket: Bucket) -> None:
    """The second page shows what came after it, as of a job that is over."""
    place = Place(f"{FLAT}://{bucket.name}/out", bucket)
    job = started(place)
    data = place.take(job.job_id)
    begun: list[str] = []
    is_found_void = False

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        nonlocal is_found_void
        is_found_void |= verb == "list_tree" and path.endswith(job.job_id)
        if begun or not is_found_void or verb != "list_children":
            return await call()
        first: list[Entry | Directory] = await call()  # type: ignore[assignment]
        place.put(job.job_id, data)
        bucket.make_directory(StorePath(f"{path}/tasks"))
        second: list[Entry | Directory] = await call()  # type: ignore[assignment]
        begun.extend(child.path.rpartition("/")[2] for child in second)
        return [*first, *(one for one in second if one.path.endswith("/tasks"))]  # type: ignore[return-value]

    with wrapping(lambda store: WrappedStore(store, carry)):
        assert place.clean().deleted == ()
    assert begun == ["job.json", "tasks"]
    assert place.areas() == [job.job_id]
    assert commits(job)


def test_an_empty_area_goes_by_one_request_that_looks(place: Place) -> None:
    """None is renamed away: neither readers nor other jobs would see one that is beginning."""
    job = started(place)
    place.take(job.job_id)
    asked: list[str] = []

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if job.job_id in path:
            asked.append(verb)
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        assert place.clean().deleted == (job.job_id,)
    assert asked[-3:] == ["list_children", "stat", "remove_empty_directory"]
    assert place.areas() == []


@pytest.mark.parametrize("habits", ["unversioned", "gcs", "gen2"])
def test_what_stands_without_a_job_goes_and_is_named(
    habits: str, make_place: Callable[[str, Scene], FlatPlace]
) -> None:
    place = make_place(habits, Scene({"mode": "error"}))
    job = fc.Job(place.url, mode="append").start()
    (spec,) = [path for path in place.bucket.objects if path.endswith("/job.json")]
    del place.bucket.objects[spec]
    claim = StorePath(f"{spec.rpartition('/')[0]}/claim-{'a' * 32}")
    place.bucket.put(claim, b"{}", None, Expect.ANYTHING)
    report = fc.clean(place.url, older_than=timedelta(0), dry_run=False)
    assert (report.deleted, report.not_removed) == ((job.job_id,), ())
    assert claim not in place.bucket.objects
