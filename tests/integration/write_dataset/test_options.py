"""Options of ``write_dataset``: formats, names, order, and whether no rows are an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from fsspec.core import url_to_fs

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers
from tests.integration.write_dataset.rows import TABLE, first_file, names_at, rows_at, same_rows

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("format_", "extension"),
    [
        ("parquet", "parquet"),
        ("csv", "csv"),
        ("arrow", "arrow"),
        ("ipc", "arrow"),
        ("feather", "feather"),
    ],
)
def test_formats_by_name(format_: str, extension: str, destination: str) -> None:
    fc.write_dataset(TABLE, destination, format=format_)
    (name,) = names_at(destination)
    assert name.endswith(f".{extension}")
    assert same_rows(rows_at(destination, format=format_, schema=TABLE.schema))


def test_the_format_is_the_datasets_own_unless_given(destination: str, tmp_path: Path) -> None:
    ds.write_dataset(TABLE, tmp_path / "in", format="csv")
    source = ds.dataset(tmp_path / "in", format="csv", schema=TABLE.schema)
    fc.write_dataset(source, destination)
    assert names_at(destination)[0].endswith(".csv")
    fc.write_dataset(source, destination, format=ds.ParquetFileFormat(), mode="overwrite")
    assert names_at(destination)[0].endswith(".parquet")


def test_options_reach_pyarrow(destination: str) -> None:
    result = fc.write_dataset(
        TABLE,
        destination,
        basename_template="rows-{i}.parquet",
        file_options=ds.ParquetFileFormat().make_write_options(compression="zstd"),
        use_threads=False,
        preserve_order=True,
        max_open_files=2,
        max_rows_per_file=400,
        min_rows_per_group=100,
        max_rows_per_group=200,
    )
    assert [name.split("-")[:2] for name in names_at(destination)] == [
        ["rows", str(i)] for i in range(3)
    ]
    assert result.file_count == 3
    metadata = pq.read_metadata(url_to_fs(destination)[0].open(first_file(destination)))
    assert (metadata.num_rows, metadata.num_row_groups) == (400, 2)
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_order_is_kept_where_asked(destination: str) -> None:
    table = pa.table({"id": pa.array(range(600_000), pa.int64())})
    fc.write_dataset(table, destination, preserve_order=True)
    assert pq.read_table(url_to_fs(destination)[0].open(first_file(destination))).equals(table)


def test_the_visitor_is_told_final_names(destination: str) -> None:
    seen: list[Any] = []
    result = fc.write_dataset(TABLE, destination, partition_by="day", file_visitor=seen.append)
    assert sorted(written.path for written in seen) == sorted(result.files)
    assert sum(written.metadata.num_rows for written in seen) == 1_000
    assert sum(written.size for written in seen) == result.bytes


def test_names_can_be_exact(destination: str) -> None:
    fc.write_dataset(TABLE, destination, names="exact", partition_by="day")
    assert names_at(destination)[0] == "day=2026-11-20/part-0.parquet"
    result = fc.write_dataset(
        TABLE, destination, names="exact", partition_by="day", mode="overwrite"
    )
    assert len(result.in_place) == 3


@pytest.mark.parametrize(
    "empty",
    [TABLE.slice(0, 0), TABLE.schema.empty_table().to_reader(), ds.dataset(TABLE.slice(0, 0))],
    ids=["table", "reader", "dataset"],
)
def test_no_rows_no_files_and_overwrite_then_empties(empty: Any, destination: str) -> None:
    fc.write_dataset(TABLE, destination)
    result = fc.write_dataset(empty, destination, mode="overwrite")
    assert (result.file_count, result.rows, names_at(destination)) == (0, 0, [])
    assert_committed(destination, file_count=0)


def test_no_rows_can_be_a_mistake(destination: str) -> None:
    with pytest.raises(fc.RequestError) as caught:
        fc.write_dataset(TABLE.slice(0, 0), destination, allow_empty=False)
    assert caught.value.kind == "empty_job"
    assert_no_leftovers(destination)
