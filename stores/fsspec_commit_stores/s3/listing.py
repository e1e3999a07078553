"""Listings, page by page as S3 gives them.

A directory is a prefix that ends in a slash. A key that ends in one is what consoles and other
file systems write to make an empty directory visible: never a file, but deleted with its directory.

Where versions are kept, entries come from `ListObjectVersions`, the one listing that names them; it
also shows what is gone, so directories come from `ListObjectsV2` all the same.
"""

import errno
import math
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from typing import Any

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Ask, Directory, Entry, Unusable, later_page
from fsspec_commit_stores.http.listings import (
    ANOTHER_PLACE,
    NAMELESS,
    Continuations,
    below,
    between,
    told_apart,
)
from fsspec_commit_stores.s3.contents import etag_of
from fsspec_commit_stores.s3.deletions import Deletions
from fsspec_commit_stores.s3.pages import (
    ENCODED,
    Shown,
    contents,
    decode,
    is_after,
    keys_on,
    names_on,
    next_place,
    text_in,
)
from fsspec_commit_stores.s3.requests import Bucket
from fsspec_commit_stores.s3.versions import Versions

_SHOWN_AT_ONCE_MAX = 256
"""Up to this many names are shown only if both listings show the same."""
_HELD_MAX = 2_000
"""Each of several concurrent listings holds at most this many files, and those of one more page."""
_TRIES_MAX, _TRIES_OF_MANY = 64, 4
# Sorts after every ASCII name in a directory; what is listed of it after that is filtered out.
_LAST = "~"


