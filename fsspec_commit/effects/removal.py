"""How a replaced file is removed, and no newer one with it: chosen per store by selection.

Between the moment an old file is listed and its removal, somebody may have replaced it.
Where a store deletes on condition of a token that never comes back, the condition is the token.
Where it only renames, the file is renamed into the job's trash, looked at there, and put back if
it is not the one that was listed. Elsewhere, as in an unversioned bucket, where equal bytes have
equal tokens, a request that is carried out late can take a newer file: there names count.
"""

from enum import Enum
from typing import Literal, Protocol, TypeAlias

from fsspec_commit.effects.confirmed.files import ConfirmedFiles
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.recorded_uploads import PublishedIds, nothing_published
from fsspec_commit.effects.retirement import Rest, Retirement
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.layout import JobLayout, StorePath
from fsspec_commit.names import SUCCESS, is_never_reused
from fsspec_commit.store import Entry, Expect

LateTakes: TypeAlias = Literal["equal", "any"]
"""What a late request may delete: a newer file of equal bytes, or any file of that name."""


class Removed(Enum):
    """What became of an old file.

    ``CHANGED``: it is not the listed file any more, and was left alone. ``KEPT``: another file was
    moved to the job's trash instead of it, and stays there for a person to look at.
    """

    GONE = "gone"
    CHANGED = "changed"
    KEPT = "kept"


class Removal(Protocol):
    """Removes files by identity, and whole areas.

    Attributes:
        may_look_early: Whether a driver that is superseded after it has looked for ``job.json``
            does no harm by what it still sends while its permit lasts: none of its requests touches
            a newer file, except one of equal bytes, which
            :mod:`fsspec_commit.protocol.late_deletes` deals with.
        remedy: What a user can change or promise so that every old file may be deleted, as an error
            says it; empty where they may be anyway.
    """

    may_look_early: bool
    remedy: str

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,
        adopted: bool = True,
    ) -> Rest:
        """Remove a settled job's area, after bringing back files that are in it by mistake.

        Returns:
            What removes the rest, of a job that is over: see `Retirement.retire`.
        """

    def may_take(self, name: str, *, in_place: bool) -> bool:
        """Whether the old file *name* can be deleted, or replaced, without risk to a newer one."""

    def late_takes(self, name: str) -> "LateTakes | None":
        """What a request to delete *name* may delete if carried out late; ``None`` for nothing."""

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:
        """Remove *entry* if it still stands as it was listed; safe to repeat, by anyone.

        Raises:
            PermitExpiredError: *permit* has expired.
        """

    def beware(self, layout: JobLayout, entry: Entry) -> None:
        """Note that another driver may be about to remove *entry*, though this one is not."""


class _Retiring:
    """What removals have in common: they leave areas to the retirement of the store."""

    may_look_early = True

    def __init__(self, store: ConfirmedStore, retirement: Retirement, *, remedy: str = "") -> None:
        self._store = store
        self._retirement = retirement
        self.remedy = remedy

    def beware(self, layout: JobLayout, entry: Entry) -> None:
        """Ignore it: nothing but the listed file is ever removed."""

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,
        adopted: bool = True,
    ) -> Rest:
        """Remove the area as its store can."""
        return await self._retirement.retire(layout, permit, published=published, adopted=adopted)

    def late_takes(self, name: str) -> LateTakes | None:  # noqa: ARG002
        """Nothing: a request can only delete the listed file."""
        return None


class TrashRemoval(_Retiring):
    """For stores that rename exclusively and cannot delete on condition: local disks, HDFS."""

    may_look_early = False

    def __init__(
        self, store: ConfirmedStore, files: ConfirmedFiles, retirement: Retirement
    ) -> None:
        super().__init__(store, retirement)
        self._files = files
        self._missed: dict[str, list[Entry]] = {}

    def may_take(self, name: str, *, in_place: bool) -> bool:  # noqa: ARG002
        """Every file: another one that is moved to the trash by mistake is put back."""
        return True

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:
        """Check the file, move it to the trash, check again; put back what was not listed."""
        permit.check(entry.path)
        trash = layout.trash(layout.destination.relative(entry.path))
        there = await self._store.stat(entry.path)
        if isinstance(there, Entry) and there.token == entry.token:
            await self._files.rename(
                entry.path,
                trash,
                token=entry.token,
                expecting=Expect.ABSENT,
                within=layout.area,
                observations=1,
            )
        taken = await self._store.stat(trash)
        if isinstance(taken, Entry) and taken.token == entry.token:
            # While it is there, no other driver can move another file of that name to the trash.
            return Removed.GONE
        self.beware(layout, entry)
        if await self._put_back(layout, layout.area, entry):
            return Removed.KEPT
        # It may have been replaced since we looked at it, and have been put back just now.
        left = await self._store.stat(entry.path)
        return Removed.CHANGED if isinstance(left, Entry) else Removed.GONE

    def beware(self, layout: JobLayout, entry: Entry) -> None:
        """Check the trash at the end: another driver may move a newer file there by then."""
        self._missed.setdefault(layout.job_id, []).append(entry)

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,
        adopted: bool = True,
    ) -> Rest:
        """Remove the area, after putting back files that a slower driver moved there by mistake.

        The trash is checked before the area is removed, and again once nobody finds it any more.
        """
        missed = self._missed.pop(layout.job_id, [])

        async def bring_back(area: StorePath) -> None:
            for entry in missed:
                name = layout.destination.relative(entry.path)
                # A marker gives way to a newer one: all of them say the same.
                kept = await self._put_back(layout, area, entry)
                if kept and name != SUCCESS:
                    message = (
                        f"published, but {entry.path!r} was replaced by somebody else meanwhile, "
                        f"twice; look at {kept[0]!r}"
                    )
                    raise PartialCommitError(message, path=entry.path, stage="replace")

        await bring_back(layout.area)
        return await self._retirement.retire(
            layout,
            permit,
            published=published,
            adopted=adopted,
            leaving=bring_back if missed else None,
        )

    async def _put_back(self, layout: JobLayout, area: StorePath, entry: Entry) -> list[StorePath]:
        """Put back what the trash holds instead of *entry*; return what stays, its name taken."""
        name = layout.destination.relative(entry.path)
        return [
            trash
            for trash in layout.trashes_in(area, name)
            if not await self._put_back_from(trash, layout, entry)
        ]

    async def _put_back_from(self, trash: StorePath, layout: JobLayout, entry: Entry) -> bool:
        taken = await self._store.stat(trash)
        if not isinstance(taken, Entry) or taken.token == entry.token:
            return True
        await self._files.rename(
            trash,
            entry.path,
            token=taken.token,
            expecting=Expect.ABSENT,
            within=layout.destination.root,
            observations=1,
            accept_existing=True,
        )
        return await self._store.stat(trash) is None


