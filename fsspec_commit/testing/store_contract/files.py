"""Looking at files, reading them, and deleting them."""

from fsspec_commit.store import Content, Directory, Entry, Expect, Store, Token
from fsspec_commit.testing.store_contract.given import (
    CONTENDERS,
    LIMIT_BYTES,
    At,
    Given,
    OpenAgain,
    ReadRaw,
    WriteRaw,
    contend,
    content,
    driven,
    entry,
    place,
    read_part,
    read_whole,
    refused,
    requires,
    tree,
)

_NO_TOKEN = Token("0-no-content-ever-had-this")
_DIGITS = b"0123456789"


class FilesContract(Given):
    """`stat`, `read`, `read_range`, `delete`, `delete_tree`."""

    @driven
    async def test_nothing_stands_in_a_fresh_destination(self, store: Store, at: At) -> None:
        """A missing file is ``None``, never an exception."""
        assert await store.stat(at("a")) is None
        assert await store.read(at("a"), limit_bytes=LIMIT_BYTES) is None
        assert await store.read_range(at("a"), start=0, length=1) is None
        assert await store.stat(at("no/directory/either")) is None
        assert await store.read(at("no/directory/either"), limit_bytes=LIMIT_BYTES) is None

    @driven
    async def test_what_others_write_is_read(
        self, store: Store, at: At, write_raw: WriteRaw
    ) -> None:
        """Nothing is cached: a file written past the adapter is there at once, and changes."""
        assert await content(store, at("d/a")) is None
        write_raw(at("d/a"), b"one")
        assert await content(store, at("d/a")) == b"one"
        write_raw(at("d/a"), b"other")
        assert await content(store, at("d/a")) == b"other"
        assert (await entry(store, at("d/a"))).size_bytes == len(b"other")

    @driven
    async def test_stat_read_and_listings_agree(self, store: Store, at: At) -> None:
        """One content has one token, whichever verb shows it."""
        token = await store.put(at("d/a"), b"data", expecting=Expect.ANYTHING, within=None)
        seen = await entry(store, at("d/a"))
        assert (seen.path, seen.size_bytes, seen.token) == (at("d/a"), 4, token)
        found = await read_whole(store, at("d/a"))
        assert isinstance(found, Content)
        assert found.entry == seen
        for listing in (store.list_tree(at("d")), store.list_children(at("d"))):
            (listed,) = [child async for child in listing]
            assert isinstance(listed, Entry)
            assert (listed.path, listed.size_bytes, listed.token) == (at("d/a"), 4, token)

    @driven
    async def test_other_content_has_another_token(
        self, store: Store, at: At, write_raw: WriteRaw
    ) -> None:
        """A token tells a replaced file from the one that was listed."""
        tokens = []
        for data in (b"one", b"two", b"more"):
            await place(store, at, a=data)
            tokens.append((await entry(store, at("a"))).token)
        write_raw(at("a"), b"three")
        tokens.append((await entry(store, at("a"))).token)
        await store.delete(at("a"), expecting=Expect.ANYTHING)
        await place(store, at, a=b"four!")
        tokens.append((await entry(store, at("a"))).token)
        assert len(set(tokens)) == len(tokens), tokens

    @driven
    async def test_a_token_is_never_another_contents(self, store: Store, at: At) -> None:
        """Not even when a file of the same length takes the place of a deleted one at once."""
        tokens = set[Token]()
        for number in range(rounds := 20):
            data = b"%04d" % number
            tokens.add(await store.put(at("a"), data, expecting=Expect.ANYTHING, within=None))
            await store.delete(at("a"), expecting=Expect.ANYTHING)
        assert len(tokens) == rounds

    @driven
    async def test_equal_bytes_have_tokens_of_their_own(self, store: Store, at: At) -> None:
        """Where tokens are declared unique: a file that went and came back is another one."""
        requires(store.capabilities.unique_tokens, "unique_tokens")
        tokens = set[str]()
        for _ in range(4):
            for _ in range(2):
                await store.put(at("a"), b"same", expecting=Expect.ANYTHING, within=None)
                tokens.add((await entry(store, at("a"))).token)
            await store.delete(at("a"), expecting=Expect.ANYTHING)
        assert len(tokens) == 8  # noqa: PLR2004  # each of them

    @driven
    async def test_a_directory_is_no_file(self, store: Store, at: At) -> None:
        """A directory is neither read nor taken for an entry."""
        await place(store, at, d__e__a=b"1")
        for path in (at("d"), at("d/e")):
            assert await store.read(path, limit_bytes=LIMIT_BYTES) is None
            assert await store.read_range(path, start=0, length=1) is None
            found = await store.stat(path)
            if store.directories is not None or found is not None:
                assert found == Directory(path)

    @driven
    async def test_reading_is_limited(self, store: Store, at: At) -> None:
        """A file of exactly the limit is read, a longer one refused, unread."""
        await place(store, at, a=_DIGITS)
        found = await read_whole(store, at("a"), limit_bytes=len(_DIGITS))
        assert found is not None
        assert found.data == _DIGITS
        with refused():
            await store.read(at("a"), limit_bytes=len(_DIGITS) - 1)

    @driven
    async def test_ranges_are_read(self, store: Store, at: At) -> None:
        """A range that goes past the end is cut, one that starts there is empty."""
        await place(store, at, a=_DIGITS, empty=b"")
        for start, length in ((0, 4), (3, 5), (8, 10), (10, 5), (99, 1), (4, 0)):
            expected = _DIGITS[start : start + length]
            assert await read_part(store, at("a"), start=start, length=length) == expected
        assert await store.read_range(at("empty"), start=0, length=1) == b""

    @driven
    async def test_deleting_is_seen_at_once(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """A deleted file is gone for everybody; its neighbours stay."""
        await place(store, at, d__a=b"1", d__b=b"2")
        await store.delete(at("d/a"), expecting=Expect.ANYTHING)
        assert read_raw(at("d/a")) is None
        assert await store.stat(at("d/a")) is None
        assert await tree(store, at("d")) == [at("d/b")]
        assert read_raw(at("d/b")) == b"2"

    @driven
    async def test_deleting_what_is_missing_is_done(self, store: Store, at: At) -> None:
        """So a deletion can be repeated, even where the directory is missing."""
        await place(store, at, a=b"1")
        for name in ("a", "a", "b", "no/directory"):
            await store.delete(at(name), expecting=Expect.ANYTHING)

    @driven
    async def test_deleting_a_file_leaves_directories(self, store: Store, at: At) -> None:
        """`delete` is for files: given a directory it takes nothing away."""
        await place(store, at, d__a=b"1")
        if store.directories is None:
            await store.delete(at("d"), expecting=Expect.ANYTHING)
        else:
            with refused():
                await store.delete(at("d"), expecting=Expect.ANYTHING)
        assert await content(store, at("d/a")) == b"1"

    @driven
    async def test_a_stale_token_does_not_delete(
        self, store: Store, at: At, read_raw: ReadRaw, write_raw: WriteRaw
    ) -> None:
        """Compare-and-delete: what was replaced since it was listed stays."""
        requires(store.capabilities.delete_if_match, "delete_if_match")
        await place(store, at, a=b"one")
        stale = (await entry(store, at("a"))).token
        write_raw(at("a"), b"newer")
        for token in (stale, _NO_TOKEN):
            with refused():
                await store.delete(at("a"), expecting=token)
        assert read_raw(at("a")) == b"newer"
        await store.delete(at("a"), expecting=(await entry(store, at("a"))).token)
        assert read_raw(at("a")) is None
        with refused():
            await store.delete(at("a"), expecting=stale)

    @driven
    async def test_one_of_many_deletes_a_content(
        self, store: Store, at: At, open_again: OpenAgain | None
    ) -> None:
        """Of many conditional deletions of one content, one is done."""
        requires(store.capabilities.delete_if_match, "delete_if_match")
        await place(store, at, a=b"one")
        token = (await entry(store, at("a"))).token
        winners = await contend(
            store, open_again, [lambda s: s.delete(at("a"), expecting=token)] * CONTENDERS
        )
        assert len(winners) == 1
        assert await store.stat(at("a")) is None

    @driven
    async def test_a_tree_goes_with_all_below_it(self, store: Store, at: At) -> None:
        """Nothing is left of it, not even an empty directory; and it can be repeated."""
        await place(store, at, t__a=b"1", t__d__e__b=b"2", kept=b"3")
        await store.delete_tree(at("t"))
        assert await tree(store, store.root) == [at("kept")]
        for name in ("t", "t/a", "t/d", "t/d/e", "t/d/e/b"):
            assert await store.stat(at(name)) is None, name
        await store.delete_tree(at("t"))
        await store.delete_tree(at("never/was"))

    @driven
    async def test_only_the_tree_goes(self, store: Store, at: At, read_raw: ReadRaw) -> None:
        """`t` is not the beginning of a name: `t0`, `t.bak` and `t-1` stay."""
        await place(store, at, t__a=b"1", t0__a=b"2")
        for name in ("t.bak/a", "t-1", "t "):
            await store.put(at(name), b"3", expecting=Expect.ANYTHING, within=None)
        await store.delete_tree(at("t"))
        assert await tree(store, store.root) == sorted(map(at, ("t ", "t-1", "t.bak/a", "t0/a")))
        assert read_raw(at("t0/a")) == b"2"
