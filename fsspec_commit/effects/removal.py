"""How a replaced file goes without taking a newer one with it: chosen per store by selection.

Between the moment an old file was listed and the moment it goes, somebody may have replaced it.
Where a store deletes on condition, the condition is the token. Where it only renames, the file is
renamed into the job's trash, looked at there, and put back if it is not the one that was listed.
"""

from typing import Protocol

from fsspec_commit.effects import deletion
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.settled import SettledDirectories, SettledFiles, SettledStore
from fsspec_commit.layout import JobLayout
from fsspec_commit.store import Entry, Expect


class Removal(Protocol):
    """Removes files by identity, and whole areas."""

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> bool:
        """Remove *entry* if it still stands as it was listed; safe to repeat, by anyone.

        Returns:
            False when something that is not *entry* was taken and could not be put back: it is
            kept in the job's trash, for a person to look at.
        """

    async def retire(self, layout: JobLayout, permit: Permit) -> None:
        """Remove a settled job's area in an order in which no late driver can act on it again."""


class RetiringByRename:
    """An area goes by one rename, so that it is there whole or not at all."""

    def __init__(self, store: SettledStore, directories: SettledDirectories) -> None:
        self._store = store
        self._directories = directories

    async def retire(self, layout: JobLayout, permit: Permit) -> None:
        """Rename the area away whole, then delete it under its new name."""
        remains = layout.destination.gone(self._store.ids.nonce())
        permitted = deletion.of_retired(layout, permit, remains)
        renamed = await self._directories.rename(
            layout.area, remains, within=layout.destination.areas
        )
        if renamed:
            await self._store.delete_tree(remains, permitted)


class TrashRemoval(RetiringByRename):
    """For stores that rename exclusively and cannot delete on condition: local disks, HDFS."""

    def __init__(
        self, store: SettledStore, files: SettledFiles, directories: SettledDirectories
    ) -> None:
        super().__init__(store, directories)
        self._files = files

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> bool:
        """Rename into the trash, then look; put back what is not the listed file."""
        permit.check(entry.path)
        name = layout.destination.relative(entry.path)
        trash = layout.trash(name)
        await self._files.rename(
            entry.path,
            trash,
            token=entry.token,
            expecting=Expect.ABSENT,
            within=layout.area,
            looks=1,
        )
        taken = await self._store.stat(trash)
        if not isinstance(taken, Entry) or taken.token == entry.token:
            return True
        await self._files.rename(
            trash,
            entry.path,
            token=taken.token,
            expecting=Expect.ABSENT,
            within=layout.destination.root,
            looks=1,
            yielding=True,
        )
        return await self._store.stat(trash) is None


class ConditionalRemoval(RetiringByRename):
    """For stores that delete on condition of a token."""

    async def remove(self, layout: JobLayout, entry: Entry, permit: Permit) -> bool:  # noqa: ARG002
        """Delete if it is the listed file; what is not stays."""
        await self._store.delete_if_same(entry, permit)
        return True
