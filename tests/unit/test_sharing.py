"""Which tests of a parallel run share a cluster of HDFS."""

from __future__ import annotations

import pytest

from tests.sharing import is_on_cluster, unit_of

ON_CLUSTER = [f"tests/contract/test_hdfs.py::test_one[webhdfs-{number}]" for number in range(100)]


@pytest.mark.parametrize(
    "nodeid",
    [
        "tests/contract/test_committers.py::TestHdfsCommits::test_one[hdfs]",
        "tests/integration/test_impostors.py::TestWebHdfs::test_one",
        "tests/integration/cli/test_every_store.py::test_one[webhdfs]",
    ],
)
def test_tests_of_the_cluster_are_told_by_name(nodeid: str) -> None:
    assert is_on_cluster(nodeid)


@pytest.mark.parametrize(
    "nodeid", ["tests/unit/stores/hdfs/test_threads.py::test_one", "tests/docs/test_x.py::test_two"]
)
def test_another_test_is_a_unit_of_its_own(nodeid: str) -> None:
    assert unit_of(nodeid, workers=4) == nodeid


@pytest.mark.parametrize("place", ["spark", "dask"])
def test_all_tests_of_a_cluster_of_their_own_are_one_unit(place: str) -> None:
    assert unit_of(f"tests/{place}/test_publisher.py::test_one", workers=4) == place


@pytest.mark.parametrize(("workers", "clusters"), [(1, 1), (4, 1), (7, 1), (8, 2), (16, 4)])
def test_one_worker_of_four_has_a_cluster(workers: int, clusters: int) -> None:
    units = {unit_of(nodeid, workers=workers) for nodeid in ON_CLUSTER}
    assert len(units) == clusters
