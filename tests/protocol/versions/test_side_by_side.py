"""This version and the first release in one process: one settles what the other has left.

At one destination, on a disk and on a server, by the adapters of both. Deaths are seeming, as where
one process does all (``tests/integration/one_process.py``): no call of a dead driver reaches the
store. Where either stands still at any call while the other goes on, call by call, is simulated:
``test_simulated_together.py``. Processes that really die: ``tests/integration/test_versions.py``.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from tests.integration import kills
from tests.integration.one_process import OneProcess
from tests.scenes.places import LocalPlace, keep_versions
from tests.scenes.remotes import on
from tests.scenes.scene import SCENES
from tests.sweeps import some_by_day

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fsspec_commit.testing.sweeps import Sweep
    from tests.integration.processes import Answer
    from tests.protocol.versions.first_release import FirstRelease
    from tests.scenes.remotes import Remote
    from tests.scenes.scene import Scene

pytestmark = pytest.mark.checkout

OF_DRIVERS = {"run", "start", "task", "commit", "continue"}
"""What a driver and its tasks are asked for; the rest is settling."""
MODES = ("append", "overwrite", "overwrite_partitions")
KILLS: dict[str, Callable[..., None]] = {
    "driver": kills.kill_the_driver,
    "task": kills.kill_a_task,
    "driver elsewhere": kills.kill_a_driver_elsewhere,
    "resumer": kills.kill_the_resumer,
    "zombie": kills.wake_a_zombie,
}
BY_DAY = {("driver", "append"), ("zombie", "overwrite")}
"""What dies at a server by day, and in which mode."""


class SideBySide:
    """Drivers and tasks of one version, and whoever settles their jobs of the other."""

    killed = 0

    def __init__(self, drivers: OneProcess, others: OneProcess) -> None:
        self._drivers = drivers
        self._others = others

    def ask(self, op: str, **request: object) -> Answer:
        """Whoever does that."""
        return (self._drivers if op in OF_DRIVERS else self._others).ask(op, **request)

    def do(self, op: str, **request: object) -> Any:
        """It must succeed."""
        answer = self.ask(op, **request)
        assert "result" in answer, answer.get("error", answer)
        return answer["result"]

    def series(self, *requests: Answer) -> list[Answer]:
        """One after the other."""
        (of_drivers,) = {one["op"] in OF_DRIVERS for one in requests}
        return (self._drivers if of_drivers else self._others).series(*requests)


@pytest.fixture(params=["settled by this", "settled by the first"])
def both(request: pytest.FixtureRequest, first: FirstRelease) -> SideBySide:
    """The first release drives jobs, or settles them."""
    sides = OneProcess(), first.module("tests.integration.one_process").OneProcess()
    is_this = request.param == "settled by this"
    return SideBySide(*(reversed(sides) if is_this else sides))


class Disk(LocalPlace):
    """A local directory, as a driver is asked for any place."""

    @property
    def where(self) -> dict[str, Any]:
        return {**super().where, "storage_options": {}}


def test_there_are_two_versions_in_this_process(first: FirstRelease, tmp_path: Path) -> None:
    """Else all of this would be about one: each has its own classes, and reads the other's jobs."""
    theirs, where = first.module("fsspec_commit"), str(tmp_path)
    assert issubclass(theirs.RecordError, ValueError)
    assert not issubclass(theirs.RecordError, fc.RecordError)
    for one, other in ((theirs, fc), (fc, theirs)):
        job = one.Job(where, mode="append").start()
        assert [info.job_id for info in other.jobs(where)] == [job.job_id]
        job.abort()
        assert other.jobs(where) == []


@pytest.mark.parametrize("scene", [SCENES[mode] for mode in MODES], ids=MODES)
@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS)
@some_by_day(20)
def test_p1_p2_p5_p6_p8_p9_whoever_dies_on_a_disk_the_other_version_settles(
    both: SideBySide, kill: Callable[..., None], scene: Scene, tmp_path: Path, sweep: Sweep
) -> None:
    kill(both, scene, lambda name: Disk(tmp_path / str(name)), sweep)


@pytest.mark.parametrize(
    ("kill", "mode"),
    [
        pytest.param(
            *(kills_at, mode),
            marks=() if (kills_at, mode) in BY_DAY else pytest.mark.slow,
            id=f"{kills_at}, {mode}",
        )
        for kills_at, mode in product(("driver", "zombie"), MODES)
    ],
)
@on("ministack", by_night=("strict-gcs",))
@some_by_day(40)
def test_p1_p2_p5_p6_p8_p9_whoever_dies_at_a_server_the_other_version_settles(
    both: SideBySide, kill: str, mode: str, remote: Remote, sweep: Sweep
) -> None:
    if remote.name == "ministack" and mode != "append":
        keep_versions(remote.bucket)  # Old files have names that come again.
    KILLS[kill](both, SCENES[mode], remote.through(), sweep)
