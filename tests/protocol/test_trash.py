"""An old file goes only as it was listed, whatever comes to its name meanwhile (P9)."""

from __future__ import annotations

import re
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Literal, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.effects import pacing
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.scenes.hooks import at, at_call, before

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

T = TypeVar("T")


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    destination = tmp_path / "out"
    destination.mkdir()
    (destination / "old.txt").write_bytes(b"old")
    (destination / "_SUCCESS").write_bytes(b"")
    return destination


def write(destination: Path) -> fc.CommitResult:
    job = fc.Job(destination, mode="overwrite")
    job._begun_here = False
    with job, job.task() as task, task.open("new.txt") as file:
        file.write(b"new")
    assert job.result is not None
    return job.result


def calls_of(destination: Path) -> list[str]:
    """The calls it takes; before each of them something may happen."""
    with before(lambda *_: False, lambda: None) as verbs:
        write(destination)
    return verbs


def replace(path: Path, data: bytes) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_bytes(data)
    new.rename(path)


@pytest.mark.parametrize("data", [b"", b"another job's marker"], ids=["empty", "json"])
def test_a_marker_that_others_replace_at_any_call(destination: Path, data: bytes) -> None:
    """Jobs that only append run beside each other, and each publishes the marker."""
    marker = destination / "_SUCCESS"
    count = len(calls_of(destination))
    for nth in range(1, count + 1):
        replace(marker, b"an earlier one")
        with before(at_call(nth), lambda: replace(marker, data)):
            assert write(destination).warnings == ()
        assert marker.exists()


def test_a_marker_that_others_remove_at_any_call(destination: Path) -> None:
    marker = destination / "_SUCCESS"
    count = len(calls_of(destination))
    for nth in range(1, count):
        marker.touch()
        with before(at_call(nth), lambda: marker.unlink(missing_ok=True)):
            assert write(destination).warnings == ()


