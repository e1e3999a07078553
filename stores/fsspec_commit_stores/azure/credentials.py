"""The user's credentials: what signs each request, once, and what they say of themselves."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import parse_qs

from azure.core.credentials import AzureSasCredential
from azure.core.pipeline.policies import (
    AsyncBearerTokenCredentialPolicy,
    AzureSasCredentialPolicy,
    SansIOHTTPPolicy,
)
from yarl import URL

from fsspec_commit_stores.azure.answers import REQUEST_ID
from fsspec_commit_stores.azure.signing import KeySignatures, plain_path, signing_policy_of
from fsspec_commit_stores.http.renewal import Renewal

_SCOPE = "https://storage.azure.com/.default"


class AccessTokens(AsyncBearerTokenCredentialPolicy[Any, Any]):
    """Signs with an access token. Where another one is wanted, the next request has it.

    azure-core would send the same request again at once: one request of ours would be two.
    """

    def __init__(self, credential: Any, scope: str) -> None:
        super().__init__(credential, scope)
        self._renewal = Renewal()
        self._revoked: str | None = None
        self._instead: Any = None

    async def on_request(self, request: Any) -> None:
        """Sign, with a token that one request has fetched for all that need it."""
        await self._renewal.run(partial(super().on_request, request))

    async def on_challenge(self, request: Any, response: Any) -> bool:
        """Fetch the token that is asked for, if the store asks, and not somebody on the way."""
        if response.http_response.headers.get(REQUEST_ID):
            refused = request.http_request.headers.get("Authorization", "")
            if not self._has_met(refused):
                await self._renewal.run(partial(self._meet, refused, request, response))
        return False

    async def _meet(self, refused: str, request: Any, response: Any) -> None:
        if not self._has_met(refused):
            await super().on_challenge(request, response)
            if self._token is not None and not refused.endswith(f" {self._token.token}"):
                self._revoked, self._instead = refused, self._token

    def _has_met(self, refused: str) -> bool:
        """Whether another request with that token was refused before; then the new token is kept.

        azure-core drops its token at each refusal, even of a request sent with an older one.
        """
        if refused != self._revoked:
            return False
        self._token = self._instead
        return True


@dataclass(frozen=True, slots=True, repr=False)
class Signed:
    """A request, signed; with all its secrets.

    Attributes:
        target: Path and query, as they are sent.
        headers: With the one that authenticates.
    """

    target: str
    headers: Mapping[str, str]


class Credentials:
    """The credentials as the SDK's client for blobs has understood them."""

    def __init__(self, credential: Any, signature: str, *, signs_here: bool = True) -> None:
        """Take *credential*, and the shared access *signature* of the client's URLs.

        What azure-storage signs with a key may be signed here, where *signs_here*.
        """
        self._credential = credential
        # From an account key the SDK makes a policy that signs with it.
        is_key = isinstance(credential, SansIOHTTPPolicy)
        self._signing = signing_policy_of(credential) if is_key and signs_here else credential
        self._signs_here = signs_here
        self._renewed = credential if isinstance(credential, AzureSasCredential) else None
        self.query = signature
        """What every URL must end in; empty where there is nothing, or a policy adds it."""

    @property
    def policies(self) -> list[Any]:
        """What signs a request."""
        if self._credential is None:
            return []
        if self._renewed is not None:
            return [AzureSasCredentialPolicy(self._renewed)]
        if isinstance(self._signing, SansIOHTTPPolicy):
            return [self._signing]
        return [AccessTokens(self._credential, _SCOPE)]

    def signed(
        self, method: str, host: str, target: str, headers: Mapping[str, str]
    ) -> Signed | None:
        """The request, signed and ready to be sent; ``None`` where the policies must sign it.

        Args:
            method: Of HTTP.
            host: Scheme, host and port.
            target: Path and query of its URL.
            headers: All but the one that authenticates.
        """
        if not self._signs_here:
            return None
        if self._credential is None:
            return Signed(URL(host + target).raw_path_qs, headers)
        signing, path = self._signing, plain_path(target)
        if path is None or not isinstance(signing, KeySignatures):
            return None
        signed = signing.signed(method, path, headers)
        return None if signed is None else Signed(path, signed)

    @property
    def signature(self) -> str:
        """The shared access signature, if there is one: a path in a header needs it as well.

        For an ``AzureSasCredential``, the current one: its owner may renew it.
        """
        return self.query if self._renewed is None else self._renewed.signature.lstrip("?")

    @property
    def expires(self) -> str | None:
        """When the signature says that it ends; empty where a stored policy says it."""
        signature = self.signature
        return parse_qs(signature).get("se", [""])[0] if signature else None
