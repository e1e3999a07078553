"""A frame becomes visible as a whole: by `fc.spark.write` and by the data source alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.spark.frames import WAYS, files, has_no_job, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    fc.spark.register(spark)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def numbers(spark: SparkSession, begin: int, end: int) -> DataFrame:
    """Rows in two tasks, of three partitions."""
    frame = spark.range(begin, end, numPartitions=2)
    return frame.selectExpr("id", "cast(id % 3 as string) AS p")


def ids(spark: SparkSession, destination: Path) -> list[int]:
    return sorted(row.id for row in spark.read.parquet(str(destination)).select("id").collect())


def test_append_and_overwrite(spark: SparkSession, tmp_path: Path, way: str) -> None:
    write(way, numbers(spark, 0, 10), tmp_path, mode="append")
    write(way, numbers(spark, 10, 20), tmp_path, mode="append")
    assert ids(spark, tmp_path) == [*range(20)]
    write(way, numbers(spark, 5, 8), tmp_path, mode="overwrite")
    assert ids(spark, tmp_path) == [5, 6, 7]
    assert (tmp_path / "_SUCCESS").exists()
    assert has_no_job(tmp_path)


def test_partitions_are_replaced_one_by_one(spark: SparkSession, tmp_path: Path, way: str) -> None:
    write(way, numbers(spark, 0, 9), tmp_path, mode="append", partition_by="p")
    assert {name.split("/")[0] for name in files(tmp_path)} == {"p=0", "p=1", "p=2"}
    new = numbers(spark, 30, 40).where("p = '1'")
    write(way, new, tmp_path, mode="overwrite_partitions", partition_by=["p"])
    assert ids(spark, tmp_path) == [0, 2, 3, 5, 6, 8, 31, 34, 37]


@pytest.mark.slow
def test_ten_thousand_files_of_two_hundred_partitions(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    frame = spark.range(10_000, numPartitions=50).selectExpr("id", "id % 200 AS g")
    how: dict[str, Any] = {"mode": "overwrite_partitions", "partition_by": "g"}
    write(way, numbers(spark, 0, 20).selectExpr("id", "id AS g"), tmp_path, **how)
    write(way, frame, tmp_path, **how)
    assert len(files(tmp_path)) == 10_000
    write(way, frame.where("g = 7 AND id < 1000"), tmp_path, **how)
    assert ids(spark, tmp_path) == [n for n in range(10_000) if n % 200 != 7 or n < 1_000]
    assert has_no_job(tmp_path)


def test_error_and_ignore(spark: SparkSession, tmp_path: Path, way: str) -> None:
    write(way, numbers(spark, 0, 3), tmp_path, mode="error")
    with pytest.raises(Exception, match="holds data"):
        write(way, numbers(spark, 0, 3), tmp_path, mode="error")
    write(way, numbers(spark, 0, 3), tmp_path, mode="ignore")
    assert ids(spark, tmp_path) == [0, 1, 2]
    assert has_no_job(tmp_path)


def test_a_key_commits_once(spark: SparkSession, tmp_path: Path, way: str) -> None:
    for _ in range(2):
        write(way, numbers(spark, 0, 3), tmp_path, mode="append", idempotency_key="k")
    assert ids(spark, tmp_path) == [0, 1, 2]
    assert has_no_job(tmp_path)


@pytest.mark.parametrize("partition_by", [[], ["p"]])
def test_no_rows(spark: SparkSession, tmp_path: Path, way: str, partition_by: list[str]) -> None:
    write(way, numbers(spark, 0, 5), tmp_path, mode="append", partition_by=partition_by)
    write(way, numbers(spark, 0, 0), tmp_path, mode="append", partition_by=partition_by)
    assert ids(spark, tmp_path) == [0, 1, 2, 3, 4]
    write(way, numbers(spark, 0, 0), tmp_path, mode="overwrite", partition_by=partition_by)
    # As after Spark's own writer: a file that holds the schema, unless there are partitions.
    assert len(files(tmp_path)) == (0 if partition_by else 1)
    if not partition_by:
        assert spark.read.parquet(str(tmp_path)).dtypes == [("id", "bigint"), ("p", "string")]


def test_declared_partitions_are_cleared(spark: SparkSession, tmp_path: Path, way: str) -> None:
    write(way, numbers(spark, 0, 9), tmp_path, mode="append", partition_by="p")
    how: dict[str, Any] = {"mode": "overwrite_partitions", "partition_by": "p"}
    write(way, numbers(spark, 0, 0), tmp_path, partitions=["p=1"], **how)
    assert ids(spark, tmp_path) == [0, 2, 3, 5, 6, 8]


def test_what_has_failed_can_be_written_again(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    """`local[2,2]` gives a task two chances, and both fail in the first job."""
    frame = failing(spark, tmp_path / "flag", rows=100, at=60)
    with pytest.raises(Exception, match="upstream has failed"):
        write(way, frame, tmp_path / "out", mode="append")
    assert files(tmp_path / "out") == []
    assert has_no_job(tmp_path / "out")
    write(way, frame, tmp_path / "out", mode="append")
    assert ids(spark, tmp_path / "out") == [*range(100)]


def failing(spark: SparkSession, flag: Path, *, rows: int, at: int) -> DataFrame:
    """Rows of one partition whose source fails at row *at*, the first two times it is run."""
    place = str(flag)

    def fail_twice(batches: Iterator[Any]) -> Iterator[Any]:
        from pathlib import Path

        flags = [Path(f"{place}{nth}") for nth in range(2)]
        for batch in batches:
            for row in range(batch.num_rows):
                left = [one for one in flags if not one.exists()]
                if batch.column(0)[row].as_py() == at and left:
                    left[0].touch()
                    raise RuntimeError("upstream has failed")
                yield batch.slice(row, 1)

    return spark.range(0, rows, numPartitions=1).mapInArrow(fail_twice, "id long")


def test_a_failed_overwrite_leaves_the_old_rows(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    """Spark's own writer has deleted them by then."""
    write(way, numbers(spark, 0, 5), tmp_path / "out", mode="append")
    # A truncated stream: Spark ends it without an error in the task's Python.
    broken = spark.range(0, 100, numPartitions=2).selectExpr(
        "CASE WHEN id = 80 THEN raise_error('upstream has failed') ELSE id END AS id"
    )
    with pytest.raises(Exception, match="upstream has failed"):
        write(way, broken.selectExpr("cast(id AS long) AS id"), tmp_path / "out", mode="overwrite")
    assert ids(spark, tmp_path / "out") == [0, 1, 2, 3, 4]
    assert has_no_job(tmp_path / "out")


