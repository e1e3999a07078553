"""fsspec's client of WebHDFS, with reads that raise an error when they fail.

fsspec's own client is redirected to a DataNode for the data, and takes any answer for the file's
bytes: JSON that says that the file is gone, or a login page. A line of JSON is then a row that
nobody wrote.
"""

import errno
import os
from http import HTTPStatus
from typing import Any

from fsspec.implementations.webhdfs import WebHDFile, WebHDFS

_OCTETS = "application/octet-stream"
_MISSING = "FileNotFoundException"


class CheckedWebHDFS(WebHDFS):  # type: ignore[misc]  # it has no types
    """fsspec's filesystem of WebHDFS, with checked reads."""

    def _open(self, path: str, mode: str = "rb", block_size: int | None = None, **how: Any) -> Any:
        if mode != "rb":
            return super()._open(path, mode, block_size, **how)
        how |= {"block_size": block_size or self.blocksize, "tempdir": self.tempdir}
        how["autocommit"] = True  # Else the temporary name of a file to be written would be read.
        return _CheckedFile(self, path, mode=mode, **how)


class _CheckedFile(WebHDFile):  # type: ignore[misc]  # it has no types
    """A file open for reading, whose answers are checked."""

    def _fetch_range(self, start: int, end: int) -> bytes:
        start, length = max(start, 0), min(self.size, end) - max(start, 0)
        if length <= 0:
            return b""
        where = {"offset": start, "length": length}
        answer = self.fs._call("OPEN", path=self.path, redirect=False, **where)  # noqa: SLF001  # it has no other name
        if "Location" in answer.headers:
            address = self.fs._apply_proxy(answer.headers["Location"])  # noqa: SLF001  # as above
            answer = self.fs.session.get(address)
        return _data_of(self.path, answer, length)


def _data_of(path: str, answer: Any, length: int) -> bytes:
    """The bytes that were asked for.

    Raises:
        FileNotFoundError: The file has gone since it was opened.
        OSError: Something else was answered, or fewer bytes, as of a file that is being replaced.
    """
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if answer.status_code != HTTPStatus.OK or kind != _OCTETS:
        exception = _exception_in(answer)
        if exception == _MISSING:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        said = exception or kind or "nothing that is known"
        why = f"instead of data, HTTP {answer.status_code} was answered ({said}); read it again"
        raise OSError(errno.EIO, why, path)
    data = bytes(answer.content)
    if len(data) != length:
        why = f"{len(data)} bytes were answered, and {length} were asked for; read it again"
        raise OSError(errno.EIO, why, path)
    return data


def _exception_in(answer: Any) -> str:
    """The name of the exception in an answer of HDFS; empty if the answer holds none."""
    try:
        name = answer.json()["RemoteException"]["exception"]
    except (ValueError, KeyError, TypeError):
        return ""
    return repr(str(name)[:100])[1:-1]
