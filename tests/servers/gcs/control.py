"""The strict server's own side: how it is to behave, and what it has counted."""

from __future__ import annotations

import dataclasses
import http.client
import json
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from tests.servers.gcs.strict.settings import Settings
from tests.servers.http_service.connection import CONTROL
from tests.servers.slow_s3.process import Statistics

_ANSWER_WITHIN_S = 60


class Control:
    def __init__(self, endpoint_url: str) -> None:
        address = urlsplit(endpoint_url)
        assert address.hostname is not None
        self._address = (address.hostname, address.port)

    def set(self, **settings: Any) -> None:
        """Behave so from now on, and in nothing else that was asked for before: see `Settings`."""
        self._ask("PUT", "settings", dataclasses.asdict(Settings(**settings)))

    def statistics(self) -> Statistics:
        """Since the server's start; operations are named as in the API reference."""
        found = json.loads(self._ask("GET", "statistics"))
        for name in ("requests", "throttled"):
            found[name] = Counter(found[name])
        return Statistics(**found)

    def admit(self, token: str, *, account: str, denied: list[str], calls: int | None) -> None:
        known = {"token": token, "account": account, "denied": denied, "calls": calls}
        self._ask("POST", "tokens", known)

    def revoke_tokens(self) -> None:
        """All that it has given out or was told of are answered 401 from now on."""
        self._ask("DELETE", "tokens")

    def forget(self) -> None:
        """Drop every bucket with all that is in it."""
        self._ask("DELETE", "buckets")

    def _ask(self, method: str, path: str, document: object = None) -> bytes:
        body = None if document is None else json.dumps(document).encode()
        host, port = self._address
        connection = http.client.HTTPConnection(host, port, timeout=_ANSWER_WITHIN_S)
        try:
            connection.request(method, CONTROL + path, body)
            reply = connection.getresponse()
            answered = reply.read()
        finally:
            connection.close()
        if reply.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{method} {path} was answered {reply.status}")
        return answered
