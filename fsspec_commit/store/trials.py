"""What a probe tries out, one ability after the other.

A trial concludes from answers and refusals alone. One that was not answered is given up, and is
begun again under new names.
"""

import asyncio
import errno
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias, TypeVar

import msgspec

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.store.abilities import (
    Ask,
    CompletesUploads,
    RenamesDirectories,
    RenamesFiles,
    Store,
    ask_once,
)
from fsspec_commit.store.capabilities import AtomicRename
from fsspec_commit.store.json_forms import decode_json
from fsspec_commit.store.values import Entry, Expect, Expectation, PendingUpload, Token

T = TypeVar("T")
Shown: TypeAlias = dict[str, object]
"""What the store did, by the name of the capability."""
Trial: TypeAlias = "Callable[[TrialGround], Awaitable[Shown]]"
_READ_BYTES = 1 << 10


class TrialGround:
    """Where trials are made: a store, and a directory in it with new names for each attempt.

    Attributes:
        scratch: The directory.
        may_hold: Whether anything can be in it.
    """

    def __init__(
        self, store: Store, scratch: StorePath, ids: IdSource, *, resend: Ask = ask_once
    ) -> None:
        self.store = store
        self.scratch = scratch
        self.may_hold = False
        self._ids = ids
        self._resend = resend
        self._attempts = 0
        self._has_stray_uploads = False

    async def attempt(self, trial: Trial) -> Shown:
        """Make *trial* once, under names of its own."""
        self._attempts += 1
        return await trial(self)

    def path(self, name: str) -> StorePath:
        """What this attempt calls *name*."""
        return StorePath(f"{self.scratch}/{self._attempts}-{name}")

    async def sent(self, change: Callable[[], Awaitable[T]]) -> T:
        """Send a change again while it is certainly not done, as of a name that was just written.

        GCS takes one write a second of a name, and a trial writes some of them twice. An attempt
        under new names would come to the same.

        Raises:
            StoreError: It was refused, is in doubt, or was not done in the end.
        """

        async def decided() -> T | StoreError:
            try:
                return await change()
            except StoreError as error:
                if error.reply is Reply.NOT_DONE:
                    raise
                return error

        answer = await self._resend(decided)
        if isinstance(answer, StoreError):
            raise answer
        return answer

    async def put(self, path: StorePath, data: bytes, expecting: Expectation) -> Token:
        """Write a file, and remember that one may be there."""
        try:
            token = await self.sent(
                lambda: self.store.put(path, data, expecting=expecting, within=None)
            )
        except StoreError as error:
            self.may_hold |= error.reply is Reply.UNKNOWN
            raise
        self.may_hold = True
        return token

    async def delete(self, path: StorePath, expecting: Expectation) -> bool:
        """Delete a file."""
        await self.sent(lambda: self.store.delete(path, expecting=expecting))
        return True

    async def content(self, path: StorePath) -> bytes | None:
        """What a file holds, if there is one."""
        content = await self.store.read(path, limit_bytes=_READ_BYTES)
        return None if content is None else content.data

    async def listed(self) -> dict[StorePath, Token] | None:
        """Every file of this attempt as both listings show it; ``None`` when they differ."""
        ours = self.path("")
        children = [child async for child in self.store.list_children(self.scratch)]
        tree = {entry.path: entry.token async for entry in self.store.list_tree(self.scratch)}
        shown = {child.path: child.token for child in children if isinstance(child, Entry)}
        of_tree, of_children = (
            {path: token for path, token in listing.items() if path.startswith(ours)}
            for listing in (tree, shown)
        )
        return of_tree if of_tree == of_children else None

    async def begin(self, uploads: CompletesUploads, path: StorePath) -> PendingUpload:
        """An upload with one part, which holds its own nonce."""
        try:
            bare = await uploads.start(path, self._ids.nonce())
        except StoreError as error:
            if error.reply is Reply.UNKNOWN:
                self._has_stray_uploads = self.may_hold = True
            raise
        self.may_hold = True
        try:
            part = await uploads.put_part(bare, 1, bare.nonce.encode())
        except BaseException:
            await self.drop(uploads, bare)
            raise
        return PendingUpload(path=path, upload_id=bare.upload_id, nonce=bare.nonce, parts=(part,))

    async def drop(self, uploads: CompletesUploads, upload: PendingUpload) -> None:
        """Abort an upload; one that would not go is looked for in the end."""
        try:
            await uploads.abort(upload)
        except StoreError:
            self._has_stray_uploads = True

    async def clear(self) -> None:
        """Remove all of it.

        Raises:
            StoreError: Something may be left.
        """
        await self.store.delete_tree(self.scratch)
        uploads = self.store.uploads
        if self._has_stray_uploads and uploads is not None:
            for upload in [one async for one in uploads.pending(self.scratch)]:
                await uploads.abort(upload)


