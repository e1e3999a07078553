"""The store contract finds stores that lie: one planted lie at a time, each found by its test."""

from __future__ import annotations

import asyncio
import inspect
import time
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import fsspec
import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import DestinationLayout, StorePath
from fsspec_commit.names import Target
from fsspec_commit.store import Entry, Expect, OpenOptions, Token
from fsspec_commit.testing import StoreContract
from fsspec_commit_stores.memory import CAPABILITIES, MemoryStore
from fsspec_commit_stores.memory.renaming import Renames
from fsspec_commit_stores.memory.writing import LoopWriter, MemoryWriter
from tests.contract.lying_directories import (
    LooksBeforeItRemoves,
    Makes,
    MakesAnew,
    MakesNone,
    MakesOnce,
    MakesOver,
    RemovesAll,
)
from tests.contract.lying_listings import (
    CutsListings,
    ListsByPrefix,
    ListsFromACache,
    TellsNoPagesApart,
)

if TYPE_CHECKING:
    from fsspec_commit.ids import Nonce
    from fsspec_commit.store import Content, Directory, Expectation, RenamesFiles, Writer

plain: Any = fsspec.filesystem("memory")


class Overwrites(MemoryStore):
    """Takes an exclusive put for any put."""

    async def put(self, path: StorePath, data: bytes, **how: Any) -> Token:
        return await super().put(path, data, **{**how, "expecting": Expect.ANYTHING})


class LooksBeforeItPuts(MemoryStore):
    """Exclusive only for those who come one after the other."""

    async def put(
        self,
        path: StorePath,
        data: bytes,
        *,
        expecting: Expectation,
        within: StorePath | None,
        nonce: Nonce | None = None,
    ) -> Token:
        there = await self.stat(path)
        token = there.token if isinstance(there, Entry) else None
        if (expecting is Expect.ABSENT and there) or (
            isinstance(expecting, str) and token != expecting
        ):
            raise StoreError("exists", reply=Reply.REFUSED)
        await asyncio.sleep(0.001)
        return await super().put(path, data, expecting=Expect.ANYTHING, within=within, nonce=nonce)


