"""Which schemes are served, and the paths of disks and clusters."""

from __future__ import annotations

from typing import Any

import pytest

import fsspec_commit as fc
from fsspec_commit.engines.spark.hadoop_settings import PREFIXES, SECRETS, location_of
from fsspec_commit.engines.spark.hadoop_settings.settings import Settings

KERBEROS = {"hadoop.security.authentication": "kerberos"}
DRIVER = "spark.fsspec_commit.driver"
EMRFS = "com.amazon.ws.emr.hadoop.fs.EmrFileSystem"
HA = {
    "dfs.nameservices": "ns",
    "dfs.ha.namenodes.ns": "a,b",
    "dfs.namenode.rpc-address.ns.a": "one:8020",
    "dfs.namenode.rpc-address.ns.b": "two:8020",
    "dfs.client.failover.proxy.provider.ns": "org.apache.hadoop.hdfs.x.Provider",
}


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("file:/data/out", "/data/out"),
        ("file:///data/out/", "/data/out"),
        ("FILE:/data/out", "/data/out"),
        ("file:/a b/100%/%20/ö+~", "/a b/100%/%20/ö+~"),
        ("file:/out/day=2026-11-20", "/out/day=2026-11-20"),
        # What a plain path would be mistaken for.
        ("file:/out/token=1;x", "file:///out/token=1;x"),
        ("file:/out/me:x@y?sig=z#", "file:///out/me:x@y?sig=z#"),
    ],
)
def test_a_disk_is_a_plain_path(path: str, plain: str) -> None:
    assert location_of(path, {}) == (plain, {})


@pytest.mark.parametrize("path", ["file:relative", "file://host/x", "file:/", "file:"])
def test_no_path_of_this_machine_is_refused(path: str) -> None:
    with pytest.raises(fc.RequestError) as caught:
        location_of(path, {})
    assert caught.value.kind == "invalid_url"


@pytest.mark.parametrize(
    ("path", "settings", "url", "options"),
    [
        ("hdfs://nn:9000/a/", {}, "hdfs://nn:9000/a", {}),
        ("hdfs://nn/a b%20", {}, "hdfs://nn:8020/a b%20", {}),
        ("hdfs://ns/a", HA, "hdfs://ns/a", HA),
        (
            "hdfs://one/a",
            {"dfs.nameservices": "one", "dfs.namenode.rpc-address.one": "real:8021"},
            "hdfs://real:8021/a",
            {"dfs.nameservices": "one", "dfs.namenode.rpc-address.one": "real:8021"},
        ),
        (
            "hdfs://nn:1/a",
            {"dfs.client.socket-timeout": "60s", "dfs.replication": "3", "dfs.blocksize": "128m"},
            "hdfs://nn:1/a",
            {},
        ),
        (
            "hdfs://nn:1/a",
            {"fs.permissions.umask-mode": "002", "spark.fsspec_commit.user": "etl"},
            "hdfs://nn:1/a",
            {"fs.permissions.umask-mode": "002", "user": "etl"},
        ),
        (
            "hdfs://nn:1/a",
            {"fs.permissions.umask-mode": "u=rwx, g=rx,o="},
            "hdfs://nn:1/a",
            {"fs.permissions.umask-mode": "027"},
        ),
        (
            "hdfs://nn:1/a",
            {
                **KERBEROS,
                "spark.fsspec_commit.user": "etl",
                "spark.kerberos.keytab": "/etc/etl.keytab",
                "spark.kerberos.principal": "etl@REALM",
                "dfs.data.transfer.protection": "privacy",
            },
            "hdfs://nn:1/a",
            {
                **KERBEROS,
                "kerberos_keytab": "/etc/etl.keytab",
                "kerberos_principal": "etl@REALM",
                "dfs.data.transfer.protection": "privacy",
            },
        ),
        ("webhdfs://nn:9870/a", {"spark.fsspec_commit.user": "etl"}, None, {"user": "etl"}),
        ("webhdfs://nn/a", KERBEROS, "webhdfs://nn/a", {"kerberos": True}),
        ("swebhdfs://nn:1/a", {}, "webhdfs://nn:1/a", {"use_https": True}),
        ("swebhdfs://nn/a", {}, "webhdfs://nn:9871/a", {"use_https": True}),
    ],
)
def test_a_cluster_is_found_by_its_settings(
    path: str, settings: dict[str, str], url: str | None, options: dict[str, Any]
) -> None:
    assert location_of(path, settings) == (url or path, options)