async def _puts_and_listings(ground: TrialGround) -> Shown:
    """Two create one file, of whom one wins; it is replaced and deleted by tokens, and listed.

    A third comes late: that one of two is refused can also be a collision.
    """
    path = ground.path("created")
    rivals = [b"one", b"two"]
    tokens = await _race(ground.put(path, data, Expect.ABSENT) for data in rivals)
    won = [(data, token) for data, token in zip(rivals, tokens, strict=True) if token is not None]
    exclusive = (
        len(won) == 1
        and await _answer(ground.put(path, b"late", Expect.ABSENT)) is None
        and await ground.content(path) == won[0][0]
    )
    old = won[0][1] if exclusive else await ground.put(path, b"old", Expect.ANYTHING)
    new = await _answer(ground.put(path, b"new", old))
    stale = await _answer(ground.put(path, b"stale", old))
    if new is None:
        await ground.put(path, b"new", Expect.ANYTHING)
    there = await ground.store.read(path, limit_bytes=_READ_BYTES)
    replaces = new is not None and stale is None and there is not None and there.data == b"new"
    token = old if there is None else there.entry.token
    consistent = await ground.listed() == {path: token}
    deleted = [await _answer(ground.delete(path, expecting)) for expecting in (old, token)]
    left = await ground.content(path)
    if left is not None:
        await ground.delete(path, Expect.ANYTHING)
    return {
        "exclusive_create": exclusive,
        "replace_if_match": replaces,
        "delete_if_match": old != token and deleted == [None, True] and left is None,
        "consistent_listing": consistent and await ground.listed() == {},
    }


async def _renames(ground: TrialGround) -> Shown:
    """Two files, then two directories, are renamed to one name: one wins, and moves whole.

    The other one does not come late either.
    """
    files, directories = ground.store.files, ground.store.directories
    if files is None:
        return {"atomic_rename": AtomicRename.NONE, "exclusive_rename": False}
    shown = await _file_renames(ground, files)
    if directories is not None and shown["atomic_rename"] is AtomicRename.FILE:
        whole = await _directory_renames(ground, directories)
        shown["atomic_rename"] = AtomicRename.DIRECTORY if whole else AtomicRename.FILE
    return shown


async def _file_renames(ground: TrialGround, files: RenamesFiles) -> Shown:
    store = ground.store
    sources = [ground.path(name) for name in ("one", "two")]
    target = ground.path("renamed")
    tokens = [await ground.put(path, path.encode(), Expect.ANYTHING) for path in sources]

    async def rename(number: int) -> bool:
        await ground.sent(
            lambda: files.rename(
                sources[number],
                target,
                token=tokens[number],
                expecting=Expect.ABSENT,
                within=ground.scratch,
            )
        )
        return True

    won = await _race(rename(number) for number in range(2))
    winners = [number for number in range(2) if won[number]]
    left = [await store.stat(path) for path in sources]
    there = await store.read(target, limit_bytes=_READ_BYTES)
    if there is None or there.data not in {sources[number].encode() for number in winners}:
        return {"atomic_rename": AtomicRename.NONE, "exclusive_rename": False}
    kept = there.entry.token in {tokens[number] for number in winners}
    # Where a rename is said to keep the token, another token is another object: a copy.
    copied = not kept and store.capabilities.token_survives_rename is True
    moved = not copied and all(left[number] is None for number in winners)
    standing = [entry.token for entry in left if isinstance(entry, Entry)]
    exclusive = (
        len(winners) == 1
        and tokens[1 - winners[0]] in standing
        and await _answer(rename(1 - winners[0])) is None
    )
    return {
        "atomic_rename": AtomicRename.FILE if moved else AtomicRename.NONE,
        "exclusive_rename": exclusive,
        "token_survives_rename": kept,
    }


