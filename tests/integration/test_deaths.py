"""A death at every store call, on one server of each protocol; see `kills.py`.

Where only requests change anything, a death needs no process: see `one_process.py`. Those with
processes that the system kills are beside it (`test_kills.py`), and choose from the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import kills
from tests.integration.one_process import OneProcess
from tests.scenes.azure_places import azure_places
from tests.scenes.gcs_places import gcs_places
from tests.scenes.hdfs_places import hdfs_places
from tests.scenes.places import keep_versions, s3_places
from tests.scenes.scene import SCENES
from tests.sweeps import WHOLE_ON, some_by_day

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.scenes.places import Places
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.hdfs.plugin import HdfsDirectory
    from tests.servers.plugin import S3Bucket

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")

PARTS = 3
"""In which a driver dies on S3: as one, the sweep would keep a worker of CI too long."""
SOME_ON_AZURE = 4
"""Gen2 has the committer of GCS, where nothing is left out."""
SOME_ON_S3 = 4
"""A request of botocore's takes ten times as long as one to GCS."""


@pytest.fixture(scope="session")
def process() -> OneProcess:
    return OneProcess()


class Drivers:
    """What is tried where a driver takes one test."""

    driver = "overwrite, in place"

    def test_of_a_driver(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_the_driver(process, SCENES[self.driver], places, sweep)


class Tasks:
    """What is tried wherever it is."""

    def test_of_a_task(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_a_task(process, SCENES["append"], places, sweep)


class Afterwards:
    """Who comes after a driver; its calls are many."""

    def test_of_a_resumer(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_the_resumer(process, SCENES["append"], places, sweep)

    def test_that_was_none(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.wake_a_zombie(process, SCENES["append"], places, sweep)


@pytest.mark.parametrize("s3_server", [WHOLE_ON["s3"]], indirect=True)
class TestS3(Tasks, Afterwards):
    """Whole where a driver or a task dies; all four would be ninety seconds."""

    @pytest.mark.parametrize("part", range(PARTS))
    def test_of_a_driver(
        self, process: OneProcess, places: Places, sweep: Sweep, part: int
    ) -> None:
        scene = SCENES["overwrite, in place"]
        kills.kill_the_driver(process, scene, places, sweep, part=part, of=PARTS)

    @some_by_day(SOME_ON_S3)
    def test_of_a_resumer(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        super().test_of_a_resumer(process, places, sweep)

    @some_by_day(SOME_ON_S3)
    def test_that_was_none(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        super().test_that_was_none(process, places, sweep)

    @pytest.fixture
    def places(self, s3_bucket: S3Bucket) -> Places:
        keep_versions(s3_bucket)
        return s3_places(s3_bucket)


@pytest.mark.parametrize("gcs_server", [WHOLE_ON["gcs"]], indirect=True)
class TestGcs(Drivers, Tasks, Afterwards):
    @pytest.fixture
    def places(self, gcs_bucket: GcsBucket) -> Places:
        return gcs_places(gcs_bucket)


class OnAzure:
    @pytest.fixture
    def places(self, azure_container: AzureContainer) -> Places:
        return azure_places(azure_container)


@pytest.mark.parametrize(
    ("azure_server", "every"),
    [(WHOLE_ON["azure"], 1), ("azurite", 16)],
    indirect=["azure_server"],
    ids=[WHOLE_ON["azure"], "azurite, some"],
)
class TestAzure(OnAzure, Drivers, Tasks):
    driver = "overwrite"


@pytest.mark.parametrize(
    ("azure_server", "every"),
    [
        (WHOLE_ON["azure"], SOME_ON_AZURE),
        pytest.param(WHOLE_ON["azure"], 1, marks=pytest.mark.slow),
        ("azurite", 16),
    ],
    indirect=["azure_server"],
    ids=[f"{WHOLE_ON['azure']}, some", WHOLE_ON["azure"], "azurite, some"],
)
class TestAzureAfterwards(OnAzure, Afterwards):
    """By day at some calls; azurite is the one without directories."""


@pytest.mark.parametrize("hdfs_directory", [WHOLE_ON["hdfs"]], indirect=True)
class TestHdfs(Drivers):
    """Of a task by processes, where that takes less: one that is gone holds no connections."""

    driver = "append"

    @pytest.fixture
    def places(self, hdfs_directory: HdfsDirectory) -> Places:
        return hdfs_places(hdfs_directory)
