"""Unchanged Spark jobs with the jar: every way to write files commits as a job of this library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import fsspec_commit as fc

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

FAILS = "IF(id >= 0, raise_error('no such row'), id) AS id"


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.collect())


def files(out: Path) -> list[str]:
    """What readers see."""
    return sorted(
        str(path.relative_to(out))
        for path in out.rglob("*")
        if path.is_file() and "_commit" not in path.parts and not path.name.startswith(("_", "."))
    )


def assert_settled(out: Path) -> None:
    """No job is left, nor anything that one has left."""
    assert fc.jobs(str(out)) == []
    names = [path.name for path in out.rglob("*") if path.is_file()]
    assert [name for name in names if ".pending" in name or ".crc" in name] == []


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def table(committing: SparkSession) -> Iterator[str]:
    name = f"t{uuid4().hex}"
    yield name
    committing.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize("form", ["parquet", "orc", "csv", "json"])
def test_each_format_is_committed(committing: SparkSession, out: Path, form: str) -> None:
    frame = committing.range(10).repartition(2)
    frame.write.format(form).save(str(out))
    assert ids(committing.read.schema("id long").format(form).load(str(out))) == [*range(10)]
    assert len(files(out)) == 2
    assert (out / "_SUCCESS").is_file()
    assert_settled(out)


def test_text_and_a_codec(committing: SparkSession, out: Path) -> None:
    frame = committing.range(3).selectExpr("CAST(id AS STRING) AS value")
    frame.coalesce(1).write.option("compression", "gzip").text(str(out))
    [name] = files(out)
    assert name.endswith(".txt.gz")
    assert sorted(row.value for row in committing.read.text(str(out)).collect()) == ["0", "1", "2"]


def test_append_overwrite_error_and_ignore(committing: SparkSession, out: Path) -> None:
    path = str(out)
    committing.range(3).write.parquet(path)
    committing.range(3, 5).write.mode("append").parquet(path)
    assert ids(committing.read.parquet(path)) == [0, 1, 2, 3, 4]
    committing.range(9).write.mode("ignore").parquet(path)
    assert ids(committing.read.parquet(path)) == [0, 1, 2, 3, 4]
    with pytest.raises(Exception, match="PATH_ALREADY_EXISTS"):
        committing.range(9).write.parquet(path)
    committing.range(7, 9).write.mode("overwrite").parquet(path)
    assert ids(committing.read.parquet(path)) == [7, 8]
    assert_settled(out)


def test_a_job_overwrites_what_it_reads(committing: SparkSession, out: Path) -> None:
    committing.range(9).write.parquet(str(out))
    frame = committing.read.parquet(str(out)).where("id > 5")
    frame.write.mode("overwrite").parquet(str(out))
    assert ids(committing.read.parquet(str(out))) == [6, 7, 8]


@pytest.mark.parametrize("mode", ["append", "overwrite"])
def test_a_write_that_fails_changes_nothing(committing: SparkSession, out: Path, mode: str) -> None:
    committing.range(3).write.parquet(str(out))
    before = files(out)
    with pytest.raises(Exception, match="no such row"):
        committing.range(0, 3, numPartitions=1).selectExpr(FAILS).write.mode(mode).parquet(str(out))
    assert files(out) == before
    assert_settled(out)


@pytest.mark.parametrize("mode", ["error", "ignore", "append", "overwrite"])
def test_what_has_failed_can_be_repeated(committing: SparkSession, out: Path, mode: str) -> None:
    """To Spark a destination exists as soon as there is a directory: none is left."""
    # Of one task: a second one may be in the midst of its work when the job is aborted.
    failing = committing.range(0, 3, numPartitions=1).selectExpr(FAILS)
    with pytest.raises(Exception, match="no such row"):
        failing.write.mode(mode).parquet(str(out))
    committing.range(3).write.mode(mode).parquet(str(out))
    assert ids(committing.read.parquet(str(out))) == [0, 1, 2]


def test_dynamic_overwrite_replaces_what_is_written(committing: SparkSession, out: Path) -> None:
    frame = committing.range(6).selectExpr("id", "id % 3 AS g")
    frame.write.partitionBy("g").parquet(str(out))
    new = committing.range(10, 12).selectExpr("id", "1 AS g")
    writer = new.write.partitionBy("g").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").parquet(str(out))
    read = committing.read.parquet(str(out)).collect()
    assert sorted((row.id, row.g) for row in read) == [
        (0, 0),
        (2, 2),
        (3, 0),
        (5, 2),
        (10, 1),
        (11, 1),
    ]
    assert_settled(out)


def test_a_dynamic_overwrite_of_nothing_keeps_all(committing: SparkSession, out: Path) -> None:
    frame = committing.range(6).selectExpr("id", "id % 3 AS g")
    frame.write.partitionBy("g").parquet(str(out))
    writer = frame.where("id < 0").write.partitionBy("g").mode("overwrite")
    writer.option("partitionOverwriteMode", "dynamic").parquet(str(out))
    assert ids(committing.read.parquet(str(out))) == [*range(6)]


def rows(spark: SparkSession, table: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in spark.table(table).collect())


def partitions(spark: SparkSession, table: str) -> list[str]:
    return sorted(row.partition for row in spark.sql(f"SHOW PARTITIONS {table}").collect())


def test_static_partitions_of_a_table(committing: SparkSession, table: str) -> None:
    sql = committing.sql
    sql(f"CREATE TABLE {table} (id INT, g INT, h INT) USING parquet PARTITIONED BY (g, h)")
    sql(f"INSERT INTO {table} VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1)")
    sql(f"INSERT OVERWRITE {table} PARTITION (g = 1, h) VALUES (4, 7)")
    assert rows(committing, table) == [(3, 2, 1), (4, 1, 7)]
    assert partitions(committing, table) == ["g=1/h=7", "g=2/h=1"]
    # Spark names no partition that is not there: the table is not meant instead.
    sql(f"INSERT OVERWRITE {table} PARTITION (g = 9, h) VALUES (5, 8)")
    sql(f"INSERT OVERWRITE {table} PARTITION (g = 8, h = 1) VALUES (6)")
    assert rows(committing, table) == [(3, 2, 1), (4, 1, 7), (5, 9, 8), (6, 8, 1)]
    # All of one that is there goes, if nothing is written to it.
    sql(f"INSERT OVERWRITE {table} PARTITION (g = 1, h) SELECT 1, 1 WHERE 1 = 2")
    assert rows(committing, table) == [(3, 2, 1), (5, 9, 8), (6, 8, 1)]
    sql(f"INSERT OVERWRITE {table} VALUES (7, 7, 7)")
    assert rows(committing, table) == [(7, 7, 7)]
    assert partitions(committing, table) == ["g=7/h=7"]


def test_tables_made_of_queries(committing: SparkSession, table: str) -> None:
    committing.sql(f"CREATE TABLE {table} USING orc AS SELECT 1 AS id")
    committing.range(2, 4).write.format("orc").mode("append").saveAsTable(table)
    assert ids(committing.table(table)) == [1, 2, 3]
    committing.range(2).write.format("orc").mode("overwrite").saveAsTable(table)
    assert ids(committing.table(table)) == [0, 1]
    committing.range(5, 6).write.insertInto(table, overwrite=True)
    assert ids(committing.table(table)) == [5]


def test_buckets_are_known_by_their_files(committing: SparkSession, table: str) -> None:
    committing.range(100).write.bucketBy(4, "id").sortBy("id").saveAsTable(table)
    plan = committing.table(table).groupBy("id").count()
    explained = plan._jdf.queryExecution().executedPlan().toString()
    assert "Exchange" not in explained
    assert ids(committing.table(table)) == [*range(100)]


def test_insert_overwrite_directory(committing: SparkSession, out: Path) -> None:
    for count in (3, 2):
        committing.range(count).createOrReplaceTempView("some_rows")
        committing.sql(f"INSERT OVERWRITE DIRECTORY '{out}' USING json SELECT id FROM some_rows")
    assert ids(committing.read.json(str(out))) == [0, 1]


def test_files_of_some_rows_each(committing: SparkSession, out: Path) -> None:
    frame = committing.range(10).coalesce(1)
    frame.write.option("maxRecordsPerFile", 3).parquet(str(out))
    assert len(files(out)) == 4
    assert ids(committing.read.parquet(str(out))) == [*range(10)]


def test_odd_partition_values(committing: SparkSession, out: Path) -> None:
    values = ["a b", "a/b", "50%", "ü", "'\"", "..", "x=y", "#?", None, ""]
    frame = committing.createDataFrame([*enumerate(values)], "id int, v string")
    frame.write.partitionBy("v").parquet(str(out))
    read = {row.id: row.v for row in committing.read.parquet(str(out)).collect()}
    # To Spark's own writer an empty text is no value either.
    assert read == {**dict(enumerate(values)), 9: None}
    assert_settled(out)


def test_frames_without_rows(committing: SparkSession, out: Path) -> None:
    committing.range(0).write.parquet(str(out))
    assert committing.read.parquet(str(out)).schema.names == ["id"]
    committing.range(3).write.mode("append").parquet(str(out))
    committing.range(0).write.mode("overwrite").parquet(str(out))
    assert ids(committing.read.parquet(str(out))) == []
    other = out.with_name("other")
    committing.range(0).selectExpr("id", "id AS g").write.partitionBy("g").csv(str(other))
    assert files(other) == []
    assert (other / "_SUCCESS").exists()


def test_the_record_of_success_as_spark_is_told(committing: SparkSession, out: Path) -> None:
    committing.range(1).write.option("fsspec_commit.success", "json").parquet(str(out))
    assert b"SuccessData" in (out / "_SUCCESS").read_bytes()


def test_a_key_commits_once(committing: SparkSession, out: Path) -> None:
    for _ in range(2):
        writer = committing.range(3).write.mode("append")
        writer.option("fsspec_commit.idempotency_key", "night of the 23rd").parquet(str(out))
    assert ids(committing.read.parquet(str(out))) == [0, 1, 2]


def test_an_unknown_option_is_refused_before_any_work(committing: SparkSession, out: Path) -> None:
    writer = committing.range(3).selectExpr(FAILS).write
    with pytest.raises(Exception, match=r"fsspec_commit\.succes_s; did you mean 'success'\?"):
        writer.option("fsspec_commit.succes_s", "json").parquet(str(out))
    assert not out.exists()
