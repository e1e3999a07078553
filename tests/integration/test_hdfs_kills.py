"""kill -9 of tasks and drivers at every store call, on HDFS: see `kills.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import kills
from tests.integration.hdfs_places import hdfs_places
from tests.integration.scenes import SCENES, Scene

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import Places
    from tests.integration.processes import Processes
    from tests.servers.hdfs.plugin import HdfsDirectory

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")

RANDOM_KILLS = 60
PARTS = 3
"""In which a driver is killed: as one, the sweep kept a worker of CI for minutes."""
PROTOCOLS = ("hdfs", "webhdfs")


def cases(*chosen: tuple[str, str]) -> pytest.MarkDecorator:
    """Every client with every scene; those not *chosen* by night only."""
    every = [(protocol, name) for name in SCENES for protocol in PROTOCOLS]
    assert set(chosen) <= set(every)
    return pytest.mark.parametrize(
        ("hdfs_directory", "scene"),
        [
            pytest.param(
                *(protocol, SCENES[name]),
                id=f"{protocol}-{name}",
                marks=() if (protocol, name) in chosen else pytest.mark.slow,
            )
            for protocol, name in every
        ],
        indirect=["hdfs_directory"],
    )


@pytest.fixture
def places(hdfs_directory: HdfsDirectory) -> Places:
    return hdfs_places(hdfs_directory)


@pytest.mark.parametrize("part", range(PARTS))
@cases(("hdfs", "overwrite, in place"))
def test_a_driver_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep, part: int
) -> None:
    kills.kill_the_driver_in_part(processes, scene, places, sweep, part=part, of=PARTS)


@cases(("hdfs", "append"))
def test_a_task_killed_at_any_store_call_is_tried_again(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_task(processes, scene, places, sweep)


@cases()
def test_a_driver_elsewhere_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_driver_elsewhere(processes, scene, places, sweep)


@cases()
def test_a_resumer_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_resumer(processes, scene, places, sweep)


@cases()
def test_a_zombie_changes_nothing(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.wake_a_zombie(processes, scene, places, sweep)


@pytest.mark.parametrize("count", [5, pytest.param(RANDOM_KILLS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scene", [SCENES["append"]], ids=["append"])
def test_a_driver_killed_at_random_times_is_resumed(
    processes: Processes, scene: Scene, places: Places, count: int
) -> None:
    kills.kill_at_random_times(processes, scene, places, count)
