"""What goes on when a commit has returned: who waits for it, for how long, and what it leaves."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import Future
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.effects.emptying import empty
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.protocol.retire import retire_job
from fsspec_commit.store.registry import wrapping
from fsspec_commit.sync import afterwards, bridge
from fsspec_commit.sync.handing_over import hand_over
from fsspec_commit.testing.assertions import assert_committed, assert_no_leftovers
from tests.flat import store as _flat  # noqa: F401  # the protocol of `flat://`
from tests.flat.bucket import ALL_HABITS, Bucket, make_bucket, remove_bucket
from tests.scenes.remotes import on
from tests.scenes.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.scenes.remotes import Remote

REFUSED = StoreError("denied", reply=Reply.REFUSED)


@pytest.fixture(params=["unversioned", "minio", "gcs", "gen2"])
def bucket(request: pytest.FixtureRequest) -> Iterator[Bucket]:
    bucket = make_bucket(ALL_HABITS[request.param])
    yield bucket
    remove_bucket(bucket)


@pytest.fixture
def url(bucket: Bucket) -> str:
    return f"flat://{bucket.name}/out"


class Gate:
    """The rest of an area is removed once it is open, or refused.

    Attributes:
        waiting: How many wait.
        error: What is raised instead of removing.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.waiting = 0
        self.error: Exception | None = None
        self._open = asyncio.Event()
        patch.setattr("fsspec_commit.effects.retirement.empty", self._wait)

    async def _wait(self, *args: Any, beside: Any) -> None:
        self.waiting += 1
        try:
            await self._open.wait()
        except BaseException:
            beside.close()
            raise
        if self.error is not None:
            beside.close()
            raise self.error
        await empty(*args, beside=beside)

    def open(self) -> None:
        bridge.loop().call_soon_threadsafe(self._open.set)


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch, goes_on: None) -> Iterator[Gate]:
    gate = Gate(monkeypatch)
    yield gate
    gate.open()
    bridge.run(afterwards.all_quiet())


def commit(destination: str, name: str = "a.txt", **options: Any) -> fc.CommitResult:
    with (
        fc.Job(destination, mode="append", **options) as job,
        job.task() as task,
        task.open(name, "w") as file,
    ):
        file.write(name)
    return job.result


def area(bucket: Bucket, job_id: str) -> set[str]:
    """What is in the area of a job."""
    return {key.rpartition("/")[2] for key in bucket.keys(f"{bucket.name}/out/_commit/{job_id}/")}


def later(call: Callable[[], Any]) -> Future[Any]:
    """*call*, in a thread of its own."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001  # raised by whoever asks for the result
            future.set_exception(error)

    threading.Thread(target=run).start()
    return future


@pytest.mark.guarantees("P1", "P7")
def test_a_commit_returns_when_its_job_is_over(bucket: Bucket, url: str, gate: Gate) -> None:
    """Its data stands, and its marker; only what means nothing any more is left."""
    result = commit(url)
    left = area(bucket, result.job_id)
    assert {"decision", "published"} <= left
    assert "job.json" not in left
    stands = {key.removeprefix(f"{bucket.name}/out/") for key in bucket.keys("")}
    assert {"_SUCCESS", *map(str, result.files)} <= stands
    gate.open()
    assert_committed(url, file_count=1)
    assert_no_leftovers(url)
    assert result.warnings == ()


OPERATIONS: dict[str, Callable[[str], object]] = {
    "commit": commit,
    "jobs": fc.jobs,
    "committed_files": fc.committed_files,
    "verify": fc.verify,
    "clean": lambda url: fc.clean(url, older_than=timedelta(0), dry_run=False),
    "no leftovers": assert_no_leftovers,
}


@pytest.mark.parametrize("what", OPERATIONS)
def test_whoever_comes_next_waits_for_it(url: str, gate: Gate, what: str) -> None:
    commit(url)
    until(lambda: gate.waiting == 1)
    next_one = later(lambda: OPERATIONS[what](url))
    with pytest.raises(TimeoutError):
        next_one.result(timeout=0.2)
    gate.open()
    next_one.result(timeout=20)


@pytest.mark.guarantees("P4", "P8")
def test_it_is_not_waited_for_for_ever(
    bucket: Bucket, url: str, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job that meets an area which is half removed commits beside it."""
    monkeypatch.setattr(afterwards, "_WAIT_S", 0.05)
    jobs = [commit(url, f"{number}.txt").job_id for number in range(3)]
    assert all("job.json" not in area(bucket, job_id) for job_id in jobs)
    assert len(fc.committed_files(url)) == len(jobs)
    gate.open()
    bridge.run(afterwards.all_quiet())
    assert_committed(url, file_count=3)
    assert_no_leftovers(url)


