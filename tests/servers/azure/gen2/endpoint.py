"""The service behind the connections, and how a test talks about it."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.azure.gen2.messages import Failure, Request, http_date, refusal
from tests.servers.azure.gen2.service import Settings
from tests.servers.http_service.load import Load
from tests.servers.http_service.messages import Reply

if TYPE_CHECKING:
    from tests.servers.azure.gen2.service import Service
    from tests.servers.http_service.messages import Received


class Gen2Endpoint:
    def __init__(self, service: Service) -> None:
        self.load = Load()
        self._service = service

    def answer(self, received: Received) -> Reply:
        """Do it, or say why not."""
        body = b"".join(received.body.pieces)
        request = Request(received.method, received.target, received.headers, body)
        if self.load.begin(request.operation or "unknown"):
            reply = self._service.answer(request)
        else:
            reply = self._service.throttled(request)
        offset_s = self._service.account.clock_offset_s
        if offset_s:
            reply.headers["Date"] = http_date(int(time.time() + offset_s))
        return reply

    def control(self, method: str, path: str, body: bytes) -> Reply:
        """Its load, its counts, what a test may set, and an end of all that it holds."""
        asked = json.loads(body) if body else {}
        match method, path:
            case "GET", "statistics":
                return Reply(pieces=(json.dumps(self.load.statistics()).encode(),))
            case "GET", "settings":
                held = asdict(self._service.settings)
                told = {**held, "denied": sorted(held["denied"])}
                return Reply(pieces=(json.dumps(told).encode(),))
            case "PUT", "load":
                self.load.set(**asked)
            case "PUT", "settings":
                denied = frozenset(asked.pop("denied", ()))
                self._service.settings = Settings(denied=denied, **asked)
            case "PUT", "clock":
                self._service.account.clock_offset_s = asked["offset_s"]
            case "PUT", "hold":
                flags = (asked["legal_hold"], asked["immutable"])
                self._service.storage.change("hold", asked["container"], *flags)
            case "DELETE", "containers":
                for name in list(self._service.storage.containers):
                    self._service.storage.change("drop", name)
            case _:
                return Reply(HTTPStatus.NOT_FOUND)
        return Reply(HTTPStatus.NO_CONTENT)

    def unreadable(self, why: str) -> Reply:
        """To what is no request."""
        failure = Failure(HTTPStatus.BAD_REQUEST, "InvalidInput", why)
        return refusal(failure, Request("GET", "/", {}))
