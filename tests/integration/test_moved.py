"""A destination that is not where its jobs' records say: it was moved, or a record lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.records.job import JobRecord
from fsspec_commit.testing import Crash, Fault, inject

if TYPE_CHECKING:
    from pathlib import Path


def test_a_command_names_the_place_that_was_opened(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    job = fc.Job(before, mode="append").start()
    before.rename(after)
    with pytest.raises(fc.RequestError) as caught:
        fc.resume(after, job.job_id)
    assert str(caught.value).endswith(f"fsspec-commit abort {after} {job.job_id}")
    after.rename(before)
    job.abort()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_decided_job_is_finished_where_it_is_found(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    job = fc.Job(before, mode="append")
    with inject(Fault("rename", 1, "crash_before")) as fired:
        job.start()
        with job.task() as task, task.open("a.csv", "w") as file:
            file.write("rows")
        with pytest.raises(Crash):
            job.commit()
    assert fired
    before.rename(after)
    result = fc.resume(after, job.job_id)
    assert result.destination == str(after)
    assert len(list(after.glob("*.csv"))) == 1


def test_a_command_to_paste_holds_nothing_of_a_hostile_record(tmp_path: Path) -> None:
    job = fc.Job(tmp_path / "out", mode="append").start()
    record = tmp_path / "out" / "_commit" / job.job_id / "job.json"
    kept = JobRecord.decode(record.read_bytes())
    hostile = "/x; touch /tmp/pwned $(id)\x1b[2J\n"
    fields = {name: getattr(kept, name) for name in kept.__struct_fields__}
    record.write_bytes(JobRecord(**{**fields, "destination": hostile}).encode())
    with pytest.raises(fc.RequestError) as caught:
        fc.resume(tmp_path / "out", job.job_id)
    assert "pwned" not in str(caught.value)
    assert str(caught.value).isprintable()
    job.abort()
