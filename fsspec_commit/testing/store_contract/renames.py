"""Renames of one file: atomic, exclusive where asked, and the content stays what it was."""

from collections.abc import Sequence

import pytest

from fsspec_commit.ids import Nonce
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Expect, Expectation, RenamesFiles, Store, Token
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
    requires,
    tree,
)

_NO_TOKEN = Token("0-no-content-ever-had-this")
_ROUNDS = 2


def _files(store: Store) -> RenamesFiles:
    if store.files is None:
        pytest.skip("this store does not declare atomic_rename")
    return store.files


async def _rename(
    store: Store,
    source: StorePath,
    target: StorePath,
    expecting: Expectation = Expect.ANYTHING,
    *,
    token: Token | None = None,
) -> None:
    await _files(store).rename(source, target, token=token, expecting=expecting, within=store.root)


def _renaming(sources: Sequence[StorePath], targets: Sequence[StorePath]) -> list[Contender]:
    def one(source: StorePath, target: StorePath) -> Contender:
        return lambda store: _rename(store, source, target, Expect.ABSENT)

    return [one(source, target) for source, target in zip(sources, targets, strict=True)]


class RenamesContract(Given):
    """`files`."""

    @driven
    async def test_a_rename_moves_the_file(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """The content is under the new name and no longer under the old one."""
        await place(store, at, work__a=b"data", work__b=b"other")
        await _rename(store, at("work/a"), at("day=1/deep/a"), Expect.ABSENT)
        assert read_raw(at("day=1/deep/a")) == b"data"
        assert read_raw(at("work/a")) is None
        assert await store.stat(at("work/a")) is None
        assert await tree(store, store.root) == sorted([at("day=1/deep/a"), at("work/b")])

    @driven
    async def test_a_token_survives_a_rename_as_declared(self, store: Store, at: At) -> None:
        """A lost reply is resolved by the token, where token_survives_rename is declared."""
        await place(store, at, work__a=b"data")
        before = (await entry(store, at("work/a"))).token
        await _rename(store, at("work/a"), at("a"), token=before)
        after = (await entry(store, at("a"))).token
        if store.capabilities.token_survives_rename is not None:
            assert (after == before) == store.capabilities.token_survives_rename

    @driven
    async def test_a_renamed_file_is_recognised(self, store: Store, at: At) -> None:
        """By its token, or else by the nonce it was written with: a lost answer can be resolved."""
        _files(store)
        nonces = [Nonce(f"{number:032x}") for number in (1, 2)]
        await place(store, at, work__other=b"1")
        writer = store.writer(at("work/a"), within=store.root, nonce=nonces[0])
        await writer.write(b"data")
        written = await writer.finish()
        put = await store.put(
            at("work/b"), b"data", expecting=Expect.ABSENT, within=store.root, nonce=nonces[1]
        )
        await _rename(store, at("work/a"), at("d/a"), Expect.ABSENT, token=written.token)
        await _rename(store, at("work/b"), at("d/b"), Expect.ABSENT, token=put)
        arrived = [await entry(store, at(name)) for name in ("d/a", "d/b")]
        if store.capabilities.token_survives_rename:
            assert [one.token for one in arrived] == [written.token, put]
        else:
            assert [one.nonce for one in arrived] == nonces

    @driven
    async def test_an_exclusive_rename_refuses_what_exists(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Neither file is touched, even if the one that exists is empty or has the same content."""
        _files(store)
        requires(store.capabilities.exclusive_rename, "exclusive_rename")
        for existing in (b"stands", b"", b"data"):
            await place(store, at, work__a=b"data", d__a=existing)
            token = (await entry(store, at("d/a"))).token
            with refused():
                await _rename(store, at("work/a"), at("d/a"), Expect.ABSENT)
            assert read_raw(at("d/a")) == existing
            assert read_raw(at("work/a")) == b"data"
            assert (await entry(store, at("d/a"))).token == token

    @pytest.mark.guarantees("P8")
    @driven
    async def test_p8_a_rename_takes_a_name_that_is_free_again(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """After a deletion, and after another rename has taken the file away."""
        _files(store)
        requires(store.capabilities.exclusive_rename, "exclusive_rename")
        for data in (b"first", b"second", b"third"):
            await place(store, at, work__a=data)
            await _rename(store, at("work/a"), at("d/a"), Expect.ABSENT)
            assert read_raw(at("d/a")) == data
            if data == b"first":
                await store.delete(at("d/a"), expecting=Expect.ANYTHING)
            elif data == b"second":
                await _rename(store, at("d/a"), at("away/a"), Expect.ABSENT)
        assert await tree(store, store.root) == sorted([at("away/a"), at("d/a")])

    @driven
    async def test_a_rename_replaces_atomically(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """A reader finds the old file or the new one, never none."""
        _files(store)
        await place(store, at, d__a=b"old")
        for number in range(rounds := 20):
            await place_at(store, at(f"work/{number}"), b"new")

        async def rename(store: Store) -> None:
            for number in range(rounds):
                await _rename(store, at(f"work/{number}"), at("d/a"))

        async def read(store: Store) -> None:
            for _ in range(rounds):
                assert await content(store, at("d/a")) in {b"old", b"new"}

        assert len(await contend(store, open_again, [rename, read, read])) == 3  # noqa: PLR2004  # all of them
        assert await tree(store, store.root) == [at("d/a")]

    @driven
    async def test_a_rename_replaces_the_expected_content_only(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """A token refuses any other content at the target, and a target that is missing."""
        await place(store, at, work__a=b"new", d__a=b"old")
        listed = (await entry(store, at("d/a"))).token
        await place(store, at, d__a=b"newer than listed")
        for token in (listed, _NO_TOKEN):
            with refused():
                await _rename(store, at("work/a"), at("d/a"), token)
        with refused():
            await _rename(store, at("work/a"), at("d/missing"), listed)
        assert read_raw(at("d/a")) == b"newer than listed"
        assert read_raw(at("work/a")) == b"new"
        await _rename(store, at("work/a"), at("d/a"), (await entry(store, at("d/a"))).token)
        assert read_raw(at("d/a")) == b"new"

    @driven
    async def test_a_missing_file_is_not_renamed(self, store: Store, at: At) -> None:
        """A second rename finds no source: refused, and what stands at the target stays."""
        await place(store, at, work__a=b"data")
        await _rename(store, at("work/a"), at("a"), Expect.ABSENT)
        for source in ("work/a", "work/never", "no/directory/a"):
            for expecting in (Expect.ABSENT, Expect.ANYTHING):
                for target in ("a", "b"):
                    with refused():
                        await _rename(store, at(source), at(target), expecting)
        assert await content(store, at("a")) == b"data"
        assert await tree(store, store.root) == [at("a")]

    @driven
    async def test_a_directory_is_not_renamed_as_a_file(self, store: Store, at: At) -> None:
        """Neither moved nor replaced."""
        await place(store, at, d__a=b"1", work__a=b"2", target__a=b"3")
        with refused():
            await _rename(store, at("d"), at("e"))
        if store.directories is not None:
            with refused():
                await _rename(store, at("work/a"), at("target"))
        assert await tree(store, store.root) == sorted(map(at, ("d/a", "work/a", "target/a")))

    @driven
    async def test_a_file_in_the_way_is_named(self, store: Store, at: At) -> None:
        """Where a directory must be and a file is, the refusal says which file."""
        requires(store.directories, "atomic_rename=DIRECTORY")
        await place(store, at, work__a=b"1", blocking=b"2")
        with refused() as caught:
            await _rename(store, at("work/a"), at("blocking/deep/a"))
        assert at("blocking") in str(caught.value)
        assert await content(store, at("work/a")) == b"1"
        assert await content(store, at("blocking")) == b"2"

    @driven
    async def test_a_rename_does_not_bring_an_area_back(self, store: Store, at: At) -> None:
        """*within* must exist: nothing is renamed into what is gone."""
        requires(store.directories, "atomic_rename=DIRECTORY")
        await place(store, at, a=b"1")
        with refused():
            await _files(store).rename(
                at("a"),
                at("gone/trash/a"),
                token=None,
                expecting=Expect.ABSENT,
                within=at("gone"),
            )
        assert await store.stat(at("gone")) is None
        assert await content(store, at("a")) == b"1"

    @driven
    async def test_one_of_many_files_gets_a_name(
        self, store: Store, at: At, open_again: OpenAgain | None, read_raw: ReadRaw
    ) -> None:
        """Of many files renamed to one name at once, one arrives; the others stay as they were."""
        _files(store)
        requires(store.capabilities.exclusive_rename, "exclusive_rename")
        for turn in range(_ROUNDS):
            sources = [at(f"work/{turn}/{number}") for number in range(CONTENDERS)]
            for number, source in enumerate(sources):
                await place_at(store, source, bytes([number]))
            target = at(f"d/{turn}/a")
            winners = await contend(store, open_again, _renaming(sources, [target] * CONTENDERS))
            assert len(winners) == 1, f"{len(winners)} renames were told that they won"
            assert read_raw(target) == bytes(winners)
            left = [source for number, source in enumerate(sources) if number not in winners]
            assert await tree(store, at(f"work/{turn}")) == sorted(left)

    @driven
    async def test_a_file_arrives_once(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """Of many that rename one file to names of their own, one succeeds: it is never copied."""
        _files(store)
        for turn in range(_ROUNDS):
            source = at(f"work/{turn}")
            await place_at(store, source, b"one")
            targets = [at(f"d/{turn}/{number}") for number in range(CONTENDERS)]
            winners = await contend(store, open_again, _renaming([source] * CONTENDERS, targets))
            assert [targets[winner] for winner in winners] == await tree(store, at(f"d/{turn}"))
            assert len(winners) == 1
            assert await store.stat(source) is None

    @driven
    async def test_many_meet_in_a_new_directory(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """Whoever makes a directory first does not hinder the others, and nothing nests."""
        _files(store)
        sources = [at(f"work/{number}") for number in range(CONTENDERS)]
        for source in sources:
            await place_at(store, source, b"1")
        targets = [at(f"new/deep/{number}") for number in range(CONTENDERS)]
        winners = await contend(store, open_again, _renaming(sources, targets))
        assert len(winners) == CONTENDERS
        assert await tree(store, store.root) == sorted(targets)
