"""What listings of buckets and containers have in common: where they go on, and what is refused."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from fsspec_commit.errors import StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit_stores.http.requests import FailedRequestError, Requests

ANOTHER_PLACE = "it was answered with the listing of another place; check the proxy, and its cache"
"""Why such a page is not believed: one half of a sentence."""
NAMELESS = "the store listed something without its name"
NOT_WHERE = "the store says that there is more, and not where"

_SHOWN_MAX = 10

Page = TypeVar("Page")


class Continuations:
    """The places at which one operation has gone on, so that it never goes in circles for ever.

    Args:
        requests: Those to the bucket or container.
        operation: What is answered bit by bit.
        path: What it is done to, for messages.
        times_max: How often it may go on at one place.
    """

    def __init__(
        self, requests: Requests, operation: str, path: StorePath, *, times_max: int = 1
    ) -> None:
        self._requests = requests
        self._operation = operation
        self._path = path
        self._times_max = times_max
        self._times: dict[object, int] = {}

    def check(self, *place: object) -> None:
        """See that an answer names a *place* to go on at, and none too often.

        Raises:
            StoreError: It does not say where, or names the same place too often.
        """
        times = self._times[place] = self._times.get(place, 0) + 1
        if times > self._times_max or not all(place):
            raise self._requests.doubt(self._operation, self._path, NOT_WHERE)

    def clear(self) -> None:
        """Begin anew: what was listed before is there no more."""
        self._times.clear()


async def told_apart(pages: AsyncIterator[Page]) -> AsyncIterator[tuple[bool, Page]]:
    """Each of *pages*, and before it whether it is a later one: not the first."""
    is_later = False
    async for page in pages:
        yield is_later, page
        is_later = True


def between(names: Sequence[str], first: str, last: str) -> Sequence[str] | None:
    """The names of a page in the directories *first* to *last*, if all are listed in order.

    A directory ends in a slash. ``None`` if the page is not in order, or does not start at *first*:
    some servers do not start where they are told.
    """
    if any(one > other for one, other in pairwise([first, *names])):
        return None
    return names[: bisect_left(names, past(last))]


def past(directory: str) -> str:
    """The first name after all that are below *directory*, which ends in a slash: "0" is next."""
    return f"{directory[:-1]}0"


async def delete_each(
    delete: Callable[[StorePath], Awaitable[object]], paths: Sequence[StorePath], *, at_once: int
) -> dict[StorePath, StoreError]:
    """Delete *paths* by one request each, *at_once* at a time; return which are left, and why."""
    left: dict[StorePath, StoreError] = {}
    waiting = iter(paths)

    async def deleting() -> None:
        for path in waiting:
            try:
                await delete(path)
            except FailedRequestError as error:
                if not error.is_missing:
                    left[path] = error.failure
            except StoreError as error:
                left[path] = error

    await asyncio.gather(*(deleting() for _ in range(min(at_once, len(paths)))))
    return left


def below(key: str) -> str:
    """The prefix of all keys in a directory; nothing for the whole bucket."""
    return f"{key}/" if key else ""


def first_of(shown: Sequence[str]) -> str:
    """The first of many, and how many more there are, for a message."""
    more = f" and {len(shown) - _SHOWN_MAX} more" if len(shown) > _SHOWN_MAX else ""
    return ", ".join(shown[:_SHOWN_MAX]) + more
