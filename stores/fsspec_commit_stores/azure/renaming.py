"""What only a hierarchical account can do: rename files, and rename, make, remove directories.

*Path - Create* renames, at the endpoint of Data Lake Storage: atomically, exclusively with
``If-None-Match: *``, and without a change to the etag. Its ``mode`` is left at ``posix``: nothing
moves into a directory that stands in its way.
"""

import errno

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry, Expect, Expectation, Token
from fsspec_commit_stores.azure.contents import condition_of, match_of
from fsspec_commit_stores.azure.lookup import look
from fsspec_commit_stores.azure.names import trouble_with
from fsspec_commit_stores.azure.requests import TURNS_MAX, Container, RequestFailedError
from fsspec_commit_stores.http.listings import Continuations
from fsspec_commit_stores.http.requests import raising_store_errors, unless_missing

_RENAME = "Path - Rename"
_CONTINUATION = "x-ms-continuation"
_NO_PARENT = "RenameDestinationParentPathNotFound"


class Renames:
    """`RenamesFiles`, and what is done with directories, in one container."""

    are_made_by_writes = True

    def __init__(self, container: Container) -> None:
        self._container = container

    async def rename(
        self,
        source: StorePath,
        target: StorePath,
        *,
        token: Token | None,
        expecting: Expectation,
        within: StorePath,
    ) -> None:
        """Rename the file *source*; one request where the directory of *target* is there.

        *token* and *expecting* are conditions of that request. Without a token the source is
        looked at before, for the request renames a directory as well.

        Raises:
            StoreError: It was not renamed, or it is not known.
        """
        pinned = token
        if pinned is None:
            found = await look(self._container, source)
            if not isinstance(found, Entry):
                raise self._refusal(source, "there is no such file", errno.ENOENT)
            pinned = found.token
        headers = {"x-ms-source-if-match": match_of(pinned), **condition_of(expecting)}
        # Where a content is expected at the target, so is the target's directory.
        makes_parents = isinstance(expecting, Expect)
        await self._rename(source, target, headers, within, makes_parents=makes_parents)

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        """Rename the directory *source*, with as many requests as the service wants.

        It is documented to be atomic where the namespace is hierarchical, and to take further
        requests where there are many paths; only flat accounts have been seen to ask for these.

        Raises:
            StoreError: It was not renamed, or it is not known.
        """
        if not isinstance(await look(self._container, source), Directory):
            raise self._refusal(source, "there is no such directory", errno.ENOENT)
        await self._rename(source, target, condition_of(Expect.ABSENT), within, makes_parents=True)

    @raising_store_errors
    async def remove_empty_directory(self, path: StorePath) -> None:
        """Remove the directory *path*: the service refuses it if anything is in it.

        It is looked at before, for the request deletes a file as well.

        Raises:
            StoreError: It was not removed, or it is not known.
        """
        operation = "Path - Delete of an empty directory"
        there = await look(self._container, path)
        if isinstance(there, Entry):
            raise self._container.refusal(operation, path, "it is a file", errno.ENOTDIR)
        if there is None:
            return
        try:
            await unless_missing(self._container.request(operation, path))
        except RequestFailedError as error:
            if not error.has_code("DirectoryNotEmpty"):
                raise
        else:
            return
        raise self._container.refusal(operation, path, "it is not empty", errno.ENOTEMPTY)

    async def make_directory(self, path: StorePath, *, within: StorePath) -> None:
        """Make the directory *path* and those above it; it may be there already.

        If something is there, the service says what it is, in a header that Hadoop's client goes by
        as well (``x-ms-existing-resource-type``). Where that is missing, *path* is looked at.

        Raises:
            StoreError: A file is in the way; it was not made, or it is not known.
        """
        try:
            await self._container.request("Path - Create", path, condition_of(Expect.ABSENT))
        except RequestFailedError as error:
            failure = error.failure
            if error.answer is None or error.answer.status not in {404, 409, 412}:
                raise failure from None
            kind = error.answer.headers.get("x-ms-existing-resource-type")
            if kind == "directory" and error.has_code("PathAlreadyExists"):
                return
        else:
            return
        if isinstance(await look(self._container, path), Directory):
            return
        blocking = await self._file_above(path, within)
        if blocking is not None:
            why = f"the file {blocking!r} is in the way"
            raise self._container.refusal("Path - Create", path, why, errno.ENOTDIR)
        raise failure

    @raising_store_errors
    async def _rename(
        self,
        source: StorePath,
        target: StorePath,
        conditions: dict[str, str],
        within: StorePath,
        *,
        makes_parents: bool,
    ) -> None:
        trouble = trouble_with(target)
        if trouble is not None:
            raise self._refusal(target, trouble, errno.EINVAL)
        try:
            await self._request(source, target, conditions)
        except RequestFailedError as error:
            if not (makes_parents and error.has_code(_NO_PARENT)):
                raise
        else:
            return
        if not isinstance(await look(self._container, within), Directory):
            raise self._refusal(target, f"the directory {within!r} is gone", errno.ENOENT)
        parent = StorePath(target.rpartition("/")[0])
        await self.make_directory(parent, within=within)
        await self._request(source, target, conditions)

    async def _request(
        self, source: StorePath, target: StorePath, conditions: dict[str, str]
    ) -> None:
        headers = {"x-ms-rename-source": self._container.source(source), **conditions}
        answer = await self._container.request(_RENAME, target, headers)
        following = answer.headers.get(_CONTINUATION, "")
        if following:
            await self._go_on(target, headers, following)

    async def _go_on(self, target: StorePath, headers: dict[str, str], following: str) -> None:
        """Send the rename again until all of it is done; *following* is from its first answer."""
        continuations = Continuations(self._container, _RENAME, target, times_max=TURNS_MAX)
        while following:
            continuations.check(following)
            query = {"continuation": following}
            try:
                answer = await self._container.request(_RENAME, target, headers, query=query)
            except RequestFailedError as error:
                # Nothing is certain about the whole: a part has been renamed.
                error.failure.reply = Reply.UNKNOWN
                raise error.failure from None
            following = answer.headers.get(_CONTINUATION, "")

    async def _file_above(self, path: StorePath, within: StorePath) -> StorePath | None:
        """The file at *path* or above it, below *within*, if there is one."""
        names = path[len(within) + 1 :].split("/")
        for count in range(1, len(names) + 1):
            above = StorePath("/".join([within, *names[:count]]))
            if isinstance(await look(self._container, above), Entry):
                return above
        return None

    def _refusal(self, path: StorePath, why: str, number: int) -> StoreError:
        return self._container.refusal(_RENAME, path, why, number)
