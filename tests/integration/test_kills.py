"""kill -9 at every store call, on a local disk: see `kills.py`."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.integration import kills
from tests.integration.places import local_places
from tests.integration.scenes import SCENES, Scene
from tests.protocol.invariants import job_ids, state_of
from tests.sweeps import by_day

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import Places
    from tests.integration.processes import Processes

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")

SOME = ["append", "overwrite, in place", "overwrite_partitions"]
every_scene = pytest.mark.parametrize(
    ("scene", "every"),
    by_day(
        {name: (scene,) for name, scene in SCENES.items()}, whole=["overwrite, in place"], every=3
    ),
)
some_scenes = pytest.mark.parametrize(
    ("scene", "every"),
    by_day({name: (SCENES[name],) for name in SOME}, whole=["overwrite, in place"], every=3),
)
zombie_scenes = pytest.mark.parametrize(
    ("scene", "every"),
    by_day(
        {name: (scene,) for name, scene in SCENES.items()}, whole=["overwrite, in place"], every=4
    ),
)
"""By day whole for the scene with the most calls; which processes die is what differs here."""


@pytest.fixture
def places(fast: Path) -> Places:
    return local_places(fast)


@every_scene
def test_a_driver_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_driver(processes, scene, places, sweep)


@every_scene
def test_a_task_killed_at_any_store_call_is_tried_again(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_task(processes, scene, places, sweep)


@some_scenes
def test_a_driver_elsewhere_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_driver_elsewhere(processes, scene, places, sweep)


@some_scenes
def test_a_resumer_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_resumer(processes, scene, places, sweep)


@zombie_scenes
def test_a_zombie_changes_nothing(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.wake_a_zombie(processes, scene, places, sweep)


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())
def test_a_driver_killed_at_a_random_time(
    processes: Processes, scene: Scene, places: Places
) -> None:
    chance = random.Random()
    for nth in range(150):
        place = places(nth)
        place.put(scene.laid_out)
        answer = kills.run(processes, scene, place, kill_after_s=chance.uniform(0, 0.04))
        if answer["killed"] or not answer.get("result"):
            kills.recover(processes, scene, place)
        else:
            snapshot = place.snapshot()
            (job_id,) = job_ids(snapshot) or [""]
            assert state_of(snapshot, job_id) == "over"
            kills.settled(scene, place, happened=True)
