"""What goes between the connection and the operations: a request, a reply, a failure."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from urllib.parse import unquote
from xml.sax.saxutils import escape

from tests.servers.http_service.messages import Failure, Pieces, Reply, parsed_query
from tests.servers.s3_operations import operation_name

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"


@dataclass
class Request:
    """One request; header names are in lower case, the body is decoded."""

    method: str
    target: str
    headers: dict[str, str]
    pieces: Pieces = ()
    size_bytes: int = 0
    md5: str = ""
    bucket: str = field(init=False)
    key: str = field(init=False)
    query: dict[str, str] = field(init=False)
    operation: str = field(init=False)

    def __post_init__(self) -> None:
        path, _, query = self.target.partition("?")
        self.bucket, _, self.key = unquote(path).removeprefix("/").partition("/")
        self.query = parsed_query(query)
        found = operation_name(self.method, self.bucket, self.key, self.query, self.headers)
        self.operation = found or "NotImplemented"

    @cached_property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def number(self, name: str, *, default: int) -> int:
        """A number of the query.

        Raises:
            Failure: it is none.
        """
        text = self.query.get(name) or str(default)
        if not text.isdecimal():
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidArgument", name)
        return int(text)


def document(root: str, content: str) -> Reply:
    """A reply in XML; `content` is escaped already."""
    text = f'<?xml version="1.0" encoding="UTF-8"?>\n<{root} xmlns="{NAMESPACE}">{content}</{root}>'
    return Reply(headers={"Content-Type": "application/xml"}, pieces=(text.encode(),))


def refusal(failure: Failure, request: Request) -> Reply:
    """The reply that says why not."""
    headers = {"Content-Type": "application/xml", "x-amz-request-id": "0"}
    if request.method == "HEAD":
        return Reply(failure.status, headers)
    if failure.status == HTTPStatus.NOT_MODIFIED:
        return Reply(failure.status)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{failure.code}</Code><Message>{escape(failure.message)}</Message>"
        f"<Resource>{escape(request.target)}</Resource><RequestId>0</RequestId></Error>"
    )
    return Reply(failure.status, headers, (text.encode(),))
