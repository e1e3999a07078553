"""Where nobody can know what is committed a reader is told so, and where to ask instead."""

from __future__ import annotations

from datetime import timedelta
from errno import EACCES
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore
from fsspec_commit.testing.wrapped import WrappedStore
from tests.flat.bucket import refused
from tests.protocol.faults import MEMORY, attempt
from tests.scenes.places import LocalPlace
from tests.scenes.scene import SCENES, Scene

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from tests.scenes.flat_place import FlatPlace
    from tests.scenes.memory_place import MemoryPlace

    AnyPlace: TypeAlias = FlatPlace | MemoryPlace

T = TypeVar("T")

ASK: dict[str, Callable[[str], object]] = {
    "committed_files": fc.committed_files,
    "dataset": fc.dataset,
    "verify": fc.verify,
}
NOTHING = Scene({"mode": "error"})


@pytest.fixture(params=["disk", MEMORY, "versioned", "gcs"])
def url(
    request: pytest.FixtureRequest, tmp_path: Path, make_place: Callable[[str, Scene], AnyPlace]
) -> str:
    """Nothing is there; what is above a destination on a disk, only another store can list."""
    where: str = request.param
    return str(tmp_path / "out") if where == "disk" else make_place(where, NOTHING).url


@pytest.mark.parametrize("ask", ASK)
def test_a_directory_of_a_destination(url: str, ask: str) -> None:
    write(url, "day=1/h=2/a.txt")
    for inner in ("day=1", "day=1/h=2", "day=7"):
        with pytest.raises(fc.RequestError, match="is a directory of the destination") as caught:
            ASK[ask](f"{url}/{inner}")
        assert (caught.value.kind, caught.value.path) == ("inside_destination", inner)
        assert caught.value.stage == "read"


def test_a_directory_of_a_destination_whose_first_job_is_at_work(url: str) -> None:
    """No job has finished there, so no epoch says what it is."""
    job = fc.Job(url, mode="append").start()
    with pytest.raises(fc.RequestError) as caught:
        fc.committed_files(f"{url}/day=1")
    assert caught.value.kind == "inside_destination"
    job.abort()


def test_a_directory_above_that_nobody_may_list_is_passed_over(
    make_place: Callable[[str, Scene], AnyPlace],
) -> None:
    async def refuse(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "list_children" and "/out/" not in path:
            raise refused(path, "403", EACCES)
        return await call()

    place = make_place("versioned", NOTHING)
    with wrapping(lambda store: WrappedStore(store, refuse)):
        assert fc.committed_files(f"{place.url}/day=1") == []


def test_a_job_that_nobody_may_look_at_is_not_called_damaged(url: str) -> None:
    """Whoever asks was told to remove it, and it may be another user's, who is at work."""
    job = fc.Job(url, mode="append").start()

    async def refuse(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if f"/{job.job_id}" in path:
            raise refused(path, "403", EACCES)
        return await call()

    cannot = f"job {job.job_id} cannot be looked at"
    with wrapping(lambda store: WrappedStore(store, refuse)):
        with pytest.raises(fc.ConcurrentJobError, match=cannot) as caught:
            write(url, "a.txt")
        assert "--damaged" not in str(caught.value)
        with pytest.raises(fc.RecordError, match=f"not known: {cannot}"):
            fc.committed_files(url)
        with pytest.raises(fc.RequestError, match=f"{cannot}: .*nothing was removed") as refusal:
            fc.clean(url, damaged=[job.job_id], dry_run=False)
        assert refusal.value.kind == "not_damaged"
        assert [info.state for info in fc.jobs(url)] == ["unknown"]
        shown, *_ = fc.clean(url, older_than=timedelta(0), dry_run=False).shown
        assert shown.startswith(f"{job.job_id}: cannot be looked at, ")
    assert [(info.job_id, info.state) for info in fc.jobs(url)] == [(job.job_id, "open")]
    job.abort()


@pytest.mark.parametrize("ask", ["committed_files", "dataset"])
def test_a_directory_with_a_destination_in_it(url: str, ask: str) -> None:
    write(f"{url}/raw/in", "a.txt")
    with pytest.raises(fc.RequestError, match="another destination lies inside it") as caught:
        ASK[ask](url)
    assert (caught.value.kind, caught.value.path) == ("nested_destination", "raw/in")
    assert caught.value.stage == "read"
    assert len(fc.committed_files(f"{url}/raw/in")) == 1


@pytest.mark.parametrize(
    ("state", "record"),
    [
        ("decided", "decision"),
        ("decided", "manifests/*/*"),
        ("decided", "replaced-*"),
        ("published", "published"),
        ("published", "replaced-*"),
    ],
)
def test_a_damaged_record_of_a_job_that_has_decided(
    tmp_path: Path, state: str, record: str
) -> None:
    """Each says which of the files that stand there do not count."""
    place = LocalPlace(tmp_path / "out")
    job_id = leave(place, state)
    fc.committed_files(place.url)
    damaged = min((place.path / "_commit" / job_id).glob(record))
    damaged.write_bytes(b"{torn")
    with pytest.raises(fc.RecordError, match=f"not known: job {job_id} is damaged") as caught:
        fc.committed_files(place.url)
    assert damaged.name in str(caught.value)
    assert caught.value.job_id == job_id


def leave(place: LocalPlace, state: str) -> str:
    """A job whose driver, or resumer, has died in this *state*: its id."""
    scene = SCENES["overwrite, in place"]
    place.put(scene.laid_out)
    died = partial(FaultyStore, faults=FaultPlan([Fault("rename", nth=5, kind="crash_before")]))
    assert attempt(scene, place, died) == "nothing"
    [job] = fc.jobs(place.url)
    if state == "published":
        plan = FaultPlan([Fault("create", nth=2, kind="crash_before")])
        with wrapping(partial(FaultyStore, faults=plan)), pytest.raises(Crash):
            fc.resume(place.url, job.job_id)
    [job] = fc.jobs(place.url)
    assert job.state == state
    return job.job_id


def write(url: str, name: str) -> None:
    """Commit one file."""
    job = fc.Job(url, mode="append", wait_s=0.1)
    with job, job.task() as task, task.open(name, "w") as file:
        file.write(name)
