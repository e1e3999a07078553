"""Other drivers of Hadoop's for disks than its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.servers.hadoop.bare_disk import BARE_DISK, BARE_DISK_CLASS
from tests.servers.plugin import available_or_skip
from tests.spark.places import hadoop_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.fixture
def bare(committing: SparkSession) -> Iterator[None]:
    """The driver that starts no programs."""
    available_or_skip(lambda: BARE_DISK.program)
    # An instance of Hadoop's own is there already.
    other = {"fs.file.impl": BARE_DISK_CLASS, "fs.file.impl.disable.cache": "true"}
    with hadoop_settings(committing, other):
        yield


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_a_driver_that_starts_no_programs_writes_the_same_files(
    committing: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    conf = committing.sparkContext._jsc.hadoopConfiguration()
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    used = jvm.org.apache.hadoop.fs.Path(f"file:{out}").getFileSystem(conf)
    assert used.getClass().getName() == BARE_DISK_CLASS
    for day in (1, 2):
        rows = committing.range(3).selectExpr("id", f"'z=ü {day}' AS day")
        rows.write.partitionBy("day").parquet(str(out), mode="append")
    again = committing.range(5).selectExpr("id", "'z=ü 2' AS day")
    again.write.partitionBy("day").option("partitionOverwriteMode", "dynamic").parquet(
        str(out), mode="overwrite"
    )
    assert committing.read.parquet(str(out)).groupBy("day").count().orderBy("day").collect() == [
        ("z=ü 1", 3),
        ("z=ü 2", 5),
    ]
    assert fc.jobs(str(out)) == []
    assert not [path for path in out.rglob("*") if path.name.endswith((".crc", ".pending"))]


@pytest.mark.slow
@pytest.mark.usefixtures("bare")
def test_ten_thousand_files_of_two_hundred_partitions(
    committing: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    frame = committing.range(10_000, numPartitions=50).selectExpr("id", "id % 200 AS g")
    for _ in range(2):
        writer = frame.write.partitionBy("g").mode("overwrite")
        writer.option("partitionOverwriteMode", "dynamic").csv(str(out))
        found = [path for path in out.rglob("part-*") if "_commit" not in path.parts]
        assert len(found) == 10_000
    assert fc.jobs(str(out)) == []
