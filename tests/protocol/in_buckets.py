"""Jobs in flat buckets of the tests' own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fsspec_commit as fc
from tests.flat.store import FLAT

if TYPE_CHECKING:
    from tests.flat.bucket import Bucket


def url(bucket: Bucket, name: str = "out") -> str:
    return f"{FLAT}://{bucket.name}/{name}"


def started(bucket: Bucket, **options: object) -> fc.Job:
    """A job that may die: nobody is warned of what it leaves."""
    job = fc.Job(url(bucket), **{"mode": "append", **options})  # type: ignore[arg-type]
    job._begun_here = False
    return job.start()


def write(task: fc.Task, *names: str, text: str | None = None) -> fc.Task:
    """Files that hold *text*, or their names, and are stored."""
    for name in names:
        with task.open(name, "w") as file:
            file.write(name if text is None else text)
    task.filesystem.find("")  # It shows what is stored, and waits for that.
    return task
