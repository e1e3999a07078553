"""Several calls in one request: https://cloud.google.com/storage/docs/batch."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING

from tests.servers.gcs.strict.failures import invalid
from tests.servers.gcs.strict.messages import Reply
from tests.servers.gcs.strict.multipart import boundary_of, part_of, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.servers.http_service import messages as wire

_CALLS_MAX = 100
_ORIGIN = re.compile(r"^https?://[^/]*")


def answer_all(
    headers: Mapping[str, str],
    body: bytes,
    answer: Callable[[str, str, Mapping[str, str], bytes], wire.Reply],
) -> Reply:
    """Each in its turn, with the outer request's authorization; 200 whatever becomes of them.

    Raises:
        Failure: the request is no batch, or has more than 100 calls.
    """
    calls = list(parts_of(body, boundary_of(headers)))
    if len(calls) > _CALLS_MAX:
        raise invalid("The batch has more than 100 calls.")
    boundary = f"batch_{secrets.token_urlsafe(12)}"
    written: list[bytes] = []
    for outer, asked in calls:
        start, _, rest = asked.lstrip(b"\r\n").partition(b"\n")
        words = start.decode("latin-1").split()
        if len(words) < len(("method", "target")):
            raise invalid("A part is no request.")
        # Of a full address only what an address of this server's own would say.
        target = _ORIGIN.sub("", words[1])
        own, content = part_of(rest)
        shared = {key: text for key, text in headers.items() if key == "authorization"}
        replied = answer(words[0], target, {**shared, **own}, content)
        lines = [f"--{boundary}", "Content-Type: application/http"]
        if "content-id" in outer:
            lines.append(f"Content-ID: <response-{outer['content-id'].strip('<>')}>")
        inner = replied.encoded(closing=False) + b"".join(replied.pieces)
        written.append("\r\n".join([*lines, "", ""]).encode() + inner + b"\r\n")
    written.append(f"--{boundary}--\r\n".encode())
    kind = f"multipart/mixed; boundary={boundary}"
    return Reply(content=b"".join(written), headers={"Content-Type": kind})
