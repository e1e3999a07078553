"""How many round trips in a row a task of many small files takes, where each call takes one."""

from __future__ import annotations

import pytest

from fsspec_commit.committers.write_behind import WriteBehind
from fsspec_commit.effects.budget import FILES_BEHIND_MAX
from fsspec_commit.names import target
from fsspec_commit.protocol.attempt import commit_attempt
from tests.protocol.trips import Trips

FILES = 100
DATA = b"x" * 1000


async def taken(trips: Trips, *, files: int, behind: bool) -> tuple[int, int]:
    """How long a task writes files, and commits."""
    job = await trips.started()
    layout = job.layout.attempt(0, job.store.ids.attempt_id())
    output = job.committer.attempt(layout)
    writing = WriteBehind(output, job.store.budget)
    begin = trips.taken
    for number in range(files):
        name = job.final_name(target(f"{number}.txt"), layout)
        writer = writing.writer(name)
        if behind:
            await writing.hand_over(name, writer, DATA)
        else:
            await writer.store(DATA)
    written = trips.taken
    message = await commit_attempt(layout, writing, job.store, rows=None, collect="messages")
    assert message.file_count == files
    return written - begin, trips.taken - written


@pytest.mark.parametrize(("family", "a_file"), [("s3", 2), ("minio", 4), ("gcs", 1), ("gen2", 1)])
def test_a_hundred_files_take_two_batches(
    monkeypatch: pytest.MonkeyPatch, family: str, a_file: int
) -> None:
    """As many at once as may be on their way, then the rest; the manifest and a look at the job.

    Without a listing of uploads each is recorded, and then the job is looked at.
    """
    assert FILES_BEHIND_MAX < FILES <= 2 * FILES_BEHIND_MAX
    trips = Trips(monkeypatch, family)
    writing, committing = trips.run(taken(trips, files=FILES, behind=True))
    assert (writing, committing) == (a_file, a_file + 1)


@pytest.mark.parametrize(("family", "a_file"), [("s3", 2), ("gcs", 1), ("gen2", 1)])
def test_who_waits_for_each_waits_long(
    monkeypatch: pytest.MonkeyPatch, family: str, a_file: int
) -> None:
    trips = Trips(monkeypatch, family)
    took = trips.run(taken(trips, files=FILES, behind=False))
    assert took == (FILES * a_file, 1)
