"""Writes that cannot be committed safely: each is refused in a sentence, and nothing has begun."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

import fsspec_commit as fc
from tests.scenes.remotes import on
from tests.spark.conftest import PYTHON
from tests.spark.own_session import await_end

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.driver_faults import DriverFaults
    from tests.spark.places import SparkPlace

# The file system of local files that runs is kept by Hadoop, whatever the setting says.
LOCAL = {
    "Comet": ({"spark.comet.parquet.write.enabled": "true"}, "Comet writes files past .* to false"),
    "Comet by its other name": (
        {"spark.comet.write.parquet.enabled": "true"},
        "Comet writes files past .* to false",
    ),
    "Gluten": (
        {"spark.gluten.sql.native.writer.enabled": "true"},
        "Gluten writes files past .* to false",
    ),
}
S3A = {
    "magic is off": (
        {"fs.s3a.committer.magic.enabled": "false"},
        "show each file .* set it to true",
    ),
    "magic is off for the bucket": (
        {"fs.s3a.bucket.b.committer.magic.enabled": "false"},
        "show each file .* set it to true",
    ),
    "uploads are kept in memory": (
        {"fs.s3a.committer.magic.track.commits.in.memory.enabled": "true"},
        "known to its own JVM alone; set it to false",
    ),
}
# Nobody is there, and nobody is asked.
NOBODY = {
    "fs.s3a.endpoint": "http://127.0.0.1:9",
    "fs.s3a.endpoint.region": "eu-central-1",
    "fs.s3a.access.key": "a",
    "fs.s3a.secret.key": "b",
}


def configuration(spark: SparkSession, settings: Mapping[str, str]) -> Any:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    conf = jvm.org.apache.hadoop.conf.Configuration(spark.sparkContext._jsc.hadoopConfiguration())
    for name, value in settings.items():
        conf.set(name, value)
    return conf


def refusal(spark: SparkSession, url: str, settings: Mapping[str, str], job: str = "a") -> str:
    """Ask the protocol to begin a job, as Spark does; what it says."""
    from pyspark.errors import QueryExecutionException

    jvm = spark.sparkContext._jvm
    assert jvm is not None
    conf = configuration(spark, settings)
    protocol = jvm.io.github.fsspec_commit.spark.FsspecCommitProtocol(job, url)
    context = jvm.org.apache.hadoop.mapreduce.Job.getInstance(conf)
    with pytest.raises(QueryExecutionException) as raised:
        protocol.setupJob(context)
    protocol.abortJob(context)
    return str(raised.value)


def test_options_of_a_job_by_wrong_names(committing: SparkSession, tmp_path: Path) -> None:
    """PySpark shows each refusal in a line, without the stack of Java."""
    out = str(tmp_path / "out")
    for name, said in {
        "fsspec_commit.durabilty": "there is no setting .*did you mean 'durability'",
        "idempotency_key": 'its name is "fsspec_commit.idempotency_key"',
        "FSSPEC_COMMIT.Wait_S": "is a number, not 'k'",
    }.items():
        with pytest.raises(Exception, match=said) as raised:
            committing.range(1).write.option(name, "k").parquet(out)
        assert re.fullmatch("fsspec-commit: .*", str(raised.value))
    for name in ("fsspec_commit.idempotency_key", "Fsspec_Commit.Idempotency_Key"):
        committing.range(1).write.mode("append").option(name, "k").parquet(out)
    assert committing.read.parquet(out).count() == 1


@pytest.mark.parametrize("case", LOCAL)
def test_who_would_write_past_the_protocol(
    committing: SparkSession, driver_faults: DriverFaults, tmp_path: Path, case: str
) -> None:
    settings, sentence = LOCAL[case]
    committing.range(1).write.parquet(str(tmp_path / "other"))
    jobs = len(driver_faults.modes())
    assert re.search(sentence, refusal(committing, str(tmp_path / "out"), settings))
    assert len(driver_faults.modes()) == jobs
    assert not (tmp_path / "out").exists()


def test_a_native_writer_that_a_session_turns_on(committing: SparkSession, tmp_path: Path) -> None:
    name = "spark.comet.parquet.write.enabled"
    committing.conf.set(name, "true")
    try:
        with pytest.raises(Exception, match="Comet writes files past the commit protocol"):
            committing.range(1).write.parquet(str(tmp_path / "out"))
    finally:
        committing.conf.unset(name)
    assert not (tmp_path / "out").exists()


def test_gluten_writes_unless_it_is_told_not_to(committing: SparkSession, tmp_path: Path) -> None:
    started_with = committing.sparkContext._jsc.sc().conf()
    started_with.set("spark.plugins", "org.apache.gluten.GlutenPlugin")
    name = "spark.gluten.sql.native.writer.enabled"
    try:
        with pytest.raises(Exception, match=f"Gluten writes files past .* {name} to false"):
            committing.range(1).write.parquet(str(tmp_path / "out"))
        committing.conf.set(name, "false")
        committing.range(1).write.parquet(str(tmp_path / "out"))
    finally:
        started_with.remove("spark.plugins")
        committing.conf.unset(name)


@pytest.mark.parametrize("case", S3A)
def test_uploads_that_nobody_else_could_complete(
    committing: SparkSession, spark_jars: str, case: str
) -> None:
    settings, sentence = S3A[case]
    new = {"fs.s3a.impl.disable.cache": "true"}
    said = refusal(committing, "s3a://b/out", {**NOBODY, **new, **settings})
    assert re.search(sentence, said), said


def test_what_is_set_after_hadoop_has_made_its_driver_is_none_of_it(
    committing: SparkSession, spark_jars: str
) -> None:
    """Spark writes on by the driver that is kept: so the same settings say how to commit."""
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    settings, sentence = S3A["magic is off"]
    first = configuration(committing, {**NOBODY, **settings})
    kept = jvm.org.apache.hadoop.fs.Path("s3a://kept/out").getFileSystem(first)
    try:
        said = refusal(committing, "s3a://kept/out", NOBODY)
        assert re.search(sentence, said), said
    finally:
        kept.close()


def test_a_driver_says_what_it_is(committing: SparkSession, spark_jars: str) -> None:
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    found = []
    for scheme in ("file", "s3a"):
        conf = configuration(committing, {})
        driver = jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, conf)
        found.append(dict(jvm.io.github.fsspec_commit.spark.DriverClass.factsOf(driver)))
    disk, s3a = found
    hadoop = "org.apache.hadoop.fs"
    # Hive has one in front.
    names = [f"{hadoop}.{name}FileSystem" for name in ("Local", "Checksum", "Filter")]
    assert disk["spark.fsspec_commit.driver"].split(",")[-3:] == names
    assert s3a == {
        "spark.fsspec_commit.driver": f"{hadoop}.s3a.S3AFileSystem",
        "spark.fsspec_commit.magic": "true",
    }


@on("ministack")
def test_a_task_whose_s3a_has_written_a_file_does_not_commit(
    committing: SparkSession, spark_place: SparkPlace
) -> None:
    """On an executor with settings of its own: the file would be no part of the job."""
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    hadoop = jvm.org.apache.hadoop
    off = {"fs.s3a.committer.magic.enabled": "false", "fs.s3a.impl.disable.cache": "true"}
    conf = configuration(committing, off)
    job = hadoop.mapreduce.Job.getInstance(configuration(committing, {}))
    protocol = jvm.io.github.fsspec_commit.spark.FsspecCommitProtocol("a", spark_place.url)
    protocol.setupJob(job)
    try:
        attempt = hadoop.mapreduce.TaskAttemptID("1", 1, hadoop.mapreduce.TaskType.MAP, 0, 0)
        context = hadoop.mapreduce.task.TaskAttemptContextImpl(conf, attempt)
        protocol.setupTask(context)
        path = hadoop.fs.Path(protocol.newTaskTempFile(context, jvm.scala.Option.empty(), ".csv"))
        system = path.getFileSystem(conf)
        system.create(path).close()
        with pytest.raises(Exception, match="as a file, and not as an upload"):
            protocol.commitTask(context)
        system.close()
    finally:
        protocol.abortJob(job)


def test_a_directory_that_hive_moves(committing: SparkSession, tmp_path: Path) -> None:
    staging = tmp_path / "t" / ".hive-staging_hive_2026-11-23" / "-ext-10000"
    said = refusal(committing, str(staging), {})
    assert re.search("Hive moves the files .*convertMetastoreParquet", said)
    said = refusal(committing, str(tmp_path / "s" / "x"), {"hive.exec.stagingdir": "/a/s"})
    assert "Hive moves the files" in said
    assert list(tmp_path.iterdir()) == []


def test_a_scheme_that_nobody_can_commit_on(committing: SparkSession) -> None:
    said = refusal(committing, "http://127.0.0.1:9/out", {})
    assert re.search("http", said), said
    assert "fsspec-commit: " in said


def test_an_instance_begins_one_job(committing: SparkSession, tmp_path: Path) -> None:
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    context = jvm.org.apache.hadoop.mapreduce.Job.getInstance(
        committing.sparkContext._jsc.hadoopConfiguration()
    )
    protocol = jvm.io.github.fsspec_commit.spark.FsspecCommitProtocol("a", str(tmp_path / "out"))
    protocol.abortJob(context)  # Before it has begun there is nothing to abort.
    protocol.setupJob(context)
    with pytest.raises(Exception, match="began already"):
        protocol.setupJob(context)
    local = jvm.org.apache.hadoop.fs.FileSystem.getLocal(context.getConfiguration())
    with pytest.raises(Exception, match="before the job begins"):
        protocol.deleteWithJob(local, jvm.org.apache.hadoop.fs.Path(str(tmp_path / "out")), True)
    protocol.abortJob(context)
    protocol.abortJob(context)
    assert not (tmp_path / "out").exists()


def test_sparks_streaming_sink(committing: SparkSession, tmp_path: Path) -> None:
    """Its readers go by a log of its own, and would see nothing."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "1.csv").write_text("1\n")
    name = "spark.sql.streaming.commitProtocolClass"
    committing.conf.set(name, committing.conf.get("spark.sql.sources.commitProtocolClass") or "")
    out = tmp_path / "out"
    try:
        frame = committing.readStream.schema("id long").csv(str(tmp_path / "source"))
        writer = frame.writeStream.format("parquet").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "c")).start(str(out))
        with pytest.raises(Exception, match="write each batch in foreachBatch"):
            query.awaitTermination()
    finally:
        committing.conf.unset(name)
    assert not list(out.rglob("*.parquet"))
    assert fc.jobs(str(out)) == []


