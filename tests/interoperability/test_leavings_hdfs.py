"""What Hadoop has left on HDFS, told through both clients: the same as on a disk."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.interoperability.peer import MANIFEST, V1

if TYPE_CHECKING:
    from tests.interoperability.peer import Peer
    from tests.servers.hdfs.plugin import HdfsDirectory

pytestmark = [pytest.mark.server, pytest.mark.slow]

JOB = "job_20260101000000_0001"


@pytest.mark.parametrize(
    ("settings", "committer", "area"),
    [(V1, "v1", "_temporary/0"), (MANIFEST, "manifest", f"_temporary/{JOB}")],
    ids=["v1", "manifest"],
)
def test_what_is_told_and_left_alone(
    settings: dict[str, str],
    committer: str,
    area: str,
    hadoop: Peer,
    hdfs_directory: HdfsDirectory,
) -> None:
    url, options = hdfs_directory.url, hdfs_directory.storage_options
    port = hdfs_directory.cluster.port
    hadoop.leave(f"hdfs://127.0.0.1:{port}{hdfs_directory.path}", settings)
    [left] = fc.hadoop_jobs(url, storage_options=options)
    assert (left.job_id, left.committer, left.directory) == (JOB, committer, area)
    assert [(task.committed, task.file_count, task.pending) for task in left.tasks] == [
        *((True, 2, 2), (True, 2, 2), (False, 2, 2)),
    ]
    job = fc.Job(url, mode="overwrite", storage_options=options)
    with job, job.task() as task, task.open("a.txt", "w") as file:
        file.write("ours")
    fc.clean(url, older_than=timedelta(0), dry_run=False, storage_options=options)
    assert fc.hadoop_jobs(url, storage_options=options) == [left]
