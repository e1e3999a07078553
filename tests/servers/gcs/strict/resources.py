"""Resources of objects: https://cloud.google.com/storage/docs/json_api/v1/objects#resource."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import google_crc32c

from tests.servers.gcs.strict.failures import invalid
from tests.servers.gcs.strict.state import etag, now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.servers.gcs.strict.messages import Call
    from tests.servers.gcs.strict.state import Bucket, State

# What a client may say of its object; `name` beside it.
_WRITABLE = frozenset(
    {
        *("cacheControl", "contentDisposition", "contentEncoding", "contentLanguage"),
        *("contentType", "customTime", "metadata", "storageClass"),
    }
)
_NAME_MAX_BYTES = 1_024
# "Use the X-Goog-Hash header": https://cloud.google.com/storage/docs/data-validation
_HASHES = {"crc32c": "crc32c", "md5": "md5Hash"}


def checked_name(name: object) -> str:
    """https://cloud.google.com/storage/docs/objects#naming.

    Raises:
        Failure: no object may be called so.
    """
    if not isinstance(name, str) or not name:
        raise invalid("Required", "name")
    size_bytes = len(name.encode())
    if size_bytes > _NAME_MAX_BYTES:
        raise invalid("The name is longer than 1024 bytes in UTF-8.", "name")
    wrong = name in {".", ".."} or name.startswith(".well-known/acme-challenge/")
    if wrong or "\r" in name or "\n" in name:
        raise invalid(f"Invalid object name: {name!r}", "name")
    return name


def stated(document: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a client's document that is for the client to say.

    The rest is ignored, as the provider does: clients send back what they were given.

    Raises:
        Failure: it is not of the right form.
    """
    said = {key: value for key, value in document.items() if key in _WRITABLE and value is not None}
    metadata = said.get("metadata", {})
    is_text = isinstance(metadata, dict) and all(isinstance(one, str) for one in metadata.values())
    if not is_text:
        raise invalid("Custom metadata must be text by name.", "metadata")
    return said


def hashes(content: bytes) -> dict[str, str]:
    checksum = google_crc32c.value(content).to_bytes(4, "big")
    digest = hashlib.md5(content, usedforsecurity=False).digest()
    return {
        "crc32c": base64.b64encode(checksum).decode(),
        "md5Hash": base64.b64encode(digest).decode(),
    }


def check_hashes(
    found: Mapping[str, str], said: Mapping[str, Any], headers: Mapping[str, str]
) -> None:
    """Whether the data arrived that the client meant to send.

    Raises:
        Failure: other data arrived; nothing is stored.
    """
    claims = [(key, said[key]) for key in _HASHES.values() if said.get(key)]
    for claim in headers.get("x-goog-hash", "").split(","):
        name, is_claim, value = claim.strip().partition("=")
        if is_claim and name in _HASHES:
            claims.append((_HASHES[name], value))
    if "content-md5" in headers:
        claims.append(("md5Hash", headers["content-md5"]))
    for key, value in claims:
        if found[key] != value:
            raise invalid(f'Provided {key} "{value}" doesn\'t match calculated "{found[key]}".')


def made(
    state: State,
    bucket: Bucket,
    name: str,
    said: Mapping[str, Any],
    *,
    size_bytes: int,
    found: Mapping[str, str],
) -> dict[str, Any]:
    """The resource of a new generation, whose content has the hashes *found*."""
    moment = now()
    return {
        "kind": "storage#object",
        "name": name,
        "bucket": bucket.name,
        "generation": str(state.new_generation()),
        "metageneration": "1",
        "storageClass": bucket.resource["storageClass"],
        "contentType": "application/octet-stream",
        **said,
        "size": str(size_bytes),
        **{key: found[key] for key in _HASHES.values()},
        "timeCreated": moment,
        "updated": moment,
        "timeStorageClassUpdated": moment,
        "timeFinalized": moment,
    }


def shown(bucket: Bucket, resource: Mapping[str, Any], call: Call) -> dict[str, Any]:
    """The resource as it is answered: with its addresses and etag."""
    path, generation = quote(resource["name"], safe=""), int(resource["generation"])
    place = f"b/{bucket.name}/o/{path}"
    return {
        **resource,
        "id": f"{bucket.name}/{resource['name']}/{generation}",
        "selfLink": f"{call.host}/storage/v1/{place}",
        "mediaLink": f"{call.host}/download/storage/v1/{place}?generation={generation}&alt=media",
        "etag": etag(generation),
    }