class PutsInHalves(MemoryStore):
    """A reader can see the first half."""

    async def put(self, path: StorePath, data: bytes, **how: Any) -> Token:
        await super().put(path, data[: len(data) // 2], **how)
        await asyncio.sleep(0.001)
        return await super().put(path, data, **{**how, "expecting": Expect.ANYTHING})


class MakesAreas(MemoryStore):
    """Brings a job's area back."""

    async def put(self, path: StorePath, data: bytes, **how: Any) -> Token:
        return await super().put(path, data, **{**how, "within": None})


class IsInDoubt(MemoryStore):
    """Says of every refusal that it does not know."""

    async def put(self, path: StorePath, data: bytes, **how: Any) -> Token:
        try:
            return await super().put(path, data, **how)
        except StoreError as error:
            raise StoreError(str(error), reply=Reply.UNKNOWN) from error


class KeepsTombs(MemoryStore):
    """What was deleted, or renamed away, is in the way for ever, as old versions can be."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(root)
        self.tombs = set[StorePath]()
        self.files: RenamesFiles | None = _RenamingOnce(self.tombs)

    async def put(self, path: StorePath, data: bytes, **how: Any) -> Token:
        refuse_tombs(self.tombs, path, how["expecting"])
        return await super().put(path, data, **how)

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        await super().delete(path, expecting=expecting)
        self.tombs.add(path)


class _RenamingOnce(Renames):
    def __init__(self, tombs: set[StorePath]) -> None:
        self.tombs = tombs

    async def rename(self, source: StorePath, target: StorePath, **how: Any) -> None:
        refuse_tombs(self.tombs, target, how["expecting"])
        await super().rename(source, target, **how)
        self.tombs.add(source)


def refuse_tombs(tombs: set[StorePath], path: StorePath, expecting: Expectation) -> None:
    if expecting is Expect.ABSENT and path in tombs:
        raise StoreError("it was deleted once", reply=Reply.REFUSED)


class DeletesAnything(MemoryStore):
    """Ignores the token."""

    async def delete(self, path: StorePath, *, expecting: Expectation) -> None:
        await super().delete(path, expecting=Expect.ANYTHING if expecting else expecting)


class DeletesByPrefix(MemoryStore):
    """The classic: `t` takes `t0` with it."""

    async def delete_tree(self, path: StorePath) -> None:
        for name in [name for name in plain.store if name.startswith(path)]:
            del plain.store[name]
        await super().delete_tree(path)


class CountsAsToken(MemoryStore):
    """Takes the size for the content."""

    async def stat(self, path: StorePath) -> Entry | Directory | None:
        there = await super().stat(path)
        return (
            replace(there, token=Token(str(there.size_bytes)))
            if isinstance(there, Entry)
            else there
        )


class ReadsAnything(MemoryStore):
    """Without a limit."""

    async def read(self, path: StorePath, *, limit_bytes: int) -> Content | None:
        return await super().read(path, limit_bytes=1 << 40)


class Normalises(MemoryStore):
    """As some file systems do with names."""

    async def put(self, path: StorePath, data: bytes, **how: Any) -> Token:
        return await super().put(StorePath(unicodedata.normalize("NFC", path)), data, **how)


class BoastsOfUploads(MemoryStore):
    """Declares what it does not have."""

    capabilities = replace(CAPABILITIES, multipart=True, upload_keyed_by="upload_id")


class HidesItsRenames(MemoryStore):
    """Has what it does not declare."""

    capabilities = replace(CAPABILITIES, atomic_rename=None)


class _ShownAtOnce(LoopWriter):
    async def write(self, data: bytes) -> None:
        plain.pipe_file(self._writer._path, data)
        await super().write(data)


class ShowsWhatIsWritten(MemoryStore):
    """As HDFS and local disks do; but declares otherwise."""

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        return _ShownAtOnce(MemoryWriter(path, within))


class _PublishedWhenCollected(LoopWriter):
    def __del__(self) -> None:
        if self._writer._file is not None:
            self._writer.finish()


class PublishesAtClose(MemoryStore):
    """As every fsspec file does."""

    def writer(
        self, path: StorePath, *, within: StorePath, nonce: Nonce | None = None
    ) -> Writer[Entry]:
        return _PublishedWhenCollected(MemoryWriter(path, within))


class _Renaming(Renames):
    async def rename(self, source: StorePath, target: StorePath, **how: Any) -> None:
        await super().rename(source, target, **{**how, "expecting": Expect.ANYTHING})

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        if plain.isdir(target):
            target = StorePath(f"{target}/{source.rpartition('/')[2]}")
        await super().rename_directory(source, target, within=within)


class _Copying(Renames):
    async def rename(self, source: StorePath, target: StorePath, **how: Any) -> None:
        there = plain.store.get(source)
        await super().rename(source, target, **how)
        plain.pipe_file(target, there.getvalue())

    async def rename_directory(
        self, source: StorePath, target: StorePath, *, within: StorePath
    ) -> None:
        if plain.isdir(target) or not plain.isdir(source):
            raise StoreError("no", reply=Reply.REFUSED)
        for path in plain.find(source):
            await super().rename(
                path,
                StorePath(target + path[len(source) :]),
                token=None,
                expecting=Expect.ABSENT,
                within=within,
            )
            time.sleep(0.0001)  # noqa: ASYNC251  # lets other threads look
            await asyncio.sleep(0)
        plain.rm(source, recursive=True)


class RenamesOver(MemoryStore):
    """`os.rename` for files and `shutil.move` for directories."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(root)
        self.files: RenamesFiles | None = _Renaming()
        self.directories = _Renaming()


class Copies(MemoryStore):
    """As most object stores must."""

    def __init__(self, root: StorePath) -> None:
        super().__init__(root)
        self.files: RenamesFiles | None = _Copying()
        self.directories = _Copying()


class ForgetsNonces(MemoryStore):
    """Says that a rename changes the token, and keeps nothing else to know a file by."""

    capabilities = replace(CAPABILITIES, token_survives_rename=False)


LIES: list[tuple[type[MemoryStore], str]] = [
    (ForgetsNonces, "test_a_renamed_file_is_recognised"),
    (MakesOver, "test_a_file_in_the_way_of_a_directory_is_named"),
    (MakesAnew, "test_a_directory_that_is_there_is_left_alone"),
    (MakesOnce, "test_a_directory_that_is_there_is_left_alone"),
    (MakesOnce, "test_many_make_directories_at_once"),
    (MakesNone, "test_a_directory_is_made_with_those_above_it"),
    (RemovesAll, "test_an_empty_directory_is_removed"),
    (LooksBeforeItRemoves, "test_what_comes_into_a_directory_that_is_removed_stays"),
    (Overwrites, "test_create_refuses_what_exists"),
    (Overwrites, "test_one_of_many_creates"),
    (Overwrites, "test_a_stale_token_does_not_replace"),
    (Overwrites, "test_an_empty_file_is_a_file"),
    (LooksBeforeItPuts, "test_one_of_many_creates"),
    (LooksBeforeItPuts, "test_one_of_many_replaces_a_content"),
    (PutsInHalves, "test_put_is_whole"),
    (MakesAreas, "test_an_area_that_is_gone_stays_gone"),
    (IsInDoubt, "test_create_refuses_what_exists"),
    (IsInDoubt, "test_one_of_many_creates"),
    (KeepsTombs, "test_p8_a_deleted_name_is_created_again"),
    (KeepsTombs, "test_p8_a_rename_takes_a_name_that_is_free_again"),
    (DeletesAnything, "test_a_stale_token_does_not_delete"),
    (DeletesAnything, "test_one_of_many_deletes_a_content"),
    (DeletesByPrefix, "test_only_the_tree_goes"),
    (ListsByPrefix, "test_a_prefix_is_not_a_directory"),
    (ListsFromACache, "test_listings_see_writes_and_deletes_at_once"),
    (CutsListings, "test_a_long_listing_is_whole"),
    (TellsNoPagesApart, "test_a_long_listing_is_whole"),
    (CountsAsToken, "test_other_content_has_another_token"),
    (CountsAsToken, "test_stat_read_and_listings_agree"),
    (ReadsAnything, "test_reading_is_limited"),
    (Normalises, "test_an_odd_name_is_kept_or_refused"),
    (BoastsOfUploads, "test_uploads_are_there_exactly_when_declared"),
    (HidesItsRenames, "test_files_are_renamed_exactly_when_declared"),
    (HidesItsRenames, "test_directories_are_renamed_exactly_when_declared"),
    (ShowsWhatIsWritten, "test_nothing_is_visible_before_finish"),
    (ShowsWhatIsWritten, "test_discard_leaves_nothing"),
    (PublishesAtClose, "test_an_abandoned_file_is_never_published"),
    (RenamesOver, "test_an_exclusive_rename_refuses_what_exists"),
    (RenamesOver, "test_a_rename_replaces_the_expected_content_only"),
    (RenamesOver, "test_one_of_many_files_gets_a_name"),
    (RenamesOver, "test_a_directory_that_exists_is_refused"),
    (Copies, "test_a_token_survives_a_rename_as_declared"),
    (Copies, "test_a_rename_is_seen_whole_or_not"),
]


def attempt(store_class: type[MemoryStore], test: str) -> None:
    """Run one test of the contract on a store, as pytest would."""
    suite = StoreContract()
    url = f"memory://lies-{uuid4().hex}"
    method = getattr(suite, test)
    with asyncio.Runner() as runner:
        suite.loop_runner = runner
        store = runner.run(store_class.open(url, OpenOptions()))
        layout = DestinationLayout(store.root)

        def at(name: str) -> StorePath:
            return layout.final(Target(name))

        if "open_writer" in inspect.signature(method).parameters:
            runner.run(store.put(at("area/spec"), b"", expecting=Expect.ANYTHING, within=None))
        fixtures = {
            "store": store,
            "at": at,
            "read_raw": lambda path: plain.cat_file(path) if plain.isfile(path) else None,
            "write_raw": plain.pipe_file,
            "open_again": lambda: store_class.open(url, OpenOptions()),
            "open_writer": lambda path: store.writer(path, within=at("area")),
            "name": "A\u030a",
        }
        wanted = inspect.signature(method).parameters
        method(**{name: fixtures[name] for name in wanted})


@pytest.mark.parametrize("test", sorted({test for _, test in LIES}))
def test_an_honest_store_passes(test: str) -> None:
    attempt(Makes, test)


@pytest.mark.parametrize(("store_class", "test"), LIES)
def test_a_lie_is_found(store_class: type[MemoryStore], test: str) -> None:
    with pytest.raises((AssertionError, pytest.fail.Exception, StoreError)):
        attempt(store_class, test)
