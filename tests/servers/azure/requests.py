"""A request on the proxy in Azure's words, with the names of `operation_names.py`."""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

from tests.servers.azure.operation_names import is_dfs, operation_name
from tests.servers.http_messages import Failure, Request

if TYPE_CHECKING:
    from tests.servers.azure.operation_names import Level

_MESSAGE = "said by the proxy of the tests"
_CODES = {
    401: "InvalidAuthenticationInfo",
    403: "AuthenticationFailed",
    408: "OperationTimedOut",
    412: "ConditionNotMet",
    429: "TooManyRequests",
    503: "ServerBusy",
}


class AzureRequest(Request):
    """One to an account by path-style address: `bucket` is the container, `key` the path in it."""

    @cached_property
    def _names(self) -> list[str]:
        account, _, rest = self.path.removeprefix("/").partition("/")
        container, _, path = rest.partition("/")
        return [account, container, path]

    @property
    def bucket(self) -> str:
        return self._names[1]

    @property
    def key(self) -> str:
        return self._names[2]

    @property
    def operation(self) -> str:
        level: Level = "account"
        if self.bucket:
            level = "path" if self.key or "action" in self.query else "container"
        name = operation_name(self.method, level, self.query, self.headers)
        return name or f"{self.method} {self.path}"

    def failure(self, status: int, code: str | None) -> Failure:
        """How the endpoint that is asked says that it has failed."""
        name = code or _CODES.get(status, "InternalError")
        headers = {"x-ms-error-code": name, "x-ms-request-id": "0"}
        if "x-ms-client-request-id" in self.headers:
            headers["x-ms-client-request-id"] = self.headers["x-ms-client-request-id"]
        if is_dfs(self.query, self.headers):
            content = json.dumps({"error": {"code": name, "message": _MESSAGE}}).encode()
            return Failure(name, {**headers, "Content-Type": "application/json"}, content)
        text = (
            '<?xml version="1.0" encoding="utf-8"?>'
            f"<Error><Code>{escape(name)}</Code><Message>{_MESSAGE}</Message></Error>"
        )
        return Failure(name, {**headers, "Content-Type": "application/xml"}, text.encode())
