"""The service behind the connections."""

from __future__ import annotations

import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tests.servers.azure.gen2.messages import Request, refusal
from tests.servers.azure.gen2.service import Settings
from tests.servers.http_service.endpoint import Endpoint
from tests.servers.http_service.messages import Failure, http_date

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.azure.gen2.service import Service
    from tests.servers.http_service.messages import Received, Reply


class Gen2Endpoint(Endpoint):
    def __init__(self, service: Service) -> None:
        super().__init__()
        self._service = service

    def answer(self, received: Received) -> Reply:
        """Do it, or say why not."""
        body = b"".join(received.body.pieces)
        request = Request(received.method, received.target, received.headers, body)
        is_one_too_many = not self.load.begin(request.operation or "unknown")
        reply = self._service.answer(request, is_throttled=is_one_too_many)
        offset_s = self._service.account.clock_offset_s
        if offset_s:
            reply.headers["Date"] = http_date(int(time.time() + offset_s))
        return reply

    def set(self, what: str, said: Mapping[str, Any]) -> None:
        """Its settings, its clock, and what keeps a container as it is."""
        match what:
            case "settings":
                self._service.settings = Settings(**{**said, "denied": frozenset(said["denied"])})
            case "clock":
                self._service.account.clock_offset_s = said["offset_s"]
            case "hold":
                flags = (said["legal_hold"], said["immutable"])
                self._service.storage.change("hold", said["container"], *flags)
            case _:
                super().set(what, said)

    def forget(self) -> None:
        """Drop every container with all that is in it."""
        for name in list(self._service.storage.containers):
            self._service.storage.change("drop", name)

    def unreadable(self, why: str) -> Reply:
        """Say why it is no request."""
        failure = Failure(HTTPStatus.BAD_REQUEST, "InvalidInput", why)
        return refusal(failure, Request("GET", "/", {}))
