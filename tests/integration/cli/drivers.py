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
with job.task() as task, task.open("part.txt", "w") as file:
    file.write("hello")
if sys.argv[2] == "decided":
    job.commit()
os._exit(0)
"""


def left_behind(destination: Path, state: str) -> str:
    """The id of a job whose driver died: ``"open"``, or ``"decided"`` and not finished."""
    ran = run(LEAVE, destination, state)
    assert ran.status == 0, ran.err
    return ran.out.strip()
