"""The values that the core and the adapters exchange: plain, frozen, picklable."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import NewType, TypeAlias, TypeVar

from fsspec_commit.errors import StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath

Token = NewType("Token", str)
"""Identifies one content at one path: etag, generation, version id, or inode + mtime + size."""


class Expect(Enum):
    """What must stand at a path for a change to happen, other than one known content."""

    ABSENT = "absent"
    ANYTHING = "anything"


Expectation: TypeAlias = Expect | Token
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file as a store shows it.

    Attributes:
        path: Where it stands.
        size_bytes: How long it is.
        token: Identifies its content; changes whenever the content is replaced.
        nonce: The nonce in its metadata, by which the file is recognised, if it carries one.
        begins_page: Whether what a listing shows before it may be of an earlier moment, because
            another answer has shown that: see :func:`later_page`.
    """

    path: StorePath
    size_bytes: int
    token: Token
    nonce: Nonce | None = None
    begins_page: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Directory:
    """One directory, or common key prefix, that a listing shows."""

    path: StorePath


def later_page(page: Iterable[Shown], *, is_sorted: bool = True) -> Iterator[Shown | Entry]:
    """What is on a page of a listing, other than the first, with its first file marked.

    A work area that a file's directory, or one above it, has by now may sort before that file, and
    have come into being since the answer before. Whoever is about to delete the file looks for it.

    Where names come in no order, that work area may as well have its place on a page that comes
    later, and be gone by then. So there the first page of several is passed through this, too.

    Args:
        page: What the page shows.
        is_sorted: Whether pages are in the order of names. If not, each file is marked.
    """
    begins = True
    for one in page:
        if begins and isinstance(one, Entry):
            begins = not is_sorted
            yield replace(one, begins_page=True)
        else:
            yield one


@dataclass(frozen=True, slots=True)
class Unusable:
    """Something in a listing that is neither a file nor a directory, such as a link.

    It is refused among data. It is a value and not an error, so that a listing of records can pass
    over it.

    Attributes:
        path: Where it stands; or a printable form of that, if its name is not Unicode.
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
    """One stored part of a pending upload.

    Attributes:
        number: Its place among the parts, from 1.
        token: Identifies its content.
        size_bytes: Its size; ``None`` if another program stored it, which does not say.
    """

    number: int
    token: Token
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingUpload:
    """All that another process needs to complete or abort an upload.

    Attributes:
        path: Where its object will stand.
        upload_id: Identifies it among the uploads of that path.
        nonce: The nonce that its object will carry; empty if the upload was listed, since listings
            do not show it, or was begun by another program. No entry carries an empty one.
        parts: The parts that were stored, as far as the caller knows.
        object_bytes: The size of its object if another program has begun the upload: together with
            a name that is never used again, it identifies the object. Otherwise ``None``.
        begun: When it was begun, by the store's clock, if a listing has said so.
    """

    path: StorePath
    upload_id: str
    nonce: Nonce
    parts: tuple[Part, ...] = ()
    object_bytes: int | None = None
    begun: datetime | None = field(default=None, compare=False)
