"""The declaration of a store against the live store, with a few small requests.

A probe sees what one client sees of one moment, so it refutes more than it proves. What a store
does worse than declared is taken as shown. What it does as declared counts as probed. Of what is
unknown, a rename's atomicity stays unknown, and so does the listing of a mount, where the client
may be looking at a cache of its own. A declared absence stands: a condition that is checked just
before the change, and not with it, looks the same from here.
"""

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import msgspec

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.store.abilities import (
    CompletesUploads,
    RenamesDirectories,
    RenamesFiles,
    Store,
)
from fsspec_commit.store.capabilities import AtomicRename, Capabilities
from fsspec_commit.store.values import Entry, Expect, Expectation, PendingUpload, Token

T = TypeVar("T")
Shown: TypeAlias = dict[str, object]
"""What the store did, by the name of the capability."""

_log = logging.getLogger("fsspec_commit")
_SIZES = (AtomicRename.NONE, AtomicRename.FILE, AtomicRename.DIRECTORY)
_READ_BYTES = 1 << 10
_CLEANING_TRIES = 3


@dataclass(frozen=True, kw_only=True, repr=False)
class ProbeReport:
    """What a store really did.

    Attributes:
        destination: The URL or path, as it was given.
        capabilities: What holds now; the evidence of what was seen is ``"probed"``.
        differences: Where the store does not do what its adapter declares, one sentence each.
    """

    destination: str
    capabilities: Capabilities
    differences: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the store does all that its adapter declares."""
        return not self.differences

    def __repr__(self) -> str:
        if not self.ok:
            return f"<ProbeReport of {self.destination}: not ok, {'; '.join(self.differences)}>"
        probed = sum(how == "probed" for how in self.capabilities.evidence.values())
        return f"<ProbeReport of {self.destination}: ok, {probed} facts probed>"


async def probe(store: Store, scratch: StorePath, ids: IdSource) -> Capabilities:
    """What *store* does, tried out in the directory *scratch*, which goes again in any case.

    Args:
        store: The live store.
        scratch: A directory that nobody else knows; made and removed here.
        ids: Makes the nonces of uploads.

    Returns:
        The capabilities that hold, each that was seen with the evidence ``"probed"``.

    Raises:
        StoreError: The store did not answer, or nothing can be written there.
    """
    try:
        shown: Shown = {
            **await _puts_and_listings(store, scratch),
            **await _renames(store, scratch),
            **await _publication(store, scratch),
            **await _uploads(store, scratch, ids),
        }
    finally:
        await _remove(store, scratch)
    return _judged(store.capabilities, shown)


def _judged(declared: Capabilities, shown: Mapping[str, object]) -> Capabilities:
    """What holds, given what was declared and what was seen."""
    facts = declared.facts()
    probed: Shown = {}
    for name, seen in shown.items():
        known = facts[name]
        if known in (False, AtomicRename.NONE):
            continue
        if _is_less(seen, known):
            probed[name] = seen
        elif declared.evidence.get(name) != "assumed" and not (
            known is None and _cannot_be_proved(name, declared)
        ):
            probed[name] = seen if known is None else known
    return declared.known("probed", **probed)


def _is_less(seen: object, known: object) -> bool:
    if isinstance(seen, AtomicRename):
        at_best = known if isinstance(known, AtomicRename) else AtomicRename.FILE
        return _SIZES.index(seen) < _SIZES.index(at_best)
    return seen is False or (seen == "path" and known == "upload_id")


def _cannot_be_proved(name: str, declared: Capabilities) -> bool:
    """Where seeing nothing wrong proves nothing: a client's cache shows each client its own."""
    return name == "atomic_rename" or (
        name == "consistent_listing" and declared.paged_listing is not True
    )


