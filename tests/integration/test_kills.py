"""kill -9 at store calls, of tasks and of drivers, on every store: see `kills.py`.

By day some calls are tried, each day others. By night every call is, on a disk, and on one server
of each protocol, where only requests change anything and a death needs no process. The end of a run
says how many processes were really killed. Each night kills `KILLS_MIN` on servers for each
committer, at random times, which leave jobs in `STATES_MIN` states at least; and nothing is left
of a job that is settled, when `clean` has run once.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tests.integration import kills
from tests.integration.one_process import OneProcess
from tests.protocol.invariants import job_ids, state_of
from tests.scenes.places import keep_versions, local_places
from tests.scenes.scene import SCENES, Scene, named
from tests.sweeps import KILLED, WHOLE_ON

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from pathlib import Path

    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.processes import Processes
    from tests.scenes.places import Places
    from tests.scenes.remotes import Remote

pytestmark = pytest.mark.guarantees("P1", "P2", "P6", "P8")

Kill: TypeAlias = "Callable[..., None]"
DEATHS: dict[str, Kill] = {
    "driver": kills.kill_the_driver,
    "task": kills.kill_a_task,
    "driver elsewhere": kills.kill_a_driver_elsewhere,
    "resumer": kills.kill_the_resumer,
    "zombie": kills.wake_a_zombie,
}
"""Who dies; a zombie sleeps while others settle its job."""
IN_PLACE = "overwrite, in place"
"""The scene with the most calls."""
NEVER_REUSED = ", never reused"
"""Follows the name of a scene whose old files have names that do not come again."""
SOME, FEW = 11, 23
"""One call in how many by night, and by day."""

KILLS_MIN = 200
"""So many drivers are killed on servers at random times in each night, for each committer."""
STATES_MIN = 3
"""In so many of `kills.STATES` the drivers that one test kills by night leave their jobs."""
DEATHS_MAX = 40
"""So many one test kills."""

NIGHTLY = (pytest.mark.slow, pytest.mark.every_night)
Where: TypeAlias = tuple[str, str]
"""A server, and the name of a scene."""


def cases(
    death: str,
    where: Iterable[Where],
    *,
    by_day: Mapping[Where, int] | None = None,
    by_night: int = SOME,
    whole: Collection[Where] = (),
    parts: int = 1,
) -> list[Any]:
    """What is tried of one death, at store calls.

    Args:
        death: One of `DEATHS`.
        where: All that is tried by night.
        by_day: What is tried by day, and at one in how many calls.
        by_night: At one in so many calls the others are.
        whole: What is tried by night at every call.
        parts: How many tests share the calls: as one they would keep a worker for minutes.
    """
    found = []
    for one in where:
        day = None if by_day is None else by_day.get(one)
        night = 1 if one in whole else by_night
        for every, part in product(dict.fromkeys([night, day or night]), range(parts)):
            server, name = one
            some = "" if every == 1 else ", some" if every == day else ", more"
            shared = {"part": part, "of": parts} if parts > 1 else {}
            kill = partial(DEATHS[death], **shared)
            found.append(
                pytest.param(
                    *(server, kill, scene_of(name), every),
                    id=f"{server}-{death}-{name}{some}{f'-{part}' if shared else ''}",
                    marks=() if every == day else pytest.mark.slow,
                )
            )
    return found


def scene_of(name: str) -> Scene:
    return SCENES[name] if name in SCENES else named(name.removesuffix(NEVER_REUSED))


def at_random_times(where: Iterable[Where], *, by_night: int) -> list[Any]:
    """So many deaths of drivers, each night, in parts that take minutes at most; two by day."""
    by_day = 2
    parts = -(-by_night // DEATHS_MAX)
    nightly = [(-(-by_night // parts), STATES_MIN, f"-{part}", NIGHTLY) for part in range(parts)]
    return [
        pytest.param(
            *(server, partial(kill_at_random_times, deaths=deaths, states=n), scene_of(name), 1),
            id=f"{server}-driver-{name}, at {deaths} random times{part}",
            marks=marks,
        )
        for server, name in where
        for deaths, n, part, marks in ((by_day, 1, "", ()), *nightly)
    ]


def kill_at_random_times(
    processes: Processes, scene: Scene, places: Places, _sweep: Sweep, *, deaths: int, states: int
) -> None:
    found = kills.kill_at_random_times(processes, scene, places, deaths, states=states)
    assert found.total() >= deaths
    assert found.keys() <= kills.STATES


def on(server: str, *killed: list[Any]) -> pytest.MarkDecorator:
    """All that is tried where the fixture *server* is given a server's name."""
    return pytest.mark.parametrize(
        (server, "kill", "scene", "every"), [*chain(*killed)], indirect=[server]
    )


