"""Whoever hosts Spark, no PySpark beside it: Java, Scala, SQL, a Thrift server, Connect."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

import fsspec_commit as fc
from tests.servers.ports import free_ports
from tests.spark.cluster import HOME
from tests.spark.own_session import WAIT_S, OwnSession, is_running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JAVA = """
import org.apache.spark.sql.SparkSession;

public class Program {
  public static void main(String[] arguments) {
    SparkSession spark = SparkSession.builder().getOrCreate();
    spark.range(4).write().parquet(arguments[0]);
    spark.range(4, 6).write().mode("append").parquet(arguments[0]);
    spark.stop();
  }
}
"""
SCALA = """
import org.apache.spark.sql.SparkSession

object Program {
  def main(arguments: Array[String]): Unit = {
    val spark = SparkSession.builder.getOrCreate()
    import spark.implicits._
    (0 until 4).toDF("id").write.parquet(arguments(0))
    Seq(4, 5).toDF("id").write.mode("append").parquet(arguments(0))
    spark.stop()
  }
}
"""
CONNECT = """
from pyspark.sql.connect.session import SparkSession as Connected
assert isinstance(spark, Connected)
spark.conf.set("spark.fsspec_commit.python", "/not/there")
spark.range(4).write.parquet(out)
spark.range(7, 9).write.mode("overwrite").parquet(out)
try:
    spark.range(3).selectExpr("IF(id >= 0, raise_error('no such row'), id) AS id").write.mode(
        "append").parquet(out)
except Exception as error:
    print("said:", "no such row" in str(error))
"""


WITHOUT_THE_JAR = """
import fsspec_commit as fc
fc.spark.register(spark)
print("said:", fc.spark.write(spark.range(4), out).rows)
fc.spark.write(spark.range(0).where("false"), out, mode="append")
spark.range(7, 9).write.format("fsspec_commit").mode("append").save(out)
failing = spark.range(60_000).selectExpr("IF(id = 50000, raise_error('no such row'), id) AS id")
for write in (lambda: fc.spark.write(failing, out, mode="overwrite"),
              lambda: failing.write.format("fsspec_commit").mode("overwrite").save(out)):
    try:
        write()
    except Exception as error:
        print("said:", "no such row" in str(error))
stream = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1).parquet(out).writeStream
stream = stream.foreachBatch(fc.spark.foreach_batch(f"{out}-copy", stream_id="copy"))
stream = stream.option("checkpointLocation", f"{out}-checkpoint").trigger(availableNow=True)
stream.start().awaitTermination()
print("said:", sorted(row.id for row in spark.read.parquet(f"{out}-copy").collect()))
"""


def rows(out: Path) -> list[int]:
    read: list[int] = pq.read_table(out)["id"].to_pylist()
    return sorted(read)


def settings_of(session: OwnSession) -> list[str]:
    return [word for item in session.settings.items() for word in ("--conf", "=".join(item))]


def environment() -> dict[str, str]:
    """No interpreter is named but by our setting."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    return {**kept, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}


