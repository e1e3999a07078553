"""Where Arrow's dataset writer puts rows: in partition directories, and in files of one task."""

import io
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow.fs import FileSystemHandler

from fsspec_commit.errors import RequestError
from fsspec_commit.names import Target
from fsspec_commit.suggestions import value_hint
from fsspec_commit.sync.task import Task

ROOT = "destination"
"""What stands for the destination in the paths that Arrow makes."""

# Arrow writes many tiny buffers, half of them under 100 bytes, and each call into Python costs
# more than most of them. So Arrow gathers them; a larger buffer measured no faster, and a writer
# has one for each open file.
_BUFFER_BYTES = 256 << 10


def partitioning_of(
    schema: pa.Schema,
    partition_by: str | Sequence[str] | None,
    partitioning: ds.Partitioning | None,
) -> ds.Partitioning | None:
    """How rows of *schema* are split into directories.

    Raises:
        RequestError: Both arguments were given; or a column is unknown, or none would be left.
    """
    if partitioning is not None:
        if partition_by is not None:
            message = "give partition_by= or partitioning=, not both"
            raise RequestError(message, kind="invalid_option")
        if not isinstance(partitioning, ds.Partitioning):
            message = (
                f"partitioning={partitioning!r} is no pyarrow.dataset.Partitioning; for Hive "
                "directories name the columns in partition_by="
            )
            raise RequestError(message, kind="invalid_option")
        _fields(schema, partitioning.schema.names)
        _refuse_all(schema, partitioning.schema.names)
        return partitioning
    names = _names(partition_by)
    if not names:
        return None
    if len(set(map(str, names))) != len(names):
        raise RequestError(f"partition_by={names!r} names a column twice", kind="invalid_option")
    fields = _fields(schema, names)
    _refuse_all(schema, names)
    return ds.partitioning(pa.schema(fields), flavor="hive")


def check_declared(partitions: Iterable[str], partitioning: ds.Partitioning | None) -> None:
    """Refuse a partition that is to be cleared, and can be none of those that are written.

    Raises:
        RequestError: One begins with another column than Hive directories do, or with none.
    """
    if not isinstance(partitioning, ds.HivePartitioning) or not partitioning.schema.names:
        return
    column = partitioning.schema.names[0]
    for partition in partitions:
        # Arrow percent-encodes names as it does values.
        if not unquote(partition).startswith(f"{column}="):
            message = (
                f"partitions holds {partition!r}, and the directories that are written begin with "
                f"'{column}=…', as hive_path({column}=…) gives them"
            )
            raise RequestError(message, kind="invalid_option")


def _names(given: object) -> list[Any]:
    if given is None:
        return []
    if not isinstance(given, Iterable):
        message = f"partition_by={given!r} names no column: give a name, or a list of them"
        raise RequestError(message, kind="invalid_option")
    return [given] if isinstance(given, str) else list(given)


def _fields(schema: pa.Schema, names: Sequence[str]) -> list[pa.Field]:
    for name in names:
        count = schema.names.count(name)
        if count > 1:
            message = f"cannot partition by {name!r}: there are {count} columns of that name"
            raise RequestError(message, kind="unknown_column")
        if count == 0:
            there = ", ".join(map(repr, schema.names)) or "none at all"
            hint = value_hint("partition_by", name, schema.names)
            message = f"cannot partition by {name!r}: the columns of the data are {there}{hint}"
            raise RequestError(message, kind="unknown_column")
    return [schema.field(name) for name in names]


def _refuse_all(schema: pa.Schema, names: Sequence[str]) -> None:
    """Refuse files without columns: readers would find no rows in them, and rows would be lost."""
    if names and len(names) == len(schema.names):
        message = (
            f"cannot partition by every column, {', '.join(map(repr, names))}: files of no "
            "columns would hold no rows; leave one out, or add a column"
        )
        raise RequestError(message, kind="invalid_option")