async def _directory_renames(ground: TrialGround, directories: RenamesDirectories) -> bool:
    sources = [ground.path(name) for name in ("first", "second")]
    target = ground.path("moved")
    for source in sources:
        await ground.put(StorePath(f"{source}/file"), source.encode(), Expect.ANYTHING)

    async def rename(source: StorePath) -> bool:
        await ground.sent(
            lambda: directories.rename_directory(source, target, within=ground.scratch)
        )
        return True

    won = await _race(map(rename, sources))
    if won.count(True) != 1:
        return False
    winner, loser = sources if won[0] else reversed(sources)
    return (
        await _answer(rename(loser)) is None
        and await ground.content(StorePath(f"{target}/file")) == winner.encode()
        and await ground.store.stat(StorePath(f"{winner}/file")) is None
        and await ground.content(StorePath(f"{loser}/file")) == loser.encode()
    )


async def _publication(ground: TrialGround) -> Shown:
    """A file that is being written is not visible, and then it is."""
    path = ground.path("written")
    writer = ground.store.writer(path, within=ground.scratch)
    try:
        await writer.write(b"whole")
        hidden = await ground.content(path) is None
        await writer.finish()
    except BaseException:
        await writer.discard()
        raise
    return {"whole_object_publish": hidden and await ground.content(path) == b"whole"}


async def _uploads(ground: TrialGround) -> Shown:
    """Of two uploads of one path one is aborted, the other finished from plain data."""
    uploads = ground.store.uploads
    if uploads is None:
        return {"multipart": False}
    path = ground.path("uploaded")
    begun: list[PendingUpload] = []
    try:
        begun = [await ground.begin(uploads, path)]
        begun.append(await ground.begin(uploads, path))
        both = {upload.upload_id for upload in begun}
        hidden = await ground.content(path) is None
        listed = await _if_known(_listed_uploads(uploads, path))
        await _answer(uploads.abort(begun[0]))
        del begun[0]
        apart = await _completes(ground, uploads, begun[0])
        if apart:
            del begun[0]
        else:
            begun.append(await ground.begin(uploads, path))
        alone = apart or await _completes(ground, uploads, begun[-1])
    finally:
        for upload in begun:
            await ground.drop(uploads, upload)
    if not (hidden and alone):
        return {"multipart": False}
    return {
        "multipart": True,
        "uploads_listable": listed == both,
        "upload_keyed_by": "upload_id" if apart else "path",
    }


async def _listed_uploads(uploads: CompletesUploads, path: StorePath) -> set[str]:
    """The pending uploads of *path*, as the listing of its directory shows them."""
    directory = StorePath(path.rpartition("/")[0])
    return {one.upload_id async for one in uploads.pending(directory) if one.path == path}


async def _completes(ground: TrialGround, uploads: CompletesUploads, upload: PendingUpload) -> bool:
    """Whether *upload* is completed from what another process would be sent of it."""
    sent = decode_json(msgspec.json.encode(upload), PendingUpload)
    await _answer(uploads.complete(sent, expecting=Expect.ABSENT))
    return await ground.content(upload.path) == upload.nonce.encode()


async def _answer(call: Awaitable[T]) -> T | None:
    """What *call* answers; ``None`` when it was refused.

    Raises:
        StoreError: It failed in another way: nothing can be concluded from that.
    """
    try:
        return await call
    except StoreError as error:
        if error.reply is Reply.REFUSED:
            return None
        raise


async def _if_known(call: Awaitable[T]) -> T | None:
    """What *call* answers; ``None`` when the store does not know such a request.

    Raises:
        StoreError: It failed in another way. What is denied may be allowed to others, who would
            rely on what is found here.
    """
    try:
        return await call
    except StoreError as error:
        if error.reply is Reply.REFUSED and error.errno == errno.EOPNOTSUPP:
            return None
        raise


async def _race(calls: Iterable[Awaitable[T]]) -> list[T | None]:
    """What calls answer that are made at once; all have ended when one has failed."""
    answers = await asyncio.gather(*map(_answer, calls), return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    if failed:
        raise failed[0]
    return [answer for answer in answers if not isinstance(answer, BaseException)]


TRIALS: tuple[Trial, ...] = (_puts_and_listings, _renames, _publication, _uploads)
"""All of them, in the order in which they are made."""
