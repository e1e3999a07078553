"""The values that cross the line between core and adapter: plain, frozen, picklable."""

from dataclasses import dataclass
from enum import Enum
from typing import NewType, TypeAlias

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath

Token = NewType("Token", str)
"""Identifies one content at one path: etag, generation, version id, or inode + mtime + size."""


class Expect(Enum):
    """What must stand at a path for a change to happen, when it is not one known content."""

    ABSENT = "absent"
    ANYTHING = "anything"


Expectation: TypeAlias = Expect | Token


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file as a store shows it.

    Attributes:
        path: Where it stands.
        size_bytes: How long it is.
        token: Which content it is; changes whenever the content is replaced.
        nonce: What we wrote beside the content to recognise it, where the store keeps metadata.
    """

    path: StorePath
    size_bytes: int
    token: Token
    nonce: Nonce | None = None


@dataclass(frozen=True, slots=True)
class Directory:
    """One directory, or common key prefix, that a listing shows."""

    path: StorePath


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something that a listing shows and that is neither a file nor a directory: a link, say.

    Whoever lists data refuses it. It is a value, so that it does not hide what stands beside it
    from those who only look for records of their own.

    Attributes:
        path: Where it stands, or what it is called in messages where its name cannot be written.
        refusal: Why it is refused.
    """

    path: StorePath
    refusal: StoreError


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes and the entry they belong to, from one answer."""

    entry: Entry
    data: bytes


@dataclass(frozen=True, slots=True)
class Part:
    """One stored part of a pending upload."""

    number: int
    token: Token
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingUpload:
    """All that another process needs to complete or abort an upload.

    Attributes:
        path: Where its object will stand.
        upload_id: Which of the uploads of that path it is.
        nonce: What its object will carry; empty where the upload was listed, as no listing of
            uploads shows it. No entry carries an empty one.
        parts: What was stored of it, as far as the caller knows.
    """

    path: StorePath
    upload_id: str
    nonce: Nonce
    parts: tuple[Part, ...] = ()
