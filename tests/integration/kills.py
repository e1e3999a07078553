"""kill -9 at every store call, of tasks and of drivers: everything or nothing, and never stuck.

What the tests of it do wherever the destination is: `test_kills.py`. Where a
death costs a second and there are thousands, a *sweep* tries some of the calls.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from itertools import count, islice
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from tests.protocol.invariants import (
    check_settled,
    check_under_way,
    is_only_remains,
    job_ids,
    visible,
)
from tests.scenes.scene import HIDDEN, Scene

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.integration.processes import Answer
    from tests.scenes.places import Place, Places

T = TypeVar("T")

STATES = {"over", "undecided", "decided", "published"}
AT_ONCE = 4
"""So many drivers are killed at one moment: half of the time each of them waits for its server."""


class Processes(Protocol):
    """Runs requests in processes that die: really, or as if (`one_process.py`)."""

    def ask(self, op: str, **request: object) -> Answer:
        """One process; it may fail or die."""

    def do(self, op: str, **request: object) -> Any:
        """One process, which must succeed."""

    def series(self, *requests: Answer) -> list[Answer]:
        """One after the other in one process."""


class RacingProcesses(Processes, Protocol):
    """Really runs them."""

    def race(self, *requests: Answer) -> list[Answer]:
        """All at one moment, in processes of their own."""


class Sweep(Protocol):
    """Chooses the calls at which something happens."""

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""

    def __call__(self, cases: Iterable[T], /) -> Iterator[T]:
        """Those of *cases* that are to be tried."""


def run(processes: Processes, scene: Scene, place: Place, **fate: object) -> Answer:
    return processes.ask(**running(scene, place, **fate))


def running(scene: Scene, place: Place, **fate: object) -> Answer:
    """The request for a whole job in one process."""
    return {
        "op": "run",
        **place.where,
        "options": scene.options,
        "tasks": scene.tasks,
        **fate,
    }


def recover(processes: Processes, scene: Scene, place: Place) -> str:
    """Check what is there after a death, settle it as an operator would, and check again."""
    snapshot = place.snapshot()
    state = check_under_way(
        snapshot, old=scene.old, new=scene.new, mode=scene.mode, declared=scene.declared
    )
    where = place.where
    if state == "over":
        # It died in its last call, or before its first: no job is left to be settled.
        assert place.may_come_back or is_only_remains(snapshot)
        happened = visible(snapshot) == scene.after
        processes.do("clean", **where)
    else:
        (job_id,) = job_ids(snapshot)
        happened = state in {"decided", "published"}
        settle = {"op": "resume" if happened else "abort", **where, "job_id": job_id}
        other = {**settle, "op": "abort" if happened else "resume"}
        # A request that was under way may have brought something after its area had gone.
        cleaned = [{"op": "clean", **where}] if place.may_come_back else []
        refused, done, again, *cleaned = processes.series(other, settle, settle, *cleaned)
        assert refused["error"]["type"] in {"JobNotActiveError", "RequestError"}
        # The driver of a job that has not decided may be alive, for all that is to be seen.
        assert refused["error"]["outcome"] == ("committed" if happened else "unknown")
        assert "result" in done, done["error"]["traceback"]
        assert again["error"]["type"] == "JobNotActiveError"
        # Nothing says that a job was aborted; that one was committed its files may say.
        allowed = {"committed", "unknown"} if happened else {"unknown"}
        assert again["error"]["outcome"] in allowed
        assert all("result" in one for one in cleaned), cleaned
    settled(scene, place, happened=happened)
    return state


def settled(scene: Scene, place: Place, *, happened: bool) -> None:
    snapshot = place.snapshot()
    check_settled(
        snapshot,
        place.directories(),
        expected=scene.after if happened else scene.old,
        marker=scene.leaves_marker if happened else bool(scene.old),
    )
    if scene.old:
        assert {name: snapshot.get(name) for name in HIDDEN} == HIDDEN
    assert place.pending() == []


def calls_of(processes: Processes, scene: Scene, place: Place) -> list[str]:
    """Run it once to the end; the calls that takes."""
    place.put(scene.laid_out)
    answer = run(processes, scene, place)
    assert "result" in answer, answer["error"]["traceback"]
    assert answer["result"]["state"] == "committed"
    assert all(told.startswith("not in a partition: ") for told in answer["result"]["warnings"])
    settled(scene, place, happened=True)
    return cast("list[str]", answer["verbs"])


def kill_the_driver(  # what the tests are given
    processes: Processes, scene: Scene, places: Places, sweep: Sweep, *, part: int = 0, of: int = 1
) -> None:
    """A whole job in one process, which dies at each of its calls; of parts, at every *of*-th."""
    calls = len(calls_of(processes, scene, places("whole")))
    states = set[str]()
    # Between two calls nothing reaches the disk, so before one is after the one before it.
    for nth in sweep(islice(range(1, calls + 2), part, None, of)):
        place = places(nth)
        place.put(scene.laid_out)
        die = [nth, "before"] if nth <= calls else [calls, "after"]
        answer = run(processes, scene, place, die=die)
        assert answer["killed"], f"call {nth} of {calls} was not reached"
        states.add(recover(processes, scene, place))
    if sweep.is_whole:
        # Only the first part begins before anything has begun.
        assert states | ({"over"} if part else set()) == STATES


def write_tasks(processes: Processes, scene: Scene, place: Place, spec: str) -> list[str]:
    """Every task of a job that was started elsewhere; their messages."""
    tasks = [
        {"op": "task", **place.where, "spec": spec, "task_id": task_id, "files": files}
        for task_id, files in enumerate(scene.tasks)
    ]
    answers = processes.series(*tasks)
    assert all("result" in answer for answer in answers), answers
    return [answer["result"] for answer in answers]


def kill_a_task(processes: Processes, scene: Scene, places: Places, sweep: Sweep) -> None:
    """An attempt that dies at each of its calls; another one takes its place."""
    for nth in sweep(count(1)):
        place = places(nth)
        place.put(scene.laid_out)
        spec = processes.do("start", **place.where, options=scene.options)
        wrong = {name: f"killed, {text}" for name, text in scene.tasks[0].items()}
        attempt = processes.ask(
            "task", **place.where, spec=spec, task_id=0, files=wrong, die=[nth, "before"]
        )
        snapshot = place.snapshot()
        check_under_way(snapshot, old=scene.old, new=scene.new, mode=scene.mode)
        messages = write_tasks(processes, scene, place, spec)
        processes.do("commit", **place.where, spec=spec, messages=messages)
        settled(scene, place, happened=True)
        if not attempt["killed"]:
            break
    assert nth > 4


def kill_a_driver_elsewhere(
    processes: Processes, scene: Scene, places: Places, sweep: Sweep
) -> None:
    """A driver that was handed the messages of tasks dies at each of its calls."""
    for nth in sweep(count(1)):
        place = places(nth)
        place.put(scene.laid_out)
        spec = processes.do("start", **place.where, options=scene.options)
        messages = write_tasks(processes, scene, place, spec)
        answer = processes.ask(
            "commit", **place.where, spec=spec, messages=messages, die=[nth, "after"]
        )
        if not answer["killed"]:
            break
        recover(processes, scene, place)
    settled(scene, place, happened=True)


def kill_the_resumer(processes: Processes, scene: Scene, places: Places, sweep: Sweep) -> None:
    """Whoever resumes a decided job dies at each of its calls."""
    whole = places("whole")
    verbs = calls_of(processes, scene, whole)
    creates = [number for number, verb in enumerate(verbs) if verb == "create"]
    # The last to be created are the decision, what says that all is published, and the epoch.
    first = creates[-3] + 1
    for nth in sweep(count(1)):
        place = places(nth)
        place.put(scene.laid_out)
        run(processes, scene, place, die=[first, "after"])
        (job_id,) = job_ids(place.snapshot())
        where = {**place.where, "job_id": job_id}
        answer = processes.ask("resume", **where, die=[nth, "before"])
        if not answer["killed"]:
            break
        recover(processes, scene, place)
    settled(scene, place, happened=True)
    assert nth > 10


def wake_a_zombie(processes: Processes, scene: Scene, places: Places, sweep: Sweep) -> None:
    """A driver that sleeps while others settle its job, then goes on."""
    verbs = calls_of(processes, scene, places("whole"))
    calls = len(verbs)
    begun = verbs.index("create") + 1  # Before job.json stands there is no job to be settled.
    for nth in sweep(range(begun + 1, calls + 1)):
        place = places(nth)
        place.put(scene.laid_out)
        zombie = run(processes, scene, place, die=[nth, "stop"])
        assert zombie.get("stopped"), f"call {nth} of {calls} was not reached"
        state = recover(processes, scene, place)
        happened = state in {"decided", "published"} or (
            state == "over" and visible(place.snapshot()) == scene.after
        )
        before = visible(place.snapshot())
        ended = processes.ask("continue", pid=zombie["pid"])
        if nth == begun + 1 and not happened and "result" in ended:
            # Its start had not returned: it found its area gone, and began under another id.
            before, happened = scene.after, True
        assert visible(place.snapshot()) == before, f"P6: call {nth}"
        if place.may_come_back:
            processes.do("clean", **place.where)
        settled(scene, place, happened=happened)
        if "error" in ended:
            assert ended["error"]["type"] == "JobNotActiveError", ended["error"]["traceback"]
            allowed = {"committed", "unknown"} if happened else {"not_committed", "unknown"}
            assert ended["error"]["outcome"] in allowed, ended["error"]["traceback"]
        else:
            # All it had left to do was what the resumer did.
            assert happened


def kill_at_random_times(
    processes: RacingProcesses, scene: Scene, places: Places, deaths: int, *, states: int = 1
) -> Counter[str]:
    """So many *deaths* of drivers, some of them at one moment; one that was faster is not one.

    Each dies at a random time after a random one of its calls: to start a process, and to open a
    bucket, takes longer than a job does, and most would die in that. If jobs were not left in so
    many *states* as there are to be, up to as many drivers again are killed.

    Returns:
        How many jobs were left in which state.
    """
    chance, numbers = random.Random(), count()
    begun_s = time.monotonic()
    calls = len(calls_of(processes, scene, places("whole")))
    # A call takes less: this has the process start, and checks what it has left.
    longest_s = (time.monotonic() - begun_s) / calls
    found = Counter[str]()
    while (left := deaths - found.total()) > 0 or (len(found) < states and left > -deaths):
        died: list[Place] = []
        lived: list[Place] = []
        begun = [places(next(numbers)) for _ in range(min(left, AT_ONCE) if left > 0 else AT_ONCE)]
        for place in begun:
            place.put(scene.laid_out)
        requests = [
            running(scene, place, die_in_s=[chance.randint(1, calls), chance.uniform(0, longest_s)])
            for place in begun
        ]
        for place, answer in zip(begun, processes.race(*requests), strict=True):
            assert answer["killed"] or "result" in answer, answer["error"]["traceback"]
            (died if answer["killed"] else lived).append(place)
        for place in lived:
            settled(scene, place, happened=True)
        found.update(settle_all(processes, scene, died))
    assert len(found) >= states, found
    return found


def settle_all(processes: Processes, scene: Scene, places: Sequence[Place]) -> list[str]:
    """Settle by one process what drivers have left, clean once, and check; in which states.

    What may be asked for at such a place, and what not, `recover` tries.
    """
    states: list[str] = []
    happened: list[bool] = []
    requests: list[Answer] = []
    for place in places:
        snapshot = place.snapshot()
        state = check_under_way(
            snapshot, old=scene.old, new=scene.new, mode=scene.mode, declared=scene.declared
        )
        states.append(state)
        is_over = state == "over"
        happened.append(
            visible(snapshot) == scene.after if is_over else state in {"decided", "published"}
        )
        if not is_over:
            (job_id,) = job_ids(snapshot)
            op = "resume" if happened[-1] else "abort"
            requests.append({"op": op, **place.where, "job_id": job_id})
        requests.append({"op": "clean", **place.where})
    answers = processes.series(*requests)
    assert all("result" in one for one in answers), answers
    for place, has_happened in zip(places, happened, strict=True):
        settled(scene, place, happened=has_happened)
    return states
