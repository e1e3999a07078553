"""Other versions of Spark, of both Scalas, by the one jar and without it: a job of each kind."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.servers.plugin import available_or_skip
from tests.servers.pyspark_versions import PYSPARK_VERSIONS
from tests.spark.own_session import OwnSession

if TYPE_CHECKING:
    from tests.servers.installation import PythonPackage

ROOT = Path(__file__).parents[2]
SCENE = """
from pathlib import Path

def seen():
    found = spark.read.parquet(out).collect()
    print("said:", json.dumps(sorted((row.id, row.g) for row in found)))

print("said:", spark.version)
rows = spark.range(6).repartition(2).selectExpr("id", "id % 3 AS g")
rows.write.partitionBy("g").parquet(out)
rows.where("id < 2").write.partitionBy("g").mode("append").parquet(out)
seen()
new = spark.range(10, 12).selectExpr("id", "1L AS g")
dynamic = new.write.partitionBy("g").mode("overwrite").option("partitionOverwriteMode", "dynamic")
dynamic.parquet(out)
seen()
failing = spark.range(3).selectExpr("IF(id >= 0, raise_error('no such row'), id) AS id", "1L AS g")
for mode in ("append", "overwrite"):
    try:
        failing.write.partitionBy("g").mode(mode).parquet(out)
    except Exception as error:
        assert "no such row" in str(error), error
seen()
due = {"nth": 20, "when": "before", "jvm": False, "child": True}
Path(out).with_name("due.json").write_text(json.dumps(due))
new.write.partitionBy("g").mode("overwrite").parquet(out)
seen()
spark.range(3).write.mode("ignore").parquet(out)
spark.sql("CREATE TABLE t (id INT, g INT, h INT) USING parquet PARTITIONED BY (g, h)")
spark.sql("INSERT INTO t VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1)")
spark.sql("INSERT OVERWRITE t PARTITION (g = 1, h) VALUES (4, 7)")
spark.sql("INSERT OVERWRITE t PARTITION (g = 9, h) VALUES (5, 8)")
print("said:", json.dumps(sorted(map(tuple, spark.table("t").collect()))))
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", PYSPARK_VERSIONS, ids=lambda version: version.version)
def test_a_job_of_each_kind(tmp_path: Path, version: PythonPackage) -> None:
    python = available_or_skip(lambda: str(version.program))
    session = OwnSession(tmp_path, python=python)
    script = session.run(SCENE)
    assert script.status == 0, script.printed
    assert script.lines() == [
        version.version,
        "[[0, 0], [0, 0], [1, 1], [1, 1], [2, 2], [3, 0], [4, 1], [5, 2]]",
        "[[0, 0], [0, 0], [2, 2], [3, 0], [5, 2], [10, 1], [11, 1]]",
        "[[0, 0], [0, 0], [2, 2], [3, 0], [5, 2], [10, 1], [11, 1]]",
        "[[10, 1], [11, 1]]",
        "[[3, 2, 1], [4, 1, 7], [5, 9, 8]]",
    ]
    # The plan of each was read, which is no public part of any version.
    assert session.faults.modes() == [
        "error",
        "append",
        "overwrite_partitions",
        "append",
        "overwrite",
        "overwrite",
        "append",
        "overwrite_partitions",
        "overwrite_partitions",
    ]
    assert len(session.faults.pids()) == 2
    assert fc.jobs(str(session.out)) == []


WITHOUT_THE_JAR = """
import fsspec_commit as fc

def by_write(frame, place, mode):
    fc.spark.write(frame, place, mode=mode, partition_by="g")

def by_data_source(frame, place, mode):
    writer = frame.write.format("fsspec_commit").option("partition_by", "g").option("mode", mode)
    writer.mode("overwrite" if mode.startswith("overwrite") else "append").save(place)

def seen(place):
    found = spark.read.parquet(place)
    print("said:", json.dumps(sorted((row.id, row.g, row.t) for row in found.collect())))
    return found

print("said:", spark.version)
ways = {"write": by_write}
try:
    fc.spark.register(spark)
    ways["source"] = by_data_source
except fc.RequestError as error:
    print("said:", error.kind)
rows = spark.range(6).repartition(2).selectExpr("id", "id % 3 AS g", "cast(id AS string) AS t")
days = spark.sql("SELECT 1L AS id, 1L AS g, 'x' AS t, interval '2' day AS d, date'1582-10-10' AS c")
failing = spark.range(60_000).selectExpr(
    "IF(id = 50000, raise_error('no such row'), id) AS id", "1L AS g", "'x' AS t")
for way, write in ways.items():
    place = f"{out}/{way}"
    write(rows, place, "error")
    write(rows.where("id < 2"), place, "append")
    write(rows.where("id = 4"), place, "overwrite_partitions")
    seen(place)
    for mode in ("append", "overwrite"):
        try:
            write(failing, place, mode)
        except Exception as error:
            assert "no such row" in str(error), error
    seen(place)
    write(days, place, "overwrite")
    assert seen(place).dtypes[2:4] == days.dtypes[3:]
    assert str(seen(place).collect()) == str(days.select("id", "t", "d", "c", "g").collect())
    write(rows.where("id < 0"), place, "overwrite")
    print("said:", [one.state for one in fc.jobs(place)])

fc.spark.write(spark.range(4), f"{out}/days")
fc.spark.write(spark.range(0), f"{out}/days", mode="append")
stream = spark.readStream.schema("id long").parquet(f"{out}/days").writeStream
copy = fc.spark.foreach_batch(f"{out}/copy", stream_id="copy")
stream = stream.foreachBatch(copy).option("checkpointLocation", f"{out}/checkpoint")
stream.trigger(availableNow=True).start().awaitTermination()
print("said:", spark.read.parquet(f"{out}/copy").count())
"""


@pytest.mark.slow
@pytest.mark.parametrize("version", PYSPARK_VERSIONS, ids=lambda version: version.version)
def test_the_ways_without_the_jar(tmp_path: Path, version: PythonPackage) -> None:
    python = available_or_skip(lambda: str(version.program))
    # After that environment's own packages: its PySpark is the one, and it has no other.
    ours = [str(ROOT), str(ROOT / "stores"), *filter(None, sys.path)]
    (tmp_path / "also").mkdir()
    (tmp_path / "also" / "sitecustomize.py").write_text(
        f"import sys\nsys.path += {ours}\n", "utf-8"
    )
    session = OwnSession(
        tmp_path, python=python, environment={"PYTHONPATH": str(tmp_path / "also")}
    )
    script = session.run(WITHOUT_THE_JAR)
    assert script.status == 0, script.printed
    ways = 1 if version.version.startswith("3.5") else 2
    rows = '[[0, 0, "0"], [0, 0, "0"], [2, 2, "2"], [3, 0, "3"], [4, 1, "4"], [5, 2, "5"]]'
    of_a_way = [rows, rows, *2 * ['[[1, 1, "x"]]'], "[]"]
    begin = [version.version, *(["missing_package"] if ways == 1 else [])]
    assert script.lines() == [*begin, *ways * of_a_way, "4"]
