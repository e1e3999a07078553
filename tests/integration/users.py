"""What a user of a remote store does, is told, and leaves behind."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import fsspec_commit as fc
from tests.integration.cli.command import command
from tests.protocol.invariants import AREA

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.scenes.places import RemotePlace

T = TypeVar("T")
# Thirty seconds are promised; a busy machine may double them, no retry of ours may.
PATIENCE_S = 60.0


def soon(call: Callable[[], T]) -> T:
    """What *call* answers; a failure of the test when it takes for ever."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(call).result(PATIENCE_S)


def write(url: str, options: Mapping[str, Any], **job_options: Any) -> fc.CommitResult:
    with (
        fc.Job(url, storage_options=options, **{"mode": "append", **job_options}) as job,
        job.task() as task,
        task.open("part.csv", "w") as file,
    ):
        file.write("1\n")
    assert job.result is not None
    return job.result


def work(spec: fc.JobSpec, options: Mapping[str, Any]) -> None:
    """What a worker does."""
    with (
        fc.Task.from_spec(spec, 0, storage_options=options) as task,
        task.open("part.csv", "w") as file,
    ):
        file.write("1\n")


def told(call: Callable[[], object]) -> str:
    """The sentence that a call fails with, before anything is committed."""
    with pytest.raises(fc.CommitError) as caught:
        soon(call)
    assert caught.value.outcome == "not_committed"
    text = str(caught.value)
    assert "\n" not in text
    return text


def asked(url: str, options: Mapping[str, Any]) -> list[Callable[[], object]]:
    """A job, and a question about jobs."""
    return [lambda: write(url, options), lambda: fc.jobs(url, storage_options=options)]


def say(words: tuple[str, ...], *calls: Callable[[], object]) -> None:
    """Each of *calls* is told all of *words*."""
    for call in calls:
        text = told(call)
        assert all(word in text for word in words), text


def told_by_the_command(*arguments: object, options: Mapping[str, Any]) -> str:
    """The one line that the command fails with."""
    texts = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in options.items()
    }
    given = [f"--storage-option={name}={text}" for name, text in texts.items()]
    ran = command(*arguments, *given)
    assert ran.status in {1, 2}, ran
    assert ran.out == ""
    [line] = ran.err.splitlines()
    assert line.startswith("error: ")
    return line


def leftovers(place: RemotePlace) -> list[str]:
    """What is at a destination that no finished job leaves."""
    areas = [name for name in place.snapshot() if name.startswith(AREA)]
    return [name for name in areas if "/epoch-" not in name] + place.pending()


def settle(url: str, options: Mapping[str, Any]) -> None:
    """Finish what is decided, and remove what is not."""
    for job in fc.jobs(url, storage_options=options):
        if job.state in {"decided", "published"}:
            fc.resume(url, job.job_id, storage_options=options)
    fc.clean(url, older_than=timedelta(0), dry_run=False, storage_options=options)
