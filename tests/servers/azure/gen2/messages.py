"""What goes between the connection and the operations: a request, a reply, a failure."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
import time
from dataclasses import dataclass, field
from functools import cached_property
from http import HTTPStatus
from urllib.parse import unquote
from xml.sax.saxutils import escape

from tests.servers.azure.operation_names import Level, is_dfs, method_of, operation_name
from tests.servers.http_service.messages import Failure, Reply, http_date, parsed_query

_HOST = re.compile(r"([a-z0-9]+)\.(?:blob|dfs)\.core\.windows\.net(?::[0-9]+)?")
# What both endpoints answer in, whatever version a client asks for.
_NO_CONTENT_TYPE = frozenset({HTTPStatus.NOT_MODIFIED, HTTPStatus.NO_CONTENT})


@dataclass
class Request:
    """One request to an account: ``/account/container/path``, or by the account's own host.

    Header names are in lower case. `path` has no slash at its end; the root's is empty.
    """

    wire_method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""
    account: str = field(init=False)
    container: str = field(init=False)
    path: str = field(init=False)
    level: Level = field(init=False)
    query: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        place, _, query = self.target.partition("?")
        rest = unquote(place).removeprefix("/")
        named = _HOST.fullmatch(self.headers.get("host", ""))
        if named is None:
            self.account, _, rest = rest.partition("/")
        else:
            self.account = named[1]
        self.container, slash, path = rest.partition("/")
        self.path = path.rstrip("/")
        self.query = parsed_query(query)
        self.level = "account"
        if self.container:
            # `/container/` with an action is the root directory, which is a path like any other.
            is_root = bool(slash) and "action" in self.query
            self.level = "path" if self.path or is_root else "container"

    @cached_property
    def method(self) -> str:
        return method_of(self.wire_method, self.headers)

    @cached_property
    def on_dfs(self) -> bool:
        return is_dfs(self.query, self.headers)

    @cached_property
    def operation(self) -> str | None:
        return operation_name(self.wire_method, self.level, self.query, self.headers)

    @cached_property
    def content_md5(self) -> str:
        """Of the body, as headers say it."""
        digest = hashlib.md5(self.body, usedforsecurity=False).digest()
        return base64.b64encode(digest).decode()

    @property
    def raw_path(self) -> str:
        return self.target.partition("?")[0]

    def number(self, name: str, *, default: int | None = None) -> int:
        """A number of the query.

        Raises:
            Failure: it is none, or is missing and has no default.
        """
        text = self.query.get(name)
        if text is None and default is not None:
            return default
        if text is None:
            raise Failure(HTTPStatus.BAD_REQUEST, "MissingRequiredQueryParameter", name)
        if not text.isdecimal():
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidQueryParameterValue", name)
        return int(text)

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() == "true"


def common_headers(request: Request) -> dict[str, str]:
    """On every reply: https://learn.microsoft.com/rest/api/storageservices/put-blob#response-headers."""
    found = {
        "Server": "Windows-Azure-HDFS/1.0" if request.on_dfs else "Windows-Azure-Blob/1.0",
        "Date": http_date(int(time.time())),
        "x-ms-request-id": secrets.token_hex(8),
        "x-ms-version": request.headers.get("x-ms-version", "2021-06-08"),
    }
    if "x-ms-client-request-id" in request.headers:
        found["x-ms-client-request-id"] = request.headers["x-ms-client-request-id"]
    return found


def document(content: str, status: int = HTTPStatus.OK) -> Reply:
    """A reply in XML; `content` is escaped already."""
    text = f'<?xml version="1.0" encoding="utf-8"?>{content}'
    return Reply(status, {"Content-Type": "application/xml"}, (text.encode(),))


def refusal(failure: Failure, request: Request) -> Reply:
    """Why not, as each endpoint says it: always in a header, and in the body unless HEAD asked.

    https://learn.microsoft.com/rest/api/storageservices/status-and-error-codes2
    """
    headers = {"x-ms-error-code": failure.code, **failure.headers}
    if failure.status in _NO_CONTENT_TYPE:
        return Reply(failure.status, headers)
    if request.on_dfs:
        headers["Content-Type"] = "application/json;charset=utf-8"
        error = {"code": failure.code, "message": failure.message}
        content = json.dumps({"error": error}).encode()
    else:
        headers["Content-Type"] = "application/xml"
        content = (
            '<?xml version="1.0" encoding="utf-8"?>'
            f"<Error><Code>{failure.code}</Code><Message>{escape(failure.message)}</Message></Error>"
        ).encode()
    if request.wire_method == "HEAD":
        return Reply(failure.status, headers)
    return Reply(failure.status, headers, (content,))
