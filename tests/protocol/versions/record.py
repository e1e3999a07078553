"""Records jobs of this version: ``python -m tests.protocol.versions.record DIRECTORY``.

What is in ``recorded/1`` was written so by commit b174776, whose formats are those of the first
release, and is not written anew: jobs of that version have left it, and every later one must settle
it. Whoever raises the version of ``job.json`` to 2 then writes ``recorded/2``, beside it. Whoever
only takes other calls writes ``recorded/1.1`` and so on: in that one manifests go before decisions,
in ``recorded/1.2`` what is left of a job goes all at once, ``published`` last, in ``recorded/1.3``
old files are listed beside the areas, so that their list may come after the marker, and in
``recorded/1.4`` the list may come before it again, since it is written ahead. Those on ``gen2`` and
``minio``, and those that are aborted, were recorded later, by the same code of those versions.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from unittest.mock import patch

import fsspec_commit as fc
from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore
from tests.protocol.faults import COLLECTED, run, write
from tests.protocol.versions.states import (
    ENDING,
    STORES,
    RecordedPlace,
    Recording,
    State,
    make_place,
    remove,
    state_of,
)
from tests.scenes.scene import HIDDEN, SCENES, NamedScene, Scene

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit.layout import StorePath

T = TypeVar("T")

ABORTED = "aborted"
JOBS = {
    **{name: SCENES[name] for name in ("append", "overwrite", "overwrite_partitions")},
    "collected": COLLECTED,
}
"""One of each mode whose end is not that of another; and one whose driver is sent no messages."""


def jobs_at(committer: str) -> dict[str, Scene]:
    """The jobs; where a token may come again, they find old files of names that never do."""
    if committer != "minio":
        return JOBS
    return {name: NamedScene(scene.options, scene.tasks) for name, scene in JOBS.items()}


def abort(scene: Scene, place: RecordedPlace) -> None:
    """A job that is aborted when its tasks have committed."""
    job = fc.Job(place.url, **scene.options)  # type: ignore[arg-type]  # options of a table
    job._begun_here = False
    with job:
        for task_id, files in enumerate(scene.tasks):
            write(job.task(task_id), files)
        job.abort()


def record(
    committer: str, scene: Scene, live: Callable[[Scene, RecordedPlace], object] = run
) -> Recording:
    """Have a job live its life, and look after each call."""
    place = make_place(committer)
    states: list[State] = []
    calls: list[str] = []

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        answer = await call()
        state = state_of(place)
        if state != states[-1]:
            states.append(state)
            calls.append(f"{verb} {path}")
        return answer

    try:
        place.put({**scene.old, **HIDDEN, "_SUCCESS": b""})
        states.append(state_of(place))
        with (
            patch("socket.gethostname", return_value="recorder"),
            wrapping(lambda store: WrappedStore(store, carry)),
        ):
            # One file after the other, so that the order of the calls is the same each time.
            live(replace(scene, options={**scene.options, "write_behind": False}), place)
    finally:
        remove(place)
    return Recording(committer, scene, states, calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("to", type=Path)
    to: Path = parser.parse_args().to
    to.mkdir(parents=True)
    for committer in STORES:
        jobs = jobs_at(committer)
        for name, scene in jobs.items():
            record(committer, scene).write(to / f"{committer}-{name}{ENDING}")
        aborted = record(committer, jobs["append"], abort)
        aborted.write(to / f"{committer}-{ABORTED}{ENDING}")


if __name__ == "__main__":
    main()
