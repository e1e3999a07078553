"""kill -9 at store calls, on GCS: see `kills.py`; `test_deaths.py` leaves none out by day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import kills
from tests.integration.gcs_places import gcs_places
from tests.integration.scenes import SCENES

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import Places
    from tests.integration.processes import Processes
    from tests.integration.scenes import Scene
    from tests.servers.gcs.plugin import GcsBucket

pytestmark = [
    pytest.mark.guarantees("P1", "P2", "P6", "P8"),
    pytest.mark.parametrize("gcs_server", ["strict-gcs"], indirect=True),
]
RANDOM_KILLS = 60
SOME = 11
PARTS = 2
"""In which a driver is killed: as one, the sweep kept a worker of CI for minutes."""


def scenes(chosen: str | None = None) -> pytest.MarkDecorator:
    """Every scene; by day some calls of the *chosen* one, of which by night none is left out."""
    night = pytest.mark.slow
    cases = [
        pytest.param(scene, 1 if name == chosen else SOME, id=name, marks=night)
        for name, scene in SCENES.items()
    ]
    if chosen is not None:
        cases.append(pytest.param(SCENES[chosen], SOME, id=f"{chosen}, some"))
    return pytest.mark.parametrize(("scene", "every"), cases)


@pytest.fixture
def places(gcs_bucket: GcsBucket) -> Places:
    return gcs_places(gcs_bucket)


@pytest.mark.parametrize("part", range(PARTS))
@scenes("overwrite, in place")
def test_a_driver_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep, part: int
) -> None:
    kills.kill_the_driver_in_part(processes, scene, places, sweep, part=part, of=PARTS)


@scenes()
def test_a_task_killed_at_any_store_call_is_tried_again(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_task(processes, scene, places, sweep)


@scenes()
def test_a_driver_elsewhere_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_driver_elsewhere(processes, scene, places, sweep)


@scenes()
def test_a_resumer_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_resumer(processes, scene, places, sweep)


@scenes()
def test_a_zombie_changes_nothing(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.wake_a_zombie(processes, scene, places, sweep)


@pytest.mark.parametrize("count", [3, pytest.param(RANDOM_KILLS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scene", [SCENES["append"]], ids=["append"])
def test_a_driver_killed_at_random_times_is_resumed(
    processes: Processes, scene: Scene, places: Places, count: int
) -> None:
    kills.kill_at_random_times(processes, scene, places, count)
