"""The driver process of a JVM when its stores, its requests or its surroundings are at fault."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from tests.integration.driver_process import Driver, begun, chosen, place, seen, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# While the file is there, no call is answered.
DOWN = """
async def carry(verb, path, call):
    if (place / "down").exists():
        raise StoreError("the store is away for a moment", reply=Reply.REFUSED)
    return await call()
"""
# The first call after the file came is not answered.
DOWN_ONCE = """
async def carry(verb, path, call):
    if (place / "down").exists():
        (place / "down").unlink()
        raise StoreError("the store is away for a moment", reply=Reply.REFUSED)
    return await call()
"""
# While the file is there, nothing is published.
PUBLISHES_NOTHING = """
async def carry(verb, path, call):
    if verb == "rename" and (place / "down").exists():
        raise StoreError("the store is away for a moment", reply=Reply.REFUSED)
    return await call()
"""


@contextmanager
def driver_with(carry: str, at: Path) -> Iterator[Driver]:
    driver = Driver(carry, at)
    try:
        yield driver
    finally:
        driver.kill()


def left(out: Path) -> list[str]:
    """What is at a destination, but for what later jobs must know."""
    return [path.name for path in out.rglob("*") if path.is_file() and "epoch" not in path.name]


# Settled when the JVM ends, if not before.


def test_an_abort_that_failed_is_tried_again_at_the_end(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with driver_with(DOWN, tmp_path) as driver:
        job = begun(driver, out)
        driver.tell("adopt", job=job["job_id"], adopted=write(out, job, 0))
        (tmp_path / "down").touch()
        assert "away for a moment" in driver.ask("abort", job=job["job_id"])["error"]
        (tmp_path / "down").unlink()
        assert driver.end() == ""
    assert fc.jobs(str(out)) == []
    assert left(out) == []


def test_the_end_is_tried_more_than_once(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with driver_with(DOWN_ONCE, tmp_path) as driver:
        begun(driver, out)
        (tmp_path / "down").touch()
        assert driver.end() == ""
    assert not (tmp_path / "down").exists()
    assert fc.jobs(str(out)) == []


@pytest.mark.slow  # It waits for the store, and in vain.
def test_the_end_is_not_tried_for_ever(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with driver_with(DOWN, tmp_path) as driver:
        job = begun(driver, out)
        (tmp_path / "down").touch()
        errors = driver.end()
    assert f"job {job['job_id']} is left behind; see fsspec-commit jobs {out}" in errors
    assert [one.state for one in fc.jobs(str(out))] == ["open"]


def test_what_is_decided_is_finished_at_the_end(tmp_path: Path) -> None:
    """The commit has failed, and Spark has asked for the abort, as it does."""
    out = tmp_path / "out"
    with driver_with(PUBLISHES_NOTHING, tmp_path) as driver:
        job = begun(driver, out)
        driver.tell("adopt", job=job["job_id"], adopted=write(out, job, 0))
        (tmp_path / "down").touch()
        answer = driver.ask("commit", job=job["job_id"], chosen=chosen(0))
        assert f"fsspec-commit resume {out} {job['job_id']}" in answer["error"]
        assert job["resume"] in answer["error"]
        assert job["resume"] in driver.ask("abort", job=job["job_id"])["error"]
        assert seen(out) == []
        (tmp_path / "down").unlink()
        assert driver.end() == ""
    assert seen(out) == [b"data"]
    assert fc.jobs(str(out)) == []


def test_another_job_is_told_what_is_in_its_way(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with driver_with(PUBLISHES_NOTHING, tmp_path) as driver:
        job = begun(driver, out)
        driver.tell("adopt", job=job["job_id"], adopted=write(out, job, 0))
        (tmp_path / "down").touch()
        driver.ask("commit", job=job["job_id"], chosen=chosen(0))
        driver.kill()
    other = Driver()
    try:
        late = begun(other, out, mode="overwrite", wait_s="0")
        answer = other.ask("commit", job=late["job_id"], chosen=[])
        assert "is committed but not finished there" in answer["error"]
        assert job["resume"] in answer["error"]
        other.ask("abort", job=late["job_id"])
        fc.resume(str(out), job["job_id"])
        assert seen(out) == [b"data"]
    finally:
        other.kill()


def test_a_signal_at_the_end_interrupts_nothing(tmp_path: Path) -> None:
    """A cluster sends SIGTERM to every process: the JVM is gone first, perhaps."""
    signalled = f"""
    async def carry(verb, path, call):
        if (place / "ending").exists():
            (place / "ending").unlink()
            os.kill(os.getpid(), {signal.SIGTERM})
            await asyncio.sleep(0.2)
        return await call()
    """
    outs = [tmp_path / name for name in "abc"]
    with driver_with(signalled, tmp_path) as driver:
        for out in outs:
            begun(driver, out)
        (tmp_path / "ending").touch()
        assert driver.end() == ""
    assert [fc.jobs(str(out)) for out in outs] == [[], [], []]


# One job's trouble is no other's.


def test_a_store_that_hangs_holds_up_its_own_job_alone(tmp_path: Path) -> None:
    hangs = """
    async def carry(verb, path, call):
        while "/hangs/" in str(path) and (place / "held").exists():
            await asyncio.sleep(0.01)
        return await call()
    """
    with driver_with(hangs, tmp_path) as driver:
        hanging, other = tmp_path / "hangs", tmp_path / "other"
        jobs = {out: begun(driver, out) for out in (hanging, other)}
        tasks = 40  # More than are adopted at once.
        attempts = [write(hanging, jobs[hanging], task) for task in range(tasks)]
        (tmp_path / "held").touch()
        release = threading.Timer(20, (tmp_path / "held").unlink)
        release.start()
        for attempt in attempts:
            driver.tell("adopt", job=jobs[hanging]["job_id"], adopted=attempt)
        driver.tell("adopt", job=jobs[other]["job_id"], adopted=write(other, jobs[other], 0))
        driver.ask("commit", job=jobs[other]["job_id"], chosen=chosen(0))
        assert (tmp_path / "held").exists()
        release.cancel()
        (tmp_path / "held").unlink()
        driver.ask("commit", job=jobs[hanging]["job_id"], chosen=chosen(*range(tasks)))
    assert seen(other) == [b"data"]
    assert seen(hanging) == [b"data"] * tasks


@pytest.mark.parametrize("files", [[[]], [["a"]], [["a", 1, "id", 3]], [[1, "a"]]])
def test_files_that_are_none_harm_no_other_job(tmp_path: Path, files: list[object]) -> None:
    driver = Driver()
    try:
        jobs = [begun(driver, tmp_path / name) for name in "ab"]
        attempt = write(tmp_path / "a", jobs[0], 0)
        driver.tell("adopt", job=jobs[0]["job_id"], adopted={**attempt, "files": files})
        driver.tell("adopt", job=jobs[1]["job_id"], adopted=write(tmp_path / "b", jobs[1], 0))
        assert "said" in driver.ask("commit", job=jobs[1]["job_id"], chosen=chosen(0))
        refused = driver.ask("commit", job=jobs[0]["job_id"], chosen=chosen(0))["error"]
        assert "task 0" in refused
        assert driver.ask("abort", job=jobs[0]["job_id"]) == {}
        assert driver.end() == ""
    finally:
        driver.kill()


def test_a_task_that_was_not_told_of(tmp_path: Path) -> None:
    driver = Driver()
    try:
        job = begun(driver, tmp_path)
        answer = driver.ask("commit", job=job["job_id"], chosen=chosen(7))
        assert "task 7 is chosen, and has told of no attempt" in answer["error"]
    finally:
        driver.kill()


def test_an_abort_waits_for_what_is_being_adopted(tmp_path: Path) -> None:
    """What came later would make the directories of the job anew."""
    held = """
    async def carry(verb, path, call):
        if verb == "create" and "/manifests/" in str(path):
            (place / "held").touch()
            while not (place / "go").exists():
                await asyncio.sleep(0.01)
        return await call()
    """
    out = tmp_path / "out"
    with driver_with(held, tmp_path) as driver:
        job = begun(driver, out)
        driver.tell("adopt", job=job["job_id"], adopted=write(out, job, 0))
        deadline = time.monotonic() + 60
        while not (tmp_path / "held").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        go = threading.Timer(0.5, (tmp_path / "go").touch)
        go.start()
        assert driver.ask("abort", job=job["job_id"]) == {}
        go.join()
        assert driver.end() == ""
    assert left(out) == []
    assert fc.jobs(str(out)) == []


# Its surroundings.


def test_a_program_that_it_starts_reads_no_request(tmp_path: Path) -> None:
    """Such as one that finds credentials: requests have secrets in them."""
    reads = """
    async def carry(verb, path, call):
        done = subprocess.run(["cat"], stdout=subprocess.PIPE, timeout=20, check=True)
        (place / "read").write_bytes(done.stdout)
        return await call()
    """
    with driver_with(reads, tmp_path) as driver:
        driver.tell("start", id=7, mode="append", partitions=[], **place(tmp_path / "out"))
        driver.tell("abort", id=8, job="what is read by the program")
        said = sorted((driver.read(), driver.read()), key=lambda one: one["id"])
        assert "job_id" in said[0]
    assert (tmp_path / "read").read_bytes() == b""
