"""Do something just before a store call: fill the disk, swap a directory."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from fsspec_commit.store.registry import wrapping
from fsspec_commit.testing.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from fsspec_commit.layout import StorePath

T = TypeVar("T")


@contextmanager
def before(wanted: Callable[[str, StorePath], bool], do: Callable[[], None]) -> Iterator[list[str]]:
    """Before the first call that is *wanted*, *do*; yields every call made, by its verb."""
    verbs: list[str] = []
    done: list[bool] = []

    async def carry(verb: str, path: StorePath, call: Callable[[], Awaitable[T]]) -> T:
        verbs.append(verb)
        if not done and wanted(verb, path):
            done.append(True)
            do()
        return await call()

    with wrapping(lambda store: WrappedStore(store, carry)):
        yield verbs


def at(verb: str, part: str) -> Callable[[str, StorePath], bool]:
    """The call *verb* on a path that holds *part*."""
    return lambda called, path: called == verb and part in path


def at_call(nth: int) -> Callable[[str, StorePath], bool]:
    """The *nth* call, counted from 1."""
    left = iter(range(nth, 0, -1))
    return lambda _, __: next(left, 0) == 1
