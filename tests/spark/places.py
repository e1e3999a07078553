"""Where a Spark job of the tests writes: a store of `remote`, reached by Hadoop's own driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.scenes.remotes import Remote
from tests.servers.hadoop import on_azure, on_gcs, on_s3

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class SparkPlace:
    """A destination on a store.

    Attributes:
        url: As Hadoop names it, with `s3a:`, `abfs:`, `gs:` or `hdfs:`.
        settings: Of Hadoop's driver; nothing in them is about committers.
        remote: The same bucket for those who do not come by Hadoop.
    """

    url: str
    settings: Mapping[str, str]
    remote: Remote


def place_of(remote: Remote, *, endpoint_url: str | None = None) -> SparkPlace:
    """A destination in the test's bucket, reached at its server or at *endpoint_url*, a proxy's."""
    at = remote.endpoint_url if endpoint_url is None else endpoint_url
    if remote.name in {"strict-gcs", "fake-gcs-server"}:
        return SparkPlace(remote.url, on_gcs.connection_of(at), remote)
    if remote.name == "gen2":
        url = on_azure.url_of(remote.server, remote.bucket.name, "out")
        return SparkPlace(url, on_azure.connection_of(remote.server, at), remote)
    if remote.name == "hdfs":
        return SparkPlace(remote.url, {}, remote)
    options = {**remote.options, "endpoint_url": at}
    url = f"s3a://{remote.bucket.name}/out"
    return SparkPlace(url, on_s3.connection_of(options), remote)


@contextmanager
def hadoop_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set them for every job of this JVM, and put back what was there."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    before = {name: conf.getRaw(name) for name in settings}
    for name, value in settings.items():
        conf.set(name, value)
    yield
    for name, value in before.items():
        if value is None:
            conf.unset(name)
        else:
            conf.set(name, value)


def close_filesystem(spark: SparkSession, url: str) -> None:
    """Else Hadoop keeps the bucket's driver, with its threads and connections, until the end."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    jvm.org.apache.hadoop.fs.Path(url).getFileSystem(conf).close()
