"""Processes that write to one destination, others that ask, and whether what they hear was so.

What the tests of it do wherever the destination is: `test_readers.py`.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import fsspec_commit as fc
from tests.integration.asking import WAYS
from tests.integration.serial import Line, World, after, check_outcome, going, is_whole
from tests.integration.storm import how_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.integration.processes import Processes
    from tests.scenes.places import Place

WRITERS, READERS = 4, 4
TOLD = ("names", "file_count")
"""One of these an answer has: by `verify` a count, by all others names."""
LISTING_S = 0.03
"""So much longer one with a bug takes to list the files, so that more of its mistakes show."""


@dataclass(frozen=True)
class Heard:
    """What readers were told beside writers.

    Attributes:
        count: How many answers there were.
        compared_count: How many of them, by `verify`, were about files that a job has written down.
        wrong: Those that no serial order of the jobs explains.
        beside_count: How many were given while a job was publishing, deleting or ending.
        states_count: How many lists of files there were, each different.
        death_count: How often a driver was killed, or a resumer.
        ran: What there is to say of it.
    """

    count: int
    compared_count: int
    wrong: list[Line]
    beside_count: int
    states_count: int
    death_count: int
    ran: str


def read_beside_writers(
    processes: Processes,
    place: Place,
    logs_in: Path,
    seconds: float,
    *,
    seed: int = 0,
    pause_s: float = 0,
    planted: str = "nothing",
    dying: int = 0,
) -> Heard:
    """Ask for so long, beside writers that rest for up to *pause_s* after each job.

    The jobs of *dying* ones of them are killed at any call, and resumed, or aborted.
    """
    ops = ["storm"] * (WRITERS - dying) + ["dying_storm"] * dying + ["ask"] * READERS
    logs = [logs_in / f"log {number}" for number in range(len(ops))]
    request = {**place.where, "exact": True, "seconds": seconds}
    request |= {"pause_s": pause_s, "planted": planted, "leaves_names": True}
    requests = [
        {"op": op, **request, "seed": seed * len(ops) + number, "log": str(log)}
        for number, (op, log) in enumerate(zip(ops, logs, strict=True))
    ]
    if planted != "nothing":
        for one in requests[WRITERS:]:
            one["slow"] = ["list_tree", "", LISTING_S, f"{one['log']} slow"]
    answers = processes.race(*requests)
    failed = [answer["error"]["traceback"] for answer in answers if "error" in answer]
    assert failed == [], "\n".join(failed)
    written, heard = (
        [json.loads(text) for log in some for text in log.read_text().splitlines()]
        for some in (logs[:WRITERS], logs[WRITERS:])
    )
    jobs = sorted(
        (line for line in written if line["state"] == "committed"),
        key=lambda line: int(line["decided_ns"]),
    )
    if dying:
        # Of who died before it heard its id there may be a job that only a `clean` ends. And of who
        # died while it removed an area, `clean` puts that back, for whoever resumes the job.
        processes.do("clean", **place.where)
        for left in fc.jobs(place.where["destination"], **how_of(place.where)):
            processes.do("settle", **place.where, job_id=left.job_id)
        check_outcome(written, place.snapshot())
    worlds = [*worlds_after(jobs)]
    told = [line for line in heard if not line.keys().isdisjoint(TOLD)]
    assert all(is_whole(line["text"].encode()) for line in told if "text" in line)
    counts = Counter(key for line in heard for key in (*TOLD, "unstable", "missed") if key in line)
    ways = Counter(line["way"] for line in heard if "way" in line)
    assert ways.keys() == WAYS.keys()
    assert counts["unstable"] <= len(told) / 100 or planted != "nothing", counts
    states = {tuple(line["names"]) for line in told if "names" in line}
    compared = sum(line.get("checked_count", 0) > 0 for line in told)
    beside = sum(_is_beside(jobs, line) for line in told)
    deaths = sum(line.get("deaths", 0) for line in written)
    ends = Counter(str(line["state"]) for line in written if line.get("deaths"))
    ran = f"{len(jobs)} jobs in {seconds} s: {dict(counts)}, {dict(ways)}, {beside} beside a job, "
    ran += f"{compared} about files that a job has written down, "
    ran += f"{deaths} deaths, of jobs that ended as {dict(ends)}, " if dying else ""
    return Heard(
        count=len(told),
        compared_count=compared,
        wrong=[line for line in told if not explains(jobs, worlds, line)],
        beside_count=beside,
        states_count=len(states),
        death_count=deaths,
        ran=f"{ran}{len(states)} states",
    )


def _is_beside(jobs: Sequence[Line], answer: Line) -> bool:
    """Whether a job had decided and was not over, for some of the time."""
    return any(
        line["decided_ns"] < answer["ended_ns"] and answer["begun_ns"] < line["ended_ns"]
        for line in jobs
    )


def worlds_after(jobs: Sequence[Line]) -> Iterator[World]:
    """What each job found, in the order of their decisions, and what was there in the end."""
    world: World | None = World()
    yield World()
    for line in jobs:
        world = after(line, world) if world is not None else None
        assert world is not None, f"{line} cannot have met what was there"
        yield world


def explains(jobs: Sequence[Line], worlds: Sequence[World], answer: Line) -> bool:
    """Whether what is told is so after all jobs that had ended before, none that began later, and
    some of the others, in the order of their decisions.
    """
    known = [line["ended_ns"] < answer["begun_ns"] for line in jobs]
    first_open = known.index(False) if False in known else len(jobs)
    certain = [number for number in range(first_open, len(jobs)) if known[number]]
    maybe = [
        number
        for number in range(first_open, len(jobs))
        if not known[number] and jobs[number]["begun_ns"] < answer["ended_ns"]
    ]
    if "names" not in answer and not _is_all_in_order([jobs[number] for number in maybe], answer):
        return False
    for size in range(len(maybe) + 1):
        for some in combinations(maybe, size):
            world: World | None = worlds[first_open]
            for number in sorted((*certain, *some)):
                world = after(jobs[number], world) if world is not None else None
            if world is None:
                continue
            names = sorted(name for name, _ in world.files)
            if "names" in answer:
                is_so = names == answer["names"]
            else:
                surplus = sum(
                    len(
                        _replaced(jobs[number], worlds[number])
                        if number in some
                        else jobs[number]["files"]
                    )
                    for number in maybe
                )
                is_so = 0 <= answer["file_count"] - len(names) <= surplus
            if is_so:
                return True
    return False


def _replaced(line: Line, world: World) -> set[str]:
    """The old files that a job deletes when its own are in place."""
    return {*going(line, dict(world.files))}.difference(line["files"])


def _is_all_in_order(maybe: Sequence[Line], answer: Line) -> bool:
    """Whether `verify` calls no file missing or changed, and only jobs unfinished that may be.

    Files that do not count are among those that it counts: the new ones of a job that has not
    published, as far as they are in place, and the old ones of a job that has, as far as they are
    not deleted. Of the other remains, those of a job may be there until it is over.
    """
    left = [line.partition(": ") for line in answer.get("leftovers", ())]
    unfinished = {job_id for job_id, _, why in left if why.startswith("committed but not finished")}
    return (
        answer["missing"] == answer["changed"] == []
        and unfinished <= {line["job_id"] for line in maybe}
        and not any("damaged" in why for _, _, why in left)
    )
