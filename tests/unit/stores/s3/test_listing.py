"""Listings page by page, and the deletion of all that one shows, where no real server will page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode
from xml.etree import ElementTree as ET

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import DeletesInBulk, Directory
from fsspec_commit_stores.s3 import deletions
from tests.unit.stores.bucket import tree
from tests.unit.stores.responder import Answer, Answering, Received
from tests.unit.stores.s3.answers import MARK, tag, xml
from tests.unit.stores.s3.bucket import S3Bucket
from tests.unit.stores.verbs import all_of, uploads

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from fsspec_commit_stores.s3 import S3Store
    from tests.unit.stores.s3.scripted import ScriptedS3

PATH = StorePath("bucket/out")
NO_KEY = "NoSuchKey"


def test_markers_of_directories_are_no_files(s3: ScriptedS3) -> None:
    s3.answering = S3Bucket("out/", "out/d/", "out/d/a", page=9)
    assert tree(s3) == ["d/a"]
    common = "<CommonPrefixes><Prefix>out/d/</Prefix></CommonPrefixes>"
    marker = "<Contents><Key>out/</Key><Size>0</Size><ETag>e</ETag></Contents>"
    s3.answering = lambda _: xml("ListBucketResult", marker, common)
    assert s3.run(all_of(s3.store.list_children(PATH))) == [Directory(StorePath("bucket/out/d"))]


def test_more_without_a_place_is_an_error(s3: ScriptedS3) -> None:
    """Also where the place stands still: a listing ends, or says that it is not whole."""
    key = "<Contents><Key>out/a</Key><Size>1</Size><ETag>e</ETag></Contents>"
    more = "<IsTruncated>true</IsTruncated>"
    for place in ("", tag("NextContinuationToken", "same")):
        s3.always(xml("ListBucketResult", key, more, place))
        with pytest.raises(StoreError, match="there is more, and not where"):
            tree(s3)


def in_a_circle(name: str, token: str, *children: str) -> Answering:
    """Pages of which the second names the place of the first as that of the third."""

    def answering(request: Received) -> Answer:
        if "versioning" in request.query:
            return xml("VersioningConfiguration")
        following = "B" if "A" in request.query.values() else "A"
        return xml(name, "<IsTruncated>true</IsTruncated>", tag(token, following), *children)

    return answering


def test_pages_that_go_in_a_circle_are_an_error(s3: ScriptedS3) -> None:
    """They were asked for, and listed, for ever."""
    key = "<Contents><Key>out/a</Key><Size>1</Size><ETag>e</ETag></Contents>"
    s3.answering = in_a_circle("ListBucketResult", "NextContinuationToken", key)
    with pytest.raises(StoreError, match="there is more, and not where"):
        tree(s3)
    s3.answering = in_a_circle("ListBucketResult", "NextContinuationToken")
    with pytest.raises(StoreError, match="there is more, and not where"):
        s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))
    s3.answering = in_a_circle("ListMultipartUploadsResult", "NextKeyMarker")
    with pytest.raises(StoreError, match="there is more, and not where"):
        s3.run(all_of(uploads(s3.store).pending(PATH)))


def test_a_file_that_is_listed_without_an_etag_is_an_error(s3: ScriptedS3) -> None:
    """It would be deleted on condition of nothing."""
    for etag in ("", "<ETag></ETag>", '<ETag>""</ETag>'):
        key = f"<Contents><Key>out/a</Key><Size>1</Size>{etag}</Contents>"
        s3.always(xml("ListBucketResult", key))
        with pytest.raises(StoreError, match="'s3://bucket/out/a': it has no etag") as caught:
            tree(s3)
        assert caught.value.reply is Reply.REFUSED


def answer_all(s3: ScriptedS3, document: str, *inside: str) -> None:
    """By one *document*; if that is of versions, the bucket keeps them."""
    kept = [tag("Status", "Enabled")] if document == "ListVersionsResult" else []
    s3.answering = lambda request: (
        xml("VersioningConfiguration", *kept)
        if "versioning" in request.query
        else xml(document, *inside)
    )


def listing_by(
    s3: ScriptedS3, document: str, path: StorePath, store: S3Store | None = None
) -> AsyncIterator[object]:
    """What is answered by such a *document*."""
    asked = store or s3.store
    pending: AsyncIterator[object] = uploads(asked).pending(path)
    of_files: AsyncIterator[object] = asked.list_tree(path, without=None)
    return pending if document == "ListMultipartUploadsResult" else of_files


ENCODED = "<EncodingType>url</EncodingType>"
TWO_KEYS = "<Key>out/a</Key><Key>out/b</Key>"
UNNAMED = {
    "a file": ("ListBucketResult", "<Contents><Size>1</Size><ETag>e</ETag></Contents>"),
    "an empty name": ("ListBucketResult", "<Contents><Key/><ETag>e</ETag></Contents>"),
    "a directory": ("ListBucketResult", "<CommonPrefixes/>"),
    "a version": ("ListVersionsResult", "<Version><IsLatest>true</IsLatest></Version>"),
    "an upload": ("ListMultipartUploadsResult", "<Upload><UploadId>u</UploadId></Upload>"),
    "an upload's id": ("ListMultipartUploadsResult", "<Upload><Key>out/a</Key></Upload>"),
    "two names": ("ListBucketResult", f"<Contents>{TWO_KEYS}<ETag>e</ETag></Contents>"),
    "two encoded": ("ListBucketResult", f"{ENCODED}<Contents>{TWO_KEYS}<ETag>e</ETag></Contents>"),
    "two of a directory": (
        "ListBucketResult",
        f"{ENCODED}<CommonPrefixes><Prefix>out/a/</Prefix><Prefix>out/b/</Prefix></CommonPrefixes>",
    ),
    "two of a version": ("ListVersionsResult", f"{ENCODED}<Version>{TWO_KEYS}</Version>"),
    "two of an upload": (
        "ListMultipartUploadsResult",
        f"{ENCODED}<Upload>{TWO_KEYS}<UploadId>u</UploadId></Upload>",
    ),
    "two ids": (
        "ListMultipartUploadsResult",
        "<Upload><Key>out/a</Key><UploadId>u</UploadId><UploadId>v</UploadId></Upload>",
    ),
}


@pytest.mark.parametrize("listed", UNNAMED.values(), ids=UNNAMED)
def test_what_is_listed_without_its_name_is_an_error(
    s3: ScriptedS3, listed: tuple[str, str]
) -> None:
    """It was a `KeyError`, of which nobody is told what was asked of whom.

    So is what has two names, of which botocore tells the elements.
    """
    document, one = listed
    answer_all(s3, document, one)
    for path in (PATH, StorePath("bucket")):
        with pytest.raises(StoreError, match="without its name") as caught:
            s3.run(all_of(listing_by(s3, document, path)))
        assert caught.value.reply is Reply.UNKNOWN


GOING_ON = {
    "files": ("ListBucketResult", "NextContinuationToken"),
    "versions": ("ListVersionsResult", "NextKeyMarker"),
    "uploads": ("ListMultipartUploadsResult", "NextKeyMarker"),
}


@pytest.mark.parametrize("listed", GOING_ON.values(), ids=GOING_ON)
def test_a_page_goes_on_at_one_place(s3: ScriptedS3, listed: tuple[str, str]) -> None:
    """At none or two it is an error, and not the end; two were a `TypeError`."""
    document, place = listed
    for places in ("", f"<{place}/>", f"<{place}>a</{place}><{place}>b</{place}>"):
        answer_all(s3, document, ENCODED, "<IsTruncated>true</IsTruncated>", places)
        with pytest.raises(StoreError, match="more, and not where") as caught:
            s3.run(all_of(listing_by(s3, document, PATH)))
        assert caught.value.reply is Reply.UNKNOWN


@pytest.mark.parametrize("document", [listed[0] for listed in GOING_ON.values()], ids=GOING_ON)
@pytest.mark.parametrize("by_template", [True, False])
def test_a_page_says_once_whether_there_is_more(
    s3: ScriptedS3, document: str, by_template: bool
) -> None:
    """To botocore "true" twice is "false": what is on the pages after it was not listed."""
    store = s3.open(request_templates=by_template)
    for last in ("<IsTruncated>false</IsTruncated>", "<IsTruncated/>", "<IsTruncated a='b'/>"):
        answer_all(s3, document, "<IsTruncated>true</IsTruncated>", last)
        with pytest.raises(StoreError, match="not S3 has answered") as caught:
            s3.run(all_of(listing_by(s3, document, PATH, store)))
        assert caught.value.reply is Reply.UNKNOWN
    answer_all(s3, document, "<Name>IsTruncated&gt;</Name>", "<IsTruncated>false</IsTruncated>")
    assert s3.run(all_of(listing_by(s3, document, PATH, store))) == []


def test_a_tree_is_deleted_page_by_page_from_the_front(s3: ScriptedS3) -> None:
    bucket = S3Bucket("out/t/", "out/t/a", "out/t/b c", "out/t/d/&<e>", "out/t/f\rg", "out/t0")
    s3.answering = bucket
    s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))
    assert bucket.keys == ["out/t0"]
    posts = [request for request in s3.received if request.method == "POST"]
    assert len(posts) == 3
    assert all("x-amz-checksum-crc32" in request.headers for request in posts)
    assert not any("continuation-token" in query for query in bucket.listings)


def test_every_key_that_was_not_deleted_is_reported(s3: ScriptedS3) -> None:
    bucket = S3Bucket(*(f"out/t/{number:02}" for number in range(30)), page=1000)
    s3.answering = bucket
    bucket.errors = {f"out/t/{number:02}": "AccessDenied" for number in range(12)}
    with pytest.raises(StoreError) as caught:
        s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))
    assert caught.value.reply is Reply.REFUSED
    assert "12 of its files were not deleted: 'out/t/00' (AccessDenied)" in str(caught.value)
    assert str(caught.value).endswith("'out/t/09' (AccessDenied) and 2 more")
    assert not caught.value.is_overload
    bucket.errors = {"out/t/00": "InternalError", "out/t/01": "AccessDenied"}
    with pytest.raises(StoreError) as caught:
        s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))
    assert caught.value.reply is Reply.UNKNOWN
    bucket.errors = {"out/t/00": "SlowDown", "out/t/01": "AccessDenied"}
    with pytest.raises(StoreError) as caught:
        s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))
    assert caught.value.reply is Reply.UNKNOWN
    assert caught.value.is_overload, "each key counts, so that S3 says it of single ones"
    bucket.errors = {"out/t/00": "NoSuchKey", "out/t/01": "NoSuchKey"}
    bucket.keys = ["out/t/00", "out/t/01"]
    s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))


def test_files_that_come_back_end_the_deletion(s3: ScriptedS3) -> None:
    listed = xml(
        "ListBucketResult",
        "<IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken>",
        "<Contents><Key>out/t/a</Key><Size>1</Size><ETag>e</ETag></Contents>",
    )
    s3.answering = lambda one: xml("DeleteResult") if "delete" in one.query else listed
    with pytest.raises(StoreError, match="come back, or the listing is stale"):
        s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))
    assert len(s3.received) == 3


TREE = StorePath("bucket/out/t")


def test_many_files_go_by_one_request_with_the_directories_that_they_leave(
    s3: ScriptedS3, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a server may keep them; more names than one request takes, by several."""
    names = ["out/t/a", "out/t/b c", "out/t/d/e/&<e>", "out/t/f\rg"]
    emptied = ["out/t/d/e/", "out/t/d/", "out/t/"]
    paths = [StorePath(f"bucket/{name}") for name in names]
    s3.answering = bucket = S3Bucket(*names, "out/t/d0", "out/t0")
    s3.run(_deletion(s3).delete_files(paths, within=TREE))
    assert bucket.keys == ["out/t/d0", "out/t0"]
    assert [_deleted(one) for one in s3.received] == [[*names, *emptied]]
    for at_once, requests in ((5, [5, 2]), (4, [4, 3])):
        monkeypatch.setattr(deletions, "_DELETED_AT_ONCE_MAX", at_once)
        s3.received.clear()
        s3.run(_deletion(s3).delete_files(paths, within=TREE))
        assert [len(_deleted(one)) for one in s3.received] == requests
        assert [key for one in s3.received for key in _deleted(one)] == [*names, *emptied]


