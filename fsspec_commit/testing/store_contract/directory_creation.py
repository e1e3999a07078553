"""Making directories before the files that need them."""

import pytest

from fsspec_commit.store import Directory, Expect, MakesDirectories, Store
from fsspec_commit.testing.store_contract.given import (
    CONTENDERS,
    At,
    Contender,
    Given,
    OpenAgain,
    contend,
    content,
    driven,
    place,
    refused,
    tree,
)


def _making(store: Store) -> MakesDirectories:
    if store.directory_creation is None:
        pytest.skip("this store does not declare directory_creation")
    return store.directory_creation


class DirectoryCreationContract(Given):
    """`directory_creation`."""

    @driven
    async def test_a_directory_is_made_with_those_above_it(self, store: Store, at: At) -> None:
        """And is empty; a rename into it finds it there."""
        making = _making(store)
        await place(store, at, work__a=b"1")
        await making.make_directory(at("d/e é/y=1%2F"), within=store.root)
        for name in ("d", "d/e é", "d/e é/y=1%2F"):
            assert await store.stat(at(name)) == Directory(at(name))
        assert [child async for child in store.list_children(at("d/e é/y=1%2F"))] == []
        assert store.files is not None
        await store.files.rename(
            at("work/a"),
            at("d/e é/y=1%2F/a"),
            token=None,
            expecting=Expect.ABSENT,
            within=store.root,
        )
        assert await tree(store, store.root) == [at("d/e é/y=1%2F/a")]

    @driven
    async def test_a_directory_that_is_there_is_left_alone(self, store: Store, at: At) -> None:
        """Made again, it is what it was, with all that is in it."""
        making = _making(store)
        await place(store, at, d__a=b"1", d__e__b=b"2")
        before = [found async for found in store.list_tree(store.root)]
        for name in ("d", "d/e", "d"):
            await making.make_directory(at(name), within=store.root)
        after = [found async for found in store.list_tree(store.root)]
        assert {one.path: one.token for one in before} == {one.path: one.token for one in after}
        assert len(before) == len(after)

    @driven
    async def test_a_file_in_the_way_of_a_directory_is_named(self, store: Store, at: At) -> None:
        """Whether it is in the directory's place or above it; the file stays what it was."""
        making = _making(store)
        await place(store, at, d__blocking=b"1")
        for name in ("d/blocking", "d/blocking/e", "d/blocking/e/f"):
            with refused() as caught:
                await making.make_directory(at(name), within=store.root)
            assert at("d/blocking") in str(caught.value)
        assert await content(store, at("d/blocking")) == b"1"
        assert await tree(store, store.root) == [at("d/blocking")]

    @driven
    async def test_many_make_directories_at_once(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """The same one, and others beside it: whoever comes first hinders nobody."""
        _making(store)
        await place(store, at, a=b"1")

        def making(name: str) -> Contender:
            return lambda s: _making(s).make_directory(at(name), within=s.root)

        names = [f"new/deep/{number % 4}" for number in range(CONTENDERS)]
        won = await contend(store, open_again, [making(name) for name in names])
        assert len(won) == CONTENDERS
        for name in names:
            assert await store.stat(at(name)) == Directory(at(name))
