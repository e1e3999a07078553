"""``write_partition``: the rows of one partition of a cluster's data, as one attempt at a task.

For engines whose workers hold a partition as a stream of Arrow batches and can send one message to
their driver, such as Spark. It depends on no engine.
"""

from fsspec_commit.engines.partition_writer.spec import WriteSpec
from fsspec_commit.engines.partition_writer.write import write_partition

__all__ = ["WriteSpec", "write_partition"]
