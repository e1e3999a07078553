"""Who calls, and what it may do: https://cloud.google.com/storage/docs/access-control/iam-json."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tests.servers.gcs.strict.failures import Failure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.state import State

_LIFETIME_S = 3_600
_BEARER = "bearer "


@dataclass
class Account:
    """Who a token stands for.

    Attributes:
        denied: the permissions that it lacks.
        is_revoked: its token is good no more.
    """

    name: str
    denied: frozenset[str] = field(default_factory=frozenset)
    is_revoked: bool = False


class Access:
    """Tokens, as the server has given them out or was told of them."""

    def __init__(self, state: State) -> None:
        self._state = state

    def admit(self, document: Mapping[str, Any]) -> None:
        """Know a token, with what its account may not do."""
        said = [document[name] for name in ("token", "account", "denied")]
        self._state.commit(("account", *said))

    def grant(self, account: str) -> dict[str, Any]:
        """A new token: the answer of a token endpoint (RFC 6749, 5.1). Its account may do all."""
        token = f"ya29.{secrets.token_urlsafe(24)}"
        self._state.commit(("account", token, account, []))
        return {"access_token": token, "token_type": "Bearer", "expires_in": _LIFETIME_S}

    def revoke(self) -> None:
        """Every token given out so far has expired."""
        self._state.commit(("revoke",))

    def identify(self, headers: Mapping[str, str]) -> Account:
        """Who calls.

        Raises:
            Failure: 401, there is no good token.
        """
        given = headers.get("authorization")
        if given is None:
            if self._state.settings.anonymous:
                return Account("anonymous")
            raise _unauthorized("required", "Anonymous caller does not have access.")
        token = given[len(_BEARER) :] if given.lower().startswith(_BEARER) else ""
        account = self._state.accounts.get(token)
        if account is None or account.is_revoked:
            failure = _unauthorized("authError", "Invalid Credentials")
            failure.headers["WWW-Authenticate"] = 'Bearer realm="https://accounts.google.com/"'
            raise failure
        return account


def require(call: Call, *permissions: str) -> None:
    """Raises: Failure: 403, the caller lacks one of them."""
    account = call.account
    for permission in permissions:
        if account is not None and permission in account.denied:
            raise _forbidden(account.name, permission)


def _unauthorized(reason: str, message: str) -> Failure:
    return Failure(
        HTTPStatus.UNAUTHORIZED,
        reason,
        message,
        location="Authorization",
        location_type="header",
    )


def _forbidden(account: str, permission: str) -> Failure:
    kind = "object" if ".objects." in permission else "bucket"
    return Failure(
        HTTPStatus.FORBIDDEN,
        "forbidden",
        f"{account} does not have {permission} access to the Google Cloud Storage {kind}."
        f" Permission '{permission}' denied on resource (or it may not exist).",
    )
