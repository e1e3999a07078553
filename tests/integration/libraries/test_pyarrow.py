"""pyarrow's own writers, as the documentation shows them, through a task's filesystem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from tests.integration.libraries.rows import DAYS, FRAME, TABLE, check_rows
from tests.integration.libraries.written import files_in, in_task, only_file

if TYPE_CHECKING:
    from pathlib import Path

    import fsspec_commit as fc


@pytest.mark.parametrize("base", [".", ""])
def test_pyarrow_write_dataset(base: str, out: Path) -> None:
    result = in_task(
        out,
        lambda task: ds.write_dataset(
            TABLE,
            base or task.url(),
            format="parquet",
            partitioning=["day"],
            partitioning_flavor="hive",
            filesystem=task.filesystem,
        ),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


def test_pyarrow_write_to_dataset(out: Path) -> None:
    result = in_task(
        out,
        lambda task: pq.write_to_dataset(
            TABLE, ".", partition_cols=["day"], filesystem=task.filesystem
        ),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


def test_pyarrow_parquet_writer(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with pq.ParquetWriter("part.parquet", TABLE.schema, filesystem=task.filesystem) as writer:
            writer.write_table(TABLE.slice(0, 40))
            writer.write_table(TABLE.slice(40))

    in_task(out, write)
    check_rows(out)


def test_pyarrow_write_table(out: Path) -> None:
    in_task(out, lambda task: pq.write_table(TABLE, "a/part.parquet", filesystem=task.filesystem))
    check_rows(out)


def test_pyarrow_csv_writer(out: Path) -> None:
    def write(task: fc.Task) -> None:
        with (
            task.open("part.csv") as file,
            pa.csv.CSVWriter(file, TABLE.schema) as writer,
        ):
            writer.write_table(TABLE)

    in_task(out, write)
    pd.testing.assert_frame_equal(pd.read_csv(only_file(out)), FRAME, check_dtype=False)


def test_a_file_that_parquet_writer_closes_after_an_error_is_dropped_with_the_task(
    out: Path,
) -> None:
    def write(task: fc.Task) -> None:
        with pq.ParquetWriter("part.parquet", TABLE.schema, filesystem=task.filesystem) as writer:
            writer.write_table(TABLE)
            raise LookupError("boom")

    with pytest.raises(LookupError, match="boom"):
        in_task(out, write)
    assert files_in(out) == []
