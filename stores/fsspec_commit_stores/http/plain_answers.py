"""Answers that are plainly one whole message, as stores send them to short requests.

aiohttp makes a parser, a stream and a queue for each answer, for it may be of any length and form.
An answer of a few hundred bytes mostly comes whole at once, and is parsed here as aiohttp would
parse it. Whatever is not certain to be parsed alike, or comes in pieces, aiohttp reads.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from multidict import CIMultiDict, CIMultiDictProxy

HEAD_BYTES_MAX = 8_000
"""No line of a shorter head is too long for aiohttp."""

_TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
_HEAD = re.compile(
    rb"HTTP/1\.1 ([2-5][0-9]{2}) " + _TEXT + rb"((?:\r\n[A-Za-z0-9_-]+:" + _TEXT + rb")*)\r\n\r\n"
)
# Possessive: a long run of spaces within a value is looked at once.
_VALUE = rb"[\t ]*+((?:[^\t \r]++|[\t ]++(?!\r))*+)[\t ]*+(?=\r)"
_HEADERS = re.compile(rb"\r\n([A-Za-z0-9_-]+):" + _VALUE)
_HEADERS_MAX = 100
_FRAMING = re.compile(
    rb"\r\n(connection(?!:[\t ]*keep-alive[\t ]*\r)|content-encoding|content-length|trailer"
    rb"|transfer-encoding|upgrade):" + _VALUE,
    re.IGNORECASE,
)
_LENGTH = re.compile(rb"[0-9]{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,5})\r\n")
_WITHOUT_BODY = frozenset({b"204", b"304"})


class Received(NamedTuple):
    """An answer, whole.

    Attributes:
        status: Of HTTP.
        raw_headers: As they came.
        body: As it came; nothing is decompressed.
    """

    status: int
    raw_headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    @property
    def told(self) -> dict[str, str]:
        """The headers by their names in lower case; of several by one name the last."""
        return {
            name.decode("utf-8", "surrogateescape").lower(): value.decode(
                "utf-8", "surrogateescape"
            )
            for name, value in self.raw_headers
        }

    @property
    def sets_cookies(self) -> bool:
        """Whether a header asks for cookies to be kept."""
        return any(name.lower() == b"set-cookie" for name, _ in self.raw_headers)

    @property
    def headers(self) -> CIMultiDictProxy[str]:
        """As aiohttp reads them."""
        return CIMultiDictProxy(
            CIMultiDict(
                (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
                for name, value in self.raw_headers
            )
        )


def plain_answer(data: bytes, *, is_head: bool) -> Received | None:
    """The answer that *data* is; ``None`` where aiohttp is to read it.

    Args:
        data: All that has come so far.
        is_head: Whether HEAD was asked, so that there is no body.
    """
    found = _HEAD.match(data, 0, HEAD_BYTES_MAX)
    if found is None:
        return None
    framing = [(name.lower(), value) for name, value in _FRAMING.findall(found[0])]
    rest = data[found.end() :]
    if is_head or found[1] in _WITHOUT_BODY:
        is_plain = _is_length(framing) if is_head else not framing
        body = b"" if is_plain and not rest else None
    else:
        body = _body_in(rest, framing)
    headers = _HEADERS.findall(found[0])
    if body is None or len(headers) > _HEADERS_MAX:
        return None
    return Received(int(found[1]), tuple(headers), body)


def _body_in(data: bytes, framing: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The body, if *data* is just that according to *framing*; ``None`` where it is not certain."""
    if _is_length(framing):
        return data if int(framing[0][1]) == len(data) else None
    is_chunked = framing == [(b"transfer-encoding", b"chunked")]
    return _joined(data) if is_chunked else None


def _is_length(framing: Sequence[tuple[bytes, bytes]]) -> bool:
    """Whether *framing* says the length of the body and nothing else."""
    if len(framing) != 1:
        return False
    [(name, value)] = framing
    return name == b"content-length" and _LENGTH.fullmatch(value) is not None


def _joined(data: bytes) -> bytes | None:
    """The body, if *data* is all of its chunks, without a trailer."""
    chunks, at = list[bytes](), 0
    while (found := _CHUNK.match(data, at)) is not None:
        at = found.end() + int(found[1], 16)
        if data[at : at + 2] != b"\r\n":
            return None
        chunks.append(data[found.end() : at])
        at += 2
        if not chunks[-1]:
            return b"".join(chunks) if len(data) == at else None
    return None
