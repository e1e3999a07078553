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
from tests.integration.scenes import SCENES
from tests.sweeps import WHOLE_ON

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import Places
    from tests.servers.azure.plugin import AzureContainer
    from tests.servers.gcs.plugin import GcsBucket

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")


@pytest.fixture(scope="session")
def process() -> OneProcess:
    return OneProcess()


class EveryCall:
    """What is tried wherever it is."""

    driver = "overwrite, in place"

    def test_of_a_driver(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_the_driver(process, SCENES[self.driver], places, sweep)

    def test_of_a_task(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_a_task(process, SCENES["append"], places, sweep)

    def test_of_a_resumer(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.kill_the_resumer(process, SCENES["append"], places, sweep)

    def test_that_was_none(self, process: OneProcess, places: Places, sweep: Sweep) -> None:
        kills.wake_a_zombie(process, SCENES["append"], places, sweep)


@pytest.mark.parametrize("gcs_server", [WHOLE_ON["gcs"]], indirect=True)
class TestGcs(EveryCall):
    @pytest.fixture
    def places(self, gcs_bucket: GcsBucket) -> Places:
        return gcs_places(gcs_bucket)


@pytest.mark.parametrize(
    ("azure_server", "every"),
    [(WHOLE_ON["azure"], 1), ("azurite", 16)],
    indirect=["azure_server"],
    ids=[WHOLE_ON["azure"], "azurite, some"],
)
class TestAzure(EveryCall):
    driver = "overwrite"

    @pytest.fixture
    def places(self, azure_container: AzureContainer) -> Places:
        return azure_places(azure_container)
