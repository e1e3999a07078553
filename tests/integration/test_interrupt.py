"""Ctrl-C: before the decision it aborts; after it publishing is finished, unless it comes twice."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.protocol.invariants import (
    check_settled,
    check_under_way,
    directories_of,
    job_ids,
    snapshot_of,
)
from tests.scenes.scene import SCENES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Answer, Processes

# What is slowed down takes so long; who is interrupted must end long before that.
FOR_EVER_S = 60.0
SOON_S = 20.0
SCENE = SCENES["overwrite"]


class Interrupted:
    """A job in a process of its own, slow at one call, and told to stop there."""

    def __init__(
        self, processes: Processes, directory: Path, *, verb: str, part: str, seconds: float
    ) -> None:
        self.destination = directory / "out"
        self._processes = processes
        self._mark = directory / "mark"
        SCENE.lay_out(self.destination)
        processes.send(
            {
                "op": "run",
                "destination": str(self.destination),
                "options": SCENE.options,
                "tasks": SCENE.tasks,
                "slow": [verb, part, seconds, str(self._mark)],
            }
        )
        self._pid = self._wait_for_mark()

    def _wait_for_mark(self) -> int:
        until = time.monotonic() + SOON_S
        while not self._mark.exists():
            assert time.monotonic() < until, "the call was never reached"
            time.sleep(0.005)
        return int(self._mark.read_text())

    def interrupt(self) -> None:
        os.kill(self._pid, signal.SIGINT)

    def ended(self) -> Answer:
        begin = time.monotonic()
        (answer,) = self._processes.receive()
        assert time.monotonic() - begin < SOON_S
        return answer

    def settled(self, *, happened: bool) -> None:
        check_settled(
            snapshot_of(self.destination),
            directories_of(self.destination),
            expected=SCENE.after if happened else SCENE.old,
            marker=True,
        )


@pytest.mark.parametrize(
    ("verb", "part"),
    [
        ("rename_directory", "/committed/"),
        ("create", "/manifests/"),
        ("create", "/claim-"),
        ("list_tree", ""),
        ("create", "/_SUCCESS"),
    ],
    ids=["task commit", "manifest", "claim", "listing", "marker"],
)
def test_before_the_decision_it_aborts(
    processes: Processes, fast: Path, verb: str, part: str
) -> None:
    job = Interrupted(processes, fast, verb=verb, part=part, seconds=FOR_EVER_S)
    job.interrupt()
    error = job.ended()["error"]
    assert error["type"] == "KeyboardInterrupt"
    assert error["notes"] == []
    job.settled(happened=False)


@pytest.mark.parametrize(
    ("verb", "part"),
    [
        ("create", "/decision"),
        ("rename", "/out/day=9"),
        ("create", "/published"),
        ("rename", "/trash/"),
        ("create", "/epoch-"),
    ],
    ids=["decision", "publishing", "published", "replaced", "epoch"],
)
def test_after_the_decision_it_finishes(
    processes: Processes, fast: Path, verb: str, part: str
) -> None:
    job = Interrupted(processes, fast, verb=verb, part=part, seconds=0.5)
    job.interrupt()
    error = job.ended()["error"]
    assert error["type"] == "KeyboardInterrupt"
    (note,) = error["notes"]
    assert note.startswith("committed")
    job.settled(happened=True)


@pytest.mark.parametrize(
    ("verb", "part"),
    [("rename", "/out/day=9"), ("create", "/published"), ("rename", "/trash/")],
    ids=["publishing", "published", "replaced"],
)
def test_twice_it_stops_and_says_how_to_finish(
    processes: Processes, fast: Path, verb: str, part: str
) -> None:
    job = Interrupted(processes, fast, verb=verb, part=part, seconds=FOR_EVER_S)
    job.interrupt()
    # Two signals at one moment are one: the first must have been heard.
    time.sleep(0.5)
    snapshot = snapshot_of(job.destination)
    job.interrupt()
    error = job.ended()["error"]
    assert error["type"] == "KeyboardInterrupt"
    (job_id,) = job_ids(snapshot)
    (note,) = error["notes"]
    assert "delete nothing" in note
    assert f"fsspec-commit resume {job.destination} {job_id}" in note
    state = check_under_way(
        snapshot_of(job.destination), old=SCENE.old, new=SCENE.new, mode=SCENE.mode
    )
    assert state in {"decided", "published"}
    processes.do("resume", destination=str(job.destination), job_id=job_id)
    job.settled(happened=True)
