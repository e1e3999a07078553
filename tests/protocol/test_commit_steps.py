"""Steps of a commit whose absence no simulated run shows, each in one job that needs it."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import datetime
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import pytest
from fsspec.callbacks import Callback

import fsspec_commit as fc
from fsspec_commit.errors import Reply
from fsspec_commit.protocol import looks, sign_of_life
from fsspec_commit.protocol.result import shown_bytes
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.in_buckets import started, write

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from fsspec_commit.testing.wrapped_abilities import Carry
    from tests.flat.bucket import Bucket

T = TypeVar("T")


def test_two_messages_of_one_task_are_refused(tmp_path: Path) -> None:
    job = fc.Job(tmp_path / "out", mode="append").start()
    messages = [write(job.task(0), name).commit() for name in ("a.txt", "b.txt")]
    with pytest.raises(fc.RequestError):
        job.commit(messages)
    job.abort()


def test_a_task_whose_message_is_forgotten_is_named(tmp_path: Path) -> None:
    job = fc.Job(tmp_path / "out", mode="append").start()
    messages = [write(fc.Task.from_spec(job.spec, number), "a.txt").commit() for number in (0, 1)]
    assert "left out" in str(job.commit(messages[:1]).warnings)


def test_a_task_whose_job_is_over_is_told_so(tmp_path: Path) -> None:
    """Whatever failed because of that: here a directory to be renamed is gone."""
    job = fc.Job(tmp_path / "out", mode="append").start()
    task = write(fc.Task.from_spec(job.spec, 0), "a.txt")
    fc.abort(tmp_path / "out", job.job_id)
    with pytest.raises(fc.JobNotActiveError):
        task.commit()
    job._begun_here = False


def test_a_file_that_a_task_removes_is_gone_at_once(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append") as job, job.task() as task:
        write(task, "a.txt", "b.txt")
        task.filesystem.rm("a.txt")
        (left,) = (tmp_path / "out").rglob("*.pending")
        assert left.name.startswith("b-")


def test_hadoops_marker_says_one_time_in_two_ways(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append", success="json") as job:
        write(job.task(), "a.txt").commit()
    marker = json.loads((tmp_path / "out/_SUCCESS").read_bytes())
    said = datetime.fromisoformat(marker["date"]).timestamp()
    assert marker["timestamp"] == round(said * 1000)


def test_a_callback_is_told_how_many_files_there_are(tmp_path: Path) -> None:
    bar = Callback()
    with fc.Job(tmp_path / "out", mode="append", callback=bar) as job:
        write(job.task(), "a.txt", "b.txt").commit()
    assert (bar.size, bar.value) == (2, 2)


@pytest.mark.parametrize("bucket", ["unversioned"], indirect=True)
def test_whoever_resumes_a_job_removes_the_epochs_before(bucket: Bucket) -> None:
    first = started(bucket)
    write(first.task(), "a.txt").commit()
    first.commit()
    job = started(bucket)
    message = write(job.task(), "b.txt").commit()
    with inject(Fault("complete", 1, "crash_before")) as fired, suppress(Crash):
        fc.Job.from_spec(job.spec).commit([message])
    assert fired
    fc.resume(job.destination, job.job_id)
    assert len([key for key in bucket.keys("") if "/_commit/epoch-" in key]) == 1


def test_p11_a_job_that_was_refused_is_in_nobodys_way(tmp_path: Path) -> None:
    """Its claim is gone, while it is open and may commit again."""
    destination = tmp_path / "out"
    with fc.Job(destination, mode="append", names="exact") as job:
        write(job.task(), "a.txt").commit()
    refused = fc.Job(destination, mode="append", names="exact").start()
    write(refused.task(), "a.txt").commit()
    with pytest.raises(fc.DestinationExistsError):
        refused.commit()
    with fc.Job(destination, mode="overwrite", wait_s=0) as later:
        write(later.task(), "b.txt").commit()
    refused.abort()


def idle_at(destination: Path, carry: Carry) -> fc.Job:
    """A job that will find that it has nothing to do, and whose calls are carried so."""
    with wrapping(lambda store: WrappedStore(store, carry)):
        idle = fc.Job(destination, mode="ignore").start()
    write(idle.task(), "b.txt").commit()
    with fc.Job(destination, mode="append") as job:
        write(job.task(), "a.txt").commit()
    return idle


def test_p11_a_job_with_nothing_to_do_is_in_nobodys_way(tmp_path: Path) -> None:
    """Not even where it cannot be aborted: its claim is gone before."""

    is_refusing = True

    async def refuse(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        if is_refusing and verb == "create" and path.endswith("/decision"):
            raise fc.StoreError("not yours", path=path, reply=Reply.REFUSED)
        return await call()

    idle = idle_at(tmp_path / "out", refuse)
    with pytest.raises(fc.CommitError):
        idle.commit()
    with fc.Job(tmp_path / "out", mode="overwrite", wait_s=0) as later:
        write(later.task(), "c.txt").commit()
    is_refusing = False
    idle.abort()


def test_a_job_without_a_claim_shows_no_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is renewed while the job is aborted could stand when its area has gone."""
    monkeypatch.setattr(sign_of_life, "BEAT_S", 0.001)
    calls: list[str] = []

    async def take_time(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        calls.append(f"{verb} {path.rpartition('/')[2].partition('-')[0]}")
        if "alive-" not in path:
            await asyncio.sleep(0.01)
        return await call()

    idle_at(tmp_path / "out", take_time).commit()
    assert calls.count("delete claim") == 1, calls
    assert "create alive" in calls
    assert "create alive" not in calls[calls.index("delete claim") :]


def test_p1_a_marker_that_came_while_files_were_listed_is_removed(tmp_path: Path) -> None:
    """Of a job on another partition: it would stand for half of this one."""
    place = tmp_path / "out"
    with fc.Job(place, mode="append") as job:
        write(job.task(), "p=1/old.txt").commit()
    other = fc.Job(place, mode="append").start()
    written = write(other.task(), "p=2/b.txt").commit()
    left, seen = [written], []

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        answer = await call()
        if verb.startswith("list_") and path.endswith("/p=1") and left:
            # Others of this job's calls get to their end meanwhile; and so long is long.
            await asyncio.sleep(looks._MARKER_COUNTS_S + 0.1)
            await asyncio.to_thread(other.commit, [left.pop()])
        if verb.startswith("rename") and any(place.glob("p=1/a-*")):
            seen.append((place / "_SUCCESS").exists())
        return answer

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(place, mode="overwrite_partitions").start()
        messages = [write(job.task(), "p=1/a.txt").commit()]
        assert left == [written]
        job.commit(messages)
    assert not left
    assert seen[0] is False, "the new file stands beside the old one"
    assert (place / "_SUCCESS").exists()


@pytest.mark.parametrize(
    ("mode", "takes_long"),
    [
        ("append", "its names"),
        ("overwrite_partitions", "its names"),
        ("overwrite_partitions", "our list"),
    ],
)
@pytest.mark.parametrize("bucket", ["gcs"], indirect=True)
def test_p1_a_marker_that_came_since_it_was_looked_for_is_removed(
    bucket: Bucket, mode: fc.Mode, takes_long: str
) -> None:
    """Of a job that is passed: its names take long to come, or our list of old files to stand."""
    place = f"flat://{bucket.name}/out"
    with fc.Job(place, mode="append", success="none") as job:
        write(job.task(), "p=1/old.txt").commit()
    begun: list[tuple[fc.Job, fc.TaskCommit]] = []
    committed, listings, seen = list[fc.CommitResult](), count(1), list[bool]()

    def begin() -> None:
        other = fc.Job(place, mode="append").start()
        begun.append((other, write(other.task(), "p=2/b.txt").commit()))

    async def carry(verb: str, path: str, call: Callable[[], Awaitable[T]]) -> T:
        lists = verb.startswith("list_")
        if lists and path.endswith("/_commit") and not begun and next(listings) == 2:
            await asyncio.to_thread(begin)
        answer = await call()
        names = lists and bool(begun) and path.endswith(begun[0][0].job_id)
        if not committed and (names if takes_long == "its names" else "/replaced-" in path):
            [(other, message)] = begun
            committed.append(await asyncio.to_thread(other.commit, [message]))
            await asyncio.sleep(looks._MARKER_COUNTS_S + 0.1)
        if any("/out/p=1/a" in key for key in bucket.keys("")):
            seen.append(f"{bucket.name}/out/_SUCCESS" in bucket.keys(""))
        return answer

    with wrapping(lambda store: WrappedStore(store, carry)):
        job = fc.Job(place, mode=mode).start()
    messages = [write(job.task(), "p=1/a.txt").commit()]
    if takes_long == "our list":  # It is written when the look is done where another job is listed.
        begin()
    job.commit(messages)
    assert committed
    assert seen[0] is False, "it stands for half of the job"
    assert f"{bucket.name}/out/_SUCCESS" in bucket.keys("")


def test_a_result_says_what_was_not_done(tmp_path: Path) -> None:
    with fc.Job(tmp_path / "out", mode="append") as job:
        write(job.task(), "a.txt").commit()
    idle = fc.Job(tmp_path / "out", mode="ignore").start()
    write(idle.task(), "b.txt").commit()
    said = repr(idle.commit())
    assert said.startswith("<CommitResult skipped ")
    assert said.endswith(f"/out: ignore, job {idle.job_id}>")
    assert repr(job.result).startswith("<CommitResult committed 1 file, 5 B to ")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (1_540_000, "1.5 MB"),
        (999_900_000, "999.9 MB"),
        (2 * 10**9, "2.0 GB"),
        (10**12, "1.0 TB"),
        (4_500 * 10**12, "4,500.0 TB"),
    ],
)
def test_a_result_says_its_size_in_the_units_of_storage(count: int, said: str) -> None:
    assert shown_bytes(count) == said
