"""``jobs`` and ``show``: which jobs are unfinished, and how one is named."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.integration.cli.command import Ran, command
from tests.integration.cli.drivers import left_behind

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_nothing_is_said_of_no_jobs(destination: Path) -> None:
    destination.mkdir()
    assert command("jobs", destination) == Ran(0, "", "")
    assert command("jobs", destination, "--json").document == {
        "destination": str(destination),
        "jobs": [],
        "hadoop_jobs": [],
    }


def test_jobs_lists_what_drivers_left(destination: Path) -> None:
    opened, decided = left_behind(destination, "open"), left_behind(destination, "decided")
    ran = command("jobs", destination)
    assert sorted(row[:3] for row in ran.rows) == sorted(
        [[opened, "open", "append"], [decided, "decided", "append"]]
    )
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", row[3]) for row in ran.rows)
    document = command("jobs", destination, "--json").document
    assert {job["job_id"]: job["state"] for job in document["jobs"]} == {
        opened: "open",
        decided: "decided",
    }


def test_what_is_not_known_of_a_damaged_job_is_a_dash(destination: Path) -> None:
    job = left_behind(destination, "open")
    (destination / "_commit" / job / "job.json").write_text("{torn")
    [row] = command("jobs", destination).rows
    assert (row[0], row[1], row[2], row[4]) == (job, "damaged", "-", "-")
    [known] = command("jobs", destination, "--json").document["jobs"]
    assert known["host"] is None


@pytest.mark.parametrize(
    "shorten",
    [lambda job: job, lambda job: job[:-1], lambda job: job[16:20], lambda job: job[-4:]],
    ids=["whole", "beginning", "random part", "end"],
)
def test_show_finds_a_job_by_a_part_of_its_id(
    shorten: Callable[[str], str], destination: Path
) -> None:
    job = left_behind(destination, "decided")
    ran = command("show", destination, shorten(job))
    assert ran.status == 0
    shown = dict(ran.rows)
    assert (shown["job id"], shown["state"], shown["committer"]) == (job, "decided", "v1")
    assert shown["settle with"] == f"fsspec-commit resume '{destination}' {job}"


def test_a_part_that_two_jobs_share_is_refused(destination: Path) -> None:
    jobs = [left_behind(destination, "open"), left_behind(destination, "open")]
    ran = command("abort", destination, "2")
    assert ran.status == 3
    assert all(job in ran.err for job in jobs)
    assert len(command("jobs", destination).rows) == 2


def test_a_job_that_is_not_there_is_refused(destination: Path) -> None:
    ran = command("show", destination, "9c1e", "--json")
    assert ran.status == 2
    error = ran.document["error"]
    assert (error["class"], error["kind"]) == ("RequestError", "unknown_job")
    assert f"fsspec-commit jobs '{destination}'" in error["message"]
