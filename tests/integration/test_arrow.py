"""``write_dataset``: every source, every option, and what is left when something fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import duckdb
import fsspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from fsspec.core import url_to_fs

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SOON_S = 20.0
TABLE = pa.table(
    {
        "id": pa.array(range(1_000), pa.int64()),
        "day": pa.array([f"2026-11-{20 + i % 3}" for i in range(1_000)]),
        "label": pa.array([f"label {i % 7}" for i in range(1_000)]),
    }
)


@pytest.fixture(params=["disk", "memory"])
def destination(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "disk":
        yield str(tmp_path / "out")
        return
    url = f"memory://arrow-{uuid4().hex}/out"
    yield url
    with suppress(FileNotFoundError):
        fsspec.filesystem("memory").rm(url.removesuffix("/out"), recursive=True)


def names_at(destination: str) -> list[str]:
    """Every visible file, asked of plain fsspec."""
    filesystem, root = url_to_fs(destination, use_listings_cache=False)
    below = [name[len(root) + 1 :] for name in filesystem.find(root)]
    return sorted(
        name for name in below if not any(part.startswith(("_", ".")) for part in name.split("/"))
    )


def rows_at(destination: str, **options: Any) -> pa.Table:
    filesystem, root = url_to_fs(destination, use_listings_cache=False)
    paths = [f"{root}/{name}" for name in names_at(destination)]
    options = {"format": "parquet", "partitioning": "hive", "partition_base_dir": root, **options}
    table = ds.dataset(paths, filesystem=filesystem, **options).to_table()
    # polars brings string views, which Arrow writes and cannot sort.
    plain = [
        field.with_type(pa.string()) if field.type == pa.string_view() else field
        for field in table.schema
    ]
    return table.cast(pa.schema(plain, table.schema.metadata)).sort_by("id")


def same_rows(found: pa.Table, expected: pa.Table = TABLE) -> bool:
    return bool(found.select(expected.column_names).cast(expected.schema).equals(expected))


def batches(table: pa.Table = TABLE) -> Iterator[pa.RecordBatch]:
    yield from table.to_batches(max_chunksize=300)


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


def test_hive_directories(destination: str) -> None:
    result = fc.write_dataset(TABLE, destination, partition_by="day")
    days = ["day=2026-11-20", "day=2026-11-21", "day=2026-11-22"]
    assert list(result.partitions) == days
    assert [name.split("/")[0] for name in names_at(destination)] == days
    assert same_rows(rows_at(destination))
    assert "day" not in pq.read_schema(url_to_fs(destination)[0].open(_first(destination))).names


def _first(destination: str) -> str:
    return f"{url_to_fs(destination)[1]}/{names_at(destination)[0]}"


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
    metadata = pq.read_metadata(url_to_fs(destination)[0].open(_first(destination)))
    assert (metadata.num_rows, metadata.num_row_groups) == (400, 2)
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_order_is_kept_where_asked(destination: str) -> None:
    table = pa.table({"id": pa.array(range(600_000), pa.int64())})
    fc.write_dataset(table, destination, preserve_order=True)
    assert pq.read_table(url_to_fs(destination)[0].open(_first(destination))).equals(table)


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


def test_a_skipped_job_reads_nothing(destination: str) -> None:
    fc.write_dataset(TABLE, destination)

    def unread() -> Iterator[pa.RecordBatch]:
        yield pytest.fail("was read")

    result = fc.write_dataset(unread(), destination, schema=TABLE.schema, mode="ignore")
    assert result.state == "skipped"
    with pytest.raises(fc.DestinationExistsError):
        fc.write_dataset(unread(), destination, schema=TABLE.schema)


REFUSED: dict[str, tuple[Any, dict[str, Any], str, str]] = {
    "tasks": (TABLE, {"tasks": 2}, "invalid_option", "one job of one task"),
    "collect": (TABLE, {"collect": "messages"}, "invalid_option", "one job of one task"),
    "column": (TABLE, {"partition_by": "dya"}, "unknown_column", "'id', 'day', 'label'"),
    "list": (TABLE, {"partitioning": ["day"]}, "invalid_option", "partition_by"),
    "format": (TABLE, {"format": "xlsx"}, "unknown_format", "'parquet', 'csv'"),
    "read-only format": (TABLE, {"format": ds.JsonFileFormat()}, "unknown_format", "format="),
    "schema missing": (list(batches()), {}, "missing_schema", "schema="),
    "schema twice": (TABLE, {"schema": pa.schema([("a", pa.int8())])}, "schema_mismatch", "cast"),
    "number": (3, {}, "not_arrow_data", "builtins.int"),
    "text": ("in.parquet", {}, "not_arrow_data", "builtins.str"),
    "mode": (TABLE, {"mode": "overwrit"}, "invalid_option", "overwrite"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_before_anything_is_touched(case: str, destination: str) -> None:
    data, options, kind, says = REFUSED[case]
    with pytest.raises(fc.RequestError, match=says) as caught:
        fc.write_dataset(data, destination, **options)
    assert caught.value.kind == kind
    filesystem, root = url_to_fs(destination)
    assert not filesystem.exists(root)


def test_an_unknown_option_is_a_type_error(destination: str) -> None:
    with pytest.raises(TypeError, match="did you mean 'mode'"):
        fc.write_dataset(TABLE, destination, mod="append")  # type: ignore[call-arg]


def check_nothing_happened(destination: str) -> None:
    assert_no_leftovers(destination)
    assert same_rows(rows_at(destination))


FAILING: dict[str, tuple[Callable[[], Any], dict[str, Any], type[Exception], str]] = {}


def failing(
    error: type[Exception], says: str, **options: Any
) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def add(make: Callable[[], Any]) -> Callable[[], Any]:
        FAILING[make.__name__] = (make, options, error, says)
        return make

    return add


@failing(LookupError, "boom", schema=TABLE.schema)
def source_that_raises() -> Iterator[pa.RecordBatch]:
    yield from batches()
    raise LookupError("boom")


@failing(KeyError, "at once", schema=TABLE.schema)
def source_that_raises_at_once() -> Iterator[pa.RecordBatch]:
    missing: dict[str, list[pa.RecordBatch]] = {}
    yield from missing["at once"]


@failing(fc.RequestError, "does not have the schema", schema=TABLE.schema)
def batch_of_another_schema() -> Iterator[pa.RecordBatch]:
    yield from batches()
    yield pa.record_batch({"id": [1]})


@failing(fc.RequestError, "cannot write a builtins.int", schema=TABLE.schema)
def batch_that_is_none() -> Iterator[Any]:
    yield from batches()
    yield 3


@failing(pa.ArrowNotImplementedError, "interval", format="parquet")
def type_that_parquet_has_not() -> pa.Table:
    return pa.table({"id": [pa.MonthDayNano([1, 2, 3])]})


@failing(
    pa.ArrowInvalid, "maximum of 2; raise max_partitions=", partition_by="day", max_partitions=2
)
def many_partitions() -> pa.Table:
    return TABLE


@failing(pa.ArrowInvalid, "basename_template", basename_template="part.parquet")
def template_without_a_number() -> pa.Table:
    return TABLE


@failing(fc.RequestError, "no subdirectory", mode="overwrite_partitions")
def rows_outside_any_partition() -> pa.Table:
    return TABLE


def raise_from_visitor(_: object) -> None:
    raise LookupError("visited")


@failing(LookupError, "visited", file_visitor=raise_from_visitor)
def visitor_that_raises() -> pa.Table:
    return TABLE


@pytest.mark.parametrize("case", FAILING)
def test_a_failure_aborts_with_its_own_error(case: str, destination: str) -> None:
    make, options, error, says = FAILING[case]
    fc.write_dataset(TABLE, destination, format="parquet")
    with pytest.raises(error, match=says):
        fc.write_dataset(make(), destination, **{"mode": "overwrite", **options})
    check_nothing_happened(destination)


def test_a_job_that_is_aborted_under_the_writer(destination: str) -> None:
    def source() -> Iterator[pa.RecordBatch]:
        yield from batches()
        (job,) = fc.jobs(destination)
        fc.abort(destination, job.job_id)
        yield from batches()

    with pytest.raises(fc.JobNotActiveError):
        fc.write_dataset(
            source(),
            destination,
            schema=TABLE.schema,
            max_rows_per_file=300,
            max_rows_per_group=300,
        )
    assert names_at(destination) == []


def test_the_source_is_read_on_the_callers_thread(destination: str) -> None:
    threads = set()

    def source() -> Iterator[pa.RecordBatch]:
        for batch in batches():
            threads.add(threading.get_ident())
            yield batch

    fc.write_dataset(source(), destination, schema=TABLE.schema)
    assert threads == {threading.get_ident()}


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


def test_pandas_brings_its_index_along(destination: str) -> None:
    frame = pd.DataFrame({"id": [1, 2]}, index=pd.Index([5, 6], name="key"))
    fc.write_dataset(frame, destination)
    assert rows_at(destination).to_pandas().equals(frame)


# -- in a process of its own: what a signal or a full disk does ----------------------------------

VICTIM = """
import resource, signal, sys, time
import numpy as np, pyarrow as pa
import fsspec_commit as fc

