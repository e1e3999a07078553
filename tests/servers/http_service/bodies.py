"""The body of a request as it comes in: framed by its length or in chunks, and AWS's own chunks."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

_LINE_MAX = 16_384


class UnreadableError(Exception):
    """Where the request ends is not known."""


class Body:
    """Takes what comes from the network and holds the payload, in pieces.

    AWS's own chunks (``Content-Encoding: aws-chunked``, with signatures and trailers, which are
    not looked at) have the form of HTTP's, so one may be in the other.
    """

    def __init__(self, headers: Mapping[str, str]) -> None:
        """Begin with the headers of a request.

        Raises:
            UnreadableError: they do not say where the body ends.
        """
        self.pieces: list[bytes] = []
        self.size_bytes = 0
        self._framed = _Chunks() if "chunked" in headers.get("transfer-encoding", "") else None
        length = headers.get("content-length", "0")
        if not length.isdecimal():
            raise UnreadableError("Content-Length is no number")
        self._left_bytes = int(length)
        is_coded = "aws-chunked" in headers.get("content-encoding", "") or headers.get(
            "x-amz-content-sha256", ""
        ).startswith("STREAMING-")
        self._coded = _Chunks() if is_coded else None

    @property
    def is_whole(self) -> bool:
        return self._framed.ended if self._framed is not None else self._left_bytes == 0

    @property
    def md5(self) -> str:
        """Of the payload so far; only services whose etags it makes pay for it."""
        digest = hashlib.md5(usedforsecurity=False)
        for piece in self.pieces:
            digest.update(piece)
        return digest.hexdigest()

    def take(self, data: bytes) -> bytes:
        """Take what belongs to the body; answers what comes after it.

        Raises:
            UnreadableError: chunks that are none.
        """
        if self._framed is not None:
            found, rest = self._framed.take(data)
        else:
            mine = data if len(data) <= self._left_bytes else data[: self._left_bytes]
            rest = data[len(mine) :]
            self._left_bytes -= len(mine)
            found = [mine] if mine else []
        for piece in found:
            for payload in [piece] if self._coded is None else self._coded.take(piece)[0]:
                self.pieces.append(payload)
                self.size_bytes += len(payload)
        return rest


class _Chunks:
    """Chunks as HTTP/1.1 has them, and the trailer after the last one."""

    def __init__(self) -> None:
        self.ended = False
        self._line = b""
        self._left_bytes = 0  # of the chunk's data and the line break after it
        self._in_trailer = False

    def take(self, data: bytes) -> tuple[list[bytes], bytes]:
        """The payload in *data*, and what is behind the end."""
        found: list[bytes] = []
        while data and not self.ended:
            if self._left_bytes:
                payload = data[: max(0, self._left_bytes - 2)]
                if payload:
                    found.append(payload)
                taken = min(len(data), self._left_bytes)
                self._left_bytes -= taken
                data = data[taken:]
                continue
            line, ended, data = (self._line + data).partition(b"\n")
            if not ended:
                self._line = line
                if len(line) > _LINE_MAX:
                    raise UnreadableError("no chunk")
                return found, b""
            self._line = b""
            self._end_of_line(line.strip())
        return found, data

    def _end_of_line(self, line: bytes) -> None:
        if self._in_trailer:
            self.ended = not line
            return
        try:
            size_bytes = int(line.partition(b";")[0], 16)
        except ValueError as error:
            raise UnreadableError("no chunk") from error
        self._in_trailer = size_bytes == 0
        self._left_bytes = size_bytes + 2 if size_bytes else 0
