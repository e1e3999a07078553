"""``resume``, ``abort`` and ``clean``: settling what a dead driver left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.cli import main, processes
from tests.integration.cli.command import Ran, command, files_of
from tests.integration.cli.drivers import left_behind

if TYPE_CHECKING:
    from pathlib import Path


def test_resume_finishes_what_was_decided(destination: Path) -> None:
    job = left_behind(destination, "decided")
    ran = command("resume", destination, job)
    assert (ran.status, ran.err) == (0, "")
    assert [row[:2] for row in ran.rows] == [[job, "committed"]]
    [name] = files_of(destination)
    assert (destination / name).read_text() == "hello"
    assert (destination / "_SUCCESS").exists()
    assert command("jobs", destination).rows == []
    again = command("resume", destination, job)
    assert (again.status, again.out) == (0, f"{job}\tcommitted\t-\t-\t-\t-\t{destination}\n")


def test_resume_for_programs(destination: Path) -> None:
    job = left_behind(destination, "decided")
    document = command("resume", destination, job[-6:], "--json").document
    assert (document["job_id"], document["state"]) == (job, "committed")
    assert document["file_count"] == 1
    assert "files" not in document


def test_several_processes_resume_a_job_of_many_files(destination: Path) -> None:
    job = left_behind(destination, "decided", tasks=4)
    ran = command("resume", destination, job, "--processes", 2)
    assert (ran.status, ran.err) == (0, "")
    assert len(files_of(destination)) == 3_001
    assert command("jobs", destination).rows == []
    assert command("resume", destination, job, "--processes", 0).status == 2


def test_a_python_whose_pools_may_hang_is_refused(
    destination: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    job = left_behind(destination, "decided")
    monkeypatch.setattr(processes, "USABLE_SINCE", (4, 0))
    with pytest.raises(SystemExit) as ended:
        main(["resume", str(destination), job, "--processes", "2"])
    assert ended.value.code == 2
    assert "--processes needs Python 4.0 or later, and this is 3." in capsys.readouterr().err
    assert command("resume", destination, job).status == 0


def test_resume_refuses_what_is_not_decided(destination: Path) -> None:
    job = left_behind(destination, "open")
    ran = command("resume", destination, job)
    assert ran.status == 3  # Not 2, which permits to run it again: its driver may still commit it.
    assert f"fsspec-commit abort '{destination}' {job}" in ran.err
    assert "fsspec-commit resume" not in ran.err


def test_a_finished_job_is_not_called_off_by_the_end_of_its_id(destination: Path) -> None:
    """Only ids of unfinished jobs can be cut: it was "refused", and so to be run again."""
    job = left_behind(destination, "decided")
    assert command("resume", destination, job).status == 0
    ran = command("resume", destination, job[-6:], "--json")
    assert (ran.status, ran.document["error"]["outcome"]) == (3, "unknown")
    assert command("abort", destination, job[-6:]).status == 3


def test_abort_ends_what_is_not_decided(destination: Path) -> None:
    job = left_behind(destination, "open")
    assert command("abort", destination, job) == Ran(0, "", "")
    assert command("jobs", destination).rows == []
    assert files_of(destination) == []


def test_abort_for_programs(destination: Path) -> None:
    job = left_behind(destination, "open")
    assert command("abort", destination, job[:18], "--json").document == {
        "destination": str(destination),
        "job_id": job,
        "state": "aborted",
    }


def test_abort_refuses_what_is_decided(destination: Path) -> None:
    job = left_behind(destination, "decided")
    ran = command("abort", destination, job, "--json")
    assert ran.status == 3
    assert ran.document["error"]["class"] == "JobNotActiveError"
    assert command("resume", destination, job).status == 0
    assert len(files_of(destination)) == 1


def test_clean_names_first_and_deletes_when_told(destination: Path) -> None:
    opened, decided = left_behind(destination, "open"), left_behind(destination, "decided")
    assert command("clean", destination, "--older-than", "1h") == Ran(0, "", "")
    named = command("clean", destination, "--older-than", "0s")
    assert named.status == 0
    assert ["would be aborted", opened] in named.rows
    assert len(command("jobs", destination).rows) == 2
    ran = command("clean", destination, "--older-than", "0s", "--delete", "--json")
    assert (ran.status, ran.document["dry_run"]) == (0, False)
    assert ran.document["aborted"] == [opened]
    assert any(decided in shown for shown in ran.document["shown"])
    assert [row[0] for row in command("jobs", destination).rows] == [decided]