kind, destination = sys.argv[1:]
table = pa.table({"x": np.random.rand(1_000_000), "p": np.random.randint(0, 64, 1_000_000)})
data, options = pa.concat_tables([table] * 2_000), {}
if kind == "partitioned":
    options = {"partition_by": "p"}
if kind == "csv":
    options = {"format": "csv"}
if kind == "row groups":
    options = {"min_rows_per_group": 100_000}
if kind == "waiting source":
    def waiting():
        yield from table.to_batches()
        time.sleep(1_000)
    data, options = waiting(), {"schema": table.schema}
if kind == "full disk":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20 << 20, 20 << 20))
print("ready", flush=True)
try:
    fc.write_dataset(data, destination, mode="overwrite", **options)
except OSError as error:
    print("OSError", error.errno, *error.__notes__)
"""


@pytest.fixture
def run_victim() -> Iterator[Callable[[str, str], subprocess.Popen[str]]]:
    begun: list[subprocess.Popen[str]] = []

    def run(kind: str, destination: str) -> subprocess.Popen[str]:
        victim = subprocess.Popen(
            [sys.executable, "-c", VICTIM, kind, destination],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        begun.append(victim)
        assert victim.stdout is not None
        assert victim.stdout.readline() == "ready\n"
        return victim

    yield run
    for victim in begun:
        victim.kill()
        victim.communicate()


@pytest.mark.parametrize("kind", ["plain", "partitioned", "csv", "row groups", "waiting source"])
def test_ctrl_c_is_heard_soon_and_leaves_nothing(
    kind: str, tmp_path: Path, run_victim: Callable[[str, str], subprocess.Popen[str]]
) -> None:
    destination = str(tmp_path / "out")
    fc.write_dataset(TABLE, destination)
    victim = run_victim(kind, destination)
    pending = tmp_path / "out" / "_commit"
    until = time.monotonic() + SOON_S
    # Arrow writes a batch once it has the next one, which a waiting source never gives.
    under_way = "job.json" if kind == "waiting source" else "*.pending"
    while not list(pending.rglob(under_way)):
        assert time.monotonic() < until, "nothing was written"
        time.sleep(0.01)
    time.sleep(0.5)
    victim.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, said = victim.communicate(timeout=SOON_S)
    assert time.monotonic() - begin < SOON_S
    # A thread of Arrow's own that is still in one of its files when the interpreter ends is torn
    # down by an abort, in bare pyarrow too; by then all is told and cleaned up.
    said = said.rstrip().removesuffix("terminate called without an active exception").rstrip()
    assert said.endswith("KeyboardInterrupt")
    assert victim.returncode in {-signal.SIGINT, -signal.SIGABRT}
    check_nothing_happened(destination)


def test_a_full_disk_is_an_error_and_no_standstill(
    tmp_path: Path, run_victim: Callable[[str, str], subprocess.Popen[str]]
) -> None:
    destination = str(tmp_path / "out")
    fc.write_dataset(TABLE, destination)
    said, trouble = run_victim("full disk", destination).communicate(timeout=SOON_S * 3)
    assert said.startswith("OSError 27 "), trouble
    assert ".parquet" in said
    check_nothing_happened(destination)
