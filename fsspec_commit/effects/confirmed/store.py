"""The store as the protocol sees it: paced, counted, confirmed, every deletion permitted."""

import errno
from collections.abc import Sequence
from contextlib import suppress

from fsspec_commit.effects.budget import Budget
from fsspec_commit.effects.confirm import Effect, Undone, confirm
from fsspec_commit.effects.confirmed.directories import (
    ConfirmedDirectories,
    ConfirmedDirectoryCreation,
)
from fsspec_commit.effects.confirmed.files import ConfirmedFiles
from fsspec_commit.effects.confirmed.reads import StoreReads
from fsspec_commit.effects.confirmed.uploads import ConfirmedUploads
from fsspec_commit.effects.confirmed.writer import ConfirmedWriter
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.pacing import IN_FLIGHT_MAX, Pace
from fsspec_commit.effects.parallel import for_each
from fsspec_commit.errors import (
    CommitStateUnknownError,
    StoreError,
    UnsafeStoreError,
)
from fsspec_commit.ids import IdSource, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import (
    Entry,
    Expect,
    Store,
    Writer,
    WritesDirectly,
)

_RECORDS_AT_ONCE_MAX = 64


class ConfirmedStore(StoreReads):
    """The store as committers and protocol hold it: there is no other access.

    Attributes:
        ids: Makes nonces.
        statistics: Counts its calls.
        in_flight_max: How many calls are in flight at most.
        records_at_once_max: How many records, or other things of some size, are read and held at
            once; a record may be as large as `RECORD_BYTES_MAX`, and lead to more calls.
        budget: Limits what is on its way to the store in the background.
    """

    def __init__(
        self,
        store: Store,
        *,
        ids: IdSource,
        statistics: Statistics,
        in_flight_max: int | None = None,
    ) -> None:
        pace = Pace(ids, in_flight_max=in_flight_max or IN_FLIGHT_MAX)
        super().__init__(store, pace, statistics)
        self.ids = ids
        self.statistics = statistics
        self.in_flight_max = pace.in_flight_max
        self.records_at_once_max = min(pace.in_flight_max, _RECORDS_AT_ONCE_MAX)
        self.budget = Budget()
        files, directories = store.files, store.directories
        self.files = None if files is None else ConfirmedFiles(files, store, pace, statistics)
        self.directories = (
            None
            if directories is None
            else ConfirmedDirectories(directories, store, pace, statistics)
        )
        removing = store.empty_directories
        self.removes_empty = removing is not None
        self.makes_directories_anew = removing is not None and removing.are_made_by_writes
        deletion = store.bulk_deletion
        self.deleted_at_once_max = 0 if deletion is None else deletion.files_max
        making = store.directory_creation
        self.directory_creation = (
            None if making is None else ConfirmedDirectoryCreation(making, store, pace, statistics)
        )
        uploads = store.uploads
        self.uploads = (
            None if uploads is None else ConfirmedUploads(uploads, store, pace, statistics, ids)
        )

    @property
    def direct(self) -> WritesDirectly | None:
        """Writing on the caller's thread."""
        return self._store.direct

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        """Write the file *path*, a name that nobody else ever writes."""
        self._statistics.count("op_create")
        return ConfirmedWriter(self._store.writer(path, within=within, nonce=nonce), self._pace)

    async def create(
        self, path: StorePath, data: bytes, *, within: StorePath | None
    ) -> bytes | None:
        """Create a record exclusively, and return the content that stands at *path*.

        An unknown outcome is never resolved by absence: the create is repeated until a record
        stands, this one or another's. It is repeated, too, if the record in the way has gone.

        Returns:
            *data* if this call came first, or else what another wrote; ``None`` if *within* is
            gone, so that nothing can be created there any more.
        """
        was_in_the_way = False

        async def apply() -> bytes | None:
            nonlocal was_in_the_way
            try:
                await self._counted(
                    "op_create",
                    self._store.put(path, data, expecting=Expect.ABSENT, within=within),
                )
            except StoreError as error:
                was_in_the_way = error.errno == errno.EEXIST
                raise
            return data

        async def observe() -> bytes | Undone | None:
            content = await self._store.read(path, limit_bytes=RECORD_BYTES_MAX)
            if content is not None:
                return content.data
            if within is not None and await self._store.stat(within) is None:
                return None
            return Undone.OUTDATED if was_in_the_way else Undone.UNDONE

        return await confirm(Effect(apply, observe, "creating", path), self._pace)

    async def create_unrepeated(
        self, path: StorePath, data: bytes, *, above: StorePath, backoff: int
    ) -> bool:
        """Create a file exclusively that must never be created late, after it was removed.

        All directories above it are made. The request is not repeated while an earlier one may
        still be carried out; nor if the directory that was made for the file has gone: the answer
        that says so may follow a request that was carried out, and whose file was removed since.

        Args:
            path: The path of the file.
            data: Its content.
            above: A directory above that of the file, which nobody removes.
            backoff: How many such files could not be created just before.

        Returns:
            False if another file stands there.

        Raises:
            CommitStateUnknownError: The request was not answered, and its effect was not seen; it
                may still be carried out. Or the directory has gone.
        """

        async def apply() -> bool:
            await self._counted(
                "op_create", self._store.put(path, data, expecting=Expect.ABSENT, within=None)
            )
            return True

        async def observe() -> bool | Undone:
            content = await self._store.read(path, limit_bytes=RECORD_BYTES_MAX)
            return Undone.UNDONE if content is None else content.data == data

        effect: Effect[bool] = Effect(apply, observe, "creating", path, is_repeatable=False)
        try:
            return await confirm(effect, self._pace, backoff=backoff)
        except (StoreError, CommitStateUnknownError) as error:
            refusal = error if isinstance(error, StoreError) else error.__cause__
            if not isinstance(refusal, StoreError) or refusal.errno != errno.ENOENT:
                raise
            if self.directories is None or await self.stat(above) is None:
                raise
            message = f"the directory of {path!r} went before that was in it: {refusal}"
        # Not with that refusal as its cause: callers take one to hold for any other name as well.
        raise CommitStateUnknownError(message, path=path)

    async def create_once(
        self, path: StorePath, data: bytes, *, within: StorePath, backoff: int = 0
    ) -> Entry:
        """Create a small file exclusively, under a name that nobody else uses; return its entry.

        The request is not repeated while an earlier one may still be carried out: once the file is
        gone from its name, it does not come back.

        Args:
            path: The path of the file.
            data: Its content.
            within: The directory that must be there.
            backoff: How many such files could not be created just before.

        Raises:
            CommitStateUnknownError: The request was not answered, and its effect was not seen; it
                may still be carried out.
        """

        async def apply() -> Entry:
            token = await self._counted(
                "op_create", self._store.put(path, data, expecting=Expect.ABSENT, within=within)
            )
            return Entry(path=path, size_bytes=len(data), token=token)

        async def observe() -> Entry | Undone:
            content = await self._store.read(path, limit_bytes=RECORD_BYTES_MAX)
            return content.entry if content and content.data == data else Undone.UNDONE

        effect: Effect[Entry] = Effect(apply, observe, "creating", path, is_repeatable=False)
        return await confirm(effect, self._pace, backoff=backoff)

    async def create_or_leave(self, path: StorePath, *, within: StorePath) -> None:
        """Try to create an empty file that is of help but not needed."""
        with suppress(StoreError, CommitStateUnknownError):
            await self.create(path, b"", within=within)

    async def delete(self, path: StorePath, permit: Permit) -> None:
        """Delete a file whose name nobody else uses; a missing one is done.

        Raises:
            PermitExpiredError: *permit* has expired.
        """
        permit.check(path)

        async def apply() -> None:
            permit.check_time(self.ids.now())
            await self._counted("op_delete", self._store.delete(path, expecting=Expect.ANYTHING))

        async def observe() -> Undone | None:
            return None if await self._store.stat(path) is None else Undone.UNDONE

        await confirm(Effect(apply, observe, "deleting", path), self._pace)

    async def delete_or_leave(self, path: StorePath, permit: Permit) -> None:
        """Try to delete a file that does no harm if it stays."""
        with suppress(StoreError, CommitStateUnknownError):
            await self.delete(path, permit)

    async def delete_if_same(self, entry: Entry, permit: Permit) -> bool:
        """Delete a file if it is still *entry*; one that is gone or replaced is done.

        Returns:
            Whether it is gone; False if another file has replaced it.

        Raises:
            PermitExpiredError: *permit* has expired.
        """
        permit.check(entry.path)

        async def apply() -> bool:
            permit.check_time(self.ids.now())
            await self._counted("op_delete", self._store.delete(entry.path, expecting=entry.token))
            return True

        async def observe() -> bool | Undone:
            there = await self._store.stat(entry.path)
            if not isinstance(there, Entry):
                return True
            return Undone.UNDONE if there.token == entry.token else False

        return await confirm(Effect(apply, observe, "deleting", entry.path), self._pace)

    async def delete_tree(self, path: StorePath, permit: Permit) -> None:
        """Delete a directory and everything below it."""
        permit.check(path)

        async def apply() -> None:
            await self._counted("op_delete_dir", self._store.delete_tree(path))

        async def observe() -> Undone | None:
            return None if await self._store.stat(path) is None else Undone.UNDONE

        await confirm(Effect(apply, observe, "deleting", path), self._pace)

    async def delete_listed(
        self, paths: Sequence[StorePath], permit: Permit, *, within: StorePath
    ) -> None:
        """Delete files below *within* whose names nobody else uses; missing ones are done.

        At most :attr:`deleted_at_once_max` files, which is 0 where the store has no such call. The
        call is sent once: where a store turns away some of the files of each call, no single call
        would ever delete all. If it fails, each file is deleted by itself.
        """
        for path in paths:
            permit.check(path)
        deletion = self._store.bulk_deletion
        if deletion is None:
            message = "the adapter declares no deletion of many files"
            raise UnsafeStoreError(message, kind="no_ability", path=within)
        if not paths:
            return
        is_sent = False

        async def apply() -> bool:
            nonlocal is_sent
            if is_sent:
                return False
            is_sent = True
            permit.check_time(self.ids.now())
            await self._counted("op_delete", deletion.delete_files(paths, within=within))
            return True

        async def observe() -> Undone:
            return Undone.UNDONE  # Not asked for each file: one that is gone is deleted again.

        if not await confirm(Effect(apply, observe, "deleting files in", within), self._pace):

            async def by_itself(path: StorePath) -> None:
                await self.delete(path, permit)

            await for_each(paths, by_itself, in_flight_max=self.in_flight_max)

    async def delete_empty(self, path: StorePath, permit: Permit) -> bool:
        """Delete the directory *path* on condition that nothing is in it, where the store can.

        Returns:
            Whether it is gone; False if something is in it, which stays.
        """
        permit.check(path)
        removing = self._store.empty_directories
        if removing is None:
            message = "the adapter declares no removal of empty directories"
            raise UnsafeStoreError(message, kind="no_ability", path=path)

        async def apply() -> bool:
            try:
                await self._counted("op_delete_dir", removing.remove_empty_directory(path))
            except StoreError as error:
                if error.errno != errno.ENOTEMPTY:
                    raise
                return False
            return True

        async def observe() -> bool | Undone:
            return Undone.UNDONE if await self._store.stat(path) is not None else True

        return await confirm(Effect(apply, observe, "deleting", path), self._pace)

    async def delete_empty_or_leave(self, path: StorePath, permit: Permit) -> None:
        """Try to delete a directory that does no harm if it stays, if nothing is in it."""
        with suppress(StoreError, CommitStateUnknownError):
            await self.delete_empty(path, permit)

    async def delete_tree_or_leave(self, path: StorePath, permit: Permit) -> None:
        """Try to delete a directory that does no harm if it stays."""
        with suppress(StoreError, CommitStateUnknownError):
            await self.delete_tree(path, permit)

    async def close(self) -> None:
        """Close the store; nothing depends on it any more, so a failure is ignored."""
        with suppress(StoreError):
            await self._store.close()
