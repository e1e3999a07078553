"""Processes write to one destination, and others ask what is committed: each time whole jobs.

An answer that counts is a list of names that a reader was given, or what `verify` has told it; each
is held against the jobs that were written. That it could not be given, since jobs came and went too
fast for as long as a reader tries, is no answer; of a hundred one at most may be so. How many of
the answers are given by which function is said in `asking.py`.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.beside_writers import explains, read_beside_writers, worlds_after
from tests.scenes.places import LocalPlace, keep_versions, s3_places
from tests.servers.plugin import S3Bucket

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.processes import Processes
    from tests.integration.serial import Line
    from tests.scenes.places import Place
    from tests.servers.proxy import FaultProxy
    from tests.servers.server import Server

DYING = 2
"""So many of the writers have jobs whose drivers are killed, and resumed."""
PARTS, PARTS_BESIDE_DEATHS, SECONDS = 25, 10, 10
# A test that takes five minutes is ended, and a round can take thirty seconds.
LONGEST_S = 230
PAUSE_S = 8.0
SHORT_ROUNDS = 5
STATES_MIN = 10


def test_whole_jobs_on_a_disk(
    processes: Processes, fast: Path, say_what_ran: Callable[[str], None]
) -> None:
    heard = read_beside_writers(processes, LocalPlace(fast / "out"), fast, 1)
    say_what_ran(heard.ran)
    assert heard.wrong == []
    assert heard.count >= 3


def test_a_reader_that_looks_once_is_noticed(processes: Processes, fast: Path) -> None:
    """By lists of files, and by `verify`; of the latter not in each second.

    On a slow machine there are few answers in a second: after some rounds they are longer.
    """
    noticed = set[str]()
    until = time.monotonic() + LONGEST_S
    for number in itertools.count():
        logs = fast / str(number)
        logs.mkdir()
        place = LocalPlace(logs / "out")
        seconds = 1 if number < SHORT_ROUNDS else SECONDS
        heard = read_beside_writers(
            processes, place, logs, seconds, seed=number, planted="one look"
        )
        noticed |= {"a list" if "names" in line else "verify" for line in heard.wrong}
        if len(noticed) == 2:
            return
        assert time.monotonic() < until, f"wrong was only {noticed} in {number + 1} rounds"


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
            "job_id": label,
            **times,
            **more,
        }

    jobs = [
        line("1", 0, ["a/x", "b/x"], mode="append"),
        line("2", 10, ["a/y", "b/y"], mode="overwrite", replaced_count=2),
    ]
    worlds = [*worlds_after(jobs)]

    def holds(names: list[str], begun: int, ended: int) -> bool:
        return explains(jobs, worlds, {"names": names, "begun_ns": begun, "ended_ns": ended})

    def is_verified(count: int, begun: int, ended: int, **more: list[str]) -> bool:
        told: Line = {"file_count": count, "missing": [], "changed": [], **more}
        return explains(jobs, worlds, {**told, "begun_ns": begun, "ended_ns": ended})

    assert holds([], 0, 2)
    assert holds(["a/x", "b/x"], 2, 4)
    assert holds(["a/x", "b/x"], 9, 12)
    assert holds(["a/y", "b/y"], 12, 14)
    assert not holds(["a/x"], 2, 4)
    assert not holds([], 6, 8)
    assert not holds(["a/y", "b/y"], 6, 8)
    assert not holds(["a/x", "a/y", "b/x", "b/y"], 11, 14)
    assert not holds(["a/x", "b/x"], 16, 18)
    # While a job publishes its new files and deletes the old ones, all of them may be there.
    assert all(is_verified(count, 11, 14) for count in (2, 3, 4))
    assert not any(is_verified(count, 11, 14) for count in (1, 5))
    assert [count for count in range(5) if is_verified(count, 7, 9)] == [2]
    assert [count for count in range(5) if is_verified(count, 16, 18)] == [2]
    assert not is_verified(2, 11, 14, missing=["a/x: of job 1"])
    assert not is_verified(2, 11, 14, changed=["a/x: it has 1 bytes"])
    unfinished = "2: committed but not finished, resume it"
    assert is_verified(2, 11, 14, leftovers=[unfinished])
    assert not is_verified(2, 7, 9, leftovers=[unfinished])
    assert not is_verified(2, 16, 18, leftovers=[unfinished])
    assert not is_verified(2, 11, 14, leftovers=["2: damaged, it is"])


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
    being published, or ends; some states; some of `verify` about files that a job has written down.
    A machine that is too slow for that fails.
    """
    count = beside = compared = states = deaths = 0
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
        compared += heard.compared_count
        states += heard.states_count
        deaths += heard.death_count
        ran = (
            f"{count} answers in {number} rounds, {beside} beside a job, {compared} about files "
            f"that a job has written down, {states} states, {deaths} deaths"
        )
        is_enough = min(beside, compared) >= count_wanted / 50 and states >= STATES_MIN
        if count >= count_wanted and is_enough and (deaths or not dying):
            return ran
        assert time.monotonic() < until, f"in so long only {ran}"
    raise AssertionError