def run(place: Path, *command: str) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=place,
        env=environment(),
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def compile_it(place: Path, name: str) -> None:
    """Compile a program beside Spark's jars, which have Scala's compiler among them."""
    jars = f"{HOME}/jars/*"
    if name.endswith(".java"):
        run(place, "javac", "-proc:none", "-cp", jars, name)
    else:
        run(place, "java", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", name)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "text"), [("Program.java", JAVA), ("Program.scala", SCALA)])
def test_a_program(tmp_path: Path, name: str, text: str) -> None:
    session = OwnSession(tmp_path)
    (tmp_path / name).write_text(text)
    compile_it(tmp_path, name)
    with zipfile.ZipFile(tmp_path / "program.jar", "w") as jar:
        for path in tmp_path.glob("*.class"):
            jar.write(path, path.name)
    submit = (str(HOME / "bin" / "spark-submit"), "--class", "Program", *settings_of(session))
    run(tmp_path, *submit, str(tmp_path / "program.jar"), str(session.out))
    session.await_driver_processes()
    assert rows(session.out) == [*range(6)]
    assert session.faults.modes() == ["error", "append"]
    assert fc.jobs(str(session.out)) == []


@pytest.mark.slow
def test_statements_of_spark_sql(tmp_path: Path) -> None:
    session = OwnSession(tmp_path)
    statements = (
        f"CREATE TABLE t (id INT) USING parquet LOCATION '{session.out}';"
        "INSERT INTO t VALUES (1), (2); INSERT INTO t VALUES (3);"
        "INSERT OVERWRITE t VALUES (12), (13);"
        "SELECT count(*) FROM t;"
    )
    run(tmp_path, str(HOME / "bin" / "spark-sql"), *settings_of(session), "-e", statements)
    session.await_driver_processes()
    assert rows(session.out) == [12, 13]
    assert session.faults.modes() == ["append", "append", "overwrite"]
    assert fc.jobs(str(session.out)) == []


@pytest.mark.slow
def test_a_hundred_statements_of_a_thrift_server(tmp_path: Path) -> None:
    """Its threads look for the class where the JVM does, and know nothing of `spark.jars`."""
    session = OwnSession(tmp_path, {"spark.driver.extraClassPath": fc.spark.jar()})
    beeline = (str(HOME / "bin" / "beeline"), "-n", "somebody")
    with thrift_server(session) as url:
        create = f"CREATE TABLE t (id INT) USING parquet LOCATION '{session.out}'"
        run(tmp_path, *beeline, "-u", url, "-e", create)
        (tmp_path / "many.sql").write_text(
            "".join(f"INSERT INTO t VALUES ({number});\n" for number in range(100))
        )
        run(tmp_path, *beeline, "-u", url, "-f", str(tmp_path / "many.sql"))
        overwrite = "INSERT OVERWRITE t SELECT CAST(id AS INT) FROM range(3, 100)"
        run(tmp_path, *beeline, "-u", url, "-e", "SELECT count(*) FROM t", "-e", overwrite)
        [pid] = session.faults.pids()
        assert is_running(pid)
    session.await_driver_processes()
    assert rows(session.out) == [*range(3, 100)]
    assert fc.jobs(str(session.out)) == []


@contextmanager
def thrift_server(session: OwnSession) -> Iterator[str]:
    [port] = free_ports(1)
    hive = {"hive.server2.thrift.bind.host": "127.0.0.1", "hive.server2.thrift.port": str(port)}
    given = [word for item in hive.items() for word in ("--hiveconf", "=".join(item))]
    name = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    submit = (str(HOME / "bin" / "spark-submit"), *settings_of(session), "--class", name)
    log = session.place / "server.log"
    with (
        log.open("wb") as printed,
        subprocess.Popen(
            [*submit, "spark-internal", *given],
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=printed,
            cwd=session.place,
            env=environment(),
        ) as server,
    ):
        try:
            deadline = time.monotonic() + WAIT_S
            while not is_listening(port):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield f"jdbc:hive2://127.0.0.1:{port}/default"
        finally:
            server.terminate()


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.slow
def test_spark_connect(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="PySpark's client needs it, and nothing else here does")
    session = OwnSession(tmp_path)
    del session.settings["spark.master"]
    session.settings["spark.remote"] = "local[2]"
    script = session.run(CONNECT)
    assert script.status == 0, script.printed
    assert script.lines() == ["True"]
    assert rows(session.out) == [7, 8]
    assert session.faults.modes() == ["error", "overwrite", "append"]
    assert fc.jobs(str(session.out)) == []


@pytest.mark.slow
def test_spark_connect_without_the_jar(tmp_path: Path) -> None:
    pytest.importorskip("zstandard", reason="PySpark's client needs it, and nothing else here does")
    session = OwnSession(tmp_path)
    del session.settings["spark.master"]
    session.settings["spark.remote"] = "local[2]"
    script = session.run(WITHOUT_THE_JAR)
    assert script.status == 0, script.printed
    assert script.lines() == ["4", "True", "True", "[0, 1, 2, 3, 7, 8]"]
    assert rows(session.out) == [0, 1, 2, 3, 7, 8]
    assert fc.jobs(str(session.out)) == []
