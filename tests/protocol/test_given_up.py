"""A damaged job is given up (`clean --accept-loss`) while its driver, past its decision, lives."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeVar

import pytest

import fsspec_commit as fc
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, assert_no_leftovers, inject
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

T = TypeVar("T")


def write(url: Path, mode: fc.Mode) -> None:
    with fc.Job(url, mode=mode) as job, job.task() as task:
        for number in range(4):
            with task.open(f"{number}.txt", "w") as file:
                file.write(str(number))


def remove(area: Path) -> None:
    shutil.rmtree(area.rename(area.with_name(f"gone-{32 * '0'}")))


@pytest.mark.parametrize("published", range(5))
@pytest.mark.parametrize("damaged", ["decision", "job.json"])
@pytest.mark.guarantees("P1", "P7")
def test_its_driver_says_committed_only_where_every_file_is_there(
    tmp_path: Path, damaged: str, published: int
) -> None:
    """It took the missing record for a resumer's work: "committed", with one file of four."""
    url = tmp_path / "out"
    write(url, "append")  # An epoch stands, as wherever a job has finished.
    before = 0

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        nonlocal before
        if (verb, path.rpartition("/")[0]) == ("rename", str(url)) or path.endswith("/published"):
            if before == published:
                before += 1
                give_up()
            before += 1
        return await call()

    def give_up() -> None:
        """As another process does: the damage first, then what is left of the job goes."""
        [area] = url.glob("_commit/2*")
        if damaged == "decision":
            (area / damaged).write_bytes(b"garbage")
        else:
            (area / damaged).unlink()
        remove(area)

    with (
        wrapping(lambda store: WrappedStore(store, carry)),
        pytest.raises(fc.JobNotActiveError) as caught,
    ):
        write(url, "append")
    there = len(list(url.glob("*.txt"))) - 4
    assert there == published
    assert caught.value.outcome == ("committed" if there == 4 else "unknown")


@pytest.mark.parametrize("published", [0, 1, 4])
@pytest.mark.parametrize("names", ["unique", "exact"])
@pytest.mark.parametrize("given_up", ["meanwhile", "afterwards"])
@pytest.mark.guarantees("P1", "P7")
def test_a_driver_that_asks_again_is_told_no_more_than_is_there(
    tmp_path: Path,
    given_up: str,
    names: Literal["unique", "exact"],
    published: int,
) -> None:
    """A file that is named by the job was enough for it, or an epoch that any job has left."""
    url = tmp_path / "out"
    write(url, "append")
    left = published

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        nonlocal left
        if (verb, path.rpartition("/")[0]) == ("rename", str(url)) or path.endswith("/published"):
            left -= 1
            if left == -1 and given_up == "meanwhile":
                remove(area)
            if left < 0:
                raise StoreError("refused", reply=Reply.REFUSED)
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(url, mode="append", names=names).start()
    job._begun_here = False
    with job.task() as task:
        for letter in "abcd":
            with task.open(letter) as file:
                file.write(b"x")
    area = url / "_commit" / job.job_id
    if given_up == "afterwards":
        with pytest.raises(fc.PartialCommitError):
            job.commit()
        remove(area)
    for _ in range(2):
        with pytest.raises(fc.JobNotActiveError) as caught:
            job.commit()
        assert caught.value.outcome == ("committed" if published == 4 else "unknown")


@pytest.mark.guarantees("P7", "P9")
def test_a_driver_whose_old_files_stay_is_not_told_committed(tmp_path: Path) -> None:
    """Every new file was in place when it was given up, and every old one, too."""
    url = tmp_path / "out"
    write(url, "append")

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if verb == "create" and path.endswith("/published"):
            raise StoreError("refused", reply=Reply.REFUSED)
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(url, mode="overwrite").start()
    with job.task() as task, task.open("new.txt") as file:
        file.write(b"new")
    with pytest.raises(fc.PartialCommitError):
        job.commit()
    (url / "_commit" / job.job_id / "decision").write_bytes(b"torn")
    fc.clean(url, damaged=[job.job_id], accept_loss=True, dry_run=False)
    assert len(list(url.glob("*.txt"))) == 5
    for _ in range(2):
        with pytest.raises(fc.JobNotActiveError) as caught:
            job.commit()
        assert caught.value.outcome == "unknown"


