"""Files written bit by bit: what is sent, and what is sent again after an answer that was lost."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import aiohttp
import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Entry, Expect, Token
from tests.unit.stores.deaf import LARGE
from tests.unit.stores.gcs.answers import error
from tests.unit.stores.gcs.uploads import PIECES, TARGET, WHOLE, Uploads, persistent
from tests.unit.stores.gcs.verbs import CHUNK_BYTES, NONCE, PATH, ROOT, write
from tests.unit.stores.s3.responder import CLOSED, Answer, Responder

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.gcs import GcsStore
    from tests.unit.stores.gcs.conftest import Opening

REFUSED, UNKNOWN = Reply.REFUSED, Reply.UNKNOWN


def test_a_small_file_is_one_request(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, uploads: Uploads
) -> None:
    entry = runner.run(write(store, b"abc\r\n--x\r\n", bytes(range(256))))
    assert entry == Entry(path=PATH, size_bytes=266, token=Token("1"), nonce=NONCE)
    assert uploads.sent == ["multipart 0"]
    assert uploads.content == b"abc\r\n--x\r\n" + bytes(range(256))
    assert b'"fsspec-commit-nonce": "%b"' % NONCE.encode() in responder.received[0].body


def test_a_long_file_is_sent_in_chunks(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, uploads: Uploads
) -> None:
    entry = runner.run(write(store, *PIECES))
    assert uploads.sent == WHOLE
    assert uploads.content == b"".join(PIECES)
    assert entry.size_bytes == len(uploads.content)
    assert b'"fsspec-commit-nonce"' in responder.received[0].body
    # To the endpoint that was asked, whatever address is answered.
    assert {one.target for one in responder.received[1:]} == {f"{TARGET}?upload_id=planted"}


@pytest.mark.parametrize("length", [CHUNK_BYTES, 2 * CHUNK_BYTES])
def test_a_file_of_whole_chunks_has_a_last_one(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, length: int
) -> None:
    runner.run(write(store, bytes(length)))
    assert len(uploads.content or b"") == length
    assert len(uploads.sent) == (1 if length == CHUNK_BYTES else 3)


def test_a_chunk_that_is_kept_in_part_is_completed(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads
) -> None:
    uploads.kept_at_once_max = 5 << 20
    entry = runner.run(write(store, *PIECES))
    assert uploads.content == b"".join(PIECES)
    assert entry.size_bytes == len(b"".join(PIECES))


@pytest.mark.parametrize("lost", range(len(WHOLE)))
@pytest.mark.parametrize("how", ["carried out", "not carried out"])
def test_whoever_tries_again_after_a_lost_answer_writes_it_once(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, lost: int, how: str
) -> None:
    if how == "carried out":
        uploads.lost = {lost}
    else:
        uploads.faults = {lost: CLOSED}
    entry = runner.run(persistent(store, *PIECES))
    assert uploads.content == b"".join(PIECES)
    assert uploads.generation == 1
    assert entry.token == "1"
    # One look, and where it had not arrived, the same again.
    assert len(uploads.sent) <= len(WHOLE) + 2 + 1


@pytest.mark.parametrize("how", ["carried out", "not carried out"])
def test_a_small_file_is_known_again(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, how: str
) -> None:
    """By nonce and content: it is not written twice."""
    if how == "carried out":
        uploads.lost = {0}
    else:
        uploads.faults = {0: CLOSED}
    entry = runner.run(persistent(store, b"abc"))
    assert uploads.content == b"abc"
    assert entry.token == "1"
    assert uploads.generation == 1
    again = [] if how == "carried out" else ["multipart 0"]
    assert uploads.sent == ["multipart 0", "stat", *again]


@pytest.mark.parametrize("pieces", [(b"second",), PIECES], ids=["small", "long"])
def test_a_file_is_written_again_over_what_was_seen(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, pieces: tuple[bytes, ...]
) -> None:
    runner.run(write(store, b"first"))
    entry = runner.run(write(store, *pieces))
    assert uploads.content == b"".join(pieces)
    assert entry.token == "2"
    kind = "multipart" if len(pieces) == 1 else "resumable"
    assert uploads.sent[1:4] == [f"{kind} 0", "stat", f"{kind} 1"]


def test_another_that_comes_meanwhile_stays(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads
) -> None:
    async def superseded() -> Reply:
        writer = store.writer(PATH, within=ROOT)
        await writer.write(b"".join(PIECES))
        await write(store, b"other")
        with pytest.raises(StoreError) as caught:
            await writer.finish()
        await writer.discard()
        return caught.value.reply

    assert runner.run(superseded()) is REFUSED
    assert uploads.content == b"other"


def test_an_upload_that_is_gone_is_a_refusal(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads
) -> None:
    uploads.faults = {2: error(503, "backendError"), 3: error(410, "gone")}

    async def written() -> None:
        writer = store.writer(PATH, within=ROOT)
        with pytest.raises(StoreError) as caught:
            await writer.write(b"".join(PIECES))
        assert caught.value.reply is UNKNOWN
        with pytest.raises(StoreError) as caught:
            await writer.write(b"")
        assert caught.value.reply is REFUSED
        await writer.discard()

    runner.run(written())
    assert uploads.sent[-1] == "cancel"


@pytest.mark.parametrize(
    "range_header", ["bytes=0-7", "bytes=5-9", "nonsense", f"bytes=0-{9 * CHUNK_BYTES}"]
)
def test_a_store_that_keeps_something_else_is_not_believed(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, range_header: str
) -> None:
    uploads.faults = {2: Answer(308, headers={"Range": range_header})}
    with pytest.raises(StoreError, match="keeps another part") as caught:
        runner.run(write(store, *PIECES))
    assert caught.value.reply is REFUSED


def test_a_store_that_keeps_nothing_is_given_up(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads
) -> None:
    uploads.kept_at_once_max = 0
    with pytest.raises(StoreError, match="keeps nothing") as caught:
        runner.run(write(store, *PIECES))
    assert caught.value.reply is REFUSED


@pytest.mark.parametrize("answer", [Answer(200), Answer(200, headers={"Location": "nowhere"})])
def test_an_upload_without_an_address_is_in_doubt(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, answer: Answer
) -> None:
    uploads.faults = {0: answer}
    with pytest.raises(StoreError, match="no address") as caught:
        runner.run(write(store, *PIECES))
    assert caught.value.reply is UNKNOWN


@pytest.mark.parametrize(
    "faults",
    [{}, {3: error(403, "forbidden")}, {3: error(404, "notFound")}, {3: CLOSED}],
    ids=["dropped", "denied", "gone", "lost"],
)
def test_discard_drops_the_upload(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, faults: dict[int, Answer]
) -> None:
    """Also where that is refused: it expires, and nobody else knows it."""
    uploads.faults = faults

    async def discarded() -> None:
        writer = store.writer(PATH, within=ROOT)
        await writer.write(b"".join(PIECES))
        await writer.discard()
        await writer.discard()
        with pytest.raises(ValueError, match="is discarded"):
            await writer.write(b"1")

    runner.run(discarded())
    assert uploads.sent[3:] == ["cancel"]
    assert uploads.content is None


def test_an_abandoned_upload_is_told_of(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads
) -> None:
    writers = [store.writer(PATH, within=ROOT)]
    runner.run(writers[0].write(b"".join(PIECES)))
    with pytest.warns(ResourceWarning, match="was abandoned"):
        writers.clear()
    gc.collect()
    assert uploads.content is None
    assert "planted" not in repr(store)


def test_who_takes_nothing_of_a_chunk_is_not_waited_for_for_ever(
    runner: asyncio.Runner, deaf: str, opening: Opening
) -> None:
    patience = aiohttp.ClientTimeout(total=None, sock_read=0.1)
    store = opening(endpoint_url=deaf, requests_timeout=patience)
    with pytest.raises(StoreError, match="did not answer in time") as caught:
        runner.run(store.put(PATH, LARGE, expecting=Expect.ABSENT, within=None))
    assert caught.value.reply is UNKNOWN
