"""What the settings of a running JVM are here: the very object that Hadoop sees under its path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.hadoop_settings import PREFIXES, SECRETS, location_of, s3a
from tests.scenes.remotes import on
from tests.spark.acted_process import JobOfNoTasks
from tests.spark.places import hadoop_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.acted_process import ActedProcess
    from tests.spark.places import SparkPlace

# Nothing in a Hadoop path is encoded: each of these is one name, and the name of a file in it.
ODD = ("plain", "a b", "100%", "%20", "ö", "k=1,2+3&c", "a:b", "(x)~!$'")


def settings_of(spark: SparkSession, path: Any) -> dict[str, str]:
    """As the JVM sends them: those of the scheme, with what a credential provider keeps."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    uri = path.toUri()
    prefixes = PREFIXES[uri.getScheme()]
    settings = {}
    for prefix in prefixes:
        for rest, value in dict(conf.getPropsWithPrefix(prefix)).items():
            settings[prefix + rest] = value
    container, _, account = (uri.getAuthority() or "").rpartition("@")
    for pattern in SECRETS:
        name = pattern.format(bucket=uri.getAuthority(), container=container, account=account)
        if name.startswith(prefixes) and (password := conf.getPassword(name)) is not None:
            settings[name] = "".join(password)
    return settings


def hadoop_path(spark: SparkSession, *parts: str) -> Any:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    path = jvm.org.apache.hadoop.fs.Path(parts[0])
    for part in parts[1:]:
        path = jvm.org.apache.hadoop.fs.Path(path, jvm.org.apache.hadoop.fs.Path(None, None, part))
    return path


def characters(spark: SparkSession, text: str) -> Any:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    array = gateway.new_array(gateway.jvm.char, len(text))
    for place, one in enumerate(text):
        array[place] = one
    return array


def check_same_place(spark: SparkSession, above: str, name: str) -> None:
    """A job of ours writes where Hadoop looks."""
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    path = hadoop_path(spark, above, name)
    system = path.getFileSystem(conf)
    path = system.makeQualified(path)
    url, options = location_of(path.toString(), settings_of(spark, path))
    with (
        fc.Job(url, mode="append", names="unique", storage_options=options) as job,
        job.task() as task,
        task.open(f"{name}.csv", "w") as file,
    ):
        file.write("12345\n")
    found = [(one.getPath().getName(), one.getLen()) for one in system.listStatus(path)]
    [(seen, length)] = [one for one in found if not one[0].startswith("_")]
    assert (seen.startswith(name), length) == (True, 6)
    # And the directory itself is called so, not something that is decoded to it.
    assert name in [one.getPath().getName() for one in system.listStatus(path.getParent())]


@on("ministack", "gen2", by_night=("versitygw", "seaweedfs", "strict-gcs", "hdfs"))
def test_hadoop_sees_what_a_job_writes(spark: SparkSession, spark_place: SparkPlace) -> None:
    for name in ODD:
        # HDFS has no name with a colon.
        if spark_place.remote.name != "hdfs" or ":" not in name:
            check_same_place(spark, spark_place.url, name)


def test_on_a_disk_as_well(spark: SparkSession, tmp_path: Path) -> None:
    for name in (*ODD, "a;token=1", "me@x", "#1", "a?b=c"):
        check_same_place(spark, f"file:{tmp_path}", name)


@pytest.mark.parametrize(
    "path",
    [
        "s3a://bucket/out",
        "gs://bucket/out",
        # By its name a test would be given to the worker that has the cluster.
        pytest.param("hdfs://namenode/out", id="NameNode"),
        pytest.param("webhdfs://namenode/out", id="NameNode by its web interface"),
        "file:/out",
    ],
)
def test_nothing_that_hadoop_sets_by_itself_is_refused(spark: SparkSession, path: str) -> None:
    location_of(path, settings_of(spark, hadoop_path(spark, path)))


def test_a_key_that_is_in_a_keystore_alone_is_found(spark: SparkSession, tmp_path: Path) -> None:
    keystore = f"localjceks://file{tmp_path}/keys.jceks"
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    with hadoop_settings(spark, {"hadoop.security.credential.provider.path": keystore}):
        conf = spark.sparkContext._jsc.hadoopConfiguration()
        [provider] = jvm.org.apache.hadoop.security.alias.CredentialProviderFactory.getProviders(
            conf
        )
        for name in ("fs.s3a.bucket.mine.access.key", "fs.s3a.bucket.mine.secret.key"):
            provider.createCredentialEntry(name, characters(spark, name.rpartition(".mine.")[2]))
        provider.flush()
        for bucket, found in (("mine", "access.key"), ("other", None)):
            settings = settings_of(spark, hadoop_path(spark, f"s3a://{bucket}/out"))
            _, options = location_of(f"s3a://{bucket}/out", settings)
            assert options.get("key") == found


