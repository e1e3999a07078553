"""A real Spark in this process's JVM: one session for all tests of a worker."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.session import PROTOCOL_CLASS
from tests.servers.hadoop.bare_disk import BARE_DISK
from tests.servers.hadoop.on_gcs import HADOOP_ON_GCS
from tests.servers.hadoop.on_spark import HADOOP_ON_SPARK
from tests.servers.installation import ServerUnavailableError
from tests.servers.plugin import available_or_skip
from tests.spark.acted_process import ActedProcess
from tests.spark.driver_faults import DriverFaults
from tests.spark.places import close_filesystem, hadoop_settings, place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

    from tests.scenes.remotes import Remote
    from tests.spark.acted_process import Play
    from tests.spark.places import SparkPlace

PYTHON = "spark.fsspec_commit.python"
COMMIT_PROTOCOL = "spark.sql.sources.commitProtocolClass"
PLAIN_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.log.level": "OFF",
    # Spark's own committers: 4.1 and later bind Hadoop's for every store, of whatever scheme, as
    # soon as its cloud module is on the class path.
    COMMIT_PROTOCOL: (
        "org.apache.spark.sql.execution.datasources.SQLHadoopMapReduceCommitProtocol"
    ),
    "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
    "spark.hadoop.fs.s3a.committer.name": "file",
}
# Tests write a few rows each: to compile code for them takes longer than to be without.
SETTINGS = {
    **PLAIN_SETTINGS,
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/spark/"):
            item.add_marker(pytest.mark.spark)


@pytest.fixture(scope="session", autouse=True)
def _java_in_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Each JVM of a session keeps its temporary files where those of the tests are.

    One that is killed leaves them, and some of Spark and of its libraries outlive one that is not.
    """
    place = tmp_path_factory.mktemp("java")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", f"-Djava.io.tmpdir={place}")
        yield


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session of two threads, whose settings a test leaves as it found them."""
    if shutil.which("java") is None:
        reason = "Spark needs Java, which is not here"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    place: Path = tmp_path_factory.mktemp("spark")
    builder = SparkSession.builder.master("local[2,2]").appName("fsspec-commit")
    with suppress(FileNotFoundError):  # The package was built without Java.
        builder = fc.spark.configure(builder)
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    builder = builder.config("spark.sql.warehouse.dir", str(place / "warehouse"))
    builder = builder.config("spark.local.dir", str(place / "local"))
    builder = builder.config("spark.driver.extraClassPath", os.pathsep.join(_drivers()))
    python = DriverFaults(place).install()
    session = builder.config(PYTHON, python).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def committing(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, whose own writers commit through this library: the jar is in use."""
    fc.spark.jar()
    spark.conf.set(COMMIT_PROTOCOL, PROTOCOL_CLASS)
    yield spark
    spark.conf.set(COMMIT_PROTOCOL, SETTINGS[COMMIT_PROTOCOL])


def _drivers() -> Iterator[str]:
    """Hadoop's drivers of stores that are installed here, in front of Spark's own jars."""
    try:
        yield _class_path()
        # Google's is 41 MB, and installed for what runs by night; so is that of bare disks.
        yield from map(str, (HADOOP_ON_GCS.program.parents[1] / "lib").glob("gcs-connector-*.jar"))
        yield str(BARE_DISK.program.parents[1] / "lib" / "*")
    except ServerUnavailableError:
        pass


def _class_path() -> str:
    """Raises: ServerUnavailableError: they are not installed."""
    return str(HADOOP_ON_SPARK.program.parents[1] / "lib" / "*")


@pytest.fixture(scope="session")
def spark_jars() -> str:
    """The class path of Hadoop's drivers of s3a: and abfs:, and of Spark's cloud module.

    It is on that of `spark`. Who starts a Spark of his own gives it as
    `spark.driver.extraClassPath`, and as `spark.executor.extraClassPath` on a cluster.
    """
    return available_or_skip(_class_path)


@pytest.fixture
def spark_place(spark: SparkSession, spark_jars: str, remote: Remote) -> Iterator[SparkPlace]:
    """A destination on the store that the test names by `on`, which any job of `spark` reaches."""
    if remote.name in {"strict-gcs", "fake-gcs-server"}:
        available_or_skip(lambda: HADOOP_ON_GCS.program)
    place = place_of(remote)
    with hadoop_settings(spark, place.settings):
        yield place
        close_filesystem(spark, place.url)


@pytest.fixture
def driver_faults(committing: SparkSession) -> Iterator[DriverFaults]:
    """Ends of the session's driver process; none is left to happen in another test."""
    python = committing.sparkContext.getConf().get(PYTHON)
    assert python is not None
    faults = DriverFaults(Path(python).parent)
    yield faults
    faults.withdraw()


@pytest.fixture
def started_with(committing: SparkSession) -> Iterator[Any]:
    """What Spark was started with, changed by the test, and put back."""
    conf = committing.sparkContext._jsc.sc().conf()
    before = conf.get(PYTHON)
    yield conf
    conf.set(PYTHON, before)


@pytest.fixture
def acted(started_with: Any, tmp_path: Path) -> Callable[..., ActedProcess]:
    """Driver processes that play what a test says."""

    def play(*plays: Play) -> ActedProcess:
        process = ActedProcess(tmp_path, *plays)
        started_with.set(PYTHON, str(process.python))
        return process

    return play
