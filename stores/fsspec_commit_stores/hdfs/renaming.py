"""Renames: one request to the NameNode, which makes it atomic and refuses a name that is taken.

`rename2` with no options, and not the older `rename`, which answers ``false`` for a refusal and
moves a file into a directory that has the new name (HADOOP-11452).
"""

import errno

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Expectation, Token
from fsspec_commit_stores.hdfs.directories import Directories
from fsspec_commit_stores.hdfs.failures import MISSING, RequestFailedError, refusal
from fsspec_commit_stores.hdfs.requests import Requests
from fsspec_commit_stores.hdfs.writing import Files
from fsspec_commit_stores.http.requests import raising_store_errors


class HdfsRenames:
    """`RenamesFiles` and `RenamesDirectories`."""

    def __init__(self, requests: Requests, directories: Directories, files: Files) -> None:
        self._requests = requests
        self._directories = directories
        self._files = files

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename a file, exclusively for ``Expect.ABSENT``.

        Where a token is expected, the target is looked at just before: what a foreign writer puts
        there in between is lost. *token* says that the caller has seen a file at *source*; without
        one, *source* is looked at, because HDFS renames a directory as readily. *token* does not
        pin the content: HDFS compares nothing.

        Raises:
            StoreError: The target exists or is not as expected; the source is missing; a file is
                in the way of a directory; or it is not known.
        """
        self._directories.check(f"rename {source!r} to", target)
        if token is None:
            await self._check_source(source, target, is_directory=False)
        if not isinstance(expecting, Expect):
            await self._files.check_target(target, expecting)
        await self._rename(source, target, within, replacing=expecting is not Expect.ABSENT)

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename a directory, refusing any target that exists.

        Raises:
            StoreError: The target exists; the source is missing or not a directory; or it is not
                known.
        """
        self._directories.check(f"rename {source!r} to", source, target)
        await self._check_source(source, target, is_directory=True)
        await self._rename(source, target, within, replacing=False)

    @raising_store_errors
    async def _rename(
        self, source: StorePath, target: StorePath, within: StorePath, *, replacing: bool
    ) -> None:
        try:
            await self._requests.rename(source, target, replacing=replacing)
        except RequestFailedError as error:
            if not error.says(MISSING):
                raise
        else:
            return
        # One exception for two things: the source is missing, or the directory of the target.
        await self._check_source(source, target)
        await self._directories.with_parent(
            target, within, lambda: self._requests.rename(source, target, replacing=replacing)
        )

    @raising_store_errors
    async def _check_source(
        self, source: StorePath, target: StorePath, *, is_directory: bool | None = None
    ) -> None:
        there = await self._requests.status(source)
        verb = f"rename to {target!r}"
        if there is None:
            raise refusal(verb, source, "it does not exist", errno.ENOENT)
        if is_directory is None or there.is_directory is is_directory:
            return
        if is_directory:
            raise refusal(verb, source, "it is a file", errno.ENOTDIR)
        raise refusal(verb, source, "it is a directory", errno.EISDIR)
