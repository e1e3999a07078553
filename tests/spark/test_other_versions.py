"""The one jar in other versions of Spark, of both Scalas: a session, a job of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.servers.plugin import available_or_skip
from tests.servers.pyspark_versions import PYSPARK_VERSIONS
from tests.spark.own_session import OwnSession

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers.installation import PythonPackage

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
