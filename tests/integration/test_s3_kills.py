"""kill -9 at store calls, on S3: see `kills.py`; what is pending is looked for by botocore.

By day some calls; those at which a death needs no process are in `test_deaths.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration import kills
from tests.integration.places import keep_versions, s3_places
from tests.integration.scenes import SCENES, Scene, named
from tests.sweeps import WHOLE_ON

if TYPE_CHECKING:
    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.places import Places
    from tests.integration.processes import Processes
    from tests.servers.plugin import S3Bucket

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")

RANDOM_KILLS = 120
VERSIONED = {
    name: SCENES[name]
    for name in (
        "overwrite",
        "overwrite, in place",
        "overwrite_partitions",
        "overwrite_partitions, in place",
    )
}
"""Where the bucket keeps versions."""
UNVERSIONED = {
    "append": SCENES["append"],
    "append, exact": SCENES["append, exact"],
    "error": SCENES["error"],
    "overwrite, never reused": named("overwrite"),
    "overwrite_partitions, never reused": named("overwrite_partitions"),
}
WITH_VERSIONS = ["ministack", "seaweedfs"]
SOME = 11
PARTS = 3
"""In which a driver is killed at every call: as one, the sweep kept a worker for two minutes."""
ALL = ["ministack", "seaweedfs", "versitygw"]


def cases(chosen: set[tuple[str, str]], *, whole: str | None = None) -> pytest.MarkDecorator:
    """Every server with every scene that it takes; those not *chosen* by night only.

    Some calls of each, by day as by night; by night every call of *whole* on the first server.
    """
    every = [(server, name, scene) for name, scene in UNVERSIONED.items() for server in ALL]
    every += [
        (server, name, scene) for name, scene in VERSIONED.items() for server in WITH_VERSIONS
    ]
    assert chosen <= {(server, name) for server, name, _ in every}
    found = [
        pytest.param(
            server,
            scene,
            SOME,
            id=f"{server}-{name}, some",
            marks=() if (server, name) in chosen else pytest.mark.slow,
        )
        for server, name, scene in every
    ]
    if whole is not None:
        server, scene = WHOLE_ON["s3"], SCENES[whole]
        found.append(pytest.param(server, scene, 1, id=f"{server}-{whole}", marks=pytest.mark.slow))
    return pytest.mark.parametrize(("s3_server", "scene", "every"), found, indirect=["s3_server"])


@pytest.fixture
def places(s3_bucket: S3Bucket, scene: Scene) -> Places:
    if scene in VERSIONED.values():
        keep_versions(s3_bucket)
    return s3_places(s3_bucket)


@cases({("ministack", "overwrite, in place"), ("seaweedfs", "append")})
def test_a_driver_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_driver(processes, scene, places, sweep)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("s3_server", [WHOLE_ON["s3"]], indirect=True)
@pytest.mark.parametrize("scene", [SCENES["overwrite, in place"]], ids=["overwrite, in place"])
@pytest.mark.parametrize("every", [1])
def test_a_driver_killed_at_every_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep, part: int
) -> None:
    kills.kill_the_driver(processes, scene, places, kills.Part(sweep, part, PARTS))


@cases({("versitygw", "append, exact")}, whole="append, exact")
def test_a_task_killed_at_any_store_call_is_tried_again(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_task(processes, scene, places, sweep)


@cases(set())
def test_a_driver_elsewhere_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_driver_elsewhere(processes, scene, places, sweep)


@cases({("versitygw", "append")})
def test_a_resumer_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_the_resumer(processes, scene, places, sweep)


@cases({("seaweedfs", "append, exact")})
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
