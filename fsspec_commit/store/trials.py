"""The trials of a probe, one for each ability.

A trial concludes from answers and refusals alone. If a request is not answered, the trial is given
up and begins anew under new names.
"""

import asyncio
import errno
import logging
from collections.abc import Awaitable, Iterable
from dataclasses import replace
from typing import TypeVar

import msgspec

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store.abilities import CompletesUploads, RenamesDirectories, RenamesFiles
from fsspec_commit.store.capabilities import AtomicRename
from fsspec_commit.store.json_forms import decode_json
from fsspec_commit.store.trial_ground import READ_BYTES, Shown, Trial, TrialGround, answer
from fsspec_commit.store.values import Entry, Expect, PendingUpload

_log = logging.getLogger("fsspec_commit")

T = TypeVar("T")
_PART_BYTES = 5 << 20
"""The shortest part of S3, except for the last one: https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html."""
_STAYS_IN_THE_WAY = (
    "the store refuses to create a file where another was deleted, as if that still stood there: a "
    "job that publishes its _SUCCESS after an earlier one would be decided and never finished; use "
    "a place where no versions of files were ever kept, such as a new bucket without versioning"
)
"""S3 documents otherwise, where the current version is a delete marker:
https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html."""


async def _puts_and_listings(ground: TrialGround) -> Shown:
    """Race two creations of one file; replace it, delete it by its tokens, and create it again.

    A third creation comes late: of two at once, one may also be refused as a collision. What is
    listed is compared in between.
    """
    path = ground.path("created")
    rivals = [b"one", b"two"]
    tokens = await _race(ground.put(path, data, Expect.ABSENT) for data in rivals)
    won = [(data, token) for data, token in zip(rivals, tokens, strict=True) if token is not None]
    exclusive = (
        len(won) == 1
        and await answer(ground.put(path, b"late", Expect.ABSENT)) is None
        and await ground.content(path) == won[0][0]
    )
    old = won[0][1] if exclusive else await ground.put(path, b"old", Expect.ANYTHING)
    new = await answer(ground.put(path, b"new", old))
    stale = await answer(ground.put(path, b"stale", old))
    if new is None:
        await ground.put(path, b"new", Expect.ANYTHING)
    there = await ground.store.read(path, limit_bytes=READ_BYTES)
    replaces = new is not None and stale is None and there is not None and there.data == b"new"
    token = old if there is None else there.entry.token
    consistent = await ground.listed() == {path: token}
    deleted = [await answer(ground.delete(path, expecting)) for expecting in (old, token)]
    left = await ground.content(path)
    if left is not None:
        await ground.delete(path, Expect.ANYTHING)
    consistent = consistent and await ground.listed() == {}
    if exclusive and await answer(ground.put(path, b"again", Expect.ABSENT)) is None:
        exclusive = False
        ground.remarks["exclusive_create"] = _STAYS_IN_THE_WAY
    return {
        "exclusive_create": exclusive,
        "replace_if_match": replaces,
        "delete_if_match": old != token and deleted == [None, True] and left is None,
        "consistent_listing": consistent,
    }


