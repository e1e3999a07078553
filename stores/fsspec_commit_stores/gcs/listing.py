"""Listings, page by page as GCS gives them, and the deletion of all that one shows.

A directory is a prefix that ends in a slash. A key that ends in one is what consoles and other file
systems write to make an empty directory visible: never a file, but deleted with its directory.

A listing sees every finished write and delete.
https://cloud.google.com/storage/docs/consistency
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Literal, Required, TypedDict

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Ask, Directory, Entry, Unusable, later_page
from fsspec_commit_stores.gcs.contents import Resource, entry_of
from fsspec_commit_stores.gcs.deleting import delete
from fsspec_commit_stores.gcs.requests import Bucket, Given
from fsspec_commit_stores.http.listings import (
    ANOTHER_PLACE,
    Continuations,
    below,
    between,
    delete_each,
    first_of,
    past,
    told_apart,
)

_NAME = "objects.list"
_PAGE_MAX = 1000
_FIELDS = "kind,nextPageToken,prefixes,items(name,size,generation)"
_NAMES = "kind,nextPageToken,items(name)"
_FROM_LEAST_KNOWN = (Reply.UNKNOWN, Reply.NOT_DONE, Reply.REFUSED)


class Page(TypedDict, total=False):
    """One answer of `objects.list`; it names its kind even if it lists nothing, unlike ``{}``.

    It may have no items and say that there are more.
    https://cloud.google.com/storage/docs/json_api/v1/objects/list
    """

    kind: Required[Literal["storage#objects"]]
    nextPageToken: str
    prefixes: list[str]
    items: list["Listed"]


class Listed(Resource):
    """An object of a listing."""

    name: Required[str]


class Listing:
    """Lists one bucket.

    Args:
        bucket: Which one.
        ask: Repeats what only a listing can repeat: the question for a page after the first.
        deletions_max: How many deletions are on their way at once.

    Attributes:
        files_max: How many files are deleted by one call.
    """

    files_max = _PAGE_MAX

    def __init__(self, bucket: Bucket, ask: Ask, *, deletions_max: int) -> None:
        self._bucket = bucket
        self._ask = ask
        self._deletions_max = deletions_max

    async def tree(self, path: StorePath, without: StorePath | None) -> AsyncIterator[Entry]:
        """Every file below *path* but those below *without*."""
        left_out = None if without is None else below(self._bucket.key(without))
        prefix = below(self._bucket.key(path))
        if left_out is not None and prefix.startswith(left_out):
            return
        pages = self._pages(path, _FIELDS, left_out, prefix=prefix)
        async for is_later, page in told_apart(pages):
            files = self._files_on(page, left_out)
            for entry in later_page(files) if is_later else files:
                yield entry

    async def children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*."""
        prefix = below(self._bucket.key(path))
        # Some servers name a prefix again on each page that has a part of it.
        seen = set[StorePath]()
        pages = self._pages(path, _FIELDS, None, prefix=prefix, delimiter="/")
        async for is_later, page in told_apart(pages):
            children = self._on(page, prefix)
            for child in later_page(children) if is_later else children:
                if isinstance(child, Entry):
                    yield child
                elif child.path not in seen:
                    seen.add(child.path)
                    yield child

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """What stands directly in *path*; ``None`` if more follows a first page, however short."""
        prefix = below(self._bucket.key(path))
        page = await self._page(path, prefix=prefix, delimiter="/", fields=_FIELDS)
        return None if page.get("nextPageToken") else [*self._on(page, prefix)]

    async def list_in_order(
        self, path: StorePath, first: StorePath, last: StorePath
    ) -> tuple[list[StorePath], bool] | None:
        """The first files in directories *first* to *last* of *path*, and whether these are all.

        ``None`` if the page is not in order, or does not start at *first*.
        """
        begin, end = below(self._bucket.key(first)), below(self._bucket.key(last))
        at = {"startOffset": begin, "endOffset": past(end)}
        prefix = below(self._bucket.key(path))
        page = await self._page(path, prefix=prefix, **at, fields=_NAMES)
        names = list(_names(page))
        shown = between(names, begin, end)
        if shown is None:
            return None
        is_whole = not page.get("nextPageToken") or len(shown) < len(names)
        return [self._bucket.path(name) for name in shown], is_whole

    async def is_directory(self, path: StorePath) -> bool:
        """Whether there is anything below *path*: one request, unless its answer leaves it open."""
        prefix = below(self._bucket.key(path))
        async with aclosing(self._pages(path, _NAMES, None, prefix=prefix, maxResults=1)) as pages:
            async for page in pages:
                if _items(page):
                    return True
        return False

    async def delete_tree(self, path: StorePath) -> None:
        """Delete every key below *path*, a page at a time, from the front until none is left.

        One request a key, many at once: a batch request would save connections and no work, for
        its parts are carried out, counted and answered one by one, in a format of its own that few
        servers of this protocol know.

        Raises:
            StoreError: Some are left; the error names the first ones.
        """
        prefix = below(self._bucket.key(path))
        deleted = set[str]()
        # Of the pages without a name since the last one with some; the listing goes on from there.
        continuations = Continuations(self._bucket, _NAME, path)
        at: dict[str, str] = {}
        while True:
            page = await self._page(path, prefix=prefix, fields=_NAMES, **at)
            names = list(_names(page))
            if names and deleted.issuperset(names):
                why = f"its files come back, or the listing is stale: {names[0]!r}"
                raise self._bucket.doubt("objects.delete", path, why)
            await self._delete(path, names)
            token = page.get("nextPageToken", "")
            if not token:
                return
            if names:
                deleted, at = set(names), {}
                continuations.clear()
            else:
                continuations.check(token)
                at = {"pageToken": token}

    async def delete_files(self, paths: Sequence[StorePath], *, within: StorePath) -> None:
        """Delete *paths*, one request each, as many at once as for a tree.

        Raises:
            StoreError: Some are left; the error names the first ones.
        """
        await self._delete(within, [self._bucket.key(path) for path in paths])

    async def _delete(self, path: StorePath, names: Sequence[str]) -> None:
        paths = [self._bucket.path(name) for name in names]
        deleting = partial(delete, self._bucket)
        left = await delete_each(deleting, paths, at_once=self._deletions_max)
        if left:
            first = next(iter(left.values()))
            why = f"left are {first_of([repr(self._bucket.key(one)) for one in left])}: {first}"
            worst = _worst(left.values())
            failure = self._bucket.failure("objects.delete", path, why, worst.reply)
            failure.errno = worst.errno
            failure.is_overload = any(error.is_overload for error in left.values())
            failure.retry_after_s = (
                max((error.retry_after_s or 0.0 for error in left.values()), default=0.0) or None
            )
            raise failure

    def _files_on(self, page: Page, left_out: str | None) -> Iterator[Entry]:
        """The files on a page of a tree, without those below *left_out*."""
        for listed in _items(page):
            name = listed["name"]
            if not name.endswith("/") and not (left_out and name.startswith(left_out)):
                yield self._entry(listed)

    async def _pages(
        self, path: StorePath, fields: str, left_out: str | None, **query: object
    ) -> AsyncGenerator[Page, None]:
        """Every page; where one ends inside *left_out*, the rest of *left_out* is jumped over.

        A caller that lists can begin again, but only this method can go on: so it asks for each
        page after the first until that is given.

        Raises:
            StoreError: A page was not given, or it is the same one again.
        """
        at: dict[str, str] = {}
        jumped_from: dict[str, str] | None = None
        continuations = Continuations(self._bucket, _NAME, path)
        while True:
            asked = partial(self._page, path, **query, **at, fields=fields)
            page = await (self._ask(asked) if at else asked())
            if jumped_from is not None and not _is_from(page, at["startOffset"]):
                # A server that does not start where it is told: page by page, then.
                at, jumped_from, left_out = jumped_from, None, None
                continue
            yield page
            token = page.get("nextPageToken", "")
            if not token:
                return
            continuations.check(token)
            # A token goes on with the listing it comes from, wherever that began.
            at, jumped_from = {**at, "pageToken": token}, None
            last = max(_names(page), key=str.encode, default="")
            if left_out is not None and last.startswith(left_out):
                # "0" comes after "/": the first name that is in no way below it.
                jumped_from, at = at, {"startOffset": f"{left_out[:-1]}0"}

    async def _page(self, path: StorePath, **query: object) -> Page:
        """One page, of the place that was asked for.

        A cache that leaves the query out, or a proxy that reads a plus as a space, answers with the
        page of another place; what that shows would be deleted, or taken for the destination's.

        Raises:
            StoreError: It was not given, or is of another place.
        """
        query.setdefault("maxResults", _PAGE_MAX)
        target = self._bucket.bucket_target("/o", **query)
        answered = await self._bucket.send(Given(_NAME, "GET", target), path)
        page = self._bucket.decoded(answered, _NAME, path, Page)
        prefix = str(query["prefix"])
        if not all(name.startswith(prefix) for name in (*_names(page), *page.get("prefixes", ()))):
            raise self._bucket.doubt(_NAME, path, ANOTHER_PLACE)
        return page

    def _on(self, page: Page, prefix: str) -> Iterator[Entry | Directory]:
        """The directories and files on *page*, without *prefix* itself."""
        for common in page.get("prefixes", ()):
            yield Directory(self._bucket.path(common[:-1]))
        for listed in _items(page):
            if listed["name"] != prefix:
                yield self._entry(listed)

    def _entry(self, listed: Listed) -> Entry:
        path = self._bucket.path(listed["name"])
        entry = entry_of(path, listed)
        if entry is None:
            why = "the store does not say which content it is, or how long"
            raise self._bucket.failure(_NAME, path, why, Reply.REFUSED)
        return entry


def _items(page: Page) -> Sequence[Listed]:
    return page.get("items", ())


def _names(page: Page) -> Iterable[str]:
    return (listed["name"] for listed in _items(page))


def _is_from(page: Page, name: str) -> bool:
    first = min(_names(page), key=str.encode, default=name)
    return first.encode() >= name.encode()


def _worst(errors: Iterable[StoreError]) -> StoreError:
    """The error that speaks for many requests: the one after which least is known."""
    return min(errors, key=lambda error: _FROM_LEAST_KNOWN.index(error.reply))
