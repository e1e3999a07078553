"""Who answers in place of S3 is not believed: a proxy, an ingress, a login page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry, Expect, Token
from fsspec_commit_stores.s3.operations import OPERATIONS
from fsspec_commit_stores.s3.provenance import Provenance, is_aws
from fsspec_commit_stores.s3.renaming import S3Renames
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.s3.answers import MARK, error, xml
from tests.unit.stores.s3.verbs import UPLOAD, VERBS
from tests.unit.stores.verbs import NONCE, PATH, all_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from fsspec_commit_stores.s3 import S3Store
    from fsspec_commit_stores.s3.requests import Bucket
    from tests.unit.stores.s3.scripted import ScriptedS3


HTML = b"<html><body>Please accept the terms of use</body></html>"
NOT_FOUND = Answer(404, b"404 page not found\n")
"""What ingresses answer while no server is behind them."""
PAGE = {"Content-Type": "text/html"}
IMPOSTORS = {
    "200 with a page": Answer(200, HTML, PAGE),
    "200 with a page that has an etag": Answer(200, HTML, {**PAGE, "ETag": 'W/"5-x"'}),
    "200 with JSON": Answer(200, b"{}", {"Content-Type": "application/json"}),
    "200 with nothing": Answer(200),
    "202": Answer(202),
    "204": Answer(204),
    **{f"{status}": Answer(status) for status in (301, 302, 304, 307)},
    **{
        f"{status} with a page": Answer(status, HTML, PAGE)
        for status in (400, 401, 403, 404, 405, 407, 409, 412, 416, 429, 500, 501, 502, 503, 504)
    },
}


async def rename(store: S3Store) -> None:
    """Of a directory bucket; the request is the same in any."""
    bucket: Bucket = store._bucket  # no other store of the tests has the verb
    await S3Renames(bucket).rename(
        PATH, StorePath(f"{PATH}2"), token=Token("e"), expecting=Expect.ABSENT, within=store.root
    )


async def answered(call: Awaitable[Any]) -> Any:
    return await call


ASKED: dict[str, Callable[[S3Store], Awaitable[Any]]] = {
    **{name: verb.call for name, verb in VERBS.items()},
    "rename": rename,
    "stat": lambda store: store.stat(PATH),
    "write": lambda store: store.writer(PATH, within=store.root, nonce=NONCE).finish(),
}
# Of these an answer that carries no content and no mark is as S3 documents it.
AS_DOCUMENTED = {("rename", "200 with nothing")}


STILL_PENDING = (
    "<EncodingType>url</EncodingType>"
    f"<Upload><Key>out/a%20b</Key><UploadId>{UPLOAD.upload_id}</UploadId></Upload>"
)
OTHER_PENDING = "<Upload><Key>out/a</Key><UploadId>other</UploadId></Upload>"


@pytest.fixture(params=ASKED)
def verb(request: pytest.FixtureRequest, s3: ScriptedS3) -> str:
    asked: str = request.param
    if asked == "rename" and "RenameObject" not in s3.store._bucket._model.operation_names:
        pytest.skip("botocore learnt of it in 1.38")
    return asked


def test_nobody_elses_answer_says_what_was_done(s3: ScriptedS3, verb: str) -> None:
    for name, answer in IMPOSTORS.items():
        if (verb, name) in AS_DOCUMENTED:
            continue
        s3.always(answer)
        caught = s3.failure_of(ASKED[verb](s3.store))
        assert caught.reply is Reply.UNKNOWN, name
        assert "check endpoint_url= and the proxy" in str(caught), name
        assert not isinstance(caught, FileNotFoundError | FileExistsError | PermissionError)


def test_of_whom_marks_answers_none_without_a_mark_is_believed(s3: ScriptedS3, verb: str) -> None:
    """By then the page may have an etag, and even the very form of S3's."""
    s3.script(Answer(200, headers={**MARK, "ETag": '"e1"'}))
    s3.run(s3.store.put(PATH, b"1", expecting=Expect.ABSENT, within=None))
    versioning = xml("VersioningConfiguration")
    marked = Answer(200, versioning.body, MARK)
    for name, answer in IMPOSTORS.items():
        s3.answering = lambda one, answer=answer: (  # type: ignore[misc]
            marked if "versioning" in one.query else answer
        )
        caught = s3.failure_of(ASKED[verb](s3.store))
        assert caught.reply is Reply.UNKNOWN, name


def test_aws_marks_from_the_first_answer_on() -> None:
    assert is_aws("https://bucket.s3.eu-west-1.amazonaws.com")
    assert not is_aws("https://amazonaws.com.example.org")
    answer = {
        "ETag": '"e"',
        "ResponseMetadata": {"HTTPStatusCode": 200, "HTTPHeaders": {"etag": '"e"'}},
        "fsspec_commit.form": "",
    }
    put = OPERATIONS["put_object"]
    assert Provenance(always_marks=False).is_from_s3(put, dict(answer), in_range=False)
    assert not Provenance(always_marks=True).is_from_s3(put, dict(answer), in_range=False)


