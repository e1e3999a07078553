"""What only stores with directories can do: rename, remove and make them."""

from typing import Protocol

from fsspec_commit.layout import StorePath


class RenamesDirectories(Protocol):
    """A whole directory can be renamed atomically."""

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename the directory *source* to *target*; an existing target is refused.

        Directories of *target* below *within* are made as needed.
        """


class RemovesEmptyDirectories(Protocol):
    """A directory can be removed on condition that nothing is in it.

    Without it, `clean` renames the area of a job that may be just beginning, to look into it, and
    readers do not see that job meanwhile. Where a store makes an area and ``job.json`` in one step,
    no area is ever that of a job that is just beginning, and nothing is lost.

    Attributes:
        are_made_by_writes: Whether writing a file makes the directories that it lacks, so that what
            comes too late makes an area anew.
    """

    are_made_by_writes: bool

    async def remove_empty_directory(self, path: StorePath) -> None:
        """Remove the directory *path*; a missing one is done.

        If anything is in it, or comes into it at that moment, the call is refused (``ENOTEMPTY``).
        So it is for a file. What no listing shows, such as the hidden file of a writer that was
        killed, does not keep the directory: that is removed first, and its writer is refused.
        """


class MakesDirectories(Protocol):
    """Directories can be made before the files that need them.

    For stores on which a rename into a missing directory costs a request that fails. This only
    saves requests: renames make missing directories, too.
    """

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        """Make the directory *path* and those above it, below *within*; existing ones are kept.

        If a file is in the way, the refusal names it. *within* exists. Several calls may run at
        once, and none fails because another one makes a directory that both need.
        """
