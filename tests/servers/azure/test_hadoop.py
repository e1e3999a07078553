"""Hadoop's ABFS driver 3.5.0 and its manifest committer take our server for an account."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tests.servers.azure.hadoop import HADOOP_ON_AZURE, settings_of, url_of
from tests.servers.faults import AnswerAfterwards, AnswerInstead, LoseReply, Rule
from tests.servers.installation import ServerUnavailableError
from tests.servers.manifest_jobs import ManifestJobs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.proxy import FaultProxy

TASKS, FILES, DIRECTORIES = 3, 4, 2
EXPECTED = {
    f"out/part={number % DIRECTORIES}/part-{task:05d}-{number:05d}"
    for task in range(TASKS)
    for number in range(FILES)
}


@pytest.fixture
def jobs(gen2_container: AzureContainer, gen2_proxy: FaultProxy) -> Iterator[ManifestJobs]:
    """Through the proxy: what the driver asks can be counted, and be made to fail."""
    try:
        settings = settings_of(gen2_container.server, gen2_proxy.endpoint_url)
        running = ManifestJobs(settings, jars=HADOOP_ON_AZURE)
    except ServerUnavailableError as error:
        if os.environ.get("CI"):
            pytest.fail(f"{error}", pytrace=False)
        pytest.skip(f"{error} (make servers)")
    with running:
        yield running


def test_its_job_commits(
    gen2_container: AzureContainer, gen2_proxy: FaultProxy, jobs: ManifestJobs
) -> None:
    url = url_of(gen2_container.server, gen2_container.name, "out")
    jobs.write(url, tasks=TASKS, files=FILES, directories=DIRECTORIES)
    # None of it is visible, and the driver has found out that the account has directories.
    assert visible(gen2_container) == set()
    assert gen2_proxy.operations()["path.access_control"] == 1
    gen2_proxy.clear()
    assert jobs.commit()["visible"] == TASKS * FILES
    assert visible(gen2_container) == EXPECTED
    # One rename a file and one of the marker; each directory is made once.
    renames = [found for found in gen2_proxy.exchanges if found.operation == "path.rename"]
    assert len(renames) == TASKS * FILES + 1
    made = [
        found.path for found in gen2_proxy.exchanges if found.query.get("resource") == "directory"
    ]
    assert len(made) == DIRECTORIES
    success = json.loads(gen2_container.client.download_blob("out/_SUCCESS").readall())
    assert success["success"] is True
    assert success["committer"].endswith("ManifestCommitter")
    assert len(success["filenames"]) == TASKS * FILES


@pytest.mark.slow
def test_it_gets_over_what_goes_wrong(
    gen2_container: AzureContainer, gen2_proxy: FaultProxy, jobs: ManifestJobs
) -> None:
    """It takes the lost rename for done because the etag is at the destination."""
    url = url_of(gen2_container.server, gen2_container.name, "out")
    jobs.write(url, tasks=TASKS, files=FILES, directories=DIRECTORIES)
    lost = Rule(LoseReply(), operation="path.rename", path="/out/part=0/")
    late = Rule(AnswerAfterwards(), operation="path.rename", path="/out/part=1/")
    busy = Rule(AnswerInstead(), operation="path.create", path="/out/part=")
    for rule in (lost, late, busy):
        gen2_proxy.add(rule)
    assert jobs.commit()["visible"] == TASKS * FILES
    assert (lost.met, late.met, busy.met) == (True, True, True)
    assert visible(gen2_container) == EXPECTED


def visible(container: AzureContainer) -> set[str]:
    """The job's files outside of what it works in."""
    return {
        found.name
        for found in container.dfs_client.get_paths()
        if not found.is_directory and "/_" not in found.name
    }
