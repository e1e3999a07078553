"""What parameters and answers say of a content: etag, nonce, condition."""

from collections.abc import Mapping
from typing import Any

from fsspec_commit.ids import NONCE, Nonce
from fsspec_commit.store import Expect, Expectation, Token

NONCE_NAME = "fsspec-commit-nonce"
"""The metadata of an object that we wrote: ``x-amz-meta-fsspec-commit-nonce``."""


def etag_of(answer: Mapping[str, Any]) -> str:
    """The etag without its quotation marks; empty where there is none."""
    etag = str(answer.get("ETag") or "")
    quoted = len(etag) > 1 and etag[0] == etag[-1] == '"'
    return etag[1:-1] if quoted else etag


def match_of(token: Token) -> str:
    """What `If-Match` says for a token."""
    etag = token.rpartition(" ")[2]
    return etag if etag.startswith("W/") else f'"{etag}"'


def metadata_of(nonce: Nonce | None) -> dict[str, Any]:
    """The parameters that put *nonce* beside a content."""
    return {} if nonce is None else {"Metadata": {NONCE_NAME: str(nonce)}}


def nonce_of(answer: Mapping[str, Any]) -> Nonce | None:
    """The nonce beside a content that was looked at, if it is one of ours."""
    metadata = {str(k).lower(): str(v) for k, v in (answer.get("Metadata") or {}).items()}
    found = metadata.get(NONCE_NAME, "")
    return Nonce(found) if NONCE.fullmatch(found) else None


def condition_of(expecting: Expectation) -> dict[str, Any]:
    """The parameters by which a request is refused where *expecting* does not hold."""
    if expecting is Expect.ABSENT:
        return {"IfNoneMatch": "*"}
    return {} if isinstance(expecting, Expect) else {"IfMatch": match_of(expecting)}
