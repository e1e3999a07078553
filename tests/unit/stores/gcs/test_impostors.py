"""Somebody else answers in place of the service: nothing that he says is believed."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Entry, Expect, Token
from fsspec_commit_stores.gcs import writing
from tests.unit.stores.gcs.answers import DELETED, MARK, bucket, error, resource, said
from tests.unit.stores.gcs.uploads import Uploads, persistent
from tests.unit.stores.gcs.verbs import CHANGES, PATH, ROOT, VERBS, failure_of
from tests.unit.stores.s3.responder import Answer, Received, Responder

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.gcs import GcsStore
    from tests.unit.stores.gcs.conftest import Opening

HTML = b"<html><body>Please log in</body></html>"
TEXT = b"404 page not found\n"
STATUSES = (400, 401, 403, 404, 405, 408, 409, 410, 412, 413, 416, 429, 500, 501, 502, 503, 504)
# Of an API gateway, of a web framework, and of another of Google's services.
DOCUMENTS: tuple[object, ...] = (
    {"message": "no Route matched with those values"},
    {"status": 404, "error": "Not Found", "path": "/storage/v1/b/bucket/o"},
    {"error": {"code": 5, "message": "Not Found", "status": "NOT_FOUND"}},
    {"error": {"code": 404, "message": "Not Found"}},
)
IMPOSTORS = (
    Answer(200, HTML, {"Content-Type": "text/html"}),
    said({}),
    said({"error": "login_required"}),
    Answer(200, b""),
    Answer(200, b"[" * 9_999),
    Answer(204),
    Answer(206, HTML),
    Answer(302, b"", {"Location": "https://login.example/"}),
    Answer(304),
    Answer(308, b"", {"Location": "https://gate.example/"}),
    *(Answer(status, HTML) for status in STATUSES),
    *(Answer(status) for status in STATUSES),
    Answer(404, TEXT, {"Content-Type": "text/plain; charset=utf-8"}),
    *(Answer(404, json.dumps(document).encode()) for document in DOCUMENTS),
)


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_is_known_from_an_answer_without_the_services_marks(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, verb: str
) -> None:
    """Neither that it was done, nor that it was not, nor that something is missing or denied."""
    call, doing, _ = VERBS[verb]
    for answer in IMPOSTORS:
        responder.received.clear()
        responder.script(answer)
        caught = runner.run(failure_of(call(store)))
        assert caught.reply is Reply.UNKNOWN, (answer, caught)
        assert caught.errno == errno.EIO, answer
        assert caught.retry_after_s is None
        assert str(caught).startswith(f"cannot {doing} 'gs://bucket/out/a b': "), answer
        assert "\n" not in str(caught)
        changes = [one for one in responder.received if one.method != "GET"]
        # What changes something is sent once, and what is in doubt is looked at once.
        assert len(changes) <= 1, answer
        assert len(responder.received) <= 2, answer


def test_how_long_somebody_else_wants_to_be_left_alone_does_not_matter(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    """A page about maintenance may ask for a day."""
    responder.script(Answer(503, HTML, {"Retry-After": "86400"}))
    assert runner.run(failure_of(CHANGES["put"][0](store))).retry_after_s is None


@pytest.mark.parametrize("answer", [Answer(200, HTML), said({}), Answer(403), Answer(404, TEXT)])
def test_a_bucket_is_not_believed_to_be_one_like_most(
    responder: Responder, opening: Opening, answer: Answer
) -> None:
    """Its retention and its kind would be overlooked."""
    responder.script(answer)
    with pytest.raises(StoreError) as caught:
        opening(choosing=True)
    assert caught.value.reply is Reply.UNKNOWN
    assert len(responder.received) == 2  # asked again as other questions are
    responder.script(answer, bucket(locationType="zone"))
    assert opening(choosing=True).capabilities.exclusive_create is False


def test_a_page_longer_than_a_record_is_no_record_that_is_too_long(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    responder.script(Answer(200, HTML * 9))
    assert runner.run(failure_of(store.read(PATH, limit_bytes=9))).reply is Reply.UNKNOWN


class TestMarks:
    """By what the service, and other servers that keep to its API, are known."""

    def test_the_bytes_of_a_missing_file_are_told_of_in_plain_text(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore
    ) -> None:
        responder.script(Answer(404, b"No such object: bucket/out/a b", MARK))
        assert runner.run(store.read(PATH, limit_bytes=9)) is None
        assert runner.run(store.read_range(PATH, start=0, length=9)) is None
        assert len(responder.received) == 2
        responder.script(Answer(404, b"The specified bucket does not exist.", MARK))
        caught = runner.run(failure_of(store.read(PATH, limit_bytes=9)))
        assert caught.reply is Reply.REFUSED
        assert "there is no such bucket" in str(caught)

    def test_a_plain_404_is_asked_once_more_where_there_is_no_mark(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore
    ) -> None:
        """As of fake-gcs-server: a look is answered by a document."""
        missing = error(404, "notFound")
        responder.script(Answer(404, TEXT), missing)
        assert runner.run(store.read(PATH, limit_bytes=9)) is None
        responder.script(Answer(404, TEXT), missing)
        assert runner.run(store.read_range(PATH, start=0, length=9)) is None
        assert [one.query.get("alt") for one in responder.received] == ["media", None] * 2
        responder.script(Answer(404, TEXT), said(resource()))
        caught = runner.run(failure_of(store.read(PATH, limit_bytes=9)))
        assert caught.reply is Reply.UNKNOWN

    def test_a_deletion_is_believed_by_its_mark(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore
    ) -> None:
        responder.script(DELETED)
        runner.run(store.delete(PATH, expecting=Token("7")))
        assert len(responder.received) == 1

    @pytest.mark.parametrize("answer", [Answer(204), Answer(200, b"null")])
    @pytest.mark.parametrize(
        ("shown", "known"),
        [
            (error(404, "notFound"), True),
            (said(resource()), False),
            (error(403, "forbidden"), False),
            (Answer(404, TEXT), False),
        ],
        ids=["gone", "there", "denied", "not answered"],
    )
    def test_or_by_a_look_at_what_stands_now(
        self,
        runner: asyncio.Runner,
        responder: Responder,
        store: GcsStore,
        answer: Answer,
        shown: Answer,
        *,
        known: bool,
    ) -> None:
        def answering(request: Received) -> Answer:
            return answer if request.method == "DELETE" else shown

        responder.answering = answering
        deleting = store.delete(PATH, expecting=Expect.ANYTHING)
        if known:
            runner.run(deleting)
        else:
            caught = runner.run(failure_of(deleting))
            assert caught.reply is Reply.UNKNOWN
            assert "with none of the store's marks, as by a proxy" in str(caught)
        assert [one.method for one in responder.received] == ["DELETE", "GET"]

    def test_a_part_is_the_one_that_was_asked_for(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore
    ) -> None:
        """And as long, but at the file's end."""

        def part(span: str, body: bytes) -> Answer:
            return Answer(206, body, {"x-goog-generation": "7", "Content-Range": span})

        responder.script(part("bytes 3-5/6", b"345"))
        assert runner.run(store.read_range(PATH, start=3, length=9)) == b"345"
        for wrong in (
            part("bytes 0-2/6", b"012"),
            part("bytes 3-4/6", b"34"),
            part("bytes 3-5/6", b"34"),
            part("nonsense", b"345"),
            Answer(206, b"345", {"Content-Range": "bytes 3-5/6"}),
        ):
            responder.script(wrong)
            caught = runner.run(failure_of(store.read_range(PATH, start=3, length=9)))
            assert caught.reply is Reply.UNKNOWN, wrong

    def test_a_file_is_a_file_with_a_content(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore
    ) -> None:
        responder.script(said(resource()))
        assert isinstance(runner.run(store.stat(PATH)), Entry)
        for lacking in ("generation", "size"):
            shown = resource()
            del shown[lacking]
            responder.script(said(shown))
            assert runner.run(failure_of(store.stat(PATH))).reply is Reply.UNKNOWN


