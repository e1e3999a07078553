"""What ``write_dataset`` reads: every kind of source, on the caller's thread, as it comes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers
from tests.integration.write_dataset.rows import TABLE, batches, names_at, rows_at, same_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def dataset_in(directory: Path) -> ds.Dataset:
    ds.write_dataset(
        TABLE, directory, format="parquet", max_rows_per_file=400, max_rows_per_group=400
    )
    return ds.dataset(directory)


SOURCES: dict[str, Callable[[Path], Any]] = {
    "table": lambda _: TABLE,
    "batch": lambda _: TABLE.combine_chunks().to_batches()[0],
    "reader": lambda _: TABLE.to_reader(max_chunksize=300),
    "dataset": dataset_in,
    "scanner": lambda path: dataset_in(path).scanner(filter=ds.field("id") >= 0),
    "in-memory dataset": lambda _: ds.dataset(TABLE),
    "polars": lambda _: pl.DataFrame(TABLE),
    "pandas": lambda _: TABLE.to_pandas(),
    "duckdb": lambda _: duckdb.connect().from_arrow(TABLE),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_source(source: str, destination: str, tmp_path: Path) -> None:
    data = SOURCES[source](tmp_path / "in")
    result = fc.write_dataset(data, destination)
    assert same_rows(rows_at(destination))
    assert (result.rows, result.state, sorted(result.files)) == (
        1_000,
        "committed",
        names_at(destination),
    )
    assert_committed(destination)
    assert_no_leftovers(destination)


@pytest.mark.parametrize("of", [batches, lambda: list(batches())], ids=["generator", "list"])
def test_an_iterable_of_batches_with_its_schema(of: Callable[[], Any], destination: str) -> None:
    assert fc.write_dataset(of(), destination, schema=TABLE.schema).rows == 1_000
    assert same_rows(rows_at(destination))


def test_the_source_is_read_on_the_callers_thread(destination: str) -> None:
    threads = set()

    def source() -> Iterator[pa.RecordBatch]:
        for batch in batches():
            threads.add(threading.get_ident())
            yield batch

    fc.write_dataset(source(), destination, schema=TABLE.schema)
    assert threads == {threading.get_ident()}


def test_a_skipped_job_reads_nothing(destination: str) -> None:
    fc.write_dataset(TABLE, destination)

    def unread() -> Iterator[pa.RecordBatch]:
        yield pytest.fail("was read")

    result = fc.write_dataset(unread(), destination, schema=TABLE.schema, mode="ignore")
    assert result.state == "skipped"
    with pytest.raises(fc.DestinationExistsError):
        fc.write_dataset(unread(), destination, schema=TABLE.schema)


def test_a_huge_batch(destination: str) -> None:
    batch = pa.record_batch({"id": pa.array(range(3_000_000), pa.int64())})
    assert fc.write_dataset(batch.slice(1), destination, preserve_order=True).rows == 2_999_999
    assert rows_at(destination).num_rows == 2_999_999


@pytest.mark.parametrize("of", ["frame", "lazy", "empty"])
def test_polars(of: str, destination: str) -> None:
    frame = pl.DataFrame(TABLE)
    if of == "lazy":
        frame = frame.lazy().filter(pl.col("id") >= 0).collect()
    if of == "empty":
        frame = frame.clear()
    assert fc.write_dataset(frame, destination).rows == (0 if of == "empty" else 1_000)


VIEWS = pl.DataFrame(
    {"id": [0, 1, 2], "day": ["2026-11-20", "2026-11-21", None], "text": ["a", "", None]}
).with_columns(
    data=pl.col("text").cast(pl.Binary),
    kind=pl.col("text").cast(pl.Categorical),
    size=pl.col("text").cast(pl.Enum(["a", ""])),
    texts=pl.concat_list("day", "text"),
    pair=pl.concat_list("day", "text").list.to_array(2),
    both=pl.struct("day", texts=pl.concat_list("text")),
)


@pytest.mark.parametrize("by", [None, "day", "data"])
@pytest.mark.parametrize("of", ["frame", "table", "batches"])
def test_text_of_polars(of: str, by: str | None, destination: str) -> None:
    """polars brings views of text and bytes, which Arrow neither splits nor casts in a list."""
    table = pa.table(VIEWS)
    schema = table.schema if of == "batches" else None
    data = {"frame": VIEWS, "table": table, "batches": table.to_batches()}[of]
    fc.write_dataset(data, destination, partition_by=by, schema=schema)
    found = rows_at(destination, schema=VIEWS.to_arrow().schema)
    assert found.column("id").to_pylist() == [0, 1, 2]
    for name in set(VIEWS.columns) - {by}:
        assert found.column(name).to_pylist() == VIEWS[name].to_list(), name


def test_text_of_polars_as_csv(destination: str) -> None:
    texts = VIEWS.select("id", "day", "text", "data")
    fc.write_dataset(texts, destination, format="csv", partition_by="day")
    found = rows_at(destination, format="csv")
    assert found.column("text").to_pylist() == ["a", "", ""]


def test_polars_reads_its_own_types_again(tmp_path: Path) -> None:
    fc.write_dataset(VIEWS, tmp_path / "out", partition_by="day")
    found = pl.read_parquet(tmp_path / "out/**/*.parquet", hive_partitioning=False).sort("id")
    assert found.equals(VIEWS.drop("day"))
    assert found.schema == VIEWS.drop("day").schema


def test_a_large_frame_of_text_is_cast_by_parts(destination: str) -> None:
    frame = pl.select(id=pl.int_range(1_500_000), text=pl.lit("x"))
    assert fc.write_dataset(frame, destination).rows == 1_500_000
    assert rows_at(destination).column("text").unique().to_pylist() == ["x"]


def test_pandas_brings_its_index_along(destination: str) -> None:
    frame = pd.DataFrame({"id": [1, 2]}, index=pd.Index([5, 6], name="key"))
    fc.write_dataset(frame, destination)
    assert rows_at(destination).to_pandas().equals(frame)
