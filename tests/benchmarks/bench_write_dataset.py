"""What a committed dataset costs over a bare one: 5 million rows in 64 Hive partitions.

Three ways to write the same rows, each beside its bare form, from nothing to committed: our
`write_dataset` (goal: at most 1.05 times pyarrow's), pyarrow's own through `task.filesystem`, and
pandas' `to_parquet` through it. On tmpfs and on a disk.

    python -m tests.benchmarks.bench_write_dataset [--quick] [--rounds N]
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

import fsspec_commit as fc
from tests.benchmarks.interleaved import (
    Report,
    arguments,
    disk,
    interleave,
    kind_of,
    scratch,
    seconds_of,
    tmpfs,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pandas as pd

GOAL = 1.05
PARTITIONS = 64
BY = "bucket"


def rows(count: int) -> pa.Table:
    """Rows of four types, their partitions in no order: every batch has all of them."""
    random = np.random.default_rng(0)
    labels = pa.array([f"label {i:04d}" for i in range(1_000)])
    return pa.table(
        {
            "id": pa.array(np.arange(count)),
            "value": pa.array(random.random(count)),
            "label": labels.take(pa.array(random.integers(0, 1_000, count))),
            BY: pa.array(random.integers(0, PARTITIONS, count)),
        }
    )


def with_pyarrow(table: pa.Table, destination: str, **where: Any) -> None:
    """Write with pyarrow's own `write_dataset`, bare unless a filesystem is given."""
    ds.write_dataset(
        table,
        destination,
        format="parquet",
        partitioning=[BY],
        partitioning_flavor="hive",
        **where,
    )


def with_pyarrow_in_task(table: pa.Table, destination: Path) -> None:
    """The same inside a job."""
    with fc.Job(destination) as job, job.task() as task:
        with_pyarrow(table, ".", filesystem=task.filesystem)


def with_pandas_in_task(frame: pd.DataFrame, destination: Path) -> None:
    """Pandas, inside a job."""
    with fc.Job(destination) as job, job.task() as task:
        frame.to_parquet(".", partition_cols=[BY], index=False, filesystem=task.filesystem)


def pairs(table: pa.Table) -> dict[str, tuple[Callable[[Path], object], Callable[[Path], object]]]:
    """Ours and bare, by the name of the way to write."""
    frame: pd.DataFrame = table.to_pandas()
    return {
        "write_dataset": (
            lambda path: fc.write_dataset(table, path, partition_by=BY),
            lambda path: with_pyarrow(table, str(path)),
        ),
        "pyarrow, task.filesystem": (
            lambda path: with_pyarrow_in_task(table, path),
            lambda path: with_pyarrow(table, str(path)),
        ),
        "pandas, task.filesystem": (
            lambda path: with_pandas_in_task(frame, path),
            lambda path: frame.to_parquet(path, partition_cols=[BY], index=False),
        ),
    }


def timed(write: Callable[[Path], object], destination: Path, count: int) -> Callable[[], float]:
    """One write into a new directory; all rows must be there, in all partitions."""

    def side() -> float:
        os.sync()  # what an earlier write left to the disk is not this one's cost
        seconds = seconds_of(lambda: write(destination))
        written = ds.dataset(destination, format="parquet", partitioning="hive")
        assert written.count_rows() == count
        assert len(list(destination.glob(f"{BY}=*"))) == PARTITIONS
        shutil.rmtree(destination)
        return seconds

    return side


def main() -> None:
    options = arguments(__doc__).parse_args()
    report = Report("write_dataset", options.quick)
    count = 20_000 if options.quick else 5_000_000
    rounds = options.rounds or (1 if options.quick else 7)
    table = rows(count)
    report.note(f"{count:,} rows, {PARTITIONS} partitions")
    for place in (tmpfs(), disk()):
        with scratch(place) as folder:
            for name, (ours, bare) in pairs(table).items():
                samples = interleave(
                    {
                        "ours": timed(ours, folder / "ours", count),
                        "bare": timed(bare, folder / "bare", count),
                    },
                    rounds=rounds,
                    warmups=0 if options.quick else 1,
                )
                full = f"{name}, {kind_of(place)}"
                for side, sample in samples.items():
                    report.add(f"{full}: {side}", sample, unit="s")
                goal = GOAL if name == "write_dataset" else None
                report.compare(
                    f"{full}: ours / bare", samples["ours"], samples["bare"], at_most=goal
                )
    report.finish()


if __name__ == "__main__":
    main()
