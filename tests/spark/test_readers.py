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


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_at_any_moment_of_a_job(name: str, spark: SparkSession, tmp_path: Path) -> None:
    def of_directory(directory: str) -> list[str]:
        return [row.file for row in spark.read.schema("file string").parquet(directory).collect()]

    def of_committed(found: fc.CommittedFiles) -> list[str]:
        frame = spark.read.option("basePath", found.destination).parquet(*found)
        rows = frame.select("file", "day").collect()
        assert {row.day for row in rows} <= {1, 2, 3}
        return [row.file for row in rows]

    place = LocalPlace(tmp_path / "out")
    readers = Readers(place, name, {"Spark": of_directory}, {"Spark": of_committed})
    with AtSomeCalls(lambda _: True, readers.look).throughout():
        run(place.url, JOBS[name])
    assert {"undecided", "decided", "published", "over"} <= readers.states
    assert readers.refused == set()
    asyncio.run(readers.look())
    assert readers.read == {"Spark"}