async def _puts_and_listings(store: Store, scratch: StorePath) -> Shown:
    """Two create one file, of whom one wins; it is replaced and deleted by tokens, and listed."""
    path = StorePath(f"{scratch}/created")
    tokens = await _race(_put(store, path, data, Expect.ABSENT) for data in (b"one", b"two"))
    won = [token for token in tokens if token is not None]
    exclusive = len(won) == 1 and (
        await _content(store, path) == (b"one" if tokens[0] is not None else b"two")
    )
    old = won[0] if exclusive else await _put(store, path, b"old", Expect.ANYTHING)
    new = await _answer(_put(store, path, b"new", old))
    stale = await _answer(_put(store, path, b"stale", old))
    if new is None:
        await _put(store, path, b"new", Expect.ANYTHING)
    there = await store.read(path, limit_bytes=_READ_BYTES)
    replaces = new is not None and stale is None and there is not None and there.data == b"new"
    token = old if there is None else there.entry.token
    consistent = await _listed(store, scratch) == {path: token}
    deleted = [await _answer(_delete(store, path, expecting)) for expecting in (old, token)]
    left = await _content(store, path)
    if left is not None:
        await store.delete(path, expecting=Expect.ANYTHING)
    return {
        "exclusive_create": exclusive,
        "replace_if_match": replaces,
        "delete_if_match": old != token and deleted == [None, True] and left is None,
        "consistent_listing": consistent and await _listed(store, scratch) == {},
    }


async def _renames(store: Store, scratch: StorePath) -> Shown:
    """Two files, then two directories, are renamed to one name: one wins, and moves whole."""
    if store.files is None:
        return {"atomic_rename": AtomicRename.NONE, "exclusive_rename": False}
    shown = await _file_renames(store, store.files, scratch)
    if store.directories is not None and shown["atomic_rename"] is AtomicRename.FILE:
        whole = await _directory_renames(store, store.directories, scratch)
        shown["atomic_rename"] = AtomicRename.DIRECTORY if whole else AtomicRename.FILE
    return shown


