"""One running GCS server, its account and its clients."""

from __future__ import annotations

import json
import secrets
from contextlib import suppress
from functools import cache
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, TypeAlias

from tests.servers.gcs.control import Control
from tests.servers.gcs.kinds import STRICT
from tests.servers.gcs.strict.endpoint import ACCOUNT, TOKEN
from tests.servers.http_service.control import ask
from tests.servers.server_process import RunningServers, StoreServer

if TYPE_CHECKING:
    from google.auth.credentials import Credentials

PROJECT = "tests"
_ANSWER_WITHIN_S = 3
# In the bucket that shows that a server is ready.
_READY_BUCKET = "ready-bucket"


class GcsServer(StoreServer):
    """The strict server has an account, with a key and its own token endpoint; the other none."""

    protocol = "gs"
    _revocation_count = 0

    @property
    def is_strict(self) -> bool:
        return self.name == STRICT.name

    def storage_options_through(self, endpoint_url: str) -> dict[str, Any]:
        """What gcsfs takes. Tokens are fetched from the server, whatever the address."""
        token = self.service_account if self.is_strict else "anon"
        return {"token": token, "project": PROJECT, "endpoint_url": endpoint_url}

    @property
    def service_account(self) -> dict[str, str]:
        """A key file's content, with a private key: a secret."""
        return {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": f"tests-{self._revocation_count}",
            "private_key": _private_key(),
            "client_email": ACCOUNT,
            "client_id": "0",
            "token_uri": self.endpoint_url + TOKEN,
        }

    def storage_options_without(self, *permissions: str) -> dict[str, Any]:
        """A new account that may do everything but this; strict only.

        The token is not renewed: its filesystem has nothing to renew it with.
        """
        options = self.storage_options
        options["token"] = self.credentials_without(*permissions)
        return options

    def credentials_without(self, *permissions: str) -> Credentials:
        from google.oauth2.credentials import Credentials

        token = f"ya29.{secrets.token_urlsafe(24)}"
        name = f"user-{secrets.token_hex(4)}@tests.iam.gserviceaccount.com"
        self.control.admit(token, account=name, denied=list(permissions))
        return Credentials(token)  # type: ignore[no-untyped-call]

    def revoke_tokens(self) -> None:
        """All that it has given out or was told of are answered 401 from now on; strict only.

        What is opened after that names another key. A gcsfs that fsspec keeps from an earlier test
        never renews a token before it expires: it would be refused in every test after this one.
        """
        self.control.revoke_tokens()
        self._revocation_count += 1

    @property
    def control(self) -> Control:
        """How the strict server behaves and what it has counted; the other has no such side."""
        assert self.is_strict, f"{self.name} cannot be told how to behave"
        return Control(self.port)

    def client_through(self, endpoint_url: str, credentials: Credentials | None = None) -> Any:
        """A client of google-cloud-storage, of nobody or of somebody."""
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
        self._make_bucket({"name": name, **resource})
        return name

    def patch_bucket(self, name: str, **resource: Any) -> None:
        """Change a bucket: `retentionPolicy=None` takes one away. The strict server alone can."""
        self._call("PATCH", f"/storage/v1/b/{name}", json.dumps(resource).encode())

    def answer_through(self, endpoint_url: str) -> None:
        """Name this address in what is answered. The strict server names whichever was called."""
        if not self.is_strict:
            self._call(
                "PUT", "/_internal/config", json.dumps({"externalUrl": endpoint_url}).encode()
            )

    def reset(self) -> None:
        """The strict server behaves as it did before a test told it anything."""
        if self.is_strict:
            self.control.set()
            self.control.set_load()

    def _is_ready(self) -> bool:
        if self.is_strict:
            # What it refuses just now is for tests to see, and says nothing of whether it runs.
            return self.control.answers()
        try:
            with suppress(RuntimeError):  # It is there from before a restart.
                self._make_bucket({"name": _READY_BUCKET})
            word = secrets.token_bytes(8)
            path = f"/upload/storage/v1/b/{_READY_BUCKET}/o?uploadType=media&name=word"
            self._call("POST", path, word)
            return self._call("GET", f"/storage/v1/b/{_READY_BUCKET}/o/word?alt=media") == word
        except (OSError, ValueError, HTTPException, RuntimeError):
            return False

    def _make_bucket(self, resource: dict[str, Any]) -> None:
        self._call("POST", f"/storage/v1/b?project={PROJECT}", json.dumps(resource).encode())

    def _call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        return ask(self.port, method, path, body, within_s=_ANSWER_WITHIN_S)


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


GcsServers: TypeAlias = RunningServers[GcsServer]
"""The servers of one process of the test run."""