def test_who_fails_without_the_options_is_told(spark: SparkSession, tmp_path: Path) -> None:
    """What is not known to be open is not sent to the executors."""
    frame = spark.range(1).selectExpr("raise_error('no') AS id")
    with pytest.raises(Exception, match="no") as raised:
        fc.spark.write(frame, str(tmp_path / "out"), storage_options={"auto_mkdir": True})
    assert "share_secrets=True" in raised.value.__notes__[-1]


def test_a_path_with_odd_names_and_values(spark: SparkSession, tmp_path: Path, way: str) -> None:
    rows = [(1, "a b"), (2, "ü/:%"), (3, None)]
    frame = spark.createDataFrame(rows, "id int, `p q` string")
    write(way, frame, tmp_path / "ours", mode="append", partition_by=["p q"])
    frame.write.partitionBy("p q").parquet(str(tmp_path / "spark"))
    ours, theirs = (
        {name.split("/")[0] for name in files(tmp_path / one)} for one in ("ours", "spark")
    )
    assert ours == theirs


class TestWrite:
    def test_the_result_says_what_was_written(self, spark: SparkSession, tmp_path: Path) -> None:
        result = fc.spark.write(numbers(spark, 0, 10), str(tmp_path), partition_by="p")
        assert (result.state, result.mode, result.rows) == ("committed", "error", 10)
        assert sorted(result.partitions) == ["p=0", "p=1", "p=2"]
        assert sorted(result.files) == files(tmp_path)

    def test_progress_is_reported(self, spark: SparkSession, tmp_path: Path) -> None:
        from fsspec.callbacks import Callback

        callback = Callback()
        fc.spark.write(numbers(spark, 0, 10), str(tmp_path), callback=callback)
        assert (callback.size, callback.value) == (2, 2)

    def test_the_frame_is_computed_once(self, spark: SparkSession, tmp_path: Path) -> None:
        count = spark.sparkContext.accumulator(0)

        def counted(batches: Iterator[Any]) -> Iterator[Any]:
            for batch in batches:
                count.add(batch.num_rows)
                yield batch

        frame = spark.range(0, 50).mapInArrow(counted, "id long")
        fc.spark.write(frame, str(tmp_path))
        assert count.value == 50

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"partitionBy": "p"}, "did you mean 'partition_by'"),
            ({"partitionOverwriteMode": "dynamic"}, 'mode="overwrite_partitions" stands for'),
            ({"comprssion": "zstd"}, "did you mean 'compression'"),
            ({"mode": "dynamic"}, "did you mean 'overwrite_partitions'"),
            ({"mode": "overwrite_partitions"}, "needs partition_by="),
            ({"partition_by": "P"}, "did you mean 'p'"),
            ({"partition_by": ["id", "p"]}, "every column"),
            ({"format": "csv"}, "writes Parquet, not 'csv'"),
            ({"compression": "lzo"}, "none of 'snappy'"),
            ({"tasks": 2}, "Spark decides"),
            ({"max_rows_per_file": -1}, "no count"),
            ({"filesystem": object()}, "stays in this process"),
        ],
    )
    def test_refusals(
        self, spark: SparkSession, tmp_path: Path, options: Any, message: str
    ) -> None:
        with pytest.raises((TypeError, fc.RequestError), match=message):
            fc.spark.write(numbers(spark, 0, 3), str(tmp_path / "out"), **options)
        assert not (tmp_path / "out").exists()


