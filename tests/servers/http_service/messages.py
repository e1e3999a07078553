"""What comes in over a connection, and what goes back."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from urllib.parse import unquote_plus
from xml.etree import ElementTree as ET

from tests.servers.http_service.bodies import Body

# A body as it came, never joined: an object of gigabytes is not copied.
Pieces = tuple[bytes, ...]
RANGE = re.compile(r"bytes=(\d*)-(\d*)")


class Failure(Exception):  # noqa: N818  a reply like any other: a client asked for it
    """An error as S3 and Azure have it: its status, its code, and what a person may read."""

    def __init__(
        self, status: int, code: str, message: str = "", headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.message = message or code
        self.headers = headers or {}


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


def parsed_query(text: str) -> dict[str, str]:
    """Of a repeated parameter the last."""
    pairs = (pair.partition("=") for pair in text.split("&")) if text else ()
    return {unquote_plus(name): unquote_plus(value) for name, _, value in pairs}


def parsed_xml(body: bytes, code: str) -> ET.Element:
    """Raises: Failure: it is none, with this code."""
    try:
        return ET.fromstring(body)
    except ET.ParseError as error:
        raise Failure(HTTPStatus.BAD_REQUEST, code, str(error)) from error


def bounds(asked: re.Match[str], size_bytes: int) -> tuple[int, int] | None:
    """Where a `RANGE` begins and ends, as a slice has it; None: nothing of it is there."""
    first, last = asked.groups()
    if first:
        begin, end = int(first), min(size_bytes, int(last) + 1 if last else size_bytes)
    else:
        begin, end = max(0, size_bytes - int(last or 0)), size_bytes
    return (begin, end) if begin < end else None


def names_etag(condition: str, etag: str) -> bool:
    """Whether a condition, of etags or of any, is about this one."""
    return condition == "*" or etag in {one.strip().strip('"') for one in condition.split(",")}


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
