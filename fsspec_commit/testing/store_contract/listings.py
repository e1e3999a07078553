"""Listings: all that is there, nothing else, and as it is now."""

import asyncio
from collections.abc import AsyncIterator
from typing import ClassVar, TypeAlias

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry, Expect, ListsInOrder, Store, Unusable
from fsspec_commit.testing.store_contract.given import (
    At,
    Given,
    WriteRaw,
    driven,
    place,
    place_at,
    requires,
    tree,
)

Child: TypeAlias = Entry | Directory | Unusable

_MANY = 120
_BEYOND = 10
"""How many files of a long listing are on its second page."""


def _in_order(store: Store) -> ListsInOrder:
    if store.in_order is None:
        pytest.skip("this store lists in no order, or not from any name on")
    return store.in_order


def _said_so(listed: tuple[list[StorePath], bool] | None) -> tuple[list[StorePath], bool]:
    if listed is None:
        pytest.skip("this server lists in an order of its own, which the adapter has noticed")
    return listed


def _path(child: Child) -> StorePath:
    return child.path


async def _while_others_write(
    store: Store, at: At, listing: AsyncIterator[Entry] | AsyncIterator[Child]
) -> None:
    """Whoever sees a file, and not one that was there before it, is told that a page begins."""
    shown: list[Child] = [await anext(listing)]
    before, after = at("d/_before/1"), at("d/z")
    for path in (before, after):
        await place_at(store, path, b"1")
    shown += [child async for child in listing]
    paths = {child.path for child in shown}
    if after in paths and not paths & {before, at("d/_before")}:
        assert any(isinstance(child, Entry) and child.begins_page for child in shown)
    for path in (before, after):
        await store.delete(path, expecting=Expect.ANYTHING)


