"""Drivers that die, for the command to settle what they leave."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.integration.cli.command import run

if TYPE_CHECKING:
    from pathlib import Path

LEAVE = """
import os, sys
import fsspec_commit as fc
from fsspec.callbacks import Callback

class Dies(Callback):
    def relative_update(self, inc=1):
        os._exit(0)

job = fc.Job(sys.argv[1], mode="append", callback=Dies()).start()
print(job.job_id, flush=True)
for number in range(int(sys.argv[3])):
    with job.task() as task:
        for name in ["part.txt"] if number == 0 else map("{}.txt".format, range(1_000)):
            with task.open(name, "w") as file:
                file.write("hello")
if sys.argv[2] == "decided":
    job.commit()
os._exit(0)
"""


def left_behind(destination: Path, state: str, tasks: int = 1) -> str:
    """The id of a job whose driver died: ``"open"``, or ``"decided"`` and not finished.

    Its first task has written one file, each other one a thousand.
    """
    ran = run(LEAVE, destination, state, tasks)
    assert ran.status == 0, ran.err
    return ran.out.strip()
