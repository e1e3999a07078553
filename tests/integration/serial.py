"""Jobs of all modes from ten processes, one destination: as if one after the other (P11).

What the tests of it do wherever the destination is: `test_serial.py`, `test_races.py`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from tests.protocol.invariants import check_settled, raw_visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.integration.processes import Processes
    from tests.scenes.places import Place

STEPS_MAX = 200_000
Names = dict[str, str]
Line = dict[str, Any]


@dataclass(frozen=True)
class World:
    """What a serial order of jobs has led to: whose file stands under each name, which keys are
    done.
    """

    files: tuple[tuple[str, str], ...] = ()
    keys: frozenset[str] = frozenset()


def after(line: Line, world: World) -> World | None:
    """The world after this job; ``None`` where it could not have committed as it did.

    Of one that nobody was told of, since its driver died when all was done, no count is known.
    """
    files = dict(world.files)
    key = line.get("idempotency_key")
    mode = line["mode"]
    if key in world.keys or (mode in {"error", "ignore"} and files):
        return None
    new = set(line["files"])
    gone = set(going(line, files))
    if mode not in {"overwrite", "overwrite_partitions"} and new & files.keys():
        return None
    if "replaced_count" in line and (
        len(gone) != line["replaced_count"] or set(line["in_place"]) != gone & new
    ):
        return None
    files = {name: label for name, label in files.items() if name not in gone}
    files.update(dict.fromkeys(new, line["label"]))
    return World(tuple(sorted(files.items())), world.keys | ({key} if key else set()))


def going(line: Line, files: Names) -> Iterator[str]:
    written = {name.rpartition("/")[0] for name in line["files"]}
    for name in files:
        directory = name.rpartition("/")[0]
        below = any(f"{directory}/".startswith(f"{part}/") for part in line.get("partitions", ()))
        if line["mode"] == "overwrite" or (
            line["mode"] == "overwrite_partitions" and (directory in written or below)
        ):
            yield name


def replay(lines: Sequence[Line]) -> World | None:
    """The world after *lines* in this order; ``None`` where it cannot have been theirs."""
    world: World | None = World()
    for line in lines:
        world = after(line, world) if world is not None else None
    return world


def search(lines: Sequence[Line], final: tuple[tuple[str, str], ...]) -> bool:
    """Whether some serial order that keeps what came strictly before what explains *final*."""
    waiting = [(World(), tuple(range(len(lines))))]
    seen = set[tuple[World, tuple[int, ...]]]()
    while waiting:
        state = waiting.pop()
        if state in seen:
            continue
        seen.add(state)
        assert len(seen) < STEPS_MAX, "no order was found in the time there is"
        world, left = state
        if not left:
            if world.files == final:
                return True
            continue
        first_end = min(lines[number]["ended_ns"] for number in left)
        for place in reversed(range(len(left))):
            line = lines[left[place]]
            if line["begun_ns"] <= first_end:
                then = after(line, world)
                if then is not None:
                    waiting.append((then, left[:place] + left[place + 1 :]))
    return False


class Reader:
    """Somebody who lists and reads all the time, as plain programs do."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read)
        self.seen = dict[str, bytes]()
        self.torn = list[str]()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _read(self) -> None:
        while not self._over.wait(0.02):
            for name, data in raw_visible(self._place.data()).items():
                if not is_whole(data):
                    self.torn.append(name)
                self.seen[label_of(data)] = data


def is_whole(data: bytes) -> bool:
    lines = data.decode().split("\n")
    return len(lines) == 4 and hashlib.sha256(lines[1].encode()).hexdigest() == lines[2]


def label_of(data: bytes) -> str:
    return data.decode().split(" ", 1)[0]


def run_storm(
    processes: Processes,
    place: Place,
    logs_in: Path,
    seconds: float,
    *,
    exact: bool = True,
    least: int = 10,
) -> str:
    """Ten processes for so long; *exact* names are among theirs unless the store takes none.

    At least so many jobs must commit for the test to mean something. Answers how many there were.
    """
    logs = [logs_in / f"log {number}" for number in range(10)]
    with Reader(place) as reader:
        answers = processes.race(
            *(
                {
                    "op": "storm",
                    **place.where,
                    "exact": exact,
                    "seconds": seconds,
                    "seed": number,
                    "log": str(log),
                }
                for number, log in enumerate(logs)
            )
        )
    failed = [answer["error"]["traceback"] for answer in answers if "error" in answer]
    assert failed == [], "\n".join(failed)
    lines = [json.loads(text) for log in logs for text in log.read_text().splitlines()]
    states = check_lines(lines, least)
    if place.may_come_back:
        # A driver that was fenced may have put a claim into an area that was gone by then.
        processes.do("clean", **place.where)
    check_outcome(lines, place.snapshot())
    assert place.pending() == []
    committed = {line["label"] for line in lines if line["state"] == "committed"}
    assert reader.torn == []
    assert reader.seen.keys() <= committed, "a reader saw a file of a job that did not commit"
    return f"{len(lines)} jobs in {seconds} s: {dict(states)}"


def check_lines(lines: Sequence[Line], least: int) -> Counter[str]:
    """Enough happened for the test to mean something; every refusal left nothing."""
    states = Counter(str(line["state"]) for line in lines)
    assert states["committed"] >= least
    for line in lines:
        assert line.get("outcome", "not_committed") == "not_committed", line
        assert line.get("warnings", []) == []
    keys = [
        line["idempotency_key"]
        for line in lines
        if line["state"] == "committed" and "idempotency_key" in line
    ]
    assert len(keys) == len(set(keys)), "two jobs of one idempotency key committed"
    return states


def check_outcome(lines: Sequence[Line], snapshot: dict[str, bytes]) -> None:
    shown = raw_visible(snapshot)
    assert all(map(is_whole, shown.values()))
    check_settled({name: data for name, data in snapshot.items() if name not in shown}, expected={})
    final = tuple(sorted((name, label_of(data)) for name, data in shown.items()))
    committed = [line for line in lines if line["state"] == "committed"]
    # Jobs that conflict decide one after the other, so this order explains everything, or a
    # search has to show that another one does.
    in_order = sorted(committed, key=lambda line: line["decided_ns"])
    world = replay(in_order)
    if world is None or world.files != final:
        assert search(in_order, final), explain(in_order, final)
    for name, label in final:
        owner = next(line for line in committed if line["label"] == label)
        assert name in owner["files"]


def explain(lines: Sequence[Line], final: tuple[tuple[str, str], ...]) -> str:
    world: World | None = World()
    for line in lines:
        then = after(line, world) if world is not None else None
        if then is None:
            brief = {name: value for name, value in line.items() if name != "written"}
            return f"{brief} cannot have met {world}"
        world = then
    assert world is not None
    return f"{world.files} was to be there, and {final} is"
