"""What another library wrote to an ordinary bucket is overwritten without another word.

Its files have names that come back (``part-0.parquet``), and equal bytes have equal etags there.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import duckdb
import fsspec
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import fsspec_commit as fc
from fsspec_commit.testing import assert_committed, assert_no_leftovers
from tests.integration.libraries.rows import DAYS, FRAME, POLARS, TABLE
from tests.scenes.places import S3Place, s3_places
from tests.servers.kinds import EVERY_RUN
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.plugin import S3Bucket

UNCONDITIONAL = "minio"
"""The one server of those here on which jobs are served and no delete has a condition."""
pytestmark = some_tests_by_day(3)
on_every_server = pytest.mark.parametrize(
    "s3_server",
    [
        *(kind.name for kind in EVERY_RUN),
        pytest.param("moto", marks=pytest.mark.slow),
        pytest.param(UNCONDITIONAL, marks=pytest.mark.slow),
    ],
    indirect=True,
)


def with_pyarrow(place: S3Place, *, partitioned: bool) -> None:
    filesystem = fsspec.filesystem("s3", **place.storage_options)
    parted = {"partitioning": ["day"], "partitioning_flavor": "hive"} if partitioned else {}
    root = place.url.removeprefix("s3://")
    ds.write_dataset(TABLE, root, filesystem=filesystem, format="parquet", **parted)


def with_polars(place: S3Place, *, partitioned: bool) -> None:
    filesystem = fsspec.filesystem("s3", **place.storage_options)
    frames = POLARS.partition_by("day", as_dict=True) if partitioned else {("",): POLARS}
    for (day,), frame in frames.items():
        directory = f"{place.url}/day={day}" if partitioned else place.url
        with filesystem.open(f"{directory}/0.parquet", "wb") as file:
            frame.write_parquet(file)


def with_duckdb(place: S3Place, *, partitioned: bool) -> None:
    """To a disk first: through fsspec it lists a directory that is not there yet."""
    how = "PARTITION_BY (day)" if partitioned else "PER_THREAD_OUTPUT true"
    with TemporaryDirectory() as directory, duckdb.connect() as con:
        con.register("t", TABLE)
        con.execute("SET threads = 1")
        con.execute(f"COPY t TO '{directory}/out' (FORMAT parquet, {how})")
        files = [path for path in Path(directory, "out").rglob("*") if path.is_file()]
        place.put(
            {path.relative_to(f"{directory}/out").as_posix(): path.read_bytes() for path in files}
        )


WRITERS = [with_pyarrow, with_polars, with_duckdb]
every_writer = pytest.mark.parametrize("writer", WRITERS, ids=lambda one: one.__name__[5:])


@pytest.fixture
def place(s3_bucket: S3Bucket) -> S3Place:
    place = s3_places(s3_bucket)("data")
    assert isinstance(place, S3Place)
    return place


def old_names(place: S3Place) -> set[str]:
    return {name for name in place.names() if not name.startswith("_")}


def check_rows(place: S3Place, frame: pl.DataFrame) -> None:
    """As polars reads the directory, which skips nothing, and refuses files of other kinds."""
    endpoint = place.storage_options["endpoint_url"]
    options = {
        "aws_endpoint_url": str(endpoint),
        "aws_access_key_id": str(place.storage_options["key"]),
        "aws_secret_access_key": str(place.storage_options["secret"]),
        "aws_region": "us-east-1",
        "aws_allow_http": "true",
    }
    found = pl.read_parquet(f"{place.url}/", storage_options=options, hive_partitioning=True)
    assert found.select(frame.columns).sort("id").equals(frame)


@on_every_server
@every_writer
def test_an_overwrite(writer: Callable[..., None], s3_server: object, place: S3Place) -> None:
    writer(place, partitioned=False)
    old = old_names(place)
    assert old
    options: fc.JobOptions = {"mode": "overwrite", "storage_options": place.storage_options}
    more = pa.concat_tables([TABLE, TABLE])
    if getattr(s3_server, "name", "") == UNCONDITIONAL:
        with pytest.raises(fc.UnsafeStoreError, match="delete_by_name=True if nobody replaces"):
            fc.write_dataset(more, place.url, **options)
        assert old_names(place) == old
        options["delete_by_name"] = True
    result = fc.write_dataset(more, place.url, **options)
    assert result.replaced_count == len(old)
    assert old_names(place) == set(result.files)
    assert_committed(place.url, file_count=result.file_count, **place.how)
    assert_no_leftovers(place.url, **place.how)
    check_rows(place, pl.concat([POLARS, POLARS]).sort("id"))


@on_every_server
@every_writer
def test_an_overwrite_of_partitions(
    writer: Callable[..., None], s3_server: object, place: S3Place
) -> None:
    writer(place, partitioned=True)
    old = old_names(place)
    assert {name.partition("/")[0] for name in old} == set(DAYS)
    promise = getattr(s3_server, "name", "") == UNCONDITIONAL
    day = FRAME["day"].iloc[0]
    rows = pa.Table.from_pandas(FRAME[FRAME["day"] == day], preserve_index=False)
    result = fc.write_dataset(
        rows,
        place.url,
        mode="overwrite_partitions",
        partition_by="day",
        delete_by_name=promise,
        storage_options=place.storage_options,
    )
    kept = {name for name in old if not name.startswith(f"day={day}/")}
    assert result.replaced_count == len(old) - len(kept)
    assert old_names(place) == kept | set(result.files)
    assert_no_leftovers(place.url, **place.how)


@on_every_server
@pytest.mark.parametrize("size_bytes", [0, 10, 9 << 20])
def test_the_same_file_comes_back(s3_server: object, place: S3Place, size_bytes: int) -> None:
    """It would have the token of the deleted one, on servers that take it from the bytes."""
    promise = getattr(s3_server, "name", "") == UNCONDITIONAL
    data = bytes(size_bytes)

    def write(name: str, data: bytes, **options: object) -> None:
        job = fc.Job(place.url, storage_options=place.storage_options, **options)  # type: ignore[arg-type]  # of a table
        with job, job.task() as task, task.open(name) as file:
            file.write(data)

    write("a.bin", data, mode="append", names="exact")
    write("b.bin", b"b", mode="overwrite", delete_by_name=promise)
    with pytest.raises(fc.UnsafeStoreError, match="may still arrive") as caught:
        write("a.bin", data, mode="append", names="exact")
    assert caught.value.kind == "late_delete"
    write("c.bin", data, mode="append", names="exact")
    assert place.data()["c.bin"] == data
    assert "a.bin" not in place.data()
