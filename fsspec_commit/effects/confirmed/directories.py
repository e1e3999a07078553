"""Directories, confirmed: renamed whole, or made before the files that need them."""

from fsspec_commit.effects.confirm import Effect, Undone, confirm
from fsspec_commit.effects.confirmed.counted import Counted
from fsspec_commit.effects.pacing import Pace
from fsspec_commit.layout import StorePath
from fsspec_commit.statistics import Statistics
from fsspec_commit.store import Directory, MakesDirectories, RenamesDirectories, Store


class ConfirmedDirectories(Counted):
    """Renames of directories, confirmed; nobody else ever uses the names of their targets."""

    def __init__(
        self, ability: RenamesDirectories, store: Store, pace: Pace, statistics: Statistics
    ) -> None:
        super().__init__(store, pace, statistics)
        self._ability = ability

    async def rename(self, source: StorePath, target: StorePath, *, within: StorePath) -> bool:
        """Rename a directory; False if there is neither source nor target."""

        async def apply() -> bool:
            await self._counted(
                "op_rename_directory",
                self._ability.rename_directory(source, target, within=within),
            )
            return True

        async def observe() -> bool | Undone:
            if await self._store.stat(source) is not None:
                return Undone.UNDONE
            return await self._store.stat(target) is not None

        return await confirm(Effect(apply, observe, "renaming", source), self._pace)


class ConfirmedDirectoryCreation(Counted):
    """Creation of directories, confirmed: one that exists is done, whoever made it."""

    def __init__(
        self, ability: MakesDirectories, store: Store, pace: Pace, statistics: Statistics
    ) -> None:
        super().__init__(store, pace, statistics)
        self._ability = ability

    async def make(self, path: StorePath, *, within: StorePath) -> None:
        """Make the directory *path*, and those above it below *within*.

        Raises:
            StoreError: The directory certainly does not exist, as when a file is in its way.
            CommitStateUnknownError: The store did not say.
        """

        async def apply() -> None:
            await self._counted("op_mkdirs", self._ability.make_directory(path, within=within))

        async def observe() -> Undone | None:
            there = await self._store.stat(path)
            return None if isinstance(there, Directory) else Undone.UNDONE

        await confirm(Effect(apply, observe, "making the directory", path), self._pace)
