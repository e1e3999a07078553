"""Dask: work of a job, spread over the workers of a cluster.

Importing it imports no Dask.
"""

from fsspec_commit.engines.dask.publisher import DaskPublisher, publisher

__all__ = ["DaskPublisher", "publisher"]