SMALL = (b"a" * 64, b"b" * 64, b"c" * 9)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long file only that is looked at that it is sent by four requests."""
    monkeypatch.setattr(writing, "_CHUNK_BYTES", 64)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, HTML),
        Answer(200, HTML, {"Location": "https://login.example/?next=upload"}),
        said({}),
        Answer(204),
        Answer(302, headers={"Location": "https://login.example/"}),
        Answer(308, headers={"Location": "https://gate.example/"}),
        Answer(308),
        *(Answer(status, HTML) for status in (401, 403, 404, 410, 412, 502, 503)),
    ],
    ids=lambda answer: f"{answer.status}-{len(answer.body)}-{len(answer.headers)}",
)
@pytest.mark.usefixtures("small_chunks")
def test_whoever_is_answered_by_somebody_else_writes_it_once(
    runner: asyncio.Runner, store: GcsStore, uploads: Uploads, number: int, answer: Answer
) -> None:
    """At each request of a long file: neither lost, nor given up, nor taken for finished."""
    uploads.faults = {number: answer}
    entry = runner.run(persistent(store, *SMALL))
    assert uploads.content == b"".join(SMALL)
    assert uploads.generation == 1
    assert entry.token == "1"


@pytest.mark.parametrize("answer", [Answer(200, HTML), Answer(308), said(resource(size=5))])
@pytest.mark.usefixtures("small_chunks")
def test_a_chunk_that_is_always_answered_by_somebody_else_ends(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, uploads: Uploads, answer: Answer
) -> None:
    """Also by one who says that it is finished, before its last part was sent."""

    async def written() -> None:
        writer = store.writer(PATH, within=ROOT)
        for _ in range(3):
            with pytest.raises(StoreError):
                await writer.write(b"".join(SMALL))
        await writer.discard()

    responder.answering = lambda one: uploads(one) if one.method == "POST" else answer
    runner.run(written())
    assert uploads.content is None