@pytest.mark.parametrize("status", [403, 404])
def test_a_server_without_marks_is_asked_again_for_a_word(s3: ScriptedS3, status: int) -> None:
    """The answer to a HEAD has none: nothing else tells its 404 from an ingress's."""
    code = {403: "AccessDenied", 404: "NoSuchKey"}[status]

    def answering(request: Received) -> Answer:
        if "list-type" in request.query:
            return xml("ListBucketResult", "<IsTruncated>false</IsTruncated>")
        return Answer(status) if request.method == "HEAD" else error(status, code)

    s3.answering = answering
    if status == 404:
        assert s3.run(s3.store.stat(PATH)) is None
    else:
        caught = s3.failure_of(s3.store.stat(PATH))
        assert caught.reply is Reply.REFUSED
        assert "access is denied (AccessDenied)" in str(caught)
    assert [one.method for one in s3.received][:2] == ["HEAD", "GET"]


@pytest.mark.parametrize(
    ("shown", "known"),
    [
        ([Answer(404, headers=MARK)], True),
        ([Answer(404), error(404, "NoSuchKey")], True),
        ([Answer(200, headers={"ETag": '"e1"'})], False),
        ([Answer(404), Answer(404, HTML)], False),
        ([error(503, "SlowDown")], False),
    ],
    ids=["gone", "gone, by its word", "there", "not answered", "not now"],
)
def test_a_deletion_without_a_mark_is_believed_by_a_look(
    s3: ScriptedS3, shown: list[Answer], *, known: bool
) -> None:
    """An old file that somebody's 204 left would have passed for one that is gone."""
    s3.script(Answer(204), *shown)
    deleting = s3.store.delete(PATH, expecting=Expect.ANYTHING)
    if known:
        s3.run(deleting)
    else:
        assert s3.failure_of(deleting).reply is Reply.UNKNOWN
    assert [one.method for one in s3.received] == ["DELETE", "HEAD", "GET"][: 1 + len(shown)]


@pytest.mark.parametrize("verb", ["range", "read", "stat"])
@pytest.mark.parametrize(
    ("listed", "known"),
    [
        ('<Contents><Key>out/a b</Key><ETag>"5-x"</ETag></Contents>', True),
        ('<Contents><Key>out/a b</Key><ETag>"other"</ETag></Contents>', False),
        ('<Contents><Key>out/a b/c</Key><ETag>"5-x"</ETag></Contents>', False),
        ("<Contents><Key>out/a b</Key><Size>7</Size></Contents>", True),
        ("<Contents><Key>out/a b</Key><Size>8</Size></Contents>", False),
        ("<Contents><Key>out/a b</Key></Contents>", False),
        ("", False),
    ],
    ids=[
        "listed",
        "another",
        "a directory",
        "no etag",
        "no etag, another",
        "its name alone",
        "not listed",
    ],
)
def test_a_content_without_a_mark_is_believed_as_it_is_listed(
    s3: ScriptedS3, verb: str, listed: str, *, known: bool
) -> None:
    """A login page with an etag passed for a damaged record, or for another's file."""
    page = Answer(200, b"<html/>", {**PAGE, "ETag": 'W/"5-x"'})
    s3.answering = lambda one: xml("ListBucketResult", listed) if "list-type" in one.query else page
    if known:
        assert s3.run(answered(ASKED[verb](s3.store))) is not None
    else:
        caught = s3.failure_of(ASKED[verb](s3.store))
        assert caught.reply is Reply.NOT_DONE
        assert "without S3's mark, as by a proxy or a login page" in str(caught)


def test_a_content_without_a_mark_keeps_no_connection_while_it_is_looked_for(
    s3: ScriptedS3,
) -> None:
    """As many large records as there are connections waited for one more, for ever."""
    listed = xml("ListBucketResult", '<Contents><Key>out/a b</Key><ETag>"e"</ETag></Contents>')
    content = Answer(200, bytes(1 << 20), {"ETag": '"e"'})
    s3.answering = lambda one: listed if "list-type" in one.query else content
    store = s3.open(config_kwargs={"max_pool_connections": 1})

    async def asked() -> None:
        async with asyncio.timeout(10):
            assert await store.read(PATH, limit_bytes=1 << 20) is not None
            assert await store.read_range(PATH, start=0, length=1 << 20) == content.body
            with pytest.raises(StoreError, match="at most 9 are read"):
                await store.read(PATH, limit_bytes=9)

    s3.run(asked())


