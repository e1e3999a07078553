"""How a settled job's work area is removed, so that no late driver can act on its remains."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from fsspec_commit.effects import deletion
from fsspec_commit.effects.confirmed.directories import ConfirmedDirectories
from fsspec_commit.effects.confirmed.store import ConfirmedStore
from fsspec_commit.effects.deletion import Permit
from fsspec_commit.effects.emptying import contents_of, empty
from fsspec_commit.effects.leftover_uploads import LeftoverUploads
from fsspec_commit.effects.parallel import both
from fsspec_commit.effects.recorded_uploads import PublishedIds, nothing_published
from fsspec_commit.errors import PartialCommitError
from fsspec_commit.layout import JobLayout, StorePath

Leaving: TypeAlias = Callable[[StorePath], Awaitable[None]]
"""Called with the path of the area, once no late driver can find it, before it is deleted."""
Rest: TypeAlias = Callable[[], Awaitable[None]]
"""Removes what is left of an area that means nothing any more, whenever it is called."""


async def nothing() -> None:
    """Do nothing: the `Rest` where all of an area is gone."""


class Retirement(Protocol):
    """Removes whole areas.

    Attributes:
        is_in_one_step: Whether an area exists whole or not at all.
    """

    is_in_one_step: bool

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,
        adopted: bool = True,
        leaving: Leaving | None = None,
    ) -> Rest:
        """Remove a settled job's area, so that no late driver can act on it at any moment.

        Args:
            layout: The job.
            permit: A permit for its area.
            published: Returns the ids of the attempts that have nothing pending any more; given
                only where the record ``published`` stands.
            adopted: Whether another program may have written for the job, also beside its area.
            leaving: Brings back files that are in the area by mistake.

        Returns:
            What removes the rest. The job is over before that is called; if it never is called, the
            area is void, and `clean` removes it.
        """


class RetiringByRename:
    """Removes an area by one rename, so that it exists whole or not at all."""

    is_in_one_step = True

    def __init__(self, store: ConfirmedStore, directories: ConfirmedDirectories) -> None:
        self._store = store
        self._directories = directories

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,  # noqa: ARG002  # nothing of it is elsewhere
        adopted: bool = True,  # noqa: ARG002  # nor what another program has written
        leaving: Leaving | None = None,
    ) -> Rest:
        """Rename the area away whole, then delete it under its new name, with no rest.

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
        return nothing

    async def _left(self, layout: JobLayout, leaving: Leaving) -> StorePath:
        """The area's path after *leaving* has inspected it; if that fails, the area is put back.

        While it is inspected it has a name under which nobody deletes it. If this process dies then
        with another's file in it, `clean` puts the area back for a resumer.
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
    """Removes an area file by file: first ``job.json``, alone, after which nothing else counts.

    What else is in it is listed meanwhile, and then deleted in the order of
    :mod:`fsspec_commit.effects.emptying`. Pending uploads are listed when ``job.json`` has gone: an
    attempt that begins one later finds the job over when it commits, and aborts it. The records
    that show whose an upload is stay until it is aborted. A crash in between leaves a void area.

    Args:
        store: Where the area is.
        leftovers: Finds the uploads to be aborted, if there can be such.
        adopts: Whether jobs here may adopt uploads of S3A, which records them beside the area.
    """

    is_in_one_step = False

    def __init__(
        self, store: ConfirmedStore, leftovers: LeftoverUploads | None, *, adopts: bool
    ) -> None:
        self._store = store
        self._leftovers = leftovers
        self._adopts = adopts

    async def retire(
        self,
        layout: JobLayout,
        permit: Permit,
        *,
        published: PublishedIds = nothing_published,
        adopted: bool = True,
        leaving: Leaving | None = None,
    ) -> Rest:
        """Delete ``job.json``; the rest is to abort the job's uploads, and to delete the area."""
        is_published = published is not nothing_published
        _, contents = await both(
            self._store.delete(layout.spec, permit),
            contents_of(self._store, layout, is_published=is_published),
        )
        permit = deletion.of_void_area(layout)
        if leaving is not None:
            await leaving(layout.area)

        async def rest() -> None:
            uploads = self._drop_uploads(layout, permit, published, adopted=adopted)
            await empty(self._store, layout, permit, contents, beside=uploads)

        return rest

    async def _drop_uploads(
        self, layout: JobLayout, permit: Permit, published: PublishedIds, *, adopted: bool
    ) -> None:
        """Abort the uploads that are left, and delete what S3A has recorded of its own."""
        if self._leftovers is not None:
            await self._leftovers.abort_of(layout, permit, published=published)
        if adopted and self._adopts:
            beside = deletion.of_magic_directory(layout, permit)
            await self._store.delete_tree(layout.magic_directory, beside)