class ListingsContract(Given):
    """`list_tree`, `list_children`, `at_once` and `in_order`.

    Attributes:
        page_entries: The most entries that a page of the store's listings holds, if it has pages.
        knows_pages: Whether `page_entries` is known to be true; of somebody else's store it is not.
    """

    page_entries: ClassVar[int] = 1_000
    knows_pages: ClassVar[bool] = True

    @driven
    async def test_a_missing_directory_lists_nothing(self, store: Store, at: At) -> None:
        """Nothing, not an exception; a file has nothing below it either."""
        for path in (store.root, at("d"), at("d/e")):
            assert await tree(store, path) == []
            assert [child async for child in store.list_children(path)] == []
        await place(store, at, a=b"1")
        assert await tree(store, at("a")) == []
        assert [child async for child in store.list_children(at("a"))] == []

    @driven
    async def test_a_tree_lists_every_file_below(
        self, store: Store, at: At, write_raw: WriteRaw
    ) -> None:
        """At any depth, ours and others', hidden or not; directories are not listed."""
        await place(store, at, a=b"1", d__b=b"22", d__e__f__c=b"333", _x__y=b"")
        write_raw(at("d/raw"), b"4444")
        listed = {entry.path: entry async for entry in store.list_tree(store.root)}
        sizes = {"a": 1, "d/b": 2, "d/e/f/c": 3, "_x/y": 0, "d/raw": 4}
        assert {path: entry.size_bytes for path, entry in listed.items()} == {
            at(name): size for name, size in sizes.items()
        }
        for path, entry in listed.items():
            assert await store.stat(path) == entry
        assert await tree(store, at("d/e")) == [at("d/e/f/c")]

    @driven
    async def test_children_are_listed_once(self, store: Store, at: At) -> None:
        """Files as entries, directories as such, each once, however much is below."""
        await place(store, at, d__a=b"1", d__e__b=b"2", d__e__c=b"3", d__f__g__h=b"4", o=b"")
        children = [child async for child in store.list_children(at("d"))]
        files = [child.path for child in children if isinstance(child, Entry)]
        directories = [child for child in children if isinstance(child, Directory)]
        assert files == [at("d/a")]
        assert sorted(d.path for d in directories) == [at("d/e"), at("d/f")]
        assert len(children) == 3  # noqa: PLR2004  # a, e and f

    @driven
    async def test_a_prefix_is_not_a_directory(self, store: Store, at: At) -> None:
        """`t` lists what is in `t`: not `t0`, `t.bak`, `t-1`, `T`."""
        for name in ("t/a", "t0/a", "t.bak/a", "t-1", "t /a", "tt"):
            await place_at(store, at(name), b"1")
        assert await tree(store, at("t")) == [at("t/a")]
        children = [child async for child in store.list_children(at("t"))]
        assert [child.path for child in children] == [at("t/a")]

    @driven
    async def test_a_tree_is_listed_without_a_branch(self, store: Store, at: At) -> None:
        """What is to be left out is a directory, not the beginning of a name."""
        for name in ("a", "_x/job/b", "_x0/c", "d/_x/e"):
            await place_at(store, at(name), b"1")
        listed = [found.path async for found in store.list_tree(store.root, without=at("_x"))]
        assert sorted(listed) == sorted(map(at, ("a", "_x0/c", "d/_x/e")))
        listed = [found.path async for found in store.list_tree(at("d"), without=at("_x"))]
        assert listed == [at("d/_x/e")]
        assert [found async for found in store.list_tree(at("d"), without=at("d"))] == []

    @driven
    async def test_a_tree_is_what_its_branches_are(
        self, store: Store, at: At, write_raw: WriteRaw
    ) -> None:
        """What is directly in it, and the tree of each directory there: every file once."""
        names = ["a", "k=1/a", "k=1-/b", "k=10/c", "k=%31/d", "k=a b/e", "ä+/f", "~/g", "d/e/f/h"]
        for name in names:
            await place_at(store, at(name), b"1")
        write_raw(at("raw/i"), b"1")
        found: list[StorePath] = []
        async for child in store.list_children(store.root):
            found += [child.path] if isinstance(child, Entry) else await tree(store, child.path)
        assert sorted(found) == sorted(map(at, [*names, "raw/i"]))
        assert await tree(store, store.root) == sorted(found)

    @driven
    async def test_listings_see_writes_and_deletes_at_once(self, store: Store, at: At) -> None:
        """List after write, list after delete: claims are found by listing."""
        requires(store.capabilities.consistent_listing, "consistent_listing")
        for number in range(10):
            path = at(f"d/{number}/a")
            await place_at(store, path, b"1")
            assert await tree(store, at("d")) == [path]
            assert path in [child.path async for child in store.list_children(at(f"d/{number}"))]
            await store.delete(path, expecting=Expect.ANYTHING)
            assert await tree(store, at("d")) == []
            assert [child async for child in store.list_children(at(f"d/{number}"))] == []

    @driven
    async def test_two_who_write_and_list_see_one_another(self, store: Store, at: At) -> None:
        """Whoever writes and then lists sees all earlier writes: at least one of two sees both."""
        requires(store.capabilities.consistent_listing, "consistent_listing")

        async def claim(directory: StorePath, name: str) -> int:
            await place_at(store, StorePath(f"{directory}/{name}"), b"")
            return len([child async for child in store.list_children(directory)])

        for turn in range(10):
            seen = await asyncio.gather(*(claim(at(f"{turn}"), name) for name in "ab"))
            assert max(seen) == len("ab")

    @driven
    async def test_a_long_listing_is_whole(self, store: Store, at: At) -> None:
        """All pages of it, files and directories; and it says where one begins."""
        paged = store.capabilities.paged_listing
        many = max(_MANY, self.page_entries + _BEYOND) if paged else _MANY
        # Few of them in directories, of which each takes requests; the other files fill a page.
        paths = [at(f"d/{number % 7}/{number:05d}") for number in range(_MANY // 5)]
        paths += [at(f"d/file{number:05d}") for number in range(many)]
        for start in range(0, len(paths), 100):
            await asyncio.gather(
                *(place_at(store, path, b"1") for path in paths[start : start + 100])
            )
        assert await tree(store, at("d")) == sorted(paths)
        children = [child.path async for child in store.list_children(at("d"))]
        assert len(children) == len(set(children)) == many + 7
        if paged:
            await _while_others_write(store, at, store.list_tree(at("d")))
            await _while_others_write(store, at, store.list_children(at("d")))

    @driven
    async def test_what_is_listed_at_once_is_all_there_is(self, store: Store, at: At) -> None:
        """Where a store can tell, and never what takes several pages: others act between pages."""
        listing = store.at_once
        if listing is None:
            pytest.skip("this store does not say which listings are of one moment")
        assert await listing.list_at_once(at("d")) in ([], None)
        for number in range(5):
            await place_at(store, at(f"d/{number}"), b"1")
            await place_at(store, at(f"d/e/{number}"), b"1")
            shown = await listing.list_at_once(at("d"))
            listed = [child async for child in store.list_children(at("d"))]
            assert len(listed) == number + 2
            assert shown is None or sorted(shown, key=_path) == sorted(listed, key=_path)
        if store.capabilities.paged_listing:
            many = [at(f"m/{number:05d}") for number in range(self.page_entries + _BEYOND)]
            for start in range(0, len(many), 100):
                placing = (place_at(store, path, b"") for path in many[start : start + 100])
                await asyncio.gather(*placing)
            shown = await listing.list_at_once(at("m"))
            if self.knows_pages:
                assert shown is None
            elif shown is not None:
                assert sorted(map(_path, shown)) == many

    @driven
    async def test_some_directories_are_listed_in_order(self, store: Store, at: At) -> None:
        """From the first to the last of them, with all below, and nothing that sorts outside."""
        listing = _in_order(store)
        inside = ("b/1", "b/2/x", "bb/1", "c-/1", "c/1", "c/é")
        for name in ("a/1", "b-/1", *inside, "c0/1", "d/1", "e"):
            await place_at(store, at(name), b"")
        listed = await listing.list_in_order(store.root, at("b"), at("c"))
        _said_so(listed)
        assert listed == ([at(name) for name in inside], True)
        nothing = await listing.list_in_order(store.root, at("ca"), at("cb"))
        assert nothing == ([], True)
        alone = await listing.list_in_order(at("b"), at("b"), at("b"))
        assert alone == ([at("b/1"), at("b/2/x")], True)

    @driven
    async def test_a_page_in_order_is_a_beginning(self, store: Store, at: At) -> None:
        """The answer says whether there is more, which is listed from a later directory on."""
        listing = _in_order(store)
        directories = [at(f"d/{number:05d}") for number in range(self.page_entries + _BEYOND)]
        paths = [StorePath(f"{directory}/a") for directory in directories]
        for start in range(0, len(paths), 100):
            await asyncio.gather(
                *(place_at(store, path, b"") for path in paths[start : start + 100])
            )
        begun, is_all = _said_so(
            await listing.list_in_order(at("d"), directories[0], directories[-1])
        )
        assert begun == paths[: len(begun)]
        assert begun
        assert is_all == (len(begun) == len(paths))
        rest = await listing.list_in_order(at("d"), directories[-_BEYOND], directories[-2])
        assert rest == (paths[-_BEYOND:-1], True)

    @driven
    async def test_files_may_vanish_during_a_listing(self, store: Store, at: At) -> None:
        """Others delete and rename meanwhile: that is no error, and what stays is listed."""
        for name in ("gone", "kept"):
            for number in range(15):
                await place_at(store, at(f"{name}/{number}/a"), b"1")
        listed = set[str]()
        async for found in store.list_tree(store.root):
            if not listed:
                await store.delete_tree(at("gone"))
            listed.add(found.path)
        assert {at(f"kept/{number}/a") for number in range(15)} <= listed
