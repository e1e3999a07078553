"""Who asks, and what he may: Shared Key, shared access signatures, and what a test forbids.

https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
https://learn.microsoft.com/rest/api/storageservices/create-account-sas
https://learn.microsoft.com/rest/api/storageservices/create-service-sas
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING

from tests.servers.http_service.messages import Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers.azure.gen2.messages import Request

# Where the server finds the account, in its environment.
ACCOUNT_VARIABLE, KEY_VARIABLE = "GEN2_ACCOUNT", "GEN2_ACCOUNT_KEY"
_SIGNED_HEADERS = (
    *("content-encoding", "content-language", "content-length", "content-md5", "content-type"),
    *("date", "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"),
)
_SKEW_MAX_S = 15 * 60
_DATES = ("%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%MZ", "%Y-%m-%d", "%Y-%m-%dT%H:%M:%S.%fZ")
# Any one of these words of permissions is enough.
# https://learn.microsoft.com/rest/api/storageservices/create-service-sas#permissions-for-a-directory-container-or-blob
_NEEDED: dict[str, tuple[str, ...]] = {
    "path.create": ("c", "w"),
    "path.rename": ("m", "wd"),
    "path.append": ("a", "w"),
    "path.flush": ("a", "w"),
    "path.read": ("r",),
    "path.properties": ("r", "e"),
    "path.access_control": ("r", "e"),
    "path.delete": ("d",),
    "path.list": ("l",),
    "blob.put": ("c", "w"),
    "blob.get": ("r",),
    "blob.properties": ("r",),
    "blob.set_metadata": ("w",),
    "blob.delete": ("d",),
    "blob.list": ("l",),
    "block.put": ("w",),
    "blocklist.put": ("w",),
}
# Of containers an account's signature only, and only one that is for containers (`srt=c`).
_NEEDED_OF_ACCOUNT: dict[str, tuple[str, ...]] = {
    "container.create": ("c", "w"),
    "container.properties": ("r",),
    "account.information": ("",),
}


def failed(detail: str) -> Failure:
    return Failure(
        HTTPStatus.FORBIDDEN,
        "AuthenticationFailed",
        "Server failed to authenticate the request. Make sure the value of Authorization header is "
        f"formed correctly including the signature. {detail}",
    )


class Account:
    """The only account: its name and key, and how far its clock is from that of the machine."""

    def __init__(self, name: str, key: str) -> None:
        self.name = name
        self.clock_offset_s = 0.0
        self._key = base64.b64decode(key)

    def authorize(self, request: Request, operation: str) -> None:
        """Raises: Failure: nobody known has asked, or one who may not."""
        authorization = request.headers.get("authorization")
        if authorization is not None:
            self._check_shared_key(request, authorization)
        elif "sig" in request.query:
            self._check_signature(request)
            _check_permissions(request, operation)
        else:
            raise Failure(
                HTTPStatus.UNAUTHORIZED,
                "NoAuthenticationInformation",
                "Server failed to authenticate the request. Please refer to the information in the "
                "www-authenticate header.",
            )

    def _check_shared_key(self, request: Request, authorization: str) -> None:
        scheme, _, word = authorization.partition(" ")
        name, _, signature = word.partition(":")
        if scheme != "SharedKey" or not signature:
            raise Failure(HTTPStatus.BAD_REQUEST, "InvalidAuthenticationInfo", scheme)
        self._check_date(request)
        good = any(self._signed(text, signature) for text in self._strings_to_sign(request))
        if name != self.name or not good:
            raise failed("The MAC signature found in the HTTP request is not the computed one.")

    def _check_date(self, request: Request) -> None:
        date = request.headers.get("x-ms-date") or request.headers.get("date")
        if date is None:
            raise failed("Missing date header.")
        try:
            asked_s = parsedate_to_datetime(date).timestamp()
        except ValueError as error:
            raise failed(f"Date header '{date}' is no date.") from error
        if abs(self._now_s - asked_s) > _SKEW_MAX_S:
            raise failed(f"Request date header too old: '{date}'")

    def _strings_to_sign(self, request: Request) -> Iterator[str]:
        headers = request.headers
        values = [headers.get(name, "") for name in _SIGNED_HEADERS]
        # Since version 2015-02-21 a body of no bytes is signed as no length.
        values[2] = "" if values[2] == "0" else values[2]
        if "x-ms-date" in headers:
            values[5] = ""
        query = "".join(
            f"\n{name.lower()}:{value}" for name, value in sorted(request.query.items())
        )
        resource = f"/{self.name}{request.raw_path}{query}"
        mine = [name for name in headers if name.startswith("x-ms-")]
        # The clients do not agree on where a hyphen sorts.
        for order in (_as_it_is, _without_hyphens):
            named = "".join(f"{name}:{headers[name]}\n" for name in sorted(mine, key=order))
            yield "\n".join([request.wire_method, *values, named + resource])

    def _check_signature(self, request: Request) -> None:
        query = request.query
        if "ss" in query:
            fields = ("sp", "ss", "srt", "st", "se", "sip", "spr", "sv", "ses")
            text = f"{self.name}\n" + "".join(f"{query.get(name, '')}\n" for name in fields)
        else:
            text = _container_text(query, f"/blob/{self.name}/{request.container}")
        if not self._signed(text, query["sig"]):
            raise failed("Signature did not match.")
        begin, end = _seconds(query.get("st"), 0.0), _seconds(query.get("se"), 0.0)
        if not begin <= self._now_s < end:
            raise failed(
                f"Signature not valid in the specified time frame: Start [{query.get('st', '')}] - "
                f"Expiry [{query.get('se', '')}]"
            )

    def _signed(self, text: str, signature: str) -> bool:
        mine = hmac.new(self._key, text.encode("utf-8"), hashlib.sha256).digest()
        try:
            return hmac.compare_digest(mine, base64.b64decode(signature, validate=True))
        except binascii.Error:
            return False

    @property
    def _now_s(self) -> float:
        return time.time() + self.clock_offset_s


def _container_text(query: dict[str, str], resource: str) -> str:
    """As it is since version 2020-12-06; a signature of a blob or directory has no such text."""
    before = [query.get(name, "") for name in ("sp", "st", "se")]
    after = [query.get(name, "") for name in ("si", "sip", "spr", "sv", "sr")]
    rest = [query.get(name, "") for name in ("ses", "rscc", "rscd", "rsce", "rscl", "rsct")]
    return "\n".join([*before, resource, *after, "", *rest])


def _check_permissions(request: Request, operation: str) -> None:
    given = set(request.query.get("sp", ""))
    needed = _NEEDED.get(operation)
    if "srt" in request.query:
        level = {"account": "s", "container": "c", "path": "o"}[request.level]
        # Listing what is in a container is said to be about the container.
        if level not in request.query["srt"]:
            raise Failure(HTTPStatus.FORBIDDEN, "AuthorizationResourceTypeMismatch")
        needed = needed or _NEEDED_OF_ACCOUNT.get(operation)
    if needed is None:
        raise Failure(HTTPStatus.FORBIDDEN, "AuthorizationFailure", "Not with this signature.")
    if not any(set(word) <= given for word in needed):
        raise mismatch()


def mismatch() -> Failure:
    return Failure(
        HTTPStatus.FORBIDDEN,
        "AuthorizationPermissionMismatch",
        "This request is not authorized to perform this operation using this permission.",
    )


def _seconds(date: str | None, default: float) -> float:
    if not date:
        return default
    for form in _DATES:
        try:
            return datetime.strptime(date, form).replace(tzinfo=UTC).timestamp()
        except ValueError:
            continue
    raise failed(f"'{date}' is no date.")


def _as_it_is(name: str) -> str:
    return name


def _without_hyphens(name: str) -> str:
    return name.replace("-", "")
