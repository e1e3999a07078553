"""Two versions on one store: processes of one die, or race, and those of the other settle the job.

The other version is a commit of this repository, taken out of its history. What it has left at each
call in memory is also recorded, for checkouts without one: ``tests/protocol/versions``, where both
versions are also in one process.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.integration import drivers, kills
from tests.integration.processes import Processes
from tests.protocol.versions.first_release import unpacked
from tests.scenes.places import keep_versions, local_places
from tests.scenes.scene import SCENES, NamedScene, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.processes import Answer
    from tests.scenes.places import Places
    from tests.scenes.remotes import Remote
    from tests.scenes.scene import Scene

pytestmark = [pytest.mark.slow, pytest.mark.checkout]

OF_DRIVERS = {"run", "start", "task", "commit", "continue"}
"""What a driver and its tasks are asked for; the rest is settling."""


class TwoVersions:
    """Drivers of one version, and whoever settles their jobs of the other; in races, by turns.

    Whoever cleans, this version does so after it: the earlier one leaves an upload of ``_SUCCESS``
    that nobody has recorded.
    """

    def __init__(self, drivers: Processes, others: Processes, *, this: Processes) -> None:
        self._drivers = drivers
        self._others = others
        self._this = this

    def ask(self, op: str, **request: object) -> Answer:
        return self.race({"op": op, **request})[0]

    def do(self, op: str, **request: object) -> Any:
        answer = self.ask(op, **request)
        assert "result" in answer, answer.get("error", answer)
        if op == "clean":
            self._this.do(op, **request)
        return answer["result"]

    def series(self, *requests: Answer) -> list[Answer]:
        answers = self._others.series(*requests)
        for request in requests:
            if request["op"] == "clean":
                self._this.do(**request)
        return answers

    def race(self, *requests: Answer) -> list[Answer]:
        """All at one moment; of several that ask for the same each other one is of the other."""
        sides = [self._others if one["op"] not in OF_DRIVERS else self._drivers for one in requests]
        if len(requests) > 1 and len(set(sides)) == 1:
            sides = [(self._drivers, self._others)[nth % 2] for nth in range(len(requests))]
        asked = {side: [nth for nth, one in enumerate(sides) if one is side] for side in sides}
        for side, numbers in asked.items():
            side.send(*(requests[nth] for nth in numbers))
        answers: dict[int, Answer] = {}
        for side, numbers in asked.items():
            answers.update(zip(numbers, side.receive(), strict=True))
        return [answers[nth] for nth in range(len(requests))]


@pytest.fixture(scope="session")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The earlier version's code."""
    root = tmp_path_factory.mktemp("earlier")
    unpacked(root, "fsspec_commit", "stores", "tests")
    return root


@pytest.fixture(scope="session")
def of_earlier(earlier: Path) -> Iterator[Processes]:
    with Processes(earlier) as processes:
        yield processes


@pytest.fixture(params=["driver", "others"])
def both(
    request: pytest.FixtureRequest, processes: Processes, of_earlier: Processes
) -> TwoVersions:
    """The earlier version drives jobs, or settles them."""
    is_driver = request.param == "driver"
    sides = (of_earlier, processes) if is_driver else (processes, of_earlier)
    return TwoVersions(*sides, this=processes)


KILLS: dict[str, Callable[..., None]] = {
    "driver": kills.kill_the_driver,
    "task": kills.kill_a_task,
    "driver elsewhere": kills.kill_a_driver_elsewhere,
    "resumer": kills.kill_the_resumer,
    "zombie": kills.wake_a_zombie,
}
MODES = ("append", "overwrite", "overwrite_partitions")
each_kill = pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS)
each_mode = pytest.mark.parametrize("scene", [SCENES[name] for name in MODES], ids=MODES)
IN_BUCKETS = {
    **{
        f"{remote} {mode}": (remote, SCENES[mode])
        for remote, mode in product(("ministack", "strict-gcs"), MODES)
    },
    "ministack overwrite without versions": ("ministack", named("overwrite")),
}
each_mode_in_buckets = pytest.mark.parametrize(
    ("remote", "scene"), IN_BUCKETS.values(), ids=IN_BUCKETS, indirect=["remote"]
)


def test_the_earlier_version_is_another(earlier: Path) -> None:
    """Else all of this would be about one version."""
    path = f"import sys; sys.path[:0] = [{str(earlier)!r}, {str(earlier / 'stores')!r}]"
    where = "import fsspec_commit, fsspec_commit_stores as s; print(fsspec_commit.__file__, s)"
    said = subprocess.check_output([sys.executable, "-c", f"{path}; {where}"], text=True)
    assert said.count(str(earlier)) == 2


@each_kill
@each_mode
@pytest.mark.parametrize("every", [1], ids=["whole"])
def test_p1_p2_p5_p6_p8_p9_killed_at_any_call_on_a_disk(
    both: TwoVersions, kill: Callable[..., None], scene: Scene, fast: Path, *, sweep: Sweep
) -> None:
    kill(both, scene, local_places(fast), sweep)


def places_of(remote: Remote, scene: Scene) -> Places:
    """In a bucket that keeps versions, where old files have names that come again."""
    if remote.name == "ministack" and scene.mode != "append" and not isinstance(scene, NamedScene):
        keep_versions(remote.bucket)
    return remote.through()


@each_kill
@each_mode_in_buckets
@pytest.mark.parametrize("every", [5], ids=["some"])
def test_p1_p2_p5_p6_p8_p9_killed_on_a_server(
    both: TwoVersions, kill: Callable[..., None], remote: Remote, scene: Scene, sweep: Sweep
) -> None:
    kill(both, scene, places_of(remote, scene), sweep)


RACES: dict[str, Callable[..., None]] = {
    "two drivers": drivers.two_drivers_of_one_job,
    "a driver and an aborter": drivers.a_driver_and_an_aborter,
    "a driver and a resumer": drivers.a_driver_and_a_resumer,
    "resumers": drivers.resumers_of_one_job,
}


@each_mode
@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_p5_p7_processes_of_both_race_on_a_disk(
    both: TwoVersions, race: Callable[..., None], scene: Scene, fast: Path
) -> None:
    race(both, scene, local_places(fast), 10)


@each_mode_in_buckets
@pytest.mark.parametrize("race", RACES.values(), ids=RACES)
def test_p5_p7_processes_of_both_race_on_a_server(
    both: TwoVersions, race: Callable[..., None], remote: Remote, scene: Scene
) -> None:
    race(both, scene, places_of(remote, scene), 5)
