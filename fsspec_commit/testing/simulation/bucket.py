"""The state of a simulated store: objects, directories and uploads, with habits as switches.

As a rule there are no directories and no renames. Etags repeat for equal bytes. Uploads are
invisible until they are completed. What servers really do differently was observed on ministack,
SeaweedFS, versitygw, MinIO and s3s-fs; each habit here is one of theirs, of Google's, of Azure's or
of a disk.
"""

import errno
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import md5
from http import HTTPStatus
from itertools import count
from threading import Lock
from typing import Literal, NamedTuple

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    AtomicRename,
    Entry,
    Expect,
    Expectation,
    Part,
    PendingUpload,
    Token,
)


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What a server does.

    Attributes:
        versioned: A token is never that of another content; else equal bytes have equal ones.
        conditional_delete: A delete on condition looks at the condition; else it just deletes.
        listable: Pending uploads can be listed.
        keyed_by: Whether two uploads of one path are two, or the first that is completed drops
            what is pending for the others, as with uncommitted blocks.
        again: The status that answers a second completion of an upload.
        uploads: Whether there are any.
        renames: What one rename moves. Where that is a directory there are directories: a write
            makes those it needs, a rename finds them missing.
        keeps_tokens: A renamed object has the token it had; else another, beside its metadata.
        encrypts: A part has another etag each time that it is stored, as with a key of KMS; its
            checksum, which is the end of the etag here, is that of its bytes.
        deleted_stay: What was deleted is in the way of what is created, as versitygw's markers are
            where it keeps versions. Jobs are refused there, so no family has it.
        folds: Names that differ in case, or in their normal form, are one.
    """

    versioned: bool = False
    conditional_delete: bool = True
    listable: bool = True
    keyed_by: Literal["upload_id", "path"] = "upload_id"
    again: Literal[200, 403, 404] = 404
    uploads: bool = True
    renames: AtomicRename = AtomicRename.NONE
    keeps_tokens: bool = False
    encrypts: bool = False
    deleted_stay: bool = False
    folds: bool = False


@dataclass(slots=True, eq=False)
class Object:
    """One object: its bytes, and what was sent beside them; it never changes."""

    data: bytes
    token: Token
    nonce: Nonce | None


class Change(NamedTuple):
    """What one path held before and after a request; ``None`` is nothing."""

    path: StorePath
    before: Object | None
    after: Object | None


@dataclass
class Upload:
    """A pending upload."""

    path: StorePath
    nonce: Nonce
    parts: dict[int, bytes] = field(default_factory=dict)
    tokens: dict[int, Token] = field(default_factory=dict)
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    def token_of(self, number: int) -> Token | None:
        """The token of a part: what it was answered with, else that of its bytes."""
        if number not in self.parts:
            return None
        return self.tokens.get(number) or Token(_etag(self.parts[number]))


class Bucket:
    """Objects by path, and uploads by id; every request is atomic.

    Args:
        name: Its name.
        habits: What its server does.
        now: Its clock.

    Attributes:
        moves: Every request to rename an object, or to make a directory, even those in vain.
    """

    def __init__(
        self, name: str, habits: Habits, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.name = name
        self.habits = habits
        self._now = now
        self._changed: Callable[[Change], None] | None = None
        self._serials = count(1)
        self._encrypted = count(1)
        self.objects: dict[StorePath, Object] = {}
        self.uploads: dict[str, Upload] = {}
        self.directories: set[StorePath] = set()
        self.moves = Counter[str]()
        self._lock = Lock()
        self._consumed = set[str]()
        self._deleted = set[StorePath]()
        self._shown: dict[StorePath, tuple[Object, Entry]] = {}

    def watch(self, changed: Callable[[Change], None] | None) -> None:
        """From now on call *changed* with every change of an object, before it is answered."""
        self._changed = changed

    def kept(self, path: StorePath) -> StorePath:
        """*path* in the spelling of what stands there: here every name is one of its own."""
        return path

    def get(self, path: StorePath) -> Object | None:
        """The object at *path*."""
        with self._lock:
            return self.objects.get(path)

    def keys(self, prefix: str) -> list[StorePath]:
        """Every path that begins with *prefix*."""
        with self._lock:
            return sorted([path for path in self.objects if path.startswith(prefix)])

    def put(
        self, path: StorePath, data: bytes, nonce: Nonce | None, expecting: Expectation
    ) -> Token:
        """Write an object, and the directories that it needs; return its token."""
        with self._lock:
            self._check(path, expecting)
            token = self._token(data)
            self._make_above(path)
            self._place(path, Object(bytes(data), token, nonce))
            return token

    def delete(self, path: StorePath, expecting: Expectation) -> None:
        """Delete an object."""
        with self._lock:
            if path in self.directories:
                raise refused(path, "it is a directory")
            if self.habits.conditional_delete:
                self._check(path, expecting)
            self._take(path)
            self._deleted.add(path)

    def rename(
        self, source: StorePath, target: StorePath, token: Token | None, expecting: Expectation
    ) -> None:
        """Rename an object.

        Raises:
            ParentMissingError: The directory of *target* is missing.
            StoreError: It is refused.
        """
        with self._lock:
            self.moves["rename"] += 1
            found = self.objects.get(source)
            if found is None or token not in {None, found.token}:
                raise refused(source, "there is no such object", errno.ENOENT)
            if target in self.directories:
                raise refused(target, "it is a directory")
            if not self._has_parent(target):
                raise ParentMissingError(target)
            self._check(target, expecting)
            if not self.habits.keeps_tokens:
                found = replace(found, token=self._token(found.data))
            self._take(source)
            self._place(target, found)

    def rename_directory(self, source: StorePath, target: StorePath) -> None:
        """Rename a directory, to a name that is free.

        Raises:
            ParentMissingError: The directory of *target* is missing.
            StoreError: It is refused.
        """
        with self._lock:
            if source not in self.directories or f"{target}/".startswith(f"{source}/"):
                raise refused(source, "there is no such directory, or it is in the way of itself")
            if target in self.directories or target in self.objects:
                raise refused(target, "it exists", errno.EEXIST)
            if not self._has_parent(target):
                raise ParentMissingError(target)
            length = len(source)
            for path in [one for one in self.objects if one.startswith(f"{source}/")]:
                moving = self.objects[path]
                self._take(path)
                self._place(StorePath(target + path[length:]), moving)
            moved = {one for one in self.directories if f"{one}/".startswith(f"{source}/")}
            self.directories -= moved
            self.directories |= {StorePath(target + one[length:]) for one in moved}

    def make_directory(self, path: StorePath) -> None:
        """Make a directory, and those above it."""
        with self._lock:
            self.moves["make_directory"] += 1
            self._make_above(StorePath(f"{path}/"))

    def delete_directory(self, path: StorePath) -> None:
        """Delete a directory with all below it."""
        with self._lock:
            if path in self.objects:
                raise refused(path, "it is no directory")
            for one in [one for one in self.objects if one.startswith(f"{path}/")]:
                self._take(one)
            self.directories -= {
                one for one in self.directories if f"{one}/".startswith(f"{path}/")
            }

    def remove_empty_directory(self, path: StorePath) -> None:
        """Remove a directory in which there is nothing."""
        with self._lock:
            if path in self.objects:
                raise refused(path, "it is no directory", errno.ENOTDIR)
            below = f"{path}/"
            if any(one.startswith(below) for one in (*self.objects, *self.directories)):
                raise refused(path, "it is not empty", errno.ENOTEMPTY)
            self.directories.discard(path)

    def _place(self, path: StorePath, new: Object) -> None:
        before = self.objects.get(path)
        self.objects[path] = new
        self._deleted.discard(path)
        if self._changed is not None:
            self._changed(Change(path, before, new))

    def _take(self, path: StorePath) -> None:
        before = self.objects.pop(path, None)
        if self._changed is not None and before is not None:
            self._changed(Change(path, before, None))

    def _has_parent(self, path: StorePath) -> bool:
        return (
            self.habits.renames is not AtomicRename.DIRECTORY
            or StorePath(path.rpartition("/")[0]) in self.directories
        )

    def _make_above(self, path: StorePath) -> None:
        """Make the directories that *path* is in, where there are any."""
        if self.habits.renames is not AtomicRename.DIRECTORY:
            return
        if path in self.directories:
            raise refused(path, "it is a directory")
        if path.rpartition("/")[0] in self.directories:
            return
        names = path.split("/")
        above = [StorePath("/".join(names[:depth])) for depth in range(1, len(names))]
        for directory in above:
            if directory in self.objects:
                raise refused(directory, "it is an object, and no directory")
        self.directories.update(above)

    def start(self, path: StorePath, nonce: Nonce) -> PendingUpload:
        """Begin an upload."""
        with self._lock:
            upload_id = f"upload-{next(self._serials)}"
            self.uploads[upload_id] = Upload(path, nonce, begun=self._now())
            return PendingUpload(path=path, upload_id=upload_id, nonce=nonce)

    def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Store a part of an upload."""
        with self._lock:
            if self.habits.keyed_by == "path" and upload.upload_id not in self._consumed:
                # A block is staged whatever became of those before it.
                begun = Upload(upload.path, upload.nonce, begun=self._now())
                self.uploads.setdefault(upload.upload_id, begun)
            pending = self._pending(upload)
            pending.parts[number] = bytes(data)
            pending.tokens[number] = Token(
                f"{next(self._encrypted)}:{_etag(data)}" if self.habits.encrypts else _etag(data)
            )
            return Part(number, pending.tokens[number], len(data))

    def stored_parts(self, upload: PendingUpload) -> list[Part] | None:
        """The parts of an upload; ``None`` if there is no such upload."""
        with self._lock:
            found = self.uploads.get(upload.upload_id)
            if found is None or found.path != upload.path:
                return None
            return [
                Part(number, found.token_of(number) or Token(""), len(data))
                for number, data in sorted(found.parts.items())
            ]

    def complete(self, upload: PendingUpload, expecting: Expectation) -> None:
        """Make the object of an upload visible, which consumes the upload."""
        with self._lock:
            if upload.upload_id in self._consumed and self.habits.again == HTTPStatus.OK.value:
                return
            pending = self._pending(upload)
            pieces = [pending.parts.get(part.number) for part in upload.parts]
            if any(pending.token_of(part.number) != part.token for part in upload.parts):
                raise refused(upload.path, "a part is missing, or another")
            if not upload.parts or pending.nonce != upload.nonce:
                raise refused(upload.path, "no such upload")
            self._check(upload.path, expecting)
            data = b"".join(filter(None, pieces))
            self._place(upload.path, Object(data, self._token(data), upload.nonce))
            del self.uploads[upload.upload_id]
            self._consumed.add(upload.upload_id)
            if self.habits.keyed_by == "path":
                for upload_id, other in list(self.uploads.items()):
                    if other.path == upload.path:
                        del self.uploads[upload_id]

    def abort(self, upload: PendingUpload) -> None:
        """Drop an upload; one of that id that is pending under another path is left alone."""
        with self._lock:
            pending = self.uploads.get(upload.upload_id)
            if pending is not None and pending.path == upload.path:
                del self.uploads[upload.upload_id]

    def pending(self, prefix: str) -> list[PendingUpload]:
        """The pending uploads of paths that begin with *prefix*, where they can be listed."""
        if not self.habits.listable:
            return []
        with self._lock:
            return [
                # No listing says what was sent beside an upload.
                PendingUpload(
                    path=upload.path, upload_id=upload_id, nonce=Nonce(""), begun=upload.begun
                )
                for upload_id, upload in self.uploads.items()
                if upload.path.startswith(prefix)
            ]

    def entry(self, path: StorePath) -> Entry | None:
        """The object at *path*, as a listing shows it."""
        found = self.get(path)
        if found is None:
            return None
        shown = self._shown.get(path)
        if shown is None or shown[0] is not found:
            size = len(found.data)
            entry = Entry(path=path, size_bytes=size, token=found.token, nonce=found.nonce)
            shown = self._shown[path] = (found, entry)
        return shown[1]

    def _pending(self, upload: PendingUpload) -> Upload:
        pending = self.uploads.get(upload.upload_id)
        if pending is None or pending.path != upload.path:
            raise refused(upload.path, "no such upload")
        return pending

    def _check(self, path: StorePath, expecting: Expectation) -> None:
        there = self.objects.get(path)
        stays = self.habits.deleted_stay and path in self._deleted
        if expecting is Expect.ABSENT and (there is not None or stays):
            raise refused(path, "it exists", errno.EEXIST)
        if not isinstance(expecting, Expect) and (there is None or there.token != expecting):
            raise refused(path, "it is not what was expected there", errno.EEXIST)

    def _token(self, data: bytes) -> Token:
        etag = _etag(data)
        return Token(f"{next(self._serials)}:{etag}" if self.habits.versioned else etag)


class ParentMissingError(Exception):
    """The directory that an object is to be renamed into is not there."""


def refused(path: str, why: str, number: int | None = None) -> StoreError:
    """The error for a request that was refused."""
    error = StoreError(f"{path!r}: {why}", reply=Reply.REFUSED, path=path)
    error.errno = number
    return error


def _etag(data: bytes) -> str:
    return md5(data, usedforsecurity=False).hexdigest()
