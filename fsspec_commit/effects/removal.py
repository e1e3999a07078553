"""How a replaced file goes without taking a newer one with it: chosen per store by selection.

Between the moment an old file was listed and the moment it goes, somebody may have replaced it.
Where a store deletes on condition of a token that never comes back, the condition is the token.
Where it only renames, the file is renamed into the job's trash, looked at there, and put back if
it is not the one that was listed. Elsewhere, as in an unversioned bucket, where equal bytes have
equal tokens, a request that is carried out late can take a newer file: there names count.
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Literal, Protocol, TypeAlias

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.directories import ConfirmedDirectories
from fsspec_commit.effects.confirmed.files import ConfirmedFiles
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.leftover_uploads import LeftoverUploads, PublishedIds, nothing_published
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.layout import JobLayout, StorePath
from fsspec_commit.names import SUCCESS, is_never_reused
from fsspec_commit.store import Entry, Expect

LateTakes: TypeAlias = Literal["equal", "any"]
"""A newer file of the same bytes, or whatever has the name by then."""
Leaving: TypeAlias = Callable[[StorePath], Awaitable[None]]
"""Told where the area is, when no late driver finds it any more, and before it is deleted."""


class Removed(Enum):
    """What became of an old file.

    ``CHANGED`` was left alone: it is not the one that was listed any more. ``KEPT`` is what was
    taken in its place, and lies in the job's trash for a person to look at.
    """

    GONE = "gone"
    CHANGED = "changed"
    KEPT = "kept"


class Retirement(Protocol):
    """Removes whole areas."""

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,
        leaving: Leaving | None = None,
    ) -> None:
        """Remove a settled job's area in an order in which no late driver can act on it again.

        Args:
            layout: The job.
            permit: A permit for its area.
            published: Gives the ids of the attempts that have nothing pending any more.
            leaving: Brings back what is in it by mistake.
        """


class Removal(Protocol):
    """Removes files by identity, and whole areas."""

    async def retire(
        self, layout: JobLayout, permit: Permit, *, published: PublishedIds = nothing_published
    ) -> None:
        """Remove a settled job's area, when nothing is in it but what may go."""

    def may_take(self, name: str, *, in_place: bool) -> bool:
        """Whether the old file *name* can go, or be replaced in place, and never a newer one."""

    def late_takes(self, name: str) -> "LateTakes | None":
        """What a request to delete *name* that is carried out late may take; ``None``: nothing."""

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:
        """Remove *entry* if it still stands as it was listed; safe to repeat, by anyone.

        Raises:
            PermitExpiredError: *permit* was for a time, which is over.
        """

    def beware(self, layout: JobLayout, entry: Entry) -> None:
        """Another driver may be about to remove *entry*, which this one does not look for."""


class RetiringByRename:
    """An area goes by one rename, so that it is there whole or not at all."""

    def __init__(self, store: ConfirmedStore, directories: ConfirmedDirectories) -> None:
        self._store = store
        self._directories = directories

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,  # noqa: ARG002  # nothing of it is elsewhere
        leaving: Leaving | None = None,
    ) -> None:
        """Rename the area away whole, then delete it under its new name.

        Raises:
            PartialCommitError: A ``clean`` that runs meanwhile has put it back.
        """
        areas = layout.destination.areas
        source = layout.area if leaving is None else await self._left(layout, leaving)
        remains = layout.destination.gone(self._store.ids.nonce())
        permitted = deletion.of_retired(layout, permit, remains)
        if await self._directories.rename(source, remains, within=areas):
            await self._store.delete_tree(remains, permitted)
        elif source != layout.area:
            message = (
                "every file is in place, and a clean that ran meanwhile has kept the work area"
            )
            raise PartialCommitError(message, remaining=0, stage="retire")

    async def _left(self, layout: JobLayout, leaving: Leaving) -> StorePath:
        """Where the area is when *leaving* has looked at it; where that fails, it stands again.

        Until then it has a name under which nobody deletes it: `clean` puts it back, for whoever
        resumes the job, should we die with something in it that is not the job's.
        """
        areas = layout.destination.areas
        taken = layout.taken(self._store.ids.nonce())
        if not await self._directories.rename(layout.area, taken, within=areas):
            return layout.area
        left = False
        try:
            await leaving(taken)
            left = True
        finally:
            if not left:
                await self._directories.rename(taken, layout.area, within=areas)
        return taken


class RetiringInOrder:
    """An area goes file by file: first ``job.json``, alone, which makes all the rest mean nothing.

    Then the uploads, where there are any, while the records still say which they are: an attempt
    that records another one afterwards finds ``job.json`` gone. Then the decision, so that a void
    area never shows one that was not published. A crash in between leaves a void area.
    """

    def __init__(self, store: ConfirmedStore, leftovers: LeftoverUploads | None) -> None:
        self._store = store
        self._leftovers = leftovers

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,
        leaving: Leaving | None = None,
    ) -> None:
        """Delete ``job.json``, abort the job's uploads, then delete the area."""
        await self._store.delete(layout.spec, permit)
        permit = deletion.of_void_area(layout)
        if self._leftovers is not None:
            await self._leftovers.abort_of(layout, permit, published=published)
        await self._store.delete(layout.decision, permit)
        if leaving is not None:
            await leaving(layout.area)
        await self._store.delete_tree(layout.area, permit)


