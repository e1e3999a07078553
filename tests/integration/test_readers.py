"""Processes write to one destination, and others ask what is committed: each time whole jobs.

An answer that counts is a list of names that a reader was given, of which each is held against the
jobs that were written. That it could not be given, since jobs came and went too fast for as long as
a reader tries, is no answer; of a hundred one at most may be so.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.asking import WAYS
from tests.integration.serial import Line, World, after, check_outcome, is_whole
from tests.integration.storm import how_of
from tests.scenes.places import LocalPlace, keep_versions, s3_places
from tests.servers.plugin import S3Bucket

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from tests.integration.processes import Processes
    from tests.scenes.places import Place
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server

WRITERS, READERS = 4, 4
DYING = 2
"""So many of the writers have jobs whose drivers are killed, and resumed."""
PARTS, PARTS_BESIDE_DEATHS, SECONDS = 25, 10, 10
# A test that takes five minutes is ended, and a round can take thirty seconds.
LONGEST_S = 230
PAUSE_S = 8.0
STATES_MIN = 10


def test_whole_jobs_on_a_disk(
    processes: Processes, fast: Path, say_what_ran: Callable[[str], None]
) -> None:
    heard = read_beside_writers(processes, LocalPlace(fast / "out"), fast, 1)
    say_what_ran(heard.ran)
    assert heard.wrong == []
    assert heard.count >= 3


def test_a_reader_that_looks_once_is_noticed(processes: Processes, fast: Path) -> None:
    """On a machine that has more to do, not in each second."""
    for number in range(20):
        logs = fast / str(number)
        logs.mkdir()
        place = LocalPlace(logs / "out")
        if read_beside_writers(processes, place, logs, 1, seed=number, planted="one look").wrong:
            return
    pytest.fail("every list was of whole jobs")


def test_p1_p2_whole_jobs_beside_deaths_and_resumers_on_a_disk(
    processes: Processes, fast: Path, say_what_ran: Callable[[str], None]
) -> None:
    def place(number: int) -> Place:
        return LocalPlace(fast / str(number) / "out")

    check_beside_deaths(processes, place, fast, say_what_ran)


def check_beside_deaths(
    processes: Processes,
    make_place: Callable[[int], Place],
    logs_in: Path,
    say_what_ran: Callable[[str], None],
) -> None:
    """On a machine that has more to do, a job may take long to be where it is to die."""
    for number in range(10):
        logs = logs_in / str(number)
        logs.mkdir()
        heard = read_beside_writers(
            processes, make_place(number), logs, 3, seed=number, dying=DYING
        )
        assert heard.wrong == []
        if heard.count and heard.death_count:
            say_what_ran(heard.ran)
            return
    pytest.fail("nobody has died")


@pytest.mark.slow
@pytest.mark.parametrize("dying", [0, DYING])
def test_ten_thousand_answers_on_a_disk(
    processes: Processes, fast: Path, dying: int, say_what_ran: Callable[[str], None]
) -> None:
    def place(number: int) -> Place:
        return LocalPlace(fast / str(number) / "out")

    say_what_ran(ask_often(processes, place, fast, 10_000, pause_s=0, dying=dying))


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_whole_jobs_in_a_bucket(
    processes: Processes, s3_server: Server, tmp_path: Path, say_what_ran: Callable[[str], None]
) -> None:
    heard = read_beside_writers(processes, versioned(s3_server), tmp_path, 1)
    say_what_ran(heard.ran)
    assert heard.wrong == []
    assert heard.count


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_p1_p2_whole_jobs_beside_deaths_and_resumers_in_a_bucket(
    processes: Processes, s3_server: Server, tmp_path: Path, say_what_ran: Callable[[str], None]
) -> None:
    check_beside_deaths(processes, lambda _: versioned(s3_server), tmp_path, say_what_ran)


@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_a_bucket_with_versions_is_listed_without_them(
    s3_server: Server, s3_proxy: FaultProxy
) -> None:
    """Of which there may be many more than files; and it is half as many requests."""
    bucket = S3Bucket(s3_server, s3_server.new_bucket())
    keep_versions(bucket)
    place = s3_places(bucket, endpoint_url=s3_proxy.endpoint_url)("read")
    with fc.Job(place.url, mode="append", **place.how) as job, job.task() as task:
        task.filesystem.pipe_file("a.txt", b"a")
    before = s3_proxy.operations()
    assert len(fc.committed_files(place.url, **place.how)) == 1
    assert s3_proxy.operations() - before == {"ListObjectsV2": 3}


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
    """In many parts: one that is alone on two cores has its answers in half a minute.

    And beside the tests of a night in less than two.
    """
    ran = ask_in_buckets(processes, s3_server, tmp_path, 10_000 // PARTS, part)
    say_what_ran(ran)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS_BESIDE_DEATHS))
@pytest.mark.parametrize("s3_server", ["ministack"], indirect=True)
def test_p1_p2_a_thousand_answers_beside_deaths_in_buckets(
    processes: Processes,
    s3_server: Server,
    part: int,
    tmp_path: Path,
    say_what_ran: Callable[[str], None],
) -> None:
    """Fewer, since each job and each resumer has a process, which has to open the bucket."""
    count = 1_000 // PARTS_BESIDE_DEATHS
    ran = ask_in_buckets(processes, s3_server, tmp_path, count, PARTS + part, dying=DYING)
    say_what_ran(ran)


def ask_in_buckets(
    processes: Processes, server: Server, logs_in: Path, count: int, part: int, *, dying: int = 0
) -> str:
    """What is deleted there stays as an old version, and slows the writers down: many buckets."""
    return ask_often(
        processes,
        lambda _: versioned(server),
        logs_in,
        count,
        pause_s=PAUSE_S,
        seed=part * LONGEST_S,
        dying=dying,
    )


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


def ask_often(
    processes: Processes,
    make_place: Callable[[int], Place],
    logs_in: Path,
    count_wanted: int,
    *,
    pause_s: float,
    seed: int = 0,
    dying: int = 0,
) -> str:
    """Ask so often, at one destination after the other; what there is to say of it.

    All that is wanted must come: so many answers, each of whole jobs; some of them while a job is
    being published, or ends; some states. A machine that is too slow for that fails.
    """
    count = beside = states = deaths = 0
    until = time.monotonic() + LONGEST_S
    for number in itertools.count(1):
        logs = logs_in / str(number)
        logs.mkdir()
        heard = read_beside_writers(
            processes,
            make_place(number),
            logs,
            SECONDS,
            seed=seed + number,
            pause_s=pause_s,
            dying=dying,
        )
        assert heard.wrong == []
        count += heard.count
        beside += heard.beside_count
        states += heard.states_count
        deaths += heard.death_count
        ran = (
            f"{count} answers in {number} rounds, {beside} beside a job, {states} states, "
            f"{deaths} deaths"
        )
        is_enough = beside >= count_wanted / 50 and states >= STATES_MIN
        if count >= count_wanted and is_enough and (deaths or not dying):
            return ran
        assert time.monotonic() < until, f"in so long only {ran}"
    raise AssertionError


@dataclass(frozen=True)
class Heard:
    """What readers were told beside writers.

    Attributes:
        count: How many answers there were.
        wrong: Those that no serial order of the jobs explains.
        beside_count: How many were given while a job was publishing, deleting or ending.
        states_count: How many lists there were, each different.
        death_count: How often a driver was killed, or a resumer.
        ran: What there is to say of it.
    """

    count: int
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
    request |= {"pause_s": pause_s, "planted": planted}
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
    if dying:
        # Of who died before it heard its id there may be a job that only a `clean` ends. And of who
        # died while it removed an area, `clean` puts that back, for whoever resumes the job.
        processes.do("clean", **place.where)
        for left in fc.jobs(place.where["destination"], **how_of(place.where)):
            processes.do("settle", **place.where, job_id=left.job_id)
        check_outcome(written, place.snapshot())
    worlds = [*_worlds(jobs)]
    told = [line for line in heard if "names" in line]
    assert all(is_whole(line["text"].encode()) for line in told if "text" in line)
    counts = Counter(
        key for line in heard for key in ("names", "unstable", "missed") if key in line
    )
    ways = Counter(line["way"] for line in heard if "way" in line)
    assert ways.keys() == WAYS.keys()
    assert counts["unstable"] <= counts["names"] / 100 or planted != "nothing", counts
    states = {tuple(line["names"]) for line in told}
    beside = sum(_is_beside(jobs, line) for line in told)
    deaths = sum(line.get("deaths", 0) for line in written)
    ends = Counter(str(line["state"]) for line in written if line.get("deaths"))
    ran = f"{len(jobs)} jobs in {seconds} s: {dict(counts)}, {dict(ways)}, {beside} beside a job, "
    ran += f"{deaths} deaths, of jobs that ended as {dict(ends)}, " if dying else ""
    return Heard(
        count=len(told),
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
