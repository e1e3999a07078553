"""Processes write to one destination, and others ask what is committed: each time whole jobs."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from tests.integration.serial import Line, World, after, is_whole
from tests.scenes.places import LocalPlace, keep_versions, s3_places
from tests.servers.plugin import S3Bucket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.integration.processes import Processes
    from tests.scenes.places import Place
    from tests.servers.server import Server

WRITERS, READERS = 4, 4
PARTS, OF_EACH, SECONDS, ROUNDS_MAX = 20, 500, 8, 25


def test_whole_jobs_on_a_disk(
    processes: Processes, fast: Path, say_what_ran: Callable[[str], None]
) -> None:
    heard, ran = read_beside_writers(processes, LocalPlace(fast / "out"), fast, 1)
    say_what_ran(ran)
    assert heard >= 3


@pytest.mark.slow
def test_ten_thousand_answers_on_a_disk(
    processes: Processes, fast: Path, say_what_ran: Callable[[str], None]
) -> None:
    heard, ran = read_beside_writers(processes, LocalPlace(fast / "out"), fast, 120)
    say_what_ran(ran)
    assert heard >= 10_000


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_whole_jobs_in_a_bucket(
    processes: Processes, s3_server: Server, tmp_path: Path, say_what_ran: Callable[[str], None]
) -> None:
    heard, ran = read_beside_writers(processes, versioned(s3_server), tmp_path, 1)
    say_what_ran(ran)
    assert heard


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_ten_thousand_answers_in_buckets(
    processes: Processes,
    s3_server: Server,
    part: int,
    tmp_path: Path,
    say_what_ran: Callable[[str], None],
) -> None:
    """What is deleted there stays as an old version, and slows down each listing: many buckets.

    On a machine that has more to do, fewer are given in the time of a test.
    """
    heard = 0
    for number in range(ROUNDS_MAX):
        logs = tmp_path / str(number)
        logs.mkdir()
        seed = part * ROUNDS_MAX + number
        more, _ = read_beside_writers(processes, versioned(s3_server), logs, SECONDS, seed=seed)
        heard += more
        if heard >= OF_EACH:
            break
    say_what_ran(f"{heard} answers in {number + 1} buckets")
    assert heard >= OF_EACH / 5


def versioned(server: Server) -> Place:
    bucket = S3Bucket(server, server.new_bucket())
    keep_versions(bucket)
    return s3_places(bucket)("read")


def test_the_checker_sees_half_a_job() -> None:
    """What is checked here is no tautology."""

    def line(label: str, begun: int, files: list[str], **more: object) -> Line:
        times = {"begun_ns": begun, "decided_ns": begun + 1, "ended_ns": begun + 5}
        return {
            "label": label,
            "files": files,
            "replaced_count": 0,
            "in_place": [],
            **times,
            **more,
        }

    jobs = [
        line("1", 0, ["a/x", "b/x"], mode="append"),
        line("2", 10, ["a/y", "b/y"], mode="overwrite", replaced_count=2),
    ]
    worlds = [*_worlds(jobs)]

    def holds(names: list[str], begun: int, ended: int) -> bool:
        return explains(jobs, worlds, {"names": names, "begun_ns": begun, "ended_ns": ended})

    assert holds([], 0, 2)
    assert holds(["a/x", "b/x"], 2, 4)
    assert holds(["a/x", "b/x"], 9, 12)
    assert holds(["a/y", "b/y"], 12, 14)
    assert not holds(["a/x"], 2, 4)
    assert not holds([], 6, 8)
    assert not holds(["a/y", "b/y"], 6, 8)
    assert not holds(["a/x", "a/y", "b/x", "b/y"], 11, 14)
    assert not holds(["a/x", "b/x"], 16, 18)


def read_beside_writers(
    processes: Processes, place: Place, logs_in: Path, seconds: float, *, seed: int = 0
) -> tuple[int, str]:
    """How many answers were given, each of them right; and what else there is to say."""
    ops = ["storm"] * WRITERS + ["ask"] * READERS
    logs = [logs_in / f"log {number}" for number in range(len(ops))]
    request = {**place.where, "exact": True, "seconds": seconds}
    answers = processes.race(
        *(
            {"op": op, **request, "seed": seed * len(ops) + number, "log": str(log)}
            for number, (op, log) in enumerate(zip(ops, logs, strict=True))
        )
    )
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
    worlds = [*_worlds(jobs)]
    told = [line for line in heard if "names" in line]
    wrong = [line for line in told if not explains(jobs, worlds, line)]
    assert wrong == []
    assert all(is_whole(line["text"].encode()) for line in told if "text" in line)
    counts = Counter(
        key for line in heard for key in ("names", "unstable", "missed") if key in line
    )
    assert counts["unstable"] <= counts["names"] / 3 + 1, counts
    shown = Counter(len(line["names"]) for line in told)
    ran = f"{len(jobs)} jobs in {seconds} s: {dict(counts)}, {len(shown)} lengths of lists"
    return counts["names"], ran


def _worlds(jobs: Sequence[Line]) -> Iterator[World]:
    """What each job found, in the order of their decisions, and what was there in the end."""
    world: World | None = World()
    yield World()
    for line in jobs:
        world = after(line, world) if world is not None else None
        assert world is not None, f"{line} cannot have met what was there"
        yield world


def explains(jobs: Sequence[Line], worlds: Sequence[World], answer: Line) -> bool:
    """Whether the names are those after all jobs that had ended before, none that began later, and
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
    for size in range(len(maybe) + 1):
        for some in combinations(maybe, size):
            world: World | None = worlds[first_open]
            for number in sorted((*certain, *some)):
                world = after(jobs[number], world) if world is not None else None
            if world is not None and sorted(name for name, _ in world.files) == answer["names"]:
                return True
    return False
