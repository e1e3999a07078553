"""Listings: of one directory page by page, of a tree several directories at a time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from functools import partial

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Ask, Directory, Entry, Unusable
from fsspec_commit_stores.hdfs.requests import Pages, Requests, Status
from fsspec_commit_stores.hdfs.threads import heard
from fsspec_commit_stores.hdfs.writing import is_hidden
from fsspec_commit_stores.http.requests import raising_store_errors

_AT_ONCE_MAX = 16
"""How many pages are held at most, of as many directories."""


@dataclass(slots=True)
class _Begun:
    """A directory that is being listed, and whether its next page is asked for repeatedly."""

    path: StorePath
    pages: Pages
    is_asked_again: bool


class Listing:
    """Lists one cluster.

    A caller that lists can begin again, but only a listing itself can go on: so it asks for each
    page after the first until it is given.
    """

    def __init__(self, requests: Requests, ask: Ask) -> None:
        self._requests = requests
        self._ask = ask

    async def children(self, path: StorePath) -> AsyncIterator[Entry | Directory]:
        """What stands directly in *path*."""
        begun = self._begin(path, above=path)
        while found := await self._following(begun):
            for child in found:
                yield child

    async def list_at_once(self, path: StorePath) -> list[Entry | Directory | Unusable] | None:
        """What stands directly in *path*, if one answer shows it."""
        begun = self._begin(path, above=path)
        page = await _names(begun.pages)
        return [*_shown(path, page)] if begun.pages.is_whole else None

    async def tree(self, path: StorePath, without: StorePath | None) -> AsyncIterator[Entry]:
        """Every file below *path* but those below *without*, which is not listed."""
        going, waiting = list[_Begun](), [] if path == without else [path]
        asking = set[asyncio.Future[tuple[_Begun, Sequence[Entry | Directory]]]]()
        try:
            while going or waiting or asking:
                while (going or waiting) and len(asking) < _AT_ONCE_MAX:
                    # One goes on before another begins. Of those that wait only names are held.
                    begun = going.pop() if going else self._begin(waiting.pop(), above=path)
                    asking.add(heard(asyncio.ensure_future(self._page(begun))))
                answered, asking = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
                for begun, found in [one.result() for one in answered]:
                    for child in found:
                        if isinstance(child, Entry):
                            yield child
                        elif child.path != without:
                            waiting.append(child.path)
                    if found:
                        going.append(begun)
        finally:
            for page in asking:
                page.cancel()
            if asking:
                await asyncio.wait(asking)

    def _begin(self, path: StorePath, *, above: StorePath) -> _Begun:
        return _Begun(path, self._requests.children(path), is_asked_again=path != above)

    async def _page(self, begun: _Begun) -> tuple[_Begun, Sequence[Entry | Directory]]:
        return begun, await self._following(begun)

    async def _following(self, begun: _Begun) -> Sequence[Entry | Directory]:
        """What is on the next page that shows anything; nothing at the end."""
        asked = partial(_names, begun.pages)
        while page := await (self._ask(asked) if begun.is_asked_again else asked()):
            begun.is_asked_again = True
            if found := _shown(begun.path, page):
                return found
        return ()


def _shown(path: StorePath, page: Sequence[tuple[str, Status]]) -> list[Entry | Directory]:
    """What is on a page of *path*, without files that are hidden."""
    return [
        Directory(child) if status.is_directory else status.entry(child)
        for name, status in page
        if status.is_directory or not is_hidden(name)
        for child in (StorePath(f"{path}/{name}"),)
    ]


@raising_store_errors
async def _names(pages: Pages) -> Sequence[tuple[str, Status]]:
    return await pages.following()
