"""Whoever races to settle one job: at most one decides, the others are told so (P3, P7).

What the tests of it do wherever the destination is: `test_races.py`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fsspec_commit as fc
from tests.protocol.invariants import check_settled, state_of
from tests.scenes.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.integration.processes import Answer, Processes
    from tests.scenes.places import Place, Places


class Race:
    """One job with an attempt of each task for every driver, and those who want to settle it."""

    def __init__(
        self,
        processes: Processes,
        scene: Scene,
        place: Place,
        # Of unlike sizes, so that a marker tells whose it is.
        marks: Sequence[str] = (", the first choice", ", the choice of the second driver"),
    ) -> None:
        self.processes = processes
        self.scene = scene
        self.place = place
        place.put(scene.laid_out)
        self.spec = processes.do("start", **place.where, options=scene.options)
        self.job_id = fc.JobSpec.from_json(self.spec).job_id
        self.choices = [
            [{name: text + mark for name, text in files.items()} for files in scene.tasks]
            for mark in marks
        ]
        self.drivers = [self._driver(tasks) for tasks in self.choices]

    def _driver(self, tasks: list[dict[str, str]]) -> Answer:
        messages = [
            self.processes.do(
                "task", **self.place.where, spec=self.spec, task_id=number, files=files
            )
            for number, files in enumerate(tasks)
        ]
        return {"op": "commit", **self.place.where, "spec": self.spec, "messages": messages}

    def other(self, op: str) -> Answer:
        return {"op": op, **self.place.where, "job_id": self.job_id}

    def check(self, choice: int | None) -> None:
        """Exactly the files of one choice are there, or of none, and nothing else is left."""
        if self.place.may_come_back:
            # A loser may have put a claim into an area that was gone by then.
            self.processes.do("clean", **self.place.where)
        snapshot = self.place.snapshot()
        scene = self.scene
        chosen = [] if choice is None else self.choices[choice]
        expected = scene.old if choice is None else Scene(scene.options, chosen).after
        check_settled(
            snapshot,
            self.place.directories(),
            expected=expected,
            marker=bool(scene.old) if choice is None else scene.leaves_marker,
        )
        pending = self.place.pending()
        assert pending == [], pending
        if choice is not None and scene.options.get("success") == "json":
            self._check_marker(snapshot, choice)

    def _check_marker(self, snapshot: dict[str, bytes], choice: int) -> None:
        marker: Any = json.loads(snapshot["_SUCCESS"])
        size = sum(len(text) for files in self.choices[choice] for text in files.values())
        assert marker["iostatistics"]["counters"]["committer_bytes_committed"] == size


def check_loser(loser: Answer, *, committed: bool) -> None:
    """It was told that somebody else settled the job, and how as far as that can be known."""
    error = loser["error"]
    assert error["type"] == "JobNotActiveError", error["traceback"]
    allowed = {"committed" if committed else "not_committed", "unknown"}
    assert error["outcome"] in allowed, error["traceback"]


def two_drivers_of_one_job(processes: Processes, scene: Scene, places: Places, rounds: int) -> None:
    for number in range(rounds):
        race = Race(processes, scene, places(number))
        answers = processes.race(*race.drivers)
        winners = [choice for choice, answer in enumerate(answers) if "result" in answer]
        assert len(winners) == 1, answers
        check_loser(answers[1 - winners[0]], committed=True)
        race.check(winners[0])


def a_driver_and_an_aborter(
    processes: Processes, scene: Scene, places: Places, rounds: int
) -> None:
    for number in range(rounds):
        race = Race(processes, scene, places(number))
        driver, aborter = processes.race(race.drivers[0], race.other("abort"))
        committed = "result" in driver
        if committed:
            check_loser(aborter, committed=True)
        else:
            assert "result" in aborter, aborter
            check_loser(driver, committed=False)
        race.check(0 if committed else None)


def a_driver_and_a_resumer(processes: Processes, scene: Scene, places: Places, rounds: int) -> None:
    for number in range(rounds):
        race = Race(processes, scene, places(number))
        driver, resumer = processes.race(race.drivers[0], race.other("resume"))
        if "error" in resumer and resumer["error"]["type"] == "RequestError":
            assert "has not decided" in resumer["error"]["text"]
            assert "result" in driver, driver
        elif "error" in resumer:
            check_loser(resumer, committed=True)
        if "error" in driver:
            check_loser(driver, committed=True)
            assert "result" in resumer
        race.check(0)


def resumers_of_one_job(processes: Processes, scene: Scene, places: Places, rounds: int) -> None:
    nth = 1
    for number in range(rounds):
        race = Race(processes, scene, places(number))
        nth = kill_after_decision(race, nth)
        answers = processes.race(*[race.other("resume")] * 3, race.other("abort"))
        *resumers, aborter = answers
        check_loser(aborter, committed=True)
        assert any("result" in answer for answer in resumers), answers
        for answer in resumers:
            if "error" in answer:
                check_loser(answer, committed=True)
        race.check(0)


def kill_after_decision(race: Race, first: int) -> int:
    """Let the first driver die when it has just decided, each time a call later; at which."""
    for nth in range(first, 100):
        (answer,) = race.processes.race({**race.drivers[0], "die": [nth, "after"]})
        assert answer["killed"], answer
        if state_of(race.place.snapshot(), race.job_id) == "decided":
            return nth
    raise AssertionError("a driver of a hundred calls decides nothing")


def of_many_drivers_one_decides(
    processes: Processes, scene: Scene, places: Places, rounds: int, *, count: int
) -> None:
    """Each with attempts of its own choice: exactly one choice is there, whole."""
    marks = [f", the choice of driver {number}" for number in range(count)]
    for number in range(rounds):
        race = Race(processes, scene, places(number), marks=marks)
        answers = processes.race(*race.drivers)
        winners = [choice for choice, answer in enumerate(answers) if "result" in answer]
        assert len(winners) == 1, answers
        for choice, answer in enumerate(answers):
            if choice not in winners:
                check_loser(answer, committed=True)
        race.check(winners[0])
