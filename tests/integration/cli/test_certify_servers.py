"""``certify`` on real servers: nothing is broken but what is known of them, and nothing is left.

By night: each takes a minute, and the contracts themselves are tried there in `tests/contract`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration.cli.test_certify import certify
from tests.scenes.places import keep_versions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.hdfs.plugin import HdfsDirectory
    from tests.servers.plugin import S3Bucket

pytestmark = pytest.mark.slow
# fsspec's client of WebHDFS takes a DataNode's error for what stands in the file.
by_the_native_client = pytest.mark.parametrize("hdfs_directory", ["hdfs"], indirect=True)


def certificate(url: str, options: Mapping[str, object], path: Path) -> dict[str, Any]:
    words = [
        word
        for name, value in options.items()
        for word in (
            "--storage-option",
            f"{name}={value if isinstance(value, str) else json.dumps(value)}",
        )
    ]
    ran = certify(url, "--quick", "--output", path / "certificate.json", *words)
    assert ran.stderr == ""
    text = (path / "certificate.json").read_text()
    for name in ("secret", "token", "account_key", "connection_string"):
        assert str(options.get(name, "no secret")) not in text
    document: dict[str, Any] = json.loads(text)
    assert (ran.returncode == 0) == document["ok"], ran.stdout
    assert document["not_removed"] == []
    return document


@pytest.mark.parametrize("s3_server", ["seaweedfs"], indirect=True)
def test_a_gap_is_shown(s3_bucket: S3Bucket, tmp_path: Path) -> None:
    """By pytest, which can choose the one."""
    command = [sys.executable, "-m", "pytest", "-q", "--pyargs", "fsspec_commit.testing.certified"]
    command += ["-k", "an_odd_name_is_kept", f"--certify={s3_bucket.url}/deep/place"]
    command += [f"--certify-options={json.dumps(s3_bucket.storage_options)}"]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert ran.returncode == 1, ran.stdout
    assert "1 failed" in ran.stdout


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_s3_is_certified(s3_bucket: S3Bucket, tmp_path: Path) -> None:
    """An endpoint that nobody vouches for: what is tried there is what the probe has found."""
    document = certificate(f"{s3_bucket.url}/deep/place", s3_bucket.storage_options, tmp_path)
    assert document["broken"] == []
    assert document["ok"]
    assert document["committer"] == "magic"
    assert document["capabilities"]["exclusive_create"]["evidence"] == "probed"
    client = s3_bucket.server.client
    assert not client.list_objects_v2(Bucket=s3_bucket.name).get("Contents")
    assert not client.list_multipart_uploads(Bucket=s3_bucket.name).get("Uploads")


@pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)
def test_who_keeps_deleted_names_is_told_why_no_committer_is_safe(
    s3_bucket: S3Bucket, tmp_path: Path
) -> None:
    keep_versions(s3_bucket)
    document = certificate(f"{s3_bucket.url}/deep/place", s3_bucket.storage_options, tmp_path)
    assert not document["ok"]
    assert document["committer"] is None
    for why in document["committers"].values():
        assert "refuses to create a file where another was deleted" in why
    # Nor does it list versions page by page, or delete what is a directory there. And it answers
    # whoever deletes what is gone as if it had been there, which is seen if one comes late enough.
    at_times = {"test_one_of_many_deletes_a_content"}
    assert {found["test"] for found in document["broken"]} - at_times == {
        "test_a_long_listing_is_whole",
        "test_deleting_a_file_leaves_directories",
    }


@by_the_native_client
def test_hdfs_is_certified(hdfs_directory: HdfsDirectory, tmp_path: Path) -> None:
    url = f"{hdfs_directory.url}/deep/place"
    document = certificate(url, hdfs_directory.storage_options, tmp_path)
    assert document["broken"] == []
    assert document["ok"]
    assert document["committer"] == "v1"


@by_the_native_client
def test_no_name_is_called_broken_that_a_client_misreads(
    hdfs_directory: HdfsDirectory, tmp_path: Path
) -> None:
    """Of all of them a quick run tries one."""
    command = [sys.executable, "-m", "pytest", "-q", "--pyargs", "fsspec_commit.testing.certified"]
    command += ["-k", "odd_name", f"--certify={hdfs_directory.url}/deep/place"]
    command += [f"--certify-options={json.dumps(dict(hdfs_directory.storage_options))}"]
    ran = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path, text=True)
    assert ran.returncode == 0, ran.stdout


def test_gcs_is_certified(gcs_bucket: GcsBucket, tmp_path: Path) -> None:
    document = certificate(f"{gcs_bucket.url}/deep/place", gcs_bucket.storage_options, tmp_path)
    is_strict = gcs_bucket.server.is_strict
    assert document["ok"] == is_strict
    assert document["committer"] == ("manifest" if is_strict else None)
    assert bool(document["differences"]) != is_strict
    assert document["broken"] == []


def test_azure_is_certified(azure_container: AzureContainer, tmp_path: Path) -> None:
    url = f"{azure_container.url}/deep/place"
    document = certificate(url, azure_container.storage_options, tmp_path)
    assert document["broken"] == []
    assert document["ok"]
