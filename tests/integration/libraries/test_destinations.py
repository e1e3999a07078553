"""Where a job writes: paths, URLs and filesystems as callers have them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import fsspec
import pandas as pd
import pyarrow as pa
import pyarrow.fs
import pytest
from upath import UPath

import fsspec_commit as fc
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


def test_jobs_inside_one_another(out: Path) -> None:
    with fc.Job(out, mode="append") as outer, outer.task() as first:
        with fc.Job(out, mode="append") as inner, inner.task() as second:
            FRAME[:50].to_parquet("part.parquet", filesystem=second.filesystem)
        FRAME[50:].to_parquet("part.parquet", filesystem=first.filesystem)
    check_rows(out)