class TestDataSource:
    @pytest.mark.parametrize(
        ("mode", "options", "message"),
        [
            ("append", {"PartitionBy": "p"}, "did you mean 'partition_by'"),
            ("append", {"partitionOverwriteMode": "dynamic"}, "overwrite_partitions"),
            ("append", {"mode": "overwrite"}, "contradict each other"),
            ("overwrite", {"mode": "append"}, "contradict each other"),
            ("append", {"allow_empty": "maybe"}, "true or false"),
            ("append", {"partition_by": '["p"'}, "a JSON list"),
            ("append", {"share_secrets": "true"}, "is no option of a data source"),
            ("append", {"storage_options": '{"key": "hidden-1"}'}, "may be a secret"),
            (
                "append",
                {"storage_options": '{"endpoint_url": "http://me:hidden-1@host"}'},
                "may be a secret",
            ),
            (
                "append",
                {"storage_options": '{"client_kwargs": {"aws_session_token": "hidden-1"}}'},
                "may be a secret",
            ),
            ("append", {"storage_options": "hidden-1"}, "a JSON object"),
        ],
    )
    def test_refusals(
        self, spark: SparkSession, tmp_path: Path, mode: str, options: Any, message: str
    ) -> None:
        writer = numbers(spark, 0, 3).write.format("fsspec_commit").mode(mode).options(**options)
        with pytest.raises(Exception, match=message) as caught:
            writer.save(str(tmp_path / "out"))
        assert "hidden-1" not in str(caught.value)
        assert not (tmp_path / "out").exists()

    def test_no_path_and_a_relative_one(self, spark: SparkSession) -> None:
        writer = numbers(spark, 0, 3).write.format("fsspec_commit").mode("append")
        with pytest.raises(Exception, match="no destination"):
            writer.save()
        with pytest.raises(Exception, match="is relative"):
            writer.save("out")

    def test_dynamic_overwrite_must_be_said(self, spark: SparkSession, tmp_path: Path) -> None:
        out = str(tmp_path / "out")
        write("data source", numbers(spark, 0, 9), out, mode="append", partition_by="p")
        writer = numbers(spark, 9, 10).write.format("fsspec_commit").mode("overwrite")
        writer = writer.option("partition_by", "p")
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        try:
            with pytest.raises(Exception, match="would replace all of the destination"):
                writer.save(out)
            assert ids(spark, tmp_path / "out") == [*range(9)]
            writer.option("mode", "overwrite_partitions").save(out)
        finally:
            spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
        assert ids(spark, tmp_path / "out") == [1, 2, 4, 5, 7, 8, 9]
        assert has_no_job(tmp_path / "out")

    def test_names_that_differ_in_case_alone(self, spark: SparkSession, tmp_path: Path) -> None:
        """Of two, a reader finds one; Spark's own writers refuse them unless they are told."""
        frame = spark.range(2).selectExpr("id AS p", "id + 5 AS q").toDF("p", "P")
        with pytest.raises(Exception, match="differ in case alone"):
            write("data source", frame, tmp_path / "out", partition_by="p")
        assert has_no_job(tmp_path / "out")
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            write("data source", frame, tmp_path / "out", partition_by="p")
            found = spark.read.parquet(str(tmp_path / "out")).select("P", "p").collect()
        finally:
            spark.conf.unset("spark.sql.caseSensitive")
        assert sorted(map(tuple, found)) == [(5, 0), (6, 1)]

    def test_tables_of_sql(self, spark: SparkSession, tmp_path: Path) -> None:
        """A table's own options do not reach the writer, and those of a statement do."""
        place = tmp_path / "out"
        spark.sql(f"CREATE TABLE numbers (id LONG) USING fsspec_commit OPTIONS (path '{place}')")
        try:
            with pytest.raises(Exception, match="INSERT INTO t WITH"):
                spark.sql("INSERT INTO numbers VALUES (1)")
            spark.sql(f"INSERT INTO numbers WITH ('path' = '{place}') VALUES (1), (2)")
        finally:
            spark.sql("DROP TABLE numbers")
        assert ids(spark, place) == [1, 2]

    def test_a_stream_is_sent_elsewhere(self, spark: SparkSession, tmp_path: Path) -> None:
        stream = spark.readStream.format("rate").load().writeStream.format("fsspec_commit")
        query = stream.option("checkpointLocation", str(tmp_path / "c")).start(str(tmp_path / "o"))
        with pytest.raises(Exception, match="foreach_batch"):
            query.processAllAvailable()
        query.stop()
        with pytest.raises(fc.RequestError, match="batch by batch"):
            fc.spark.write(spark.readStream.format("rate").load(), str(tmp_path / "p"))

    def test_it_reads_nothing(self, spark: SparkSession, tmp_path: Path) -> None:
        for reader in (spark.read, spark.read.schema("id long")):
            with pytest.raises(Exception, match=r"spark\.read\.parquet\(url\) does"):
                reader.format("fsspec_commit").load(str(tmp_path)).collect()
