"""What a job asks of its store, counted: as calls of the store, or as requests on the wire."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeVar

import fsspec_commit as fc
from fsspec_commit.testing.recording import Call, recorded_calls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.scenes.places import RemotePlace
    from tests.servers.proxied_connection import Exchange
    from tests.servers.proxy import FaultProxy

T = TypeVar("T")
ONE_FILE = [["part.txt"]]
TEN_TASKS = [["part.txt"] for _ in range(10)]


def shapes(days: int = 30) -> dict[str, list[list[str]]]:
    """What the tasks of a job write."""
    many = [[f"day={day}/part.txt" for day in range(days)] for _ in range(2)]
    return {"one file": ONE_FILE, "many files": many, "ten tasks": TEN_TASKS}


SHAPES_OF_CALLS = {
    "one file": ONE_FILE,
    "a hundred files of one task": [[f"{number}.txt" for number in range(100)]],
    "ten tasks": TEN_TASKS,
    "many partitions": [[f"year=1/day={day}/part.txt" for day in range(60)] for _ in range(3)],
    "a partition a task": [[f"task={task}/part.txt"] for task in range(20)],
}
"""The same where a call costs less than a request."""


def directories_of(tasks: list[list[str]]) -> int:
    return len({name.rpartition("/")[0] for names in tasks for name in names} - {""})


def run(
    destination: str | Path,
    tasks: list[list[str]],
    count: Callable[[], T],
    **options: Any,
) -> tuple[T, fc.CommitResult]:
    """A whole job; what *count* says before its commit."""
    job = fc.Job(destination, **{"mode": "append", **options}).start()
    for names in tasks:
        with job.task() as task:
            for name in names:
                with task.open(name, "w") as file:
                    file.write(name)
    before = count()
    result = job.commit()
    assert result.warnings == ()
    return before, result


def calls_of(
    destination: str | Path, tasks: list[list[str]], *, chosen: str, **options: Any
) -> tuple[list[Call], list[Call]]:
    """What the tasks and the start of a job asked of a committer, and what its commit did."""
    with recorded_calls() as calls:
        before, result = run(destination, tasks, lambda: len(calls), **options)
    assert result.committer == chosen
    return calls[:before], calls[before:]


def requests_of(
    place: RemotePlace, proxy: FaultProxy, tasks: list[list[str]], **options: Any
) -> tuple[list[Exchange], list[Exchange]]:
    """The same on the wire."""
    proxy.clear()
    before, _ = run(place.url, tasks, lambda: len(proxy.exchanges), **options, **place.how)
    return list(proxy.exchanges[:before]), list(proxy.exchanges[before:])


def shown(calls: Sequence[Call]) -> str:
    return ", ".join(f"{verb} {n}" for verb, n in sorted(Counter(c.verb for c in calls).items()))


def exchanged(exchanges: Sequence[Exchange]) -> str:
    return "\n".join(f"{one.operation} {one.path} {one.query}" for one in exchanges)
