"""What is asked of a store by every test of all of them, and what a message says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Store, Token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

ROOT = StorePath("bucket/out")
PATH = StorePath("bucket/out/a b")
OTHER = StorePath("bucket/out/other")
NONCE = Nonce("0" * 32)


class Verb(NamedTuple):
    """One verb of a store.

    Attributes:
        call: Asks it of a store, about `PATH`.
        doing: What a message calls it, as in "cannot *read* …".
        permission: What a message tells a user to allow, who was denied it.
    """

    call: Callable[[Any], Awaitable[Any]]
    doing: str
    permission: str


async def all_of(listing: Any) -> list[Any]:
    return [one async for one in listing]


def uploads(store: Any) -> Any:
    assert store.uploads is not None
    return store.uploads


def put(store: Store) -> Awaitable[Any]:
    return store.put(PATH, b"1", expecting=Expect.ABSENT, within=None)


def delete(store: Store) -> Awaitable[Any]:
    return store.delete(PATH, expecting=Token("7"))


def delete_tree(store: Store) -> Awaitable[Any]:
    return store.delete_tree(PATH)


async def delete_files(store: Store) -> None:
    assert store.bulk_deletion is not None
    await store.bulk_deletion.delete_files([StorePath(f"{PATH}/a")], within=PATH)


def stat(store: Store) -> Awaitable[Any]:
    return store.stat(PATH)


def read(store: Store) -> Awaitable[Any]:
    return store.read(PATH, limit_bytes=9)


def read_range(store: Store) -> Awaitable[Any]:
    return store.read_range(PATH, start=0, length=9)


def list_tree(store: Store) -> Awaitable[Any]:
    return all_of(store.list_tree(PATH))


def list_children(store: Store) -> Awaitable[Any]:
    return all_of(store.list_children(PATH))
