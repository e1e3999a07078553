"""A death at every store call, on one server of each protocol; see `kills.py`.

Where only requests change anything, a death needs no process: see `one_process.py`. Those with
processes that the system kills are beside it (`test_s3_kills.py`), and choose from the calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import kills
from tests.integration.azure_places import azure_places
from tests.integration.gcs_places import gcs_places
from tests.integration.one_process import OneProcess
from tests.integration.places import keep_versions, s3_places
from tests.integration.scenes import SCENES
from tests.sweeps import WHOLE_ON, some_by_day

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import Places
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket
    from tests.servers.plugin import S3Bucket

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")

PARTS = 3
"""In which a driver dies on S3: as one, the sweep would keep a worker of CI too long."""
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


class EveryCall:
    """What is tried wherever it is."""

    def test_of_a_task(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_a_task(process, SCENES["append"], places, sweep)

    def test_of_a_resumer(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_the_resumer(process, SCENES["append"], places, sweep)

    def test_that_was_none(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.wake_a_zombie(process, SCENES["append"], places, sweep)


@pytest.mark.parametrize("s3_server", [WHOLE_ON["s3"]], indirect=True)
class TestS3(EveryCall):
    """Whole where a driver or a task dies; all four would be ninety seconds."""

    @pytest.mark.parametrize("part", range(PARTS))
    def test_of_a_driver(
        self, process: OneProcess, places: Places, sweep: Sweep, part: int
    ) -> None:
        scene = SCENES["overwrite, in place"]
        kills.kill_the_driver_in_part(process, scene, places, sweep, part=part, of=PARTS)

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
class TestGcs(Drivers, EveryCall):
    @pytest.fixture
    def places(self, gcs_bucket: GcsBucket) -> Places:
        return gcs_places(gcs_bucket)


@pytest.mark.parametrize(
    ("azure_server", "every"),
    [(WHOLE_ON["azure"], 1), ("azurite", 16)],
    indirect=["azure_server"],
    ids=[WHOLE_ON["azure"], "azurite, some"],
)
class TestAzure(Drivers, EveryCall):
    driver = "overwrite"

    @pytest.fixture
    def places(self, azure_container: AzureContainer) -> Places:
        return azure_places(azure_container)
