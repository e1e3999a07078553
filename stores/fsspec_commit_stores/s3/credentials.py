"""Where credentials come from, if not from botocore's usual chain.

Two options besides those of s3fs, for users who must have the very credentials that another program
has, and none that happen to lie about:

`credential_providers`: the places to look in, in this order, by botocore's names; ``explicit`` is
what `key`, `secret` and `token` say.

`assume_role`: the role to take with what is found there: parameters of STS's AssumeRole by their
names, and where STS is (`endpoint_url`, `region_name`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aiobotocore.credentials import (
    AioAssumeRoleCredentialFetcher,
    AioCredentialResolver,
    AioCredentials,
    AioDeferredRefreshableCredentials,
    create_credential_resolver,
)

_EXPLICIT = "explicit"
_PROVIDERS = frozenset(
    {
        _EXPLICIT,
        "assume-role",
        "assume-role-with-web-identity",
        "config-file",
        "container-role",
        "custom-process",
        "env",
        "iam-role",
        "shared-credentials-file",
        "sso",
    }
)
_OF_STS = frozenset({"endpoint_url", "region_name"})
_OF_ROLE = frozenset({"DurationSeconds", "ExternalId", "Policy", "RoleArn", "RoleSessionName"})
_REGION = "us-east-1"


@dataclass(frozen=True)
class Chain:
    """Where to look for credentials, and which role to take with them.

    Attributes:
        providers: By botocore's names; empty: all that botocore knows, in its order.
        role: Parameters of AssumeRole; empty: no role.
        sts: Where the role is asked for.
        given: Key, secret and token that the user gives, if they are to be looked for in the chain.
    """

    providers: tuple[str, ...]
    role: Mapping[str, Any]
    sts: Mapping[str, str]
    given: tuple[str, str, str | None] | None = field(repr=False)

    def apply(self, session: Any) -> None:
        """Have *session* look there, and nowhere else."""
        session.register_component("credential_provider", _Resolver(self, session))


def chain_of(given: dict[str, Any]) -> Chain | None:
    """Take both options out of those that are for s3fs; ``None`` where neither is given.

    Raises:
        TypeError: One of the options is malformed.
    """
    providers = given.pop("credential_providers", None)
    role = given.pop("assume_role", None)
    if providers is None and role is None:
        return None
    if "session" in given:
        raise TypeError("session= has credentials of its own")
    if providers is not None and (
        isinstance(providers, str)
        or not isinstance(providers, Sequence)
        or not providers
        or not _PROVIDERS.issuperset(providers)
    ):
        raise TypeError(f"credential_providers= takes a list of {', '.join(sorted(_PROVIDERS))}")
    if role is not None and (
        not isinstance(role, Mapping)
        or not (_OF_STS | _OF_ROLE).issuperset(role)
        or not role.get("RoleArn")
    ):
        names = ", ".join(sorted(_OF_STS | _OF_ROLE))
        raise TypeError(f"assume_role= takes a mapping with RoleArn, of {names}")
    own = None
    # Left among the options of s3fs, they would be used as they stand, by no chain.
    if role is not None or _EXPLICIT in (providers or ()):
        key, secret, token = (given.pop(name, None) for name in ("key", "secret", "token"))
        own = (key, secret, token) if key and secret else None
    if providers is None and own is not None:
        providers = (_EXPLICIT,)
    role = role or {}
    return Chain(
        tuple(providers or ()),
        {name: value for name, value in role.items() if name in _OF_ROLE},
        {name: value for name, value in role.items() if name in _OF_STS},
        own,
    )


class _Explicit:
    """What the user gives, as one of the places to look in."""

    METHOD = _EXPLICIT

    def __init__(self, given: tuple[str, str, str | None] | None) -> None:
        self._given = given

    async def load(self) -> AioCredentials | None:
        return None if self._given is None else AioCredentials(*self._given, method=_EXPLICIT)


class _Resolver:
    """What a session asks for its credentials, once."""

    def __init__(self, chain: Chain, session: Any) -> None:
        self._chain = chain
        self._session = session

    async def load_credentials(self) -> Any:
        """The first that are found, or those of the role; ``None`` where there are none."""
        resolver = create_credential_resolver(self._session)
        if self._chain.providers:
            known = {one.METHOD: one for one in resolver.providers}
            known[_EXPLICIT] = _Explicit(self._chain.given)
            # For a session with a profile, botocore has left out the environment.
            found = [known[name] for name in self._chain.providers if name in known]
            resolver = AioCredentialResolver(providers=found)
        credentials = await resolver.load_credentials()
        if credentials is None or not self._chain.role:
            return credentials
        role = dict(self._chain.role)
        fetcher = AioAssumeRoleCredentialFetcher(
            client_creator=self._client,
            source_credentials=credentials,
            role_arn=role.pop("RoleArn"),
            extra_args=role,
        )
        return AioDeferredRefreshableCredentials(
            method="assume-role",
            refresh_using=fetcher.fetch_credentials,
            time_fetcher=lambda: datetime.now(UTC),
        )

    def _client(self, service: str, **credentials: Any) -> Any:
        where = {"region_name": _REGION, **self._chain.sts}
        return self._session.create_client(service, **where, **credentials)
