"""Where a probe makes its trials, and which answers a trial may draw conclusions from."""

import errno
from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.store.abilities import CompletesUploads, Store
from fsspec_commit.store.opening import Ask, ask_once
from fsspec_commit.store.values import Entry, Expectation, PendingUpload, Token

T = TypeVar("T")
Shown: TypeAlias = dict[str, object]
"""What the store did, by the name of the capability."""
Trial: TypeAlias = "Callable[[TrialGround], Awaitable[Shown]]"
READ_BYTES = 1 << 10
"""More than the length of any file that a trial reads whole."""


class TrialGround:
    """A store, and a directory in it in which trials are made, with new names for each attempt.

    Attributes:
        scratch: The directory.
        remarks: Why a fact is as the trials have found it, where its name does not say, by that
            name: half a sentence, with what to do.
        may_hold: Whether there can be anything in the directory.
    """

    def __init__(
        self, store: Store, scratch: StorePath, ids: IdSource, *, resend: Ask = ask_once
    ) -> None:
        self.store = store
        self.scratch = scratch
        self.remarks: dict[str, str] = {}
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
        """The path of *name* in this attempt."""
        return StorePath(f"{self.scratch}/{self._attempts}-{name}")

    async def sent(self, change: Callable[[], Awaitable[T]]) -> T:
        """Send a change, and repeat it while it is certainly not done.

        GCS takes one write a second for each name, and a trial writes some twice. A new attempt,
        under new names, would meet the same limit.

        Raises:
            StoreError: It was refused, is in doubt, or never done.
        """

        async def decided() -> T | StoreError:
            try:
                return await change()
            except StoreError as error:
                if error.reply is Reply.NOT_DONE:
                    raise
                return error

        told = await self._resend(decided)
        if isinstance(told, StoreError):
            raise told
        return told

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
        """The content of a file, if there is one."""
        content = await self.store.read(path, limit_bytes=READ_BYTES)
        return None if content is None else content.data

    async def listed(self) -> dict[StorePath, Token] | None:
        """Every file of this attempt, as both listings show it.

        Returns:
            ``None`` if the two differ, or show something that is of no use.
        """
        ours = self.path("")
        try:
            children = [child async for child in self.store.list_children(self.scratch)]
            tree = {entry.path: entry.token async for entry in self.store.list_tree(self.scratch)}
        except StoreError as error:
            if error.reply is not Reply.REFUSED or error.errno != errno.EINVAL:
                raise
            self.remarks["consistent_listing"] = f"its listing is of no use: {error}"
            return None
        shown = {child.path: child.token for child in children if isinstance(child, Entry)}
        of_tree, of_children = (
            {path: token for path, token in listing.items() if path.startswith(ours)}
            for listing in (tree, shown)
        )
        return of_tree if of_tree == of_children else None

    async def start(self, uploads: CompletesUploads, path: StorePath) -> PendingUpload:
        """Begin an upload without a part."""
        try:
            upload = await uploads.start(path, self._ids.nonce())
        except StoreError as error:
            if error.reply is Reply.UNKNOWN:
                self._has_stray_uploads = self.may_hold = True
            raise
        self.may_hold = True
        return upload

    async def begin(self, uploads: CompletesUploads, path: StorePath) -> PendingUpload:
        """Begin an upload, with one part that contains its nonce."""
        bare = await self.start(uploads, path)
        try:
            part = await uploads.put_part(bare, 1, bare.nonce.encode())
        except BaseException:
            await self.drop(uploads, bare)
            raise
        return PendingUpload(path=path, upload_id=bare.upload_id, nonce=bare.nonce, parts=(part,))

    async def drop(self, uploads: CompletesUploads, upload: PendingUpload) -> None:
        """Abort an upload; if that fails, :meth:`clear` looks for it."""
        try:
            await uploads.abort(upload)
        except StoreError:
            self._has_stray_uploads = True

    async def clear(self) -> None:
        """Remove everything that the trials have made.

        Raises:
            StoreError: Something may be left.
        """
        await self.store.delete_tree(self.scratch)
        uploads = self.store.uploads
        if self._has_stray_uploads and uploads is not None:
            for upload in [one async for one in uploads.pending(self.scratch)]:
                await uploads.abort(upload)


async def answer(call: Awaitable[T]) -> T | None:
    """What *call* answers; ``None`` if it was refused.

    Raises:
        StoreError: It failed in another way, from which nothing can be concluded.
    """
    try:
        return await call
    except StoreError as error:
        if error.reply is Reply.REFUSED:
            return None
        raise