def test_of_many_files_every_one_that_was_not_deleted_is_reported(s3: ScriptedS3) -> None:
    """But no directory in which something is, nor what was not there."""
    names = [f"out/t/{name}" for name in ("a", "b", "c/d")]
    s3.answering = bucket = S3Bucket(*names)
    paths = [StorePath(f"bucket/{name}") for name in names]
    bucket.errors = {"out/t/a": "AccessDenied", "out/t/": "DirectoryNotEmpty", "out/t/b": NO_KEY}
    caught = s3.failure_of(_deletion(s3).delete_files(paths, within=TREE))
    assert caught.reply is Reply.REFUSED
    assert str(caught).endswith("1 of its files were not deleted: 'out/t/a' (AccessDenied)")
    bucket.errors["out/t/b"] = "InternalError"
    assert s3.failure_of(_deletion(s3).delete_files(paths, within=TREE)).reply is Reply.UNKNOWN
    bucket.errors = dict.fromkeys([*names, "out/t/c/", "out/t/"], NO_KEY)
    s3.run(_deletion(s3).delete_files(paths, within=TREE))


def _deletion(s3: ScriptedS3) -> DeletesInBulk:
    assert s3.store.bulk_deletion is not None
    return s3.store.bulk_deletion


def _deleted(request: Received) -> list[str]:
    """The keys that a request names."""
    nodes = ET.fromstring(request.body).iter()
    return [str(node.text) for node in nodes if node.tag.endswith("Key")]


