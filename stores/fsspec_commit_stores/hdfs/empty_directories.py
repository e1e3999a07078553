"""The removal of a directory on condition that it is empty: a deletion that is not recursive."""

import errno

from fsspec_commit.layout import StorePath
from fsspec_commit_stores.hdfs.deletion import delete_kind
from fsspec_commit_stores.hdfs.directories import Directories
from fsspec_commit_stores.hdfs.failures import NOT_EMPTY, RequestFailedError, refusal
from fsspec_commit_stores.hdfs.requests import Requests
from fsspec_commit_stores.hdfs.writing import is_hidden
from fsspec_commit_stores.http.requests import raising_store_errors


class EmptyDirectories:
    """`RemovesEmptyDirectories`."""

    are_made_by_writes = False

    def __init__(self, requests: Requests, directories: Directories) -> None:
        self._requests = requests
        self._directories = directories

    @raising_store_errors
    async def remove_empty_directory(self, path: StorePath) -> None:
        """Remove the directory *path*: the NameNode refuses it if anything is in it.

        If all that is in it are files that no listing shows, the hidden ones of writers that were
        killed or are slow, they are deleted first; a slow writer finds out when it renames its own.

        Raises:
            StoreError: It was not removed, or it is not known.
        """
        self._directories.check("delete", path)
        if await self._is_gone(path):
            return
        hidden = await self._only_hidden(path)
        if hidden is not None:
            for file in hidden:
                await self._requests.delete(file, recursive=False)
            if await self._is_gone(path):
                return
        raise refusal("delete", path, "it is not empty", errno.ENOTEMPTY)

    async def _is_gone(self, path: StorePath) -> bool:
        """Remove the directory if it is empty; return whether it is gone."""
        try:
            await delete_kind(self._requests, path, is_directory=True, recursive=False)
        except RequestFailedError as error:
            if error.says(NOT_EMPTY):
                return False
            raise
        return True

    async def _only_hidden(self, path: StorePath) -> list[StorePath] | None:
        """The hidden files in a directory; ``None`` if there is anything else in it."""
        pages, hidden = self._requests.children(path), list[StorePath]()
        while page := await pages.following():
            if any(status.is_directory or not is_hidden(name) for name, status in page):
                return None
            hidden += [StorePath(f"{path}/{name}") for name, _ in page]
        return hidden
