"""polars, as the documentation shows it, read back with plain polars."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import fsspec_commit as fc
from tests.integration.libraries.rows import DAYS, POLARS
from tests.integration.libraries.written import in_task, only_file

if TYPE_CHECKING:
    from pathlib import Path


def test_polars_write_parquet(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("pl.parquet") as file:
            POLARS.write_parquet(file)

    in_task(out, write)
    assert pl.read_parquet(only_file(out)).equals(POLARS)


def test_polars_sink_parquet(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("pl.parquet") as file:
            POLARS.lazy().sink_parquet(file)

    in_task(out, write)
    assert pl.read_parquet(only_file(out)).equals(POLARS)


def test_polars_write_csv(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with task.open("pl.csv") as file:
            POLARS.write_csv(file)

    in_task(out, write)
    assert pl.read_csv(only_file(out)).equals(POLARS)


@pytest.mark.filterwarnings("ignore:.*unstable")
def test_polars_sink_partitioned(out: Path) -> None:
    def write(task: fc.Task) -> None:
        # polars flushes the files and lets go of them, but never closes one.
        with contextlib.ExitStack() as files:

            def provide(a: Any) -> Any:
                directory = fc.hive_path(**a.partition_keys.row(0, named=True))
                name = f"{directory}/{a.index_in_partition}.parquet"
                return files.enter_context(task.open(name))

            POLARS.lazy().sink_parquet(
                pl.PartitionBy("", key="day", include_key=False, file_path_provider=provide)
            )

    result = in_task(out, write)
    assert list(result.partitions) == DAYS
    found = pl.scan_parquet(out / "**/*.parquet", hive_partitioning=True).sort("id").collect()
    assert found.with_columns(pl.col("day").cast(pl.String)).select(POLARS.columns).equals(POLARS)


def test_a_marker_with_names_takes_a_pattern(out: Path) -> None:
    """As the options of a job say: polars takes no directory in which something else stands."""
    fc.write_dataset(POLARS, out, mode="overwrite", success="json")
    with pytest.raises(pl.exceptions.InvalidOperationError, match="different file extensions"):
        pl.read_parquet(out)
    assert pl.read_parquet(out / "**/*.parquet").equals(POLARS)
    assert pl.read_parquet(fc.committed_files(out)).equals(POLARS)
    fc.write_dataset(POLARS, out, mode="overwrite")
    assert pl.read_parquet(out).equals(POLARS)
