"""``verify``: what is missing, changed or left over; and what is committed, by command."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing import Crash, Fault
from fsspec_commit.testing.faults import FaultPlan, FaultyStore
from tests.integration.cli.command import command
from tests.unit.cli.terminal import on_a_terminal

if TYPE_CHECKING:
    from pathlib import Path

    from fsspec_commit.testing.faults import Kind

TABLE = pa.table({"day": ["Mon", "Tue", "Wed"], "n": [1, 2, 3]})
WHATEVER_IT_ENDS_WITH = """
from contextlib import suppress
from fsspec_commit.cli import main
with suppress(SystemExit):
    main()
"""


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    return tmp_path / "out"


def write(destination: Path, mode: str = "append", **options: str) -> None:
    fc.write_dataset(TABLE, destination, partition_by="day", mode=mode, **options)  # type: ignore[arg-type]  # words of a test


def die(destination: Path, verb: str, nth: int, kind: Kind = "crash_before") -> str:
    """A job that overwrites all, and dies; its id."""
    plan = FaultPlan([Fault(verb, nth, kind)])
    with wrapping(partial(FaultyStore, faults=plan)), pytest.raises(Crash):
        write(destination, "overwrite", success="none")
    [job] = fc.jobs(destination)
    return job.job_id


def files(destination: Path, *, of_job: str = "") -> list[Path]:
    return sorted(path for path in destination.glob("day=*/*.parquet") if of_job in path.name)


def test_a_destination_without_jobs_is_in_order(destination: Path) -> None:
    assert fc.verify(destination) == fc.VerifyReport(
        missing=(), changed=(), leftovers=(), checked_count=0, file_count=0
    )


def test_what_a_finished_job_has_named_is_compared(destination: Path) -> None:
    write(destination, success="json")
    whole = fc.verify(destination)
    assert whole
    assert (whole.ok, whole.checked_count, whole.file_count) == (True, 3, 3)
    first, second, _ = files(destination)
    first.write_bytes(first.read_bytes()[:-1])
    report = fc.verify(destination)
    [changed] = report.changed
    assert re.search(r"^the 3 files of job \S+ have \d+ bytes, and had \d+ when it", changed)
    assert not report.ok
    assert not report, "an assertion of all of it would assert nothing"
    second.unlink()
    report = fc.verify(destination)
    [missing] = report.missing
    assert (report.ok, report.changed, report.leftovers) == (False, (), ())
    assert missing.startswith(f"day=Tue/{second.name}: of job ")


@pytest.mark.parametrize("marker", [b"", b"{torn", b'{"name":"org.apache.hadoop.SuccessData/1"}'])
def test_other_markers_say_nothing(marker: bytes, destination: Path) -> None:
    write(destination, success="none")
    (destination / "_SUCCESS").write_bytes(marker)
    report = fc.verify(destination)
    assert (report.ok, report.checked_count) == (True, 0)


def test_a_marker_that_nobody_can_read_says_nothing(destination: Path) -> None:
    write(destination, success="none")
    (destination / "_SUCCESS").mkdir()
    report = fc.verify(destination)
    assert (report.ok, report.checked_count) == (True, 0)


def test_what_a_job_under_way_has_published_is_compared(destination: Path) -> None:
    write(destination)
    job_id = die(destination, "rename", 7)  # the second old file goes to the trash
    first, second, _ = files(destination, of_job=job_id)
    report = fc.verify(destination)
    assert report.leftovers == (f"{job_id}: committed but not finished, resume it",)
    assert (report.missing, report.changed, report.checked_count) == ((), (), 3)
    first.write_bytes(b"short")
    second.unlink()
    report = fc.verify(destination)
    [changed], [missing] = report.changed, report.missing
    assert changed.startswith(f"day=Mon/{first.name}: it has 5 bytes, and ")
    assert missing == f"day=Tue/{second.name}: of job {job_id}"


def test_what_is_not_in_place_yet_is_not_missing(destination: Path) -> None:
    write(destination)
    job_id = die(destination, "rename", 3)
    assert len(files(destination, of_job=job_id)) == 1
    report = fc.verify(destination)
    assert (report.missing, report.changed, report.ok) == ((), (), False)


def test_a_job_at_work_is_no_leftover(destination: Path) -> None:
    job = fc.Job(destination, mode="append").start()
    assert fc.verify(destination).ok
    job.abort()


def test_a_damaged_job_is_shown_and_nothing_raised(destination: Path) -> None:
    write(destination)
    job_id = die(destination, "rename", 3)
    (destination / "_commit" / job_id / "decision").write_bytes(b"{torn")
    [leftover] = fc.verify(destination).leftovers
    assert leftover.startswith(f"{job_id}: damaged, ")


def test_nothing_is_written(destination: Path) -> None:
    write(destination, success="json")
    die(destination, "rename", 4)
    before = {path: path.stat().st_mtime_ns for path in destination.rglob("*")}
    fc.verify(destination)
    fc.committed_files(destination)
    assert {path: path.stat().st_mtime_ns for path in destination.rglob("*")} == before


def test_the_commands_say_it(destination: Path) -> None:
    assert command("ls", destination) == command("verify", destination)
    write(destination, success="json")
    old = [str(path) for path in files(destination)]
    ran = command("verify", destination)
    assert (ran.status, ran.out) == (0, "")
    job_id = die(destination, "rename", 3)
    assert command("ls", destination).out.splitlines() == old
    document = command("ls", destination, "--json").document
    assert document["files"] == old
    assert document["bytes"] == sum(path.stat().st_size for path in map(type(destination), old))
    ran = command("verify", destination)
    assert ran.status == 1
    assert ran.rows == [["leftover", f"{job_id}: committed but not finished, resume it"]]
    document = command("verify", destination, "--json").document
    assert (document["ok"], document["checked_count"]) == (False, 3)


def test_the_command_says_what_it_knows(destination: Path) -> None:
    """Of files that nobody has written down it said that none was missing, and "2 of 1 file"."""
    write(destination)
    count = len(files(destination))
    said = on_a_terminal(WHATEVER_IT_ENDS_WITH, "verify", destination)
    assert "nothing is left over" in said
    assert f"{count} files; no job has written down which there were to be" in said
    assert "missing" not in said
    write(destination, mode="overwrite", success="json")
    files(destination)[0].unlink()
    said = on_a_terminal(WHATEVER_IT_ENDS_WITH, "verify", destination)
    assert "missing" in said
    assert f"{count - 1} files; {count} that jobs have written down were looked for" in said
