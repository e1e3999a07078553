"""Text and compressed files of an attempt: the layers over the bytes, and who owns them.

The layers of the standard library (``TextIOWrapper``, ``GzipFile``) would close, and so finish, a
file whose writer failed. These discard it if an exception leaves its ``with`` block, or if it is
garbage-collected.

A layer that is interrupted may lose what it holds, or keep a state that fits nothing: the standard
library takes several steps for a write, and an exception of a signal handler comes between any two.
So the file is torn by every exception but those by which a layer refuses what it is given.
"""

import io
from collections.abc import Callable
from typing import Any

from fsspec_commit.errors import RequestError
from fsspec_commit.sync.attempt_file import AttemptFile, ClosedOnSuccess
from fsspec_commit.sync.compression import compressor

# Raised for data of the wrong kind, or that the encoding lacks, before any of it is taken.
_REFUSED = (TypeError, BufferError, UnicodeError)


class _Undercoat(io.RawIOBase):
    """The file below the layers; once it is dropped, it swallows what they still flush."""

    def __init__(self, file: AttemptFile) -> None:
        super().__init__()
        self.file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        if self.file.closed:
            return data.nbytes if isinstance(data, memoryview) else len(data)
        return self.file.write(data)

    def tell(self) -> int:
        return self.file.tell()


class _Compressing(io.BufferedIOBase):
    """A compressor that counts what it is given; the text layer, or the owner, writes to it."""

    def __init__(self, layer: Any, tear: Callable[[BaseException], None]) -> None:
        super().__init__()
        self._layer = layer
        self._tear = tear
        self._position = 0
        self._is_over = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        try:
            self._layer.write(data)
            length = memoryview(data).nbytes
            self._position += length
        except _REFUSED:
            raise
        except BaseException as error:
            self._tear(error)
            raise
        return length

    def flush(self) -> None:
        if self._is_over:
            return
        try:
            self._layer.flush()
        except BaseException as error:
            self._tear(error)
            raise

    def tell(self) -> int:
        return self._position

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._layer.close()
        finally:
            self._is_over = True  # Closing flushes, and a compressor writes marks when flushed.
            super().close()


class Layers:
    """The layers over the bytes of a file, checked before a file is opened.

    Opening a file gives up the content of its name, so a wrong argument must be refused first.
    """

    def __init__(
        self,
        name: str,
        mode: str,
        encoding: str | None,
        newline: str | None,
        compression: str | None,
    ) -> None:
        """Take the arguments of :meth:`Task.open <fsspec_commit.Task.open>`.

        Raises:
            RequestError: The encoding, line end or compression is unknown.
        """
        self.mode = mode
        self._is_text = "b" not in mode
        self._encoding = encoding or "utf-8"
        self._newline = newline
        self._compressor = compressor(name, compression)
        if not self.is_bare:
            try:
                self.over(io.BytesIO(), tear=lambda _: None)
            except (LookupError, TypeError, ValueError) as error:
                message = f"cannot open {name!r} so: {error}"
                raise RequestError(message, kind="invalid_option", path=name) from error

    @property
    def is_bare(self) -> bool:
        """Whether there is no layer."""
        return not self._is_text and self._compressor is None

    def over(self, raw: Any, *, tear: Callable[[BaseException], None]) -> Any:
        """The outermost layer over *raw*; *tear* is told what a layer has failed with."""
        layer = raw if self._compressor is None else _Compressing(self._compressor(raw), tear)
        if self._is_text:
            layer = io.TextIOWrapper(layer, encoding=self._encoding, newline=self._newline)
        return layer


class LayeredFile(ClosedOnSuccess):
    """A text or compressed file of an attempt: the outermost object, which owns the layers.

    It has the interface of a writable file. Everything but closing it is done by the outer layer.
    """

    closed = True  # Until ``__init__`` ends: an object is collected even if that fails.

    def __init__(self, file: AttemptFile, layers: Layers) -> None:
        self.mode = layers.mode
        self.name = file.name
        self._file = file
        try:
            self._outer: Any = layers.over(_Undercoat(file), tear=file.tear)
        except BaseException:
            file.discard()
            raise
        self.closed = False

    def write(self, data: Any, /) -> int:
        """Append text or bytes, as the file was opened for."""
        if self.closed or self._file.closed:
            self._file.refuse_write()
        if "b" not in self.mode and not isinstance(data, str):
            kind = type(data).__name__
            message = f"{self.name!r} is open for text, and this is {kind}: open it with mode='wb'"
            raise TypeError(message)
        try:
            written: int = self._outer.write(data)
        except _REFUSED:
            raise
        except BaseException as error:
            self._file.tear(error)
            raise
        return written

    def writelines(self, lines: Any, /) -> None:
        """Append several texts or byte strings."""
        for line in lines:
            self.write(line)

    def writable(self) -> bool:
        """Files of a task are written, never read."""
        return True

    def readable(self) -> bool:
        """Files of a task are written, never read."""
        return False

    def seekable(self) -> bool:
        """Files of a task are written from front to back."""
        return False

    def seek(self, *given: Any) -> None:
        """Refuse: a file of a task is written from front to back, and never read."""
        self._file.seek(*given)

    def truncate(self, *given: Any) -> None:
        """Refuse: a file of a task is written from front to back, and never read."""
        self._file.truncate(*given)

    def read(self, *given: Any) -> None:
        """Refuse: a file of a task is written from front to back, and never read."""
        self._file.read(*given)

    def flush(self) -> None:
        """Flush the layers, as far as they can be flushed."""
        try:
            self._outer.flush()
        except BaseException as error:
            self._file.tear(error)
            raise

    def tell(self) -> int:
        """How many bytes were written, before they are compressed; text is flushed for that."""
        layer = self._outer
        if "b" not in self.mode:
            self.flush()
            layer = layer.buffer
        written: int = layer.tell()
        return written

    def close(self) -> None:
        """Close every layer, then finish the file."""
        if self.closed:
            return
        self.closed = True
        try:
            self._outer.close()
        except BaseException:
            self._file.fail()
            raise
        self._file.close()

    def discard(self) -> None:
        """Remove what was written of the file."""
        if self.closed:
            return
        self.closed = True
        self._file.discard()
        self._outer.close()

    def __del__(self) -> None:
        # Before the layers are collected, which would write what they hold.
        if not self.closed:
            self._file.abandon()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._outer, name)
