"""Files on their way when Ctrl-C comes, or the program ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.testing.assertions import assert_no_leftovers
from tests.integration.write_behind.gate import content, meanwhile, still_waits, write
from tests.integration.write_behind.held import (
    FILES,
    WantedNoMoreError,
    check_nothing_left,
    held_at,
    left_by_an_exception,
)
from tests.scenes.waiting import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.flat.bucket import Bucket
    from tests.integration.write_behind.gate import Gate

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.guarantees("P5")


@contextmanager
def ctrl_c_after(s: float, *, times: int = 1) -> Iterator[None]:
    timers = [
        threading.Timer(s * (nth + 1), os.kill, [os.getpid(), signal.SIGINT])
        for nth in range(times)
    ]
    for timer in timers:
        timer.start()
    yield
    for timer in timers:
        timer.join()


def test_ctrl_c_while_the_commit_waits(gate: Gate, url: str, bucket: Bucket) -> None:
    """The attempt is dropped as soon as what was sent is answered."""

    def interrupted(task: fc.Task) -> None:
        held_at(gate, task, "put_part", "finish")
        threading.Timer(0.3, gate.open).start()
        with ctrl_c_after(0.1):
            task.commit()

    options: fc.JobOptions = {"mode": "append", "names": "exact"}
    with pytest.raises(KeyboardInterrupt), fc.Job(url, **options) as job, job.task() as task:
        interrupted(task)
    check_nothing_left(bucket, url)


def test_ctrl_c_while_a_file_waits_for_room(gate: Gate, url: str, bucket: Bucket) -> None:
    """That file is not whole; the others are as good as before."""
    with fc.Job(url, mode="append", names="exact") as job, job.task() as task:
        gate.shut()
        for number in range(64):
            write(task, {f"{number}": b""})
        file = task.open("last.txt")
        file.write(b"last")
        with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.1):
            file.close()
        gate.open()
        with pytest.raises(fc.RequestError, match=r"could not finish 'last\.txt'"):
            task.commit()
        write(task, {"last.txt": b"again"})
    assert content(bucket) == {**{f"{number}": b"" for number in range(64)}, "last.txt": b"again"}
    assert_no_leftovers(url)


def test_ctrl_c_while_a_failed_task_drops_its_files(gate: Gate, url: str, bucket: Bucket) -> None:
    """The job that ends with it waits for the requests that the task has not."""
    threads = list[threading.Timer]()

    def interrupted(task: fc.Task) -> None:
        held_at(gate, task, "start", "put_part", "finish")
        threads.append(threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]))
        threads.append(threading.Timer(0.3, gate.open))
        for thread in threads:
            thread.start()
        raise WantedNoMoreError

    options: fc.JobOptions = {"mode": "append", "names": "exact"}
    with pytest.raises(KeyboardInterrupt), fc.Job(url, **options) as job, job.task() as task:
        interrupted(task)
    assert gate.waiting == 0
    check_nothing_left(bucket, url)
    for thread in threads:
        thread.join()


def test_a_job_waits_for_a_task_that_was_left_out_after_ctrl_c(
    gate: Gate, url: str, bucket: Bucket
) -> None:
    job = fc.Job(url, mode="append", names="exact").start()
    task = job.task()
    held_at(gate, task, "start", "put_part", "finish")
    with pytest.raises(KeyboardInterrupt), ctrl_c_after(0.1):
        left_by_an_exception(task)
    task.abort()
    assert gate.waiting == len(FILES)
    with meanwhile(job.abort) as aborting:
        assert still_waits(aborting)
        gate.open()
    aborting.result()
    check_nothing_left(bucket, url)


def test_a_second_ctrl_c_waits_no_longer(gate: Gate, url: str, bucket: Bucket) -> None:
    """What is on its way then arrives in a job that is given up, and `clean` removes it."""
    job = fc.Job(url, mode="append", names="exact").start()
    task = job.task()
    held_at(gate, task, "start", "put_part", "finish")
    with pytest.raises(KeyboardInterrupt), task, ctrl_c_after(0.1, times=2):
        task.commit()
    gate.open()
    until(lambda: gate.waiting == 0)
    job.abort()
    check_nothing_left(bucket, url)


PROGRAM = """
import sys
import fsspec_commit as fc
from tests.flat import store
from tests.flat.bucket import ALL_HABITS, make_bucket
from tests.integration.write_behind.gate import Gate, write
gate = Gate()
with gate.in_place():
    url = f"flat://{make_bucket(ALL_HABITS[sys.argv[1]]).name}/out"
    spec = fc.Job(url, mode="append", collect="store", tasks=1).start().spec
    task = fc.Task.from_spec(spec, 0)
    gate.shut()
    write(task, {str(number): b"x" for number in range(int(sys.argv[2]))})
    gate.wait_for(int(sys.argv[2]))
    if sys.argv[3] == "error":
        raise ValueError("the program's own")
    if sys.argv[3] == "forked":
        import os
        child = os.fork()
        if child == 0:
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        gate.open()
        assert task.commit().file_count == int(sys.argv[2])
    if sys.argv[3] == "dropped":
        import gc
        del task
        gc.collect()
    gate.open = lambda: None
print("end")
"""


@pytest.mark.parametrize("how", ["as it is", "dropped", "error", "forked"])
@pytest.mark.parametrize("habits", ["unversioned", "gcs"])
def test_a_program_ends_with_files_on_their_way(habits: str, how: str) -> None:
    """Nobody has committed them, so nothing was promised; and nothing is complained of.

    A forked child leaves them to its parent.
    """
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, habits, "10", how],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'stores'}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if how == "error":
        *_, last = ended.stderr.splitlines()
        assert last == "ValueError: the program's own"
        assert ended.stderr.count("Error") == 1
    else:
        assert (ended.stdout, ended.stderr, ended.returncode) == ("end\n", "", 0)