class Listing:
    """Lists one bucket.

    Attributes:
        is_sorted: Pages come in the order of their keys, so that a subtree can be jumped over.
        deletions: Deletes what is listed.
    """

    def __init__(
        self,
        bucket: Bucket,
        versions: Versions,
        ask: Ask,
        *,
        is_sorted: bool,
        keeps_directories: bool,
    ) -> None:
        self.is_sorted = is_sorted
        self.deletions = Deletions(bucket, self._page, keeps_directories=keeps_directories)
        self._bucket = bucket
        self._versions = versions
        self._ask = ask

    async def tree(self, path: StorePath, without: StorePath | None) -> AsyncIterator[Entry]:
        """Every file below *path* but those below *without*."""
        left_out = None if without is None else below(self._bucket.key(without))
        prefix = below(self._bucket.key(path))
        if left_out is not None and prefix.startswith(left_out):
            return
        kept = await self._versions.are_kept()
        pages = self._version_pages if kept else self._object_pages
        listed = pages(path, Prefix=prefix, left_out=left_out)
        async for is_later, page in told_apart(listed):
            files = self._files_on(page, left_out)
            if is_later or self._is_first_of_several(page):
                files = later_page(files, is_sorted=self.is_sorted)
            for entry in files:
                yield entry

    async def children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*.

        A page shows one moment, and is passed on as it comes. `ListObjectVersions` takes several
        pages where much was deleted, and of two files of which one always stands it may show
        neither. So its names must be those that `ListObjectsV2` has shown, else both are asked for
        again: not for ever if they are many; too many to be held are passed on as they come, too.

        Raises:
            StoreError: A page was not given, or files come and go all the time.
        """
        asked = {"Prefix": below(self._bucket.key(path)), "Delimiter": "/"}
        kept = await self._versions.are_kept()
        held = await self._agreed(path, asked) if kept else None
        if held is not None:
            for directory in held[0]:
                yield directory
            for file in held[1].values():
                yield file
            return
        async for is_later, page in told_apart(self._object_pages(path, **asked)):
            is_apart = is_later or self._is_first_of_several(page)
            directories, files = self._on(page, prefix=asked["Prefix"], is_apart=is_apart)
            for directory in directories:
                yield directory
            for file in () if kept else files.values():
                yield file
        if kept:
            async for page in self._version_pages(path, **asked):
                for file in self._on(page, prefix=asked["Prefix"], is_apart=True)[1].values():
                    yield file

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """What stands directly in *path*, if one page of `ListObjectsV2` names all of it.

        A page may have any number of keys, or none, and be followed by another.
        https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
        """
        asked = {"Prefix": below(self._bucket.key(path)), "Delimiter": "/"}
        if await self._versions.are_kept():
            shown = await self._agreed(path, asked, at_once=True)
        else:
            shown = await self._on_one_page(path, asked)
        return None if shown is None else [*shown[0], *shown[1].values()]

    async def _agreed(
        self, path: StorePath, asked: Mapping[str, str], *, at_once: bool = False
    ) -> Shown | None:
        """What both listings show; ``None`` if that is too much to be held, or for one page."""
        for tried in range(_TRIES_MAX):
            shown = await (self._on_one_page if at_once else self._on_some_pages)(path, asked)
            if shown is None:
                return None
            directories, files = shown
            if not files:
                return directories, files
            named = set(files)
            del files, shown
            versions = self._version_pages(path, **asked)
            _, files = await self._shown(versions, prefix=asked["Prefix"], is_after_another=True)
            if files.keys() == named:
                return directories, files
            if len(named) > _SHOWN_AT_ONCE_MAX and tried >= _TRIES_OF_MANY:
                return None if at_once else (directories, files)
        why = "files there come and go all the time"
        raise self._bucket.doubt("list_object_versions", path, why)

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool] | None:
        """The first files in *first* to *last*, and if that is all; ``None`` if out of order."""
        begin, end = below(self._bucket.key(first)), below(self._bucket.key(last))
        prefix = {"Prefix": below(self._bucket.key(path))}
        page = await self._page("list_objects_v2", path, prefix, {"StartAfter": begin})
        keys = [str(listed["Key"]) for listed in page.get("Contents") or ()]
        shown = between(keys, begin, end)
        if shown is None:
            return None
        is_whole = not page.get("IsTruncated") or len(shown) < len(keys)
        return [self._bucket.path(key) for key in shown], is_whole

    async def is_directory(self, path: StorePath) -> bool:
        """Whether there is anything below *path*: one request, unless a page has nothing on it.

        Servers skip some number of deleted names per page, and say that there may be more.
        """
        prefix = below(self._bucket.key(path))
        async for page in self._object_pages(path, Prefix=prefix, MaxKeys=1):
            if page.get("Contents"):
                return True
        return False

    async def delete_tree(self, path: StorePath) -> None:
        """Delete every key below *path*, as :class:`Deletions` does it.

        Raises:
            StoreError: Some are left; the error names the first ones.
        """
        await self.deletions.delete_tree(path)

    async def _on_one_page(self, path: StorePath, asked: Mapping[str, str]) -> Shown | None:
        page = await self._page("list_objects_v2", path, asked, {})
        return None if page.get("IsTruncated") else self._on(page, prefix=asked["Prefix"])

    async def _on_some_pages(self, path: StorePath, asked: Mapping[str, str]) -> Shown | None:
        pages = self._object_pages(path, **asked)
        shown = await self._shown(pages, prefix=asked["Prefix"], files_max=_HELD_MAX)
        return None if len(shown[1]) > _HELD_MAX else shown

    async def _shown(
        self,
        pages: AsyncIterator[Mapping[str, Any]],
        *,
        prefix: str,
        files_max: float = math.inf,
        is_after_another: bool = False,
    ) -> Shown:
        """The directories on *pages*, and the files by their keys, without *prefix* itself.

        No further page is asked for once there are more files than *files_max*. The first page may
        come after another listing, which has shown the directories.
        """
        directories: list[Directory] = []
        files: dict[str, Entry] = {}
        async for is_later, page in told_apart(pages):
            is_apart = is_later or is_after_another
            shown, there = self._on(page, prefix=prefix, is_apart=is_apart)
            directories += shown
            files.update(there)
            if len(files) > files_max:
                break
        return directories, files

    def _is_first_of_several(self, page: Mapping[str, Any]) -> bool:
        """Whether a first page may show what belongs to a work area on a later one: in no order."""
        return not self.is_sorted and bool(page.get("IsTruncated"))

    def _files_on(self, page: Mapping[str, Any], left_out: str | None) -> Iterator[Entry]:
        """The files on a page of a tree, without those below *left_out*."""
        for listed in contents(page):
            key = str(listed["Key"])
            if not key.endswith("/") and not (left_out and key.startswith(left_out)):
                yield self._entry(listed)

    def _on(self, page: Mapping[str, Any], *, prefix: str, is_apart: bool = False) -> Shown:
        """What :meth:`_shown` returns of one page."""
        directories = [
            Directory(self._bucket.path(str(common["Prefix"])[:-1]))
            for common in page.get("CommonPrefixes") or ()
        ]
        files = {
            str(listed["Key"]): self._entry(listed)
            for listed in contents(page)
            if str(listed["Key"]) != prefix
        }
        if is_apart:
            marked = later_page(files.values(), is_sorted=self.is_sorted)
            files = dict(zip(files, marked, strict=True))
        return directories, files

    def _entry(self, listed: Mapping[str, Any]) -> Entry:
        path = self._bucket.path(str(listed["Key"]))
        if not etag_of(listed):
            why = "it has no etag, so it cannot be told from another content"
            raise self._bucket.refusal("list_objects_v2", path, why, errno.EINVAL)
        return Entry(
            path=path,
            size_bytes=int(listed.get("Size") or 0),
            token=self._versions.listed(listed),
        )

    def _object_pages(
        self, path: StorePath, *, left_out: str | None = None, **parameters: Any
    ) -> AsyncIterator[dict[str, Any]]:
        return self._pages(
            "list_objects_v2", path, parameters, next_place, jump="StartAfter", left_out=left_out
        )

    def _version_pages(
        self, path: StorePath, *, left_out: str | None = None, **parameters: Any
    ) -> AsyncIterator[dict[str, Any]]:
        def following(page: Mapping[str, Any]) -> dict[str, Any]:
            at = {"KeyMarker": text_in(page, "NextKeyMarker")}
            version = text_in(page, "NextVersionIdMarker")
            return {**at, "VersionIdMarker": version} if version else at

        return self._pages(
            "list_object_versions", path, parameters, following, jump="KeyMarker", left_out=left_out
        )

    async def _pages(
        self,
        method: str,
        path: StorePath,
        parameters: Mapping[str, Any],
        following: Callable[[Mapping[str, Any]], dict[str, Any]],
        *,
        jump: str,
        left_out: str | None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Every page; what is left of *left_out* when a page ends in it is jumped over.

        A caller can begin a listing again, but only here can one be continued: so the pages after
        the first are asked for until they are given.

        Raises:
            StoreError: A page was not given, or says that there is more and not where.
        """
        place: dict[str, Any] = {}
        continuations = Continuations(self._bucket, method, path)
        jumped_from: dict[str, Any] | None = None
        while True:
            asked = partial(self._page, method, path, parameters, place)
            page = await (self._ask(asked) if place else asked())
            if jumped_from is not None and not is_after(page, str(place[jump])):
                # A server that does not start where it is told: page by page, then.
                place, jumped_from, left_out = jumped_from, None, None
                continue
            yield page
            if not page.get("IsTruncated"):
                return
            place, jumped_from = following(page), None
            continuations.check(*place.values())
            last = max(keys_on(page), default=b"")
            if self.is_sorted and left_out is not None and last.startswith(left_out.encode()):
                past = left_out + _LAST
                if last < past.encode():
                    jumped_from, place = place, {jump: past}

    async def _page(
        self, method: str, path: StorePath, parameters: Mapping[str, Any], place: Mapping[str, Any]
    ) -> dict[str, Any]:
        """One page, of the place that was asked for.

        A cache that ignores the query, or a proxy that reads a plus as a space, answers with
        another page; what that shows would be deleted, or taken for a file of the destination.

        Raises:
            StoreError: It was not given, is of another place, or does not say what it lists.
        """
        page = await self._bucket.send(method, path, **ENCODED, **parameters, **place)
        decode(page)
        prefix = parameters["Prefix"]
        for name in names_on(page):
            if not name:
                raise self._bucket.doubt(method, path, NAMELESS)
            if not name.startswith(prefix):
                raise self._bucket.doubt(method, path, ANOTHER_PLACE)
        return page
