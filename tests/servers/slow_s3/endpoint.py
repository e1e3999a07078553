"""The service behind the connections, and how a test talks about it."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.http_service.load import Load
from tests.servers.http_service.messages import Reply
from tests.servers.slow_s3.messages import Failure, Request, refusal
from tests.servers.slow_s3.operations import answer, operation_of
from tests.servers.slow_s3.storage import Storage

if TYPE_CHECKING:
    from tests.servers.http_service.messages import Received

_SLOW_DOWN = Failure(HTTPStatus.SERVICE_UNAVAILABLE, "SlowDown", "Please reduce your request rate.")


class SlowS3Endpoint:
    def __init__(self) -> None:
        self.load = Load()
        self._storage = Storage()

    def answer(self, received: Received) -> Reply:
        """Do it, or say why not."""
        body = received.body
        request = Request(
            received.method,
            received.target,
            received.headers,
            tuple(body.pieces),
            body.size_bytes,
            body.md5,
        )
        operation = operation_of(request)
        if not self.load.begin(operation.name):
            return refusal(_SLOW_DOWN, request)
        reply = answer(self._storage, request, operation)
        reply.headers.setdefault("x-amz-request-id", "0")
        return reply

    def control(self, method: str, path: str, body: bytes) -> Reply:
        """Its load, its counts, and an end of all that it holds."""
        match method, path:
            case "GET", "statistics":
                return Reply(pieces=(json.dumps(self.load.statistics()).encode(),))
            case "PUT", "load":
                self.load.set(**json.loads(body))
            case "DELETE", "buckets":
                self._storage.buckets.clear()
            case _:
                return Reply(HTTPStatus.NOT_FOUND)
        return Reply(HTTPStatus.NO_CONTENT)

    def unreadable(self, why: str) -> Reply:
        """To what is no request."""
        failure = Failure(HTTPStatus.BAD_REQUEST, "InvalidRequest", why)
        return refusal(failure, Request("GET", "/", {}))
