"""Processes race on S3: one decision a job, one file a name, all as if one after the other.

SeaweedFS lets several conditional completions of one name win when they come at one moment. No
guarantee rests on a completion's condition: who publishes is settled by puts under exclusive names
before, and names that no claim protects are nobody else's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.integration import drivers
from tests.integration.places import keep_versions, s3_places
from tests.integration.scenes import SCENES, Scene
from tests.integration.serial import run_storm
from tests.protocol.invariants import check_settled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.places import Place, Places
    from tests.integration.processes import Processes
    from tests.servers.plugin import S3Bucket

DRIVERS = 8
ROUNDS = [1, pytest.param(8, marks=pytest.mark.slow)]
NAMES = ["append", "append, exact"]
every_scene = pytest.mark.parametrize("scene", [SCENES[name] for name in NAMES], ids=NAMES)
rounds = pytest.mark.parametrize("rounds", ROUNDS)


@pytest.fixture
def places(s3_bucket: S3Bucket) -> Places:
    return s3_places(s3_bucket)


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
def test_a_driver_and_a_resumer(processes: Processes, scene: Scene, places: Places) -> None:
    drivers.a_driver_and_a_resumer(processes, scene, places, 8)


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


@rounds
def test_of_eight_jobs_one_gets_a_name(processes: Processes, places: Places, rounds: int) -> None:
    """Jobs that append one exact name at one moment: one commits, and no other changes anything.

    They conflict by their claims, so each waits until the others are over; who comes later finds
    the name taken.
    """
    for number in range(rounds):
        place = places(number)
        answers = processes.race(*(appending(place, label) for label in range(DRIVERS)))
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


REFUSED = {"DestinationExistsError", "ConcurrentJobError", "JobNotActiveError"}


def appending(place: Place, label: int) -> dict[str, Any]:
    options = {"mode": "append", "names": "exact", "wait_s": 20}
    tasks = [{"day=1/taken.txt": text_of(label)}]
    return {"op": "run", **place.where, "options": options, "tasks": tasks}


def text_of(label: int) -> str:
    return f"of job {label} " * (label + 1)


@pytest.mark.guarantees("P11")
@pytest.mark.parametrize("seconds", [3, pytest.param(60, marks=pytest.mark.slow)])
def test_ten_processes(
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
