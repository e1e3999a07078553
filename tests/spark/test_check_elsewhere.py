"""`check` in sessions that start otherwise than that of the tests: each is a JVM of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.spark.asked_elsewhere import ask
from tests.spark.conftest import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path

S3A, ABFS = "s3a://bucket/out", "abfs://container@account.dfs.core.windows.net/out"
QUICK = {name: value for name, value in SETTINGS.items() if "commit" not in name}


def quick(tmp_path: Path) -> dict[str, str]:
    places = {"warehouse": "spark.sql.warehouse.dir", "local": "spark.local.dir"}
    return {**QUICK, **{name: str(tmp_path / place) for place, name in places.items()}}


@pytest.mark.slow
def test_pyspark_as_it_is_installed(tmp_path: Path) -> None:
    """No driver of a store, no binding: what `pip install pyspark` gives."""
    local, s3, azure = ask("classic", quick(tmp_path), f"file://{tmp_path}/out", S3A, ABFS)
    assert (local["committer"], local["safe"]) == ("v1", True)
    for report, module in ((s3, "hadoop-aws"), (azure, "hadoop-azure")):
        assert not report["safe"]
        assert f"add org.apache.hadoop:{module}" in report["problems"][0]
        assert report["text"].count("problem: ") == 1


@pytest.mark.slow
def test_the_cloud_module_alone_binds_every_scheme(spark_jars: str, tmp_path: Path) -> None:
    """Since Spark 4.1, and without a setting: an overwrite on abfs: now appends (SPARK-47618)."""
    started = {**quick(tmp_path), "spark.driver.extraClassPath": spark_jars}
    reports = ask("classic", started, f"file://{tmp_path}/out", S3A, ABFS)
    assert [report["committer"] for report in reports] == ["v1", "magic", "manifest"]
    assert all(
        report["commit_protocol"].endswith(".PathOutputCommitProtocol") for report in reports
    )
    assert any("keeps the old rows" in limit for limit in reports[2]["limits"])
    # Who does not want that says so.
    off = {**started, "spark.hadoop.fs.s3a.committer.magic.enabled": "false"}
    [report] = ask("classic", off, ABFS)
    assert report["commit_protocol"].endswith(".SQLHadoopMapReduceCommitProtocol")


@pytest.mark.slow
def test_by_connect_the_settings_alone_answer(spark_jars: str, tmp_path: Path) -> None:
    pytest.importorskip("grpc_status", reason="Spark Connect wants packages of its own")
    conf = fc.spark.committer_conf(S3A, ABFS)
    started = {**quick(tmp_path), "spark.driver.extraClassPath": spark_jars, **conf}
    local, s3, azure = ask("connect", started, f"file://{tmp_path}/out", S3A, ABFS)
    assert [report["committer"] for report in (local, s3, azure)] == ["v1", "magic", "manifest"]
    for report in (local, s3, azure):
        assert report["safe"]
        assert any("neither the server's class path" in limit for limit in report["limits"])


@pytest.mark.slow
def test_what_a_session_starts_with_is_what_it_writes_by(spark_jars: str, tmp_path: Path) -> None:
    conf = fc.spark.committer_conf(S3A, ABFS)
    started = {**quick(tmp_path), "spark.driver.extraClassPath": spark_jars, **conf}
    reports = ask("classic", started, f"file://{tmp_path}/out", S3A, ABFS)
    assert [report["committer"] for report in reports] == ["v1", "magic", "manifest"]
    assert all(report["safe"] for report in reports)


@pytest.mark.slow
def test_settings_without_the_jars(tmp_path: Path) -> None:
    """Since Spark 4 such a session fails at whatever it is asked."""
    [report] = ask("classic", {**quick(tmp_path), **fc.spark.committer_conf(S3A)}, S3A)
    [problem] = report["problems"]
    assert "add org.apache.spark:spark-hadoop-cloud_2.13" in problem
