"""Putting a small file whole, under a condition."""

import asyncio

import pytest

from fsspec_commit.store import Expect, Store, Token
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
    read_whole,
    refused,
    requires,
    requires_areas,
    tree,
)

_NO_TOKEN = Token("0-no-content-ever-had-this")
_LONG = 1 << 20
_ROUNDS = 2


class PutsContract(Given):
    """`put`."""

    @driven
    async def test_a_put_file_is_there_for_everybody(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """When `put` returns, the bytes are on the store, under that name, exactly."""
        data = bytes(range(256)) * 5
        await store.put(at("d/e/a.bin"), data, expecting=Expect.ANYTHING, within=None)
        assert read_raw(at("d/e/a.bin")) == data
        assert await content(store, at("d/e/a.bin")) == data

    @driven
    async def test_anything_is_replaced(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """Without a condition the last one wins, even with fewer bytes."""
        for data in (b"first", b"", b"2nd"):
            await store.put(at("a"), data, expecting=Expect.ANYTHING, within=None)
            assert read_raw(at("a")) == data

    @driven
    async def test_an_empty_file_is_a_file(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """Markers are empty: they are created, seen, listed and refused like any other."""
        token = await store.put(at("d/a"), b"", expecting=Expect.ANYTHING, within=None)
        assert read_raw(at("d/a")) == b""
        seen = await entry(store, at("d/a"))
        assert (seen.size_bytes, seen.token) == (0, token)
        assert await tree(store, at("d")) == [at("d/a")]
        if store.capabilities.exclusive_create:
            with refused():
                await store.put(at("d/a"), b"", expecting=Expect.ABSENT, within=None)
            await store.put(at("d/b"), b"", expecting=Expect.ABSENT, within=None)
            with refused():
                await store.put(at("d/b"), b"late", expecting=Expect.ABSENT, within=None)
            assert read_raw(at("d/b")) == b""

    @driven
    async def test_put_is_whole(self, store: Store, at: At, open_again: OpenAgain | None) -> None:
        """Whoever reads while others put sees all of one content, never a mixture or a part."""
        versions = [bytes([number]) * _LONG for number in range(4)]
        await store.put(at("a"), versions[0], expecting=Expect.ANYTHING, within=None)

        writing = 2

        async def write(store: Store) -> None:
            nonlocal writing
            try:
                for version in versions * 3:
                    await store.put(at("a"), version, expecting=Expect.ANYTHING, within=None)
                    await asyncio.sleep(0)
            finally:
                writing -= 1

        async def read(store: Store) -> None:
            while writing > 0:
                found = await read_whole(store, at("a"))
                assert found is not None, "a replaced file is never missing"
                assert found.data in versions, "a part or a mixture was read"
                assert found.entry.size_bytes == len(found.data)
                await asyncio.sleep(0)

        contenders: list[Contender] = [write, read, write, read]
        assert len(await contend(store, open_again, contenders)) == len(contenders)

    @driven
    async def test_create_refuses_what_exists(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Put-if-absent: the first one stands, untouched."""
        requires(store.capabilities.exclusive_create, "exclusive_create")
        token = await store.put(at("a"), b"first", expecting=Expect.ABSENT, within=None)
        with refused():
            await store.put(at("a"), b"second", expecting=Expect.ABSENT, within=None)
        assert read_raw(at("a")) == b"first"
        assert (await entry(store, at("a"))).token == token

    @pytest.mark.guarantees("P8")
    @driven
    async def test_p8_a_deleted_name_is_created_again(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """What a store keeps of a deleted file, such as old versions, is in nobody's way."""
        requires(store.capabilities.exclusive_create, "exclusive_create")
        for data in (b"first", b"second"):
            await store.put(at("a"), data, expecting=Expect.ABSENT, within=None)
            assert read_raw(at("a")) == data
            await store.delete(at("a"), expecting=Expect.ANYTHING)
        assert read_raw(at("a")) is None

    @driven
    async def test_one_of_many_creates(
        self, store: Store, at: At, open_again: OpenAgain | None, read_raw: ReadRaw
    ) -> None:
        """Decisions rest on this: of many creators one wins, and its bytes stand, whole."""
        requires(store.capabilities.exclusive_create, "exclusive_create")
        await place(store, at, d__other=b"")

        def creating(path: str, number: int) -> Contender:
            data = bytes([number]) * 10_000
            return lambda s: s.put(at(path), data, expecting=Expect.ABSENT, within=store.root)

        for turn in range(_ROUNDS):
            path = f"d/{turn}"
            winners = await contend(
                store, open_again, [creating(path, number) for number in range(CONTENDERS)]
            )
            assert len(winners) == 1, f"{len(winners)} creators were told that they won"
            assert read_raw(at(path)) == bytes(winners) * 10_000

    @driven
    async def test_a_stale_token_does_not_replace(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Compare-and-swap: only the content that was seen is replaced."""
        requires(store.capabilities.replace_if_match, "replace_if_match")
        with refused():
            await store.put(at("a"), b"none", expecting=_NO_TOKEN, within=None)
        assert read_raw(at("a")) is None
        first = await store.put(at("a"), b"first", expecting=Expect.ANYTHING, within=None)
        second = await store.put(at("a"), b"second", expecting=first, within=None)
        assert read_raw(at("a")) == b"second"
        with refused():
            await store.put(at("a"), b"third", expecting=first, within=None)
        assert read_raw(at("a")) == b"second"
        assert (await entry(store, at("a"))).token == second

    @driven
    async def test_one_of_many_replaces_a_content(
        self, store: Store, at: At, open_again: OpenAgain | None, read_raw: ReadRaw
    ) -> None:
        """Of many that have seen one content, one replaces it."""
        requires(store.capabilities.replace_if_match, "replace_if_match")
        token = await store.put(at("a"), b"seen by all", expecting=Expect.ANYTHING, within=None)

        def replacing(number: int) -> Contender:
            return lambda s: s.put(at("a"), bytes([number]), expecting=token, within=None)

        winners = await contend(store, open_again, [replacing(n) for n in range(CONTENDERS)])
        assert len(winners) == 1
        assert read_raw(at("a")) == bytes(winners)

    @driven
    async def test_directories_below_within_are_made(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """As many as needed, even when many puts make them at once."""
        await place(store, at, area__job=b"{}")

        def putting(number: int) -> Contender:
            path = at(f"area/x/y/{number}")
            return lambda s: s.put(path, b"1", expecting=Expect.ANYTHING, within=at("area"))

        assert (
            len(await contend(store, None, [putting(n) for n in range(CONTENDERS)])) == CONTENDERS
        )
        assert [read_raw(at(f"area/x/y/{n}")) for n in range(CONTENDERS)] == [b"1"] * CONTENDERS

    @driven
    async def test_an_area_that_is_gone_stays_gone(self, store: Store, at: At) -> None:
        """A late record does not bring the area of a settled job back."""
        requires_areas(store)
        await place(store, at, areas__job__spec=b"{}", areas__other=b"")
        await store.delete_tree(at("areas/job"))
        for expecting in (Expect.ABSENT, Expect.ANYTHING):
            for name in ("areas/job/late", "areas/job/deep/late"):
                with refused():
                    await store.put(at(name), b"1", expecting=expecting, within=at("areas/job"))
        assert await store.stat(at("areas/job")) is None
        assert await tree(store, store.root) == [at("areas/other")]

    @driven
    async def test_a_refused_put_leaves_nothing(self, store: Store, at: At) -> None:
        """No temporary file, and no file where a directory or another file is in the way."""
        requires(store.directories, "atomic_rename=DIRECTORY")
        await place(store, at, d__a=b"1")
        for name in ("d", "d/a/b"):
            for expecting in (Expect.ABSENT, Expect.ANYTHING):
                with refused():
                    await store.put(at(name), b"2", expecting=expecting, within=None)
        with refused():
            await store.put(at("d/a"), b"2", expecting=Expect.ABSENT, within=None)
        assert await tree(store, store.root) == [at("d/a")]
        assert await content(store, at("d/a")) == b"1"
