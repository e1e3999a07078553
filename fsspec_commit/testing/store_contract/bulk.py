"""Renames of many files by one call: each as if it were alone, in order, until one fails."""

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import RenamesInBulk, Store
from fsspec_commit.testing.store_contract.given import (
    At,
    Given,
    ReadRaw,
    driven,
    entry,
    place,
    place_at,
    tree,
)


def _bulk(store: Store) -> RenamesInBulk:
    if store.bulk is None:
        pytest.skip("this store renames one file a call")
    return store.bulk


async def _rename(store: Store, *pairs: tuple[StorePath, StorePath]) -> int:
    return await _bulk(store).rename_in_bulk(pairs, within=store.root)


class BulkContract(Given):
    """`bulk`."""

    def test_bulk_goes_with_files(self, store: Store) -> None:
        """Why a rename in bulk failed is found out by `files`."""
        assert store.bulk is None or store.files is not None

    @driven
    async def test_many_files_are_renamed(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """From several directories into several, which are made; content and token are kept."""
        _bulk(store)
        names = [f"{directory}/{number}" for directory in "abc" for number in range(5)]
        for name in names:
            await place_at(store, at(f"work/{name}"), name.encode())
        tokens = {name: (await entry(store, at(f"work/{name}"))).token for name in names}
        pairs = [(at(f"work/{name}"), at(f"new/{name}")) for name in names]
        assert await _rename(store, *pairs) == len(names)
        assert await tree(store, store.root) == sorted(target for _, target in pairs)
        for name in names:
            assert read_raw(at(f"new/{name}")) == name.encode()
            if store.capabilities.token_survives_rename:
                assert (await entry(store, at(f"new/{name}"))).token == tokens[name]

    @driven
    async def test_nothing_is_renamed_by_no_renames(self, store: Store) -> None:
        """An empty sequence of renames succeeds."""
        assert await _rename(store) == 0

    @driven
    async def test_the_first_taken_name_ends_it(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """What stands is not touched, nor is any file after it, even if that one's name is free."""
        _bulk(store)
        await place(store, at, work__a=b"1", work__b=b"2", work__c=b"3", b=b"stands")
        pairs = [(at(f"work/{name}"), at(name)) for name in "abc"]
        assert await _rename(store, *pairs) == 1
        assert await tree(store, store.root) == sorted(map(at, ("a", "b", "work/b", "work/c")))
        assert read_raw(at("b")) == b"stands"

    @driven
    async def test_the_first_missing_file_ends_it(self, store: Store, at: At) -> None:
        """Even when that is the very first, and when nothing is there at all."""
        _bulk(store)
        await place(store, at, work__a=b"1", work__c=b"3")
        pairs = [(at(f"work/{name}"), at(name)) for name in "abc"]
        assert await _rename(store, *pairs) == 1
        assert await _rename(store, *pairs) == 0
        assert await _rename(store, (at("no/directory/x"), at("x")), pairs[2]) == 0
        assert await tree(store, store.root) == sorted(map(at, ("a", "work/c")))

    @driven
    async def test_a_directory_ends_it(self, store: Store, at: At) -> None:
        """It is not a file, and would be published with all that is in it."""
        _bulk(store)
        await place(store, at, work__d__a=b"1")
        assert await _rename(store, (at("work/d"), at("d"))) == 0
        assert await tree(store, store.root) == [at("work/d/a")]

    @driven
    async def test_many_renames_do_not_bring_an_area_back(self, store: Store, at: At) -> None:
        """*within* must exist."""
        bulk = _bulk(store)
        await place(store, at, a=b"1")
        assert await bulk.rename_in_bulk([(at("a"), at("gone/a"))], within=at("gone")) == 0
        assert await tree(store, store.root) == [at("a")]