class ConditionalRemoval(_Retiring):
    """For stores that delete on condition of a token that is never used again.

    Args:
        store: Where the files are.
        retirement: Removes the job's area.
        replaces_if_match: Whether a file can be replaced on condition as well.
        drops_uploads: Whether deleting a file drops the uploads that are pending under its name, as
            where uploads are keyed by path. Deleting a stale marker would drop the next one, so the
            marker is replaced instead.
    """

    def __init__(
        self,
        store: ConfirmedStore,
        retirement: Retirement,
        *,
        replaces_if_match: bool,
        drops_uploads: bool = False,
    ) -> None:
        super().__init__(store, retirement)
        self._replaces_if_match = replaces_if_match
        self._drops_uploads = drops_uploads

    def may_take(self, name: str, *, in_place: bool) -> bool:
        """Every file that can be deleted, or replaced, on condition."""
        if self._drops_uploads and name == SUCCESS and not in_place:
            return False
        return self._replaces_if_match or not in_place

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:  # noqa: ARG002
        """Delete the file if it is the listed one."""
        is_gone = await self._store.delete_if_same(entry, permit)
        return Removed.GONE if is_gone else Removed.CHANGED


class NamedRemoval(_Retiring):
    """For stores that reuse tokens, or delete unconditionally, such as an unversioned bucket.

    A delete request that was given up may be carried out much later. If the name is never used
    again, it finds the listed file or none. Any other file is deleted on condition of its token, so
    that a late request can delete at most a newer file of equal bytes;
    :mod:`fsspec_commit.protocol.late_deletes` deals with that. A file is replaced in place on
    condition of its token: that consumes an upload, so it happens at most once, and to the listed
    content only.

    Args:
        store: Where the files are.
        retirement: Removes the job's area.
        replaces_if_match: Whether a file can be replaced on condition.
        deletes_if_match: Whether a file can be deleted on condition.
        by_name: The promise that nobody else replaces old files while this job deletes them, so
            that it may do so without a condition.
        remedy: What a user can change or promise so that every old file may be deleted.
    """

    def __init__(
        self,
        store: ConfirmedStore,
        retirement: Retirement,
        *,
        replaces_if_match: bool,
        deletes_if_match: bool,
        by_name: bool,
        remedy: str,
    ) -> None:
        super().__init__(store, retirement, remedy=remedy)
        self._replaces_if_match = replaces_if_match
        self._deletes_if_match = deletes_if_match
        self._by_name = by_name

    def may_take(self, name: str, *, in_place: bool) -> bool:
        """Files whose names contain a job id or a UUID; others with a condition or a promise.

        Never a marker: all markers have the same name and the same bytes.
        """
        if in_place:
            return self._replaces_if_match
        if is_never_reused(name):
            return True
        return name != SUCCESS and (self._deletes_if_match or self._by_name)

    def late_takes(self, name: str) -> LateTakes | None:
        """Files whose names may be used again."""
        if is_never_reused(name):
            return None
        return "equal" if self._deletes_if_match else "any"

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:
        """Delete the file by its name if that is safe, or else on condition."""
        name = layout.destination.relative(entry.path)
        if not self.may_take(name, in_place=False):
            raise AssertionError(f"{entry.path!r} may have been replaced")
        if is_never_reused(name):
            await self._store.delete(entry.path, permit)
            return Removed.GONE
        is_gone = await self._store.delete_if_same(entry, permit)
        return Removed.GONE if is_gone else Removed.CHANGED
