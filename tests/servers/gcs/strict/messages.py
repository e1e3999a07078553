"""One call and its reply, in the words of the JSON API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from tests.servers.gcs.strict.access import Account
from tests.servers.gcs.strict.failures import invalid, invalid_parameter
from tests.servers.http_service import messages as wire


@dataclass(frozen=True)
class Call:
    """What a client asks.

    Attributes:
        path: the decoded parts of the address that the operation names: `bucket`, `object`.
        headers: by lower-case name.
        host: scheme and authority by which the client came, for the addresses in replies.
        account: who calls; None: the address itself is what authorizes the call.
    """

    operation: str
    path: Mapping[str, str]
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    host: str
    account: Account | None

    @property
    def bucket(self) -> str:
        return self.path["bucket"]

    @property
    def name(self) -> str:
        return self.path["object"]

    def number(self, parameter: str) -> int | None:
        """A parameter of type long; None: it was not given."""
        text = self.query.get(parameter)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise invalid_parameter(parameter) from None

    def flag(self, parameter: str) -> bool:
        text = self.query.get(parameter, "false")
        if text not in {"true", "false"}:
            raise invalid_parameter(parameter)
        return text == "true"

    @property
    def document(self) -> dict[str, Any]:
        return parsed(self.body)


def parsed(content: bytes) -> dict[str, Any]:
    """A JSON object; nothing is an empty one."""
    if not content.strip():
        return {}
    try:
        found = json.loads(content)
    except ValueError:
        raise invalid("Parse Error") from None
    if not isinstance(found, dict):
        raise invalid("Parse Error")
    return found


@dataclass(frozen=True)
class Reply:
    """`document` is answered as JSON, unless there is `content`."""

    status: int = HTTPStatus.OK
    document: Mapping[str, Any] | None = None
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def encoded(self) -> wire.Reply:
        if self.document is None:
            return wire.Reply(self.status, dict(self.headers), (self.content,))
        written = json.dumps(self.document, ensure_ascii=False, separators=(",", ":")).encode()
        headers = {"Content-Type": "application/json; charset=UTF-8", **self.headers}
        return wire.Reply(self.status, headers, (written,))
