"""Signatures of version 4, as S3 wants them.

https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
"""

import hashlib
import hmac
import time
from typing import Any

_ALGORITHM = "AWS4-HMAC-SHA256"


class Moment:
    """One second in which one pair of keys signs.

    Attributes:
        credentials: That pair: access key, secret key and, for a session, a token.
        stamp: That second, as the header has it.
        scope: Of the keys: day, region and service.
    """

    __slots__ = ("_head", "_key", "credentials", "scope", "stamp")

    def __init__(self, credentials: Any, stamp: str, scope: str, key: bytes) -> None:
        self.credentials = credentials
        self.stamp = stamp
        self.scope = scope
        self._key = key
        self._head = f"{_ALGORITHM}\n{stamp}\n{scope}\n"

    def authorization(self, canonical: str, signed_headers: str) -> str:
        """The header that authorizes the *canonical* request."""
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        signature = hmac.digest(self._key, f"{self._head}{digest}".encode(), "sha256").hex()
        return (
            f"{_ALGORITHM} Credential={self.credentials.access_key}/{self.scope}, "
            f"SignedHeaders={signed_headers}, Signature={signature}"
        )


class Signer:
    """Signs for one region. The key for a day and a secret is derived once."""

    def __init__(self, region: str, service: str) -> None:
        self._region = region
        self._service = service
        self._second = -1
        self._moment: Moment | None = None
        self._day = ""
        self._secret = ""
        self._key = b""

    def at(self, second: int, credentials: Any) -> Moment:
        """The *second* since the epoch, with *credentials* as they are then."""
        moment = self._moment
        if moment is None or second != self._second or credentials != moment.credentials:
            stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(second))
            scope = f"{stamp[:8]}/{self._region}/{self._service}/aws4_request"
            key = self._key_of(stamp[:8], credentials.secret_key)
            moment = self._moment = Moment(credentials, stamp, scope, key)
            self._second = second
        return moment

    def _key_of(self, day: str, secret: str) -> bytes:
        if (day, secret) != (self._day, self._secret):
            key = f"AWS4{secret}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._day, self._secret, self._key = day, secret, key
        return self._key
