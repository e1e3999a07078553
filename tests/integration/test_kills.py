"""kill -9 at every store call, of tasks and of drivers: everything or nothing, and never stuck."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, cast

import pytest

from tests.integration.scenes import HIDDEN, SCENES, Scene
from tests.protocol.invariants import (
    check_settled,
    check_under_way,
    directories_of,
    is_only_remains,
    job_ids,
    snapshot_of,
    state_of,
    visible,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Answer, Processes

every_scene = pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES.keys())


def run(processes: Processes, scene: Scene, destination: Path, **fate: object) -> Answer:
    return processes.ask(
        "run",
        destination=str(destination),
        options=scene.options,
        tasks=scene.tasks,
        **fate,
    )


def recover(processes: Processes, scene: Scene, destination: Path, calls: Answer) -> str:
    """Check what is there after a death, settle it as an operator would, and check again."""
    snapshot = snapshot_of(destination)
    state = check_under_way(
        snapshot, old=scene.old, new=scene.new, mode=scene.mode, declared=scene.declared
    )
    where = {"destination": str(destination)}
    if state == "over":
        # It died in its last call, or before its first: no job is left to be settled.
        assert is_only_remains(snapshot)
        happened = visible(snapshot) == scene.after
        processes.do("clean", **where)
    else:
        (job_id,) = job_ids(snapshot)
        happened = state in {"decided", "published"}
        settle = "resume" if happened else "abort"
        other = "abort" if happened else "resume"
        refused = processes.ask(other, **where, job_id=job_id)["error"]
        assert refused["type"] in {"JobNotActiveError", "RequestError"}
        assert refused["outcome"] == ("committed" if happened else "not_committed")
        processes.do(settle, **where, job_id=job_id)
        again = processes.ask(settle, **where, job_id=job_id)["error"]
        assert again["type"] == "JobNotActiveError"
        assert again["outcome"] == "unknown"
    settled(scene, destination, happened=happened)
    return state


def settled(scene: Scene, destination: Path, *, happened: bool) -> None:
    snapshot = snapshot_of(destination)
    wants_marker = scene.options.get("success") != "none"
    check_settled(
        snapshot,
        directories_of(destination),
        expected=scene.after if happened else scene.old,
        marker=wants_marker if happened else bool(scene.old),
    )
    if scene.old:
        assert {name: snapshot.get(name) for name in HIDDEN} == HIDDEN


def calls_of(processes: Processes, scene: Scene, destination: Path) -> list[str]:
    """Run it once to the end; the calls that takes."""
    scene.lay_out(destination)
    answer = run(processes, scene, destination)
    assert "result" in answer, answer["error"]["traceback"]
    assert answer["result"]["state"] == "committed"
    assert answer["result"]["warnings"] == []
    settled(scene, destination, happened=True)
    return cast("list[str]", answer["verbs"])


@every_scene
def test_a_driver_killed_at_any_store_call(processes: Processes, scene: Scene, fast: Path) -> None:
    count = len(calls_of(processes, scene, fast / "whole"))
    states = set[str]()
    # Between two calls nothing reaches the disk, so before one is after the one before it.
    for nth in range(1, count + 2):
        destination = fast / str(nth)
        scene.lay_out(destination)
        die = [nth, "before"] if nth <= count else [count, "after"]
        answer = run(processes, scene, destination, die=die)
        assert answer["killed"], f"call {nth} of {count} was not reached"
        states.add(recover(processes, scene, destination, answer))
    assert states == {"over", "undecided", "decided", "published"}


@every_scene
def test_a_task_killed_at_any_store_call_is_tried_again(
    processes: Processes, scene: Scene, fast: Path
) -> None:
    nth = 0
    killed = True
    while killed:
        nth += 1
        destination = fast / str(nth)
        scene.lay_out(destination)
        spec = processes.do("start", destination=str(destination), options=scene.options)
        wrong = {name: f"killed, {text}" for name, text in scene.tasks[0].items()}
        attempt = processes.ask("task", spec=spec, task_id=0, files=wrong, die=[nth, "before"])
        killed = attempt["killed"]
        snapshot = snapshot_of(destination)
        check_under_way(snapshot, old=scene.old, new=scene.new, mode=scene.mode)
        messages = [
            processes.do("task", spec=spec, task_id=task_id, files=files)
            for task_id, files in enumerate(scene.tasks)
        ]
        processes.do("commit", spec=spec, messages=messages)
        settled(scene, destination, happened=True)
    assert nth > 4


@pytest.mark.parametrize("name", ["append", "overwrite, in place", "overwrite_partitions"])
def test_a_driver_elsewhere_killed_at_any_store_call(
    processes: Processes, name: str, fast: Path
) -> None:
    scene = SCENES[name]
    nth = 0
    killed = True
    while killed:
        nth += 1
        destination = fast / str(nth)
        scene.lay_out(destination)
        spec = processes.do("start", destination=str(destination), options=scene.options)
        messages = [
            processes.do("task", spec=spec, task_id=task_id, files=files)
            for task_id, files in enumerate(scene.tasks)
        ]
        answer = processes.ask("commit", spec=spec, messages=messages, die=[nth, "after"])
        killed = answer["killed"]
        if killed:
            recover(processes, scene, destination, answer)
    settled(scene, destination, happened=True)


@pytest.mark.parametrize("name", ["append", "overwrite, in place", "overwrite_partitions"])
def test_a_resumer_killed_at_any_store_call(processes: Processes, name: str, fast: Path) -> None:
    scene = SCENES[name]
    whole = fast / "whole"
    verbs = calls_of(processes, scene, whole)
    creates = [number for number, verb in enumerate(verbs) if verb == "create"]
    # The last to be created are the decision, what says that all is published, and the epoch.
    first = creates[-3] + 1
    nth = 0
    killed = True
    while killed:
        nth += 1
        destination = fast / str(nth)
        scene.lay_out(destination)
        run(processes, scene, destination, die=[first, "after"])
        (job_id,) = job_ids(snapshot_of(destination))
        where = {"destination": str(destination), "job_id": job_id}
        answer = processes.ask("resume", **where, die=[nth, "before"])
        killed = answer["killed"]
        if killed:
            recover(processes, scene, destination, answer)
    settled(scene, destination, happened=True)
    assert nth > 10


@every_scene
def test_a_zombie_changes_nothing(processes: Processes, scene: Scene, fast: Path) -> None:
    """A driver that sleeps while others settle its job, then goes on."""
    verbs = calls_of(processes, scene, fast / "whole")
    count = len(verbs)
    begun = verbs.index("create") + 1  # Before job.json stands there is no job to be settled.
    for nth in range(begun + 1, count + 1):
        destination = fast / str(nth)
        scene.lay_out(destination)
        zombie = run(processes, scene, destination, die=[nth, "stop"])
        assert zombie.get("stopped"), f"call {nth} of {count} was not reached"
        state = recover(processes, scene, destination, zombie)
        happened = state in {"decided", "published"} or (
            state == "over" and visible(snapshot_of(destination)) == scene.after
        )
        before = snapshot_of(destination)
        ended = processes.ask("continue", pid=zombie["pid"])
        after = snapshot_of(destination)
        assert visible(after) == visible(before), f"P6: call {nth}"
        settled(scene, destination, happened=happened)
        if "error" in ended:
            assert ended["error"]["type"] == "JobNotActiveError", ended["error"]["traceback"]
            allowed = {"committed", "unknown"} if happened else {"not_committed", "unknown"}
            assert ended["error"]["outcome"] in allowed, ended["error"]["traceback"]
        else:
            # All it had left to do was what the resumer did.
            assert happened


@pytest.mark.slow
@every_scene
def test_a_driver_killed_at_a_random_time(processes: Processes, scene: Scene, fast: Path) -> None:
    chance = random.Random()
    for nth in range(150):
        destination = fast / str(nth)
        scene.lay_out(destination)
        answer = run(processes, scene, destination, kill_after_s=chance.uniform(0, 0.04))
        snapshot = snapshot_of(destination)
        if answer["killed"] or not answer.get("result"):
            recover(processes, scene, destination, answer)
        else:
            (job_id,) = job_ids(snapshot) or [""]
            assert state_of(snapshot, job_id) == "over"
            settled(scene, destination, happened=True)
