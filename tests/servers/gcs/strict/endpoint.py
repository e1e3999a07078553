"""The service behind the connections: its requests named, counted and answered."""

from __future__ import annotations

import gzip
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tests.servers.gcs.strict.batch import answer_all
from tests.servers.gcs.strict.failures import Failure, invalid, not_found, overloaded
from tests.servers.gcs.strict.messages import Call, Reply
from tests.servers.gcs.strict.methods import METHODS, answer
from tests.servers.gcs.strict.routes import BATCH, route
from tests.servers.gcs.strict.service import Service
from tests.servers.http_service.endpoint import Endpoint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.state import State
    from tests.servers.http_service import messages as wire
    from tests.servers.http_service.messages import Received

# Where accounts get their tokens: https://developers.google.com/identity/protocols/oauth2
TOKEN = "/token"
ACCOUNT = "tests@tests.iam.gserviceaccount.com"


class GcsEndpoint(Endpoint):
    def __init__(self, state: State) -> None:
        super().__init__()
        self._service = Service(state)

    def answer(self, received: Received) -> wire.Reply:
        """Do it, or say why not."""
        if received.target == TOKEN:
            self.load.begin("token")
            return self._sent(Reply(document=self._service.access.grant(ACCOUNT)).encoded())
        body = b"".join(received.body.pieces)
        if received.headers.get("content-encoding") == "gzip" and not _uploads(received.target):
            # Hadoop's connector compresses what it asks.
            body = gzip.decompress(body)
        return self._sent(self._answer(received.method, received.target, received.headers, body))

    def set(self, what: str, said: Mapping[str, Any]) -> None:
        """Its settings and its tokens; they outlive the process."""
        match what:
            case "settings":
                self._service.state.commit(("settings", said))
            case "token":
                self._service.access.admit(said)
            case "revocation":
                self._service.access.revoke()
            case _:
                super().set(what, said)

    def forget(self) -> None:
        """Drop every bucket with all that is in it."""
        for name in list(self._service.state.buckets):
            self._service.state.commit(("drop bucket", name))

    def unreadable(self, why: str) -> wire.Reply:
        """Say why it is no request."""
        return self._sent(invalid(why).encoded())

    def _answer(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> wire.Reply:
        """Counts a call of each operation; the calls of a batch beside the batch."""
        raw_path, _, raw_query = target.partition("?")
        query = dict(parse_qsl(raw_query, keep_blank_values=True))
        found = route(method, raw_path, query)
        operation = f"{method} {raw_path}" if found is None else found.operation
        try:
            if not self.load.begin(operation):
                raise overloaded()
            if found is None:
                raise not_found()
            if operation == BATCH:
                return answer_all(headers, body, self._answer_within).encoded()
            call = Call(
                operation,
                found.path,
                query,
                headers,
                body,
                f"http://{headers.get('host', '')}",
                self._service.access.identify(headers) if METHODS[operation].needs else None,
            )
            return answer(self._service, call).encoded()
        except Failure as failure:
            return failure.encoded()

    def _answer_within(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes
    ) -> wire.Reply:
        answered = self._answer(method, target, headers, body)
        self.load.end()
        return answered

    def _sent(self, reply: wire.Reply) -> wire.Reply:
        if self._service.settings.is_marked:
            # Of every answer of the provider's, whatever it says and to what.
            reply.headers.setdefault("X-GUploader-UploadID", secrets.token_urlsafe(24))
        return reply


def _uploads(target: str) -> bool:
    """Whether the body is an object's content, which is kept as it comes."""
    return target.startswith("/upload/")
