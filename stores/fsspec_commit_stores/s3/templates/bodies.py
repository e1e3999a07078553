"""What requests carry, as botocore writes it."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

_BEGINNING = '<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
_END = "</CompleteMultipartUpload>"
# What stands in an XML document without being escaped.
_PLAIN = re.compile("[!-%'-;=?-~]+")


def body_of(parameters: Mapping[str, Any]) -> bytes | None:
    """The body of the request with *parameters*; ``None`` where botocore knows better."""
    upload = parameters.get("MultipartUpload")
    body: bytes | None = (
        parameters.get("Body", b"") if upload is None else _completed(upload["Parts"])
    )
    return body


def _completed(parts: Iterable[Mapping[str, Any]]) -> bytes | None:
    text = [_BEGINNING]
    for part in parts:
        text.append("<Part>")
        for name, value in part.items():
            told = str(value)
            if _PLAIN.fullmatch(told) is None:
                return None
            text.append(f"<{name}>{told}</{name}>")
        text.append("</Part>")
    if len(text) == 1:
        return None
    text.append(_END)
    return "".join(text).encode()
