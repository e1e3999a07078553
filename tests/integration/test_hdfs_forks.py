"""A child that is forked from a process which has read from HDFS begins, and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FORKS = """
import os, subprocess, sys
import fsspec
from fsspec_commit.filesystems import filesystem_of
from fsspec_commit_stores.hdfs.clients import client_of

how = sys.argv[1]
if how == "the adapter's":
    client_of("hdfs://127.0.0.1:9", {}, None, {})  # Its threads run, though nobody listens.
elif how == "what libraries read":
    filesystem_of("hdfs://127.0.0.1:9/a")
else:
    fsspec.filesystem("hdfs", host="127.0.0.1", port=9)
subprocess.run(["true"], check=True, preexec_fn=lambda: None)
child = os.fork()
if child:
    print(os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize("how", ["the adapter's", "what libraries read", "the user's own"])
def test_a_fork_does_not_wait_for_threads_that_it_does_not_have(how: str) -> None:
    """hdfs-native waits for them where a client is let go of: fsspec does that in the fork."""
    pytest.importorskip("hdfs_native")
    ran = subprocess.run(
        [sys.executable, "-W", "ignore:This process:DeprecationWarning", "-c", FORKS, how],
        capture_output=True,
        check=False,
        cwd=Path(__file__).parents[2],
        text=True,
        timeout=60,
    )
    assert (ran.stdout, ran.stderr) == ("0\n", "")
