"""Bodies of several parts (RFC 2046, 5.1), which clients end lines of with LF as well as CRLF."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.servers.gcs.strict.failures import invalid

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BOUNDARY = re.compile(r"boundary=(?:\"([^\"]+)\"|'([^']+)'|([^\s;]+))")
_LINE_END = re.compile(rb"\r?\n")
_HEADERS_END = re.compile(rb"\r?\n\r?\n")


def boundary_of(headers: Mapping[str, str]) -> bytes:
    found = _BOUNDARY.search(headers.get("content-type", ""))
    if found is None:
        raise invalid("A multipart request must name its boundary.")
    return next(text for text in found.groups() if text is not None).encode()


def parts_of(body: bytes, boundary: bytes) -> Iterator[tuple[dict[str, str], bytes]]:
    """Each part's headers, by lower-case name, and its content.

    A delimiter stands at the beginning of a line, and the line's end before it is its own.
    """
    marks = list(_delimiters(body, boundary))
    if not marks or not marks[-1].is_last:
        raise invalid("The multipart request does not end.")
    for mark, following in itertools.pairwise(marks):
        yield part_of(body[mark.end : following.begin])


@dataclass(frozen=True, slots=True)
class _Delimiter:
    begin: int
    end: int
    is_last: bool


def _delimiters(body: bytes, boundary: bytes) -> Iterator[_Delimiter]:
    # What a line begins with is looked at afterwards: an expression that does not begin with plain
    # text is tried at every byte, which for a megabyte took half of this server's time.
    delimiter = re.compile(
        re.escape(b"--" + boundary) + rb"(--)?[ \t]*(?=\r?\n|$)",
        re.ASCII,
    )
    for found in delimiter.finditer(body):
        begin = found.start()
        if begin == 0 or body.endswith(b"\n", 0, begin):
            line_end = 2 if body.endswith(b"\r\n", 0, begin) else min(begin, 1)
            yield _Delimiter(begin - line_end, found.end(), found.group(1) is not None)


def part_of(text: bytes) -> tuple[dict[str, str], bytes]:
    """Headers and content, after the line end that follows a delimiter."""
    begin = _LINE_END.match(text)
    inner = text[begin.end() :] if begin else text
    if _LINE_END.match(inner):
        return {}, inner[_LINE_END.match(inner).end() :]  # type: ignore[union-attr]
    end = _HEADERS_END.search(inner)
    head, content = (inner, b"") if end is None else (inner[: end.start()], inner[end.end() :])
    headers = {}
    for line in _LINE_END.split(head):
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    return headers, content
