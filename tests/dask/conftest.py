"""A real cluster of Dask: two worker processes of one thread each, for the tests of one file.

Its scheduler runs in this process, allocates memory and opens files of ``/proc`` all the time:
beside tests that count these, it must be gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask
import pytest
from distributed import Client, LocalCluster

import fsspec_commit as fc
from tests.dask.on_workers import FILES_PER_TASK

if TYPE_CHECKING:
    from collections.abc import Iterator

QUIET: dict[str, Any] = {
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "worker_dashboard_address": "127.0.0.1:0",
    "silence_logs": False,
}


@pytest.fixture(scope="module", autouse=True)
def _own_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Workers and schedulers leave a folder of theirs behind."""
    own = {
        "temporary-directory": str(tmp_path_factory.mktemp("dask")),
        # A worker that dies this long after another did is not started again.
        "distributed.deploy.lost-worker-timeout": "1h",
    }
    with dask.config.set(own):
        yield


@pytest.fixture(scope="module")
def cluster(_own_place: None) -> Iterator[LocalCluster]:
    # Without a limit nobody looks at their memory, of which nothing here takes any.
    with LocalCluster(n_workers=2, threads_per_worker=1, memory_limit=0, **QUIET) as cluster:
        yield cluster


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    """Two workers, whatever became of those of the test before."""
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture(autouse=True)
def _slices_of_few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fsspec_commit.sync.spreading.FILES_MIN", FILES_PER_TASK)


@pytest.fixture
def publisher(client: Client) -> fc.Publisher:
    return fc.dask.publisher(client)