async def _renames(ground: TrialGround) -> Shown:
    """Race two renames of files, then of directories, to one name: one wins, and moves whole.

    The loser must not be carried out later either.
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
    there = await store.read(target, limit_bytes=READ_BYTES)
    if there is None or there.data not in {sources[number].encode() for number in winners}:
        return {"atomic_rename": AtomicRename.NONE, "exclusive_rename": False}
    kept = there.entry.token in {tokens[number] for number in winners}
    # Where a rename is said to keep the token, another token is another object: a copy.
    copied = not kept and store.capabilities.token_survives_rename is True
    moved = not copied and all(left[number] is None for number in winners)
    tokens_left = [entry.token for entry in left if isinstance(entry, Entry)]
    exclusive = (
        len(winners) == 1
        and tokens[1 - winners[0]] in tokens_left
        and await answer(rename(1 - winners[0])) is None
    )
    if exclusive:
        await ground.delete(target, Expect.ANYTHING)
        if await answer(rename(1 - winners[0])) is None:
            exclusive = False
            ground.remarks["exclusive_rename"] = _STAYS_IN_THE_WAY
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
        await answer(rename(loser)) is None
        and await ground.content(StorePath(f"{target}/file")) == winner.encode()
        and await ground.store.stat(StorePath(f"{winner}/file")) is None
        and await ground.content(StorePath(f"{loser}/file")) == loser.encode()
    )


async def _publication(ground: TrialGround) -> Shown:
    """Write a file: it must not be visible before it is finished."""
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
    """Begin two uploads of one path; abort one, and finish the other from plain data."""
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
        await answer(uploads.abort(begun[0]))
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
        **await _upload_again(ground, uploads, path),
        "multipart": True,
        "uploads_listable": listed == both,
        "upload_keyed_by": "upload_id" if apart else "path",
    }


async def _upload_again(ground: TrialGround, uploads: CompletesUploads, path: StorePath) -> Shown:
    """Delete the file *path*, which was uploaded, and upload it again, as jobs do `_SUCCESS`."""
    await ground.delete(path, Expect.ANYTHING)
    upload = await ground.begin(uploads, path)
    is_there = False
    try:
        is_there = await _completes(ground, uploads, upload)
    finally:
        if not is_there:
            await ground.drop(uploads, upload)
    if is_there:
        return {}
    ground.remarks["exclusive_create"] = _STAYS_IN_THE_WAY
    return {"exclusive_create": False}


async def _listed_uploads(uploads: CompletesUploads, path: StorePath) -> set[str]:
    """The pending uploads of *path*, from a listing of its directory."""
    directory = StorePath(path.rpartition("/")[0])
    return {one.upload_id async for one in uploads.pending(directory) if one.path == path}


async def _completes(ground: TrialGround, uploads: CompletesUploads, upload: PendingUpload) -> bool:
    """Whether *upload* can be completed from the data that another process would be sent."""
    sent = decode_json(msgspec.json.encode(upload), PendingUpload)
    await answer(uploads.complete(sent, expecting=Expect.ABSENT))
    return await ground.content(upload.path) == upload.nonce.encode()


async def _three_parts(ground: TrialGround) -> Shown:
    """Complete a file of three parts, with lengths such as tasks use.

    A gateway may refuse so long a body, and Cloudflare R2 completes no parts of different lengths:
    https://developers.cloudflare.com/r2/objects/multipart-objects/.
    """
    uploads = ground.store.uploads
    if uploads is None:
        return {}
    first = uploads.part_bytes or _PART_BYTES
    second = uploads.part_bytes or _PART_BYTES + 1
    path = ground.path("parts")
    upload = await ground.start(uploads, path)
    tail = upload.nonce.encode()
    try:
        bodies = enumerate((bytes(first), bytes(second), tail), start=1)
        parts = [await uploads.put_part(upload, number, body) for number, body in bodies]
        await uploads.complete(replace(upload, parts=tuple(parts)), expecting=Expect.ABSENT)
    except BaseException as error:
        await ground.drop(uploads, upload)
        if not isinstance(error, StoreError) or error.reply is not Reply.REFUSED:
            raise
        _log.warning("a file of parts of %d, %d and 32 bytes was refused: %s", first, second, error)
        return {"multipart": False}
    there = await ground.store.stat(path)
    end = await ground.store.read_range(path, start=first + second, length=READ_BYTES)
    whole = (
        isinstance(there, Entry) and there.size_bytes == first + second + len(tail) and end == tail
    )
    return {} if whole else {"multipart": False}


async def _if_known(call: Awaitable[T]) -> T | None:
    """What *call* answers; ``None`` if the store does not know such a request.

    Raises:
        StoreError: It failed in another way. What is denied here may be allowed to others, who will
            rely on the result.
    """
    try:
        return await call
    except StoreError as error:
        if error.reply is Reply.REFUSED and error.errno == errno.EOPNOTSUPP:
            return None
        raise


async def _race(calls: Iterable[Awaitable[T]]) -> list[T | None]:
    """What concurrent calls answer; if one fails, all have ended before that is raised."""
    answers = await asyncio.gather(*map(answer, calls), return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    if failed:
        raise failed[0]
    return [answer for answer in answers if not isinstance(answer, BaseException)]


TRIALS: tuple[Trial, ...] = (_puts_and_listings, _renames, _publication, _uploads)
"""The trials of a few small requests, in their order."""
LONG_TRIALS: tuple[Trial, ...] = (_three_parts,)
"""The trials that send some MiB: only for callers of ``probe``, not for jobs that need a probe."""
