"""Where a job writes: paths, URLs and filesystems as callers have them."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.fs
import pytest
from upath import UPath

import fsspec_commit as fc
from fsspec_commit.location import locate
from fsspec_commit.sync.reading import CommittedFiles
from tests.integration.libraries.rows import FRAME, POLARS, TABLE, check_rows

if TYPE_CHECKING:
    from pathlib import Path


def test_a_universal_path(out: Path) -> None:
    with fc.Job(UPath(out)) as job, job.task() as task:
        FRAME.to_parquet("part.parquet", filesystem=task.filesystem)
    check_rows(out)
    assert fc.write_dataset(TABLE, UPath(out.as_uri()), mode="overwrite").replaced_count == 1
    check_rows(out)


@pytest.mark.parametrize("kind", ["file", "local", "dir"])
def test_a_filesystem_of_the_caller(kind: str, out: Path) -> None:
    plain = fsspec.filesystem("file" if kind == "dir" else kind, auto_mkdir=True)
    options = dict(plain.storage_options)
    destination = str(out)
    if kind == "dir":
        plain = fsspec.filesystem("dir", path=str(out.parent), fs=plain)
        destination = out.name
    fc.write_dataset(TABLE, destination, filesystem=plain)
    check_rows(out)
    if kind != "dir":
        assert plain.storage_options == options
    assert plain.ls(destination)


@pytest.mark.parametrize(
    ("destination", "name", "is_told"),
    [
        ("{}/data/clicks", "data/clicks/part.parquet", True),
        ("memory://libraries-mistakes/clicks", "libraries-mistakes/clicks/day=1/x", True),
        ("memory://libraries-mistakes/clicks", "clicks/part.parquet", False),
        ("{}/data/clicks", "data/part.parquet", False),
        ("{}/data/clicks", "day=1/data/clicks", False),
    ],
)
def test_a_name_that_repeats_the_destination_is_told_of(
    destination: str, name: str, is_told: bool, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once: so writes who is used to fsspec's own paths, and finds all of it in another place."""
    with suppress(ValueError), fc.Job(destination.format(out)) as job, job.task() as task:
        task.filesystem.pipe_file(name, b"x")
        task.filesystem.pipe_file(f"{name}-2", b"x")
        raise ValueError("nothing is left")
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    expected = (
        f"job {job.job_id} writes {name!r} below {job.destination!r}: names are relative to the "
        "destination, so leave its own path out, unless this directory in itself is meant"
    )
    assert told == ([expected] if is_told else [])


@pytest.mark.parametrize(
    ("partition", "is_told"),
    [("clicks/day=1", True), ("data/clicks/day=1/", True), ("clicks", True), ("data/day=1", False)],
)
def test_a_partition_that_repeats_the_destination_is_told_of(
    partition: str, is_told: bool, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It cleared nothing, without a word."""
    how: Any = {"mode": "overwrite_partitions", "partitions": [partition], "allow_empty": True}
    with fc.Job(out / "data/clicks", **how) as job:
        pass
    told = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    expected = (
        f"partitions holds {partition!r}, and they are relative to the destination "
        f"{job.destination!r}: leave its own path out, unless this directory in itself is meant"
    )
    assert told == ([expected] if is_told else [])


def test_a_filesystem_of_pyarrow_is_refused(out: Path) -> None:
    with pytest.raises(fc.UnknownProtocolError, match="takes an fsspec filesystem"):
        fc.write_dataset(TABLE, out, filesystem=pa.fs.LocalFileSystem())


def test_memory(out: Path) -> None:
    url = f"memory://libraries-{os.getpid()}/{out.parent.name}"
    with fc.Job(url) as job, job.task() as task:
        FRAME.to_parquet("part.parquet", filesystem=task.filesystem)
        with task.open("pl.parquet") as file:
            POLARS.write_parquet(file)
    assert job.result is not None
    for name in job.result.files:
        pd.testing.assert_frame_equal(pd.read_parquet(f"{url}/{name}"), FRAME)
    fsspec.filesystem("memory").rm(url, recursive=True)


@pytest.mark.parametrize("odd", ["a::b", "per%20cent", "sp ace", "br[a]cket", "hash#1", "slash//"])
def test_the_files_of_an_oddly_named_destination(odd: str, out: Path) -> None:
    """As names, as paths or URLs, and for fsspec, they are the same files."""
    in_memory = f"memory://libraries-{os.getpid()}/{odd}"
    # fsspec's own memory files cannot be named with "::".
    for destination in [f"{out}/{odd}"] + [in_memory] * ("::" not in odd):
        fc.write_dataset(TABLE, destination, mode="append")
        found = fc.committed_files(destination)
        [name], [url], [path] = found.names, found, found.paths
        assert "/" not in name
        assert url == f"{destination.rstrip('/')}/{name}"
        assert found.filesystem.isfile(path)
        assert fc.dataset(destination).count_rows() == TABLE.num_rows
    with suppress(FileNotFoundError):
        fsspec.filesystem("memory").rm(f"/libraries-{os.getpid()}", recursive=True)


@pytest.mark.parametrize("root", ["memory://", "memory:///"])
def test_the_names_of_files_of_a_whole_store(root: str) -> None:
    location = locate(root)
    found = CommittedFiles(location, ["day=1/a.parquet"], 0)
    assert (found.names, found.paths) == (["day=1/a.parquet"], ["/day=1/a.parquet"])


def test_the_filesystem_of_the_files_is_as_libraries_need_it() -> None:
    """A cached listing would hide files that are new, and pyarrow does not await."""
    mine = {"use_listings_cache": True, "asynchronous": True, "loop": None, "key": "k"}
    found = CommittedFiles(locate("s3://bucket/out", mine), ["a.parquet"], 0)
    assert found.paths == ["bucket/out/a.parquet"]
    assert not found.filesystem.asynchronous
    assert found.filesystem.storage_options == {"key": "k", "use_listings_cache": False}


def test_jobs_inside_one_another(out: Path) -> None:
    with fc.Job(out, mode="append") as outer, outer.task() as first:
        with fc.Job(out, mode="append") as inner, inner.task() as second:
            FRAME[:50].to_parquet("part.parquet", filesystem=second.filesystem)
        FRAME[50:].to_parquet("part.parquet", filesystem=first.filesystem)
    check_rows(out)
