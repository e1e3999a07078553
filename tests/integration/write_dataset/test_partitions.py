"""Partitions: how directories are called, which are refused, which are replaced."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from fsspec.core import url_to_fs

import fsspec_commit as fc
from fsspec_commit.testing import assert_no_leftovers
from tests.integration.write_dataset.rows import TABLE, first_file, names_at, rows_at, same_rows


def test_hive_directories(destination: str) -> None:
    result = fc.write_dataset(TABLE, destination, partition_by="day")
    days = ["day=2026-11-20", "day=2026-11-21", "day=2026-11-22"]
    assert list(result.partitions) == days
    assert [name.split("/")[0] for name in names_at(destination)] == days
    assert same_rows(rows_at(destination))
    assert (
        "day" not in pq.read_schema(url_to_fs(destination)[0].open(first_file(destination))).names
    )


def test_values_that_no_directory_can_be_called(destination: str) -> None:
    values = ["a b", "a/b", "..", "%", "é", "a=b", "", None, "x" * 60]
    table = pa.table({"id": pa.array(range(len(values)), pa.int64()), "v": pa.array(values)})
    result = fc.write_dataset(table, destination, partition_by=["v"])
    assert result.rows == len(values)
    found = rows_at(destination, schema=table.schema).column("v").to_pylist()
    assert [value or None for value in found] == [value or None for value in values]


def test_a_partitioning_of_pyarrow(destination: str) -> None:
    partitioning = ds.partitioning(pa.schema([TABLE.schema.field("day")]))
    fc.write_dataset(TABLE, destination, partitioning=partitioning)
    assert {name.split("/")[0] for name in names_at(destination)} == {
        "2026-11-20",
        "2026-11-21",
        "2026-11-22",
    }
    assert same_rows(rows_at(destination, partitioning=partitioning))


@pytest.mark.parametrize("value", ["_commit", "day"])
def test_a_directory_that_belongs_to_us_or_hides_files(value: str, destination: str) -> None:
    table = pa.table({"id": pa.array([1], pa.int64()), "v": [value]})
    partitioning = ds.partitioning(pa.schema([table.schema.field("v")]))
    if value == "day":
        assert fc.write_dataset(table, destination, partitioning=partitioning).file_count == 1
        return
    with pytest.raises(fc.RequestError) as caught:
        fc.write_dataset(table, destination, partitioning=partitioning)
    assert caught.value.kind == "reserved_name"
    assert names_at(destination) == []


def test_a_partition_whose_name_is_too_long(destination: str) -> None:
    table = pa.table({"id": [1], "v": ["é" * 100]})
    with pytest.raises(fc.RequestError) as caught:
        fc.write_dataset(table, destination, partition_by="v")
    assert caught.value.kind == "name_too_long"
    assert_no_leftovers(destination)


def test_partitions_are_replaced_and_declared_ones_cleared(destination: str) -> None:
    fc.write_dataset(TABLE, destination, partition_by="day")
    some = TABLE.filter(pa.compute.equal(TABLE["day"], "2026-11-20"))
    result = fc.write_dataset(
        some,
        destination,
        partition_by="day",
        mode="overwrite_partitions",
        partitions=[fc.hive_path(day="2026-11-21")],
    )
    assert result.replaced_count == 2
    kept = TABLE.filter(pa.compute.not_equal(TABLE["day"], "2026-11-21"))
    assert same_rows(rows_at(destination), kept)
