"""What comes in over a connection, and what goes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from tests.servers.http_service.bodies import Body

# A body as it came, never joined: an object of gigabytes is not copied.
Pieces = tuple[bytes, ...]


class Failure(Exception):  # noqa: N818  a reply like any other: a client asked for it
    """An error as S3 and Azure have it: its status, its code, and what a person may read."""

    def __init__(self, status: int, code: str, message: str = "") -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.message = message or code


@dataclass(frozen=True, slots=True)
class Received:
    """One request; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: Body


@dataclass(slots=True)
class Reply:
    """`length_bytes` is that of the body unless HEAD is answered, which has none."""

    status: int = HTTPStatus.OK
    headers: dict[str, str] = field(default_factory=dict)
    pieces: Pieces = ()
    length_bytes: int | None = None

    def encoded(self, *, closing: bool) -> bytes:
        """Status line and headers."""
        length = self.length_bytes
        if length is None:
            length = sum(map(len, self.pieces))
        lines = [f"HTTP/1.1 {self.status} {_phrase(self.status)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.status != HTTPStatus.NO_CONTENT:
            lines.append(f"Content-Length: {length}")
        if closing:
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


@lru_cache(maxsize=64)
def http_date(second: int) -> str:
    """Many objects are of one second."""
    return formatdate(second, usegmt=True)


def _phrase(status: int) -> str:
    """Of some statuses that providers use, HTTP has none."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Unknown"
