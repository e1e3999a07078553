"""Tokens where versions are kept and where not, and what it costs to know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Entry, Expect, Token
from tests.unit.stores.responder import Answer, Received
from tests.unit.stores.s3.answers import MARK, error, tag, xml
from tests.unit.stores.verbs import all_of

if TYPE_CHECKING:
    from fsspec_commit.store import Directory, Unusable
    from fsspec_commit_stores.s3 import S3Store
    from tests.unit.stores.s3.scripted import ScriptedS3

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
def test_one_content_has_one_token(s3: ScriptedS3, bucket: FakeBucket, token: str) -> None:
    s3.answering = bucket
    before = s3.store.capabilities
    assert before.unique_tokens is None
    assert s3.run(tokens(s3.store)) == {token}
    assert s3.store.capabilities.unique_tokens is (bucket.status == "Enabled")
    asked = ["versioning" in request.query for request in s3.received].count(True)
    assert asked == (0 if bucket.status is None else 1)


@pytest.mark.parametrize(("version", "unique"), [(None, False), ("v2", True)])
def test_who_writes_first_need_not_ask(
    s3: ScriptedS3, version: str | None, *, unique: bool
) -> None:
    s3.answering = FakeBucket("Enabled" if unique else None, version)
    put = s3.run(s3.store.put(PATH, b"1", expecting=Expect.ABSENT, within=None))
    assert s3.operations() == ["PUT"]
    assert s3.store.capabilities.unique_tokens is unique
    assert s3.run(tokens(s3.store)) == {put}
    assert not any("versioning" in request.query for request in s3.received)


def test_many_who_want_to_know_ask_once(s3: ScriptedS3) -> None:
    store = s3.store
    s3.answering = FakeBucket("Enabled", "v2")

    async def many() -> list[Any]:
        return await asyncio.gather(*(store.stat(PATH) for _ in range(20)))

    assert {entry.token for entry in s3.run(many())} == {"v2 e1"}
    assert ["versioning" in request.query for request in s3.received].count(True) == 1


@pytest.mark.parametrize(
    "answer", [error(403, "AccessDenied"), error(501, "NotImplemented"), Answer(405, headers=MARK)]
)
def test_who_may_not_ask_has_etags(
    s3: ScriptedS3, answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "fsspec_commit")
    bucket = FakeBucket("Enabled", "v2")
    s3.answering = lambda one: answer if "versioning" in one.query else bucket(one)
    assert s3.run(tokens(s3.store)) == {"e1"}
    assert s3.store.capabilities.unique_tokens is False
    assert "cannot ask for the versioning of 's3://bucket'" in caplog.text


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("asked", ["denied", "allowed"])
def test_all_processes_of_a_job_have_tokens_of_one_form(
    s3: ScriptedS3, asked: str, kept: bool
) -> None:
    """Its driver has asked, or was denied; another process is told otherwise, and does not ask."""
    bucket = FakeBucket("Enabled", "v2")
    denied = error(403, "AccessDenied")
    s3.answering = lambda one: (
        denied if asked == "denied" and "versioning" in one.query else bucket(one)
    )
    s3.store.go_by(s3.store.capabilities.known("declared", unique_tokens=kept))
    assert s3.run(tokens(s3.store)) == {"v2 e1" if kept else "e1"}
    assert not any("versioning" in request.query for request in s3.received)


def test_a_reader_that_left_them_out_asks_where_a_job_does_not_say(s3: ScriptedS3) -> None:
    """Or else no old file that the job replaces would be the one that it has listed."""
    s3.answering = FakeBucket("Enabled", "v2")
    facts = s3.store.capabilities
    assert facts.unique_tokens is None
    s3.store.go_by(facts.known("declared", unique_tokens=False))
    assert s3.run(tokens(s3.store)) == {"e1"}
    s3.store.go_by(facts)
    assert s3.run(tokens(s3.store)) == {"v2 e1"}


def test_a_promise_says_nothing_of_the_form(s3: ScriptedS3) -> None:
    """Of a single writer tokens count as unique in any bucket, also where no versions are kept."""
    for status, kept in (("Enabled", True), ("Suspended", False)):
        s3.answering = FakeBucket(status, "v2" if kept else "null")
        facts = s3.open(single_writer=True, choosing=True).capabilities
        assert facts.unique_tokens is True
        assert facts.evidence["unique_tokens"] == ("declared" if kept else "assumed")
        resumer = s3.open()
        resumer.go_by(facts)
        assert s3.run(tokens(resumer)) == {"v2 e1" if kept else "e1"}


def test_no_answer_is_not_taken_for_one(s3: ScriptedS3) -> None:
    store = s3.store
    s3.script(error(503, "SlowDown"))

    async def listed() -> list[Entry]:
        return [entry async for entry in store.list_tree(store.root)]

    with pytest.raises(StoreError) as caught:
        s3.run(listed())
    assert caught.value.reply is Reply.NOT_DONE
    s3.answering = FakeBucket("Enabled", "v2")
    assert s3.run(tokens(store)) == {"v2 e1"}


def test_another_version_of_equal_bytes_is_neither_deleted_nor_replaced(s3: ScriptedS3) -> None:
    s3.answering = FakeBucket("Enabled", "v2")
    stale, standing = Token("v1 e1"), Token("v2 e1")
    for call in (
        s3.store.delete(PATH, expecting=stale),
        s3.store.put(PATH, b"1", expecting=stale, within=None),
    ):
        with pytest.raises(StoreError, match="another version stands there") as caught:
            s3.run(call)
        assert caught.value.reply is Reply.REFUSED
    assert s3.operations() == ["HEAD", "HEAD"]
    s3.received.clear()
    looked = s3.answering
    s3.answering = lambda one: DELETED if one.method == "DELETE" else looked(one)
    s3.run(s3.store.delete(PATH, expecting=standing))
    assert s3.operations() == ["HEAD", "DELETE"]
    assert s3.received[1].headers["if-match"] == '"e1"'


def test_an_etag_alone_is_compared_by_the_store_alone(s3: ScriptedS3) -> None:
    s3.script(DELETED)
    s3.run(s3.store.delete(PATH, expecting=Token("e1")))
    s3.run(s3.store.delete(PATH, expecting=Token('W/"e1"')))
    assert [request.headers["if-match"] for request in s3.received] == ['"e1"', 'W/"e1"']


def test_an_answer_without_an_etag_leaves_in_doubt(s3: ScriptedS3) -> None:
    s3.script(Answer(200))
    with pytest.raises(StoreError) as caught:
        s3.run(s3.store.put(PATH, b"1", expecting=Expect.ABSENT, within=None))
    assert caught.value.reply is Reply.UNKNOWN


def test_what_one_listing_misses_is_listed_again(s3: ScriptedS3) -> None:
    """Where versions are many, their listing takes pages, and of two files that succeed one another
    it may show neither: a reader that saw neither took half a job for whole."""
    shown = iter([("first", []), ("second", ["second"])])
    versions: list[str] = []

    def answering(request: Received) -> Answer:
        nonlocal versions
        if "versioning" in request.query:
            return xml("VersioningConfiguration", tag("Status", "Enabled"))
        if "versions" in request.query:
            more = "<VersionId>v</VersionId><IsLatest>true</IsLatest>"
            return xml("ListVersionsResult", *(_listed("Version", key, more) for key in versions))
        name, versions = next(shown)
        return xml("ListBucketResult", _listed("Contents", name))

    s3.answering = answering
    (found,) = s3.run(all_of(s3.store.list_children(StorePath("bucket/out"))))
    assert found.path == "bucket/out/second"


@pytest.mark.parametrize("pages", [1, 2])
def test_of_one_moment_is_what_one_page_of_names_shows(s3: ScriptedS3, pages: int) -> None:
    """Whatever the listing of versions takes, which must show the same names.

    A job that began after the first page of two was missed, and its epoch was on the second.
    """

    def answering(request: Received) -> Answer:
        if "versioning" in request.query:
            return xml("VersioningConfiguration", tag("Status", "Enabled"))
        if "versions" in request.query:
            latest = "<VersionId>v</VersionId><IsLatest>true</IsLatest>"
            if "key-marker" in request.query:
                return xml("ListVersionsResult", _listed("Version", "epoch", latest))
            more = tag("IsTruncated", "true") + tag("NextKeyMarker", "deleted")
            return xml("ListVersionsResult", more)
        if pages == 2:
            more = tag("IsTruncated", "true") + tag("NextContinuationToken", "2")
            return xml("ListBucketResult", more)
        return xml("ListBucketResult", _listed("Contents", "epoch"))

    s3.answering = answering
    shown = s3.run(s3.store.at_once.list_at_once(StorePath("bucket/out")))
    assert (None if shown is None else [one.path for one in shown]) == (
        ["bucket/out/epoch"] if pages == 1 else None
    )


def test_versions_are_listed_later_than_the_directories_beside_them(s3: ScriptedS3) -> None:
    """A work area that came in between is not shown: so it is said that there may be one."""

    def answering(request: Received) -> Answer:
        if "versioning" in request.query:
            return xml("VersioningConfiguration", tag("Status", "Enabled"))
        if "versions" in request.query:
            latest = "<VersionId>v</VersionId><IsLatest>true</IsLatest>"
            return xml("ListVersionsResult", _listed("Version", "a.txt", latest))
        return xml("ListBucketResult", _listed("Contents", "a.txt"))

    async def children(store: S3Store) -> list[Entry | Directory | Unusable]:
        return [child async for child in store.list_children(StorePath("bucket/out"))]

    s3.answering = answering
    [shown] = s3.run(children(s3.store))
    assert isinstance(shown, Entry)
    assert shown.begins_page


@pytest.mark.parametrize("held", [2, 6, 10_000])
def test_of_many_names_that_are_not_held_all_are_shown(
    s3: ScriptedS3, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsspec_commit_stores.s3.listing._HELD_MAX", held)
    names = [f"{number}" for number in range(7)]
    common = "<CommonPrefixes><Prefix>out/d/</Prefix></CommonPrefixes>"

    def answering(request: Received) -> Answer:
        if "versioning" in request.query:
            return xml("VersioningConfiguration", tag("Status", "Enabled"))
        is_of_versions = "versions" in request.query
        place = "key-marker" if is_of_versions else "continuation-token"
        begin = int(request.query.get(place, "0"))
        page, is_last = names[begin : begin + 3], begin + 3 >= len(names)
        following = "NextKeyMarker" if is_of_versions else "NextContinuationToken"
        more = tag("IsTruncated", "false" if is_last else "true") + tag(following, begin + 3)
        if is_of_versions:
            latest = "<VersionId>v</VersionId><IsLatest>true</IsLatest>"
            shown = (_listed("Version", name, latest) for name in page)
            return xml("ListVersionsResult", more, *shown)
        shown = (_listed("Contents", name) for name in page)
        return xml("ListBucketResult", more, *shown, common if is_last else "")

    s3.answering = answering
    found = s3.run(all_of(s3.store.list_children(StorePath("bucket/out"))))
    assert sorted(one.path for one in found) == [f"bucket/out/{name}" for name in [*names, "d"]]
    assert {one.token for one in found if isinstance(one, Entry)} == {"v e1"}


def _listed(kind: str, name: str, more: str = "") -> str:
    shown = tag("Key", f"out/{name}") + tag("Size", 1) + tag("ETag", '"e1"')
    return f"<{kind}>{shown}{more}</{kind}>"