@pytest.mark.parametrize(
    ("listed", "known"),
    [
        (xml("ListMultipartUploadsResult"), True),
        (error(403, "AccessDenied"), True),
        (error(501, "NotImplemented"), True),
        (xml("ListMultipartUploadsResult", STILL_PENDING), False),
        (error(503, "SlowDown"), False),
        (error(400, "ExpiredToken"), False),
    ],
    ids=["gone", "denied", "not known", "there", "not now", "no more"],
)
def test_an_abort_without_a_mark_is_believed_by_a_listing(
    s3: ScriptedS3, listed: Answer, *, known: bool
) -> None:
    """What somebody's 204 left would have been kept, and cost."""
    s3.script(Answer(204), listed)
    if known:
        s3.run(answered(ASKED["abort"](s3.store)))
    else:
        assert s3.failure_of(ASKED["abort"](s3.store)).reply is Reply.UNKNOWN
    assert [one.method for one in s3.received] == ["DELETE", "GET"]


@pytest.mark.parametrize("first", [(), (OTHER_PENDING,)], ids=["empty", "another's"])
def test_an_upload_may_be_listed_on_a_later_page(s3: ScriptedS3, first: tuple[str, ...]) -> None:
    """A page may be empty but not the last, and some servers do not mind the prefix."""
    more = ("<IsTruncated>true</IsTruncated>", "<NextKeyMarker>out/a</NextKeyMarker>")
    s3.script(
        Answer(204),
        xml("ListMultipartUploadsResult", *first, *more),
        xml("ListMultipartUploadsResult", STILL_PENDING),
    )
    assert s3.failure_of(ASKED["abort"](s3.store)).reply is Reply.UNKNOWN


def test_a_marked_deletion_is_believed(s3: ScriptedS3) -> None:
    s3.script(Answer(204, headers=MARK))
    s3.run(s3.store.delete(PATH, expecting=Expect.ANYTHING))
    assert len(s3.received) == 1


def test_what_an_ingress_says_is_missing_is_found(s3: ScriptedS3) -> None:
    """It answered one request, and S3 the next."""
    found = Answer(200, b"123", {**MARK, "ETag": '"e1"'})
    s3.script(Answer(404), found)
    entry = s3.run(s3.store.stat(PATH))
    assert isinstance(entry, Entry)
    assert (entry.size_bytes, entry.token) == (3, "e1")


def test_a_mark_is_enough_where_nobody_has_more_to_say(s3: ScriptedS3) -> None:
    listed = xml("ListBucketResult", "<Contents><Key>out/a b/c</Key></Contents>")
    s3.script(Answer(404, headers=MARK), Answer(200, listed.body, MARK))
    assert s3.run(s3.store.stat(PATH)) == Directory(PATH)
    assert [one.method for one in s3.received] == ["HEAD", "GET"]


def test_a_success_is_taken_in_the_form_that_is_documented_only(s3: ScriptedS3) -> None:
    """Marked or not: an empty document of another kind is no empty directory."""
    for headers in ({}, MARK):
        s3.always(Answer(200, b"<ListAllMyBuckets/>", headers))
        assert s3.failure_of(ASKED["tree"](s3.store)).reply is Reply.UNKNOWN
        s3.script(Answer(200, headers=headers))
        assert s3.failure_of(ASKED["delete"](s3.store)).reply is Reply.UNKNOWN
        s3.script(Answer(206, b"1", {**headers, "ETag": '"e"'}))
        assert s3.failure_of(ASKED["read"](s3.store)).reply is Reply.UNKNOWN


def test_a_document_is_known_by_its_name_alone(s3: ScriptedS3) -> None:
    """Whatever stands before it; moto calls one by another name."""
    for before in (
        b"",
        b"\n  ",
        b"\xef\xbb\xbf",
        b"<?xml version='1.0'?>\n<!-- one --> <!-- 2 -->",
    ):
        body = before + b'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>'
        s3.answering = lambda one, body=body: (  # type: ignore[misc]
            xml("GetBucketVersioningResponse") if "versioning" in one.query else Answer(200, body)
        )
        assert s3.run(all_of(s3.store.list_tree(PATH))) == []


def test_an_impostor_is_no_endpoint_that_answers(s3: ScriptedS3) -> None:
    """Later, nobody being there is told as what it is: an endpoint that was never S3."""
    s3.script(Answer(503, HTML, PAGE))
    s3.failure_of(ASKED["put"](s3.store))
    s3.run(s3.__aexit__())
    replies = [s3.failure_of(ASKED["put"](s3.store)).reply for _ in range(3)]
    assert replies[-1] is Reply.REFUSED


def test_nothing_is_deleted_by_one(s3: ScriptedS3) -> None:
    s3.script(NOT_FOUND)
    with pytest.raises(StoreError) as caught:
        s3.run(s3.store.delete(PATH, expecting=Expect.ANYTHING))
    assert caught.value.reply is Reply.UNKNOWN


def test_one_of_s3_says_that_it_is_missing(s3: ScriptedS3) -> None:
    """To a HEAD nobody has more to say; then a listing is asked, which has."""
    s3.script(error(404, "NoSuchKey"))
    assert s3.run(s3.store.read(PATH, limit_bytes=9)) is None
    s3.script(Answer(404), NOT_FOUND)
    caught = s3.failure_of(s3.store.stat(PATH))
    assert caught.reply is Reply.UNKNOWN
