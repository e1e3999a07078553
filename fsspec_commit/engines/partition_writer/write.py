"""``write_partition``: the one function that workers call."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from fsspec_commit.engines.partition_writer.directories import Directories
from fsspec_commit.engines.partition_writer.spec import WriteSpec
from fsspec_commit.engines.partition_writer.split import split
from fsspec_commit.records.job import TaskCommit
from fsspec_commit.sync.task import Task, count_rows

# Rows are split in portions: a portion of few rows per directory costs as much as one of many.
_PORTION_BYTES = 16 << 20


def write_partition(batches: Iterable[pa.RecordBatch], spec: WriteSpec, task_id: int) -> TaskCommit:
    """Write *batches* as a new attempt at task *task_id*, and commit the attempt.

    Nothing becomes visible. A stream that ends too early looks like one that is complete, and an
    engine may have given the attempt up long ago; so the message alone, once it has reached the
    driver, says that the attempt counts.

    Args:
        batches: The rows of the partition; their columns are those of the spec, in its order.
        spec: How to write them.
        task_id: The number of the partition, from 0 on. Task 0 writes a file even without
            rows, unless they are partitioned: a reader finds the schema there, as after Spark's own
            writer.

    Returns:
        The message for the driver.

    Raises:
        RequestError: A partition value cannot name a directory.
        JobNotActiveError: The job was settled meanwhile.
        CommitFailedError: The commit did not happen; run the task again.
    """
    with Task.from_spec(spec.job, task_id) as task:
        rows = 0
        with Directories(task, spec) as directories:
            for portion in _portions(batches, spec):
                rows += portion.num_rows
                for path, part in _parts(portion, spec):
                    directories.add(path, part)
            directories.finish(needs_file=task_id == 0 and not spec.partition_by)
        count_rows(task, rows)
    return task.message


def _parts(rows: pa.RecordBatch, spec: WriteSpec) -> Iterable[tuple[str, pa.RecordBatch]]:
    return split(rows, spec.partition_by) if spec.partition_by else [("", rows)]


def _portions(batches: Iterable[pa.RecordBatch], spec: WriteSpec) -> Iterator[pa.RecordBatch]:
    """The rows of *batches*, gathered if they will be split; columns are named as in the spec."""
    gathered: list[pa.RecordBatch] = []
    size_bytes = 0
    for given in batches:
        if not given.num_rows:
            continue
        batch = pa.RecordBatch.from_arrays(given.columns, names=spec.schema.names)
        if not spec.partition_by:
            yield batch
            continue
        gathered.append(batch)
        size_bytes += batch.nbytes
        if size_bytes >= _PORTION_BYTES:
            yield _together(gathered)
            gathered, size_bytes = [], 0
    if gathered:
        yield _together(gathered)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    (together,) = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return together
