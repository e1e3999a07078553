"""Processes race, on every store: one decision a job, one file a name.

Who races to settle one job: see `drivers.py`. SeaweedFS lets several conditional completions of one
name win when they come at one moment. No guarantee rests on a completion's condition: who publishes
is settled by puts under exclusive names before, and names that no claim protects are nobody else's.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from tests.integration import drivers
from tests.integration.serial import run_storm
from tests.protocol.invariants import check_settled
from tests.scenes.hdfs_places import hdfs_places
from tests.scenes.places import keep_versions, local_places, s3_places
from tests.scenes.scene import SCENES, Scene
from tests.sweeps import some_tests_by_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from tests.integration.processes import Processes
    from tests.scenes.places import Place, Places
    from tests.servers.hdfs.plugin import HdfsDirectory
    from tests.servers.plugin import S3Bucket

Race: TypeAlias = "Callable[[Processes, Scene, Places, int], None]"
EIGHT = 8
RACES: dict[str, tuple[Race, tuple[str, ...]]] = {
    "two drivers": (drivers.two_drivers_of_one_job, ("P7",)),
    "a driver and an aborter": (drivers.a_driver_and_an_aborter, ("P5", "P7")),
    "a driver and a resumer": (drivers.a_driver_and_a_resumer, ("P5", "P7")),
    "resumers": (drivers.resumers_of_one_job, ("P5", "P7")),
    "eight drivers": (partial(drivers.of_many_drivers_one_decides, count=EIGHT), ("P7",)),
}
"""Who wants to settle one job, and the guarantees that this is for."""


def races(name: str, scenes: Iterable[str], *rounds: int, by_day: bool = True) -> list[Any]:
    """So many *rounds* of a race; the first number *by_day*, all by night."""
    race, guarantees = RACES[name]
    slow = [pytest.mark.slow]
    return [
        pytest.param(
            *(race, SCENES[scene], count),
            id=f"{name}-{scene}-{count}",
            marks=[
                pytest.mark.guarantees(*guarantees),
                *([] if by_day and count == rounds[0] else slow),
            ],
        )
        for scene in scenes
        for count in rounds
    ]


def of(*races: list[Any]) -> pytest.MarkDecorator:
    cases = [case for some in races for case in some]
    return pytest.mark.parametrize(("race", "scene", "rounds"), cases)


class Races:
    def test_of_one_job(
        self, processes: Processes, places: Places, race: Race, scene: Scene, rounds: int
    ) -> None:
        """At most one decides, and the others are told so."""
        race(processes, scene, places, rounds)


EVERY_MODE = ("append", "append, exact", "error", "overwrite", "overwrite_partitions, in place")


@of(*(races(name, EVERY_MODE, 1, 12) for name in RACES if name != "eight drivers"))
class TestDisk(Races):
    @pytest.fixture
    def places(self, fast: Path) -> Places:
        return local_places(fast)


ON_S3 = ("append", "append, exact")
ON_HDFS = ("append", "overwrite, in place")


@some_tests_by_day(4, everywhere=True)
@of(
    races("two drivers", ON_S3, 1, 8),
    races("a driver and an aborter", ON_S3, 1, 8),
    races("a driver and a resumer", ON_S3, 8, by_day=False),
    races("resumers", ON_S3, 8, by_day=False),
    races("eight drivers", ["append, exact"], 1, 8),
)
class TestS3(Races):
    @pytest.fixture
    def places(self, s3_bucket: S3Bucket) -> Places:
        return s3_places(s3_bucket)


@some_tests_by_day(4, everywhere=True)
@of(
    races("two drivers", ON_HDFS, 1, 8),
    races("a driver and an aborter", ON_HDFS, 1, 8),
    races("resumers", ON_HDFS, 8, by_day=False),
    races("eight drivers", ["append, exact"], 1, 8),
)
class TestHdfs(Races):
    @pytest.fixture
    def places(self, hdfs_directory: HdfsDirectory) -> Places:
        return hdfs_places(hdfs_directory)


@some_tests_by_day(4, everywhere=True)
class TestS3Jobs:
    """Processes that race with whole jobs."""

    @pytest.mark.parametrize("rounds", [1, pytest.param(8, marks=pytest.mark.slow)])
    def test_of_eight_jobs_one_gets_a_name(
        self, processes: Processes, s3_bucket: S3Bucket, rounds: int
    ) -> None:
        """Jobs that append one exact name at one moment: one commits, the others change nothing.

        They conflict by their claims, so each waits until the others are over; who comes later
        finds the name taken.
        """
        for number in range(rounds):
            place = s3_places(s3_bucket)(number)
            answers = processes.race(*(appending(place, label) for label in range(EIGHT)))
            won = [label for label, answer in enumerate(answers) if "result" in answer]
            assert len(won) == 1, answers
            for label, answer in enumerate(answers):
                if label not in won:
                    error = answer["error"]
                    assert error["type"] in REFUSED, error["traceback"]
                    assert error["outcome"] == "not_committed"
            processes.do("clean", **place.where)
            expected = {"day=1/taken.txt": text_of(won[0]).encode()}
            check_settled(place.snapshot(), expected=expected, marker=True)
            assert place.pending() == []

    @pytest.mark.guarantees("P11")
    @pytest.mark.parametrize("seconds", [8, pytest.param(60, marks=pytest.mark.slow)])
    def test_ten_processes(
        self,
        processes: Processes,
        s3_bucket: S3Bucket,
        tmp_path: Path,
        seconds: int,
        say_what_ran: Callable[[str], None],
    ) -> None:
        # Without versions no file may be overwritten whose name could come again.
        exact = s3_bucket.server.name != "versitygw"
        if exact:
            keep_versions(s3_bucket)
        place = s3_places(s3_bucket)("storm")
        say_what_ran(run_storm(processes, place, tmp_path, seconds, exact=exact, least=1))


REFUSED = {"DestinationExistsError", "ConcurrentJobError", "JobNotActiveError"}


def appending(place: Place, label: int) -> dict[str, Any]:
    options = {"mode": "append", "names": "exact", "wait_s": 20}
    tasks = [{"day=1/taken.txt": text_of(label)}]
    return {"op": "run", **place.where, "options": options, "tasks": tasks}


def text_of(label: int) -> str:
    return f"of job {label} " * (label + 1)
