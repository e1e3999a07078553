"""What a job costs the NameNode, by its own count, through either client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from tests.scenes.attempts import learn
from tests.scenes.costs import directories_of, run, shapes
from tests.scenes.hdfs_places import HdfsPlace

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.servers.hdfs.plugin import HdfsDirectory

SHAPES = shapes(days=10)
every_shape = pytest.mark.parametrize("tasks", SHAPES.values(), ids=SHAPES)
RECORDS = 4  # job.json is there; claim, decision, published, and the marker that is prepared
RENAMES_PER_COMMIT = RECORDS + 2  # the marker, and the area that goes


def cost_of_commit(place: HdfsPlace, tasks: list[list[str]]) -> dict[str, int]:
    counts = place.above.cluster.counts
    before, _ = run(place.url, tasks, lambda: _when_still(counts), **place.how)
    after = _when_still(counts)
    return {name: value - before.get(name, 0) for name, value in after.items()}


def _when_still(counts: Callable[[], dict[str, int]]) -> dict[str, int]:
    """What the NameNode has counted once nothing is under way there, of an earlier test either."""
    before = counts()
    for _ in range(50):
        time.sleep(0.1)
        now = counts()
        if now["FilesRenamed"] == before["FilesRenamed"]:
            return now
        before = now
    raise AssertionError("somebody else is at work on the cluster")


@every_shape
def test_a_file_costs_one_rename_and_a_directory_is_made_once(
    hdfs_directory: HdfsDirectory, tasks: list[list[str]]
) -> None:
    place = HdfsPlace(hdfs_directory, "out")
    learn(place, "v1")
    files = sum(map(len, tasks))
    for made in (directories_of(tasks), 0):
        cost = cost_of_commit(place, tasks)
        assert files < cost["FilesRenamed"] <= files + RENAMES_PER_COMMIT, cost
        # A manifest is looked at before and after it is read.
        assert cost["FileInfoOps"] <= 4 * len(tasks) + 40, cost
        assert cost["GetListingOps"] <= 8, cost
        # Records, the epoch, the trash for the marker of before, and every directory once.
        assert cost["FilesCreated"] <= made + RECORDS + 2, cost
        assert cost["DeleteFileOps"] <= 4, cost
