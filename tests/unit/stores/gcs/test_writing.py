"""Files written bit by bit: what is sent, and what is sent again after an answer that was lost."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Entry, Token
from fsspec_commit_stores.gcs.objects import md5_of
from tests.unit.stores.gcs.answers import error, resource, said
from tests.unit.stores.gcs.verbs import CHUNK_BYTES, NONCE, PATH, ROOT, write
from tests.unit.stores.s3.responder import CLOSED, Answer, Received, Responder

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.gcs import GcsStore
    from fsspec_commit_stores.gcs.writing import GcsWriter

TARGET = "/upload/storage/v1/b/bucket/o"
REFUSED, UNKNOWN = Reply.REFUSED, Reply.UNKNOWN


class Uploads:
    """One object and the resumable uploads to it, as the service keeps them.

    Attributes:
        faults: Answers to be sent instead of the service's own, by the number of the request.
        lost: Numbers of requests that are carried out and not answered.
        kept_at_once_max: How much of a chunk is kept.
    """

    def __init__(self) -> None:
        self.generation = 0
        self.content: bytes | None = None
        self.session: bytearray | None = None
        self.condition: str | None = None
        self.faults: dict[int, Answer] = {}
        self.lost: set[int] = set()
        self.kept_at_once_max = 1 << 40
        self.sent: list[str] = []

    def __call__(self, request: Received) -> Answer:
        number = len(self.sent)
        self.sent.append(_shown(request))
        if number in self.faults:
            return self.faults[number]
        answer = self.answered(request)
        return CLOSED if number in self.lost else answer

    def answered(self, request: Received) -> Answer:
        if request.method == "GET":
            return self.looked_at()
        if request.method == "DELETE":
            self.session = None
            return Answer(499)
        if request.method == "PUT":
            return self.chunk(request)
        return self.posted(request)

    def looked_at(self) -> Answer:
        return error(404, "notFound") if self.content is None else said(self.resource)

    def posted(self, request: Received) -> Answer:
        query = request.query
        condition = query.get("ifGenerationMatch")
        if condition not in {None, str(self.generation)}:
            return error(412, "conditionNotMet")
        if query["uploadType"] == "resumable":
            self.session, self.condition = bytearray(), condition
            return Answer(200, headers={"Location": f"http://elsewhere.example{TARGET}?u=planted"})
        boundary = request.headers["content-type"].partition("boundary=")[2].encode()
        return self.written(request.body.split(b"--" + boundary)[2].partition(b"\r\n\r\n")[2][:-2])

    def chunk(self, request: Received) -> Answer:
        if self.session is None:
            return said(self.resource) if self.content is not None else error(404, "notFound")
        span, _, total = request.headers["content-range"].removeprefix("bytes ").partition("/")
        if span != "*":
            assert int(span.partition("-")[0]) <= len(self.session)
            del self.session[int(span.partition("-")[0]) :]
            self.session += request.body[: self.kept_at_once_max]
        if total == str(len(self.session)):
            if self.condition not in {None, str(self.generation)}:
                return error(412, "conditionNotMet")
            data, self.session = bytes(self.session), None
            return self.written(data)
        kept = {"Range": f"bytes=0-{len(self.session) - 1}"} if self.session else {}
        return Answer(308, headers=kept)

    def written(self, data: bytes) -> Answer:
        self.generation += 1
        self.content = data
        return said(self.resource)

    @property
    def resource(self) -> Any:
        content = self.content or b""
        return resource(
            generation=self.generation,
            size=len(content),
            md5Hash=md5_of(content),
            metadata={"fsspec-commit-nonce": NONCE},
        )


def _shown(request: Received) -> str:
    """What was asked, in a word or two."""
    if request.method == "PUT":
        return request.headers["content-range"].removeprefix("bytes ")
    if request.method == "POST":
        condition = request.query.get("ifGenerationMatch", "any")
        return f"{request.query['uploadType']} {condition}"
    if request.method == "DELETE":
        return "cancel"
    return "stat"


@pytest.fixture
def uploads(responder: Responder) -> Uploads:
    uploads = Uploads()
    responder.answering = uploads
    return uploads


async def again(writer: GcsWriter, call: str) -> Any:
    """The same once more after a failure that is not a refusal, as often as it takes."""
    for _ in range(9):
        try:
            return await (writer.finish() if call == "finish" else writer.write(b""))
        except StoreError as failed:
            if failed.reply is REFUSED:
                raise
    raise AssertionError("it does not end")


async def persistent(store: GcsStore, *pieces: bytes) -> Entry:
    """A file written by somebody who tries again."""
    writer = store.writer(PATH, within=ROOT, nonce=NONCE)
    for piece in pieces:
        try:
            await writer.write(piece)
        except StoreError:
            await again(writer, "write")
    finished: Entry = await again(writer, "finish")
    return finished


PIECES = (b"a" * CHUNK_BYTES, b"b" * CHUNK_BYTES, b"c" * 100)
WHOLE = [
    "resumable 0",
    f"0-{CHUNK_BYTES - 1}/*",
    f"{CHUNK_BYTES}-{2 * CHUNK_BYTES - 1}/*",
    f"{2 * CHUNK_BYTES}-{2 * CHUNK_BYTES + 99}/{2 * CHUNK_BYTES + 100}",
]


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
    assert {one.target for one in responder.received[1:]} == {f"{TARGET}?u=planted"}


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
    async def overtaken() -> Reply:
        writer = store.writer(PATH, within=ROOT)
        await writer.write(b"".join(PIECES))
        await write(store, b"other")
        with pytest.raises(StoreError) as caught:
            await writer.finish()
        await writer.discard()
        return caught.value.reply

    assert runner.run(overtaken()) is REFUSED
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
