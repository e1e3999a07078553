"""Somebody else answers in place of the service: nothing that he says is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.store import Entry, Expect, Token
from fsspec_commit_stores.gcs import chunks
from tests.unit.stores.gcs.answers import DELETED, MARK, bucket, error, resource, said
from tests.unit.stores.gcs.uploads import Uploads, persistent
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.verbs import PATH, ROOT

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs

HTML = b"<html><body>Please log in</body></html>"
TEXT = b"404 page not found\n"


@pytest.mark.parametrize("answer", [Answer(200, HTML), said({}), Answer(403), Answer(404, TEXT)])
def test_a_bucket_is_not_believed_to_be_one_like_most(gcs: ScriptedGcs, answer: Answer) -> None:
    """Its retention and its kind would be overlooked."""
    gcs.script(answer)
    with pytest.raises(StoreError) as caught:
        gcs.open(choosing=True)
    assert caught.value.reply is Reply.UNKNOWN
    assert len(gcs.received) == 2  # asked again as other questions are
    gcs.script(answer, bucket(locationType="zone"))
    assert gcs.open(choosing=True).capabilities.exclusive_create is False


def test_a_page_longer_than_a_record_is_no_record_that_is_too_long(gcs: ScriptedGcs) -> None:
    gcs.script(Answer(200, HTML * 9))
    assert gcs.failure_of(gcs.store.read(PATH, limit_bytes=9)).reply is Reply.UNKNOWN


class TestMarks:
    """By what the service, and other servers that keep to its API, are known."""

    def test_the_bytes_of_a_missing_file_are_told_of_in_plain_text(self, gcs: ScriptedGcs) -> None:
        gcs.script(Answer(404, b"No such object: bucket/out/a b", MARK))
        assert gcs.run(gcs.store.read(PATH, limit_bytes=9)) is None
        assert gcs.run(gcs.store.read_range(PATH, start=0, length=9)) is None
        assert len(gcs.received) == 2
        gcs.script(Answer(404, b"The specified bucket does not exist.", MARK))
        caught = gcs.failure_of(gcs.store.read(PATH, limit_bytes=9))
        assert caught.reply is Reply.REFUSED
        assert "there is no such bucket" in str(caught)

    def test_a_plain_404_is_asked_once_more_where_there_is_no_mark(self, gcs: ScriptedGcs) -> None:
        """As of fake-gcs-server: a look is answered by a document."""
        missing = error(404, "notFound")
        gcs.script(Answer(404, TEXT), missing)
        assert gcs.run(gcs.store.read(PATH, limit_bytes=9)) is None
        gcs.script(Answer(404, TEXT), missing)
        assert gcs.run(gcs.store.read_range(PATH, start=0, length=9)) is None
        assert [one.query.get("alt") for one in gcs.received] == ["media", None] * 2
        gcs.script(Answer(404, TEXT), said(resource()))
        caught = gcs.failure_of(gcs.store.read(PATH, limit_bytes=9))
        assert caught.reply is Reply.UNKNOWN

    def test_a_deletion_is_believed_by_its_mark(self, gcs: ScriptedGcs) -> None:
        gcs.script(DELETED)
        gcs.run(gcs.store.delete(PATH, expecting=Token("7")))
        assert len(gcs.received) == 1

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
        self, gcs: ScriptedGcs, answer: Answer, shown: Answer, *, known: bool
    ) -> None:
        def answering(request: Received) -> Answer:
            return answer if request.method == "DELETE" else shown

        gcs.answering = answering
        deleting = gcs.store.delete(PATH, expecting=Expect.ANYTHING)
        if known:
            gcs.run(deleting)
        else:
            caught = gcs.failure_of(deleting)
            assert caught.reply is Reply.UNKNOWN
            assert "with none of the store's marks, as by a proxy" in str(caught)
        assert [one.method for one in gcs.received] == ["DELETE", "GET"]

    def test_a_part_is_the_one_that_was_asked_for(self, gcs: ScriptedGcs) -> None:
        """And as long, but at the file's end."""

        def part(span: str, body: bytes) -> Answer:
            return Answer(206, body, {"x-goog-generation": "7", "Content-Range": span})

        gcs.script(part("bytes 3-5/6", b"345"))
        assert gcs.run(gcs.store.read_range(PATH, start=3, length=9)) == b"345"
        for wrong in (
            part("bytes 0-2/6", b"012"),
            part("bytes 3-4/6", b"34"),
            part("bytes 3-5/6", b"34"),
            part("nonsense", b"345"),
            Answer(206, b"345", {"Content-Range": "bytes 3-5/6"}),
        ):
            gcs.script(wrong)
            caught = gcs.failure_of(gcs.store.read_range(PATH, start=3, length=9))
            assert caught.reply is Reply.UNKNOWN, wrong

    def test_a_file_is_a_file_with_a_content(self, gcs: ScriptedGcs) -> None:
        gcs.script(said(resource()))
        assert isinstance(gcs.run(gcs.store.stat(PATH)), Entry)
        for lacking in ("generation", "size"):
            shown = resource()
            del shown[lacking]
            gcs.script(said(shown))
            assert gcs.failure_of(gcs.store.stat(PATH)).reply is Reply.UNKNOWN


SMALL = (b"a" * 64, b"b" * 64, b"c" * 9)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long file only that is looked at that it is sent by four requests."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 64)


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
    gcs: ScriptedGcs, uploads: Uploads, number: int, answer: Answer
) -> None:
    """At each request of a long file: neither lost, nor given up, nor taken for finished."""
    uploads.faults = {number: answer}
    entry = gcs.run(persistent(gcs.store, *SMALL))
    assert uploads.content == b"".join(SMALL)
    assert uploads.generation == 1
    assert entry.token == "1"


@pytest.mark.parametrize("answer", [Answer(200, HTML), Answer(308), said(resource(size=5))])
@pytest.mark.usefixtures("small_chunks")
def test_a_chunk_that_is_always_answered_by_somebody_else_ends(
    gcs: ScriptedGcs, uploads: Uploads, answer: Answer
) -> None:
    """Also by one who says that it is finished, before its last part was sent."""
    store = gcs.store

    async def written() -> None:
        writer = store.writer(PATH, within=ROOT)
        for _ in range(3):
            with pytest.raises(StoreError):
                await writer.write(b"".join(SMALL))
        await writer.discard()

    gcs.answering = lambda one: uploads(one) if one.method == "POST" else answer
    gcs.run(written())
    assert uploads.content is None


@pytest.mark.parametrize("number", [3, 4], ids=["to a look", "to a chunk"])
@pytest.mark.parametrize("shown", [{"generation": "7"}, resource(size=5)], ids=["bare", "whole"])
@pytest.mark.usefixtures("small_chunks")
def test_an_upload_that_has_ended_before_its_last_part_is_refused(
    gcs: ScriptedGcs, uploads: Uploads, number: int, shown: dict[str, str]
) -> None:
    """Also where a chunk that has failed is sent again at the end of its file."""
    store = gcs.store

    async def written() -> StoreError:
        writer = store.writer(PATH, within=ROOT)
        for piece in SMALL:
            await writer.write(piece)
        with pytest.raises(StoreError) as caught:
            await writer.finish()
        assert caught.value.can_go_on
        with pytest.raises(StoreError, match="before its last part") as caught:
            await writer.finish()
        await writer.discard()
        return caught.value

    uploads.faults = {2: error(503, "backendError"), number: said(shown)}
    assert gcs.run(written()).reply is Reply.REFUSED
    assert uploads.sent[number + 1 :] == ["cancel"]
