"""The processes of a command: Ctrl-C does not reach them, and none is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.cli.processes import processes

if TYPE_CHECKING:
    from concurrent.futures import Executor
    from types import FrameType

LONG_S = 300


def test_they_have_ended_when_their_work_has() -> None:
    """Where Python ends beside the end of a pool it may write to a pipe that is closed.

    It then says so on the standard error of a command that has succeeded.
    """
    with processes(2) as pool:
        assert pool.submit(os.getpid).result() != os.getpid()
    assert active_children() == []


def test_a_terminal_does_not_reach_them() -> None:
    with processes(1) as pool:
        assert signal.SIGINT in pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, []).result()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def interrupted(pool: Executor) -> None:
    """Leave two at work, and have the wait for them interrupted."""

    def interrupt(_: int, __: FrameType | None) -> None:
        raise KeyboardInterrupt

    assert pool.submit(os.getpid).result() != os.getpid()
    for _ in range(2):
        pool.submit(time.sleep, LONG_S)
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        pool.shutdown()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_who_interrupts_the_wait_for_them_ends_them_and_no_other() -> None:
    own = get_context("spawn").Process(target=time.sleep, args=[LONG_S])
    own.start()
    try:
        with pytest.raises(KeyboardInterrupt), processes(2) as pool:
            interrupted(pool)
        assert active_children() == [own]
    finally:
        own.kill()
        own.join()


def test_the_pool_may_hear_of_their_end_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two threads that wait for a process the system tells only one how it has ended."""
    real = os.waitpid

    def slow(pid: int, options: int) -> tuple[int, int]:
        told = real(pid, options)
        if told[0] and threading.current_thread() is not threading.main_thread():
            time.sleep(0.3)
        return told

    monkeypatch.setattr(os, "waitpid", slow)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt), processes(2) as pool:
            interrupted(pool)
        assert active_children() == []


KILLED = """
import os, signal, time
from fsspec_commit.cli.processes import processes

if __name__ == "__main__":
    with processes(2) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 300)
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_they_do_not_outlive_who_is_killed() -> None:
    """They would hold his standard output open, for which a pipe, ssh or CI waits."""
    ran = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == -signal.SIGKILL
    assert int(ran.stdout) > 0
