"""HDFS: `hdfs://` through hdfs-native, `webhdfs://` through the REST API of the NameNode."""

from fsspec_commit_stores.hdfs.store import HdfsStore

__all__ = ["HdfsStore"]
