"""The store as the protocol sees it: paced, counted, settled, every deletion permitted."""

import asyncio
import errno
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress

from fsspec_commit.effects.counted import Counted
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.pacing import IN_FLIGHT_MAX, Pace
from fsspec_commit.effects.settle import Effect, Undone, settle, unclassified
from fsspec_commit.effects.settled_directories import SettledDirectories, SettledNewDirectories
from fsspec_commit.effects.settled_files import SettledFiles
from fsspec_commit.effects.settled_uploads import SettledUploads
from fsspec_commit.effects.settled_writer import SettledWriter
from fsspec_commit.errors import (
    CommitError,
    CommitStateUnknownError,
    RecordError,
    Reply,
    StoreError,
)
from fsspec_commit.ids import IdSource, Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.records import RECORD_BYTES_MAX
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import (
    Capabilities,
    Directory,
    Entry,
    Expect,
    Store,
    Unusable,
    Writer,
    WritesDirectly,
)

_BREATH = 1_000
"""After so many entries of a listing that never waited, others on the loop have their turn."""
_OF_WHO_ASKS = {errno.EACCES, errno.EPERM, errno.ETIMEDOUT, errno.ECONNABORTED, errno.EHOSTUNREACH}
"""Reasons of a refusal that lie with who asks, or on the way."""


@contextmanager
def refusals_as_damage() -> Iterator[None]:
    """For looking at other people's records: one that we may not read is as good as damaged.

    Raises:
        RecordError: The store certainly will not give a record; what it says is not known here.
    """
    try:
        yield
    except (StoreError, CommitStateUnknownError) as error:
        refusal = error if isinstance(error, StoreError) else error.__cause__
        if not isinstance(refusal, StoreError) or refusal.reply is not Reply.REFUSED:
            raise
        raise RecordError(str(refusal), path=refusal.path) from error


