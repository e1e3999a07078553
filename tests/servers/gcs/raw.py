"""HTTP as it is, for tests of what no client would send or show."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

_ANSWER_WITHIN_S = 60


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    content: bytes

    @property
    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.content)
        return found

    @property
    def reason(self) -> str:
        """Of a failure, as its body says it."""
        [detail] = self.document["error"]["errors"]
        assert self.document["error"]["code"] == self.status
        return str(detail["reason"])


@dataclass(frozen=True)
class Raw:
    """Calls of one bucket."""

    endpoint_url: str
    bucket: str

    def call(
        self,
        method: str,
        path: str,
        body: bytes | dict[str, Any] | None = None,
        *,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        said = dict(headers or {})
        if isinstance(body, dict):
            said["Content-Type"] = "application/json"
        sent = json.dumps(body).encode() if isinstance(body, dict) else body
        address = urlsplit(self.endpoint_url)
        assert address.hostname is not None
        target = path + ("?" + urlencode(query) if query else "")
        connection = http.client.HTTPConnection(
            address.hostname, address.port, timeout=_ANSWER_WITHIN_S
        )
        try:
            connection.request(method, target, sent, said)
            reply = connection.getresponse()
            return Answer(reply.status, reply.headers, reply.read())
        finally:
            connection.close()

    def insert(
        self,
        name: str,
        content: bytes = b"",
        *,
        headers: dict[str, str] | None = None,
        **query: Any,
    ) -> Answer:
        path = f"/upload/storage/v1/b/{self.bucket}/o"
        said = {"uploadType": "media", "name": name, **query}
        return self.call("POST", path, content, headers=headers, **said)

    def object(self, method: str, name: str, **query: Any) -> Answer:
        path = f"/storage/v1/b/{self.bucket}/o/{quote(name, safe='')}"
        return self.call(method, path, **query)

    def move(self, source: str, destination: str, **query: Any) -> Answer:
        path = f"/storage/v1/b/{self.bucket}/o/{quote(source, safe='')}"
        return self.call("POST", f"{path}/moveTo/o/{quote(destination, safe='')}", **query)

    def listing(self, **query: Any) -> dict[str, Any]:
        return self.call("GET", f"/storage/v1/b/{self.bucket}/o", **query).document

    def names(self, **query: Any) -> list[str]:
        return [one["name"] for one in self.listing(**query).get("items", [])]
