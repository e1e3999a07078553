"""Listings page by page, and the deletion of all that one shows, where no real server will page."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote_plus, urlencode
from xml.etree import ElementTree as ET

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry
from tests.unit.stores.s3.responder import (
    MARK,
    Answer,
    Answering,
    Received,
    Responder,
    tag,
    xml,
)
from tests.unit.stores.s3.verbs import all_of, uploads, versioning_or

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.s3 import S3Store

PATH = StorePath("bucket/out")


class FakeBucket:
    """The keys of a bucket, listed in pages by tokens that are keys."""

    def __init__(
        self, *keys: str, page: int = 2, minds_start: bool = True, minds_prefix: bool = True
    ) -> None:
        self.keys = sorted(keys, key=str.encode)
        self.page = page
        self.minds_start = minds_start
        self.minds_prefix = minds_prefix
        self.errors: dict[str, str] = {}

    def __call__(self, request: Received) -> Answer:
        query = request.query
        if "versioning" in query:
            return xml("VersioningConfiguration")
        if "delete" in query:
            return self.deleted(request)
        start = query.get("continuation-token", "")
        if self.minds_start:
            start = max(start, query.get("start-after", ""), key=str.encode)
        prefix = query["prefix"] if self.minds_prefix else ""
        below = [key for key in self.keys if key.startswith(prefix)]
        left = [key for key in below if key.encode() > start.encode()]
        size = min(self.page, int(query.get("max-keys", "1000")))
        shown, truncated = left[:size], len(left) > size
        contents = (
            f'<Contents>{tag("Key", quote_plus(key))}<Size>1</Size><ETag>"e"</ETag></Contents>'
            for key in shown
        )
        more = tag("NextContinuationToken", shown[-1]) if truncated else ""
        truth = tag("IsTruncated", "true" if truncated else "false")
        return xml("ListBucketResult", "<EncodingType>url</EncodingType>", truth, more, *contents)

    def deleted(self, request: Received) -> Answer:
        keys = [str(node.text) for node in ET.fromstring(request.body).iter() if _is_key(node)]
        self.keys = [key for key in self.keys if key not in keys or key in self.errors]
        errors = (
            f"<Error>{tag('Key', key)}{tag('Code', self.errors[key])}</Error>"
            for key in keys
            if key in self.errors
        )
        return xml("DeleteResult", *errors)


def _is_key(node: ET.Element) -> bool:
    return node.tag.endswith("Key")


def tree(runner: asyncio.Runner, store: S3Store, *, without: str | None = None) -> list[str]:
    async def listed() -> list[str]:
        left_out = None if without is None else StorePath(f"{PATH}/{without}")
        found = [entry.path async for entry in store.list_tree(PATH, without=left_out)]
        return [path.removeprefix(f"{PATH}/") for path in found]

    return runner.run(listed())


def listings(responder: Responder) -> list[dict[str, str]]:
    return [one.query for one in responder.received if "list-type" in one.query]


def test_every_page_is_listed(runner: asyncio.Runner, responder: Responder, store: S3Store) -> None:
    names = ["a", "b c", "d/e", "d/e+f", "d/%41", "z\nz", "\u65e5"]
    responder.answering = FakeBucket(*(f"out/{name}" for name in names))
    assert sorted(tree(runner, store)) == sorted(names)
    assert len(listings(responder)) == 4
    assert {query["prefix"] for query in listings(responder)} == {"out/"}


def test_markers_of_directories_are_no_files(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    responder.answering = FakeBucket("out/", "out/d/", "out/d/a", page=9)
    assert tree(runner, store) == ["d/a"]

    async def children() -> list[Entry | Directory]:
        return [child async for child in store.list_children(PATH)]

    common = "<CommonPrefixes><Prefix>out/d/</Prefix></CommonPrefixes>"
    marker = "<Contents><Key>out/</Key><Size>0</Size><ETag>e</ETag></Contents>"
    responder.answering = lambda _: xml("ListBucketResult", marker, common)
    assert runner.run(children()) == [Directory(StorePath("bucket/out/d"))]


def test_what_is_left_out_is_jumped_over(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    areas = [f"out/_commit/{number:03}" for number in range(100)]
    keys = ["out/A", *areas, "out/_commit0", "out/_commit-1", "out/a", "out/b"]
    responder.answering = FakeBucket(*keys)
    expected = ["A", "_commit-1", "_commit0", "a", "b"]
    assert tree(runner, store, without="_commit") == expected
    assert len(listings(responder)) == 4  # 53 without jumping
    assert listings(responder)[2]["start-after"] == "out/_commit/~"


def test_a_server_that_does_not_jump_is_listed_whole(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    areas = [f"out/_commit/{number:03}" for number in range(20)]
    responder.answering = FakeBucket("out/A", *areas, "out/a", "out/b", minds_start=False)
    assert tree(runner, store, without="_commit") == ["A", "a", "b"]
    assert len(listings(responder)) == 13  # 12 pages, and one that began anew


def test_more_without_a_place_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """Also where the place stands still: a listing ends, or says that it is not whole."""
    key = "<Contents><Key>out/a</Key><Size>1</Size><ETag>e</ETag></Contents>"
    more = "<IsTruncated>true</IsTruncated>"
    for place in ("", tag("NextContinuationToken", "same")):
        responder.answering = versioning_or(xml("ListBucketResult", key, more, place))
        with pytest.raises(StoreError, match="there is more, and not where"):
            tree(runner, store)


def in_a_circle(name: str, token: str, *children: str) -> Answering:
    """Pages of which the second names the place of the first as that of the third."""

    def answering(request: Received) -> Answer:
        if "versioning" in request.query:
            return xml("VersioningConfiguration")
        following = "B" if "A" in request.query.values() else "A"
        return xml(name, "<IsTruncated>true</IsTruncated>", tag(token, following), *children)

    return answering


def test_pages_that_go_in_a_circle_are_an_error(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """They were asked for, and listed, for ever."""
    key = "<Contents><Key>out/a</Key><Size>1</Size><ETag>e</ETag></Contents>"
    responder.answering = in_a_circle("ListBucketResult", "NextContinuationToken", key)
    with pytest.raises(StoreError, match="there is more, and not where"):
        tree(runner, store)
    responder.answering = in_a_circle("ListBucketResult", "NextContinuationToken")
    with pytest.raises(StoreError, match="there is more, and not where"):
        runner.run(store.delete_tree(StorePath("bucket/out/t")))
    responder.answering = in_a_circle("ListMultipartUploadsResult", "NextKeyMarker")
    with pytest.raises(StoreError, match="there is more, and not where"):
        runner.run(all_of(uploads(store).pending(PATH)))


def test_a_file_that_is_listed_without_an_etag_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """It would be deleted on condition of nothing."""
    for etag in ("", "<ETag></ETag>", '<ETag>""</ETag>'):
        key = f"<Contents><Key>out/a</Key><Size>1</Size>{etag}</Contents>"
        responder.answering = versioning_or(xml("ListBucketResult", key))
        with pytest.raises(StoreError, match="'s3://bucket/out/a': it has no etag") as caught:
            tree(runner, store)
        assert caught.value.reply is Reply.REFUSED


def test_a_tree_is_deleted_page_by_page_from_the_front(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    bucket = FakeBucket("out/t/", "out/t/a", "out/t/b c", "out/t/d/&<e>", "out/t/f\rg", "out/t0")
    responder.answering = bucket
    runner.run(store.delete_tree(StorePath("bucket/out/t")))
    assert bucket.keys == ["out/t0"]
    posts = [request for request in responder.received if request.method == "POST"]
    assert len(posts) == 3
    assert all("x-amz-checksum-crc32" in request.headers for request in posts)
    assert not any("continuation-token" in query for query in listings(responder))


def test_every_key_that_was_not_deleted_is_reported(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    bucket = FakeBucket(*(f"out/t/{number:02}" for number in range(30)), page=1000)
    responder.answering = bucket
    bucket.errors = {f"out/t/{number:02}": "AccessDenied" for number in range(12)}
    with pytest.raises(StoreError) as caught:
        runner.run(store.delete_tree(StorePath("bucket/out/t")))
    assert caught.value.reply is Reply.REFUSED
    assert "12 of its files were not deleted: 'out/t/00' (AccessDenied)" in str(caught.value)
    assert str(caught.value).endswith("'out/t/09' (AccessDenied) and 2 more")
    bucket.errors = {"out/t/00": "InternalError", "out/t/01": "AccessDenied"}
    with pytest.raises(StoreError) as caught:
        runner.run(store.delete_tree(StorePath("bucket/out/t")))
    assert caught.value.reply is Reply.UNKNOWN
    bucket.errors = {"out/t/00": "NoSuchKey", "out/t/01": "NoSuchKey"}
    bucket.keys = ["out/t/00", "out/t/01"]
    runner.run(store.delete_tree(StorePath("bucket/out/t")))


def test_files_that_come_back_end_the_deletion(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    listed = xml(
        "ListBucketResult",
        "<IsTruncated>true</IsTruncated><NextContinuationToken>n</NextContinuationToken>",
        "<Contents><Key>out/t/a</Key><Size>1</Size><ETag>e</ETag></Contents>",
    )
    responder.answering = lambda one: xml("DeleteResult") if "delete" in one.query else listed
    with pytest.raises(StoreError, match="come back, or the listing is stale"):
        runner.run(store.delete_tree(StorePath("bucket/out/t")))
    assert len(responder.received) == 3


class EmptyPagesFirst:
    """A server that skips so many deleted names a page: its first pages show nothing, and go on."""

    def __init__(self, bucket: FakeBucket, *, empty: int) -> None:
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


def test_pages_with_nothing_on_them_do_not_end_a_listing(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """Nor does a deletion ask for the first of them for ever, nor is a directory missing."""
    bucket = FakeBucket(*(f"out/t/{number}" for number in range(5)), "out/u")
    responder.answering = EmptyPagesFirst(bucket, empty=3)
    path = StorePath("bucket/out/t")
    assert len(tree(runner, store)) == 6
    looked = responder.answering
    responder.answering = lambda one: (
        Answer(404, headers=MARK) if one.method == "HEAD" else looked(one)
    )
    assert runner.run(store.stat(path)) == Directory(path)
    runner.run(store.delete_tree(path))
    assert bucket.keys == ["out/u"]
    assert runner.run(store.stat(path)) is None


def test_a_deletion_ends_where_the_store_does_not_say_what_follows(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    for place in ("", tag("NextContinuationToken", "same")):
        page = xml("ListBucketResult", "<IsTruncated>true</IsTruncated>", place)
        responder.script(page)
        with pytest.raises(StoreError, match="there is more, and not where"):
            runner.run(store.delete_tree(StorePath("bucket/out/t")))


def test_the_listing_of_another_place_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: S3Store
) -> None:
    """As a cache gives it, or a proxy that takes a plus for a space; it was deleted."""
    bucket = FakeBucket("out/t/a", "other/b", minds_prefix=False)
    responder.answering = bucket
    path = StorePath("bucket/out/t")
    for call in (store.delete_tree(path), all_of(store.list_tree(path))):
        with pytest.raises(StoreError, match="the listing of another place") as caught:
            runner.run(call)
        assert caught.value.reply is Reply.UNKNOWN
    common = "<CommonPrefixes><Prefix>other/d/</Prefix></CommonPrefixes>"
    responder.answering = versioning_or(xml("ListBucketResult", common))
    with pytest.raises(StoreError, match="the listing of another place"):
        runner.run(all_of(store.list_children(path)))
    assert bucket.keys == ["other/b", "out/t/a"]


@pytest.mark.parametrize("path", ["bucket/out", "bucket", "bucket/other", "bucket/out0"])
def test_the_destination_itself_is_never_deleted(
    runner: asyncio.Runner, responder: Responder, store: S3Store, path: str
) -> None:
    with pytest.raises(StoreError, match="the destination itself, or outside"):
        runner.run(store.delete_tree(StorePath(path)))
    assert responder.received == []
