"""Files written bit by bit: what is sent, and what is sent again after an answer that was lost."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Entry, Token
from tests.unit.stores.gcs.answers import error
from tests.unit.stores.gcs.uploads import PIECES, TARGET, WHOLE, Uploads, persistent
from tests.unit.stores.gcs.verbs import CHUNK_BYTES, write
from tests.unit.stores.responder import CLOSED, Answer
from tests.unit.stores.verbs import NONCE, PATH, ROOT

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs

REFUSED, UNKNOWN = Reply.REFUSED, Reply.UNKNOWN


def test_a_small_file_is_one_request(gcs: ScriptedGcs, uploads: Uploads) -> None:
    entry = gcs.run(write(gcs.store, b"abc\r\n--x\r\n", bytes(range(256))))
    assert entry == Entry(path=PATH, size_bytes=266, token=Token("1"), nonce=NONCE)
    assert uploads.sent == ["multipart 0"]
    assert uploads.content == b"abc\r\n--x\r\n" + bytes(range(256))
    assert b'"fsspec-commit-nonce": "%b"' % NONCE.encode() in gcs.received[0].body


def test_a_long_file_is_sent_in_chunks(gcs: ScriptedGcs, uploads: Uploads) -> None:
    entry = gcs.run(write(gcs.store, *PIECES))
    assert uploads.sent == WHOLE
    assert uploads.content == b"".join(PIECES)
    assert entry.size_bytes == len(uploads.content)
    assert b'"fsspec-commit-nonce"' in gcs.received[0].body
    # To the endpoint that was asked, whatever address is answered.
    assert {one.target for one in gcs.received[1:]} == {f"{TARGET}?upload_id=planted"}


@pytest.mark.parametrize("length", [CHUNK_BYTES, 2 * CHUNK_BYTES])
def test_a_file_of_whole_chunks_has_a_last_one(
    gcs: ScriptedGcs, uploads: Uploads, length: int
) -> None:
    gcs.run(write(gcs.store, bytes(length)))
    assert len(uploads.content or b"") == length
    assert len(uploads.sent) == (1 if length == CHUNK_BYTES else 3)


def test_a_chunk_that_is_kept_in_part_is_completed(gcs: ScriptedGcs, uploads: Uploads) -> None:
    uploads.kept_at_once_max = 5 << 20
    entry = gcs.run(write(gcs.store, *PIECES))
    assert uploads.content == b"".join(PIECES)
    assert entry.size_bytes == len(b"".join(PIECES))


@pytest.mark.parametrize("lost", range(len(WHOLE)))
@pytest.mark.parametrize("how", ["carried out", "not carried out"])
def test_whoever_tries_again_after_a_lost_answer_writes_it_once(
    gcs: ScriptedGcs, uploads: Uploads, lost: int, how: str
) -> None:
    if how == "carried out":
        uploads.lost = {lost}
    else:
        uploads.faults = {lost: CLOSED}
    entry = gcs.run(persistent(gcs.store, *PIECES))
    assert uploads.content == b"".join(PIECES)
    assert uploads.generation == 1
    assert entry.token == "1"
    # One look, and where it had not arrived, the same again.
    assert len(uploads.sent) <= len(WHOLE) + 2 + 1


@pytest.mark.parametrize("how", ["carried out", "not carried out"])
def test_a_small_file_is_known_again(gcs: ScriptedGcs, uploads: Uploads, how: str) -> None:
    """By nonce and content: it is not written twice."""
    if how == "carried out":
        uploads.lost = {0}
    else:
        uploads.faults = {0: CLOSED}
    entry = gcs.run(persistent(gcs.store, b"abc"))
    assert uploads.content == b"abc"
    assert entry.token == "1"
    assert uploads.generation == 1
    again = [] if how == "carried out" else ["multipart 0"]
    assert uploads.sent == ["multipart 0", "stat", *again]


@pytest.mark.parametrize("pieces", [(b"second",), PIECES], ids=["small", "long"])
def test_a_file_is_written_again_over_what_was_seen(
    gcs: ScriptedGcs, uploads: Uploads, pieces: tuple[bytes, ...]
) -> None:
    gcs.run(write(gcs.store, b"first"))
    entry = gcs.run(write(gcs.store, *pieces))
    assert uploads.content == b"".join(pieces)
    assert entry.token == "2"
    kind = "multipart" if len(pieces) == 1 else "resumable"
    assert uploads.sent[1:4] == [f"{kind} 0", "stat", f"{kind} 1"]


def test_another_that_comes_meanwhile_stays(gcs: ScriptedGcs, uploads: Uploads) -> None:
    store = gcs.store

    async def superseded() -> Reply:
        writer = store.writer(PATH, within=ROOT)
        await writer.write(b"".join(PIECES))
        await write(store, b"other")
        with pytest.raises(StoreError) as caught:
            await writer.finish()
        await writer.discard()
        return caught.value.reply

    assert gcs.run(superseded()) is REFUSED
    assert uploads.content == b"other"


def test_an_upload_that_is_gone_is_a_refusal(gcs: ScriptedGcs, uploads: Uploads) -> None:
    store = gcs.store
    uploads.faults = {2: error(503, "backendError"), 3: error(410, "gone")}

    async def written() -> None:
        writer = store.writer(PATH, within=ROOT)
        await writer.write(b"".join(PIECES))  # The first chunk; and the second is on its way.
        with pytest.raises(StoreError) as caught:
            await writer.finish()
        assert caught.value.reply is UNKNOWN
        assert caught.value.can_go_on
        with pytest.raises(StoreError) as caught:
            await writer.finish()
        assert caught.value.reply is REFUSED
        await writer.discard()

    gcs.run(written())
    assert uploads.sent[-1] == "cancel"


@pytest.mark.parametrize(
    "range_header", ["bytes=0-7", "bytes=5-9", "nonsense", f"bytes=0-{9 * CHUNK_BYTES}"]
)
def test_a_store_that_keeps_something_else_is_not_believed(
    gcs: ScriptedGcs, uploads: Uploads, range_header: str
) -> None:
    uploads.faults = {2: Answer(308, headers={"Range": range_header})}
    with pytest.raises(StoreError, match="keeps another part") as caught:
        gcs.run(write(gcs.store, *PIECES))
    assert caught.value.reply is REFUSED


def test_a_store_that_keeps_nothing_is_given_up(gcs: ScriptedGcs, uploads: Uploads) -> None:
    uploads.kept_at_once_max = 0
    with pytest.raises(StoreError, match="keeps nothing") as caught:
        gcs.run(write(gcs.store, *PIECES))
    assert caught.value.reply is REFUSED


@pytest.mark.parametrize("answer", [Answer(200), Answer(200, headers={"Location": "nowhere"})])
def test_an_upload_without_an_address_is_in_doubt(
    gcs: ScriptedGcs, uploads: Uploads, answer: Answer
) -> None:
    uploads.faults = {0: answer}
    with pytest.raises(StoreError, match="no address") as caught:
        gcs.run(write(gcs.store, *PIECES))
    assert caught.value.reply is UNKNOWN


@pytest.mark.parametrize(
    "faults",
    [{}, {2: error(403, "forbidden")}, {2: error(404, "notFound")}, {2: CLOSED}],
    ids=["dropped", "denied", "gone", "lost"],
)
def test_discard_drops_the_upload(
    gcs: ScriptedGcs, uploads: Uploads, faults: dict[int, Answer]
) -> None:
    """Also where that is refused: it expires, and nobody else knows it."""
    store = gcs.store
    uploads.faults = faults

    async def discarded() -> None:
        writer = store.writer(PATH, within=ROOT)
        await writer.write(b"".join(PIECES))
        await writer.discard()
        await writer.discard()
        with pytest.raises(ValueError, match="is discarded"):
            await writer.write(b"1")

    gcs.run(discarded())
    assert uploads.sent[2:] == ["cancel"]
    assert uploads.content is None


def test_an_abandoned_upload_is_told_of(gcs: ScriptedGcs, uploads: Uploads) -> None:
    writers = [gcs.store.writer(PATH, within=ROOT)]
    dropped = weakref.ref(writers[0])

    async def abandoned() -> None:
        writers.clear()
        while dropped() is not None:  # What is on its way holds the writer.
            await asyncio.sleep(0.001)
            gc.collect()

    gcs.run(writers[0].write(b"".join(PIECES)))
    with pytest.warns(ResourceWarning, match="was abandoned"):
        gcs.run(abandoned())
    assert uploads.content is None
    assert "planted" not in repr(gcs.store)
