"""What answers say in the headers and statuses that HTTP itself defines."""

import errno
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

_SPAN = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_REQUEST_ID = re.compile(r"[A-Za-z0-9-]{1,64}")

ANOTHER_PART = "the store answered with another part than was asked"
UNMEASURED = "nothing says how long the answer is, so it may have been cut off"
"""Why such answers are not believed: one half of a sentence."""
FRAMING = frozenset({"content-length", "transfer-encoding"})
"""Headers that say where a body ends; without one it ends where the connection does."""
NUMBERS_OF_STATUSES: Mapping[int, int] = {
    HTTPStatus.UNAUTHORIZED: errno.EACCES,
    HTTPStatus.FORBIDDEN: errno.EACCES,
    HTTPStatus.NOT_FOUND: errno.ENOENT,
    HTTPStatus.PRECONDITION_FAILED: errno.EEXIST,
}
"""The ``errno`` a system call would have given, where the error's code does not say more."""


def is_overload_by(status: int) -> bool:
    """Whether a status says that whoever has answered has too much to do.

    A server that fails, or a proxy with none behind it, does so mostly when too much is asked; what
    was done by then is another question.
    """
    is_failure = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return status == HTTPStatus.TOO_MANY_REQUESTS or (
        is_failure and status != HTTPStatus.NOT_IMPLEMENTED
    )


def retry_after_s_in(headers: Mapping[str, str]) -> float | None:
    """How long to leave the store alone: seconds, or a date compared with that of the answer.

    Both dates are by the store's clock, so that ours does not matter.
    """
    wanted = headers.get("retry-after", "").strip()
    if wanted.isdecimal():
        return float(wanted)
    until, now = time_of(wanted), time_of(headers.get("date", ""))
    return None if until is None or now is None else max(0.0, (until - now).total_seconds())


def time_of(text: str) -> datetime | None:
    """A time as headers write it; ``None`` if *text* is not one."""
    try:
        time = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def is_span(content_range: str, size_bytes: int, *, start: int, length: int) -> bool:
    """Whether a part of *size_bytes* is what was asked for, cut short by the file's end alone."""
    found = _SPAN.fullmatch(content_range)
    if found is None:
        return False
    first, last, total = map(int, found.groups())
    end = min(start + length, total)
    return first == start and last + 1 == end and size_bytes == end - start


def shown_request_id(request_id: str) -> str:
    """The end of a message by which the store's operator finds the request; or nothing."""
    return f" (request {request_id})" if _REQUEST_ID.fullmatch(request_id) else ""
