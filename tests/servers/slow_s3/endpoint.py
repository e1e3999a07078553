"""The service behind the connections."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.http_service.endpoint import Endpoint
from tests.servers.http_service.messages import Failure
from tests.servers.slow_s3.messages import Request, refusal
from tests.servers.slow_s3.operations import answer
from tests.servers.slow_s3.storage import Storage

if TYPE_CHECKING:
    from tests.servers.http_service.messages import Received, Reply

_SLOW_DOWN = Failure(HTTPStatus.SERVICE_UNAVAILABLE, "SlowDown", "Please reduce your request rate.")


class SlowS3Endpoint(Endpoint):
    def __init__(self) -> None:
        super().__init__()
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
        if not self.load.begin(request.operation):
            return refusal(_SLOW_DOWN, request)
        reply = answer(self._storage, request)
        reply.headers.setdefault("x-amz-request-id", "0")
        return reply

    def forget(self) -> None:
        """Drop every bucket with all that is in it."""
        self._storage.buckets.clear()

    def unreadable(self, why: str) -> Reply:
        """Say why it is no request."""
        failure = Failure(HTTPStatus.BAD_REQUEST, "InvalidRequest", why)
        return refusal(failure, Request("GET", "/", {}))