@pytest.mark.parametrize("other", ["another destination", "another spelling"])
def test_a_job_begins_when_nothing_goes_on(url: str, gate: Gate, other: str) -> None:
    """Anywhere: it finds the client of the one before, and no area that means nothing."""
    commit(url)
    until(lambda: gate.waiting == 1)
    job = fc.Job(f"{url}/" if other == "another spelling" else f"{url}2", mode="append")
    starting = later(job.start)
    with pytest.raises(TimeoutError):
        starting.result(timeout=0.2)
    gate.open()
    starting.result(timeout=20).abort()


@pytest.mark.guarantees("P8")
@pytest.mark.unforeseen("ValueError")
@pytest.mark.parametrize("error", [REFUSED, ValueError("not foreseen")], ids=["refused", "a bug"])
def test_what_could_not_be_removed_is_logged(
    bucket: Bucket, url: str, gate: Gate, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    gate.error = error
    result = commit(url)
    gate.open()
    bridge.run(afterwards.all_quiet())
    [said] = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert said.startswith(f"job {result.job_id} to {url!r}: the work area was not removed (")
    assert said.endswith("; `fsspec-commit clean` removes it")
    assert result.warnings == ()
    assert area(bucket, result.job_id)
    assert fc.clean(url, older_than=timedelta(0), dry_run=False).deleted == (result.job_id,)
    assert_no_leftovers(url)


def test_a_store_is_closed_after_it(url: str, gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    real = fc.Job._close

    async def close(job: fc.Job, bound: Any) -> None:
        closed.append(gate.waiting)
        await real(job, bound)

    monkeypatch.setattr(fc.Job, "_close", close)
    commit(url)
    until(lambda: gate.waiting == 1)
    assert closed == []
    gate.open()
    bridge.run(afterwards.all_quiet())
    assert closed == [1]


@pytest.mark.usefixtures("goes_on")
class TestWhoWaitsHimself:
    """A commit that does not return before its area has gone."""

    @pytest.fixture(autouse=True)
    def nothing_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def begin(*_: object) -> None:
            raise AssertionError("it goes on")

        monkeypatch.setattr(afterwards, "_begin", begin)

    def test_who_wants_nothing_behind_his_back(self, url: str) -> None:
        commit(url, write_behind=False)
        assert_no_leftovers(url)

    def test_whose_program_is_ending(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bridge, "wait_at_exit", lambda *_: False)
        commit(url)
        assert_no_leftovers(url)

    def test_who_is_a_worker(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """The pool of its parent may end it at any moment."""
        monkeypatch.setattr("multiprocessing.process.parent_process", object)
        commit(url)
        assert_no_leftovers(url)

    def test_who_injects_faults(self, url: str) -> None:
        with wrapping(lambda store: store):
            commit(url)
        assert_no_leftovers(url)

    def test_who_drives_a_job_that_another_process_began(self, url: str) -> None:
        """Its own may end at any moment, such as a worker of Spark."""
        job = fc.Job(url, mode="append").start()
        with job.task(0) as task, task.open("a.txt", "w") as file:
            file.write("a")
        fc.Job.from_spec(hand_over(job)).commit([task.message])
        assert_no_leftovers(url)

    def test_who_resumes(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("fsspec_commit.protocol.commit.publish_files", denied)
            with pytest.raises(fc.PartialCommitError):
                commit(url)
        [job] = fc.jobs(url)
        fc.resume(url, job.job_id)
        assert_no_leftovers(url)

    def test_whose_files_are_on_a_disk(self, tmp_path: Path) -> None:
        """There the area goes by one rename: nothing is left to go."""
        commit(str(tmp_path / "out"))
        commit("memory://afterwards/out")
        assert_no_leftovers(str(tmp_path / "out"))
        assert_no_leftovers("memory://afterwards/out")


async def denied(*_: object, **__: object) -> None:
    raise REFUSED


@pytest.mark.guarantees("P8")
def test_what_was_taken_goes_on_though_the_commit_fails(
    bucket: Bucket, url: str, goes_on: None, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def fails(*args: Any) -> None:
        await retire_job(*args)
        raise REFUSED

    monkeypatch.setattr("fsspec_commit.protocol.commit.retire_job", fails)
    with pytest.raises(fc.JobNotActiveError) as caught:
        commit(url)
    assert caught.value.outcome == "committed"
    assert caught.value.job_id is not None
    bridge.run(afterwards.all_quiet())
    assert area(bucket, caught.value.job_id) == set()


def test_a_store_that_is_not_closed_well_says_nothing_of_it(
    url: str, goes_on: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody awaits it any more, and its text may hold a secret."""

    async def close(*_: object) -> None:
        raise ValueError("a secret")

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(fc.Job, "_close", close)
    commit(url)
    bridge.run(afterwards.all_quiet())
    assert "a store was not closed well: ValueError" in caplog.messages
    assert "a secret" not in caplog.text


def test_what_is_given_up_is_named(url: str, gate: Gate, caplog: pytest.LogCaptureFixture) -> None:
    result = commit(url)
    afterwards.given_up()
    (said,) = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert said.startswith(f"job {result.job_id} to {url!r}: the program ends before its work area")
    assert said.endswith("; `fsspec-commit clean` removes it")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no process can be forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_wait_for_what_its_parent_does(url: str, gate: Gate) -> None:
    commit(url)
    until(lambda: gate.waiting == 1)
    child = multiprocessing.get_context("fork").Process(
        target=lambda: bridge.run(afterwards.quiet(url))
    )
    child.start()
    child.join(20)
    try:
        assert child.exitcode == 0
    finally:
        child.kill()
        child.join()


PROGRAM = """
import json, os, sys, threading, time
import fsspec_commit as fc
url, how = sys.argv[1], json.loads(sys.argv[2])

def commit():
    with fc.Job(url, mode="append", storage_options=how) as job, job.task() as task:
        for number in range(20):
            with task.open(f"{number}.txt", "w") as file:
                file.write("x")

def later():
    time.sleep(0.5)
    commit()

if __name__ == "__main__":
    if sys.argv[3] == "here":
        commit()
    elif sys.argv[3] == "thread":
        commit()
        threading.Thread(target=later).start()
    elif sys.argv[3] == "os.fork":
        child = os.fork()
        if not child:
            commit()
            os._exit(0)
        sys.exit(os.waitpid(child, 0)[1])
    elif sys.argv[3] == "pool":
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(1) as pool:
            pool.apply(commit)
    else:
        import multiprocessing
        child = multiprocessing.get_context(sys.argv[3]).Process(target=commit)
        child.start()
        child.join()
        sys.exit(child.exitcode)
"""


@pytest.mark.parametrize("where", ["here", "fork", "spawn", "pool", "os.fork", "thread"])
@on("ministack", "strict-gcs", "gen2")
def test_a_program_waits_for_it_before_it_ends(remote: Remote, where: str, tmp_path: Path) -> None:
    """Whoever commits where nobody would wait for it waits himself."""
    place = remote.place()
    (tmp_path / "program.py").write_text(PROGRAM)
    how = json.dumps(dict(place.how.get("storage_options") or {}))
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), place.url, how, where],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    jobs = 2 if where == "thread" else 1
    assert len([name for name in place.data() if name.endswith(".txt")]) == jobs * 20
    assert place.pending() == []
    assert_no_leftovers(place.url, **place.how)
