"""What one page of a listing shows, as `ListObjectsV2` or `ListObjectVersions` answers it."""

from collections.abc import Iterator, Mapping
from typing import Any

_KINDS = ("Contents", "Versions", "DeleteMarkers")


def next_place(page: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the page after one of `ListObjectsV2`."""
    return {"ContinuationToken": page.get("NextContinuationToken")}


def contents(page: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The objects of a page that stand now."""
    versions = page.get("Versions") or ()
    return [*(page.get("Contents") or ()), *(one for one in versions if one.get("IsLatest"))]


def keys_on(page: Mapping[str, Any]) -> list[bytes]:
    """Every key on a page, in the form by which S3 sorts them."""
    shown = (page.get(kind) or () for kind in _KINDS)
    return [str(one["Key"]).encode() for kind in shown for one in kind]


def names_on(page: Mapping[str, Any]) -> Iterator[str]:
    """Every key on a page, and every directory; empty where the page does not say which."""
    for kind in _KINDS:
        for one in page.get(kind) or ():
            yield str(one.get("Key") or "")
    for common in page.get("CommonPrefixes") or ():
        yield str(common.get("Prefix") or "")


def is_after(page: Mapping[str, Any], key: str) -> bool:
    """Whether every key on a page comes after *key*."""
    return min(keys_on(page), default=b"\xff") > key.encode()
