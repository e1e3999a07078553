"""What a parallel run says of a worker that died."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.run_all import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TESTS = """
import ctypes, os, signal, threading

def test_ends():
    {ends}

def test_goes_on():
    pass
"""


CRASH = "one = threading.Thread(target=ctypes.string_at, args=(0,)); one.start(); one.join()"
STACKS = r"Fatal Python error: Segmentation fault\n(.*\n)*.* in test_ends\n(.*\n)*"


@pytest.mark.parametrize(
    ("ends", "said"),
    [
        (CRASH, rf"gw0 was ended by SIGSEGV\n{STACKS}=+ short test"),
        ("os.kill(os.getpid(), signal.SIGKILL)", r"gw0 was ended by SIGKILL\n=+ short test"),
        ("os.kill(os.getpid(), 40)", r"gw0 was ended by signal 40\n=+ short test"),
        ("os._exit(3)", r"gw0 exited with 3\n=+ short test"),
    ],
    ids=["crashed", "killed", "by a signal without a name", "exited"],
)
def test_a_run_says_how_a_worker_ended_and_where_it_stood(
    tmp_path: Path, ends: str, said: str
) -> None:
    (tmp_path / "test_it.py").write_text(TESTS.format(ends=ends))
    command = [sys.executable, "-m", "pytest", "-p", "tests.lost_workers", "-p", "no:randomly"]
    ran = subprocess.run(
        [*command, "-n", "1", "-q", f"--basetemp={tmp_path / 'temporary'}", "test_it.py"],
        capture_output=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        text=True,
    )
    assert re.search(said, ran.stdout), ran.stdout + ran.stderr
    assert "1 failed, 1 passed" in ran.stdout
    assert not list(tmp_path.glob("stacks-*"))
