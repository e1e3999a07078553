"""What one page of a listing shows, as `ListObjectsV2` or `ListObjectVersions` answers it."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import unquote_plus

from fsspec_commit.store import Directory, Entry

Shown: TypeAlias = tuple[list[Directory], dict[str, Entry]]
"""Directories, and files by their keys."""

ENCODED: Mapping[str, Any] = {"EncodingType": "url"}
"""The parameters that ask for encoded names, for XML cannot say all; the caller decodes them."""

# A key has up to 1,024 bytes, each of which is three characters where it is encoded.
_KEPT_LENGTH_MAX = 3 * 1024

_KINDS = ("Contents", "Versions", "DeleteMarkers")
_NAMES = (*((kind, "Key") for kind in _KINDS), ("CommonPrefixes", "Prefix"))


def decode(page: dict[str, Any]) -> None:
    """Decode the names on a page that says that they are encoded.

    botocore does the same where it has asked for that itself, but decodes each name anew.
    """
    if not is_encoded(page):
        return
    for kind, field in _NAMES:
        for one in page.get(kind) or ():
            _decode(one, field)
    _decode(page, "NextKeyMarker")


def _decode(told: dict[str, Any], field: str) -> None:
    """Decode one *field*, if it is there; botocore makes no text of one that is there twice."""
    name = told.get(field)
    if isinstance(name, str):
        told[field] = decoded(name)


def is_encoded(page: Mapping[str, Any]) -> bool:
    """Whether a page says that its names are encoded."""
    return bool(page.get("EncodingType") == ENCODED["EncodingType"])


def decoded(name: str) -> str:
    """An encoded *name*, decoded. For files in one directory, the directory is decoded once."""
    directory, slash, last = name.rpartition("/")
    if "%" in last or "+" in last:
        last = unquote_plus(last)
    is_kept = len(directory) <= _KEPT_LENGTH_MAX
    above = _decoded_directory(directory) if is_kept else unquote_plus(directory)
    return f"{above}{slash}{last}"


@lru_cache(maxsize=1024)
def _decoded_directory(directory: str) -> str:
    return unquote_plus(directory)


def next_place(page: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of the page after one of `ListObjectsV2`."""
    return {"ContinuationToken": text_in(page, "NextContinuationToken")}


def text_in(told: Mapping[str, Any], field: str) -> str:
    """The text of a *field*; empty where it is missing, or is there twice and so no text."""
    text = told.get(field)
    return text if isinstance(text, str) else ""


def contents(page: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The objects of a page that stand now."""
    versions = page.get("Versions") or ()
    return [*(page.get("Contents") or ()), *(one for one in versions if one.get("IsLatest"))]


def keys_on(page: Mapping[str, Any]) -> list[bytes]:
    """Every key on a page, in the form by which S3 sorts them."""
    shown = (page.get(kind) or () for kind in _KINDS)
    return [str(one["Key"]).encode() for kind in shown for one in kind]


def names_on(page: Mapping[str, Any]) -> Iterator[str]:
    """Every key and every directory on a page; an empty name where the page does not say it."""
    for kind in _KINDS:
        for one in page.get(kind) or ():
            yield text_in(one, "Key")
    for common in page.get("CommonPrefixes") or ():
        yield text_in(common, "Prefix")


def is_after(page: Mapping[str, Any], key: str) -> bool:
    """Whether every key on a page comes after *key*."""
    return min(keys_on(page), default=b"\xff") > key.encode()


def directories_of(keys: Iterable[str], prefix: str) -> set[str]:
    """Every directory below *prefix* that one of *keys* is in."""
    found = set[str]()
    for key in keys:
        end = key.rfind("/", len(prefix))
        while end >= len(prefix) and key[: end + 1] not in found:
            found.add(key[: end + 1])
            end = key.rfind("/", len(prefix), end)
    return found