@pytest.mark.parametrize(
    ("path", "settings", "kind", "said"),
    [
        ("hdfs:///a", {}, "invalid_url", "fs.defaultFS"),
        ("webhdfs://ns/a", HA, "unmapped_setting", "hdfs://ns/"),
        ("hdfs://nn/a", {"fs.permissions.umask-mode": "a+x"}, "unmapped_setting", "022"),
        ("hdfs://nn/a", {"fs.hdfs.impl": "com.x.Cache"}, "unmapped_setting", "com.x.Cache"),
        ("file:/a", {"fs.file.impl": "com.x.Crypt"}, "unmapped_setting", "com.x.Crypt"),
        ("file:/a", {DRIVER: "com.x.Crypt,com.x.Base"}, "unmapped_setting", "com.x.Crypt"),
        ("webhdfs://nn/a", {"dfs.webhdfs.oauth2.enabled": "true"}, "unmapped_setting", "OAuth"),
        ("s3a://b/a", {DRIVER: EMRFS}, "unmapped_setting", "write to s3a:"),
        (
            "abfss://c@a.dfs.core.windows.net/a",
            {DRIVER: "shaded.databricks.azurebfs.Abfs"},
            "unmapped_setting",
            "use fsspec_commit.spark.write",
        ),
        ("/data/out", {}, "invalid_url", "file:/"),
        ("", {}, "invalid_url", "qualified"),
        ("s3a://key:secret@bucket/a", {}, "secret_in_url", "secret"),
    ],
)
def test_what_names_no_place_is_refused(
    path: str, settings: dict[str, str], kind: str, said: str
) -> None:
    with pytest.raises(fc.RequestError) as caught:
        location_of(path, settings)
    assert (caught.value.kind, said in str(caught.value)) == (kind, True)


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("s3n://b/x", "s3a:"),
        ("s3://b/x", "s3a:"),
        ("wasbs://c@a.blob.core.windows.net/x", "abfss:"),
        ("dbfs:/mnt/x", "bucket or container itself"),
        ("viewfs://cluster/x", "hdfs:"),
        ("oss://b/x", "gs:"),
        ("maprfs:/x", "hdfs:"),
    ],
)
def test_other_schemes_are_refused_with_what_to_do(path: str, said: str) -> None:
    with pytest.raises(fc.UnknownProtocolError) as caught:
        location_of(path, {})
    message = str(caught.value)
    assert f"{path.partition(':')[0]}:" in message
    assert said in message


def test_databricks_says_itself_that_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    with pytest.raises(fc.RequestError, match=r"Databricks.*use fsspec_commit\.spark\.write"):
        location_of("file:/a", {})


def test_the_driver_that_serves_counts_and_not_the_one_that_is_set() -> None:
    for driver in (
        "org.apache.hadoop.fs.LocalFileSystem",
        "org.apache.hadoop.hive.ql.io.ProxyLocalFileSystem",
        "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem",
        "com.globalmentor.apache.hadoop.fs.NakedLocalFileSystem",
    ):
        settings = {"fs.file.impl": "com.x.Crypt", DRIVER: driver}
        assert location_of("file:/a", settings) == ("/a", {})


def test_secrets_are_of_schemes_that_are_sent() -> None:
    prefixes = tuple(prefix for known in PREFIXES.values() for prefix in known)
    assert all(name.startswith(prefixes) for name in SECRETS)
    assert len(set(SECRETS)) == len(SECRETS)


def test_no_value_is_in_a_repr() -> None:
    assert "s3cr3t" not in repr(Settings("s3a://b/x", "s3a", {"fs.s3a.secret.key": "s3cr3t"}))
