"""Readers on the bare directory at any moment of a job, and those that ask what is committed."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FSSpecHandler, PyFileSystem

from tests.flat.bucket import ALL_HABITS, make_bucket, remove_bucket
from tests.flat.filesystem import FlatFileSystem
from tests.flat.store import FLAT
from tests.integration.libraries.moments import JOBS, Readers, run
from tests.protocol.asked import AtSomeCalls
from tests.scenes.flat_place import FlatPlace
from tests.scenes.places import LocalPlace
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.libraries.moments import Asking, Plain


def of_pyarrow(directory: str) -> list[str]:
    table = ds.dataset(directory, partitioning="hive").to_table()
    return table["file"].to_pylist() if len(table.column_names) else []


def of_pandas(directory: str) -> list[str]:
    frame = pd.read_parquet(directory)
    return list(frame["file"]) if len(frame.columns) else []


def of_polars(pattern: str, directory: str) -> list[str]:
    return pl.read_parquet(directory + pattern)["file"].to_list()


def of_duckdb(directory: str) -> list[str]:
    return [row[0] for row in duckdb.read_parquet(f"{directory}/**/*.parquet").fetchall()]


def of_pyarrow_in_bucket(url: str) -> list[str]:
    filesystem = PyFileSystem(FSSpecHandler(FlatFileSystem()))
    path = url.removeprefix(f"{FLAT}://")
    table = ds.dataset(path, filesystem=filesystem, partitioning="hive").to_table()
    found: list[str] = table["file"].to_pylist()
    return found


def of_duckdb_in_bucket(url: str) -> list[str]:
    with duckdb.connect() as connection:
        connection.register_filesystem(FlatFileSystem())
        found = connection.read_parquet(f"{url}/**/*.parquet")
        return [row[0] for row in found.fetchall()]


of_list: Any = pd.read_parquet  # its types know no lists
PLAIN: dict[str, Plain] = {
    "pyarrow": of_pyarrow,
    "pandas": of_pandas,
    "polars, directory": partial(of_polars, ""),
    "polars, glob": partial(of_polars, "/**/*.parquet"),
    "DuckDB": of_duckdb,
}
IN_BUCKET: dict[str, Plain] = {
    "pyarrow": of_pyarrow_in_bucket,
    "pandas": of_pandas,
    "DuckDB": of_duckdb_in_bucket,
}
"""polars reads no filesystem of fsspec's."""
REFUSES = {
    "polars, directory": (
        pl.exceptions.InvalidOperationError,
        pl.exceptions.ComputeError,
        FileNotFoundError,
    ),
    "polars, glob": (pl.exceptions.ComputeError, FileNotFoundError),
    "DuckDB": (duckdb.IOException,),
}
"""How they say that there is nothing to read: for polars, that not all of it is Parquet."""
ASKING: dict[str, Asking] = {
    "pyarrow": lambda found: pa.concat_tables(map(pq.read_table, found))["file"].to_pylist(),
    "pandas": lambda found: of_list(found.paths, filesystem=found.filesystem)["file"],
    "polars": lambda found: pl.read_parquet(found)["file"].to_list(),
    "DuckDB": lambda found: [row[0] for row in duckdb.read_parquet(found).fetchall()],
}


def on_a_disk(directory: Path, job: str, *, aborts: bool = False) -> Readers:
    place = LocalPlace(directory / "out")
    return Readers(place, job, PLAIN, ASKING, refusals=REFUSES, aborts=aborts)


@some_by_day(8)
@pytest.mark.parametrize("name", JOBS)
def test_at_any_moment_of_a_job(name: str, fast: Path, sweep: Sweep) -> None:
    readers = on_a_disk(fast, name)
    chosen = set(sweep(range(1, 60)))
    with AtSomeCalls(chosen.__contains__, readers.look).throughout():
        run(readers.place.url, JOBS[name])
    if sweep.is_whole:
        assert {"undecided", "decided", "published", "over"} <= readers.states
        assert ("polars, directory", "undecided") in readers.refused
    if readers.old:
        # Where there is something to read, the others always do.
        assert {who for who, _ in readers.refused} <= {"polars, directory"}
    asyncio.run(readers.look())
    assert readers.read == {*PLAIN}


@some_by_day(12)
@pytest.mark.parametrize("name", JOBS)
def test_p5_at_any_moment_of_a_job_that_is_aborted(name: str, fast: Path, sweep: Sweep) -> None:
    readers = on_a_disk(fast, name, aborts=True)
    check_an_abort(readers, sweep)
    if readers.old:
        assert {who for who, _ in readers.refused} <= {"polars, directory"}
        assert readers.read == {*PLAIN}


@some_by_day(12)
@pytest.mark.parametrize("habits", ["versioned", "gcs"])
@pytest.mark.parametrize("name", ["append", "overwrite_partitions", "overwrite, in place"])
def test_p5_at_any_moment_of_a_job_in_a_bucket_that_is_aborted(
    name: str, habits: str, sweep: Sweep
) -> None:
    bucket = make_bucket(ALL_HABITS[habits])
    readers = Readers(FlatPlace(bucket), name, IN_BUCKET, {}, aborts=True)
    check_an_abort(readers, sweep)
    assert readers.refused == set()
    assert readers.read == {*IN_BUCKET}
    remove_bucket(bucket)


def check_an_abort(readers: Readers, sweep: Sweep) -> None:
    """At each of these moments, and when it is over, there is what there was before."""
    chosen = set(sweep(range(1, 60)))
    with AtSomeCalls(chosen.__contains__, readers.look).throughout():
        run(readers.place.url, JOBS[readers.job], aborts=True)
    if sweep.is_whole:
        assert readers.states == {"undecided", "aborted", "over"}
    assert "decided" not in readers.states
    asyncio.run(readers.look())


@pytest.mark.parametrize(
    ("name", "habits", "every"),
    [
        ("overwrite_partitions", "versioned", 12),
        ("overwrite, in place", "gcs", 12),
        *(
            pytest.param(name, habits, 1, marks=pytest.mark.slow)
            for name in ("append", "overwrite_partitions", "overwrite, in place")
            for habits in ("versioned", "gcs")
        ),
    ],
)
def test_at_any_moment_of_a_job_in_a_bucket(name: str, habits: str, sweep: Sweep) -> None:
    """Whose files are published by completing uploads, or by renames."""
    bucket = make_bucket(ALL_HABITS[habits])
    readers = Readers(FlatPlace(bucket), name, IN_BUCKET, {})
    chosen = set(sweep(range(1, 60)))
    with AtSomeCalls(chosen.__contains__, readers.look).throughout():
        run(readers.place.url, JOBS[name])
    if sweep.is_whole:
        assert {"undecided", "decided", "published", "over"} <= readers.states
    assert readers.refused == set()
    asyncio.run(readers.look())
    assert readers.read == {*IN_BUCKET}
    remove_bucket(bucket)
