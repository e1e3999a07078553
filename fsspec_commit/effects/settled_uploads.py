"""Uploads as the protocol sees them: begun and filled as often as needed, completed once.

Nothing of an upload is visible before it is completed, so beginning one and storing a part are
simply repeated. Completing consumes the upload, and its target then carries the upload's nonce:
that, and not what a server answers to the second request, says whether it has happened. Servers
answer 200, 404 or 403 to one and the same repeated Complete, and 412 to the echo of our own
success.
"""

import asyncio
import errno
from collections.abc import Callable, Sequence
from contextlib import suppress

from fsspec_commit.effects.counted import Counted
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.effects.settle import Effect, Undone, settle
from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.ids import IdSource
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import (
    CompletesUploads,
    Directory,
    Entry,
    Expect,
    Expectation,
    Part,
    PendingUpload,
    Store,
)

LOOKS_MAX = 4
# Of a refusal. Any other number says that something else is the matter, such as a permission.
_GONE = (None, errno.ENOENT)


class SettledUploads(Counted):
    """Uploads, settled: whoever completes one, and however often, the file appears once.

    Attributes:
        part_bytes: How long every part but the last is to be; ``None`` where parts may differ.
    """

    def __init__(
        self,
        ability: CompletesUploads,
        store: Store,
        pace: Pace,
        statistics: Statistics,
        ids: IdSource,
    ) -> None:
        super().__init__(store, pace, statistics)
        self._ability = ability
        self._ids = ids
        self.part_bytes = ability.part_bytes

    async def start(self, path: StorePath) -> PendingUpload:
        """Begin an upload of *path*.

        One whose beginning was not answered is given up, and another is begun. It holds no data.

        Raises:
            StoreError: It was refused, or never answered.
        """
        return await self._ask(
            "multipart_upload_started", lambda: self._ability.start(path, self._ids.nonce())
        )

    async def put_part(self, upload: PendingUpload, number: int, data: bytes) -> Part:
        """Store part *number*, counted from 1; the same part again replaces it.

        Raises:
            StoreError: It was refused, as when the upload is gone, or never answered.
        """
        return await self._ask(
            "multipart_upload_part_put", lambda: self._ability.put_part(upload, number, data)
        )

    async def complete(
        self,
        upload: PendingUpload,
        *,
        expecting: Expectation,
        again: bool = False,
        looks: int = LOOKS_MAX,
        yielding: bool = False,
    ) -> bool:
        """Make the file of *upload* visible; safe to repeat, by anyone.

        Args:
            upload: All of it, parts included.
            expecting: What must stand at its path.
            again: Somebody may have tried before, so what the store says of it is verified.
            looks: How often to look again while the upload is gone and the file is not there.
            yielding: Another's file at the path is as good as ours.

        Returns:
            False when neither the upload nor its file is there: the content is lost, and nothing
            was changed.

        Raises:
            StoreError: It certainly did not happen: something else stands at the path.
            CommitStateUnknownError: The store would not say.
        """
        done = await self._complete(upload, expecting, looks, again=again, yielding=yielding)
        if done is None:
            # Who removed the file that was to be replaced has made way.
            done = await self._complete(upload, Expect.ABSENT, looks, again=True, yielding=yielding)
        return done is True

    async def _complete(
        self,
        upload: PendingUpload,
        expecting: Expectation,
        looks: int,
        *,
        again: bool,
        yielding: bool,
    ) -> bool | None:
        """The same; ``None`` when it was refused and the file that was expected is not there."""
        refusals: list[StoreError] = []
        doubt = again

        async def apply() -> bool:
            nonlocal doubt
            # Not through `_counted`: a job completes every file of it.
            begin = self.clock()
            try:
                await self._ability.complete(upload, expecting=expecting)
            except StoreError as error:
                self._statistics.failed("multipart_upload_completed")
                if error.reply is Reply.REFUSED:
                    refusals.append(error)
                doubt = doubt or error.reply is Reply.UNKNOWN
                raise
            self._statistics.took("multipart_upload_completed", self.clock() - begin)
            return not doubt or await self._stands(upload, looks)

        async def observe() -> bool | Undone | None:
            # A completion in flight can show neither the upload nor the file for a moment.
            for look in range(looks):
                there = await self._store.stat(upload.path)
                seen = _seen(there, upload, expecting, refusals, yielding=yielding)
                if seen is not False:
                    return seen
                if look + 1 < looks:
                    await asyncio.sleep(0.01 * 4**look)
            return False

        effect: Effect[bool | None] = Effect(apply, observe, "completing", upload.path)
        return await settle(effect, self._pace)

    async def _stands(self, upload: PendingUpload, looks: int) -> bool:
        """Whether the file is really there of a completion that may have been a second one.

        A server that died while it completed can say that it is done, for it finds the upload
        half taken apart (versitygw 1.8.0).
        """
        for look in range(looks):
            there = await self._store.stat(upload.path)
            if isinstance(there, Entry) and there.nonce == upload.nonce:
                return True
            if look + 1 < looks:
                await asyncio.sleep(0.01 * 4**look)
        return False

    async def abort(self, upload: PendingUpload, permit: Permit) -> None:
        """Drop an upload and its parts; one that is gone, or completed, is done.

        Raises:
            StoreError: It was refused, or never answered.
        """
        permit.check_upload(upload)
        await self._ask("multipart_upload_aborted", lambda: self._ability.abort(upload))

    async def abort_or_leave(self, upload: PendingUpload, permit: Permit) -> None:
        """Drop an upload that means nothing: try, and leave it where that fails."""
        with suppress(StoreError):
            await self.abort(upload, permit)

    async def pending(
        self, prefix: StorePath, wanted: Callable[[PendingUpload], bool]
    ) -> list[PendingUpload]:
        """The *wanted* ones of all pending uploads below the directory *prefix*, all pages."""

        async def listing() -> list[PendingUpload]:
            return [upload async for upload in self._ability.pending(prefix) if wanted(upload)]

        return await self._ask("multipart_upload_list", listing)


def _seen(
    there: Entry | Directory | None,
    upload: PendingUpload,
    expecting: Expectation,
    refusals: Sequence[StoreError],
    *,
    yielding: bool,
) -> bool | Undone | None:
    """What one look shows of a completion; ``False`` is neither the upload nor its file."""
    if isinstance(there, Entry) and there.nonce == upload.nonce:
        return True
    if not refusals:
        return Undone.UNDONE
    if there is None and not isinstance(expecting, Expect):
        return None
    if not _as_expected(there, expecting):
        return True if yielding and isinstance(there, Entry) else Undone.UNDONE
    is_gone = any(refusal.errno in _GONE for refusal in refusals)
    return False if is_gone else Undone.UNDONE


def _as_expected(there: Entry | Directory | None, expecting: Expectation) -> bool:
    """Whether a refusal cannot be due to what stands there: then the upload is gone."""
    if isinstance(there, Entry):
        return expecting is Expect.ANYTHING or there.token == expecting
    return expecting in (Expect.ABSENT, Expect.ANYTHING)