async def _file_renames(store: Store, files: RenamesFiles, scratch: StorePath) -> Shown:
    sources = [StorePath(f"{scratch}/{name}") for name in ("one", "two")]
    target = StorePath(f"{scratch}/renamed")
    tokens = [
        await store.put(path, path.encode(), expecting=Expect.ANYTHING, within=None)
        for path in sources
    ]

    async def rename(number: int) -> bool:
        await files.rename(
            sources[number],
            target,
            token=tokens[number],
            expecting=Expect.ABSENT,
            within=scratch,
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
    return {
        "atomic_rename": AtomicRename.FILE if moved else AtomicRename.NONE,
        "exclusive_rename": len(winners) == 1 and tokens[1 - winners[0]] in standing,
        "token_survives_rename": kept,
    }


async def _directory_renames(
    store: Store, directories: RenamesDirectories, scratch: StorePath
) -> bool:
    sources = [StorePath(f"{scratch}/{name}") for name in ("first", "second")]
    target = StorePath(f"{scratch}/moved")
    for source in sources:
        await store.put(
            StorePath(f"{source}/file"), source.encode(), expecting=Expect.ANYTHING, within=None
        )

    async def rename(source: StorePath) -> bool:
        await directories.rename_directory(source, target, within=scratch)
        return True

    won = await _race(map(rename, sources))
    if won.count(True) != 1:
        return False
    winner, loser = sources if won[0] else reversed(sources)
    return (
        await _content(store, StorePath(f"{target}/file")) == winner.encode()
        and await store.stat(StorePath(f"{winner}/file")) is None
        and await _content(store, StorePath(f"{loser}/file")) == loser.encode()
    )


async def _publication(store: Store, scratch: StorePath) -> Shown:
    """A file that is being written is not visible, and then it is."""
    path = StorePath(f"{scratch}/written")
    writer = store.writer(path, within=scratch)
    try:
        await writer.write(b"whole")
        hidden = await _content(store, path) is None
        await writer.finish()
    except BaseException:
        await writer.discard()
        raise
    return {"whole_object_publish": hidden and await _content(store, path) == b"whole"}


async def _uploads(store: Store, scratch: StorePath, ids: IdSource) -> Shown:
    """Of two uploads of one path one is aborted, the other finished from plain data."""
    uploads = store.uploads
    if uploads is None:
        return {"multipart": False}
    path = StorePath(f"{scratch}/uploaded")
    begun: list[PendingUpload] = []
    try:
        begun = [await _begin(uploads, path, ids)]
        begun.append(await _begin(uploads, path, ids))
        both = {upload.upload_id for upload in begun}
        hidden = await _content(store, path) is None
        listed = {one.upload_id async for one in uploads.pending(scratch)}
        await _answer(uploads.abort(begun[0]))
        del begun[0]
        apart = await _completes(store, uploads, begun[0])
        if apart:
            del begun[0]
        else:
            begun.append(await _begin(uploads, path, ids))
        alone = apart or await _completes(store, uploads, begun[-1])
    finally:
        for upload in begun:
            with suppress(StoreError):
                await uploads.abort(upload)
    if not (hidden and alone):
        return {"multipart": False}
    return {
        "multipart": True,
        "uploads_listable": listed == both,
        "upload_keyed_by": "upload_id" if apart else "path",
    }


async def _begin(uploads: CompletesUploads, path: StorePath, ids: IdSource) -> PendingUpload:
    """An upload with one part, which holds its own nonce."""
    bare = await uploads.start(path, ids.nonce())
    try:
        part = await uploads.put_part(bare, 1, bare.nonce.encode())
    except BaseException:
        with suppress(StoreError):
            await uploads.abort(bare)
        raise
    return PendingUpload(path=path, upload_id=bare.upload_id, nonce=bare.nonce, parts=(part,))


async def _completes(store: Store, uploads: CompletesUploads, upload: PendingUpload) -> bool:
    """Whether *upload* is completed from what another process would be sent of it."""
    sent = msgspec.json.decode(msgspec.json.encode(upload), type=PendingUpload)
    with suppress(StoreError):
        await uploads.complete(sent, expecting=Expect.ABSENT)
    return await _content(store, upload.path) == upload.nonce.encode()


async def _put(store: Store, path: StorePath, data: bytes, expecting: Expectation) -> Token:
    return await store.put(path, data, expecting=expecting, within=None)


async def _delete(store: Store, path: StorePath, expecting: Expectation) -> bool:
    await store.delete(path, expecting=expecting)
    return True


async def _content(store: Store, path: StorePath) -> bytes | None:
    content = await store.read(path, limit_bytes=_READ_BYTES)
    return None if content is None else content.data


async def _listed(store: Store, scratch: StorePath) -> dict[StorePath, Token] | None:
    """Every file in *scratch* as both listings show it; ``None`` when they differ."""
    children = [child async for child in store.list_children(scratch)]
    tree = {entry.path: entry.token async for entry in store.list_tree(scratch)}
    shown = {child.path: child.token for child in children if isinstance(child, Entry)}
    return tree if tree == shown else None


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


async def _race(calls: Iterable[Awaitable[T]]) -> list[T | None]:
    """What calls answer that are made at once; all have ended when one has failed."""
    answers = await asyncio.gather(*map(_answer, calls), return_exceptions=True)
    failed = [answer for answer in answers if isinstance(answer, BaseException)]
    if failed:
        raise failed[0]
    return [answer for answer in answers if not isinstance(answer, BaseException)]


async def _remove(store: Store, scratch: StorePath) -> None:
    """Leave nothing, as far as the store lets us; what stays, `clean` removes."""
    for _ in range(_CLEANING_TRIES):
        try:
            await store.delete_tree(scratch)
        except StoreError as error:
            _log.debug("removing %r: %s", scratch, error)
        else:
            return
    _log.warning("%r was not removed; `fsspec-commit clean` removes it", scratch)
