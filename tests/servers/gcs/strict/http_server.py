"""The server's requests: read, named, counted, answered, delayed.

A request is answered in one step of the loop, so that no other comes between what it checks and
what it changes.
"""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from aiohttp import web

from tests.servers.gcs.strict.batch import answer_all
from tests.servers.gcs.strict.failures import Failure, not_found, overloaded
from tests.servers.gcs.strict.messages import Call, Reply
from tests.servers.gcs.strict.methods import METHODS, answer
from tests.servers.gcs.strict.routes import BATCH, route
from tests.servers.gcs.strict.service import Service
from tests.servers.slow_s3.load import Load

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.state import State

# What is under it is about the server itself; the API has nothing there.
CONTROL = "/-/"
# Where accounts get their tokens: https://developers.google.com/identity/protocols/oauth2
TOKEN = "/token"
ACCOUNT = "tests@tests.iam.gserviceaccount.com"
Answered = tuple[int, dict[str, str], bytes]


class HttpServer:
    def __init__(self, state: State) -> None:
        self._service = Service(state)
        self._load = Load()
        self._limit()

    async def respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.headers.get("Expect", "").lower() == "100-continue":
            assert request.transport is not None
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await request.content.read()
        target, method = request.raw_path, request.method
        if target.startswith(CONTROL):
            status, headers, content = self._control(method, target.removeprefix(CONTROL), body)
        elif target == TOKEN:
            status, headers, content = _encoded(Reply(document=self._grant()))
        else:
            names = {name.lower(): value for name, value in request.headers.items()}
            status, headers, content = self._answer(method, target, names, body)
            try:
                if self._service.settings.latency_s:
                    await asyncio.sleep(self._service.settings.latency_s)
            finally:
                self._load.end()
        return web.Response(status=status, headers=headers, body=content)

    def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> Answered:
        """Counts a call of each operation; the calls of a batch beside the batch."""
        raw_path, _, raw_query = target.partition("?")
        query = dict(parse_qsl(raw_query, keep_blank_values=True))
        found = route(method, raw_path, query)
        operation = f"{method} {raw_path}" if found is None else found.operation
        settings = self._service.settings
        try:
            if not self._load.begin(operation):
                raise overloaded(settings.refusal_status, settings.retry_after_s)
            if found is None:
                raise not_found()
            if operation == BATCH:
                return _encoded(answer_all(headers, body, self._answer_within))
            call = Call(
                operation,
                found.path,
                query,
                headers,
                body,
                f"http://{headers.get('host', '')}",
                self._service.access.identify(headers) if METHODS[operation].needs else None,
            )
            return _encoded(answer(self._service, call))
        except Failure as failure:
            kind = {"Content-Type": "application/json; charset=UTF-8"} if failure.content else {}
            return failure.status, {**kind, **failure.headers}, failure.content

    def _answer_within(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> Answered:
        answered = self._answer(method, target, headers, body)
        self._load.end()
        return answered

    def _grant(self) -> dict[str, Any]:
        return self._service.access.grant(ACCOUNT)

    def _limit(self) -> None:
        known = self._service.settings
        self._load.set(
            latency_s=known.latency_s, rate_per_s=known.rate_per_s, burst_s=known.burst_s
        )

    def _control(self, method: str, path: str, body: bytes) -> Answered:
        service = self._service
        match method, path:
            case "GET", "statistics":
                return _encoded(Reply(document=self._load.statistics()))
            case "PUT", "settings":
                service.state.commit(("settings", json.loads(body)))
                self._limit()
            case "POST", "tokens":
                service.access.admit(json.loads(body))
            case "DELETE", "tokens":
                service.access.revoke()
            case "DELETE", "buckets":
                for name in list(service.state.buckets):
                    service.state.commit(("drop bucket", name))
            case _:
                return HTTPStatus.NOT_FOUND, {}, b""
        return HTTPStatus.NO_CONTENT, {}, b""


def _encoded(reply: Reply) -> Answered:
    headers, content = reply.encoded()
    return reply.status, headers, content
