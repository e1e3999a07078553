"""kill -9 at store calls, on Azure: see `kills.py`; `test_deaths.py` has every one by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import kills
from tests.integration.azure_places import azure_places
from tests.integration.scenes import SCENES, Scene

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import Places
    from tests.integration.processes import Processes
    from tests.servers.azure.plugin import AzureContainer

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")

RANDOM_KILLS = 60
ALL = {name: SCENES[name] for name in ("append", "overwrite", "overwrite_partitions")}


@pytest.fixture
def places(azure_container: AzureContainer) -> Places:
    return azure_places(azure_container)


every_scene = pytest.mark.parametrize("scene", ALL.values(), ids=ALL)


@pytest.mark.slow
@every_scene
def test_a_driver_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_driver(processes, scene, places, sweep)


@pytest.mark.slow
@every_scene
def test_a_task_killed_at_any_store_call_is_tried_again(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_task(processes, scene, places, sweep)


@pytest.mark.slow
@every_scene
def test_a_resumer_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_resumer(processes, scene, places, sweep)


@pytest.mark.slow
@every_scene
def test_a_zombie_changes_nothing(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.wake_a_zombie(processes, scene, places, sweep)


@pytest.mark.parametrize("count", [2, pytest.param(RANDOM_KILLS, marks=pytest.mark.slow)])
def test_a_driver_killed_at_random_times_is_resumed(
    processes: Processes, places: Places, count: int
) -> None:
    kills.kill_at_random_times(processes, SCENES["overwrite"], places, count, longest_s=0.8)
