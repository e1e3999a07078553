"""Listings page by page, and the deletion of all that one shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from fsspec_commit.errors import Reply, StoreError
from fsspec_commit.layout import StorePath
from fsspec_commit.store import Directory
from tests.unit.stores.bucket import tree
from tests.unit.stores.gcs.answers import DELETED, error, listed, resource
from tests.unit.stores.gcs.bucket import GcsBucket
from tests.unit.stores.verbs import all_of

if TYPE_CHECKING:
    from tests.unit.stores.gcs.scripted import ScriptedGcs
    from tests.unit.stores.responder import Answer, Answering, Received

PATH = StorePath("bucket/out")
TREE = StorePath("bucket/out/t")


def test_markers_of_directories_are_no_files(gcs: ScriptedGcs) -> None:
    gcs.answering = GcsBucket("out/", "out/d/", "out/d/a", page=9)
    assert tree(gcs) == ["d/a"]

    page = {"prefixes": ["out/d/"], "items": [resource("out/")]}
    # Some servers name a prefix on each page again.
    gcs.script(listed(**page, nextPageToken="n"), listed(**page))
    assert gcs.run(all_of(gcs.store.list_children(PATH))) == [Directory(StorePath("bucket/out/d"))]


@pytest.mark.parametrize("lacking", ["generation", "size"])
def test_an_entry_that_is_not_told_apart_is_an_error(gcs: ScriptedGcs, lacking: str) -> None:
    shown: dict[str, Any] = resource("out/a")
    del shown[lacking]
    gcs.script(listed(shown))
    with pytest.raises(StoreError, match="does not say which content"):
        tree(gcs)


def test_a_tree_is_deleted_page_by_page_from_the_front(gcs: ScriptedGcs) -> None:
    bucket = GcsBucket("out/t/", "out/t/a", "out/t/b c", "out/t/d/&<e>#", "out/t/f%2Fg", "out/t0")
    gcs.answering = bucket
    gcs.run(gcs.store.delete_tree(TREE))
    assert bucket.keys == ["out/t0"]
    deletions = [request for request in gcs.received if request.method == "DELETE"]
    assert len(deletions) == 5
    assert len(bucket.listings) == 3
    assert not any("pageToken" in query for query in bucket.listings)


def test_what_was_not_deleted_is_named(gcs: ScriptedGcs) -> None:
    bucket = GcsBucket(*(f"out/t/{number:02}" for number in range(30)), page=1000)
    gcs.answering = bucket
    bucket.errors = {f"out/t/{number:02}": error(403, "forbidden") for number in range(12)}
    with pytest.raises(StoreError) as caught:
        gcs.run(gcs.store.delete_tree(TREE))
    assert caught.value.reply is Reply.REFUSED
    told = str(caught.value)
    assert told.startswith("cannot delete 'gs://bucket/out/t': left are 'out/t/00'")
    assert "'out/t/09' and 2 more: cannot delete 'gs://bucket/out/t/00': access is denied" in told
    bucket.errors = {"out/t/00": error(500, "backendError"), "out/t/01": error(403, "forbidden")}
    bucket.keys = list(bucket.errors)
    with pytest.raises(StoreError) as caught:
        gcs.run(gcs.store.delete_tree(TREE))
    assert caught.value.reply is Reply.UNKNOWN
    bucket.errors = {
        "out/t/00": error(429, "rateLimitExceeded", {"Retry-After": "3"}),
        "out/t/01": error(404, "notFound"),
    }
    with pytest.raises(StoreError) as caught:
        gcs.run(gcs.store.delete_tree(TREE))
    assert caught.value.reply is Reply.NOT_DONE
    assert caught.value.retry_after_s == 3.0
    assert "'out/t/01'" not in str(caught.value)


def test_many_files_are_deleted_by_their_names(gcs: ScriptedGcs) -> None:
    """Of those that are left, the answer that leaves most open counts; a missing one is done."""
    names = ["out/t/a", "out/t/b c", "out/t/d/&<e>#", "out/t/f%2Fg"]
    gcs.answering = bucket = GcsBucket(*names, "out/t/d/f", "out/t0")
    deleting = gcs.store.bulk_deletion
    paths = [StorePath(f"bucket/{name}") for name in names]
    gcs.run(deleting.delete_files(paths, within=TREE))
    assert bucket.keys == ["out/t/d/f", "out/t0"]
    assert [request.method for request in gcs.received] == ["DELETE"] * 4
    for answers, reply in (
        ([error(403, "forbidden"), error(404, "notFound")], Reply.REFUSED),
        ([error(403, "forbidden"), error(429, "rateLimitExceeded")], Reply.NOT_DONE),
        ([error(403, "forbidden"), error(500, "backendError")], Reply.UNKNOWN),
    ):
        bucket.errors = dict(zip(names, answers, strict=False))
        bucket.keys = [*names]
        caught = gcs.failure_of(deleting.delete_files(paths, within=TREE))
        assert caught.reply is reply
        assert "left are 'out/t/a'" in str(caught)
        assert bucket.keys == [*bucket.errors]


def test_files_that_come_back_end_the_deletion(gcs: ScriptedGcs) -> None:
    page = listed(resource("out/t/a"), nextPageToken="n")
    gcs.answering = lambda one: DELETED if one.method == "DELETE" else page
    with pytest.raises(StoreError, match="come back, or the listing is stale"):
        gcs.run(gcs.store.delete_tree(TREE))
    assert len(gcs.received) == 3


class TestEmptyPages:
    """A page may have no names and say that there are more: after many deletions, for one."""

    @pytest.fixture
    def bucket(self, gcs: ScriptedGcs) -> GcsBucket:
        """Two empty pages come before any with names."""
        bucket = GcsBucket("out/t/a", "out/t/b", "out/t/c", "out/t0")
        after = {"": "e1", "e1": "e2"}

        def answering(request: Received) -> Answer:
            token = request.query.get("pageToken", "")
            if request.method == "GET" and not request.path.endswith("/o"):
                return error(404, "notFound")
            if request.method == "GET" and token in after:
                return listed(nextPageToken=after[token])
            target = request.target.replace("pageToken=e2", "pageToken=")
            return bucket(replace(request, target=target))

        gcs.answering = answering
        return bucket

    @pytest.mark.usefixtures("bucket")
    def test_a_directory_is_looked_for_behind_them(self, gcs: ScriptedGcs) -> None:
        assert gcs.run(gcs.store.stat(TREE)) == Directory(TREE)
        assert len(gcs.received) == 1 + 3
        assert tree(gcs) == ["t/a", "t/b", "t/c", "t0"]

    def test_a_tree_is_deleted_behind_them(self, gcs: ScriptedGcs, bucket: GcsBucket) -> None:
        gcs.run(gcs.store.delete_tree(TREE))
        assert bucket.keys == ["out/t0"]

    def test_what_has_nothing_but_them_is_none(self, gcs: ScriptedGcs) -> None:
        gcs.answering = paged({"": "e1"})
        assert gcs.run(gcs.store.stat(TREE)) is None
        gcs.run(gcs.store.delete_tree(TREE))
        assert len(gcs.received) == 1 + 2 + 2

    @pytest.mark.parametrize("after", [{"": "x", "x": "x"}, {"": "x", "x": "y", "y": "x"}], ids=str)
    def test_they_have_an_end(self, gcs: ScriptedGcs, after: dict[str, str]) -> None:
        gcs.answering = paged(after)
        for call in (gcs.store.delete_tree(TREE), gcs.store.stat(TREE)):
            with pytest.raises(StoreError, match="there is more, and not where") as caught:
                gcs.run(call)
            assert caught.value.reply is Reply.UNKNOWN


def paged(after: dict[str, str]) -> Answering:
    """No names on any page; behind each the one that *after* says, if any."""

    def answering(request: Received) -> Answer:
        token = after.get(request.query.get("pageToken", ""))
        if not request.path.endswith("/o"):
            return error(404, "notFound")
        return listed() if token is None else listed(nextPageToken=token)

    return answering


def test_a_listing_asks_for_the_fields_that_are_read(gcs: ScriptedGcs) -> None:
    gcs.answering = bucket = GcsBucket("out/a")
    tree(gcs)
    (query,) = bucket.listings
    assert query["fields"] == "kind,nextPageToken,prefixes,items(name,size,generation)"


def test_a_directory_of_another_place_is_an_error(gcs: ScriptedGcs) -> None:
    gcs.script(listed(prefixes=["other/d/"]))
    with pytest.raises(StoreError, match="the listing of another place"):
        gcs.run(all_of(gcs.store.list_children(TREE)))
