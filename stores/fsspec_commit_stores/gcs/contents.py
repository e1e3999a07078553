"""Objects as the JSON API describes them: entries, tokens, nonces, conditions, and their upload.

The token of a content is its generation, which is never given twice, and which a move changes. What
a move keeps is the custom metadata, and in it the nonce.

https://cloud.google.com/storage/docs/json_api/v1/objects#resource
"""

import json
import secrets
from collections.abc import Mapping
from typing import Any, TypedDict

from fsspec_commit.ids import NONCE, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Expectation, Token
from fsspec_commit_stores.http.pieces import Pieces

NONCE_NAME = "fsspec-commit-nonce"
"""The nonce's name in the custom metadata of an object that we wrote."""


class Resource(TypedDict, total=False):
    """The fields of an object that are asked for, as the service writes them; any may be absent."""

    generation: str
    size: str
    metadata: dict[str, str]
    crc32c: str
    md5Hash: str


CONTENT_TYPE = "application/octet-stream"

_GENERATIONS = range(1, (1 << 63) - 1)
_NO_GENERATION = str((1 << 63) - 1)


def token_of(resource: Resource) -> Token | None:
    """The generation, if the resource has one."""
    generation = resource.get("generation", "")
    return Token(generation) if generation.isdecimal() else None


def nonce_of(resource: Resource) -> Nonce | None:
    """The nonce beside a content, if it is one of ours."""
    found = resource.get("metadata", {}).get(NONCE_NAME, "")
    return Nonce(found) if NONCE.fullmatch(found) else None


def entry_of(path: StorePath, resource: Resource) -> Entry | None:
    """The file that a resource describes; ``None`` where it does not say which content it is."""
    token = token_of(resource)
    size = resource.get("size", "")
    if token is None or not size.isdecimal():
        return None
    return Entry(path=path, size_bytes=int(size), token=token, nonce=nonce_of(resource))


def condition_of(expecting: Expectation) -> dict[str, str]:
    """The parameters that make a request refuse what is not expected.

    https://cloud.google.com/storage/docs/request-preconditions
    """
    if expecting is Expect.ABSENT:
        return {"ifGenerationMatch": "0"}
    return {} if isinstance(expecting, Expect) else {"ifGenerationMatch": generation_of(expecting)}


def generation_of(token: Token) -> str:
    """The generation that conditions name for *token*; for an invalid one, one no object has."""
    is_generation = token.isascii() and token.isdecimal() and int(token) in _GENERATIONS
    return token if is_generation else _NO_GENERATION


def metadata_of(nonce: Nonce | None) -> dict[str, Any]:
    """The resource of an object to be made that carries *nonce*."""
    carried = {} if nonce is None else {"metadata": {NONCE_NAME: str(nonce)}}
    return {"contentType": CONTENT_TYPE, **carried}


def record_of(nonce: Nonce | None) -> dict[str, Any]:
    """The resource of a record of the protocol, never cached, and of the standard class.

    In a bucket that anybody may read, caches on the way keep objects for an hour, unless an object
    says otherwise. And what is deleted within days costs as if it had been kept for months, where
    the bucket's own class is a cold one.

    https://cloud.google.com/storage/docs/metadata#cache-control
    https://cloud.google.com/storage/docs/storage-classes
    """
    return {**metadata_of(nonce), "cacheControl": "no-store", "storageClass": "STANDARD"}


def multipart(resource: Mapping[str, Any], data: bytes | Pieces) -> tuple[str, Pieces]:
    """Content type and body of an upload that brings metadata and bytes by one request.

    The boundary is drawn at random for each upload: content that holds it would be cut there.

    https://cloud.google.com/storage/docs/uploading-objects#uploading-an-object
    """
    boundary = secrets.token_hex(24)
    head = (
        f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n"
        f"{json.dumps(resource)}\r\n"
        f"--{boundary}\r\nContent-Type: {CONTENT_TYPE}\r\n\r\n"
    )
    tail = f"\r\n--{boundary}--\r\n"
    body = Pieces([head.encode(), *(data if isinstance(data, Pieces) else [data]), tail.encode()])
    return f"multipart/related; boundary={boundary}", body
