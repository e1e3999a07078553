"""Who runs what in a parallel run: tests of HDFS, of Spark and of Dask go to few workers.

A cluster is three JVMs. To start one takes eight seconds of a core, to warm it up some more, and
its heartbeats take twenty in a run of a quarter of an hour. So by day one worker of four runs all
its tests, first and one after the other. By night they take too long for that. A Spark session is
a JVM that takes ten seconds until it is warm: by day one worker runs its tests. A cluster of Dask
takes a few, and its tests are run by one worker, too.

A scheduler knows tests by name alone. A test of the cluster that none could tell stops the run.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

BY_DAY = "not slow"
WORKERS_PER_CLUSTER = 4
_CLUSTER = "hdfs_clusters"
_ON_CLUSTER = re.compile(r"hdfs", re.IGNORECASE)
_WITHOUT = "tests/unit/"
_SHARED = {"spark": "tests/spark/", "dask": "tests/dask/"}


def is_on_cluster(nodeid: str) -> bool:
    """Whether a test needs the cluster, as far as its name says."""
    return not nodeid.startswith(_WITHOUT) and _ON_CLUSTER.search(nodeid) is not None


def unit_of(nodeid: str, *, workers: int) -> str:
    """What is given to a worker at once: a test, all of one cluster, all of Spark or of Dask."""
    if not is_on_cluster(nodeid):
        return next((name for name, place in _SHARED.items() if nodeid.startswith(place)), nodeid)
    clusters = max(1, workers // WORKERS_PER_CLUSTER)
    return f"cluster {crc32(nodeid.encode()) % clusters}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Ours by day, else the usual one."""
    if config.getoption("dist") != "load" or config.getoption("markexpr") != BY_DAY:
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
        """Larger units first, then test by test in the order of the collection."""

        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid, workers=self.numnodes)

        def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
            """Forget what is done: the usual one counts through all of it after each test."""
            nodeid = self.registered_collections[node][item_index]
            units = self.assigned_work[node]
            name = self._split_scope(nodeid)
            del units[name][nodeid]
            if not units[name]:
                del units[name]
            self._reschedule(node)

    return Scheduling(config, log)


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    unknown = [
        item.nodeid
        for item in items
        if _CLUSTER in getattr(item, "fixturenames", ()) and not is_on_cluster(item.nodeid)
    ]
    if unknown:
        names = ", ".join(unknown[:3])
        raise pytest.UsageError(f"tests of the HDFS cluster, whose names do not say so: {names}")
