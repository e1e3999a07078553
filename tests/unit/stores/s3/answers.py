"""Answers as S3 writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tests.unit.stores.responder import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = {"x-amz-request-id": "4442587FB7D0A2F9"}
"""What S3 puts into every answer, and nobody else does."""


def error(status: int, code: str, headers: Mapping[str, str] | None = None, **more: str) -> Answer:
    """An error as S3 writes it."""
    told = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in more.items())
    body = f"<Error><Code>{code}</Code><Message>said so</Message>{told}</Error>"
    return Answer(status, body.encode(), headers or {})


def xml(name: str, *children: str, status: int = 200) -> Answer:
    """An answer with a document."""
    return Answer(status, f"<{name}>{''.join(children)}</{name}>".encode())


def tag(name: str, text: object) -> str:
    return f"<{name}>{escape(str(text))}</{name}>"


def session() -> Answer:
    """The keys by which a directory bucket is used."""
    end = tag("Expiration", "2199-01-01T00:00:00Z")
    keys = (tag(name, "k") for name in ("AccessKeyId", "SecretAccessKey", "SessionToken"))
    return xml("CreateSessionResult", f"<Credentials>{''.join(keys)}{end}</Credentials>")
