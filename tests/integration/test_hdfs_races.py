"""Processes race on HDFS: one decision a job, one file a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import drivers
from tests.integration.hdfs_places import hdfs_places
from tests.integration.scenes import SCENES, Scene

if TYPE_CHECKING:
    from tests.integration.places import Places
    from tests.integration.processes import Processes
    from tests.servers.hdfs.plugin import HdfsDirectory

DRIVERS = 8
NAMES = ["append", "overwrite, in place"]
every_scene = pytest.mark.parametrize("scene", [SCENES[name] for name in NAMES], ids=NAMES)
rounds = pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=pytest.mark.slow)])


@pytest.fixture
def places(hdfs_directory: HdfsDirectory) -> Places:
    return hdfs_places(hdfs_directory)


@pytest.mark.guarantees("P7")
@rounds
@every_scene
def test_two_drivers_of_one_job(
    processes: Processes, scene: Scene, places: Places, rounds: int
) -> None:
    drivers.two_drivers_of_one_job(processes, scene, places, rounds)


@pytest.mark.guarantees("P5", "P7")
@rounds
@every_scene
def test_a_driver_and_an_aborter(
    processes: Processes, scene: Scene, places: Places, rounds: int
) -> None:
    drivers.a_driver_and_an_aborter(processes, scene, places, rounds)


@pytest.mark.slow
@every_scene
def test_resumers_of_one_job(processes: Processes, scene: Scene, places: Places) -> None:
    drivers.resumers_of_one_job(processes, scene, places, 8)


@pytest.mark.guarantees("P7")
@rounds
def test_of_eight_drivers_one_decides(processes: Processes, places: Places, rounds: int) -> None:
    drivers.of_many_drivers_one_decides(
        processes, SCENES["append, exact"], places, rounds, count=DRIVERS
    )
