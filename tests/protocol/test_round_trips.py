"""How many round trips in a row a job takes, where each call takes one and files are few."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.names import target
from fsspec_commit.protocol.attempt import commit_attempt
from tests.protocol.in_virtual_time import wrote
from tests.protocol.trips import Trips

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fsspec_commit.protocol.retire import Remove
    from fsspec_commit.records.job import Mode

UUID = "6a0d9b8e-5c0f-4a55-9f0e-0123456789ab"
OLD = (f"day=1/old-{UUID}.txt", f"day=2/old-{UUID}.txt")
FILES = ("day=1/a.txt", "day=2/b.txt")
ROUND_TRIPS: dict[tuple[str, Mode], tuple[int, int, int]] = {
    ("s3", "append"): (1, 1, 8),
    ("s3", "overwrite"): (1, 1, 9),
    ("s3", "overwrite_partitions"): (1, 1, 10),
    ("s3-versioned", "append"): (1, 1, 9),
    ("s3-versioned", "overwrite"): (1, 1, 10),
    ("minio", "append"): (1, 1, 8),
    ("gcs", "append"): (1, 1, 9),
    ("gcs", "overwrite"): (1, 1, 10),
    ("gcs", "overwrite_partitions"): (1, 1, 11),
    ("gen2", "append"): (1, 1, 9),
    ("gen2", "overwrite"): (1, 1, 10),
    ("gen2", "overwrite_partitions"): (1, 1, 11),
    ("hdfs", "append"): (3, 4, 17),
    ("hdfs", "overwrite"): (3, 4, 26),
}
"""Of a job's start, the commit of a task, and the commit of the job until its caller is told."""
NAMES = {
    "s3": "S3",
    "s3-versioned": "S3 with versions",
    "minio": "S3, where uploads are not listed",
    "gcs": "GCS",
    "gen2": "Gen2",
    "hdfs": "HDFS",
}
"""As the page about performance calls them."""
SHOWN: tuple[Mode, ...] = ("append", "overwrite", "overwrite_partitions")
PAGE = Path(__file__).parents[2] / "docs/performance.md"


async def leave(_: Remove) -> Sequence[str]:
    """Remove nothing of the area: whoever commits is not kept waiting for that."""
    return ()


async def taken(trips: Trips, mode: Mode, others: int = 0) -> tuple[int, int, int]:
    """How many a job takes that is not the first one there, beside so many open ones."""
    first = await trips.begun()
    await first.commit([await wrote(first, "first.txt")], wait_s=0)
    for _ in range(others):
        await trips.begun()
    begin = trips.taken
    driver = await trips.begun(mode=mode)
    began = trips.taken
    job = driver.started()
    layout = job.layout.attempt(0, job.store.ids.attempt_id())
    output = job.committer.attempt(layout)
    for name in FILES:
        await output.writer(job.final_name(target(name), layout)).store(name.encode())
    written = trips.taken
    message = await commit_attempt(
        layout, output, job.store, rows=None, collect="messages", kept=job.own_manifests
    )
    committed = trips.taken
    await driver.commit([message], wait_s=0, later=leave)
    return began - begin, committed - written, trips.taken - committed


@pytest.mark.parametrize(("family", "mode"), ROUND_TRIPS)
def test_a_job_takes_few(monkeypatch: pytest.MonkeyPatch, family: str, mode: Mode) -> None:
    trips = Trips(monkeypatch, family, old=OLD)
    took = trips.run(taken(trips, mode))
    asked = trips.asked(trips.taken - took[-1])
    assert took == ROUND_TRIPS[family, mode], "\n".join(asked)


@pytest.mark.parametrize(
    ("family", "most"), [("s3", 0), ("s3-versioned", 0), ("gcs", 0), ("gen2", 1), ("hdfs", 1)]
)
def test_other_jobs_take_few_more(monkeypatch: pytest.MonkeyPatch, family: str, most: int) -> None:
    """All are looked at together: 64 by one request, or as many at once as may be in flight: 64."""
    more = []
    for others in (0, 1, 64, 65):
        trips = Trips(monkeypatch, family, old=OLD)
        more.append(
            trips.run(taken(trips, "append", others))[-1] - ROUND_TRIPS[family, "append"][-1]
        )
    assert more == [0, 0, most, most]


def rows() -> Iterator[str]:
    """What the page says."""
    for family, name in NAMES.items():
        start, task, _ = ROUND_TRIPS[family, "append"]
        commits = [ROUND_TRIPS.get((family, mode), ("",))[-1] for mode in SHOWN]
        cells = " | ".join(str(one) for one in (name, start, task, *commits))
        yield f"| {cells} |".replace("|  |", "| |").replace("|  |", "| |")


@pytest.mark.checkout
def test_the_page_says_how_many() -> None:
    assert "\n".join(rows()) in PAGE.read_text("utf-8")
