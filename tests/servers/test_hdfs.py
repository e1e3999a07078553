"""What a test does to the HDFS cluster is met by no test after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.servers.hdfs.cluster import DATA_NODES

if TYPE_CHECKING:
    from tests.servers.hdfs.cluster import HdfsCluster


def test_a_cluster_that_has_started_has_room(hdfs_cluster: HdfsCluster) -> None:
    assert hdfs_cluster.nodes_with_room() == DATA_NODES


def test_after_it_is_healed_each_data_node_writes_at_once(hdfs_cluster: HdfsCluster) -> None:
    """Though the connection that each of them holds is to a NameNode that has died."""
    nodes = hdfs_cluster.data_nodes
    assert all(hdfs_cluster.write_through(node) for node in nodes)
    hdfs_cluster.name_node.kill()
    hdfs_cluster.heal()
    assert hdfs_cluster.nodes_with_room() == DATA_NODES
    assert [hdfs_cluster.write_through(node) for node in nodes] == [True, True]