@pytest.fixture
def elsewhere(committing: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A table with a partition that is kept elsewhere."""
    name = f"t{uuid4().hex}"
    sql = committing.sql
    sql(f"CREATE TABLE {name} (id INT, g INT) USING parquet PARTITIONED BY (g)")
    sql(f"INSERT INTO {name} VALUES (0, 0), (1, 1)")
    sql(f"ALTER TABLE {name} ADD PARTITION (g = 7) LOCATION '{tmp_path / 'seven'}'")
    yield name
    sql(f"DROP TABLE {name}")


@pytest.mark.parametrize(
    "write",
    [
        "INSERT INTO {} VALUES (2, 0), (3, 7)",
        "INSERT INTO {} PARTITION (g = 7) VALUES (3)",
        "INSERT OVERWRITE {} PARTITION (g = 7) VALUES (3)",
        "INSERT OVERWRITE {} VALUES (2, 0), (3, 7)",
    ],
)
def test_a_partition_that_is_kept_elsewhere(
    committing: SparkSession, elsewhere: str, tmp_path: Path, write: str
) -> None:
    with pytest.raises(Exception, match="ALTER TABLE … PARTITION"):
        committing.sql(write.format(elsewhere))
    table = committing.table(elsewhere)
    assert sorted(tuple(row) for row in table.collect()) == [(0, 0), (1, 1)]
    assert not list(tmp_path.rglob("*.parquet"))


# Without the Python that commits.


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("exit 3", r"cannot start the Python that commits \(it said nothing\)"),
        ("echo 'No module named fsspec_commit' >&2; exit 1", "No module named fsspec_commit"),
        ("echo hello; exit 1", r"cannot start the Python that commits \(hello\)"),
        ("exec yes", r"cannot start the Python that commits \(y\)"),
        (
            """echo '{"protocol": 99, "version": "9.9"}'; exec sleep 600""",
            r"9\.9 of .* of different releases",
        ),
        pytest.param("exec sleep 600", "it said nothing for 120 s", marks=pytest.mark.slow),
    ],
)
def test_a_python_that_cannot_commit(
    committing: SparkSession, started_with: Any, tmp_path: Path, script: str, sentence: str
) -> None:
    python, pid = tmp_path / "python", tmp_path / "pid"
    python.write_text(f"#!/bin/sh\necho $$ > {pid}\n{script}\n")
    python.chmod(0o755)
    started_with.set(PYTHON, str(python))
    with pytest.raises(Exception, match=sentence):
        committing.range(1).write.parquet(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    await_end(int(pid.read_text()))


def test_a_python_that_is_not_there(
    committing: SparkSession, started_with: Any, tmp_path: Path
) -> None:
    started_with.set(PYTHON, str(tmp_path / "no" / "python"))
    command = f"Try it: {tmp_path}/no/python -P -m .*driver_process --check"
    with pytest.raises(Exception, match=command):
        committing.range(1).write.parquet(str(tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_who_may_change_a_session_does_not_choose_what_is_run(
    committing: SparkSession, started_with: Any, tmp_path: Path
) -> None:
    python, ran = tmp_path / "python", tmp_path / "ran"
    python.write_text(f"#!/bin/sh\ntouch {ran}\n")
    python.chmod(0o755)
    before = committing.conf.get(PYTHON)
    committing.conf.set(PYTHON, str(python))
    try:
        writer = committing.range(3).write.option("fsspec_commit.python", str(python))
        writer.option(PYTHON, str(python)).parquet(str(tmp_path / "out"))
        committing.sql(f"SET {PYTHON}={python}")
        committing.range(3).write.mode("append").parquet(str(tmp_path / "out"))
    finally:
        committing.conf.set(PYTHON, before or "")
    assert committing.read.parquet(str(tmp_path / "out")).count() == 6
    assert not ran.exists()
