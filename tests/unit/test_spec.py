"""What a spec carries to the workers and drivers of a job, beside what ``job.json`` says."""

from __future__ import annotations

import pickle
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

import pytest

import fsspec_commit as fc
from fsspec_commit.testing import Crash, Fault, inject

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def pickled(spec: fc.JobSpec) -> fc.JobSpec:
    sent: fc.JobSpec = pickle.loads(pickle.dumps(spec))
    return sent


def as_text(spec: fc.JobSpec) -> fc.JobSpec:
    return fc.JobSpec.from_json(spec.to_json() + "\n")


SENT = pytest.mark.parametrize("sent", [pickled, as_text])


@SENT
def test_a_second_driver_waits_as_long_as_the_first(
    tmp_path: Path, sent: Callable[[fc.JobSpec], fc.JobSpec]
) -> None:
    """It waited a minute, whatever the job had been told."""
    older = fc.Job(tmp_path, mode="overwrite").start()
    older._begun_here = False
    with older.task() as task:
        task.open("a.txt").close()
    with inject(Fault("rename", 1, "crash_before")), suppress(Crash):
        fc.Job.from_spec(older.spec).commit([task.message])
    newer = fc.Job(tmp_path, mode="overwrite", wait_s=0, allow_empty=True).start()
    driver = fc.Job.from_spec(sent(newer.spec))
    with pytest.raises(fc.ConcurrentJobError) as caught:
        driver.commit()
    assert caught.value.other_job_id == older.job_id
    newer.abort()


@SENT
@pytest.mark.parametrize("write_behind", [True, False])
def test_so_is_whether_closing_waits(
    sent: Callable[[fc.JobSpec], fc.JobSpec], write_behind: bool
) -> None:
    with fc.Job("memory://test-spec", write_behind=write_behind, allow_empty=True) as job:
        assert sent(job.spec) == job.spec
        again = fc.Job.from_spec(sent(job.spec)).spec
        assert again.write_behind is write_behind
        # By default nothing is said of it, so that an earlier version can read the text.
        assert ("write_behind" in job.spec.to_json()) is not write_behind


@SENT
@pytest.mark.parametrize("wait_s", [0, 0.25, inf])
def test_nothing_of_it_is_lost_on_the_way(
    sent: Callable[[fc.JobSpec], fc.JobSpec], wait_s: float
) -> None:
    with fc.Job("memory://test-spec", wait_s=wait_s, concurrency=3, allow_empty=True) as job:
        assert sent(job.spec) == job.spec
        assert (job.spec.wait_s, job.spec.concurrency) == (wait_s, 3)
        again = fc.Job.from_spec(sent(job.spec)).spec
        assert again == job.spec


def test_drivers_and_workers_have_as_many_calls_in_flight_as_the_job_says(tmp_path: Path) -> None:
    with fc.Job(tmp_path, concurrency=3, allow_empty=True) as job:
        driver = fc.Job.from_spec(job.spec).task(1)
        worker = fc.Task.from_spec(job.spec, 0)
        assert [one._job.store.in_flight_max for one in (driver, worker)] == [3, 3]
        worker.abort()


@pytest.mark.parametrize(
    ("old", "new"),
    [('"wait_s":60.0', '"wait_s":-1.0'), ('"concurrency":null', '"concurrency":0')],
)
def test_a_text_that_no_job_wrote_is_refused(tmp_path: Path, old: str, new: str) -> None:
    with fc.Job(tmp_path, allow_empty=True) as job:
        text = job.spec.to_json()
    assert old in text
    with pytest.raises(fc.RecordError):
        fc.JobSpec.from_json(text.replace(old, new))