def test_of_a_link_that_was_removed_nobody_says_that_all_is_there(tmp_path: Path) -> None:
    """The area had been moved to another disk, with a decision and files that were to come."""
    url = tmp_path / "out"
    write(url, "append")
    with inject(Fault("rename", 2)), suppress(Crash):
        write(url, "append")
    [dead] = fc.jobs(url)
    area = url / "_commit" / dead.job_id
    area.symlink_to(area.rename(tmp_path / "elsewhere"))
    fc.clean(url, damaged=[dead.job_id], dry_run=False)
    with pytest.raises(fc.JobNotActiveError) as caught:
        fc.resume(url, dead.job_id)
    assert caught.value.outcome == "unknown"


@pytest.mark.parametrize("settle", [fc.resume, fc.abort])
@pytest.mark.guarantees("P7")
def test_whoever_comes_after_it_was_given_up_does_not_take_a_part_for_all(
    tmp_path: Path, settle: Callable[[Path, str], object]
) -> None:
    """It was "committed and finished already", with one of four files, for all time."""
    url = tmp_path / "out"
    write(url, "append")
    with inject(Fault("rename", 2)), suppress(Crash):
        write(url, "append")
    [dead] = fc.jobs(url)
    (url / "_commit" / dead.job_id / "decision").write_bytes(b"torn")
    fc.clean(url, damaged=[dead.job_id], accept_loss=True, dry_run=False)
    assert len(list(url.glob("*.txt"))) == 5
    with pytest.raises(fc.JobNotActiveError) as caught:
        settle(url, dead.job_id)
    assert caught.value.outcome == "unknown"
    assert_no_leftovers(url)


@pytest.mark.parametrize("settle", [fc.resume, fc.abort])
@pytest.mark.guarantees("P1", "P8")
def test_a_job_that_was_finished_with_a_loss_is_not_said_to_be_whole(
    tmp_path: Path, settle: Callable[[Path, str], object]
) -> None:
    """Who asked again was told "committed and finished already", and of no loss."""
    url = tmp_path / "out"
    with inject(Fault("rename", 2)), suppress(Crash):
        write(url, "append")
    [dead] = fc.jobs(url)
    next(url.glob("_commit/2*/committed/**/*.pending")).unlink()
    [lost] = fc.resume(url, dead.job_id, accept_loss=True).warnings
    assert lost.startswith("lost: ")
    assert [path.name for path in url.glob("_commit/lost/*")] == [dead.job_id]
    with pytest.raises(fc.JobNotActiveError, match="without files that were lost") as caught:
        settle(url, dead.job_id)
    assert caught.value.outcome == "unknown"


@pytest.mark.guarantees("P7")
def test_nothing_that_fails_after_it_calls_a_removed_job_off(tmp_path: Path) -> None:
    """`clean` had given it up, a listing failed, and it was "not committed"."""
    url = tmp_path / "out"
    with inject(Fault("rename", 2)), suppress(Crash):
        write(url, "append")
    [dead] = fc.jobs(url)
    (url / "_commit" / dead.job_id / "job.json").unlink()

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if path == f"{url}/_commit" and (url / "_commit" / "lost" / dead.job_id).exists():
            raise StoreError("not yours any more", path=path, reply=Reply.REFUSED)
        return await call()

    with (
        wrapping(lambda store: WrappedStore(store, carry)),
        pytest.raises(fc.CommitStateUnknownError, match="not yours any more"),
    ):
        fc.clean(url, damaged=[dead.job_id], accept_loss=True, dry_run=False)
