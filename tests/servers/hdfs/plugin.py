"""The fixtures of the HDFS cluster, for every folder of tests: loaded by `tests/conftest.py`.

A worker of a parallel run whose tests ask for one has a cluster of its own, so that a test is free
to kill any of its three processes. By day they are few: see `tests/sharing.py`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest

from tests.servers.hdfs.cluster import HdfsCluster
from tests.servers.installation import ServerUnavailableError
from tests.servers.plugin import available_or_skip, forget_environment
from tests.servers.server_process import ServerDiedError

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTOCOLS = ("hdfs", "webhdfs")
_REPORTED_WITHIN_S = 5


@dataclass(frozen=True)
class HdfsDirectory:
    """A directory of the test's own, as one of the two clients reaches it."""

    cluster: HdfsCluster
    protocol: str
    path: str

    @property
    def url(self) -> str:
        is_web = self.protocol == "webhdfs"
        port = self.cluster.http_port if is_web else self.cluster.port
        return f"{self.protocol}://127.0.0.1:{port}{self.path}"

    def read(self, path: str) -> bytes | None:
        """A file, whichever client is the test's; ``None`` when there is none.

        The client reads nothing of a block that no DataNode has reported yet.
        """
        client = self.cluster.client
        deadline = time.monotonic() + _REPORTED_WITHIN_S
        while True:
            try:
                status, data = client.get_file_info(path), bytes(client.read(path).read())
            except FileNotFoundError:
                return None
            if len(data) == status.length or time.monotonic() > deadline:
                return data
            time.sleep(0.01)

    def write(self, path: str, data: bytes) -> None:
        """Write a file, or write it anew."""
        from hdfs_native import WriteOptions

        with self.cluster.client.create(path, WriteOptions(overwrite=True)) as file:
            file.write(data)

    @property
    def storage_options(self) -> dict[str, Any]:
        return {"user": self.cluster.user} if self.protocol == "webhdfs" else {}


class _Clusters:
    """The one cluster of this process, if it is asked for."""

    def __init__(self) -> None:
        self._cluster: HdfsCluster | None = None
        self._failed: ServerUnavailableError | ServerDiedError | None = None

    def get(self) -> HdfsCluster:
        if self._failed is not None:
            raise self._failed
        if self._cluster is None:
            try:
                self._cluster = HdfsCluster()
            except (ServerUnavailableError, ServerDiedError) as error:
                self._failed = error
                raise
        return self._cluster

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.stop()


@pytest.fixture(scope="session")
def hdfs_clusters() -> Iterator[_Clusters]:
    clusters = _Clusters()
    yield clusters
    clusters.stop()


@pytest.fixture
def hdfs_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No cluster and no user of the person who runs the tests: for child processes as well."""
    forget_environment(monkeypatch, "HADOOP_")


@pytest.fixture
def hdfs_cluster(hdfs_clusters: _Clusters, hdfs_environment: None) -> Iterator[HdfsCluster]:
    """A cluster that runs; what a test kills is started again after it.

    Where it is not installed or does not start its tests are skipped, and fail where `CI` is set.
    """
    cluster = available_or_skip(hdfs_clusters.get)
    yield cluster
    died = [one for one in cluster.processes if not one.running and not one.killed]
    logs = "\n".join(one.log for one in died)
    cluster.heal()
    if died:
        pytest.fail(f"a process of the cluster has died; its log:\n{logs}", pytrace=False)


@pytest.fixture(params=PROTOCOLS)
def hdfs_directory(request: pytest.FixtureRequest, hdfs_cluster: HdfsCluster) -> HdfsDirectory:
    """A new directory for each of the two clients in turn, or for the one that is named."""
    return HdfsDirectory(hdfs_cluster, request.param, f"/test-{token_hex(8)}/out")
