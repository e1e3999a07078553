"""Whoever finishes a job flushes what its driver would have flushed."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

import pytest

import fsspec_commit as fc
from fsspec_commit.cli import main
from fsspec_commit.testing import Crash, Fault, inject
from fsspec_commit_stores.local import renaming, system_calls

Durability: TypeAlias = Literal["none", "marker", "full"]
# What is flushed after the first file was published; the file system shows as ``*``.
FLUSHED = {
    "none": [],
    "marker": ["*", "out"],
    "full": ["out", "*", "out"],
}


@pytest.fixture
def flushed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was flushed for the data's sake, in order; records are flushed whatever is asked."""
    seen: list[str] = []
    fsync, syncfs = os.fsync, system_calls.flush_file_system

    def flush(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        seen.extend([name] if name == "out" else [])
        fsync(descriptor)

    def flush_all(descriptor: int) -> None:
        seen.append("*")
        syncfs(descriptor)

    monkeypatch.setattr(os, "fsync", flush)
    monkeypatch.setattr(renaming, "flush_file_system", flush_all)
    return seen


@pytest.mark.parametrize("durability", FLUSHED)
@pytest.mark.parametrize("by", ["resume", "command", "driver"])
def test_a_resumer_flushes_what_the_driver_would_have(
    tmp_path: Path, flushed: list[str], durability: Durability, by: str
) -> None:
    to = tmp_path / "out"
    job = fc.Job(to, mode="append", durability=durability).start()
    with job.task() as task, task.open("a.csv", "w") as file:
        file.write("1\n")
    assert task.message is not None
    if by != "driver":
        with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
            fc.Job.from_spec(job.spec).commit([task.message])
    flushed.clear()
    if by == "resume":
        fc.resume(to, job.job_id)
    elif by == "command":
        with pytest.raises(SystemExit, match="0"):
            main(["resume", str(to), job.job_id])
    else:
        fc.Job.from_spec(fc.JobSpec.from_json(job.spec.to_json())).commit([task.message])
    assert (to / "_SUCCESS").exists()
    assert flushed == FLUSHED[durability]
    job._begun_here = False
