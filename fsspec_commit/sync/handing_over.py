"""Handing a job over: it was started here, and another process commits or aborts it."""

from fsspec_commit.spec import JobSpec
from fsspec_commit.sync import bridge
from fsspec_commit.sync.job import Job


def hand_over(job: Job) -> JobSpec:
    """The spec of *job*, which another process will commit or abort; this one is done with it."""
    spec = job.spec
    job._begun_here = False  # noqa: SLF001  # not for callers, who would lose sight of the job
    bridge.run(job._close(job._started()))  # noqa: SLF001  # closes a store that nobody uses
    return spec
