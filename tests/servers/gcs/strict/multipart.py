"""Bodies of several parts (RFC 2046, 5.1), which clients end lines of with LF as well as CRLF."""

from __future__ import annotations

import itertools
import re
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
    delimiter = re.compile(
        rb"(?:^|\r?\n)--" + re.escape(boundary) + rb"(--)?[ \t]*(?=\r?\n|$)", re.ASCII
    )
    marks = list(delimiter.finditer(body))
    if not marks or marks[-1].group(1) is None:
        raise invalid("The multipart request does not end.")
    for mark, following in itertools.pairwise(marks):
        yield part_of(body[mark.end() : following.start()])


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