class _Retiring:
    """What every removal leaves to the retirement of its store."""

    def __init__(self, store: ConfirmedStore, retirement: Retirement) -> None:
        self._store = store
        self._retirement = retirement

    def beware(self, layout: JobLayout, entry: Entry) -> None:
        """Nothing but the listed file is ever taken."""

    async def retire(
        self, layout: JobLayout, permit: Permit, *, published: PublishedIds = nothing_published
    ) -> None:
        """Remove the area as its store can."""
        await self._retirement.retire(layout, permit, published=published)

    def late_takes(self, name: str) -> LateTakes | None:  # noqa: ARG002
        """Nothing: what is listed is deleted, or nothing is."""
        return None


class TrashRemoval(_Retiring):
    """For stores that rename exclusively and cannot delete on condition: local disks, HDFS."""

    def __init__(
        self, store: ConfirmedStore, files: ConfirmedFiles, retirement: Retirement
    ) -> None:
        super().__init__(store, retirement)
        self._files = files
        self._missed: dict[str, list[Entry]] = {}

    def may_take(self, name: str, *, in_place: bool) -> bool:  # noqa: ARG002
        """Whatever is taken by mistake is put back."""
        return True

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:
        """Look, rename into the trash, look again; put back what is not the listed file."""
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
            # It keeps every other driver from taking another file of that name.
            return Removed.GONE
        self.beware(layout, entry)
        if not await self._put_back(layout, layout.area, entry):
            return Removed.KEPT
        # It may have been replaced since we looked at it, and have been put back just now.
        left = await self._store.stat(entry.path)
        return Removed.CHANGED if isinstance(left, Entry) else Removed.GONE

    def beware(self, layout: JobLayout, entry: Entry) -> None:
        """Another driver may still be about to take what stands there by now: look at the end."""
        self._missed.setdefault(layout.job_id, []).append(entry)

    async def retire(
        self, layout: JobLayout, permit: Permit, *, published: PublishedIds = nothing_published
    ) -> None:
        """Remove the area, when what a slower driver took by mistake has been put back.

        Looked for before the area goes, and once more when nobody finds it under its name.
        """
        missed = self._missed.pop(layout.job_id, [])

        async def bring_back(area: StorePath) -> None:
            for entry in missed:
                name = layout.destination.relative(entry.path)
                # A marker gives way to a newer one: all of them say the same.
                if not await self._put_back(layout, area, entry) and name != SUCCESS:
                    trash = layout.trash(name)
                    message = (
                        f"published, but {entry.path!r} was replaced by somebody else meanwhile, "
                        f"twice; look at {trash!r}"
                    )
                    raise PartialCommitError(message, path=entry.path, stage="replace")

        await bring_back(layout.area)
        await self._retirement.retire(
            layout, permit, published=published, leaving=bring_back if missed else None
        )

    async def _put_back(self, layout: JobLayout, area: StorePath, entry: Entry) -> bool:
        """Put back what lies in the trash for *entry* and is not; False if its name is taken."""
        trash = layout.trash_in(area, layout.destination.relative(entry.path))
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
    """For stores that delete on condition of a token that never comes back.

    Args:
        store: Where the files are.
        retirement: Ends a job.
        replaces_if_match: Whether a file can be replaced on condition as well.
        drops_uploads: Whether a file takes with it what is pending under its name, as where
            uploads are keyed by path: a marker would take the next one. It is replaced, then.
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
        """Every file, as far as conditions are kept."""
        if self._drops_uploads and name == SUCCESS and not in_place:
            return False
        return self._replaces_if_match or not in_place

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:  # noqa: ARG002
        """Delete if it is the listed file; what is not stays."""
        is_gone = await self._store.delete_if_same(entry, permit)
        return Removed.GONE if is_gone else Removed.CHANGED


class NamedRemoval(_Retiring):
    """For stores whose tokens come back, or that delete unconditionally: an unversioned bucket.

    A request to delete that was given up may be carried out much later. Where the name is never
    used again it finds the listed file or none. Any other file goes on condition of its token, so
    that the request can take no more than a newer file of the same bytes; what jobs do about that
    is in :mod:`fsspec_commit.protocol.late_deletes`. A file is replaced in place by its token:
    that consumes an upload, so it happens once, and takes no more than the content that was listed.

    Args:
        store: Where the files are.
        retirement: Ends a job.
        replaces_if_match: Whether a file can be replaced on condition.
        deletes_if_match: Whether one can be deleted on condition.
        by_name: The promise that nobody else replaces old files while this job deletes them, so
            that it may do so without a condition.
    """

    def __init__(
        self,
        store: ConfirmedStore,
        retirement: Retirement,
        *,
        replaces_if_match: bool,
        deletes_if_match: bool,
        by_name: bool,
    ) -> None:
        super().__init__(store, retirement)
        self._replaces_if_match = replaces_if_match
        self._deletes_if_match = deletes_if_match
        self._by_name = by_name

    def may_take(self, name: str, *, in_place: bool) -> bool:
        """Files whose names carry a job id or a UUID, others where a condition or a promise helps.

        But no marker: all of them have the same name and the same bytes.
        """
        if in_place:
            return self._replaces_if_match
        if is_never_reused(name):
            return True
        return name != SUCCESS and (self._deletes_if_match or self._by_name)

    def late_takes(self, name: str) -> LateTakes | None:
        """Files of names that may be used again."""
        if is_never_reused(name):
            return None
        return "equal" if self._deletes_if_match else "any"

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> Removed:
        """Delete by name where that is enough, else on condition."""
        name = layout.destination.relative(entry.path)
        if not self.may_take(name, in_place=False):
            raise AssertionError(f"{entry.path!r} may have been replaced")
        if is_never_reused(name):
            await self._store.delete(entry.path, permit)
            return Removed.GONE
        is_gone = await self._store.delete_if_same(entry, permit)
        return Removed.GONE if is_gone else Removed.CHANGED
