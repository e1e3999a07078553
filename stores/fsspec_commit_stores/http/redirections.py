"""Answers that send a request elsewhere, which nobody follows.

To follow one would send all of the request again, to a host that the user never named: the content,
a session token, the key that it is to be encrypted with. And whoever answers there may say that a
file is written. A redirection may also come from somebody on the way, after the store has done what
was asked of it; so it says nothing about what was done.
"""

import re
from http import HTTPStatus
from urllib.parse import urlsplit

_HOST = re.compile(r"[A-Za-z0-9._:-]{1,253}")


def is_redirection(status: int) -> bool:
    """Whether a status sends the client elsewhere."""
    return HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST


def origin_of(location: str) -> str:
    """Scheme, host and port of a ``Location``; empty where it names none.

    The rest stays out of messages: a query may be signed, and a path may be an upload's address.
    """
    try:
        parts = urlsplit(location)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return ""
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or _HOST.fullmatch(host) is None:
        return ""
    return f"{parts.scheme}://[{host}]{port}" if ":" in host else f"{parts.scheme}://{host}{port}"


def why_redirected(status: int, origin: str) -> str:
    """What to say of such an answer, and where it pointed: one half of a sentence."""
    where = f" to {origin}" if origin else ""
    return f"it was answered by a redirection{where} (HTTP {status}), which is not followed"
