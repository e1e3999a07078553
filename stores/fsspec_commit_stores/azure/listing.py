"""Listings, page by page: of blobs in a flat account, of paths in a hierarchical one.

Both are asked for whole directories only: a name that only begins like a directory's is not in it.
A caller that lists can begin again, but only the methods here can go on: so they ask for each page
after the first until it is given.
"""

import errno
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from fsspec_commit.errors import Reply
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Ask, Directory, Entry, Unusable, later_page
from fsspec_commit_stores.azure.answers import Answer
from fsspec_commit_stores.azure.contents import is_folder, nonce_in, token_of
from fsspec_commit_stores.azure.requests import TURNS_MAX, Container, RequestFailedError
from fsspec_commit_stores.http.documents import xml_root
from fsspec_commit_stores.http.listings import (
    ANOTHER_PLACE,
    Continuations,
    below,
    delete_each,
    first_of,
    told_apart,
)
from fsspec_commit_stores.http.requests import raising_store_errors, unless_missing

_PAGE = 5000  # As many as the service gives at most.
_DELETING = 32
_FILES_MAX = 1000  # Held in memory, and deleted by one call.
_DOTS = re.compile(r"/\.\.?(?:/|$)")
_NO_LISTING = "the store's answer is no listing"


class BlobListing:
    """Lists a flat account: a directory is a prefix as long as there is a blob below it.

    What other programs write to make an empty directory visible is never a file, but deleted with
    its directory.
    """

    files_max = _FILES_MAX

    def __init__(self, container: Container, ask: Ask) -> None:
        self._container = container
        self._ask = ask

    async def tree(self, path: StorePath, without: StorePath | None) -> AsyncIterator[Entry]:
        """Every file below *path* but those below *without*."""
        left_out = f"{without}/" if without is not None else None
        if left_out is not None and f"{path}/".startswith(left_out):
            return
        async for is_later, page in told_apart(self._pages(path)):
            files = self._files_on(page, left_out)
            for entry in later_page(files) if is_later else files:
                yield entry

    async def children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*."""
        shown = set[StorePath]()
        async for is_later, page in told_apart(self._pages(path, delimiter="/")):
            children = self._on(page)
            for child in later_page(children) if is_later else children:
                if isinstance(child, Entry):
                    yield child
                # A prefix can be on two pages.
                elif child.path not in shown:
                    shown.add(child.path)
                    yield child

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """What stands directly in *path*; ``None`` if more follows a first page, however short."""
        page, mark = await self._page(path, self._query(path, delimiter="/"))
        return None if mark else [*self._on(page)]

    async def is_directory(self, path: StorePath) -> bool:
        """Whether there is anything below *path*, mostly by one request."""
        async for page in self._pages(path, maxresults="1"):
            if next(page.iterfind("Blob"), None) is not None:
                return True
        return False

    async def delete_tree(self, path: StorePath) -> None:
        """Delete every blob below *path*, one request each, until a listing shows none.

        Raises:
            StoreError: Some are left; the error names the first ones.
        """
        deleted = set[StorePath]()
        while True:
            paths = [
                self._container.path(_text(found.find("Name")))
                async for page in self._pages(path)
                for found in page.iterfind("Blob")
            ]
            if not paths:
                return
            if deleted.issuperset(paths):
                why = f"its files come back, or the listing is stale: {paths[0]!r}"
                raise self._container.doubt("List Blobs", path, why)
            await self._delete(path, paths)
            deleted.update(paths)

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:
        """Delete *paths*, one request each, many at once.

        Raises:
            StoreError: Some are left; the error names the first ones.
        """
        await self._delete(within, paths)

    async def _delete(self, path: StorePath, paths: Sequence[StorePath]) -> None:
        deleting = partial(self._container.request, "Delete Blob")
        left = await delete_each(deleting, paths, at_once=_DELETING)
        if not left:
            return
        first = next(iter(left.values()))
        shown = first_of([repr(one) for one in left])
        why = f"{len(left)} of its files were not deleted: {shown}; {first}"
        if all(failure.reply is Reply.REFUSED for failure in left.values()):
            raise self._container.refusal("Delete Blob", path, why, first.errno or errno.EIO)
        is_overload = any(failure.is_overload for failure in left.values())
        raise self._container.failure(
            "Delete Blob", path, why, Reply.UNKNOWN, is_overload=is_overload
        )

    def _files_on(self, page: ET.Element, left_out: str | None) -> Iterator[Entry]:
        """The files on a page of a tree, without those below *left_out*."""
        for found in page.iterfind("Blob"):
            entry = self._entry(found)
            if entry is not None and not (left_out and entry.path.startswith(left_out)):
                yield entry

    def _on(self, page: ET.Element) -> Iterator[Entry | Directory]:
        """The directories and files on a page."""
        for common in page.iterfind("BlobPrefix"):
            yield Directory(self._container.path(_text(common.find("Name"))[:-1]))
        for found in page.iterfind("Blob"):
            entry = self._entry(found)
            if entry is not None:
                yield entry

    def _entry(self, found: ET.Element) -> Entry | None:
        """One file of a page; ``None`` for what only makes a directory visible."""
        name = _text(found.find("Name"))
        told = found.find("Metadata")
        metadata = {one.tag.lower(): one.text or "" for one in (() if told is None else told)}
        if name.endswith("/") or is_folder(metadata):
            return None
        path, size = self._container.path(name), _text(found.find("Properties/Content-Length"))
        etag = _text(found.find("Properties/Etag"))
        if not (size.isdecimal() and etag):
            raise self._container.doubt("List Blobs", path, _NO_LISTING)
        return Entry(
            path=path, size_bytes=int(size), token=token_of(etag), nonce=nonce_in(metadata)
        )

    async def _pages(self, path: StorePath, **query: str) -> AsyncIterator[ET.Element]:
        """Every page of what is below *path*: its blobs and prefixes.

        Raises:
            StoreError: A page was not given, is not a page, or is of another place.
        """
        query = self._query(path, **query)
        continuations = Continuations(self._container, "List Blobs", path)
        while True:
            blobs, mark = await self._page(path, query)
            yield blobs
            if not mark:
                return
            continuations.check(mark)
            query["marker"] = mark

    def _query(self, path: StorePath, **query: str) -> dict[str, str]:
        prefix = below(self._container.key(path))
        query = {"maxresults": str(_PAGE), "include": "metadata", **query}
        return {**query, "prefix": prefix} if prefix else query

    async def _page(self, path: StorePath, query: Mapping[str, str]) -> tuple[ET.Element, str]:
        """One page, of the place that was asked for, and where the next one begins.

        A cache that leaves the query out, or a proxy that reads a plus as a space, answers with
        the page of another place; what that shows would be deleted, or taken for a file.
        """
        asked = partial(self._container.send, "List Blobs", path, query=query)
        answer = await (self._ask(asked) if "marker" in query else asked())
        page = xml_root(answer.body)
        blobs = None if page is None else page.find("Blobs")
        if page is None or blobs is None or page.tag != "EnumerationResults":
            raise self._container.doubt("List Blobs", path, _NO_LISTING)
        prefix = query.get("prefix", "")
        names = [_text(found.find("Name")) for found in blobs]
        if not all(name.startswith(prefix) for name in names):
            raise self._container.doubt("List Blobs", path, ANOTHER_PLACE)
        _check_names(self._container, "List Blobs", path, names)
        return blobs, _text(page.find("NextMarker"))


class PathListing:
    """Lists a hierarchical account, where directories stand by themselves."""

    def __init__(self, container: Container, ask: Ask) -> None:
        self._container = container
        self._ask = ask

    async def tree(self, path: StorePath, without: StorePath | None) -> AsyncIterator[Entry]:
        """Every file below *path* but those below *without*.

        The pages of *without* come all the same: no listing of paths leaves a branch out, and a
        listing for each other branch would cost more.
        """
        left_out = f"{without}/" if without is not None else None
        if left_out is not None and f"{path}/".startswith(left_out):
            return
        async for is_later, page in told_apart(self._pages(path, is_recursive=True)):
            files = (
                found
                for found in page
                if isinstance(found, Entry) and not (left_out and found.path.startswith(left_out))
            )
            for entry in later_page(files) if is_later else files:
                yield entry

    async def children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*."""
        async for is_later, page in told_apart(self._pages(path, is_recursive=False)):
            for child in later_page(page) if is_later else page:
                yield child

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """What stands directly in *path*; ``None`` if more follows a first page, however short."""
        page, following = await self._page(path, self._query(path, is_recursive=False))
        return None if following else [*page]

    @raising_store_errors
    async def delete_tree(self, path: StorePath) -> None:
        """Delete the directory *path* with all below it, by one request or as many as it takes.

        Raises:
            StoreError: It was not deleted, or not all of it.
        """
        query = {"paginated": "true"}
        continuations = Continuations(self._container, "Path - Delete", path, times_max=TURNS_MAX)
        while True:
            asking = self._container.request("Path - Delete", path, query=query)
            answer = await unless_missing(asking)
            following = answer and answer.headers.get("x-ms-continuation")
            if not following:
                return
            continuations.check(following)
            query["continuation"] = following

    async def _pages(
        self, path: StorePath, *, is_recursive: bool
    ) -> AsyncIterator[list[Entry | Directory]]:
        """What is below *path*, page by page; nothing when *path* is missing, or not a directory.

        Raises:
            StoreError: A page was not given, or is not a page.
        """
        query = self._query(path, is_recursive=is_recursive)
        continuations = Continuations(self._container, "Path - List", path)
        while True:
            page, following = await self._page(path, query)
            yield page
            if not following:
                return
            continuations.check(following)
            query["continuation"] = following

    def _query(self, path: StorePath, *, is_recursive: bool) -> dict[str, str]:
        directory = self._container.key(path)
        query = {"recursive": str(is_recursive).lower(), "maxResults": str(_PAGE)}
        return {**query, "directory": directory} if directory else query

    async def _page(
        self, path: StorePath, query: Mapping[str, str]
    ) -> tuple[list[Entry | Directory], str | None]:
        """One page of what is below *path*, and where the next one begins."""
        asked = partial(self._answer, path, query)
        answer = await (self._ask(asked) if "continuation" in query else asked())
        if answer is None:
            return [], None
        page = [one for one in self._found(path, answer.body) if one.path != path]
        # Asked for what is below a file, the service shows the file.
        if not all(found.path.startswith(f"{path}/") for found in page):
            raise self._container.doubt("Path - List", path, ANOTHER_PLACE)
        _check_names(self._container, "Path - List", path, [found.path for found in page])
        return page, answer.headers.get("x-ms-continuation")

    @raising_store_errors
    async def _answer(self, path: StorePath, query: Mapping[str, str]) -> Answer | None:
        try:
            return await self._container.request("Path - List", path, query=query)
        except RequestFailedError as error:
            if error.is_missing or error.has_code("ResourceTypeMismatch"):
                return None
            raise

    def _found(self, path: StorePath, body: bytes) -> list[Entry | Directory]:
        try:
            return [self._one(listed) for listed in json.loads(body)["paths"]]
        except (ValueError, KeyError, TypeError, AttributeError):
            failure = self._container.doubt("Path - List", path, _NO_LISTING)
        raise failure

    def _one(self, listed: Any) -> Entry | Directory:
        path = self._container.path(str(listed["name"]))
        if str(listed.get("isDirectory", "false")).lower() == "true":
            return Directory(path)
        return Entry(
            path=path,
            size_bytes=int(listed["contentLength"]),
            token=token_of(str(listed.get("etag") or listed["eTag"])),
        )


def _check_names(
    container: Container, operation: str, path: StorePath, names: Iterable[str]
) -> None:
    """Check that each name can be asked for as it is listed.

    Whoever sends a request resolves the dots of its URL; so does the service, which keeps no such
    name. Where one is listed all the same, it would lead to another file.

    Raises:
        StoreError: One has a component of dots.
    """
    for name in names:
        if "/." in name and _DOTS.search(name) is not None:
            why = f"it shows a name that no request can be sent for: {name!r}"
            raise container.doubt(operation, path, why)


def _text(found: ET.Element | None) -> str:
    """What stands in an element; decoded where XML could not hold it as it is."""
    if found is None:
        return ""
    text = found.text or ""
    return unquote(text) if found.get("Encoded") == "true" else text
