"""DuckDB, as the documentation shows it: ``COPY`` through a task's filesystem."""

from __future__ import annotations

from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pytest

from tests.integration.libraries.rows import DAYS, FRAME, TABLE, check_rows
from tests.integration.libraries.written import files_in, in_task, only_file

if TYPE_CHECKING:
    from pathlib import Path

    import fsspec_commit as fc


def with_duckdb(task: fc.Task, *statements: str) -> None:
    con = duckdb.connect()
    con.register("t", TABLE)
    con.register_filesystem(task.filesystem)
    for statement in statements:
        con.execute(statement)
    con.unregister_filesystem(task.filesystem.protocol)
    con.close()


def test_duckdb_copy(out: Path) -> None:
    in_task(
        out, lambda task: with_duckdb(task, f"COPY t TO '{task.url('t.parquet')}' (FORMAT parquet)")
    )
    check_rows(out)


def test_duckdb_copy_csv(out: Path) -> None:
    in_task(out, lambda task: with_duckdb(task, f"COPY t TO '{task.url('t.csv')}' (FORMAT csv)"))
    pd.testing.assert_frame_equal(pd.read_csv(only_file(out)), FRAME, check_dtype=False)


def test_duckdb_copy_partitioned(out: Path) -> None:
    result = in_task(
        out,
        lambda task: with_duckdb(
            task,
            f"COPY t TO '{task.url()}' "
            "(FORMAT parquet, PARTITION_BY (day), FILENAME_PATTERN 'part-{i}')",
        ),
    )
    assert list(result.partitions) == DAYS
    check_rows(out)


@pytest.mark.parametrize("how", ["PARTITION_BY (day)", "PER_THREAD_OUTPUT"])
def test_duckdb_copy_into_a_subdirectory(how: str, out: Path) -> None:
    """It makes the directory, and looks for it."""
    in_task(
        out,
        lambda task: with_duckdb(
            task, f"COPY t TO '{task.url('deep/sub')}' (FORMAT parquet, {how})"
        ),
    )
    assert all(name.startswith(("deep/sub/", "_")) for name in files_in(out))


def test_duckdb_copy_twice_to_one_name_says_what_to_do(out: Path) -> None:
    def write(task: fc.Task) -> None:
        copy = f"COPY t TO '{task.url('t.parquet')}' (FORMAT parquet)"
        with_duckdb(task, copy, copy)

    with pytest.raises(Exception, match=r"write-once.*USE_TMP_FILE false"):
        in_task(out, write)
    assert files_in(out) == []


def test_duckdb_copy_twice_without_a_temporary_file_replaces(out: Path) -> None:
    def write(task: fc.Task) -> None:
        copy = f"TO '{task.url('t.parquet')}' (FORMAT parquet, USE_TMP_FILE false)"
        with_duckdb(task, f"COPY (FROM t LIMIT 3) {copy}", f"COPY t {copy}")

    in_task(out, write)
    check_rows(out)
