"""Deletions of many files by one call: those that are named go, and nothing else."""

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import DeletesInBulk, Store
from fsspec_commit.testing.store_contract.given import At, Given, driven, place, place_at, tree


def _deletion(store: Store) -> DeletesInBulk:
    if store.bulk_deletion is None:
        pytest.skip("this store does not declare bulk_deletion")
    return store.bulk_deletion


class BulkDeletionContract(Given):
    """`bulk_deletion`."""

    def test_many_files_are_deleted_only_where_there_are_no_directories(self, store: Store) -> None:
        """A directory would stay, and so would a work area."""
        assert store.bulk_deletion is None or store.directories is None

    @driven
    async def test_many_files_are_deleted(self, store: Store, at: At) -> None:
        """Nothing is left of them, nor any directory that this empties; and it can be repeated."""
        deletion = _deletion(store)
        names = [f"{directory}/{number}" for directory in ("t/a", "t/b/c") for number in range(30)]
        for name in names:
            await place_at(store, at(name), name.encode())
        await place(store, at, kept=b"1", t0__a=b"2")
        paths = [at(name) for name in names]
        await deletion.delete_files(paths, within=at("t"))
        assert await tree(store, store.root) == sorted([at("kept"), at("t0/a")])
        for name in ("t", "t/a", "t/b", "t/b/c", *names):
            assert await store.stat(at(name)) is None, name
        await deletion.delete_files(paths, within=at("t"))
        assert await tree(store, store.root) == sorted([at("kept"), at("t0/a")])

    @driven
    async def test_files_that_are_not_named_stay(self, store: Store, at: At) -> None:
        """Files in the same directories stay, even if their names begin with a deleted one."""
        deletion = _deletion(store)
        await place(store, at, t__a=b"1", t__a0=b"2", t__d__b=b"3", t__d__c=b"4", t__e__f=b"5")
        await deletion.delete_files([at("t/a"), at("t/d/b"), at("t/e/f")], within=at("t"))
        assert await tree(store, store.root) == sorted([at("t/a0"), at("t/d/c")])
        assert await store.stat(at("t/e")) is None

    @driven
    async def test_a_missing_file_counts_as_deleted(self, store: Store, at: At) -> None:
        """Among others that are deleted, and alone."""
        deletion = _deletion(store)
        await place(store, at, t__a=b"1", t__c=b"2")
        await deletion.delete_files([at("t/a"), at("t/b"), at("t/c")], within=at("t"))
        assert await tree(store, store.root) == []
        await deletion.delete_files([StorePath(f"{at('t')}/b")], within=at("t"))
        assert deletion.files_max > 1
