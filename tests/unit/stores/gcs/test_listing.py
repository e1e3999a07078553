"""Listings page by page, and the deletion of all that one shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory, Entry
from tests.unit.stores.gcs.answers import DELETED, error, listed, resource

if TYPE_CHECKING:
    import asyncio

    from fsspec_commit_stores.gcs import GcsStore
    from tests.unit.stores.s3.responder import Answer, Answering, Received, Responder

PATH = StorePath("bucket/out")
TREE = StorePath("bucket/out/t")


class FakeBucket:
    """The keys of a bucket, listed in pages by tokens that are keys."""

    def __init__(
        self, *keys: str, page: int = 2, minds_start: bool = True, minds_prefix: bool = True
    ) -> None:
        self.keys = sorted(keys, key=str.encode)
        self.page = page
        self.minds_start = minds_start
        self.minds_prefix = minds_prefix
        self.errors: dict[str, Answer] = {}

    def __call__(self, request: Received) -> Answer:
        query = request.query
        if request.method == "DELETE":
            key = unquote(request.path.rpartition("/")[2])
            if key not in self.errors:
                self.keys.remove(key)
            return self.errors.get(key, DELETED)
        token = query.get("pageToken", "")
        start = query.get("startOffset", "") if self.minds_start else ""
        prefix = query["prefix"] if self.minds_prefix else ""
        left = [
            key
            for key in self.keys
            if key.startswith(prefix)
            and key.encode() > token.encode()
            and key.encode() >= start.encode()
        ]
        size = min(self.page, int(query.get("maxResults", "1000")))
        more = {"nextPageToken": left[size - 1]} if len(left) > size else {}
        return listed(*(resource(key) for key in left[:size]), **more)


def tree(runner: asyncio.Runner, store: GcsStore, *, without: str | None = None) -> list[str]:
    async def listed() -> list[str]:
        left_out = None if without is None else StorePath(f"{PATH}/{without}")
        found = [entry.path async for entry in store.list_tree(PATH, without=left_out)]
        return [path.removeprefix(f"{PATH}/") for path in found]

    return runner.run(listed())


def listings(responder: Responder) -> list[dict[str, str]]:
    return [one.query for one in responder.received if one.method == "GET"]


def test_every_page_is_listed(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    names = ["a", "b c", "d/e", "d/e+f", "d/%41", "z?z", "\u65e5"]
    responder.answering = FakeBucket(*(f"out/{name}" for name in names))
    assert sorted(tree(runner, store)) == sorted(names)
    assert len(listings(responder)) == 4
    assert {query["prefix"] for query in listings(responder)} == {"out/"}
    fields = {query["fields"] for query in listings(responder)}
    assert fields == {"kind,nextPageToken,prefixes,items(name,size,generation)"}


def test_any_page_but_the_first_may_fail(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    """Who lists begins again when the first one does, and could not go on at a later one."""
    names = [str(number) for number in range(7)]
    bucket = FakeBucket(*(f"out/{name}" for name in names))
    failed = set[str]()

    def answering(request: Received) -> Answer:
        page = request.query.get("pageToken", "")
        if page in failed or not page:
            return bucket(request)
        failed.add(page)
        return error(503, "backendError")

    responder.answering = answering
    assert tree(runner, store) == names
    assert failed == {"out/1", "out/3", "out/5"}
    assert len(listings(responder)) == 4 + 3
    responder.received.clear()
    responder.script(error(503, "backendError"))
    with pytest.raises(StoreError):
        tree(runner, store)
    assert len(listings(responder)) == 1


def test_markers_of_directories_are_no_files(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    responder.answering = FakeBucket("out/", "out/d/", "out/d/a", page=9)
    assert tree(runner, store) == ["d/a"]

    async def children() -> list[Entry | Directory]:
        return [child async for child in store.list_children(PATH)]

    page = {"prefixes": ["out/d/"], "items": [resource("out/")]}
    # Some servers name a prefix on each page again.
    responder.script(listed(**page, nextPageToken="n"), listed(**page))
    assert runner.run(children()) == [Directory(StorePath("bucket/out/d"))]


def test_what_is_left_out_is_jumped_over(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    areas = [f"out/_commit/{number:03}" for number in range(100)]
    keys = ["out/A", *areas, "out/_commit0", "out/_commit-1", "out/a", "out/b"]
    responder.answering = FakeBucket(*keys)
    expected = ["A", "_commit-1", "_commit0", "a", "b"]
    assert tree(runner, store, without="_commit") == expected
    assert len(listings(responder)) == 4  # 53 without jumping
    assert listings(responder)[2]["startOffset"] == "out/_commit0"
    assert "pageToken" not in listings(responder)[2]


def test_a_server_that_does_not_jump_is_listed_whole(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    areas = [f"out/_commit/{number:03}" for number in range(20)]
    responder.answering = FakeBucket("out/A", *areas, "out/a", "out/b", minds_start=False)
    assert tree(runner, store, without="_commit") == ["A", "a", "b"]
    assert len(listings(responder)) == 13  # 12 pages, and one that began anew


def test_the_same_page_again_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    """A listing ends, or says that it is not whole."""
    responder.script(listed(resource("out/a"), nextPageToken="same"))
    with pytest.raises(StoreError, match="there is more, and not where"):
        tree(runner, store)


@pytest.mark.parametrize("lacking", ["generation", "size"])
def test_an_entry_that_is_not_told_apart_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, lacking: str
) -> None:
    shown: dict[str, Any] = resource("out/a")
    del shown[lacking]
    responder.script(listed(shown))
    with pytest.raises(StoreError, match="does not say which content"):
        tree(runner, store)


def test_a_tree_is_deleted_page_by_page_from_the_front(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    bucket = FakeBucket("out/t/", "out/t/a", "out/t/b c", "out/t/d/&<e>#", "out/t/f%2Fg", "out/t0")
    responder.answering = bucket
    runner.run(store.delete_tree(TREE))
    assert bucket.keys == ["out/t0"]
    deletions = [request for request in responder.received if request.method == "DELETE"]
    assert len(deletions) == 5
    assert len(listings(responder)) == 3
    assert not any("pageToken" in query for query in listings(responder))


def test_what_was_not_deleted_is_named(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    bucket = FakeBucket(*(f"out/t/{number:02}" for number in range(30)), page=1000)
    responder.answering = bucket
    bucket.errors = {f"out/t/{number:02}": error(403, "forbidden") for number in range(12)}
    with pytest.raises(StoreError) as caught:
        runner.run(store.delete_tree(TREE))
    assert caught.value.reply is Reply.REFUSED
    told = str(caught.value)
    assert told.startswith("cannot delete 'gs://bucket/out/t': left are 'out/t/00'")
    assert "'out/t/09' and 2 more: cannot delete 'gs://bucket/out/t/00': access is denied" in told
    bucket.errors = {"out/t/00": error(500, "backendError"), "out/t/01": error(403, "forbidden")}
    bucket.keys = list(bucket.errors)
    with pytest.raises(StoreError) as caught:
        runner.run(store.delete_tree(TREE))
    assert caught.value.reply is Reply.UNKNOWN
    bucket.errors = {
        "out/t/00": error(429, "rateLimitExceeded", {"Retry-After": "3"}),
        "out/t/01": error(404, "notFound"),
    }
    with pytest.raises(StoreError) as caught:
        runner.run(store.delete_tree(TREE))
    assert caught.value.reply is Reply.NOT_DONE
    assert caught.value.retry_after_s == 3.0
    assert "'out/t/01'" not in str(caught.value)


def test_files_that_come_back_end_the_deletion(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    page = listed(resource("out/t/a"), nextPageToken="n")
    responder.answering = lambda one: DELETED if one.method == "DELETE" else page
    with pytest.raises(StoreError, match="come back, or the listing is stale"):
        runner.run(store.delete_tree(TREE))
    assert len(responder.received) == 3


class TestEmptyPages:
    """A page may have no names and say that there are more: after many deletions, for one."""

    @pytest.fixture
    def bucket(self, responder: Responder) -> FakeBucket:
        """Two empty pages come before any with names."""
        bucket = FakeBucket("out/t/a", "out/t/b", "out/t/c", "out/t0")
        after = {"": "e1", "e1": "e2"}

        def answering(request: Received) -> Answer:
            token = request.query.get("pageToken", "")
            if request.method == "GET" and not request.path.endswith("/o"):
                return error(404, "notFound")
            if request.method == "GET" and token in after:
                return listed(nextPageToken=after[token])
            target = request.target.replace("pageToken=e2", "pageToken=")
            return bucket(replace(request, target=target))

        responder.answering = answering
        return bucket

    @pytest.mark.usefixtures("bucket")
    def test_a_directory_is_looked_for_behind_them(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore
    ) -> None:
        assert runner.run(store.stat(TREE)) == Directory(TREE)
        assert len(responder.received) == 1 + 3
        assert tree(runner, store) == ["t/a", "t/b", "t/c", "t0"]

    def test_a_tree_is_deleted_behind_them(
        self, runner: asyncio.Runner, store: GcsStore, bucket: FakeBucket
    ) -> None:
        runner.run(store.delete_tree(TREE))
        assert bucket.keys == ["out/t0"]

    def test_what_has_nothing_but_them_is_none(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore
    ) -> None:
        responder.answering = paged({"": "e1"})
        assert runner.run(store.stat(TREE)) is None
        runner.run(store.delete_tree(TREE))
        assert len(responder.received) == 1 + 2 + 2

    @pytest.mark.parametrize("after", [{"": "x", "x": "x"}, {"": "x", "x": "y", "y": "x"}], ids=str)
    def test_they_have_an_end(
        self, runner: asyncio.Runner, responder: Responder, store: GcsStore, after: dict[str, str]
    ) -> None:
        responder.answering = paged(after)
        for call in (store.delete_tree(TREE), store.stat(TREE)):
            with pytest.raises(StoreError, match="there is more, and not where") as caught:
                runner.run(call)
            assert caught.value.reply is Reply.UNKNOWN


def paged(after: dict[str, str]) -> Answering:
    """No names on any page; behind each the one that *after* says, if any."""

    def answering(request: Received) -> Answer:
        token = after.get(request.query.get("pageToken", ""))
        if not request.path.endswith("/o"):
            return error(404, "notFound")
        return listed() if token is None else listed(nextPageToken=token)

    return answering


def test_the_listing_of_another_place_is_an_error(
    runner: asyncio.Runner, responder: Responder, store: GcsStore
) -> None:
    """As a cache gives it, or a proxy that takes a plus for a space; it was deleted."""
    bucket = FakeBucket("out/t/a", "other/b", minds_prefix=False)
    responder.answering = bucket

    async def children() -> list[Entry | Directory]:
        return [child async for child in store.list_children(TREE)]

    with pytest.raises(StoreError, match="the listing of another place") as caught:
        runner.run(store.delete_tree(TREE))
    assert caught.value.reply is Reply.UNKNOWN
    with pytest.raises(StoreError, match="the listing of another place"):
        tree(runner, store)
    responder.script(listed(prefixes=["other/d/"]))
    with pytest.raises(StoreError, match="the listing of another place"):
        runner.run(children())
    assert bucket.keys == ["other/b", "out/t/a"]


@pytest.mark.parametrize("path", ["bucket/out", "bucket", "bucket/other", "bucket/out0"])
def test_the_destination_itself_is_never_deleted(
    runner: asyncio.Runner, responder: Responder, store: GcsStore, path: str
) -> None:
    with pytest.raises(StoreError, match="the destination itself, or outside"):
        runner.run(store.delete_tree(StorePath(path)))
    assert responder.received == []
