"""Files written bit by bit: through the loop, and on the caller's own thread."""

import asyncio
import gc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import pytest

from fsspec_commit.layout import StorePath
from fsspec_commit.store import DirectWriter, Entry, Store, Writer
from fsspec_commit.testing.garbage import only_what_comes
from fsspec_commit.testing.store_contract.given import (
    CONTENDERS,
    At,
    Given,
    ReadRaw,
    content,
    driven,
    entry,
    place,
    refused,
    requires,
    requires_areas,
    tree,
)

OpenWriter: TypeAlias = Callable[[StorePath], Writer[Entry]]
"""Begins the file at a path below the destination, in one of the two ways there are."""

_PART = bytes(range(256)) * 4096


class _OnThisThread:
    """A direct writer, to be tried like the other kind."""

    def __init__(self, writer: DirectWriter[Entry]) -> None:
        self._writer = writer

    async def write(self, data: bytes) -> None:
        """Append *data*, all of it."""
        assert self._writer.write(data) == len(data)

    async def finish(self) -> Entry:
        """Close the file."""
        return self._writer.finish()

    async def discard(self) -> None:
        """Leave nothing of the file."""
        self._writer.discard()


class WritersContract(Given):
    """`writer`, and `direct` where there is one."""

    @pytest.fixture(params=["loop", "direct"])
    def open_writer(
        self, request: pytest.FixtureRequest, store: Store, runner: asyncio.Runner, at: At
    ) -> OpenWriter:
        """Both kinds of writers keep the same promises."""
        runner.run(place(store, at, area__spec=b"{}"))
        if request.param == "loop":
            return lambda path: store.writer(path, within=at("area"))
        direct = store.direct
        if direct is None:
            pytest.skip("this store does not declare direct")
        return lambda path: _OnThisThread(direct.writer(path, within=at("area")))

    @driven
    async def test_a_finished_file_is_whole(
        self, store: Store, at: At, open_writer: OpenWriter, read_raw: ReadRaw
    ) -> None:
        """All bytes in order, and `finish` answers what the store shows from now on."""
        writer = open_writer(at("area/d/e/a"))
        pieces = [b"", b"small", _PART, b"x", _PART * 6, b"end"]
        for piece in pieces:
            await writer.write(piece)
        finished = await writer.finish()
        assert read_raw(at("area/d/e/a")) == b"".join(pieces)
        assert finished == await entry(store, at("area/d/e/a"))
        assert finished.size_bytes == sum(map(len, pieces))

    @driven
    async def test_an_empty_file_is_finished(
        self, store: Store, at: At, open_writer: OpenWriter, read_raw: ReadRaw
    ) -> None:
        """Without a single write there is a file of no bytes."""
        finished = await open_writer(at("area/a")).finish()
        assert read_raw(at("area/a")) == b""
        assert finished == await entry(store, at("area/a"))

    @driven
    async def test_nothing_is_visible_before_finish(
        self, store: Store, at: At, open_writer: OpenWriter, read_raw: ReadRaw
    ) -> None:
        """Where whole_object_publish is declared, nobody sees a part of a file."""
        requires(store.capabilities.whole_object_publish, "whole_object_publish")
        writer = open_writer(at("area/a"))
        for _ in range(3):
            await writer.write(_PART * 6)
            assert read_raw(at("area/a")) is None
            assert await store.stat(at("area/a")) is None
            assert await tree(store, at("area")) == [at("area/spec")]
        await writer.finish()
        assert read_raw(at("area/a")) == _PART * 18

    @driven
    async def test_a_file_written_again_is_the_later_one(
        self, at: At, open_writer: OpenWriter, read_raw: ReadRaw
    ) -> None:
        """A closed name may be opened again; what is finished last is what stands."""
        tokens = set[str]()
        for data in (b"first", b"2nd"):
            writer = open_writer(at("area/a"))
            await writer.write(data)
            tokens.add((await writer.finish()).token)
            assert read_raw(at("area/a")) == data
        assert len(tokens) == 2  # noqa: PLR2004  # two contents

    @driven
    async def test_discard_leaves_nothing(
        self, store: Store, at: At, open_writer: OpenWriter, read_raw: ReadRaw
    ) -> None:
        """However much was written; to discard more than once is not an error."""
        for pieces in (0, 1, 3):
            writer = open_writer(at("area/a"))
            for _ in range(pieces):
                await writer.write(_PART * 3)
            await writer.discard()
            await writer.discard()
            assert read_raw(at("area/a")) is None
            assert await tree(store, at("area")) == [at("area/spec")]

    @driven
    async def test_discard_does_not_undo_finish(
        self, store: Store, at: At, open_writer: OpenWriter
    ) -> None:
        """A finished file is left to the caller: a late `discard` does not remove it."""
        writer = open_writer(at("area/a"))
        await writer.write(b"1")
        await writer.finish()
        await writer.discard()
        assert await content(store, at("area/a")) == b"1"

    @driven
    async def test_a_discarded_file_cannot_be_finished(
        self, store: Store, at: At, open_writer: OpenWriter
    ) -> None:
        """A late `finish` is an error and shows nothing."""
        writer = open_writer(at("area/a"))
        await writer.write(b"1")
        await writer.discard()
        with pytest.raises((OSError, ValueError)):
            await writer.finish()
        assert await tree(store, at("area")) == [at("area/spec")]

    @driven
    async def test_an_abandoned_file_is_never_published(
        self, store: Store, at: At, open_writer: OpenWriter, read_raw: ReadRaw
    ) -> None:
        """Garbage collection must not close, hence publish, what an exception cut short."""
        with only_what_comes(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            writer = open_writer(at("area/a"))
            await writer.write(_PART * 6)
            del writer
            gc.collect()
            await asyncio.sleep(0)
        assert read_raw(at("area/a")) is None
        assert await tree(store, at("area")) == [at("area/spec")]

    @driven
    async def test_many_files_at_once(
        self, store: Store, at: At, open_writer: OpenWriter, read_raw: ReadRaw
    ) -> None:
        """Open at the same time, in one new directory, each keeps its own bytes."""
        paths = [at(f"area/d/e/{number}") for number in range(CONTENDERS)]
        writers = [open_writer(path) for path in paths]
        for round_ in range(4):
            await asyncio.gather(*(w.write(b"%d.%d;" % (round_, n)) for n, w in enumerate(writers)))
        await asyncio.gather(*(writer.finish() for writer in writers))
        for number, path in enumerate(paths):
            assert read_raw(path) == b"".join(b"%d.%d;" % (round_, number) for round_ in range(4))
        assert await tree(store, at("area/d")) == sorted(paths)

    @driven
    async def test_an_area_that_is_gone_takes_no_file(
        self, store: Store, at: At, open_writer: OpenWriter
    ) -> None:
        """An attempt of a settled job cannot begin a file."""
        requires_areas(store)
        await store.delete_tree(at("area"))
        with refused():
            writer = open_writer(at("area/d/a"))
            await writer.write(b"1")
            await writer.finish()
        assert await store.stat(at("area")) is None
        assert await tree(store, store.root) == []

    @driven
    async def test_a_late_file_does_not_bring_its_area_back(
        self, store: Store, at: At, open_writer: OpenWriter
    ) -> None:
        """An attempt that writes while its job is settled leaves no trace under the old name."""
        requires_areas(store)
        if store.directories is None:
            return
        writer = open_writer(at("area/d/a"))
        await writer.write(b"1")
        await store.directories.rename_directory(at("area"), at("gone"), within=store.root)
        try:
            await writer.write(b"2")
            await writer.finish()
        except OSError:
            await writer.discard()
        assert await store.stat(at("area")) is None
        await store.delete_tree(at("gone"))
        assert await tree(store, store.root) == []

    @driven
    async def test_direct_writers_on_many_threads(
        self, store: Store, at: At, read_raw: ReadRaw
    ) -> None:
        """Each on a thread of its own, with buffers that the caller uses again."""
        direct = store.direct
        if direct is None:
            pytest.skip("this store does not declare direct")
        await place(store, at, area__spec=b"{}")

        def write(number: int) -> Entry:
            writer = direct.writer(at(f"area/d/{number}"), within=at("area"))
            buffer = bytearray(1000)
            for byte in range(50):
                buffer[:] = bytes([byte]) * len(buffer)
                view = memoryview(buffer)
                assert writer.write(view if byte % 2 else buffer) == len(buffer)
                view.release()
            return writer.finish()

        with ThreadPoolExecutor(CONTENDERS) as threads:
            finished = list(threads.map(write, range(CONTENDERS)))
        expected = b"".join(bytes([byte]) * 1000 for byte in range(50))
        for written in finished:
            assert read_raw(written.path) == expected
            assert written == await entry(store, written.path)
