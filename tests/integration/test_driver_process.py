"""The driver process of a JVM, asked as the jar asks it: lines of JSON on its standard input."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.driver_process import MODULE, Driver, begun, chosen, place, seen, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "geheimnis-42"  # to be looked for


@pytest.fixture
def driver() -> Iterator[Driver]:
    driver = Driver()
    yield driver
    driver.kill()


def test_it_can_be_tried_by_hand() -> None:
    command = [sys.executable, "-P", "-m", MODULE, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "can commit jobs of Spark" in done.stdout


def test_two_tasks_commit(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    for task in (0, 1):
        driver.tell("adopt", job=job["job_id"], adopted=write(tmp_path, job, task))
    assert seen(tmp_path) == []
    assert "2 files" in driver.ask("commit", job=job["job_id"], chosen=chosen(0, 1))["said"]
    assert driver.decided == [job["job_id"]]
    assert seen(tmp_path) == [b"data", b"data"]
    assert driver.end() == ""


def test_only_what_is_chosen_is_seen(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    for task, data in enumerate([b"zero", b"one"]):
        driver.tell("adopt", job=job["job_id"], adopted=write(tmp_path, job, task, data))
    driver.ask("commit", job=job["job_id"], chosen=chosen(1))
    assert seen(tmp_path) == [b"one"]


def test_jobs_of_several_threads_are_served_at_once(driver: Driver, tmp_path: Path) -> None:
    outs = [tmp_path / str(number) for number in range(8)]
    jobs = [begun(driver, out) for out in outs]
    for out, job in zip(outs, jobs, strict=True):
        driver.tell("adopt", job=job["job_id"], adopted=write(out, job, 0))
    for number, job in enumerate(jobs):
        driver.tell("commit", id=1000 + number, job=job["job_id"], chosen=chosen(0))
    answered: set[int] = set()
    while len(answered) < len(jobs):
        said = driver.read()
        if "decided" not in said:
            assert "error" not in said
            answered.add(said["id"])
    assert [seen(out) for out in outs] == [[b"data"]] * len(outs)


def test_the_end_of_the_jvm_aborts_what_is_open(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    driver.tell("adopt", job=job["job_id"], adopted=write(tmp_path, job, 0))
    assert driver.end() == ""
    assert seen(tmp_path) == []
    assert fc.jobs(str(tmp_path)) == []
    assert list(tmp_path.rglob("*.pending")) == []


def test_the_end_of_the_jvm_finishes_what_is_under_way(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    driver.tell("adopt", job=job["job_id"], adopted=write(tmp_path, job, 0))
    driver.tell("commit", id=9, job=job["job_id"], chosen=chosen(0))
    assert driver.end() == ""
    assert seen(tmp_path) == [b"data"]
    assert fc.jobs(str(tmp_path)) == []


def test_signals_of_a_terminal_are_for_the_jvm(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    for one in (signal.SIGINT, signal.SIGHUP):
        os.kill(driver.process.pid, one)
    driver.tell("adopt", job=job["job_id"], adopted=write(tmp_path, job, 0))
    driver.ask("commit", job=job["job_id"], chosen=chosen(0))
    assert seen(tmp_path) == [b"data"]
    assert os.getpgid(driver.process.pid) == driver.process.pid


def test_it_can_be_terminated(driver: Driver, tmp_path: Path) -> None:
    begun(driver, tmp_path)
    driver.process.send_signal(signal.SIGTERM)
    assert driver.process.wait(60) == 0
    assert fc.jobs(str(tmp_path)) == []


def test_another_process_drives_a_job_on(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    task = write(tmp_path, job, 0)
    driver.tell("adopt", job=job["job_id"], adopted=task)
    driver.kill()
    other = Driver()
    try:
        request = {**place(tmp_path), "spec": job["spec"], "is_decided": False}
        assert other.ask("attach", **request)["job_id"] == job["job_id"]
        other.tell("adopt", job=job["job_id"], adopted=task)
        other.ask("commit", job=job["job_id"], chosen=chosen(0))
    finally:
        other.kill()
    assert seen(tmp_path) == [b"data"]


@pytest.mark.parametrize("is_decided", [True, False])
def test_a_job_that_was_finished_meanwhile_is_committed(
    driver: Driver, tmp_path: Path, is_decided: bool
) -> None:
    """The first process ends after it has removed the job, and before it has answered."""
    job = begun(driver, tmp_path)
    task = write(tmp_path, job, 0)
    driver.tell("adopt", job=job["job_id"], adopted=task)
    driver.ask("commit", job=job["job_id"], chosen=chosen(0))
    driver.kill()
    other = Driver()
    try:
        request = {**place(tmp_path), "spec": job["spec"], "is_decided": is_decided}
        other.ask("attach", **request)
        other.tell("adopt", job=job["job_id"], adopted=task)
        assert "said" in other.ask("commit", job=job["job_id"], chosen=chosen(0))
    finally:
        other.kill()
    assert seen(tmp_path) == [b"data"]


def test_a_refusal_is_answered_and_leaves_nothing(driver: Driver, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("1\n")
    answer = begun(driver, tmp_path, mode="error")
    assert "holds data" in answer["error"] or "not empty" in answer["error"], answer
    answer = begun(driver, tmp_path, wait="3")
    assert "did you mean 'wait_s'?" in answer["error"]
    assert fc.jobs(str(tmp_path)) == []


def test_a_file_that_is_not_there_is_told_at_the_commit(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    task = write(tmp_path, job, 0)
    task["files"][0][1] += 1
    driver.tell("adopt", job=job["job_id"], adopted=task)
    answer = driver.ask("commit", job=job["job_id"], chosen=chosen(0))
    assert "cannot adopt" in answer["error"]
    assert driver.ask("abort", job=job["job_id"]) == {}
    assert seen(tmp_path) == []
    assert fc.jobs(str(tmp_path)) == []


def test_a_secret_is_in_nothing_that_it_says(driver: Driver, tmp_path: Path) -> None:
    settings = {"fs.s3a.access.key": "A" + SECRET, "fs.s3a.secret.key": SECRET}
    settings["fs.s3a.endpoint"] = "http://127.0.0.1:9"
    request = {"path": "s3a://bucket/out", "settings": settings, "options": {}}
    answer = driver.ask("start", mode="append", partitions=[], **request)
    assert "error" in answer
    assert SECRET not in str(answer)
    # A line that is no request is not repeated either.
    answer = driver.ask("start", settings=SECRET)
    assert "is no request" in answer["error"]
    driver.tell("adopt", settings=SECRET)
    errors = driver.end()
    assert "is no request" in errors
    assert SECRET not in errors


def test_a_line_that_is_no_request_harms_no_other_job(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    driver.tell("adopt", job=job["job_id"], adopted=write(tmp_path, job, 0))
    assert "is no request" in driver.ask("start", settings=None)["error"]
    driver.tell("vanish")
    driver.ask("commit", job=job["job_id"], chosen=chosen(0))
    assert seen(tmp_path) == [b"data"]


def test_the_jvm_is_killed_in_the_midst_of_a_line(driver: Driver, tmp_path: Path) -> None:
    job = begun(driver, tmp_path)
    driver.tell("adopt", job=job["job_id"], adopted=write(tmp_path, job, 0))
    assert driver.process.stdin is not None
    driver.process.stdin.write('{"do": "commit", "id": 9, "jo')
    assert "is no request" in driver.end()
    assert seen(tmp_path) == []
    assert fc.jobs(str(tmp_path)) == []
