"""One Parquet file of an attempt, written row group by row group."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from fsspec_commit.engines.partition_writer.spec import WriteSpec
from fsspec_commit.sync.part_sink import held_bytes
from fsspec_commit.sync.task import Task

# Arrow writes page by page, and a call into Python for a small page costs more than the page.
_GATHERED_BYTES = 1 << 20
_NOT_OF_ARROW = {"uncompressed": "none", "lz4_raw": "lz4"}


class ParquetFile:
    """A Parquet file that is open for writing.

    Attributes:
        rows: How many rows it has so far.
    """

    def __init__(
        self, task: Task, name: str, schema: pa.Schema, spec: WriteSpec, dictionaries: list[str]
    ) -> None:
        self.rows = 0
        self._schema = schema
        self._footer = dict(spec.footer)
        self._file = _Output(task.open(name))
        try:
            self._stream = pa.BufferedOutputStream(
                pa.PythonFile(self._file, mode="w"), _GATHERED_BYTES
            )
            self._writer = pq.ParquetWriter(
                self._stream,
                schema,
                compression=_NOT_OF_ARROW.get(spec.compression, spec.compression),
                use_dictionary=dictionaries or False,
                # Spark knows types by its own text in the footer, and the schema of Arrow would
                # have other readers make durations of Spark's intervals.
                store_schema=False,
            )
        except BaseException:
            self._file.discard()
            raise

    @property
    def held_bytes(self) -> int:
        """How much of what was written is still in memory."""
        return held_bytes(self._file.file)

    def write(self, batches: list[pa.RecordBatch]) -> None:
        """Append one row group."""
        rows = sum(batch.num_rows for batch in batches)
        table = pa.Table.from_batches(batches, self._schema)
        self._writer.write_table(table, row_group_size=max(1, rows))
        self.rows += rows

    def close(self) -> None:
        """Finish the file: from now on it is one of the task."""
        self._writer.add_key_value_metadata(self._footer)
        self._writer.close()
        self._stream.close()
        self._file.file.close()

    def discard(self) -> None:
        """Remove what was written; the footer, with which Arrow ends every file, goes nowhere."""
        self._file.discard()
        self._writer.close()


class _Output:
    """A file of the task for Arrow, which writes to it even after it was discarded."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.closed = False
        self._is_discarded = False

    def write(self, data: Any) -> int:
        if self._is_discarded:
            return len(data)
        written: int = self.file.write(data)
        return written

    def discard(self) -> None:
        self._is_discarded = True
        self.file.discard()

    def flush(self) -> None:
        """Nothing to do: a file is whole once it is closed."""

    def close(self) -> None:
        """Leave the file to its owner, which knows whether it is whole."""
        self.closed = True
