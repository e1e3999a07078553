"""Dask, as the documentation shows it: threads share a task, processes cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dask
import pytest
from dask.delayed import delayed

import fsspec_commit as fc
from tests.integration.libraries.rows import FRAME, check_rows, frames_of
from tests.integration.libraries.written import files_in, in_task

if TYPE_CHECKING:
    from pathlib import Path


def test_dask_to_parquet_with_threads(out: Path) -> None:
    frames = frames_of(FRAME, npartitions=4)

    def write(task: fc.Task) -> None:
        with dask.config.set(scheduler="threads"):
            frames.to_parquet(".", filesystem=task.filesystem, write_index=False)

    assert in_task(out, write).file_count == 4
    check_rows(out)


def test_dask_to_parquet_with_processes_is_refused(out: Path) -> None:
    frames = frames_of(FRAME, npartitions=4)

    def write(task: fc.Task) -> None:
        with dask.config.set(scheduler="processes"):
            frames.to_parquet(".", filesystem=task.filesystem, write_index=False)

    with pytest.raises(TypeError, match="cannot be pickled"):
        in_task(out, write)
    assert files_in(out) == []


def test_what_dask_has_still_to_compute_is_no_message(out: Path) -> None:
    """It claims to have every attribute, a future's ``result`` as well."""
    late = delayed(str, pure=False)(1)
    with pytest.raises(fc.RequestError) as caught, fc.Job(out) as job:
        job.commit([late])
    assert str(caught.value).endswith("pass what its .compute() returns")
