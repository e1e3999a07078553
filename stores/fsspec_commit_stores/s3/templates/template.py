"""A template: two texts with gaps, that which is sent and that which is signed.

The gaps are those of Python's ``%``, by name, and all of them are filled from one mapping.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import quote

import aiohttp

from fsspec_commit_stores.http.exchanges import Exchanges
from fsspec_commit_stores.s3.templates.bodies import body_of
from fsspec_commit_stores.s3.templates.signing import Moment, Signer

AUTHORIZATION = "authorization"
INVOCATION = "amz-sdk-invocation-id"
LENGTH = "content-length"
DATE = "x-amz-date"
DIGEST = "x-amz-content-sha256"
TOKEN = "x-amz-security-token"  # noqa: S105  # the name of a header

_MODE = "x-amz-checksum-mode"
UNSIGNED_BODY = "UNSIGNED-PAYLOAD"
# What every way of writing a header leaves as it stands, and a signature takes as it stands.
_PLAIN = re.compile("[!-~]+(?: [!-~]+)*")


@dataclass(frozen=True, slots=True, repr=False)
class Filled:
    """One request; with all its secrets.

    Attributes:
        values: What the gaps are filled with.
        body: What it carries.
    """

    values: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Gaps:
    """Which parameter goes where, and how it is written there.

    Attributes:
        in_path: Those in the path: percent-encoded, but for slashes.
        in_query: Those in the query: percent-encoded.
        in_headers: Those in headers: as they are.
        in_metadata: The names of metadata, in headers as well, by the names of their gaps.
    """

    in_path: tuple[str, ...]
    in_query: tuple[str, ...]
    in_headers: tuple[str, ...]
    in_metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, repr=False)
class Template:
    """What is the same in all requests of a shape; some of it may be secret.

    Attributes:
        method: Of HTTP.
        url: With gaps.
        headers: With gaps, by their names as they are sent.
        message: With gaps: all that is sent before the body.
        canonical: With gaps: what is signed.
        signed_headers: The names of the headers among that.
        gaps: The parameters.
        signs_body: Whether the body is signed.
        has_token: Whether the credentials have a session's token.
        signer: Signs.
        session: Sends what is long, or goes through a proxy.
        proxy: That proxy, and what it is told.
        exchanges: Sends all else, if there may be exchanges.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    message: str
    canonical: str
    signed_headers: str
    gaps: Gaps
    signs_body: bool
    has_token: bool
    signer: Signer
    session: aiohttp.ClientSession
    proxy: Mapping[str, Any]
    exchanges: Exchanges | None

    @property
    def asks_for_checksum(self) -> bool:
        """Whether the answer's content is to be compared with a checksum."""
        return any(name.lower() == _MODE for name in self.headers)

    def fill(self, parameters: Mapping[str, Any], moment: Moment) -> Filled | None:
        """The request with *parameters*, signed; ``None`` where botocore knows better."""
        body = body_of(parameters)
        values = self._values(parameters)
        if body is None or values is None:
            return None
        values[DATE] = moment.stamp
        values[LENGTH] = str(len(body))
        values[INVOCATION] = _new_uuid()
        values[DIGEST] = hashlib.sha256(body).hexdigest() if self.signs_body else UNSIGNED_BODY
        if self.has_token:
            values[TOKEN] = moment.credentials.token
        canonical = self.canonical % values
        values[AUTHORIZATION] = moment.authorization(canonical, self.signed_headers)
        return Filled(values, body)

    def _values(self, parameters: Mapping[str, Any]) -> dict[str, str] | None:
        gaps = self.gaps
        values = {name: str(parameters[name]) for name in gaps.in_headers}
        for gap, name in gaps.in_metadata.items():
            values[gap] = parameters["Metadata"][name]
        for value in values.values():
            if _PLAIN.fullmatch(value) is None:
                return None
        try:
            for name in gaps.in_path:
                values[name] = _quoted(parameters[name])
                if not values[name]:
                    return None
            for name in gaps.in_query:
                values[name] = quote(str(parameters[name]), safe="-_.~")
        except UnicodeEncodeError:
            return None
        return values


def _quoted(key: str) -> str:
    """A key in a path. For files in one directory, the directory is quoted once."""
    directory, slash, name = key.rpartition("/")
    return _quoted_directory(directory) + slash + quote(name, safe="~")


@lru_cache(maxsize=1024)
def _quoted_directory(directory: str) -> str:
    return quote(directory, safe="/~")


def _new_uuid() -> str:
    """A UUID of version 4, as text: making an object of it takes longer than all else here."""
    drawn = os.urandom(16).hex()
    return f"{drawn[:8]}-{drawn[8:12]}-4{drawn[13:16]}-a{drawn[17:20]}-{drawn[20:]}"
