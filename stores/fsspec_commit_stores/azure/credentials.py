"""The user's credentials: what signs each request, once, and what they say of themselves."""

from functools import partial
from typing import Any
from urllib.parse import parse_qs

from azure.core.credentials import AzureSasCredential
from azure.core.pipeline.policies import (
    AsyncBearerTokenCredentialPolicy,
    AzureSasCredentialPolicy,
    SansIOHTTPPolicy,
)

from fsspec_commit_stores.azure.answers import REQUEST_ID
from fsspec_commit_stores.http.renewal import Renewal

_SCOPE = "https://storage.azure.com/.default"


class AccessTokens(AsyncBearerTokenCredentialPolicy[Any, Any]):
    """Signs with an access token. Where another one is wanted, the next request has it.

    azure-core would send the same request again at once: one request of ours would be two, and the
    second without its body, which has been read to its end by then.
    """

    def __init__(self, credential: Any, scope: str) -> None:
        super().__init__(credential, scope)
        self._renewal = Renewal()

    async def on_request(self, request: Any) -> None:
        """Sign, with a token that one of all who need it has fetched."""
        await self._renewal.run(partial(super().on_request, request))

    async def on_challenge(self, request: Any, response: Any) -> bool:
        """Fetch the token that is asked for; of the store only, not of whoever is on the way."""
        if response.http_response.headers.get(REQUEST_ID):
            await self._renewal.run(partial(super().on_challenge, request, response))
        return False


class Credentials:
    """The credentials as the SDK's client for blobs has understood them."""

    def __init__(self, credential: Any, signature: str) -> None:
        """Take *credential*, and the shared access *signature* of the client's URLs."""
        self._credential = credential
        self.query = signature
        """What every URL must end in; empty where there is nothing, or a policy adds it."""

    @property
    def policies(self) -> list[Any]:
        """What signs a request."""
        if self._credential is None:
            return []
        if isinstance(self._credential, AzureSasCredential):
            return [AzureSasCredentialPolicy(self._credential)]
        if isinstance(self._credential, SansIOHTTPPolicy):
            return [self._credential]  # Of an account key the SDK makes what signs with it.
        return [AccessTokens(self._credential, _SCOPE)]

    @property
    def signature(self) -> str:
        """The shared access signature, if there is one: what a header names needs one as well.

        Of an ``AzureSasCredential`` that of now: its owner may renew it.
        """
        if isinstance(self._credential, AzureSasCredential):
            return self._credential.signature.lstrip("?")
        return self.query

    @property
    def expires(self) -> str | None:
        """When the signature says that it ends; empty where a stored policy says it."""
        signature = self.signature
        return parse_qs(signature).get("se", [""])[0] if signature else None
