"""Rows on their way into files: each directory gathers its own, and memory is bounded for all.

Unsorted rows of many directories are not sorted and not spooled: whenever too many wait, those
directories that have the most write row groups, until half of the room is free. Also bounded are
the number of open files, and what they hold for a store that takes whole parts.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

import pyarrow as pa

from fsspec_commit.engines.partition_writer.dictionaries import dictionary_columns
from fsspec_commit.engines.partition_writer.parquet_file import ParquetFile
from fsspec_commit.engines.partition_writer.spec import COMPRESSIONS, WriteSpec
from fsspec_commit.engines.partition_writer.unseen import has_required, with_unseen
from fsspec_commit.errors import CommitError
from fsspec_commit.sync.task import Task

# What a batch takes beside its values, per column and once more: if it has few rows, most of it.
_OBJECT_BYTES = 320


@dataclass(eq=False)
class _Directory:
    """One directory: rows that wait, and the file that they will go into."""

    path: str
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_bytes: int = 0
    file_count: int = 0
    file: ParquetFile | None = None


class Directories:
    """The directories of one attempt at a task; leaving its block drops files still open."""

    def __init__(self, task: Task, spec: WriteSpec) -> None:
        self._task = task
        self._spec = spec
        self._schema = spec.file_schema
        self._nested = [n for n, one in enumerate(self._schema.types) if has_required(one)]
        self._known: dict[str, _Directory] = {}
        self._open: list[_Directory] = []
        self._waiting_bytes = 0
        self._dictionaries: list[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for directory in self._open:
            if directory.file is not None:
                with suppress(CommitError, OSError):  # It is removed with the attempt.
                    directory.file.discard()

    def add(self, path: str, rows: pa.RecordBatch) -> None:
        """Take *rows* for the directory *path*, and write what has waited enough."""
        rows = self._fit(rows)
        directory = self._known.get(path)
        if directory is None:
            directory = self._known[path] = _Directory(path)
        size_bytes = rows.nbytes + _OBJECT_BYTES * (1 + rows.num_columns)
        directory.waiting.append(rows)
        directory.waiting_bytes += size_bytes
        self._waiting_bytes += size_bytes
        if directory.waiting_bytes >= self._spec.row_group_bytes:
            self._flush(directory)
        if self._waiting_bytes > self._spec.buffered_bytes:
            self._make_room()

    def _make_room(self) -> None:
        """Write the directories with the most rows, until half of the room for rows is free."""
        waiting = [one for one in self._known.values() if one.waiting]
        for directory in sorted(waiting, key=lambda one: -one.waiting_bytes):
            if self._waiting_bytes <= self._spec.buffered_bytes // 2:
                return
            self._flush(directory)

    def finish(self, *, needs_file: bool) -> None:
        """Write the rest and close every file; write an empty one if none exists and *needs_file*.

        Directories are finished one by one, so that no more files are open than before.
        """
        if needs_file and not self._known:
            self._known[""] = _Directory("", waiting=[_no_rows(self._schema)])
        for directory in sorted(self._known.values(), key=lambda one: one.file is None):
            self._flush(directory)
            self._close(directory)

    def _fit(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """*rows* with the types of the files: an engine's strings may be Arrow's large ones."""
        columns = rows.columns
        for number in self._nested:
            columns[number] = with_unseen(columns[number])
        if rows.schema.types != self._schema.types:
            columns = [
                one if one.type == of.type else one.cast(of.type)
                for one, of in zip(columns, self._schema, strict=True)
            ]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _flush(self, directory: _Directory) -> None:
        waiting, directory.waiting = directory.waiting, []
        self._waiting_bytes -= directory.waiting_bytes
        directory.waiting_bytes = 0
        most = self._spec.max_rows_per_file
        while waiting:
            file = directory.file or self._begin(directory, waiting[0])
            if most:
                taken, waiting = _first_rows(waiting, most - file.rows)
            else:
                taken, waiting = waiting, []
            file.write(taken)
            if most and file.rows >= most:
                self._close(directory)
        self._let_go()

    def _begin(self, directory: _Directory, sample: pa.RecordBatch) -> ParquetFile:
        if len(self._open) >= self._spec.max_open_files:
            self._close_fullest()
        if self._dictionaries is None:
            self._dictionaries = dictionary_columns(sample)
        ending = COMPRESSIONS[self._spec.compression]
        name = f"part-{self._task.task_id:05d}-c{directory.file_count:03d}{ending}.parquet"
        path = f"{directory.path}/{name}" if directory.path else name
        file = ParquetFile(self._task, path, self._schema, self._spec, self._dictionaries)
        directory.file = file
        directory.file_count += 1
        self._open.append(directory)
        return file

    def _let_go(self) -> None:
        """Close files while they hold too much."""
        while sum(_held(one) for one in self._open) > self._spec.held_bytes:
            self._close_fullest()

    def _close_fullest(self) -> None:
        self._close(max(self._open, key=lambda one: (_held(one), _rows(one))))

    def _close(self, directory: _Directory) -> None:
        file, directory.file = directory.file, None
        if file is not None:
            self._open.remove(directory)
            file.close()


def _held(directory: _Directory) -> int:
    return 0 if directory.file is None else directory.file.held_bytes


def _rows(directory: _Directory) -> int:
    return 0 if directory.file is None else directory.file.rows


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], one.type) for one in schema], schema=schema)


def _first_rows(
    batches: list[pa.RecordBatch], count: int
) -> tuple[list[pa.RecordBatch], list[pa.RecordBatch]]:
    """The first *count* rows of *batches*, and the rest."""
    taken: list[pa.RecordBatch] = []
    for number, batch in enumerate(batches):
        if batch.num_rows > count:
            if count:
                taken.append(batch.slice(0, count))
            return taken, [batch.slice(count), *batches[number + 1 :]]
        taken.append(batch)
        count -= batch.num_rows
    return taken, []