class EmptyPagesFirst:
    """A server that skips so many deleted names a page: its first pages show nothing, and go on."""

    def __init__(self, bucket: S3Bucket, *, empty: int) -> None:
        self.bucket = bucket
        self.empty = empty

    def __call__(self, request: Received) -> Answer:
        token = request.query.get("continuation-token", "0")
        if "list-type" not in request.query or not token.isdecimal():
            return self.bucket(request)
        if int(token) >= self.empty:
            query = {k: v for k, v in request.query.items() if k != "continuation-token"}
            return self.bucket(Received("GET", f"/bucket?{urlencode(query)}", {}, b""))
        more = tag("NextContinuationToken", int(token) + 1)
        return xml("ListBucketResult", "<IsTruncated>true</IsTruncated>", more)


class TestPagesWithNothingOnThem:
    """Three of them, before any with names."""

    PATH = StorePath("bucket/out/t")

    @pytest.fixture
    def bucket(self, s3: ScriptedS3) -> S3Bucket:
        bucket = S3Bucket(*(f"out/t/{number}" for number in range(5)), "out/u")
        listed = EmptyPagesFirst(bucket, empty=3)
        s3.answering = lambda one: (
            Answer(404, headers=MARK) if one.method == "HEAD" else listed(one)
        )
        return bucket

    @pytest.mark.usefixtures("bucket")
    def test_they_do_not_end_a_listing(self, s3: ScriptedS3) -> None:
        assert len(tree(s3)) == 6

    @pytest.mark.usefixtures("bucket")
    def test_a_directory_is_looked_for_behind_them(self, s3: ScriptedS3) -> None:
        assert s3.run(s3.store.stat(self.PATH)) == Directory(self.PATH)

    def test_a_tree_is_deleted_behind_them(self, s3: ScriptedS3, bucket: S3Bucket) -> None:
        """The first of them is not asked for again and again."""
        s3.run(s3.store.delete_tree(self.PATH))
        assert bucket.keys == ["out/u"]
        assert s3.run(s3.store.stat(self.PATH)) is None


def test_a_deletion_ends_where_the_store_does_not_say_what_follows(s3: ScriptedS3) -> None:
    for place in ("", tag("NextContinuationToken", "same")):
        page = xml("ListBucketResult", "<IsTruncated>true</IsTruncated>", place)
        s3.script(page)
        with pytest.raises(StoreError, match="there is more, and not where"):
            s3.run(s3.store.delete_tree(StorePath("bucket/out/t")))


def test_a_directory_of_another_place_is_an_error(s3: ScriptedS3) -> None:
    s3.always(xml("ListBucketResult", "<CommonPrefixes><Prefix>other/d/</Prefix></CommonPrefixes>"))
    with pytest.raises(StoreError, match="the listing of another place"):
        s3.run(all_of(s3.store.list_children(StorePath("bucket/out/t"))))
