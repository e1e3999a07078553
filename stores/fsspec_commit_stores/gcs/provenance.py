"""Who has answered: the marks by which the service is known.

Each of its answers carries the id under which its front end worked on it, an answer that brings an
object's bytes names their generation, and each error of the JSON API is a document that repeats the
status; only a request for bytes fails in plain text, with the id in a header.
https://cloud.google.com/storage/docs/json_api/v1/status-codes

Another server than Google's need not send the id, but its errors are documents all the same. Where
an answer has neither, it is verified by another request, whose answer has a form of its own.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

GENERATION = "x-goog-generation"
UPLOADER = "x-guploader-uploadid"
"""The id. A resumable upload's is the secret that lets anyone finish it: never to be shown."""

_REASON = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,63}")
_TEXT_BYTES_MAX = 1 << 10


@dataclass(frozen=True, slots=True)
class Told:
    """What the service says of an error.

    Attributes:
        reason: The first error's; empty where there is none.
        message: Never to be shown: it may repeat what was sent.
    """

    reason: str
    message: str


def is_marked(headers: Mapping[str, str]) -> bool:
    """Whether the service has answered, by the headers alone, whose names are in lower case."""
    return bool(headers.get(UPLOADER) or headers.get(GENERATION))


def told_by_store(status: int, headers: Mapping[str, str], body: bytes) -> Told | None:
    """What the service says by an error; ``None`` where it is not known to have spoken."""
    found = _document(status, body)
    if found is not None or not is_marked(headers):
        return found
    return Told(reason="", message=body[:_TEXT_BYTES_MAX].decode(errors="replace"))


def _document(status: int, body: bytes) -> Told | None:
    """The error in a body, which names the status of the answer."""
    try:
        error = json.loads(body)["error"]
        message = str(error["message"])
        reasons = [str(one["reason"]) for one in error["errors"]]
        if error["code"] != status:
            return None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    reason = reasons[0] if reasons else ""
    return Told(reason if _REASON.fullmatch(reason) else "", message)
