"""One running GCS server, its account and its clients."""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from tests.servers.gcs.control import Control
from tests.servers.gcs.kinds import STRICT
from tests.servers.gcs.strict.endpoint import ACCOUNT, TOKEN
from tests.servers.http_service.connection import CONTROL
from tests.servers.server_process import RunningServers, ServerProcess

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

PROJECT = "tests"
_ANSWER_WITHIN_S = 3
# In the bucket that shows that a server is ready.
_READY_BUCKET = "ready-bucket"


class GcsServer(ServerProcess):
    """The strict server has an account, with a key and its own token endpoint; the other none."""

    @property
    def is_strict(self) -> bool:
        return self.kind is STRICT

    @property
    def storage_options(self) -> dict[str, Any]:
        """What gcsfs takes."""
        return self.storage_options_through(self.endpoint_url)

    def storage_options_through(self, endpoint_url: str) -> dict[str, Any]:
        """The same account, by another address: a proxy's. Tokens are fetched from the server."""
        token = self.service_account if self.is_strict else "anon"
        return {"token": token, "project": PROJECT, "endpoint_url": endpoint_url}

    @property
    def service_account(self) -> dict[str, str]:
        """A key file's content, with a private key: a secret."""
        return {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "tests",
            "private_key": _private_key(),
            "client_email": ACCOUNT,
            "client_id": "0",
            "token_uri": self.endpoint_url + TOKEN,
        }

    def storage_options_without(
        self, *permissions: str, expires_after_calls: int | None = None
    ) -> dict[str, Any]:
        """A new account that may do everything but this, and whose token ends; strict only.

        The token is not renewed: its filesystem has nothing to renew it with.
        """
        options = self.storage_options
        options["token"] = self.credentials_without(
            *permissions, expires_after_calls=expires_after_calls
        )
        return options

    def credentials_without(
        self, *permissions: str, expires_after_calls: int | None = None
    ) -> Credentials:
        from google.oauth2.credentials import Credentials

        token = f"ya29.{secrets.token_urlsafe(24)}"
        name = f"user-{secrets.token_hex(4)}@tests.iam.gserviceaccount.com"
        self.control.admit(token, account=name, denied=list(permissions), calls=expires_after_calls)
        return Credentials(token)  # type: ignore[no-untyped-call]

    @property
    def control(self) -> Control:
        """How the strict server behaves and what it has counted; the other has no such side."""
        assert self.is_strict, f"{self.name} cannot be told how to behave"
        return Control(self.endpoint_url)

    @cached_property
    def client(self) -> Any:
        """A client of google-cloud-storage, for what a test does beside the code that it tests."""
        return self.client_through(self.endpoint_url)

    def client_through(self, endpoint_url: str, credentials: Credentials | None = None) -> Any:
        """The same by another address, or as somebody."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage  # type: ignore[import-untyped, unused-ignore]

        return storage.Client(
            project=PROJECT,
            credentials=credentials or AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options={"api_endpoint": endpoint_url},
        )

    def new_bucket(self, **resource: Any) -> str:
        """A bucket that no other test has, as its resource says: `retentionPolicy={...}`."""
        name = f"test-{secrets.token_hex(8)}"
        self._post(f"/storage/v1/b?project={PROJECT}", {"name": name, **resource})
        return name

    def answer_through(self, endpoint_url: str) -> None:
        """Name this address in what is answered. The strict server names whichever was called."""
        if not self.is_strict:
            self._send("PUT", "/_internal/config", {"externalUrl": endpoint_url})

    def _is_ready(self) -> bool:
        if self.is_strict:
            # What it refuses just now is for tests to see, and says nothing of whether it runs.
            try:
                return bool(json.loads(self._request("GET", f"{CONTROL}statistics")))
            except (OSError, ValueError):
                return False
        word = secrets.token_bytes(8)
        try:
            if not self._exists(_READY_BUCKET):
                self._post(f"/storage/v1/b?project={PROJECT}", {"name": _READY_BUCKET})
            path = f"/upload/storage/v1/b/{_READY_BUCKET}/o?uploadType=media&name=word"
            self._request("POST", path, word)
            return self._request("GET", f"/storage/v1/b/{_READY_BUCKET}/o/word?alt=media") == word
        except OSError:
            return False

    def _exists(self, bucket: str) -> bool:
        try:
            self._request("GET", f"/storage/v1/b/{bucket}")
        except urllib.error.HTTPError as error:
            error.close()
            return False
        return True

    def _post(self, path: str, document: object) -> None:
        self._send("POST", path, document)

    def _send(self, method: str, path: str, document: object) -> None:
        kind = {"Content-Type": "application/json"}
        self._request(method, path, json.dumps(document).encode(), kind)

    def _request(
        self, method: str, path: str, body: bytes | None = None, headers: Any = None
    ) -> bytes:
        asked = urllib.request.Request(self.endpoint_url + path, body, headers or {}, method=method)
        with urllib.request.urlopen(asked, timeout=_ANSWER_WITHIN_S) as reply:
            content: bytes = reply.read()
        return content

    def _close_clients(self) -> None:
        if "client" in self.__dict__:
            self.__dict__.pop("client").close()


class GcsServers(RunningServers[GcsServer]):
    """The GCS servers of one process of the test run."""

    def __init__(self) -> None:
        super().__init__(GcsServer)


@cache
def _private_key() -> str:
    """Nobody checks what it signs; google-auth wants a real one, and checks it each time.

    That takes a key of 2,048 bits eight times as long: a quarter of a run against these servers.
    """
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = rsa.generate_private_key(public_exponent=65_537, key_size=1_024)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
