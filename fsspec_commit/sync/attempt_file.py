"""The file objects of one attempt: closing one finishes it, anything else discards it.

An object that is garbage-collected only reports itself: ``__del__`` may run on any thread, in the
middle of any call, where waiting for the loop or for a lock could be a deadlock.
"""

import errno
import io
import os
import re
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, Protocol, Self

from fsspec_commit.committers import NewFile
from fsspec_commit.committers.write_behind import DroppedError
from fsspec_commit.errors import RequestError, StoreError
from fsspec_commit.names import Target, target
from fsspec_commit.spec import not_from_here
from fsspec_commit.store import DirectWriter
from fsspec_commit.sync.attempt_names import AttemptNames
from fsspec_commit.sync.unsupported import unsupported

_PREFIX = re.compile(r"^commit-[0-9a-f]{16}://")


def given_name(path: "str | os.PathLike[str]") -> Target:
    """The name of a file, from a path of the attempt's filesystem.

    Raises:
        RequestError: The path leaves the destination, is reserved for this library, or is not a
            ``str``.
    """
    return target(bare_path(path))


def bare_path(path: object) -> str:
    """A path without the filesystem's protocol, ``./`` and trailing slashes.

    Raises:
        RequestError: The path is not a ``str``.
    """
    text = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(text, str):
        message = f"a file is named by a text relative to the destination, not by {text!r}"
        raise RequestError(message, kind="invalid_name")
    bare = _PREFIX.sub("", text)
    while bare.startswith("./"):
        bare = bare[2:].lstrip("/")
    return "" if bare == "." else bare.rstrip("/") if bare != "/" else bare


def check_mode(mode: object, name: str) -> None:
    """Refuse every mode but those that write a new file.

    Raises:
        RequestError: The mode is invalid.
        io.UnsupportedOperation: The file would be read, appended to, or changed in place.
    """
    if not isinstance(mode, str) or not set(mode) <= set("abrtwx+U"):
        message = f"mode={mode!r} is none of a file: 'w' and 'x' for text, 'wb' and 'xb' for bytes"
        raise RequestError(message, kind="invalid_option")
    if mode not in {"w", "x", "wt", "xt", "wb", "xb"}:
        raise unsupported(f"mode {mode!r}", name)


class _Discardable(Protocol):
    def close(self) -> None: ...

    def discard(self) -> None: ...


class ClosedOnSuccess:
    """A file whose ``with`` block closes it, or discards it after an exception."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self: _Discardable,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()


class AttemptFile(ClosedOnSuccess, io.BufferedIOBase):
    """A binary file of an attempt: write, then close; ``tell`` works, ``seek`` does not.

    Attributes:
        finished: The name it will be published under; known once it is closed.
        thread_id: The thread that has opened it, and may be writing it.
    """

    _over = True  # Until ``__init__`` ends: an object is collected even if that fails.

    def __init__(
        self,
        name: Target,
        sink: DirectWriter[NewFile],
        *,
        names: AttemptNames,
        leave: Callable[[DirectWriter[NewFile]], None],
        explain: Callable[[StoreError | DroppedError, str], None],
    ) -> None:
        super().__init__()
        self.name = name
        self.mode = "wb"
        self.finished: NewFile | None = None
        self.thread_id = threading.get_ident()
        self._sink = sink
        self._names = names
        self._leave = leave
        self._explain = explain
        self._position = 0
        self._torn_by: int | None = None
        self._over = False
        self._is_parents = False

    def writable(self) -> bool:
        """Files of a task are written, never read."""
        return not self.closed

    def tell(self) -> int:
        """How many bytes were written."""
        return self._position

    def seek(self, *_: Any) -> NoReturn:
        """Refuse: written bytes may be on the store already."""
        raise unsupported("seek", self.name)

    def truncate(self, *_: Any) -> NoReturn:
        """Refuse: written bytes may be on the store already."""
        raise unsupported("truncate", self.name)

    def fileno(self) -> NoReturn:
        """Refuse: bytes written to a descriptor would bypass this object and its upload."""
        raise unsupported("fileno", self.name)

    def read(self, *_: Any) -> NoReturn:
        """Refuse: files of a task are written, never read."""
        raise unsupported("read", self.name)

    readinto = readinto1 = read1 = read

    def write(self, data: Any, /) -> int:
        """Append bytes; once that has failed, the file can only be written anew."""
        if self._over:
            self.refuse_write()
        length = len(data) if isinstance(data, bytes) else self._length(data)
        try:
            self._sink.write(data)
        except (TypeError, BufferError):
            raise  # It is not bytes, and none of it was taken.
        except BaseException as error:
            self.tear(error)
            if isinstance(error, OSError) and not isinstance(error, StoreError):
                # The system does not say which file was being written when the disk was full.
                error.filename = error.filename or self.name
            raise
        self._position += length
        return length

    def tear(self, error: BaseException) -> None:
        """Note that a write ended in *error*, and nobody knows how much of it was taken."""
        if self._torn_by is None:
            # Keep the number only: the error references the file.
            self._torn_by = getattr(error, "errno", None) or errno.EIO

    def _length(self, data: Any) -> int:
        if isinstance(data, str):
            message = f"{self.name!r} is open for bytes, and this is text: open it with mode='w'"
            raise TypeError(message)
        try:
            return memoryview(data).nbytes
        except TypeError:
            message = f"cannot write {type(data).__name__} to {self.name!r}: bytes are wanted"
            raise TypeError(message) from None

    def refuse_write(self) -> NoReturn:
        """Say why nothing more can be written."""
        if self._is_parents:
            why = "was opened before fork and belongs to the parent process"
            raise RuntimeError(not_from_here(repr(str(self.name)), why))
        raise ValueError(f"write to closed file {self.name!r}")

    def close(self) -> None:
        """Finish the file; it becomes part of what the task commits.

        Raises:
            OSError: The file is not whole; raised even if the error of a write was ignored.
        """
        if self._over:
            return
        if self._torn_by is not None:
            self.fail()
            why = f"{os.strerror(self._torn_by)}; a write to it failed, so it is not whole"
            raise OSError(self._torn_by, why, self.name)
        self._over = True
        try:
            finished = self._sink.finish()
        except BaseException as error:
            self._drop(self._names.fail)
            if isinstance(error, StoreError | DroppedError):
                self._explain(error, self.name)
            raise
        self.finished = finished
        self._names.finish(self.name, finished.target)
        super().close()

    def discard(self) -> None:
        """Remove what was written of the file."""
        if not self._over:
            self._drop(self._names.discard)

    def fail(self) -> None:
        """Discard the file: it could not be written, or a layer above it could not be closed."""
        if not self._over:
            self._drop(self._names.fail)

    def abandon(self) -> None:
        """Leave discarding the file to the task; never waits."""
        if not self._over:
            self._over = True
            self._names.abandon(self.name)
            self._leave(self._sink)
            super().close()

    def leave_to_parent(self) -> None:
        """Take part in nothing more: in a forked child, the file belongs to the parent."""
        if not self._over:
            self._over = self._is_parents = True
            super().close()

    def _drop(self, tell: Callable[[str], None]) -> None:
        self._over = True
        try:
            self._sink.discard()
        finally:
            tell(self.name)
            super().close()

    def __del__(self) -> None:
        # Nobody will ever close it: that is how a writer that failed leaves its file behind, and
        # how one that forgets to close loses it. The task cannot tell which, so it does not commit.
        if not self._over:
            self.abandon()
