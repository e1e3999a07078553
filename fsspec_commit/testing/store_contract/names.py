"""Names that some layer likes to quote, split, match or normalise."""

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Directory, Entry, Expect, Store
from fsspec_commit.testing.store_contract.given import (
    At,
    Given,
    ReadRaw,
    WriteRaw,
    content,
    driven,
    entry,
    place_at,
    tree,
)

ODD_NAMES = (
    "a b",
    " around ",
    "100%",
    "%41",
    "a%2Fb",
    "#fragment",
    "what?x=1&y=2",
    "[abc]",
    "*",
    "**",
    "{a,b}",
    "a+b",
    "a;b",
    "a:b",
    "day=2026-11-20",
    "line\nbreak",
    "tab\t",
    "quote'\"`",
    "$HOME ~ !",
    "back\\slash",
    "-rf",
    "...",
    "\u00c5.txt",  # composed
    "A\u030a.txt",  # decomposed
    "\u65e5\u672c",
    "\U0001f642",
    "a" * 255,
    "\u00e9" * 127 + "a",
)
"""Every one is a name that a committed file may have."""


def label(name: str) -> str:
    """A short test id for an odd name."""
    return ascii(name[:20])[1:-1]


class NamesContract(Given):
    """Odd names."""

    @pytest.mark.parametrize("name", ODD_NAMES, ids=label)
    @driven
    async def test_an_odd_name_is_kept_or_refused(
        self, store: Store, at: At, read_raw: ReadRaw, name: str
    ) -> None:
        """A name is kept to the byte by every verb, or refused: never stored as another."""
        path, neighbour = at(f"d/{name}/{name}"), at("d/x/x")
        await place_at(store, neighbour, b"neighbour")
        try:
            await store.put(path, b"odd", expecting=Expect.ANYTHING, within=None)
        except StoreError as error:
            assert error.reply is Reply.REFUSED  # a refusal is one of two right answers
            assert await tree(store, store.root) == [neighbour]
            return
        assert read_raw(path) == b"odd"
        assert await content(store, path) == b"odd"
        assert (await entry(store, path)).path == path
        assert await tree(store, at("d")) == sorted([neighbour, path])
        assert await tree(store, at(f"d/{name}")) == [path]
        children = [child async for child in store.list_children(at("d"))]
        assert Directory(at(f"d/{name}")) in children
        (child,) = [child async for child in store.list_children(at(f"d/{name}"))]
        assert isinstance(child, Entry)
        assert child.path == path
        await store.delete(path, expecting=Expect.ANYTHING)
        assert await tree(store, store.root) == [neighbour]

    @pytest.mark.parametrize("name", ODD_NAMES, ids=label)
    @driven
    async def test_an_odd_name_is_renamed(
        self, store: Store, at: At, read_raw: ReadRaw, name: str
    ) -> None:
        """Renames take odd names as they are, or refuse them with nothing changed."""
        if store.files is None:
            pytest.skip("this store does not declare atomic_rename")
        source, target = at("work/plain"), at(f"final/{name}")
        await place_at(store, source, b"odd")
        try:
            await store.files.rename(
                source, target, token=None, expecting=Expect.ANYTHING, within=store.root
            )
        except StoreError as error:
            assert error.reply is Reply.REFUSED  # a refusal is one of two right answers
            assert await tree(store, store.root) == [source]
            return
        assert read_raw(target) == b"odd"
        assert await tree(store, store.root) == [target]

    @driven
    async def test_no_name_is_a_pattern(self, store: Store, at: At, write_raw: WriteRaw) -> None:
        """Names with wildcards name one file, whatever stands beside it."""
        beside = ["ab", "a*", "a?", "a[b]", "axb"]
        for name in beside:
            write_raw(at(name), name.encode())
        for name in ("a*", "a?", "a[b]"):
            assert await content(store, at(name)) == name.encode()
            await store.delete(at(name), expecting=Expect.ANYTHING)
            beside.remove(name)
            assert await tree(store, store.root) == sorted(map(at, beside))
