"""Spark as a reader: on the bare directory at any moment of a job, and of what is committed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.integration.libraries.moments import JOBS, Readers, run
from tests.protocol.asked import AtSomeCalls
from tests.scenes.places import LocalPlace

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    import fsspec_commit as fc
    from fsspec_commit.testing.sweeps import Sweep

CALLS_MAX, CALLS_OF_AN_ABORT_MAX = 40, 10
"""A job here makes fewer."""


def some_by_day(name: str, every: int) -> list[object]:
    """By day some calls of that job, since Spark takes its time for each; by night all of all."""
    by_night = (pytest.param(job, 1, id=job, marks=pytest.mark.slow) for job in JOBS)
    return [pytest.param(name, every, id=f"{name}, some"), *by_night]


def on_a_disk(spark: SparkSession, directory: Path, job: str, *, aborts: bool = False) -> Readers:
    def of_directory(directory: str) -> list[str]:
        return [row.file for row in spark.read.schema("file string").parquet(directory).collect()]

    def of_committed(found: fc.CommittedFiles) -> list[str]:
        frame = spark.read.option("basePath", found.destination).parquet(*found)
        rows = frame.select("file", "day").collect()
        assert {row.day for row in rows} <= {1, 2, 3}
        return [row.file for row in rows]

    place = LocalPlace(directory / "out")
    return Readers(place, job, {"Spark": of_directory}, {"Spark": of_committed}, aborts=aborts)


def look_at(readers: Readers, sweep: Sweep, *, aborts: bool = False) -> None:
    """Read at the calls that are chosen, and once more when the job is over."""
    chosen = set(sweep(range(1, CALLS_OF_AN_ABORT_MAX if aborts else CALLS_MAX)))
    with AtSomeCalls(chosen.__contains__, readers.look).throughout():
        run(readers.place.url, JOBS[readers.job], aborts=aborts)
    assert readers.refused == set()
    asyncio.run(readers.look())
    assert readers.read == {"Spark"}


@pytest.mark.parametrize(("name", "every"), some_by_day("append", 6))
def test_at_any_moment_of_a_job(
    name: str, spark: SparkSession, tmp_path: Path, sweep: Sweep
) -> None:
    readers = on_a_disk(spark, tmp_path, name)
    look_at(readers, sweep)
    if sweep.is_whole:
        assert {"undecided", "decided", "published", "over"} <= readers.states


@pytest.mark.parametrize(("name", "every"), some_by_day("overwrite", 3))
def test_p5_at_any_moment_of_a_job_that_is_aborted(
    name: str, spark: SparkSession, tmp_path: Path, sweep: Sweep
) -> None:
    readers = on_a_disk(spark, tmp_path, name, aborts=True)
    look_at(readers, sweep, aborts=True)
    assert readers.states <= {"undecided", "aborted", "over"}
    if sweep.is_whole:
        assert readers.states == {"undecided", "aborted", "over"}
