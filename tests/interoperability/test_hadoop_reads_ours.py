"""Hadoop's own classes read what we write, and see in it what we meant."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interoperability.peer import Peer
    from tests.servers.plugin import S3Bucket

pytestmark = pytest.mark.server

# A plain one, and what a URI has to escape.
NAMES = ("month=1/part.parquet", "day=a b/é%20#1.parquet")
ON_VERSITYGW = pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)


def write(job: fc.Job) -> None:
    for names in (NAMES, ("month=2/part.parquet",)):
        with job.task() as task:
            for name in names:
                with task.open(name, "w") as file:
                    file.write(name)


def download(bucket: S3Bucket, key: str, path: Path) -> None:
    answer = bucket.server.client.get_object(Bucket=bucket.name, Key=key)
    path.write_bytes(answer["Body"].read())


def check_success(hadoop: Peer, marker: Path, *, committer: str) -> None:
    ours = json.loads(marker.read_bytes())
    read = hadoop.read("success", marker)
    assert {name: read[name] for name in ours} == ours
    assert (read["success"], read["committer"]) == (True, committer)
    assert len(read["filenames"]) == 3
    assert read["iostatistics"]["counters"]["committer_files_committed"] == 3
    lines = hadoop.printed(marker).splitlines()
    assert {
        "succeeded: true",
        f"committer: {committer}",
        f"jobId: {ours['jobId']}",
        f"hostname: {ours['hostname']}",
    } <= set(lines)


@pytest.mark.parametrize("committer", ["v1", "manifest"])
class TestLocal:
    def test_the_json_marker(self, committer: Any, hadoop: Peer, tmp_path: Path) -> None:
        with fc.Job(tmp_path, committer=committer, success="json") as job:
            write(job)
        check_success(hadoop, tmp_path / "_SUCCESS", committer=committer)

    def test_a_manifest(self, committer: Any, hadoop: Peer, tmp_path: Path) -> None:
        with fc.Job(tmp_path, committer=committer) as job:
            write(job)
            [path] = (tmp_path / "_commit" / job.job_id / "manifests" / "0").iterdir()
            ours = json.loads(path.read_bytes())
            read = hadoop.read("manifest", path)
        assert {name: read[name] for name in ours} == ours
        assert len(read["files"]) == len(NAMES)
        assert read["taskAttemptID"] == path.name


@ON_VERSITYGW
class TestS3:
    def test_a_pending_set_and_the_json_marker(
        self, hadoop: Peer, s3_bucket: S3Bucket, tmp_path: Path
    ) -> None:
        client = s3_bucket.server.client
        local = tmp_path / "downloaded"
        url = f"{s3_bucket.url}/top/out"
        with fc.Job(url, success="json", storage_options=s3_bucket.storage_options) as job:
            write(job)
            found = client.list_objects_v2(
                Bucket=s3_bucket.name, Prefix=f"top/out/_commit/{job.job_id}/manifests/0/"
            )
            [one] = found["Contents"]
            download(s3_bucket, one["Key"], local)
            ours = json.loads(local.read_bytes())
            read = hadoop.read("pendingset", local)
        # The `extraData` of a set Hadoop 3.5.0 neither reads nor writes; that of a file it does.
        assert (read["version"], read["jobId"]) == (3, job.job_id)
        assert len(read["commits"]) == len(NAMES)
        for theirs, our in zip(read["commits"], ours["commits"], strict=True):
            statistics = our.pop("iostatistics")
            assert statistics == {}  # Hadoop fills in what it would have counted
            assert {name: theirs[name] for name in our} == our
            assert theirs["partCount"] == len(our["etags"])
        download(s3_bucket, "top/out/_SUCCESS", local)
        check_success(hadoop, local, committer="magic")