class Kills:
    """Everything or nothing, and never stuck."""

    def test_killed(
        self,
        processes: Processes,
        places: Places,
        *,
        scene: Scene,
        sweep: Sweep,
        kill: Kill,
        where_killed: str,
        record_property: Callable[[str, object], None],
    ) -> None:
        before = processes.killed
        kill(processes, scene, places, sweep)
        record_property(KILLED, [where_killed, processes.killed - before])


def on_disk(death: str, names: Iterable[str] = SCENES, *, every: int = 18) -> list[Any]:
    """By day more for the scene with the most calls; which processes die is what differs here."""
    where = [("disk", name) for name in names]
    by_day = {one: 5 if one[1] == IN_PLACE else every for one in where}
    return cases(death, where, by_day=by_day, whole=where)


SOME_SCENES = ("append", IN_PLACE, "overwrite_partitions")


@on(
    "disk",
    *(on_disk("driver"), on_disk("task"), on_disk("zombie", every=24)),
    *(on_disk("driver elsewhere", SOME_SCENES), on_disk("resumer", SOME_SCENES)),
)
class TestDisk(Kills):
    @pytest.fixture
    def disk(self, request: pytest.FixtureRequest) -> str:
        return str(request.param)

    @pytest.fixture
    def where_killed(self, disk: str) -> str:
        return f"v1 on a {disk}"

    @pytest.fixture
    def places(self, disk: str, fast: Path) -> Places:
        return local_places(fast / disk)


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_driver_killed_at_a_random_time(processes: Processes, scene: Scene, fast: Path) -> None:
    """Many die before they begin, or not at all."""
    chance, places = random.Random(), local_places(fast)
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


S3 = ("ministack", "seaweedfs", "versitygw")
VERSIONED = tuple(name for name, scene in SCENES.items() if scene.mode.startswith("overwrite"))
"""On S3 where the bucket keeps versions, which versitygw does not."""
UNVERSIONED = (
    *("append", "append, exact", "error"),
    *("overwrite" + NEVER_REUSED, "overwrite_partitions" + NEVER_REUSED),
)
ON_S3 = (*product(S3, UNVERSIONED), *product(("ministack", "seaweedfs"), VERSIONED))
ON_GCS = tuple(product(("strict-gcs",), SCENES))
ON_AZURE = tuple(product(("gen2", "azurite"), ("append", "overwrite", "overwrite_partitions")))
ON_HDFS = tuple(product(("hdfs", "webhdfs"), SCENES))
"""By night every call by one client: the cluster, and what it is left with, is one for both."""


@on(
    "remote",
    cases("driver", ON_S3, by_day={("ministack", IN_PLACE): FEW, ("seaweedfs", "append"): FEW}),
    cases("driver", [("ministack", IN_PLACE)], by_night=1, parts=3),
    cases("task", ON_S3, by_day={("versitygw", "append, exact"): FEW}),
    cases("task", [("ministack", "append, exact")], by_night=1),
    cases("driver elsewhere", ON_S3),
    cases("resumer", ON_S3, by_day={("versitygw", "append"): FEW}),
    cases("zombie", ON_S3, by_day={("seaweedfs", "append, exact"): FEW}),
    at_random_times(product(S3, ["append"]), by_night=70),
    cases(
        "driver",
        ON_GCS,
        by_day={("strict-gcs", IN_PLACE): FEW},
        whole=[("strict-gcs", IN_PLACE)],
        parts=2,
    ),
    *(cases(death, ON_GCS) for death in DEATHS if death != "driver"),
    at_random_times([("strict-gcs", "append")], by_night=120),
    *(cases(death, ON_AZURE) for death in DEATHS if death != "driver elsewhere"),
    at_random_times([("gen2", "overwrite")], by_night=80),
    at_random_times([("azurite", "overwrite")], by_night=30),
    cases("driver", ON_HDFS, by_day={("hdfs", IN_PLACE): FEW}, whole=[("hdfs", IN_PLACE)], parts=3),
    cases("task", ON_HDFS, by_day={("hdfs", "append"): 6}, whole=[("hdfs", "append")]),
    cases("driver elsewhere", ON_HDFS, whole=[("hdfs", "append")]),
    cases("resumer", ON_HDFS, whole=[("hdfs", IN_PLACE)]),
    cases("zombie", ON_HDFS, whole=[("hdfs", IN_PLACE)]),
    at_random_times(product(["hdfs", "webhdfs"], ["append"]), by_night=100),
)
class TestRemote(Kills):
    @pytest.fixture
    def where_killed(self, remote: Remote) -> str:
        return f"{remote.committer} on {remote.name}"

    @pytest.fixture
    def places(self, remote: Remote, scene: Scene) -> Places:
        if remote.name in S3 and scene in [SCENES[name] for name in VERSIONED]:
            keep_versions(remote.bucket)
        return remote.through()


