"""Our records have the fields of Hadoop's, and each is of the same type.

Beside records that Hadoop's committers have just written, so that no sample can get old.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

import fsspec_commit as fc
from tests.interoperability.peer import MANIFEST, magic
from tests.interoperability.test_hadoop_reads_ours import download, write

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interoperability.peer import Peer
    from tests.servers.plugin import S3Bucket

pytestmark = pytest.mark.server

Types: TypeAlias = dict[str, str]


def types(record: dict[str, Any]) -> Types:
    return {name: type(value).__name__ for name, value in record.items()}


def our_manifest(path: Path) -> dict[str, Any]:
    with fc.Job(path, committer="manifest") as job:
        write(job)
        [manifest] = (path / "_commit" / job.job_id / "manifests" / "0").iterdir()
        record: dict[str, Any] = json.loads(manifest.read_bytes())
    return record


def test_a_manifest(hadoop: Peer, tmp_path: Path) -> None:
    hadoop.leave((tmp_path / "theirs").as_uri(), MANIFEST)
    theirs = json.loads(next((tmp_path / "theirs").rglob("*-manifest.json")).read_bytes())
    ours = our_manifest(tmp_path / "ours")
    statistics = theirs.pop("iostatistics")  # Hadoop's own: ours are the job's
    assert isinstance(statistics, dict)
    assert types(ours) == types(theirs)
    assert ours["type"] == theirs["type"]
    assert ours["version"] == theirs["version"]
    # A local file has no etag in Hadoop's eyes.
    assert types(ours["files"][0]) == {**types(theirs["files"][0]), "e": "str"}
    assert types(ours["directories"][0]) == types(theirs["directories"][0])


def test_a_marker(hadoop: Peer, tmp_path: Path) -> None:
    hadoop.run((tmp_path / "theirs").as_uri(), MANIFEST, number=1)
    with fc.Job(tmp_path / "ours", success="json") as job:
        write(job)
    theirs, ours = (
        json.loads((tmp_path / whose / "_SUCCESS").read_bytes()) for whose in ("theirs", "ours")
    )
    assert types(ours) == types(theirs)
    assert ours["name"] == theirs["name"]
    assert types(ours["iostatistics"]) == types(theirs["iostatistics"])
    assert set(ours["iostatistics"]["counters"]) <= set(theirs["iostatistics"]["counters"])


@pytest.mark.slow
@pytest.mark.parametrize("s3_server", ["versitygw"], indirect=True)
def test_a_pending_set(hadoop: Peer, s3_bucket: S3Bucket, tmp_path: Path) -> None:
    client, name = s3_bucket.server.client, s3_bucket.name
    options = s3_bucket.storage_options
    hadoop.leave(f"s3a://{name}/theirs", magic(options, "0"))
    with fc.Job(f"{s3_bucket.url}/ours", storage_options=options) as job:
        write(job)
        found = [
            one["Key"]
            for one in client.list_objects_v2(Bucket=name)["Contents"]
            if one["Key"].endswith("m_000000.pendingset") or "/manifests/0/" in one["Key"]
        ]
        records = {}
        for key in found:
            download(s3_bucket, key, tmp_path / "record")
            records[key.partition("/")[0]] = json.loads((tmp_path / "record").read_bytes())
    ours, theirs = records["ours"], records["theirs"]
    # What a set has beside its files, Hadoop passes over.
    assert types(ours) == {**types(theirs), "extraData": "dict"}
    assert ours["version"] == theirs["version"]
    of_ours, of_theirs = ours["commits"][0], theirs["commits"][0]
    assert of_theirs.pop("partCount") == 1  # as many as there are etags
    assert types(of_ours) == types(of_theirs)
    assert types(of_ours["etags"][0]) == types(of_theirs["etags"][0])