class SettledStore(Counted):
    """All of a store that committers and protocol ever hold."""

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
        files, directories = store.files, store.directories
        self.files = None if files is None else SettledFiles(files, store, pace, statistics)
        self.directories = (
            None
            if directories is None
            else SettledDirectories(directories, store, pace, statistics)
        )
        making = store.new_directories
        self.new_directories = (
            None if making is None else SettledNewDirectories(making, store, pace, statistics)
        )
        uploads = store.uploads
        self.uploads = (
            None if uploads is None else SettledUploads(uploads, store, pace, statistics, ids)
        )

    @property
    def root(self) -> StorePath:
        """The destination as the store names it."""
        return self._store.root

    @property
    def capabilities(self) -> Capabilities:
        """What the store declares of itself."""
        return self._store.capabilities

    @property
    def direct(self) -> WritesDirectly | None:
        """Writing on the caller's own thread."""
        return self._store.direct

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        """What stands at *path*."""
        return await self._ask("op_get_file_status", lambda: self._store.stat(path))

    async def read(self, path: StorePath, *, limit_bytes: int = RECORD_BYTES_MAX) -> bytes | None:
        """The whole file at *path*, if there is one."""
        content = await self._ask(
            "op_open", lambda: self._store.read(path, limit_bytes=limit_bytes)
        )
        return None if content is None else content.data

    async def read_range(self, path: StorePath, *, start: int, length: int) -> bytes | None:
        """At most *length* bytes from *start*; ``None`` when there is no such file."""
        return await self._ask(
            "op_open", lambda: self._store.read_range(path, start=start, length=length)
        )

    async def list_tree(
        self, path: StorePath, *, without: StorePath | None = None
    ) -> AsyncIterator[Entry]:
        """Every file below the directory *path* but those below *without*, in any order.

        The store is asked until it begins; begun again later, it would repeat itself.
        """

        async def begin() -> tuple[AsyncIterator[Entry], Entry | None]:
            listing = self._store.list_tree(path, without=without)
            return listing, await anext(listing, None)

        listing, first = await self._ask("op_list_files", begin)
        listed = 1
        try:
            if first is None:
                return
            yield first
            async for entry in listing:
                yield entry
                listed += 1
                if listed % _BREATH == 0:
                    await asyncio.sleep(0)
        except CommitError:
            raise
        except Exception as error:
            raise unclassified(error) from error
        finally:
            if isinstance(listing, AsyncGenerator):
                await listing.aclose()

    async def read_or_refusal(
        self, path: StorePath, *, limit_bytes: int
    ) -> bytes | StoreError | None:
        """The whole file at *path*, or why nobody can be given it: it is no file, or too long.

        Raises:
            StoreError: The question failed, or we may not ask it: that says nothing of the file.
        """
        try:
            return await self.read(path, limit_bytes=limit_bytes)
        except StoreError as error:
            if error.reply is not Reply.REFUSED or error.errno in _OF_WHO_ASKS:
                raise
            return error

    async def bytes_below(self, path: StorePath) -> int:
        """How much the files below *path* hold, as far as it may be listed."""
        total = 0
        try:
            async for entry in self.list_tree(path):
                total += entry.size_bytes
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
        return total

    async def list_area(self, path: StorePath) -> list[Entry | Directory | Unusable]:
        """What stands directly in a directory of records, whatever it is.

        One odd thing, put there by somebody who knows of no jobs, must not hide the records.
        """

        async def listing() -> list[Entry | Directory | Unusable]:
            return [child async for child in self._store.list_children(path)]

        return await self._ask("op_list_status", listing)

    async def list_usable(self, path: StorePath) -> list[Entry | Directory]:
        """The same without what is neither a file nor a directory."""
        return [one for one in await self.list_area(path) if not isinstance(one, Unusable)]

    async def list_children(self, path: StorePath) -> list[Entry | Directory]:
        """What stands directly in the directory *path*.

        Raises:
            StoreError: Something there is neither a file nor a directory.
        """
        children: list[Entry | Directory] = []
        for child in await self.list_area(path):
            if isinstance(child, Unusable):
                raise child.refusal
            children.append(child)
        return children

    async def list_children_if_allowed(self, path: StorePath) -> list[Entry | Directory] | None:
        """The same where we may have no business; ``None`` when the store refuses to tell."""
        try:
            return await self.list_children(path)
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return None

    async def stands_if_allowed(self, path: StorePath) -> bool | None:
        """Whether anything stands at *path*; ``None`` when the store refuses to tell."""
        try:
            return await self.stat(path) is not None
        except StoreError as error:
            if error.reply is not Reply.REFUSED:
                raise
            return None

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        """Write the file *path*, a name that nobody else ever writes."""
        self._statistics.count("op_create")
        return SettledWriter(self._store.writer(path, within=within, nonce=nonce), self._pace)

    async def create(
        self, path: StorePath, data: bytes, *, within: StorePath | None
    ) -> bytes | None:
        """Create a record exclusively, and say what stands at *path* now.

        An unknown outcome is never resolved by absence: the create is repeated until a record
        stands, ours or another's. So it is when the record that was in the way has gone.

        Returns:
            *data* if we came first, else what another wrote; ``None`` when *within* is gone, so
            that nothing can be created there any more.
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
            return Undone.OVERTAKEN if was_in_the_way else Undone.UNDONE

        return await settle(Effect(apply, observe, "creating", path), self._pace)

    async def create_unrepeated(self, path: StorePath, data: bytes, *, backoff: int) -> bool:
        """Create a file that must never come into being when it is gone again.

        Exclusively, with all directories above it; and never again while a request for it may
        still be carried out.

        Args:
            path: Where.
            data: What.
            backoff: How many such files could not be created just before.

        Returns:
            False when another stands there.

        Raises:
            CommitStateUnknownError: The request was not answered, and is not seen to have been
                carried out; it may be yet.
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
        return await settle(effect, self._pace, backoff=backoff)

    async def create_once(self, path: StorePath, data: bytes, *, within: StorePath) -> Entry:
        """Create a small file under a name that only we know, and say which content stands.

        Exclusively, so that a request given up on and applied late cannot replace what the
        repeated one has made: the identity that is returned stays true.
        """

        async def apply() -> Entry:
            token = await self._counted(
                "op_create", self._store.put(path, data, expecting=Expect.ABSENT, within=within)
            )
            return Entry(path=path, size_bytes=len(data), token=token)

        async def observe() -> Entry | Undone:
            content = await self._store.read(path, limit_bytes=RECORD_BYTES_MAX)
            if content is None or content.data != data:
                return Undone.UNDONE
            return content.entry

        return await settle(Effect(apply, observe, "creating", path), self._pace)

    async def create_or_leave(self, path: StorePath, *, within: StorePath) -> None:
        """Create an empty file that only helps: try, and go without where that fails."""
        with suppress(StoreError, CommitStateUnknownError):
            await self.create(path, b"", within=within)

    async def delete(self, path: StorePath, permit: Permit) -> None:
        """Delete a file that only we name; a missing one is done.

        Raises:
            PermitExpiredError: *permit* was for a time, which is over.
        """
        permit.check(path)

        async def apply() -> None:
            permit.check_time(self.ids.now())
            await self._counted("op_delete", self._store.delete(path, expecting=Expect.ANYTHING))

        async def observe() -> Undone | None:
            return None if await self._store.stat(path) is None else Undone.UNDONE

        await settle(Effect(apply, observe, "deleting", path), self._pace)

    async def delete_or_leave(self, path: StorePath, permit: Permit) -> None:
        """Delete a file whose presence means nothing: try, and leave it where that fails."""
        with suppress(StoreError, CommitStateUnknownError):
            await self.delete(path, permit)

    async def delete_if_same(self, entry: Entry, permit: Permit) -> bool:
        """Delete a file if it still is *entry*; gone or replaced by another, it is done.

        Returns:
            Whether it is gone; False when another stands in its place.

        Raises:
            PermitExpiredError: *permit* was for a time, which is over.
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

        return await settle(Effect(apply, observe, "deleting", entry.path), self._pace)

    async def delete_tree(self, path: StorePath, permit: Permit) -> None:
        """Delete a directory and all below it."""
        permit.check(path)

        async def apply() -> None:
            await self._counted("op_delete_dir", self._store.delete_tree(path))

        async def observe() -> Undone | None:
            return None if await self._store.stat(path) is None else Undone.UNDONE

        await settle(Effect(apply, observe, "deleting", path), self._pace)

    async def delete_tree_or_leave(self, path: StorePath, permit: Permit) -> None:
        """Delete a directory that means nothing: try, and leave it where that fails."""
        with suppress(StoreError, CommitStateUnknownError):
            await self.delete_tree(path, permit)

    async def close(self) -> None:
        """Let go of the store; nothing depends on it any more, so a failure concerns nobody."""
        with suppress(StoreError):
            await self._store.close()
