"""Ctrl-C and a full disk, in a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.write_dataset.rows import TABLE, check_nothing_happened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SOON_S = 20.0
TORN_DOWN = ("terminate called without an active exception", "FATAL: exception not rethrown")
"""What the C++ and the C library say of a thread of Arrow's own that is still in one of its files
when the interpreter ends: it is torn down by an abort, in bare pyarrow too, and by then all is told
and cleaned up."""
VICTIM = """
import resource, signal, sys, time
import numpy as np, pyarrow as pa
import fsspec_commit as fc

kind, destination = sys.argv[1:]
table = pa.table({"x": np.random.rand(1_000_000), "p": np.random.randint(0, 64, 1_000_000)})
data, options = pa.concat_tables([table] * 2_000), {}
if kind == "partitioned":
    options = {"partition_by": "p"}
if kind == "csv":
    options = {"format": "csv"}
if kind == "row groups":
    options = {"min_rows_per_group": 100_000}
if kind == "waiting source":
    def waiting():
        yield from table.to_batches()
        time.sleep(1_000)
    data, options = waiting(), {"schema": table.schema}
if kind == "full disk":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20))
print("ready", flush=True)
try:
    fc.write_dataset(data, destination, mode="overwrite", **options)
except OSError as error:
    print("OSError", error.errno, error)
"""


@pytest.fixture
def run_victim() -> Iterator[Callable[[str, str], subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []

    def run(kind: str, destination: str) -> subprocess.Popen[str]:
        victim = subprocess.Popen(
            [sys.executable, "-c", VICTIM, kind, destination],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        begun.append(victim)
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        return victim

    yield run
    for victim in begun:
        victim.kill()
        victim.communicate()


@pytest.mark.parametrize("kind", ["plain", "partitioned", "csv", "row groups", "waiting source"])
def test_ctrl_c_is_heard_soon_and_leaves_nothing(
    kind: str, tmp_path: Path, run_victim: Callable[[str, str], subprocess.Popen[str]]
) -> None:
    destination = str(tmp_path / "out")
    fc.write_dataset(TABLE, destination)
    victim = run_victim(kind, destination)
    pending = tmp_path / "out" / "_commit"
    until = time.monotonic() + SOON_S
    # Arrow writes a batch once it has the next one, which a waiting source never gives.
    under_way = "job.json" if kind == "waiting source" else "*.pending"
    while not list(pending.rglob(under_way)):
        assert time.monotonic() < until, "nothing was written"
        time.sleep(0.01)
    time.sleep(0.5)
    victim.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, said = victim.communicate(timeout=SOON_S)
    assert time.monotonic() - begin < SOON_S
    for last_words in TORN_DOWN:
        said = said.rstrip().removesuffix(last_words).rstrip()
    assert said.endswith("KeyboardInterrupt")
    assert victim.returncode in {-signal.SIGINT, -signal.SIGABRT}
    check_nothing_happened(destination)


def test_a_full_disk_is_an_error_and_no_standstill(
    tmp_path: Path, run_victim: Callable[[str, str], subprocess.Popen[str]]
) -> None:
    destination = str(tmp_path / "out")
    fc.write_dataset(TABLE, destination)
    said, trouble = run_victim("full disk", destination).communicate(timeout=SOON_S * 3)
    assert said.startswith("OSError 27 "), trouble
    assert ".parquet" in said
    check_nothing_happened(destination)
