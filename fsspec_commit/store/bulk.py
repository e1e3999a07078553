"""What some stores do to many files by one call; it only saves time."""

from collections.abc import Sequence
from typing import Protocol

from fsspec_commit.layout import StorePath


class RenamesInBulk(Protocol):
    """Many files can be renamed in one call, each atomically.

    Only for stores on which a rename costs less than a call and waits for nothing, so that it gains
    nothing from being in flight with others.
    """

    async def rename_in_bulk(
        self, renames: Sequence[tuple[StorePath, StorePath]], *, within: StorePath
    ) -> int:
        """Rename sources to targets in turn, each with ``Expect.ABSENT``, until one fails.

        Never raises :class:`~fsspec_commit.errors.StoreError`: the caller finds out by
        :meth:`~fsspec_commit.store.RenamesFiles.rename` why a rename failed.

        Returns:
            How many were renamed; the next one may have been, and none after it was tried.
        """


class DeletesInBulk(Protocol):
    """Many files can be deleted by their names in the time of one request.

    For stores without directories, where a whole directory is deleted file by file in any case. A
    caller that has listed the files before is saved the request that lists them again.
    """

    @property
    def files_max(self) -> int:
        """How many files one call may delete."""

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:
        """Delete the files *paths* below the directory *within*; a missing one counts as deleted.

        A file system below may show directories that are empty then, *within* among them: they are
        removed as well. If a call fails, any of the files may have been deleted.
        """
