"""Google's Hadoop driver and Hadoop's manifest committer take our server for Cloud Storage."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.servers.faults import AnswerInstead, Rule
from tests.servers.gcs.hadoop import HADOOP_ON_GCS, settings_of
from tests.servers.installation import ServerUnavailableError
from tests.servers.manifest_jobs import ManifestJobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.proxy import FaultProxy

# The jars are 90 MB, and a JVM takes ten seconds to be warm.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True),
]
TASKS, FILES, DIRECTORIES = 3, 4, 2
EXPECTED = {
    f"out/part={number % DIRECTORIES}/part-{task:05d}-{number:05d}"
    for task in range(TASKS)
    for number in range(FILES)
}


@pytest.fixture
def jobs(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> Iterator[ManifestJobs]:
    """Through the proxy: what the driver asks can be counted, and be made to fail."""
    try:
        running = ManifestJobs(settings_of(gcs_proxy.endpoint_url), jars=HADOOP_ON_GCS)
    except ServerUnavailableError as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error}", pytrace=False)
        pytest.skip(f"{error} (make servers-nightly)")
    with running:
        yield running


def visible(bucket: GcsBucket) -> set[str]:
    """The files of the job, and no directory markers."""
    listed = bucket.server.client.list_blobs(bucket.name, prefix="out/part=")
    return {blob.name for blob in listed if not blob.name.endswith("/")}


def test_its_job_commits(gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, jobs: ManifestJobs) -> None:
    url = f"{gcs_bucket.url}/out"
    jobs.write(url, tasks=TASKS, files=FILES, directories=DIRECTORIES)
    assert visible(gcs_bucket) == set()
    gcs_proxy.clear()
    committed = jobs.commit()
    assert committed["committer"] == "ManifestCommitter"
    assert committed["visible"] == TASKS * FILES
    assert visible(gcs_bucket) == EXPECTED
    # This driver does not move: it copies each file, and deletes it.
    copied = gcs_proxy.operations()["objects.rewrite"] + gcs_proxy.operations()["objects.copy"]
    assert copied >= TASKS * FILES
    assert gcs_proxy.operations()["objects.move"] == 0
    blob = gcs_bucket.server.client.bucket(gcs_bucket.name).blob("out/_SUCCESS")
    success = json.loads(blob.download_as_bytes())
    assert success["success"] is True
    assert len(success["filenames"]) == TASKS * FILES


def test_it_waits_when_it_is_told_to(
    gcs_bucket: GcsBucket, gcs_proxy: FaultProxy, jobs: ManifestJobs
) -> None:
    jobs.write(f"{gcs_bucket.url}/out", tasks=TASKS, files=FILES, directories=DIRECTORIES)
    busy = [
        gcs_proxy.add(Rule(AnswerInstead(status), operation=operation))
        for status, operation in ((429, "objects.list"), (503, "objects.get"))
    ]
    assert jobs.commit()["visible"] == TASKS * FILES
    assert all(rule.met for rule in busy)
    assert visible(gcs_bucket) == EXPECTED
