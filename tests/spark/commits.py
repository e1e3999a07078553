"""How jobs of the tests are set up, fail, and what they leave, whoever commits them."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession

FORMATS = ("parquet", "csv", "json", "orc")
SCHEMA = "id long, part long"
PREFIX = "spark.hadoop."


@contextmanager
def settings(spark: SparkSession, named: Mapping[str, str]) -> Iterator[None]:
    """Set them in the session, and put back what was there.

    What a session is started with may be given as it is: in one that runs, Hadoop's names have
    no `spark.hadoop.` in front.
    """
    wanted = {name.removeprefix(PREFIX): value for name, value in named.items()}
    before = {name: spark.conf.get(name, None) for name in wanted}
    for name, value in wanted.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def rows(spark: SparkSession, count: int = 100, parts: int = 5, *, tasks: int = 2) -> DataFrame:
    """So many rows, in so many partitions of `part`."""
    return spark.range(0, count, 1, tasks).selectExpr("id", f"id % {parts} AS part")


def failing_rows(spark: SparkSession) -> DataFrame:
    """The third of three tasks fails, which begins when one of the others has committed."""
    fails = "IF(id = 25, CAST(raise_error('the task fails') AS BIGINT), id) AS id"
    return spark.range(0, 30, 1, 3).selectExpr(fails, "id % 5 AS part")


def count_of(spark: SparkSession, url: str, file_format: str) -> int:
    return spark.read.format(file_format).schema(SCHEMA).load(url).count()


def success_of(spark: SparkSession, url: str) -> dict[str, Any] | None:
    """What `_SUCCESS` says: of Hadoop's committers by the names of its JSON; nothing of others.

    Raises:
        FileNotFoundError: There is none.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(f"{url}/_SUCCESS")
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    filesystem = path.getFileSystem(conf)
    if not filesystem.exists(path):
        raise FileNotFoundError(path.toString())
    stream = filesystem.open(path)
    try:
        text = jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8")
    finally:
        stream.close()
    success: dict[str, Any] | None = json.loads(text) if text else None
    return success


def names_at(spark: SparkSession, url: str) -> list[str]:
    """The names of all files below, those of partitions and of unfinished jobs included."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(url)
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    filesystem = path.getFileSystem(conf)
    if not filesystem.exists(path):
        return []
    files, names = filesystem.listFiles(path, True), []
    while files.hasNext():
        names.append(str(files.next().getPath().getName()))
    return sorted(names)


def data_files(spark: SparkSession, url: str) -> list[str]:
    return [name for name in names_at(spark, url) if name.startswith("part-")]