def whole_on(death: str, server: str, scene: str, *, by_day: int = 8, parts: int = 1) -> list[Any]:
    """Every call by night, and one of so many *by_day*."""
    where = server, scene
    return cases(death, [where], by_day={where: by_day}, whole=[where], parts=parts)


def some_on(death: str, server: str, scene: str) -> list[Any]:
    """A few calls, by night as well."""
    where = server, scene
    return cases(death, [where], by_day={where: 32}, by_night=16)


@on(
    "remote",
    # A request of botocore's takes ten times as long as one to GCS.
    whole_on("driver", WHOLE_ON["s3"], IN_PLACE, by_day=16, parts=3),
    whole_on("task", WHOLE_ON["s3"], "append"),
    whole_on("resumer", WHOLE_ON["s3"], "append", by_day=16),
    whole_on("zombie", WHOLE_ON["s3"], "append", by_day=16),
    whole_on("driver", WHOLE_ON["gcs"], IN_PLACE),
    *(whole_on(death, WHOLE_ON["gcs"], "append") for death in ("task", "resumer", "zombie")),
    whole_on("driver", WHOLE_ON["azure"], "overwrite"),
    whole_on("task", WHOLE_ON["azure"], "append"),
    # Gen2 has the committer of GCS; azurite is without directories.
    whole_on("resumer", WHOLE_ON["azure"], "append", by_day=16),
    whole_on("zombie", WHOLE_ON["azure"], "append", by_day=16),
    some_on("driver", "azurite", "overwrite"),
    *(some_on(death, "azurite", "append") for death in ("task", "resumer", "zombie")),
    # Of a task by processes, where that takes less: one that is gone holds no connections.
    whole_on("driver", WHOLE_ON["hdfs"], "append"),
)
class TestRemoteInOneProcess(Kills):
    """On one server of each protocol, where a death needs no process: see `one_process.py`."""

    @pytest.fixture
    def processes(self) -> OneProcess:
        return OneProcess()

    @pytest.fixture
    def where_killed(self) -> str:
        return "nowhere"

    @pytest.fixture
    def places(self, remote: Remote) -> Places:
        if remote.name == WHOLE_ON["s3"]:
            keep_versions(remote.bucket)
        return remote.through()


def test_each_night_kills_so_many_for_each_committer() -> None:
    """At random times; those at calls, which are more, are counted when they are run."""
    committers = {**dict.fromkeys(S3, "magic"), "azurite": "magic", "strict-gcs": "manifest"}
    committers |= {"gen2": "manifest", "hdfs": "v1", "webhdfs": "v1"}
    deaths = Counter[str]()
    for mark in TestRemote.pytestmark:  # type: ignore[attr-defined]  # pytest's
        for case in mark.args[1] if mark.name == "parametrize" else ():
            server, kill, *_ = case.values
            if kill.func is kill_at_random_times:
                is_each_night = pytest.mark.every_night in case.marks
                deaths[committers[server]] += kill.keywords["deaths"] if is_each_night else 0
    assert {*deaths} == {"v1", "manifest", "magic"}
    assert min(deaths.values()) >= KILLS_MIN, deaths
