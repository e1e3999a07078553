"""Renames of a whole directory: atomic, and never into one that exists."""

import asyncio
import errno

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import (
    Directory,
    Expect,
    RemovesEmptyDirectories,
    RenamesDirectories,
    Store,
)
from fsspec_commit.testing.store_contract.given import (
    CONTENDERS,
    At,
    Contender,
    Given,
    OpenAgain,
    ReadRaw,
    contend,
    content,
    driven,
    entry,
    place,
    place_at,
    refused,
    tree,
)

_ROUNDS = 2
_FILES = 20
_LOOKS = 300


def _directories(store: Store) -> RenamesDirectories:
    if store.directories is None:
        pytest.skip("this store does not declare atomic_rename=DIRECTORY")
    return store.directories


def _removing(store: Store) -> RemovesEmptyDirectories:
    if store.empty_directories is None:
        pytest.skip("this store does not declare empty_directories")
    return store.empty_directories


async def _rename(store: Store, source: StorePath, target: StorePath) -> None:
    await _directories(store).rename_directory(source, target, within=store.root)


class DirectoriesContract(Given):
    """`directories`."""

    @driven
    async def test_a_directory_moves_whole(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """With all below it, tokens included; nothing is left under the old name."""
        _directories(store)
        await place(store, at, work__1__a=b"1", work__1__d__e__b=b"2", work__10__a=b"3")
        tokens = {name: (await entry(store, at(f"work/1/{name}"))).token for name in ("a", "d/e/b")}
        await _rename(store, at("work/1"), at("committed/deep/1"))
        assert read_raw(at("committed/deep/1/a")) == b"1"
        assert read_raw(at("committed/deep/1/d/e/b")) == b"2"
        for name in ("work/1", "work/1/a", "work/1/d", "work/1/d/e"):
            assert await store.stat(at(name)) is None, name
        assert await store.stat(at("committed/deep/1/d/e")) == Directory(at("committed/deep/1/d/e"))
        assert await content(store, at("work/10/a")) == b"3"
        if store.capabilities.token_survives_rename:
            for name, token in tokens.items():
                assert (await entry(store, at(f"committed/deep/1/{name}"))).token == token

    @driven
    async def test_a_directory_that_exists_is_refused(self, store: Store, at: At) -> None:
        """Neither merged, replaced nor nested into: `mv`'s oldest trap."""
        _directories(store)
        await place(store, at, work__a=b"1", full__b=b"2", file=b"3", parent__work__c=b"4")
        await place(store, at, work__keep__x=b"")
        before = await tree(store, store.root)
        for target in ("full", "file", "parent/work", "work"):
            with refused():
                await _rename(store, at("work"), at(target))
            assert await tree(store, store.root) == before

    @driven
    async def test_a_directory_does_not_move_into_itself(self, store: Store, at: At) -> None:
        """Nor is anything lost by trying."""
        _directories(store)
        await place(store, at, work__a=b"1")
        with refused():
            await _rename(store, at("work"), at("work/inner"))
        assert await tree(store, store.root) == [at("work/a")]

    @driven
    async def test_a_missing_directory_is_not_renamed(self, store: Store, at: At) -> None:
        """A missing directory, and a file in its place, are refused; no target is made."""
        _directories(store)
        await place(store, at, file=b"1")
        for source in ("never", "no/such", "file"):
            with refused():
                await _rename(store, at(source), at("target"))
            assert await store.stat(at("target")) is None
        assert await tree(store, store.root) == [at("file")]

    @driven
    async def test_an_area_that_is_gone_takes_no_directory(self, store: Store, at: At) -> None:
        """A late task commit does not bring the area of a settled job back."""
        await place(store, at, work__a=b"1")
        with refused():
            await _directories(store).rename_directory(
                at("work"), at("gone/committed/1"), within=at("gone")
            )
        assert await store.stat(at("gone")) is None
        assert await tree(store, store.root) == [at("work/a")]

    @driven
    async def test_a_rename_is_seen_whole_or_not(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """Whoever finds one file under the new name finds them all there, none under the old."""
        _directories(store)

        def moving(turn: int) -> Contender:
            return lambda s: _rename(s, at(f"{turn}/here"), at(f"{turn}/there"))

        def looking(turn: int, number: int) -> Contender:
            async def look(store: Store) -> None:
                for _ in range(_LOOKS):
                    if await store.stat(at(f"{turn}/there/{number}")) is not None:
                        assert await tree(store, at(f"{turn}/here")) == []
                        assert len(await tree(store, at(f"{turn}/there"))) == _FILES
                        return
                    await asyncio.sleep(0)

            return look

        for turn in range(_ROUNDS):
            for number in range(_FILES):
                await place_at(store, at(f"{turn}/here/{number}"), b"1")
            lookers = [looking(turn, number) for number in (0, _FILES // 2, _FILES - 1)]
            contenders = [*lookers, moving(turn)]
            assert len(await contend(store, open_again, contenders)) == len(contenders)

    @driven
    async def test_one_of_many_directories_gets_a_name(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """Of many directories renamed to one name, one arrives and the others stay whole."""
        _directories(store)

        def moving(source: StorePath, target: StorePath) -> Contender:
            return lambda s: _rename(s, source, target)

        for turn in range(_ROUNDS):
            sources = [at(f"{turn}/work/{number}") for number in range(CONTENDERS)]
            for number, source in enumerate(sources):
                for name in "ab":
                    await place_at(store, StorePath(f"{source}/{name}"), bytes([number]))
            target = at(f"{turn}/committed")
            winners = await contend(
                store, open_again, [moving(source, target) for source in sources]
            )
            assert len(winners) == 1, f"{len(winners)} renames were told that they won"
            assert await tree(store, target) == [at(f"{turn}/committed/{name}") for name in "ab"]
            assert await content(store, at(f"{turn}/committed/a")) == bytes(winners)
            assert len(await tree(store, at(f"{turn}/work"))) == 2 * (CONTENDERS - 1)

    @driven
    async def test_a_directory_arrives_once(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """Of many that rename one directory to names of their own, one succeeds."""
        _directories(store)

        def moving(source: StorePath, target: StorePath) -> Contender:
            return lambda s: _rename(s, source, target)

        for turn in range(_ROUNDS):
            source = at(f"{turn}/work")
            await place_at(store, StorePath(f"{source}/a"), b"1")
            targets = [at(f"{turn}/to/{number}") for number in range(CONTENDERS)]
            winners = await contend(
                store, open_again, [moving(source, target) for target in targets]
            )
            assert len(winners) == 1
            assert await tree(store, at(str(turn))) == [at(f"{turn}/to/{winners[0]}/a")]

    @driven
    async def test_an_empty_directory_is_removed(self, store: Store, at: At) -> None:
        """Only if nothing is in it; a missing one counts as removed, and those above it stay."""
        removing = _removing(store)
        await place(store, at, d__e__a=b"1")
        with refused() as caught:
            await removing.remove_empty_directory(at("d"))
        assert caught.value.errno == errno.ENOTEMPTY
        with refused() as caught:
            await removing.remove_empty_directory(at("d/e"))
        assert caught.value.errno == errno.ENOTEMPTY
        with refused():
            await removing.remove_empty_directory(at("d/e/a"))
        assert await content(store, at("d/e/a")) == b"1"
        await store.delete(at("d/e/a"), expecting=Expect.ANYTHING)
        assert await store.stat(at("d/e")) == Directory(at("d/e"))
        for _ in range(2):
            await removing.remove_empty_directory(at("d/e"))
            assert await store.stat(at("d/e")) is None
        assert await store.stat(at("d")) == Directory(at("d"))

    @driven
    async def test_what_comes_into_a_directory_that_is_removed_stays(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """The first record of a job, put while a `clean` that found its area empty removes that."""
        _removing(store)
        await place(store, at, areas__other=b"1")

        def writing(turn: int) -> Contender:
            path = at(f"areas/{turn}/job")
            return lambda s: s.put(path, b"1", expecting=Expect.ABSENT, within=None)

        def removing(turn: int) -> Contender:
            return lambda s: _removing(s).remove_empty_directory(at(f"areas/{turn}"))

        for turn in range(_ROUNDS):
            won = await contend(store, open_again, [writing(turn), *[removing(turn)] * 3])
            # A put that finds its directory gone may be refused: then its file does not stand.
            stands = await store.stat(at(f"areas/{turn}/job")) is not None
            assert stands == (0 in won)