class TaskFiles(FileSystemHandler):
    """A file system for Arrow, whose new files are files of a task.

    It never fails. Arrow waits for ever when a file cannot be written while its queue is full
    (so does bare pyarrow 26 on a full disk). So the first error is kept, the source of rows ends
    as if it were exhausted, and whatever Arrow writes from then on is dropped.

    Attributes:
        error: The first error.
    """

    def __init__(self, task: Task | None, stop: Callable[[], None] = lambda: None) -> None:
        """Take the task, or ``None`` to drop everything, and a function to call on an error."""
        self.error: BaseException | None = None
        self._task = task
        self._stop = stop
        self._lock = threading.Lock()
        self._stopped = task is None
        self._open: set[_TaskFile] = set()
        self._published: dict[str, Target] = {}

    def open_output_stream(self, path: str, _metadata: object) -> pa.NativeFile:
        """Open a file of the task, without a buffer: Arrow has one."""
        file = _TaskFile(self, path)
        if self._task is not None and not self._stopped:
            try:
                file.open(self._task.open(path.removeprefix(f"{ROOT}/")))
            except BaseException as error:  # noqa: BLE001  # kept, see the class
                self.fail(error)
        return pa.BufferedOutputStream(pa.PythonFile(file, mode="w"), _BUFFER_BYTES)

    def visitor(self, visit: Callable[[Any], object]) -> Callable[[Any], None]:
        """*visit*, wrapped for Arrow to call it with a file's final name; *visit* may raise."""

        def visit_published(written: Any) -> None:
            if self._stopped:
                return
            try:
                name = self._published[written.path]
                visit(type(written)(name, written.metadata, written.size))
            except BaseException as error:  # noqa: BLE001  # kept, see the class
                self.fail(error)

        return visit_published

    def fail(self, error: BaseException) -> None:
        """Keep the first error, and stop writing."""
        with self._lock:
            self.error = self.error or error
        self.discard()
        self._stop()

    def discard(self) -> None:
        """Drop whatever Arrow writes from now on."""
        with self._lock:
            self._stopped = True
            files = list(self._open)
        for file in files:
            file.discard()

    def opened(self, file: "_TaskFile") -> bool:
        """Note an open file; False if nothing may be written any more."""
        with self._lock:
            self._open.add(file)
            return not self._stopped

    def ended(self, file: "_TaskFile", published: Target | None) -> None:
        """Note that a file is closed, or discarded."""
        with self._lock:
            self._open.discard(file)
            if published is not None:
                self._published[file.path] = published

    def get_type_name(self) -> str:
        """The name by which Arrow knows this file system."""
        return "fsspec-commit"

    def normalize_path(self, path: str) -> str:
        """Leave paths as they are."""
        return path

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = FileSystemHandler.__hash__

    def _refuse(self, *_: object, **__: object) -> Any:
        raise io.UnsupportedOperation("Arrow only writes new files here")

    get_file_info = get_file_info_selector = open_input_stream = open_input_file = _refuse
    create_dir = delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    delete_file = move = copy_file = open_append_stream = _refuse


class _TaskFile:
    """One file of the task as Arrow's ``PythonFile`` uses it, on any thread."""

    def __init__(self, files: TaskFiles, path: str) -> None:
        self.path = path
        self.closed = False
        self._files = files
        self._file: Any = None
        # A file belongs to one thread at a time, and is written on one but discarded on another.
        self._lock = threading.Lock()

    def open(self, file: Any) -> None:
        self._file = file
        if not self._files.opened(self):
            self.discard()

    def write(self, data: Any) -> int:
        try:
            with self._lock:
                if self._file is not None:
                    self._file.write(data)
        except BaseException as error:  # noqa: BLE001  # kept, see TaskFiles
            name = self.path.removeprefix(f"{ROOT}/")
            if name not in str(error):
                error.add_note(f"this happened in {name!r}")
            self._files.fail(error)
        return len(data)

    def close(self) -> None:
        self.closed = True
        with self._lock:
            file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except BaseException as error:  # noqa: BLE001  # kept, see TaskFiles
            self._files.ended(self, None)
            self._files.fail(error)
        else:
            self._files.ended(self, file.finished.target)

    def discard(self) -> None:
        with self._lock:
            file, self._file = self._file, None
        if file is not None:
            self._files.ended(self, None)
            file.discard()

    def flush(self) -> None:
        """Nothing to do: a file is whole once it is closed."""
