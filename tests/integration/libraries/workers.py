"""What workers of other processes run: importable, so that every start method finds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec_commit as fc

if TYPE_CHECKING:
    import pandas as pd


def write(spec: fc.JobSpec, i: int, frame: pd.DataFrame) -> fc.TaskCommit:
    """The worker of `docs`: spec in, message out."""
    with fc.Task.from_spec(spec, i) as task:
        frame.to_parquet("part.parquet", filesystem=task.filesystem)
    assert task.message is not None
    return task.message


def write_or_die(spec: fc.JobSpec, i: int, frame: pd.DataFrame) -> fc.TaskCommit:
    """The same, and the first attempt of task 1 dies with its process."""
    mark = Path(spec.destination).with_name("died")
    if i == 1 and not mark.exists():
        mark.touch()
        task = fc.Task.from_spec(spec, i)
        frame.to_parquet("part.parquet", filesystem=task.filesystem)
        os._exit(9)
    return write(spec, i, frame)


def main(spec_file: str) -> None:
    """One task of a Slurm array: its number comes from the environment, its message stays."""
    import pandas as pd

    spec = fc.JobSpec.from_json(Path(spec_file).read_text())
    number = int(os.environ["SLURM_ARRAY_TASK_ID"])
    with fc.Task.from_spec(spec, number) as task:
        pd.DataFrame({"id": [number]}).to_parquet("part.parquet", filesystem=task.filesystem)
    assert task.message is not None
    print(task.message.chosen)


if __name__ == "__main__":
    main(sys.argv[1])
