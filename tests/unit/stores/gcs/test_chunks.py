"""Chunks grow with their file, and of a few files at a time; a writer does not wait for each."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from aiohttp import ClientTimeout

from fsspec_commit_stores.gcs import chunks
from fsspec_commit_stores.gcs.chunks import CHUNK_BYTES, MIB, Chunks
from tests.unit.stores.gcs.uploads import Uploads, persistent
from tests.unit.stores.gcs.verbs import write
from tests.unit.stores.responder import CLOSED, Answer, Received
from tests.unit.stores.verbs import PATH, ROOT

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs


class File:
    """Any file."""


def requests_of(size_bytes: int) -> int:
    """How many chunks a file of that length is sent in."""
    lengths, file, sent_bytes, count = Chunks(), File(), 0, 0
    while sent_bytes < size_bytes:
        length = lengths.length_bytes(file, sent_bytes)
        assert length % (256 << 10) == 0
        assert length <= max(CHUNK_BYTES, sent_bytes // 8)
        sent_bytes += length
        count += 1
    return count


def test_a_longer_file_takes_fewer_chunks_a_byte() -> None:
    assert [requests_of(size * MIB) for size in (8, 128, 256, 2048)] == [1, 16, 24, 80]


def test_few_files_at_a_time_have_long_chunks() -> None:
    lengths, files = Chunks(), [File() for _ in range(6)]
    assert [lengths.length_bytes(file, 256 * MIB) // MIB for file in files] == [32] * 4 + [8] * 2
    lengths.end(files[0])
    assert lengths.length_bytes(files[5], 128 * MIB) == 16 * MIB
    assert lengths.length_bytes(files[4], 1 << 40) == CHUNK_BYTES
    del files[1]  # Abandoned.
    assert lengths.length_bytes(files[3], 1 << 40) == 32 * MIB


@pytest.fixture
def growing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 4, 8 and 16 bytes."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 4)
    monkeypatch.setattr(chunks, "_LONGER", ((24, 16), (8, 8)))


CONTENT = bytes(range(50))
SPANS = ["0-3/*", "4-7/*", "8-15/*", "16-23/*", "24-39/*", "40-49/50"]


@pytest.mark.usefixtures("growing")
@pytest.mark.parametrize("piece_bytes", [1, 3, 4, 7, 50])
def test_however_it_comes_the_same_chunks_are_sent(
    gcs: ScriptedGcs, uploads: Uploads, piece_bytes: int
) -> None:
    pieces = [CONTENT[at : at + piece_bytes] for at in range(0, 50, piece_bytes)]
    gcs.run(write(gcs.store, *pieces))
    assert uploads.content == CONTENT
    assert uploads.sent == ["resumable 0", *SPANS]


@pytest.mark.usefixtures("growing")
@pytest.mark.parametrize(
    ("timeout", "longest"),
    [(20, 4), (ClientTimeout(total=20), 4), (ClientTimeout(sock_read=20), 16)],
)
def test_none_is_longer_where_it_has_to_be_over_in_time(
    gcs: ScriptedGcs, uploads: Uploads, timeout: object, longest: int
) -> None:
    """On a slow network it never would be, whereas a shorter one is."""
    gcs.run(write(gcs.open(requests_timeout=timeout), CONTENT))
    assert uploads.content == CONTENT
    assert max(len(one.body) for one in gcs.received if one.method == "PUT") == longest


@pytest.mark.usefixtures("growing")
@pytest.mark.parametrize("lost", range(len(SPANS) + 1))
@pytest.mark.parametrize("is_done", [True, False], ids=["carried out", "not carried out"])
def test_a_lost_answer_is_made_good(
    gcs: ScriptedGcs, uploads: Uploads, lost: int, is_done: bool
) -> None:
    if is_done:
        uploads.lost = {lost}
    else:
        uploads.faults = {lost: CLOSED}
    entry = gcs.run(persistent(gcs.store, *(CONTENT[at : at + 5] for at in range(0, 50, 5))))
    assert (uploads.content, uploads.generation, entry.token) == (CONTENT, 1, "1")
    assert entry.size_bytes == 50


@pytest.mark.usefixtures("growing")
def test_a_writer_goes_on_while_a_chunk_is_sent(gcs: ScriptedGcs, uploads: Uploads) -> None:
    """By as much as one more chunk: what it holds is bounded."""
    answers, store = list[Received](), gcs.store

    async def written() -> None:
        writer = store.writer(PATH, within=ROOT)
        begun = asyncio.Event()

        def answering(request: Received) -> Answer:
            answers.append(request)
            begun.set()
            return uploads(request)

        gcs.answering = answering
        await writer.write(CONTENT[:5])
        assert not answers
        await writer.write(CONTENT[5:8])
        assert not answers
        await begun.wait()
        await writer.write(CONTENT[8:])
        await writer.finish()

    gcs.run(written())
    assert uploads.content == CONTENT
    assert uploads.sent == ["resumable 0", *SPANS]


@pytest.mark.usefixtures("growing")
def test_a_chunk_does_not_wait_for_more_than_it_holds(gcs: ScriptedGcs, uploads: Uploads) -> None:
    """Once the one before it has been answered."""
    store = gcs.store

    async def written() -> None:
        writer = store.writer(PATH, within=ROOT)
        for begin, end, sent in ((0, 8, 2), (8, 9, 3)):
            await writer.write(CONTENT[begin:end])
            await writer._sending.ended()
            assert len(uploads.sent) == sent
        await writer.discard()

    gcs.run(written())
    assert uploads.sent == ["resumable 0", *SPANS[:2], "cancel"]


@pytest.mark.usefixtures("growing")
def test_a_chunk_is_as_long_as_was_held_when_it_was_begun(
    gcs: ScriptedGcs, uploads: Uploads
) -> None:
    """Also where another file ends before it is sent, so that it might be longer."""
    store, long_files = gcs.store, [File() for _ in range(4)]

    async def written() -> None:
        for file in long_files:
            store._chunks.length_bytes(file, 8)
        writer = store.writer(PATH, within=ROOT)
        for begin in (0, 4, 8):
            await writer.write(CONTENT[begin : begin + 4])
            await writer._sending.ended()
        await writer.write(CONTENT[12:13])
        store._chunks.end(long_files[0])
        await writer._sending.ended()
        assert uploads.sent == ["resumable 0", "0-3/*", "4-7/*", "8-11/*"]
        await writer.write(CONTENT[13:])
        await writer.finish()

    gcs.run(written())
    assert uploads.content == CONTENT


@pytest.mark.usefixtures("growing")
@pytest.mark.parametrize("call", ["write", "finish"])
def test_nothing_is_begun_after_a_discard(gcs: ScriptedGcs, uploads: Uploads, call: str) -> None:
    """Not by a call either that waits meanwhile, and that nobody waits for any more."""
    store = gcs.store

    async def discarded() -> None:
        begun = asyncio.Event()

        def answering(request: Received) -> Answer:
            begun.set()
            return uploads(request)

        gcs.answering = answering
        writer = store.writer(PATH, within=ROOT)
        await writer.write(CONTENT[:6])
        going_on = asyncio.ensure_future(
            writer.finish() if call == "finish" else writer.write(CONTENT[6:])
        )
        await begun.wait()
        await writer.discard()
        with suppress(ValueError):
            await going_on

    gcs.run(discarded())
    assert uploads.sent == ["resumable 0", "cancel"]
    assert uploads.content is None
