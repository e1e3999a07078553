"""Hadoop's drivers and its manifest committer take our servers for Gen2 and for Cloud Storage."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.servers.faults import AnswerAfterwards, AnswerInstead, LoseReply, Rule
from tests.servers.hadoop import on_azure, on_gcs
from tests.servers.hadoop.jars import HADOOP, MavenJars
from tests.servers.hadoop.jvm import StoreJobs
from tests.servers.plugin import available_or_skip
from tests.servers.proxy import FaultProxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket

TASKS, FILES, DIRECTORIES = 3, 4, 2
EXPECTED = {
    f"out/part={number % DIRECTORIES}/part-{task:05d}-{number:05d}"
    for task in range(TASKS)
    for number in range(FILES)
}


@dataclass(frozen=True)
class Place:
    """Where the jobs go: behind the proxy, so that what the driver asks is counted, and fails.

    Attributes:
        names: Of the files that are there.
        read: The content of one.
        faults: What goes wrong with some requests, and is got over.
    """

    url: str
    settings: dict[str, str]
    jars: MavenJars
    proxy: FaultProxy
    names: Callable[[], list[str]]
    read: Callable[[str], bytes]
    faults: tuple[Rule, ...]

    def visible(self) -> set[str]:
        """The job's files outside of what it works in."""
        return {name for name in self.names() if "/_" not in name}


class ManifestJobs:
    """What the committer does at a place."""

    @pytest.fixture
    def jobs(self, place: Place) -> Iterator[StoreJobs]:
        with available_or_skip(lambda: StoreJobs(place.settings, jars=place.jars)) as jobs:
            yield jobs

    def test_its_job_commits(self, place: Place, jobs: StoreJobs) -> None:
        jobs.write(place.url, tasks=TASKS, files=FILES, directories=DIRECTORIES)
        assert place.visible() == set()
        self.check_what_writing_took(place)
        place.proxy.clear()
        committed = jobs.commit()
        assert (committed["committer"], committed["visible"]) == (
            "ManifestCommitter",
            TASKS * FILES,
        )
        assert place.visible() == EXPECTED
        self.check_what_committing_took(place)
        success = json.loads(place.read("out/_SUCCESS"))
        assert success["success"] is True
        assert success["committer"].endswith("ManifestCommitter")
        assert len(success["filenames"]) == TASKS * FILES

    @pytest.mark.slow
    def test_it_gets_over_what_goes_wrong(self, place: Place, jobs: StoreJobs) -> None:
        jobs.write(place.url, tasks=TASKS, files=FILES, directories=DIRECTORIES)
        for rule in place.faults:
            place.proxy.add(rule)
        assert jobs.commit()["visible"] == TASKS * FILES
        assert all(rule.met for rule in place.faults)
        assert place.visible() == EXPECTED

    def check_what_writing_took(self, place: Place) -> None:
        """Look at its requests until then."""

    def check_what_committing_took(self, place: Place) -> None:
        """Look at the requests of the job's commit."""
        raise NotImplementedError


class TestOnGen2(ManifestJobs):
    @pytest.fixture
    def place(self, gen2_container: AzureContainer, gen2_proxy: FaultProxy) -> Place:
        server, client = gen2_container.server, gen2_container.client
        dfs = gen2_container.dfs_client
        return Place(
            url=on_azure.url_of(server, gen2_container.name, "out"),
            settings=on_azure.settings_of(server, gen2_proxy.endpoint_url),
            jars=HADOOP,
            proxy=gen2_proxy,
            names=lambda: [one.name for one in dfs.get_paths() if not one.is_directory],
            read=lambda name: bytes(client.download_blob(name).readall()),
            # It takes the lost rename for done because the etag is at the destination.
            faults=(
                Rule(LoseReply(), operation="path.rename", path="/out/part=0/"),
                Rule(AnswerAfterwards(), operation="path.rename", path="/out/part=1/"),
                Rule(AnswerInstead(), operation="path.create", path="/out/part="),
            ),
        )

    def check_what_writing_took(self, place: Place) -> None:
        """The driver has found out that the account has directories."""
        assert place.proxy.operations()["path.access_control"] == 1

    def check_what_committing_took(self, place: Place) -> None:
        """One rename a file and one of the marker; each directory is made once."""
        assert place.proxy.operations()["path.rename"] == TASKS * FILES + 1
        made = [one for one in place.proxy.exchanges if one.query.get("resource") == "directory"]
        assert len(made) == DIRECTORIES


# Google's jars are 90 MB, and a JVM takes ten seconds to be warm.
@pytest.mark.slow
@pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True)
class TestOnGcs(ManifestJobs):
    @pytest.fixture
    def place(self, gcs_bucket: GcsBucket, gcs_proxy: FaultProxy) -> Place:
        bucket = gcs_bucket.server.client.bucket(gcs_bucket.name)
        return Place(
            url=f"{gcs_bucket.url}/out",
            settings=on_gcs.settings_of(gcs_proxy.endpoint_url),
            jars=on_gcs.HADOOP_ON_GCS,
            proxy=gcs_proxy,
            # Directories are markers there.
            names=lambda: [one.name for one in bucket.list_blobs() if not one.name.endswith("/")],
            read=lambda name: bytes(bucket.blob(name).download_as_bytes()),
            faults=(
                Rule(AnswerInstead(429), operation="objects.list"),
                Rule(AnswerInstead(503), operation="objects.get"),
            ),
        )

    def check_what_committing_took(self, place: Place) -> None:
        """This driver does not move: it copies each file, and deletes it."""
        asked = place.proxy.operations()
        assert asked["objects.rewrite"] + asked["objects.copy"] >= TASKS * FILES
        assert asked["objects.move"] == 0
