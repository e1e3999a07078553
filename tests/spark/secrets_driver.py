"""A Spark driver that is given secrets on its standard input, and writes, fails and is refused.

python secrets_driver.py PLACE, with one line of JSON: the destination, Hadoop's settings with their
secrets, some that are refused, what is written without the jar, and the class path of Hadoop's
drivers.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame, SparkSession

DRIVER_PROCESS = "fsspec_commit.engines.spark.driver_process"
LOGGER = "io.github.fsspec_commit"


def session(place: Path, class_path: str) -> SparkSession:
    from pyspark.sql import SparkSession

    import fsspec_commit as fc
    from fsspec_commit.engines.spark.session import PROTOCOL_CLASS
    from tests.spark.conftest import COMMIT_PROTOCOL, SETTINGS

    (place / "events").mkdir()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]")
    settings = {
        **SETTINGS,
        COMMIT_PROTOCOL: PROTOCOL_CLASS,
        "spark.driver.extraClassPath": class_path,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{place}/events",
        "spark.local.dir": str(place / "local"),
        "spark.log.level": "INFO",
        "spark.sql.warehouse.dir": str(place / "warehouse"),
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return fc.spark.configure(builder).getOrCreate()


def failed(call: Callable[[], object]) -> None:
    """Show all that can be seen of the failure."""
    try:
        call()
    except Exception as error:  # noqa: BLE001  # whatever it is, it is looked at
        traceback.print_exc()
        java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        print("failed", error, java, flush=True)
    else:
        raise AssertionError("it was not refused")


def kill_driver_process() -> None:
    found = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True
    )
    jvm = {line.split()[0] for line in found.stdout.splitlines() if f" {os.getpid()} " in line}
    for line in found.stdout.splitlines():
        pid, parent, arguments = line.split(None, 2)
        if parent in jvm and DRIVER_PROCESS in arguments:
            os.kill(int(pid), signal.SIGKILL)


def keep_protocol(spark: SparkSession, url: str, place: Path) -> None:
    """What every task is sent, as bytes."""
    jvm: Any = spark.sparkContext._jvm
    protocol = jvm.io.github.fsspec_commit.spark.FsspecCommitProtocol("an-id", f"{url}/sent")
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    job = jvm.org.apache.hadoop.mapreduce.Job.getInstance(conf)
    protocol.setupJob(job)
    sent = jvm.org.apache.commons.lang3.SerializationUtils.serialize(protocol)
    (place / "protocol").write_bytes(bytes(sent))
    protocol.abortJob(job)


def forget_driver(spark: SparkSession, url: str) -> None:
    """Hadoop keeps one for each bucket, with the settings of its first use."""
    jvm: Any = spark.sparkContext._jvm
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    jvm.org.apache.hadoop.fs.Path(url).getFileSystem(conf).close()


def write(spark: SparkSession, url: str, refused: Mapping[str, str]) -> None:
    frame = spark.range(10).repartition(2)
    frame.write.parquet(f"{url}/a")
    kill_driver_process()
    frame.write.mode("overwrite").parquet(f"{url}/a")
    failing = frame.selectExpr("IF(id = 3, raise_error('no such row'), id) AS id")
    failed(lambda: failing.write.parquet(f"{url}/b"))
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    forget_driver(spark, url)
    for name, value in refused.items():
        conf.set(name, value)
    failed(lambda: frame.write.parquet(f"{url}/c"))
    for name in refused:
        conf.unset(name)
    forget_driver(spark, url)


def write_without_the_jar(spark: SparkSession, url: str, options: Mapping[str, object]) -> None:
    """With options that are shared, so that every task is sent them."""
    import fsspec_commit as fc

    frame = spark.range(10).repartition(2)
    failing = frame.selectExpr("IF(id = 3, raise_error('no such row'), id) AS id")
    fc.spark.write(frame, url, storage_options=options, share_secrets=True)

    def write(frame: DataFrame, **changed: object) -> None:
        how = {**options, **changed}
        fc.spark.write(frame, url, mode="append", storage_options=how, share_secrets=True)

    failed(lambda: write(failing))
    failed(lambda: write(frame, endpoint_url="http://127.0.0.1:1"))


def main() -> None:
    place, given = Path(sys.argv[1]), json.loads(sys.stdin.readline())
    spark = session(place, given["class_path"])
    jvm: Any = spark.sparkContext._jvm
    level = jvm.org.apache.logging.log4j.Level.ALL
    jvm.org.apache.logging.log4j.core.config.Configurator.setLevel(LOGGER, level)
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in given["settings"].items():
        conf.set(name, value)
    write(spark, given["url"], given["refused"])
    keep_protocol(spark, given["url"], place)
    write_without_the_jar(spark, **given["shared"])
    spark.stop()
    print("done", flush=True)


if __name__ == "__main__":
    main()
