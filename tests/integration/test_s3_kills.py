"""kill -9 at every store call, on S3: see `kills.py`; what is pending is looked for by botocore."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.testing.sweeps import sweep_of
from tests.integration import kills
from tests.integration.places import keep_versions, s3_places
from tests.integration.scenes import SCENES, Scene, named
from tests.sweeps import WHOLE_ON

if TYPE_CHECKING:
    from collections.abc import Iterator

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
SOME = 5
PARTS = 3
"""In which a driver is killed: as one, the sweep kept a worker of CI for two minutes."""
ALL = ["ministack", "seaweedfs", "versitygw"]


def cases(chosen: set[tuple[str, str]]) -> pytest.MarkDecorator:
    """Every server with every scene that it takes; those not *chosen* by night only."""
    every = [(server, name, scene) for name, scene in UNVERSIONED.items() for server in ALL]
    every += [
        (server, name, scene) for name, scene in VERSIONED.items() for server in WITH_VERSIONS
    ]
    assert chosen <= {(server, name) for server, name, _ in every}
    return pytest.mark.parametrize(
        ("s3_server", "scene"),
        [
            pytest.param(
                server,
                scene,
                id=f"{server}-{name}",
                marks=() if (server, name) in chosen else pytest.mark.slow,
            )
            for server, name, scene in every
        ],
        indirect=["s3_server"],
    )


@pytest.fixture
def every(every: int, s3_bucket: S3Bucket) -> int:
    """By day as by night on one server; on the others by day no more than some."""
    return every if s3_bucket.server.name == WHOLE_ON["s3"] else max(every, SOME)


@pytest.fixture
def some(request: pytest.FixtureRequest, every: int) -> Iterator[Sweep]:
    """Of the calls of those who settle a dead driver's job, by day. On disks they run whole."""
    yield from sweep_of(request, max(every, SOME))


@pytest.fixture
def places(s3_bucket: S3Bucket, scene: Scene) -> Places:
    if scene in VERSIONED.values():
        keep_versions(s3_bucket)
    return s3_places(s3_bucket)


@pytest.mark.parametrize("part", range(PARTS))
@cases({("ministack", "overwrite, in place"), ("seaweedfs", "append")})
def test_a_driver_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep, part: int
) -> None:
    kills.kill_the_driver(processes, scene, places, kills.Part(sweep, part, PARTS))


@cases({("ministack", "append, exact"), ("versitygw", "append, exact")})
def test_a_task_killed_at_any_store_call_is_tried_again(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_task(processes, scene, places, sweep)


@cases(set())
def test_a_driver_elsewhere_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    kills.kill_a_driver_elsewhere(processes, scene, places, sweep)


@cases({("ministack", "append"), ("versitygw", "append")})
def test_a_resumer_killed_at_any_store_call(
    processes: Processes, scene: Scene, places: Places, some: Sweep
) -> None:
    kills.kill_the_resumer(processes, scene, places, some)


@cases({("ministack", "append, exact"), ("seaweedfs", "append, exact")})
def test_a_zombie_changes_nothing(
    processes: Processes, scene: Scene, places: Places, some: Sweep
) -> None:
    kills.wake_a_zombie(processes, scene, places, some)


@pytest.mark.parametrize("count", [5, pytest.param(RANDOM_KILLS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("scene", [SCENES["append"]], ids=["append"])
def test_a_driver_killed_at_random_times_is_resumed(
    processes: Processes, scene: Scene, places: Places, count: int
) -> None:
    kills.kill_at_random_times(processes, scene, places, count)
