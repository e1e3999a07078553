"""Tokens where versions are kept and where not, and what it costs to know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, OpenOptions, Token
from fsspec_commit_stores.s3 import S3Store
from tests.unit.stores.s3.responder import MARK, Answer, Received, Responder, error, tag, xml

if TYPE_CHECKING:
    from tests.unit.stores.s3.conftest import Opening

PATH = StorePath("bucket/out/a")
ETAG = {"ETag": '"e1"'}
DELETED = Answer(204, headers=MARK)


def versioned(version: str) -> dict[str, str]:
    return {**ETAG, "x-amz-version-id": version}


class FakeBucket:
    """One object, in a bucket whose versioning is as said."""

    def __init__(self, status: str | None, version: str | None) -> None:
        self.status = status
        self.headers = ETAG if version is None else versioned(version)
        self.version = version or "null"

    def __call__(self, request: Received) -> Answer:
        if "versioning" in request.query:
            status = "" if self.status is None else tag("Status", self.status)
            return xml("VersioningConfiguration", status)
        shown = tag("Key", "out/a") + tag("Size", 1) + tag("ETag", '"e1"')
        if "versions" in request.query:
            old = f"<Version>{shown}<VersionId>old</VersionId><IsLatest>false</IsLatest></Version>"
            new = f"<VersionId>{self.version}</VersionId><IsLatest>true</IsLatest>"
            gone = "<DeleteMarker><Key>out/z</Key><IsLatest>true</IsLatest></DeleteMarker>"
            return xml("ListVersionsResult", f"<Version>{shown}{new}</Version>", old, gone)
        if "list-type" in request.query:
            return xml("ListBucketResult", f"<Contents>{shown}</Contents>")
        return Answer(200, b"1" if request.method == "GET" else b"", self.headers)


async def tokens(store: S3Store) -> set[str]:
    found = await store.stat(PATH)
    content = await store.read(PATH, limit_bytes=9)
    assert isinstance(found, Entry)
    assert content is not None
    listed = [entry.token async for entry in store.list_tree(store.root)]
    children = [
        entry.token async for entry in store.list_children(store.root) if isinstance(entry, Entry)
    ]
    assert len(listed) == len(children) == 1
    return {found.token, content.entry.token, *listed, *children}


@pytest.mark.parametrize(
    ("bucket", "token"),
    [
        (FakeBucket(None, None), "e1"),
        (FakeBucket("Enabled", "v2"), "v2 e1"),
        (FakeBucket("Enabled", "null"), "null e1"),
        (FakeBucket("Suspended", "null"), "e1"),
        (FakeBucket("Suspended", "v2"), "e1"),
    ],
)
def test_one_content_has_one_token(
    runner: asyncio.Runner, responder: Responder, store: S3Store, bucket: FakeBucket, token: str
) -> None:
    responder.answering = bucket
    before = store.capabilities
    assert before.unique_tokens is None
    assert runner.run(tokens(store)) == {token}
    assert store.capabilities.unique_tokens is (bucket.status == "Enabled")
    asked = ["versioning" in request.query for request in responder.received].count(True)
    assert asked == (0 if bucket.status is None else 1)


@pytest.mark.parametrize(("version", "unique"), [(None, False), ("v2", True)])
def test_who_writes_first_need_not_ask(
    runner: asyncio.Runner,
    responder: Responder,
    store: S3Store,
    version: str | None,
    *,
    unique: bool,
) -> None:
    responder.answering = FakeBucket("Enabled" if unique else None, version)
    put = runner.run(store.put(PATH, b"1", expecting=Expect.ABSENT, within=None))
    assert responder.operations() == ["PUT"]
    assert store.capabilities.unique_tokens is unique
    assert runner.run(tokens(store)) == {put}
    assert not any("versioning" in request.query for request in responder.received)


def test_many_who_want_to_know_ask_once(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.answering = FakeBucket("Enabled", "v2")

    async def many() -> list[Any]:
        return await asyncio.gather(*(store.stat(PATH) for _ in range(20)))

    assert {entry.token for entry in runner.run(many())} == {"v2 e1"}
    assert ["versioning" in request.query for request in responder.received].count(True) == 1


@pytest.mark.parametrize(
    "answer", [error(403, "AccessDenied"), error(501, "NotImplemented"), Answer(405, headers=MARK)]
)
def test_who_may_not_ask_has_etags(
    runner: asyncio.Runner,
    responder: Responder,
    store: S3Store,
    answer: Answer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "fsspec_commit")
    bucket = FakeBucket("Enabled", "v2")
    responder.answering = lambda one: answer if "versioning" in one.query else bucket(one)
    assert runner.run(tokens(store)) == {"e1"}
    assert store.capabilities.unique_tokens is False
    assert "cannot ask for the versioning of 's3://bucket'" in caplog.text


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("asked", ["denied", "allowed"])
def test_all_processes_of_a_job_have_tokens_of_one_form(
    runner: asyncio.Runner, responder: Responder, store: S3Store, asked: str, kept: bool
) -> None:
    """Its driver has asked, or was denied; another process is told otherwise, and does not ask."""
    bucket = FakeBucket("Enabled", "v2")
    denied = error(403, "AccessDenied")
    responder.answering = lambda one: (
        denied if asked == "denied" and "versioning" in one.query else bucket(one)
    )
    store.go_by(store.capabilities.known("declared", unique_tokens=kept))
    assert runner.run(tokens(store)) == {"v2 e1" if kept else "e1"}
    assert not any("versioning" in request.query for request in responder.received)


def test_a_promise_says_nothing_of_the_form(
    runner: asyncio.Runner, responder: Responder, opening: Opening
) -> None:
    """Of a single writer tokens count as unique in any bucket, also where no versions are kept."""
    options = {"key": "k", "secret": "s", "endpoint_url": responder.url}
    asked = OpenOptions(storage_options=options, single_writer=True, choosing=True)
    for status, kept in (("Enabled", True), ("Suspended", False)):
        responder.answering = FakeBucket(status, "v2" if kept else "null")
        driver = runner.run(S3Store.open("s3://bucket/out", asked))
        facts = driver.capabilities
        assert facts.unique_tokens is True
        assert facts.evidence["unique_tokens"] == ("declared" if kept else "assumed")
        runner.run(driver.close())
        resumer = opening()
        resumer.go_by(facts)
        assert runner.run(tokens(resumer)) == {"v2 e1" if kept else "e1"}


def test_no_answer_is_not_taken_for_one(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.script(error(503, "SlowDown"))

    async def listed() -> list[Entry]:
        return [entry async for entry in store.list_tree(store.root)]

    with pytest.raises(StoreError) as caught:
        runner.run(listed())
    assert caught.value.reply is Reply.NOT_DONE
    responder.answering = FakeBucket("Enabled", "v2")
    assert runner.run(tokens(store)) == {"v2 e1"}


def test_another_version_of_equal_bytes_is_neither_deleted_nor_replaced(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.answering = FakeBucket("Enabled", "v2")
    stale, standing = Token("v1 e1"), Token("v2 e1")
    for call in (
        store.delete(PATH, expecting=stale),
        store.put(PATH, b"1", expecting=stale, within=None),
    ):
        with pytest.raises(StoreError, match="another version stands there") as caught:
            runner.run(call)
        assert caught.value.reply is Reply.REFUSED
    assert responder.operations() == ["HEAD", "HEAD"]
    responder.received.clear()
    looked = responder.answering
    responder.answering = lambda one: DELETED if one.method == "DELETE" else looked(one)
    runner.run(store.delete(PATH, expecting=standing))
    assert responder.operations() == ["HEAD", "DELETE"]
    assert responder.received[1].headers["if-match"] == '"e1"'


def test_an_etag_alone_is_compared_by_the_store_alone(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.script(DELETED)
    runner.run(store.delete(PATH, expecting=Token("e1")))
    runner.run(store.delete(PATH, expecting=Token('W/"e1"')))
    assert [request.headers["if-match"] for request in responder.received] == ['"e1"', 'W/"e1"']


def test_an_answer_without_an_etag_leaves_in_doubt(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.script(Answer(200))
    with pytest.raises(StoreError) as caught:
        runner.run(store.put(PATH, b"1", expecting=Expect.ABSENT, within=None))
    assert caught.value.reply is Reply.UNKNOWN
