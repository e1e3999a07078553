"""The settings that are given for each store, and where none are."""

from __future__ import annotations

from typing import Any

import pytest

import fsspec_commit as fc

PATH_PROTOCOL = "org.apache.spark.internal.io.cloud.PathOutputCommitProtocol"
MANIFEST = "org.apache.hadoop.mapreduce.lib.output.committer.manifest.ManifestCommitter"


def test_the_settings_are_those_that_a_session_starts_with() -> None:
    conf = fc.spark.committer_conf(
        "s3a://bucket/path", "abfss://c@a.dfs.core.windows.net", "gs://b"
    )
    assert conf == {
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "1",
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.abfss": (
            "org.apache.hadoop.fs.azurebfs.commit.AzureManifestCommitterFactory"
        ),
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.gs": f"{MANIFEST}Factory",
        "spark.hadoop.mapreduce.outputcommitter.factory.scheme.s3a": (
            "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
        ),
        "spark.hadoop.fs.s3a.committer.name": "magic",
        "spark.hadoop.fs.s3a.committer.magic.enabled": "true",
        "spark.hadoop.fs.s3a.committer.magic.track.commits.in.memory.enabled": "false",
        "spark.sql.sources.commitProtocolClass": PATH_PROTOCOL,
        "spark.sql.parquet.output.committer.class": (
            "org.apache.spark.internal.io.cloud.BindingParquetOutputCommitter"
        ),
    }


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("s3://bucket/path", "write it as s3a:"),
        ("wasbs://c@a.blob.core.windows.net/x", "write it as abfss:"),
        ("/data/clicks", "fs.defaultFS decides"),
        ("C:/data", "not known which committer"),
        ("oss://key:secret@bucket/x", "not known which committer"),
    ],
)
def test_where_none_is_known_to_be_safe_it_is_said(url: str, says: str) -> None:
    with pytest.raises(fc.UnknownProtocolError, match=says) as refused:
        fc.spark.committer_conf("file:/data", url)
    assert refused.value.outcome == "not_committed"
    assert "secret" not in str(refused.value)


def test_it_wants_to_know_where_is_written() -> None:
    a_list: Any = ["s3a://bucket"]
    for urls in ((), (a_list,)):
        with pytest.raises(fc.RequestError, match="where is written"):
            fc.spark.committer_conf(*urls)