def test_keystores_are_those_that_s3a_looks_into(
    committing: SparkSession, acted: Callable[..., ActedProcess], spark_jars: str, tmp_path: Path
) -> None:
    """Its own first, those of all after them; what the jar sends is what it finds."""
    jvm = committing.sparkContext._jvm
    assert jvm is not None
    assert spark_jars
    names = {
        "own": {"fs.s3a.access.key": "own"},
        "all": {"fs.s3a.access.key": "of all", "fs.s3a.secret.key": "of all"},
    }
    paths = {name: f"localjceks://file{tmp_path}/{name}.jceks" for name in names}
    nobody = {
        "fs.s3a.endpoint": "http://127.0.0.1:9",
        "fs.s3a.endpoint.region": "eu-central-1",
        "fs.s3a.impl.disable.cache": "true",
        "fs.s3a.bucket.b.security.credential.provider.path": paths["own"],
        "hadoop.security.credential.provider.path": paths["all"],
    }
    with hadoop_settings(committing, nobody):
        for name, path in paths.items():
            conf = jvm.org.apache.hadoop.conf.Configuration(False)
            conf.set("hadoop.security.credential.provider.path", path)
            alias = jvm.org.apache.hadoop.security.alias
            [keystore] = alias.CredentialProviderFactory.getProviders(conf)
            for secret, value in names[name].items():
                keystore.createCredentialEntry(secret, characters(committing, value))
            keystore.flush()
        process = acted()
        JobOfNoTasks(committing, "s3a://b/out").abort()
    [[started, _]] = process.asked()
    found = [started["settings"][f"fs.s3a.{name}.key"] for name in ("access", "secret")]
    assert found == ["own", "of all"]


def test_s3a_by_default_has_the_list_that_is_taken_for_granted(spark: SparkSession) -> None:
    path = "s3a://bucket/out"
    settings = settings_of(spark, hadoop_path(spark, path))
    assert settings["fs.s3a.aws.credentials.provider"].strip()
    assert location_of(path, settings) == location_of(path, {})


def test_a_bucket_has_the_settings_that_s3a_gives_it(spark: SparkSession, spark_jars: str) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    settings = {
        "fs.s3a.path.style.access": "true",
        "fs.s3a.bucket.b.path.style.access": " ",
        "fs.s3a.endpoint": "http://minio:9000",
        "fs.s3a.bucket.b.endpoint": "",
        "fs.s3a.requester.pays.enabled": "true",
        "fs.s3a.bucket.b.requester.pays.enabled": "false",
        "fs.s3a.acl.default": "Private",
        "fs.s3a.bucket.b.fs.s3a.acl.default": "PublicRead",
        "fs.s3a.bucket.c.acl.default": "PublicRead",
    }
    with hadoop_settings(spark, settings):
        conf = spark.sparkContext._jsc.hadoopConfiguration()
        given = jvm.org.apache.hadoop.fs.s3a.S3AUtils.propagateBucketOptions(conf, "b")
        sent = settings_of(spark, hadoop_path(spark, "s3a://b/out"))
    read = s3a._of_bucket(sent, "b")
    for name in settings:
        assert read[name] == given.get(name), name


@pytest.mark.parametrize(
    "endpoint",
    [
        "s3.fr-par.example.cloud",
        "https://s3.fr-par.example.cloud",
        "s3-eu.example.com:9000",
        "127.0.0.1:9000",
        "s3.eu-west-1.amazonaws.com",
        "https://s3.eu-west-1.amazonaws.com",
        "s3-fips.us-gov-west-1.amazonaws.com",
    ],
)
def test_an_endpoint_names_the_region_that_the_sdk_reads(
    spark: SparkSession, spark_jars: str, endpoint: str
) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    utils = jvm.software.amazon.awssdk.awscore.util.AwsHostNameUtils
    by_sdk = utils.parseSigningRegion(endpoint, "s3")
    keys = {"fs.s3a.access.key": "a", "fs.s3a.secret.key": "b"}
    _, options = location_of("s3a://b/out", {**keys, "fs.s3a.endpoint": endpoint})
    region = options["client_kwargs"]["region_name"]  # type: ignore[index]
    assert region == (by_sdk.get().id() if by_sdk.isPresent() else "us-east-1")
