"""How many round trips in a row a task of many small files takes, where each call takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from fsspec_commit.committers.write_behind import WriteBehind
from fsspec_commit.effects.budget import FILES_BEHIND_MAX
from fsspec_commit.names import target
from fsspec_commit.new_job import new_job_at
from fsspec_commit.options import JobOptions
from fsspec_commit.protocol.attempt import commit_attempt
from fsspec_commit.protocol.driver import Driver
from fsspec_commit.testing.simulation import Plan
from fsspec_commit.testing.simulation.loop import SimulationLoop
from fsspec_commit.testing.simulation.process import Process
from fsspec_commit.testing.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from fsspec_commit.protocol.bound_job import BoundJob

T = TypeVar("T")
FILES = 100
DATA = b"x" * 1000


class Trips:
    """A destination of one kind, each call to which takes a second."""

    def __init__(self, patch: pytest.MonkeyPatch, family: str) -> None:
        patch.setattr(Process, "_travel_s", lambda _: 0.5)
        self.loop = SimulationLoop()
        self._world = World(Plan(family=family), self.loop)

    def run(self, doing: Coroutine[Any, Any, T]) -> T:
        try:
            return self.loop.run_until_complete(doing)
        finally:
            self.loop.close()

    async def started(self) -> BoundJob:
        to = self._world.open(self._world.process("p"))
        new = await new_job_at(to, JobOptions(mode="append"), ids=to.ids)
        driver = Driver()
        await driver.start(new.store, new.with_new_id)
        return driver.started()


async def taken(trips: Trips, *, files: int, behind: bool) -> tuple[float, float]:
    """How long a task writes files, and commits."""
    job = await trips.started()
    layout = job.layout.attempt(0, job.store.ids.attempt_id())
    output = job.committer.attempt(layout)
    writing = WriteBehind(output, job.store.budget)
    begin = trips.loop.now
    for number in range(files):
        name = job.final_name(target(f"{number}.txt"), layout)
        writer = writing.writer(name)
        if behind:
            await writing.hand_over(name, writer, DATA)
        else:
            await writer.store(DATA)
    written = trips.loop.now
    message = await commit_attempt(layout, writing, job.store, rows=None, collect="messages")
    assert message.file_count == files
    return written - begin, trips.loop.now - written


@pytest.mark.parametrize(
    ("family", "a_file", "manifest"), [("s3", 2, 1), ("minio", 4, 1), ("gcs", 1, 1), ("gen2", 2, 2)]
)
def test_a_hundred_files_take_two_batches(
    monkeypatch: pytest.MonkeyPatch, family: str, a_file: int, manifest: int
) -> None:
    """As many at once as may be on their way, then the rest; a look at the job; the manifest.

    Gen2 looks at the area before each file, and before the manifest. Without a listing of uploads
    each is recorded, and then the job is looked at.
    """
    assert FILES_BEHIND_MAX < FILES <= 2 * FILES_BEHIND_MAX
    trips = Trips(monkeypatch, family)
    writing, committing = trips.run(taken(trips, files=FILES, behind=True))
    assert (writing, committing) == (a_file, a_file + 1 + manifest)


@pytest.mark.parametrize(
    ("family", "a_file", "manifest"), [("s3", 2, 1), ("gcs", 1, 1), ("gen2", 2, 2)]
)
def test_who_waits_for_each_waits_long(
    monkeypatch: pytest.MonkeyPatch, family: str, a_file: int, manifest: int
) -> None:
    trips = Trips(monkeypatch, family)
    took = trips.run(taken(trips, files=FILES, behind=False))
    assert took == (FILES * a_file, 1 + manifest)
