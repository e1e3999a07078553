"""What other tests try in processes of their own, once in this one: where a bug can be planted.

Every way to leave a fork is in ``tests/integration/test_fork.py``, an interrupt at any point in
``tests/integration/test_interrupt_anywhere.py``, and a deep tree, with few handles, in
``tests/unit/stores/local/test_deletions.py``, which would leave that tree to pytest if it failed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.sync import bridge

if TYPE_CHECKING:
    from pathlib import Path


class LeftError(Exception):
    """Ends the blocks that a child has inherited."""


@pytest.mark.guarantees("P1", "P2")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_that_leaves_a_block_leaves_the_file_to_its_parent(tmp_path: Path) -> None:
    child = 0
    try:
        with (
            fc.Job(tmp_path / "out", mode="append", names="exact") as job,
            job.task() as task,
            task.open("a.txt", "wb") as file,
        ):
            file.write(b"before\n")
            child = os.fork()
            if child == 0:
                raise LeftError
            assert os.waitpid(child, 0)[1] == 0
            file.write(b"after\n")
    finally:
        if child == 0:
            os._exit(0)
    assert (tmp_path / "out/a.txt").read_bytes() == b"before\nafter\n"


def test_a_call_that_is_interrupted_has_ended_when_its_caller_goes_on() -> None:
    said: list[str] = []

    async def call() -> None:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.2)
            said.append("ended")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with suppress(KeyboardInterrupt):
            bridge.run(call())
        assert said == ["ended"]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.guarantees("P5")
def test_a_deep_tree_in_the_area_of_a_job_goes_with_it(tmp_path: Path) -> None:
    """Somebody's directories, in one another."""
    job = fc.Job(tmp_path / "out", mode="append").start()
    area = tmp_path / "out/_commit" / job.job_id
    try:
        _make_deep(area / "x")
        job.abort()
        assert not area.exists()
    finally:
        # By a program that does not call itself for each level, as what pytest cleans with does.
        subprocess.run(["rm", "-rf", str(tmp_path / "out")], check=True)


def _make_deep(top: Path) -> None:
    top.mkdir()
    handle = os.open(top, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("x", dir_fd=handle)
        below = os.open("x", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = below
    os.close(handle)
