"""What jobs ask of a store, counted job by job: exactly, since nothing here is measured in time."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import fsspec_commit as fc
from fsspec_commit.protocol import sign_of_life
from fsspec_commit.testing.recording import recorded_calls
from tests.benchmarks.cost_figures import CountedJob
from tests.benchmarks.cost_law import CHECKED_SHAPE, FITTED_SHAPES
from tests.benchmarks.driven_jobs import Files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.benchmarks.slow_servers import SlowServer

SHAPES = (*FITTED_SHAPES, CHECKED_SHAPE)
_NAME = "part-{number:05d}"
_DATA = bytes(100)
# As long as a store is asked for anything more, such as by what goes on behind a commit.
_STILL_S = 0.05
_NEVER_S = 86_400.0


def on_server(server: SlowServer) -> tuple[CountedJob, ...]:
    """One job of each of `SHAPES`, in a place that is known: it was probed by a job before."""

    def asked() -> Counter[str]:
        return server.control.statistics().requests

    place, _ = server.new_destinations()
    how: dict[str, Any] = {"committer": server.committer, "storage_options": server.storage_options}
    _counted(f"{place}-0", (1, 1), asked, **how)
    found = tuple(
        _counted(f"{place}-{number}", shape, asked, **how)
        for number, shape in enumerate(SHAPES, start=1)
    )
    server.control.forget()
    return found


def on_disk(folder: Path, committer: str) -> tuple[CountedJob, ...]:
    """The same on a disk, where the calls of the store are counted."""
    with recorded_calls() as calls:

        def asked() -> Counter[str]:
            return Counter(call.verb for call in calls)

        return tuple(
            _counted(str(folder / str(number)), shape, asked, committer=committer)
            for number, shape in enumerate(SHAPES)
        )


def _counted(
    destination: str,
    shape: tuple[int, int],
    asked: Callable[[], Counter[str]],
    *,
    storage_options: dict[str, Any] | None = None,
    **options: Any,
) -> CountedJob:
    tasks, files = shape
    output = Files(files, _NAME, _DATA)
    before = asked()
    # Files that are sent side by side ask more than once for the directory that they are in.
    options = {"mode": "append", "tasks": tasks, "write_behind": False, **options}
    job = fc.Job(destination, storage_options=storage_options, **options).start()
    spec = job.spec.to_json()
    messages = [
        fc.TaskCommit.from_json(output.write(spec, storage_options, task)) for task in range(tasks)
    ]
    written = when_still(asked)
    # On a busy machine a job may decide late, and show until then that it lives.
    with patch.object(sign_of_life, "BEAT_S", _NEVER_S):
        result = job.commit(messages)
    assert result.file_count == tasks * files, result
    return CountedJob(
        tasks=tasks,
        files=tasks * files,
        writing=dict(written - before),
        commit=dict(when_still(asked) - written),
    )


def when_still(asked: Callable[[], Counter[str]]) -> Counter[str]:
    """What was asked, as soon as nothing more is."""
    now = asked()
    while True:
        time.sleep(_STILL_S)
        before, now = now, asked()
        if now == before:
            return now