def test_a_marker_that_goes_and_comes_while_it_is_removed(
    destination: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by ten processes: missing when it was to be renamed, another's when it was looked for.

    That was taken for a failure of our own, and the job for a half-finished one.
    """
    from fsspec_commit_stores.local.renaming import LocalRenames

    marker = destination / "_SUCCESS"
    rename = LocalRenames.rename

    async def late(self: LocalRenames, source: str, target: str, **options: object) -> None:
        if "/trash/_SUCCESS" not in target:
            return await rename(self, source, target, **options)  # type: ignore[arg-type]
        marker.unlink()
        try:
            return await rename(self, source, target, **options)  # type: ignore[arg-type]
        finally:
            replace(marker, b"another job's")

    monkeypatch.setattr(LocalRenames, "rename", late)
    assert write(destination).warnings == ()
    assert marker.read_bytes() == b"another job's"


def test_of_a_file_that_stays_it_is_said_that_it_does(destination: Path) -> None:
    """It stands beside the new ones, and nobody would look for it."""
    old = destination / "old.txt"
    listed = calls_of(destination).index("list_tree") + 1
    replace(old, b"old")
    with before(at_call(listed + 2), lambda: replace(old, b"newer")):
        (warning,) = write(destination).warnings
    assert warning.endswith("stay beside the new ones: 'old.txt'")
    assert old.exists()


def test_a_file_that_others_replace_at_any_call(destination: Path) -> None:
    """A foreign writer's newer file is never deleted for the old one that was listed."""
    old = destination / "old.txt"
    verbs = calls_of(destination)
    listed = verbs.index("list_tree") + 1
    came: list[bool] = []

    def replace_old() -> None:
        came.append(old.exists())
        if came[-1]:
            replace(old, b"newer")

    for nth in range(1, len(verbs)):
        replace(old, b"old")
        with before(at_call(nth), replace_old):
            result = write(destination)
        stays = came[-1] and nth > listed
        assert bool(result.warnings) == stays, f"call {nth} of {len(verbs)}"
        assert old.exists() == stays, f"call {nth} of {len(verbs)}"
        assert not stays or old.read_bytes() == b"newer"
    assert any(came[listed:])


def taken_by_a_slow_driver(destination: Path, name: str, ending: str = ".pending") -> None:
    """What a driver does that looked long ago: one rename into its trash, while there is one."""
    for job in (destination / "_commit").glob("2*"):
        trash = job / "trash" / f"{name}{ending}"
        trash.parent.mkdir(exist_ok=True)
        if (destination / name).exists() and not trash.exists():
            (destination / name).rename(trash)


@pytest.mark.parametrize("ending", [".pending", ""], ids=["now", "of an earlier version"])
@pytest.mark.parametrize("name", ["old.txt", "_SUCCESS"])
@pytest.mark.parametrize(
    ("dies", "state"),
    [
        (Fault("rename", 1, "crash_before"), "decided"),
        (Fault("create", 7, "crash_after"), "published"),
    ],
)
@pytest.mark.guarantees("P6", "P8", "P9")
def test_what_a_slow_driver_takes_at_any_call_of_a_resumer(
    tmp_path: Path, name: str, ending: str, dies: Fault, state: str
) -> None:
    """The other one does not come back to put it back: whoever removes the area does (P9)."""
    count, nth = 1, 0
    while nth <= count:
        nth += 1
        destination = tmp_path / str(nth)
        destination.mkdir()
        (destination / "old.txt").write_bytes(b"old")
        (destination / "_SUCCESS").write_bytes(b"")
        with inject(dies), suppress(Crash):
            write(destination)
        (job,) = fc.jobs(destination)
        assert job.state == state
        replace(destination / name, b"newer")

        def take(destination: Path = destination) -> None:
            taken_by_a_slow_driver(destination, name, ending)

        with before(at_call(nth), take) as verbs:
            fc.resume(destination, job.job_id)
        count = len(verbs)
        assert (destination / name).exists(), f"call {nth} of {count}"
        if name == "old.txt":
            assert (destination / name).read_bytes() == b"newer", f"call {nth} of {count}"
        assert fc.jobs(destination) == []


@pytest.mark.guarantees("P6", "P8")
def test_p6_a_marker_that_a_slow_driver_takes_when_all_is_published_comes_back(
    destination: Path,
) -> None:
    """The driver that published found no earlier marker; the slow one had seen it before."""
    with inject(Fault("create", 7, "crash_after")), suppress(Crash):
        write(destination)
    (job,) = fc.jobs(destination)
    assert job.state == "published"
    [earlier] = destination.glob("_commit/2*/trash/_SUCCESS.pending")
    earlier.unlink()
    with before(
        at("rename_directory", "/_commit/"), lambda: taken_by_a_slow_driver(destination, "_SUCCESS")
    ):
        fc.resume(destination, job.job_id)
    assert (destination / "_SUCCESS").exists()
    assert fc.jobs(destination) == []


@contextmanager
def taken_at_the_last_moment(destination: Path, giving_back: Callable[[], None]) -> Iterator[None]:
    """A slow driver takes a newer file just before the area goes, which is noticed afterwards."""
    old = destination / "old.txt"

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "rename_directory" and "/_commit/2" not in path:
            taken_by_a_slow_driver(destination, old.name)
        if verb == "rename" and path == str(old):
            giving_back()
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        yield


@pytest.fixture
def published(destination: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A job whose driver died, and an old file that somebody has replaced since."""
    monkeypatch.setattr(pacing, "BACKOFF_S_MAX", 0.01)
    with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
        write(destination)
    replace(destination / "old.txt", b"newer")
    (job,) = fc.jobs(destination)
    return job.job_id


@pytest.mark.parametrize("reply", [Reply.REFUSED, Reply.UNKNOWN], ids=str)
@pytest.mark.guarantees("P8", "P9")
def test_what_the_disk_does_not_give_back_is_not_deleted_with_the_area(
    destination: Path, published: str, reply: Reply
) -> None:
    def refuse() -> None:
        raise StoreError("the disk does not say why", reply=reply)

    with taken_at_the_last_moment(destination, refuse):
        warning = fc.resume(destination, published).warnings[-1]
    assert "the work area was not removed" in warning
    fc.clean(destination, older_than=timedelta(0), dry_run=False)
    fc.resume(destination, published)
    assert (destination / "old.txt").read_bytes() == b"newer"
    assert fc.jobs(destination) == []


@pytest.mark.guarantees("P8", "P9")
def test_what_finds_its_name_taken_again_is_kept(destination: Path, published: str) -> None:
    old = destination / "old.txt"
    with (
        taken_at_the_last_moment(destination, lambda: replace(old, b"newest")),
        pytest.raises(
            fc.PartialCommitError, match=r"twice; look at '.*/trash/old\.txt\.pending'"
        ) as caught,
    ):
        fc.resume(destination, published)
    assert caught.value.stage == "replace"
    assert old.read_bytes() == b"newest"
    [taken] = destination.glob("_commit/2*/trash/old.txt.pending")
    assert taken.read_bytes() == b"newer"
    taken.unlink()  # The person has looked.
    fc.resume(destination, published)
    assert old.read_bytes() == b"newest"
    assert fc.jobs(destination) == []


@pytest.mark.guarantees("P8", "P9")
def test_what_finds_its_name_taken_again_at_once_is_kept_as_well(destination: Path) -> None:
    """While the driver deletes: a slow one has taken the newer file, and a third one has come."""
    old = destination / "old.txt"

    def take() -> None:
        replace(old, b"newer")
        taken_by_a_slow_driver(destination, old.name)
        replace(old, b"newest")

    with (
        before(at("rename", "/trash/old.txt"), take),
        pytest.raises(fc.PartialCommitError, match="1 replaced files remain: ") as caught,
    ):
        write(destination)
    error = caught.value
    [taken] = destination.glob("_commit/2*/trash/old.txt.pending")
    [job] = fc.jobs(destination)
    assert (error.stage, error.path, error.job_id) == ("replace", str(old), job.job_id)
    assert f"look at '{taken}'" in str(error)
    assert f"fsspec-commit resume {destination} {job.job_id}" in str(error)
    assert error.__cause__ is not error
    assert (old.read_bytes(), taken.read_bytes()) == (b"newest", b"newer")
    taken.unlink()  # The person has looked.
    fc.resume(destination, job.job_id)
    assert old.read_bytes() == b"newest"
    assert fc.jobs(destination) == []


@pytest.mark.guarantees("P8", "P9")
def test_who_dies_before_giving_it_back_leaves_it_to_the_next(
    destination: Path, published: str
) -> None:
    """The area had the name of remains by then, which `clean` deletes without a look."""
    old, dead = destination / "old.txt", False

    def die() -> None:
        nonlocal dead
        dead = True

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if dead:
            raise Crash
        return await call()

    with (
        wrapping(lambda store: WrappedStore(store, carry)),
        taken_at_the_last_moment(destination, die),
        pytest.raises(Crash),
    ):
        fc.resume(destination, published)
    assert not old.exists()
    tried = fc.clean(destination, older_than=timedelta(0), dry_run=True)
    assert (len(tried.shown), tried.deleted) == (1, ())
    fc.clean(destination, older_than=timedelta(0), dry_run=False)
    assert fc.resume(destination, published).file_count == 1
    assert old.read_bytes() == b"newer"
    assert fc.jobs(destination) == []


@pytest.mark.guarantees("P8", "P9")
def test_a_clean_that_puts_the_area_back_meanwhile_is_told(
    destination: Path, published: str
) -> None:
    """The driver looked for what it was to give back where nothing was any more, and was done."""
    old = destination / "old.txt"

    def put_back() -> None:
        [taken] = destination.glob("_commit/void-*")
        taken.rename(taken.with_name(published))

    with (
        taken_at_the_last_moment(destination, lambda: None),
        before(at("stat", "/void-"), put_back),
        pytest.raises(fc.PartialCommitError, match="kept the work area") as caught,
    ):
        fc.resume(destination, published)
    assert caught.value.stage == "retire"
    assert any("fsspec-commit resume" in note for note in caught.value.__notes__)
    fc.resume(destination, published)
    assert old.read_bytes() == b"newer"
    assert fc.jobs(destination) == []


@pytest.mark.parametrize("mode", ["overwrite", "overwrite_partitions"])
def test_nothing_in_the_trash_has_the_ending_of_a_file_that_is_read(
    destination: Path, mode: Literal["overwrite", "overwrite_partitions"]
) -> None:
    """polars and DuckDB find `**/*.parquet` in every directory, also when the job is over."""
    for name in ("day=1/old.parquet", f"day=1/{'long' * 60}.parquet"):
        (destination / name).parent.mkdir(exist_ok=True)
        (destination / name).write_bytes(b"old")
    with (
        inject(Fault("delete_tree", 1, "crash_before")) as fired,
        suppress(Crash),
        fc.Job(destination, mode=mode) as job,
        job.task() as task,
        task.open("day=1/new.parquet", "w") as file,
    ):
        file.write("new")
    assert fired
    trash = {path.name for path in destination.glob("_commit/gone-*/trash/*")}
    assert "day%3D1%2Fold.parquet.pending" in trash
    assert any(re.fullmatch(r"[0-9a-f]{64}\.pending", name) for name in trash)
    assert [path.name[:3] for path in destination.glob("**/*.parquet")] == ["new"]
