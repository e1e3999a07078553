"""A secret among the options, and a fault at a call: nobody who then tells of the job tells of it.

Those who tell are the error, what is logged, every record, and every function and command that
looks at jobs, or settles them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fsspec_commit as fc
from fsspec_commit.effects import pacing
from fsspec_commit.store import registry
from fsspec_commit.testing import Crash, Fault, crash_points, inject
from tests.flat.bucket import remove_bucket
from tests.integration.canaries import SECRET, Ears
from tests.integration.telling import tell
from tests.protocol.hostile.worlds import HOSTILE, HostileStore, make_bucket_of
from tests.sweeps import every_by_day

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fsspec_commit.testing.sweeps import Sweep
    from tests.flat.bucket import Bucket

HOW: dict[str, Any] = {"storage_options": {"token": SECRET, "client_kwargs": {"password": SECRET}}}
TASKS = 2
JOBS: dict[str, dict[str, Any]] = {
    "overwrite": {"mode": "overwrite", "success": "json"},
    "collected": {"mode": "append", "collect": "store", "tasks": TASKS, "idempotency_key": "k"},
}
pytestmark = pytest.mark.filterwarnings("ignore:job .* was neither committed:ResourceWarning")


@pytest.fixture(params=["disk", "memory", "gen2", "gcs", "s3-versioned", "minio"])
def bucket(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    monkeypatch.setattr(pacing, "BACKOFF_S", 0.0001)
    monkeypatch.setitem(registry._registered, HOSTILE, HostileStore)
    made = make_bucket_of(request.param)
    yield made
    remove_bucket(made)


@pytest.fixture(params=every_by_day(40))
def every(request: pytest.FixtureRequest) -> int:
    every: int = request.param
    return every


def job_at(url: str, asked: str, ears: Ears) -> None:
    """A whole life; who dies, or is refused, has said something before."""
    job = fc.Job(url, wait_s=0, **JOBS[asked], **HOW)
    job._begun_here = False
    with job:
        ears.heard("job", job, job.spec, job.spec.to_json(), job.selection)
        ears.pickled("spec", job.spec)
        messages = []
        for number in range(TASKS):
            with (
                fc.Task.from_spec(job.spec, number, **HOW) as task,
                task.open(f"p={number}/a.txt", "w") as file,
            ):
                file.write("a")
            ears.heard("task", task, task.message)
            ears.pickled("message", task.message)
            messages.append(task.message)
        job.commit(None if "collect" in JOBS[asked] else messages)
    ears.heard("result", job.result)


def faults_of(crash: Fault) -> list[Fault]:
    """The process dies there; or nobody is answered from there on, until the job gives up."""
    if crash.kind == "crash_before":
        return [crash]
    return [Fault(crash.verb, crash.nth + more, "hang") for more in range(12)]


@pytest.mark.parametrize("asked", JOBS)
def test_who_tells_of_a_job_tells_no_secret(
    asked: str,
    bucket: Bucket,
    sweep: Sweep,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ears = Ears(caplog, SECRET, logger="fsspec_commit")
    numbers = iter(range(10**6))

    def fresh() -> str:
        return f"{HOSTILE}://{bucket.name}/out{next(numbers)}"

    for crash in sweep(crash_points(lambda: job_at(fresh(), asked, ears))):
        url = fresh()
        with inject(*faults_of(crash)):
            try:
                job_at(url, asked, ears)
            except (fc.CommitError, Crash) as error:
                ears.failed(f"{crash}", error)
        tell(url, HOW["storage_options"], ears, capsys)
        ears.check({path: one.data for path, one in bucket.objects.items()})
        caplog.clear()
