"""Whoever races to settle one job, on a local disk: see `drivers.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import drivers
from tests.integration.places import local_places
from tests.integration.scenes import SCENES, Scene

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.places import Places
    from tests.integration.processes import Processes

pytestmark = pytest.mark.guarantees("P5", "P7")

every_round = pytest.mark.parametrize(
    "rounds", [pytest.param(3, id="some"), pytest.param(12, id="many", marks=pytest.mark.slow)]
)
NAMES = ["append", "append, exact", "error", "overwrite", "overwrite_partitions, in place"]
every_mode = pytest.mark.parametrize("scene", [SCENES[name] for name in NAMES], ids=NAMES)


@pytest.fixture
def places(fast: Path) -> Places:
    return local_places(fast)


@every_mode
@every_round
def test_two_drivers_of_one_job(
    processes: Processes, scene: Scene, places: Places, rounds: int
) -> None:
    drivers.two_drivers_of_one_job(processes, scene, places, rounds)


@every_mode
@every_round
def test_a_driver_and_an_aborter(
    processes: Processes, scene: Scene, places: Places, rounds: int
) -> None:
    drivers.a_driver_and_an_aborter(processes, scene, places, rounds)


@every_mode
@every_round
def test_a_driver_and_a_resumer(
    processes: Processes, scene: Scene, places: Places, rounds: int
) -> None:
    drivers.a_driver_and_a_resumer(processes, scene, places, rounds)


@every_mode
@every_round
def test_resumers_of_one_job(
    processes: Processes, scene: Scene, places: Places, rounds: int
) -> None:
    drivers.resumers_of_one_job(processes, scene, places, rounds)
