"""Signatures by an account's key: azure-storage's own, and those that are found to be the same.

azure-storage reads each header of a request many times to sign it, and compares their names letter
by letter: for a rename that is half of what its client takes. So for each *shape* of a request (its
method, the names of its headers, and whether its path is escaped) azure-storage signs the first
ones, and they are signed here too, to compare.
Where the signatures were the same, further ones are made here; where they differed even once,
azure-storage signs all of them. It always signs what is not plain, such as a request with a query.

https://learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key
"""

import hmac
import logging
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from azure.core.pipeline.policies import SansIOHTTPPolicy
from yarl import URL

SAME_MIN = 2
"""How often the same must come out before anything is signed here."""
SHAPES_MAX = 32
"""How many shapes may be signed here; a store needs a dozen. Others are left to azure-storage."""

_AUTHORIZATION = "Authorization"
_LENGTH = "content-length"
_OWN = "x-ms-"
_SIGNED = (
    "content-encoding",
    "content-language",
    _LENGTH,
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
_OF_KEY = ("name", "key")
_ESCAPED, _PLAIN = "escaped", "plain"
# Without the names that lead elsewhere: ``.`` and ``..``.
_PLAIN_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|$))(?:[A-Za-z0-9._~=-]|%(?!2E)[0-9A-F]{2})+)+")
_log = logging.getLogger("fsspec_commit")

_Shape: TypeAlias = tuple[str, ...]


class KeySignatures(SansIOHTTPPolicy[Any, Any]):
    """Signs with the key of one account."""

    def __init__(self, policy: Any) -> None:
        """Sign as *policy* does, azure-storage's own."""
        super().__init__()
        self._policy = policy
        self._same: dict[_Shape, int] = {}
        self._encoded = ""
        self._key = b""

    def on_request(self, request: Any) -> None:
        """Sign *request*, in its headers.

        Raises:
            Exception: What azure-storage raises; it cannot be signed.
        """
        sent = request.http_request
        parts = urlsplit(sent.url)
        path = None if parts.query else plain_path(parts.path)
        if path is None:
            self._policy.on_request(request)
            return
        headers = _in_lower_case(sent.headers)
        shape = _shape_of(sent.method, path, headers)
        same = self._same.get(shape, 0)
        if same >= SAME_MIN:
            sent.headers[_AUTHORIZATION] = self._signed(sent.method, path, headers)
            return
        self._policy.on_request(request)
        if same > 0 or (same == 0 and len(self._same) < SHAPES_MAX):
            self._compare(shape, sent.headers[_AUTHORIZATION], sent.method, path, headers)

    def signed(self, method: str, path: str, headers: Mapping[str, str]) -> dict[str, str] | None:
        """*headers* and the one that authenticates; ``None`` where azure-storage signs.

        Args:
            method: Of HTTP.
            path: A `plain_path`.
            headers: All that are signed.
        """
        told = _in_lower_case(headers)
        if self._same.get(_shape_of(method, path, told), 0) < SAME_MIN:
            return None
        return {**headers, _AUTHORIZATION: self._signed(method, path, told)}

    def _compare(
        self, shape: _Shape, theirs: str, method: str, path: str, headers: Mapping[str, str]
    ) -> None:
        """Note whether *theirs* is the signature that is made here."""
        if self._signed(method, path, headers) == theirs:
            self._same[shape] = self._same.get(shape, 0) + 1
            return
        self._same[shape] = -1
        _log.debug(
            "Azure: signatures of the shape %s(%s) are left to azure-storage: they are others",
            method,
            ", ".join(sorted(headers)),
        )

    def _signed(self, method: str, path: str, headers: Mapping[str, str]) -> str:
        """The value of the header that authenticates."""
        account = self._policy.account_name
        told = [headers.get(name) or "" for name in _SIGNED]
        own = [
            f"{name}:{value}" for name, value in sorted(headers.items()) if name.startswith(_OWN)
        ]
        if headers.get(_LENGTH) == "0":
            told[_SIGNED.index(_LENGTH)] = ""
        message = "\n".join([method, *told, *own, f"/{account}{path}"])
        digest = hmac.digest(self._key_of_now(), message.encode(), "sha256")
        return f"SharedKey {account}:{b64encode(digest).decode()}"

    def _key_of_now(self) -> bytes:
        encoded = self._policy.account_key
        if encoded != self._encoded:
            self._encoded, self._key = encoded, b64decode(encoded)
        return self._key


def signing_policy_of(policy: Any) -> Any:
    """What signs as *policy* does: that itself, unless it is azure-storage's for a key."""
    is_known = type(policy).__module__.startswith("azure.storage.")
    is_of_key = all(isinstance(getattr(policy, f"account_{of}", None), str) for of in _OF_KEY)
    return KeySignatures(policy) if is_known and is_of_key else policy


def plain_path(path: str) -> str | None:
    """*path* of a URL as it is sent, and signed; ``None`` where it is not plain.

    For files in one directory, all but the last part of the name is looked at only once.
    """
    directory, slash, name = path.rpartition("/")
    above = _as_sent(directory) if directory else ""
    last = _as_sent(slash + name) if "%" in name else _plain(slash + name)
    return None if above is None or last is None else above + last


@lru_cache(maxsize=1024)
def _as_sent(path: str) -> str | None:
    # As aiohttp sends it, which unescapes what needs no escape.
    return None if _plain(path) is None else str(URL(path))


def _plain(path: str) -> str | None:
    return path if _PLAIN_PATH.fullmatch(path) else None


def _in_lower_case(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _shape_of(method: str, path: str, headers: Mapping[str, str]) -> _Shape:
    return (method, _ESCAPED if "%" in path else _PLAIN, *headers)
